// SPDX-License-Identifier: MIT
// silt.columns/1: a recording cut into columns, from which any window between two edges is added up. docs/page.md, "One file".
import { optional } from "./common";
import { array, boolean, literal, nullable, number, numbers, object, string, strings, type Checked } from "./check";

/** Where the time went: of other call paths than those of memory, in the same columns. */
const time = object({
  totals: object({ samples: numbers, time_ns: numbers }), paths: numbers, smaller_paths: number, exact: boolean,
  cells: object({ path: numbers, column: numbers, samples: numbers, time_ns: numbers, error_ns: numbers }), path_frames: array(numbers),
});
export type TimeCells = Checked<typeof time>;

export const columns = object({
  schema: literal("silt.columns/1"), edges_s: numbers,
  totals: object({
    allocations: numbers, frees: numbers, bytes_allocated: numbers, temporary_allocations: numbers, peak_live_bytes: numbers,
    peak_live_blocks: numbers, peak_at_s: numbers, end_live_bytes: numbers, end_live_blocks: numbers,
  }),
  paths: numbers, smaller_paths: number, exact: boolean,
  cells: object({
    path: numbers, column: numbers, count: numbers, allocated_bytes: numbers, frees: numbers, bytes_freed: numbers, temporary: numbers, reallocations: numbers, peak_bytes: numbers,
    peak_blocks: numbers, end_bytes: numbers, end_blocks: numbers,
  }),
  path_frames: array(numbers),
  frames: object({
    label: numbers, function: numbers, file: numbers, line: numbers, module: numbers, crate: numbers, component: numbers, passes_on: array(boolean), inlined: array(boolean), guess: array(boolean), async: array(boolean),
  }),
  names: strings,
  /** Figures that the source of the recording did not know: what is in their place means nothing. */
  unknown: optional(strings),
  /** null: nobody looked, or it cannot be told of what was chosen: then `without_time` says why. */
  time: optional(nullable(object({ cpu: time, blocked: time }))), without_time: optional(string),
});
export type Columns = Checked<typeof columns>;
