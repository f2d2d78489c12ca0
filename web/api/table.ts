// SPDX-License-Identifier: MIT
// silt.table/1: the rows of a table of groups, by column.
import { array, literal, nullable, number, numbers, numbersOrNull, object, sameLength, string, strings, type Check, type Checked } from "./check";
import { optional } from "./common";

const COLUMNS = [
  "label", "function", "file", "line", "module", "site", "key", "call_paths", "peak_bytes", "peak_blocks", "end_bytes", "end_blocks",
  "allocated_bytes", "count", "temporary", "growth_bytes",
] as const;

const totals = object({ peak_live_bytes: number, end_live_bytes: number, bytes_allocated: number, allocations: number, temporary_allocations: nullable(number) });

const fields = object({
  schema: literal("silt.table/1"), group_by: string, filter_key: nullable(string), rows_in_all: number, rows_with_value: optional(number), rows: number, metric: string, whole: optional(number), totals, names: strings,
  label: numbers, function: numbers, file: numbers, line: numbers, module: numbers, site: numbers, key: numbers, call_paths: numbers,
  peak_bytes: numbers, peak_blocks: numbers, end_bytes: numbers, end_blocks: numbers, allocated_bytes: numbers, count: numbers,
  temporary: numbers, growth_bytes: numbers, total_peak_bytes: nullable(numbers), error: nullable(numbersOrNull),
  spark_at_s: numbers, spark_live_bytes: array(numbersOrNull),
});
export type Table = Checked<typeof fields>;

export const table: Check<Table> = (value, path) => {
  const answer = fields(value, path);
  sameLength(answer, path, [...COLUMNS, "total_peak_bytes", "error"]);
  return answer;
};
