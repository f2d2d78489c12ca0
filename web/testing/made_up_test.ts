// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { addressOf, checkAnswer, CHECKS, type AnswerName } from "../api/answers";
import { Unfit } from "../api/check";
import { madeUp } from "./made_up";

test("what is made up is what a server may answer", () => {
  for (const name of ["trace", "report", "timeline", "table", "sql", "sql-schema"] as const) assert.ok(checkAnswer(name, madeUp(addressOf(name), [])));
  assert.ok(checkAnswer("timeline", madeUp("timeline", [["columns", "10"], ["group-by", "crate"], ["from", "1"]])));
});

test("an answer that lacks a field, has a wrong one or rows of two lengths is refused", () => {
  for (const name of ["trace", "report", "timeline", "table", "sql", "sql-schema"] as const) {
    const fields = Object.keys(madeUp(addressOf(name), []) as object);
    for (const field of fields) {
      const answer = madeUp(addressOf(name), []) as Record<string, unknown>;
      answer[field] = Symbol("wrong");
      if (isChecked(name, field)) assert.throws(() => checkAnswer(name, answer), Unfit, `${name}.${field}`);
    }
  }
  const short = madeUp("table", []) as { count: number[] };
  short.count.pop();
  assert.throws(() => checkAnswer("table", short), /count has 2 rows, not 3/);
  const uneven = madeUp("sql", []) as { rows: unknown[][] };
  uneven.rows[1]!.pop();
  assert.throws(() => checkAnswer("sql", uneven), /rows has a row of another length/);
  const odd = madeUp("sql", []) as { rows: unknown[][] };
  odd.rows[1]![0] = true;
  assert.throws(() => checkAnswer("sql", odd), /rows has a row that is none/);
});

/** Fields that views look at themselves. */
function isChecked(name: AnswerName, field: string): boolean {
  return !(name === "table" && field === "filter_key") && name in CHECKS;
}
