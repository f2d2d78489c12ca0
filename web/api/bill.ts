// SPDX-License-Identifier: MIT
// silt.bill/1: what resident memory is made of, part by part, at one moment, and the parts at all of them. Fields that the page does not show are not looked at.
import { array, boolean, literal, nullable, number, numbers, object, string, unknown, type Checked } from "./check";
import { optional, said } from "./common";

const line = object({ name: optional(string), function: optional(nullable(string)), place: optional(nullable(string)), bytes: number, private_bytes: number, size_bytes: number, mappings: number, call_paths: optional(number), stack: optional(unknown), shown: optional(number) });
const part = object({ part: string, text: string, bytes: number, lines: array(line) });
export type BillPart = Checked<typeof part>;

const series = object({ bills_in_all: number, at_s: numbers, resident_bytes: numbers, parts: array(object({ part: string, text: string, bytes: numbers })) });
export type BillSeries = Checked<typeof series>;

/** Without parts the trace does not know them. */
export const bill = object({
  schema: literal("silt.bill/1"), text: nullable(said), parts: nullable(array(part)), at_s: optional(number), is_highest: optional(boolean), resident_bytes: optional(number),
  shared_counted_once: optional(boolean), fragmentation: optional(nullable(object({ text: nullable(string), live_bytes: number, free_between_bytes: number, free_pages_bytes: number, pinned_pages: number, kept_bytes: number, function: nullable(string), place: nullable(string) }))),
  series: optional(series), bills: optional(number), blocks_are_known: optional(boolean), sizes_are_as_asked: optional(boolean), is_sampled: optional(boolean), is_divided: optional(boolean),
  blocks: optional(number), asked_bytes: optional(number), huge_page_bytes: optional(number), stack_reserved_bytes: optional(number), pages_by_eighths: optional(numbers), pinned: optional(unknown), free: optional(unknown),
  processes: optional(unknown), outside: optional(unknown), cgroup: optional(unknown), cost_s: optional(number), end: optional(unknown), sampled: optional(unknown),
});
export type Bill = Checked<typeof bill>;
