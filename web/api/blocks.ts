// SPDX-License-Identifier: MIT
// silt.blocks/1: single blocks in time order, as `silt report --blocks --json` prints them.
import { array, boolean, literal, nullable, number, object, string, type Checked } from "./check";
import { optional, stack } from "./common";

const block = object({ at_s: nullable(number), event: optional(number), bytes: number, age_s: nullable(number), live: boolean, tid: number, thread: string, site: optional(number), stands_for: optional(number), stack, shown: optional(number) });
export type BlockRow = Checked<typeof block>;

export const blocks = object({ schema: literal("silt.blocks/1"), filter: string, detail_from_s: number, blocks: array(block) });
export type Blocks = Checked<typeof blocks>;
