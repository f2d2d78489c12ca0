// SPDX-License-Identifier: MIT
// The nodes of silt.tree/1 out of the columns of a file.
import type { Columns } from "../api/columns";
import { figuresIn, type Metric } from "./columns";
import { SMALLER, treeOf, type TreeNode } from "./columns_tree";

export interface NodesWish {
  readonly metric: Metric;
  readonly from: number;
  readonly to: number;
  readonly shape: "tree" | "bottom-up" | "callers" | "callees";
  /** Of callers and callees. */
  readonly function: string;
}

const KINDS = { tree: "top-down", "bottom-up": "bottom-up", callers: "callers", callees: "callees" } as const;

interface Figure {
  readonly value: number;
  readonly bytes: number;
  readonly blocks: number;
}

function figure(value: number, beside: number, metric: Metric): Figure {
  return metric === "count" || metric === "temporary" ? { value, bytes: beside, blocks: value } : { value, bytes: value, blocks: beside };
}

export function treeAnswer(c: Columns, wish: NodesWish): unknown {
  const through = wish.shape === "callers" || wish.shape === "callees" ? { label: wish.function, direction: wish.shape } : undefined;
  const root = treeOf(c, figuresIn(c, wish.from, wish.to), { metric: wish.metric, isReversed: wish.shape === "bottom-up", through });
  const nodes: unknown[] = [];
  const todo: { node: TreeNode; parent: number | null }[] = [{ node: root, parent: null }];
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { node, parent } = next;
    const id = nodes.length;
    const frame = node.frame;
    nodes.push({
      id, parent,
      ...(frame === SMALLER ? { rest_of_children: c.smaller_paths } : {}),
      ...(frame >= 0
        ? {
            function: c.names[c.frames.label[frame]], file: c.names[c.frames.file[frame]], line: c.frames.line[frame],
            module: c.names[c.frames.module[frame]], inlined: c.frames.inlined[frame], ...(c.frames.async[frame] ? { async: true } : {}),
          }
        : {}),
      ...(node.self !== 0 ? { self: figure(node.self, node.selfBeside, wish.metric) } : {}),
      total: figure(node.total, node.totalBeside, wish.metric),
    });
    for (let i = node.children.length - 1; i >= 0; i--) todo.push({ node: node.children[i], parent: id });
  }
  return {
    schema: "silt.tree/1", kind: KINDS[wish.shape], merged_by: "function", metric: wish.metric, function: through ? wish.function : null,
    min_share: 0, max_depth: 0, nodes,
  };
}
