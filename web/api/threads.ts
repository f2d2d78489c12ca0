// SPDX-License-Identifier: MIT
// silt.threads/1: threads and processes with their figures.
import { array, boolean, known, literal, nullable, number, object, string, type Checked } from "./check";
import { optional, stack } from "./common";

const process = object({
  word: string, name: string, pid: nullable(number), parent: number, begin_s: number, end_s: nullable(number), ended: string,
  totals: nullable(object({ allocations: known, peak_live_bytes: known, end_live_bytes: number })),
  cpu_s: optional(number), blocked_s: optional(number), ready_s: optional(number),
});
export type ProcessLife = Checked<typeof process>;

const mapping = object({ peak_bytes: number, end_bytes: number, mapped_bytes: number, reserved_bytes: number, calls: number, stack, shown: optional(number) });

export const threads = object({
  schema: literal("silt.threads/1"), has_figures: boolean, is_estimate: boolean, note: nullable(string),
  threads: array(object({
    tid: number, name: string, process: string, begin_s: number, end_s: nullable(number), allocations: optional(number),
    bytes_allocated: optional(number), frees: optional(number), temporary_allocations: optional(number), freed_for_others: optional(number),
    cpu_s: optional(number), blocked_s: optional(number), ready_s: optional(number),
  })),
  threads_in_all: number,
  processes: array(process), processes_in_all: number, pids_in_all: number,
  mappings: nullable(object({ peak_bytes: number, end_bytes: number, reserved_peak_bytes: number, usable_peak_bytes: number, sites: array(mapping) })),
});
export type Threads = Checked<typeof threads>;
