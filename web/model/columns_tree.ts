// SPDX-License-Identifier: MIT
// Call paths merged to a tree, for the flame graph and the tree of a page in one file.
import type { Columns } from "../api/columns";
import { addFigures, allFrames, figuresOf, functionKey, isFunction, noFigures, shownFrames, valueOf, type FigureSet, type Metric, type WindowFigures } from "./columns";

export interface TreeNode {
  readonly frame: number; // -1: the root; -2: the smaller call paths
  readonly children: TreeNode[];
  readonly paths: number[]; // that end here
  readonly self: FigureSet;
  readonly total: FigureSet;
  width: number; // what the total has of the metric, without signs
}

const node = (frame: number): TreeNode => ({ frame, children: [], paths: [], self: noFigures(), total: noFigures(), width: 0 });

export const SMALLER = -2;

export interface TreeWish {
  readonly metric: Metric;
  /** From the code that asked outwards. */
  readonly isReversed: boolean;
  /** Also frames that are hidden. */
  readonly isFull?: boolean;
  /** Each line of a function is one of its own. */
  readonly byLine?: boolean;
  /** Only paths through this function, from it on: "callers" outwards, "callees" inwards. */
  readonly through?: { readonly label: string; readonly direction: "callers" | "callees" };
}

/** The frames of a path in the order in which the tree has them; null: the path does not belong to it. */
function ordered(c: Columns, path: number, wish: TreeWish): readonly number[] | null {
  const frames = wish.isFull ? allFrames(c, path) : shownFrames(c, path); // innermost first
  if (!wish.through) return wish.isReversed ? frames : [...frames].reverse();
  const { label, direction } = wish.through;
  let at = -1;
  frames.forEach((frame, i) => {
    if (isFunction(c, frame, label)) at = i; // the outermost
  });
  if (at < 0) return null;
  return direction === "callers" ? frames.slice(at) : frames.slice(0, at + 1).reverse();
}

export function treeOf(c: Columns, f: WindowFigures, wish: TreeWish): TreeNode {
  const root = node(-1);
  const below = new Map<TreeNode, Map<string, TreeNode>>();
  const child = (parent: TreeNode, frame: number): TreeNode => {
    let known = below.get(parent);
    if (!known) below.set(parent, (known = new Map()));
    const key = wish.byLine ? `${functionKey(c, frame)}|${c.frames.file[frame]}|${c.frames.line[frame]}` : functionKey(c, frame);
    let found = known.get(key);
    if (!found) {
      known.set(key, (found = node(frame)));
      parent.children.push(found);
    }
    return found;
  };
  const count = (trail: readonly TreeNode[], path: number): void => {
    const width = Math.abs(valueOf(figuresOf(f, path), wish.metric));
    for (const one of trail) {
      addFigures(one.total, f, path);
      one.width += width;
    }
    const end = trail[trail.length - 1];
    addFigures(end.self, f, path);
    end.paths.push(path);
  };
  for (let path = 0; path < c.paths.length; path++) {
    if (valueOf(figuresOf(f, path), wish.metric) === 0) continue;
    const frames = ordered(c, path, wish);
    if (!frames) continue;
    const trail = [root];
    for (const frame of frames) trail.push(child(trail[trail.length - 1], frame));
    count(trail, path);
  }
  if (c.smaller_paths > 0 && !wish.through) {
    const rest = node(SMALLER);
    root.children.push(rest);
    count([root, rest], c.paths.length);
  }
  sort(root);
  return root;
}

/** The widest first, what is put together last. */
function sort(root: TreeNode): void {
  const todo = [root];
  for (let one = todo.pop(); one; one = todo.pop()) {
    one.children.sort((a, b) => Number(a.frame === SMALLER) - Number(b.frame === SMALLER) || b.width - a.width || a.frame - b.frame);
    todo.push(...one.children);
  }
}
