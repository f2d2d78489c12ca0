// SPDX-License-Identifier: MIT
// silt.threads/1: threads and processes with their figures.
import { array, boolean, literal, nullable, number, object, string, unknown, type Checked } from "./check";

export const threads = object({
  schema: literal("silt.threads/1"), has_figures: boolean,
  threads: array(object({
    tid: number, name: string, process: string, begin_s: number, end_s: nullable(number), allocations: number, bytes_allocated: number,
    frees: number, temporary_allocations: number, freed_for_others: number,
  })),
  threads_in_all: number,
  processes: array(object({
    word: string, name: string, parent: number, begin_s: number, end_s: nullable(number), ended: string, totals: unknown,
  })),
  mappings: unknown,
});
export type Threads = Checked<typeof threads>;
