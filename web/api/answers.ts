// SPDX-License-Identifier: MIT
// One check for each answer of docs/http-api.md; the types of the page come from them, and so does what the tests of the server hold its answers against.
import { array, literal, nullable, number, object, string, Unfit, type Check, type Checked } from "./check";
import { bill } from "./bill";
import { detail } from "./detail";
import { diff } from "./diff";
import { flame } from "./flame";
import { fleet } from "./fleet";
import { found } from "./found";
import { heap } from "./heap";
import { heat } from "./heat";
import { holders, neighbours } from "./holders";
import { early, report } from "./report";
import { sql, sqlSchema } from "./rows";
import { source } from "./source";
import { table } from "./table";
import { tasks } from "./tasks";
import { threads } from "./threads";
import { timeline } from "./timeline";
import { trace } from "./trace";

export const progress = object({ schema: literal("silt.progress/1"), state: literal("unknown", "waiting", "answering"), done: number, total: number, parts: array(early) });
export type Progress = Checked<typeof progress>;

export const error = object({ schema: literal("silt.error/1"), error: string, key: nullable(string), fix: nullable(string) });

/** What `report` answers has the shape its keys ask for. */
const shaped: Check<Shaped> = (value, path) => {
  if (typeof value !== "object" || value === null || !("schema" in value)) throw new Unfit(path, "has no schema");
  return value as Shaped;
};
export type Shaped = { readonly schema: string };

export const CHECKS = { trace, report, shaped, timeline, flame, table, detail, found, source, heat, threads, tasks, diff, holders, neighbours, bill, heap, fleet, sql, "sql-schema": sqlSchema, progress } as const;
export type AnswerName = keyof typeof CHECKS;
export type Answers = { [N in AnswerName]: Checked<(typeof CHECKS)[N]> };

/** Under which address an answer is. */
export function addressOf(name: AnswerName): string {
  return name === "shaped" ? "report" : name;
}

export function checkAnswer<N extends AnswerName>(name: N, value: unknown): Answers[N] {
  return (CHECKS[name] as Check<unknown>)(value, "") as Answers[N];
}
