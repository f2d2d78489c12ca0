// SPDX-License-Identifier: MIT
// What one may do with a function of a flame graph or a tree, beside looking at it.
import { hasSource, type Ask } from "../api/ask";
import { functionOf, KIND, placeOf, type FlameTree } from "../model/flame_tree";
import { exactly } from "../model/pick";
import type { MenuItem } from "./menu";

/** A name that was cut in the middle stands for all that begin and end like it. */
function patternOf(name: string): string {
  return exactly(name).replaceAll("…", ".*");
}

export function functionItems(ask: Ask, name: string): readonly MenuItem[] {
  const filters: readonly MenuItem[] = [
    { text: "Only blocks with it in their call path", run: () => ask.go({ add: [["function", patternOf(name)]] }) },
    { text: "Hide blocks with it in their call path", run: () => ask.go({ add: [["not-function", patternOf(name)]] }) },
  ];
  return [
    { text: "Details", key: "o", run: () => openFunction(ask, name) },
    ...(ask.isFile ? [] : filters),
    { text: "Show its callers", run: () => ask.go({ view: "tree", set: { callers: name, callees: null, shape: "callers" } }) },
    { text: "Show what it calls", run: () => ask.go({ view: "tree", set: { callees: name, callers: null, shape: "callees" } }) },
    ...(hasSource(ask, name) ? [{ text: "Show its source", run: () => ask.go({ view: "source", set: { what: name } }) }] : []),
  ];
}

export function openFunction(ask: Ask, name: string): void {
  ask.go({ set: { pick: `function:${name}` } });
}

/** A module is a filter like a function; of crates there is none. */
function moduleItems(ask: Ask, object: string): readonly MenuItem[] {
  return [
    { text: "Only blocks with it in their call path", run: () => ask.go({ add: [["module", patternOf(object)]] }) },
    { text: "Hide blocks with it in their call path", run: () => ask.go({ add: [["not-module", patternOf(object)]] }) },
  ];
}

export function boxItems(ask: Ask, tree: FlameTree, box: number, boxes: string): readonly MenuItem[] {
  if (boxes === "crate") return [];
  if (boxes === "module") return tree.columns.kind[box] === KIND.frame ? moduleItems(ask, placeOf(tree, box)) : [];
  return tree.columns.kind[box] === KIND.frame ? functionItems(ask, functionOf(tree, box)) : [];
}

export function openBox(ask: Ask, tree: FlameTree, box: number): void {
  if (tree.columns.kind[box] === KIND.frame)
    openFunction(ask, functionOf(tree, box));
}
