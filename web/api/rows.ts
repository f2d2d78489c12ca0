// SPDX-License-Identifier: MIT
// silt.rows/1: what a statement of SQL answered; silt.sql-schema/1: what it may ask for.
import { array, boolean, literal, nullable, number, object, string, Unfit, type Check, type Checked } from "./check";
import { optional, said } from "./common";

/** Whole numbers beyond 2^53 are texts. */
export type SqlValue = number | string | null;

const values: Check<readonly (readonly SqlValue[])[]> = (value, path) => {
  if (!Array.isArray(value)) throw new Unfit(path, "is not a list");
  for (const row of value as unknown[])
    if (!Array.isArray(row) || row.some((cell) => cell !== null && typeof cell !== "number" && typeof cell !== "string")) throw new Unfit(path, "has a row that is none");
  return value as readonly (readonly SqlValue[])[];
};

const column = object({ name: string, trace: nullable(literal("main", "other")), table: nullable(string), column: nullable(string) });
export type SqlColumn = Checked<typeof column>;

const fields = object({
  schema: literal("silt.rows/1"), columns: array(column), rows: values, has_more: boolean, doubts: nullable(said), says: optional(nullable(said)),
  threads: array(object({ id: number, tid: number, name: string })), processes: array(object({ id: number, word: string, name: string })),
});
export type Rows = Checked<typeof fields>;

export const sql: Check<Rows> = (value, path) => {
  const answer = fields(value, path);
  if (answer.rows.some((row) => row.length !== answer.columns.length)) throw new Unfit(path ? `${path}.rows` : "rows", "has a row of another length");
  return answer;
};

const parameter = object({ name: string, without: string, help: string, is_size: boolean });
const recipe = object({ name: string, help: string, statement: string, parameters: array(parameter), trouble: nullable(string) });
export type Recipe = Checked<typeof recipe>;

const table = object({ name: string, help: string, columns: array(object({ name: string, help: string, is_argument: boolean })) });
export type SqlTable = Checked<typeof table>;

export const sqlSchema = object({
  schema: literal("silt.sql-schema/1"), has_other: boolean, tables: array(table), functions: array(object({ name: string, usage: string, help: string })), recipes: array(recipe),
});
export type SqlSchema = Checked<typeof sqlSchema>;
