// SPDX-License-Identifier: MIT
// silt.heat/1: blocks by size and lifetime; one entry for each cell that has blocks.
import { array, boolean, literal, nullable, number, numbers, object, sameLength, type Check, type Checked } from "./check";

const fields = object({
  schema: literal("silt.heat/1"), exact: boolean,
  sizes: array(object({ min_bytes: number, max_bytes: nullable(number) })), lifetimes: array(object({ min_s: number, max_s: nullable(number) })),
  size: numbers, lifetime: numbers, blocks: numbers, bytes: numbers, live_blocks: numbers, live_bytes: numbers,
});
export type Heat = Checked<typeof fields>;

export const heat: Check<Heat> = (value, path) => {
  const answer = fields(value, path);
  sameLength(answer, path, ["size", "lifetime", "blocks", "bytes", "live_blocks", "live_bytes"]);
  return answer;
};
