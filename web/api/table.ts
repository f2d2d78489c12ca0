// SPDX-License-Identifier: MIT
// silt.table/1: the rows of a table of groups, by column.
import { array, known, literal, nullable, number, numbers, numbersOrNull, object, sameLength, string, strings, type Check, type Checked } from "./check";
import { optional } from "./common";

const COLUMNS = [
  "label", "function", "file", "line", "module", "site", "key", "call_paths", "peak_bytes", "peak_blocks", "end_bytes", "end_blocks",
  "allocated_bytes", "count", "temporary", "growth_bytes", "cpu_ns", "cpu_samples", "blocked_ns", "total_cpu_ns", "total_blocked_ns", "total_count", "total_allocated_bytes",
] as const;

const totals = object({ peak_live_bytes: known, end_live_bytes: number, bytes_allocated: known, allocations: known, temporary_allocations: nullable(number) });

const fields = object({
  schema: literal("silt.table/1"), group_by: string, filter_key: nullable(string), rows_in_all: number, rows_with_value: optional(number), rows: number, metric: string, whole: optional(number), totals, names: strings,
  label: numbers, function: numbers, file: numbers, line: numbers, module: numbers, site: numbers, key: numbers, call_paths: numbers,
  // Of memory and of time, null where a row has only the other.
  peak_bytes: nullable(numbers), peak_blocks: nullable(numbers), end_bytes: nullable(numbers), end_blocks: nullable(numbers), allocated_bytes: nullable(numbers), count: nullable(numbers),
  temporary: nullable(numbers), growth_bytes: nullable(numbers), total_peak_bytes: nullable(numbers), total_count: nullable(numbers), total_allocated_bytes: nullable(numbers),
  cpu_ns: nullable(numbers), cpu_samples: nullable(numbers), blocked_ns: nullable(numbers), total_cpu_ns: nullable(numbers), total_blocked_ns: nullable(numbers), error: nullable(numbersOrNull),
  spark_at_s: numbers, spark_live_bytes: array(numbersOrNull),
});
export type Table = Checked<typeof fields>;

export const table: Check<Table> = (value, path) => {
  const answer = fields(value, path);
  sameLength(answer, path, [...COLUMNS, "total_peak_bytes", "error"]);
  return answer;
};
