// SPDX-License-Identifier: MIT
// silt.tree/1: call paths as a tree, as `silt report --json --tree` prints it. The root is first, parents come before children.
import { array, boolean, literal, nullable, number, object, string, type Checked } from "./check";
import { figures, optional } from "./common";

const node = object({
  id: number, parent: nullable(number), function: optional(string), file: optional(string), line: optional(number), module: optional(string),
  inlined: optional(boolean), rest_of_children: optional(number), self: optional(figures), total: figures,
});
export type TreeNode = Checked<typeof node>;

export const tree = object({
  schema: literal("silt.tree/1"), filter: string, metric: string, exact: boolean, totals: figures, kind: string, function: nullable(string),
  min_share: number, nodes: array(node),
});
export type Tree = Checked<typeof tree>;
