// SPDX-License-Identifier: MIT
// The nodes of silt.tree/1 out of the columns of a file.
import type { Columns } from "../api/columns";
import type { Figures } from "../api/common";
import { functionText, figuresIn, noFigures, valueOf, type FigureSet, type Metric } from "./columns";
import { SMALLER, treeOf, type TreeNode } from "./columns_tree";
import { isTimeMetric } from "./metric";

export interface NodesWish {
  readonly metric: Metric;
  readonly from: number;
  readonly to: number;
  readonly shape: "tree" | "bottom-up" | "callers" | "callees";
  /** Of callers and callees. */
  readonly function: string;
}

const KINDS = { tree: "top-down", "bottom-up": "bottom-up", callers: "callers", callees: "callees" } as const;

/** As the report has them: time is never told as bytes. */
export function reportFigures(f: FigureSet, metric: Metric): Figures {
  if (isTimeMetric(metric)) return { ...reportFigures(noFigures(), "peak"), value: valueOf(f, metric) };
  return {
    value: valueOf(f, metric), allocations: f.count, bytes_allocated: f.allocated_bytes, frees: f.frees, bytes_freed: f.bytes_freed,
    temporary_allocations: f.temporary, reallocations: f.reallocations, peak_live_bytes: f.peak_bytes, peak_live_blocks: f.peak_blocks,
    begin_live_bytes: f.begin_bytes, begin_live_blocks: f.begin_blocks, end_live_bytes: f.end_bytes, end_live_blocks: f.end_blocks,
  };
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
            function: functionText(c, frame), label: c.names[c.frames.label[frame]], file: c.names[c.frames.file[frame]], line: c.frames.line[frame],
            module: c.names[c.frames.module[frame]], inlined: c.frames.inlined[frame], ...(c.frames.async[frame] ? { async: true } : {}),
          }
        : {}),
      ...(node.paths.length > 0 ? { self: reportFigures(node.self, wish.metric) } : {}),
      total: reportFigures(node.total, wish.metric),
    });
    for (let i = node.children.length - 1; i >= 0; i--) todo.push({ node: node.children[i], parent: id });
  }
  return {
    schema: "silt.tree/1", window: { from_s: c.edges_s[wish.from], to_s: c.edges_s[wish.to] }, filter: "", exact: c.exact,
    totals: reportFigures(root.total, wish.metric), kind: KINDS[wish.shape], merged_by: "function", metric: wish.metric, function: through ? wish.function : null,
    min_share: 0, max_depth: 0, nodes,
  };
}
