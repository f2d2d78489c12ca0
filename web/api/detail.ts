// SPDX-License-Identifier: MIT
// silt.detail/1: everything about the blocks that are selected.
import { array, boolean, known, literal, nullable, number, numbers, numbersOrNull, object, string, strings, unknown, type Checked } from "./check";
import { lifetimes, optional, said, sizes, stack } from "./common";

export const detail = object({
  schema: literal("silt.detail/1"), sentence: said, metric: optional(string), totals: unknown, site: optional(number), unfiltered: optional(object({ peak_live_bytes: known, end_live_bytes: number })), stack: nullable(stack), requester: optional(nullable(number)), stacks_in_all: number,
  history: nullable(object({ at_s: numbers, live_bytes: numbersOrNull, live_blocks: nullable(numbersOrNull) })),
  sizes: nullable(sizes), lifetimes: nullable(lifetimes),
  threads: nullable(array(object({ name: string, tid: number, allocations: number, frees: number }))),
  blocks: nullable(array(object({ time_s: number, bytes: number, age_s: nullable(number), live: boolean, thread: string, site: optional(number) }))),
  without: nullable(object({ peak_live_bytes: number, peak_at_s: number, end_live_bytes: number })), unknown: strings,
  both: nullable(object({ cpu_s: number, all_cpu_s: number, blocked_s: number, allocations: nullable(number), bytes_allocated: nullable(number) })),
});
export type Detail = Checked<typeof detail>;
