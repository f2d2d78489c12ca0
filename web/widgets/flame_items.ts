// SPDX-License-Identifier: MIT
// What one may do with a box of a flame graph, beside looking at it.
import type { Ask } from "../api/ask";
import { KIND, nameOf, type FlameTree } from "../model/flame_tree";
import { exactly } from "../model/pattern";
import type { MenuItem } from "./menu";

export function boxItems(ask: Ask, tree: FlameTree, box: number): readonly MenuItem[] {
  if (tree.columns.kind[box] !== KIND.frame)
    return [];
  const name = nameOf(tree, box);
  const items: MenuItem[] = [
    { text: "Details", key: "o", run: () => openBox(ask, tree, box) },
    { text: "Only blocks with it in their call path", run: () => ask.go({ add: [["function", exactly(name)]] }) },
    { text: "Hide blocks with it in their call path", run: () => ask.go({ add: [["not-function", exactly(name)]] }) },
    { text: "Show its callers", run: () => ask.go({ view: "tree", set: { callers: name, callees: null, shape: "callers" } }) },
    { text: "Show what it calls", run: () => ask.go({ view: "tree", set: { callees: name, callers: null, shape: "callees" } }) },
    { text: "Show its source", run: () => ask.go({ view: "source", set: { what: name } }) },
  ];
  return items;
}

export function openBox(ask: Ask, tree: FlameTree, box: number): void {
  if (tree.columns.kind[box] === KIND.frame)
    ask.go({ set: { pick: `function:${nameOf(tree, box)}` } });
}
