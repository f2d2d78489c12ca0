// SPDX-License-Identifier: MIT
// silt.heap/1: the pages of a heap at one moment, a row for each stretch of addresses.
import { literal, number, numbers, object, sameLength, string, strings, type Check, type Checked } from "./check";

const columns = object({
  schema: literal("silt.heap/1"), process: string, at_s: number, rss_bytes: number, heap_bytes: number, heap_live_bytes: number, heap_free_bytes: number, box_bytes: number, owners: strings,
  page: numbers, apart: numbers, fill: numbers, age: numbers, owner: numbers, live_bytes: numbers, resident_bytes: numbers, blocks: numbers,
});
export type Heap = Checked<typeof columns>;

export const heap: Check<Heap> = (value, path) => {
  const answer = columns(value, path);
  sameLength(answer, path, ["page", "apart", "fill", "age", "owner", "live_bytes", "resident_bytes", "blocks"]);
  return answer;
};
