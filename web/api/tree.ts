// SPDX-License-Identifier: MIT
// silt.tree/1: call paths as a tree, as `silt report --json --tree` prints it. The root is first, parents come before children.
import { array, boolean, known, literal, nullable, number, object, string, type Checked } from "./check";
import { optional } from "./common";

/** Of a server all figures, of a page in one file those of the metric: `blocks` beside bytes, or how often. */
const amounts = object({
  value: number, blocks: optional(number), allocations: optional(known), peak_live_blocks: optional(known), begin_live_blocks: optional(known),
  end_live_blocks: optional(known), samples: optional(number),
});

const node = object({
  id: number, parent: nullable(number), function: optional(string), file: optional(string), line: optional(number), module: optional(string),
  inlined: optional(boolean), guess: optional(boolean), async: optional(boolean), offset: optional(number), label: optional(string), rest_of_children: optional(number), self: optional(amounts), total: amounts,
});
export type TreeNode = Checked<typeof node>;

export const tree = object({
  schema: literal("silt.tree/1"), metric: string, nodes: array(node),
});
export type Tree = Checked<typeof tree>;
