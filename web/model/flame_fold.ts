// SPDX-License-Identifier: MIT
// Boxes put together by crate or module, and recursion folded into its first call: a function that is called again further down adds what it has to the box of its first call, and so on with what
// it calls. Each function is then at most once in a path, and the sum of all boxes' own bytes stays the same.
import { changeHue } from "./flame_colour";
import { KIND, type FlameColumns } from "./flame_tree";

interface Node {
  like: number; // the box of the answer that lends name, place and colour
  value: number; // its own, until it is summed up
  beside: number;
  was: number;
  width: number;
  rest: number;
  aged: number; // seconds of all its bytes; NaN: some age is not known
  parent: Node | null;
  children: Map<string, Node>;
}

function nodeBelow(parent: Node | null, like: number): Node {
  return { like, value: 0, beside: 0, was: 0, width: 0, rest: 0, aged: 0, parent, children: new Map() };
}

/** The same columns where nothing recurs. */
export function foldRecursion(c: FlameColumns): FlameColumns {
  const keys = c.kind.map((kind, i) => (kind === KIND.rest ? "rest" : `${kind}:${c.name[i]}:${kind === KIND.frame ? c.module[i] : c.place[i]}`));
  return regroup(c, keys, (parent, key) => {
    for (let above: Node | null = parent; above !== null; above = above.parent)
      if (keys[above.like] === key)
        return above;
    return null;
  });
}

/** A box for each crate or module, however many of its functions call each other. */
export function groupBoxes(c: FlameColumns, by: "module" | "crate"): FlameColumns {
  const of = by === "crate" ? c.module : c.object;
  const keys = c.kind.map((kind, i) => (kind === KIND.rest ? "rest" : kind === KIND.frame || kind === KIND.line ? `in:${of[i]}` : `${kind}:${c.name[i]}:${c.place[i]}`));
  const made = regroup(c, keys, (parent, key) => (parent !== null && keys[parent.like] === key ? parent : null));
  const names = [...made.names];
  const blank = names.push("") - 1;
  const short = new Map<number, number>();
  const shortOf = (text: number): number => {
    let known = short.get(text);
    if (known === undefined) {
      const whole = names[text] ?? "";
      short.set(text, (known = names.push(whole.slice(whole.lastIndexOf("/") + 1) || "unknown module") - 1));
    }
    return known;
  };
  const isGroup = (i: number): boolean => made.kind[i] === KIND.frame || made.kind[i] === KIND.line;
  return {
    ...made, names,
    kind: made.kind.map((kind, i) => (isGroup(i) ? KIND.frame : kind)),
    name: made.name.map((name, i) => (!isGroup(i) ? name : by === "crate" ? made.module[i]! : shortOf(made.object[i]!))),
    place: made.place.map((place, i) => (!isGroup(i) ? place : by === "crate" ? blank : made.object[i]!)),
    function: made.name.map(() => blank),
    marks: made.marks.map(() => 0),
  };
}

/** Boxes put together: each becomes part of the node above that `within` finds for it, or of its parent's child of the same key. */
function regroup(c: FlameColumns, keys: readonly string[], within: (parent: Node | null, key: string) => Node | null): FlameColumns {
  const n = c.parent.length;
  const nodes: Node[] = [];
  let isChanged = false;

  if (n === 0)
    return c;
  for (let i = 0; i < n; i++) {
    const parent = i === 0 ? null : nodes[c.parent[i] ?? 0]!;
    const isBox = c.kind[i] === KIND.frame || c.kind[i] === KIND.line;
    let node = isBox ? within(parent, keys[i]!) : null;
    node ??= parent?.children.get(keys[i]!) ?? null;
    isChanged ||= node !== null;
    if (node === null) {
      node = nodeBelow(parent, i);
      parent?.children.set(keys[i]!, node);
    }
    nodes.push(node);
  }
  if (!isChanged)
    return c;
  addOwn(c, nodes);
  return flattened(c, nodes[0]!);
}

function agedOf(c: FlameColumns, i: number): number {
  const value = c.value[i] ?? 0;
  return value === 0 ? 0 : (c.age_s?.[i] ?? NaN) * value;
}

/** Own figures: what a box has without its children. */
function addOwn(c: FlameColumns, nodes: readonly Node[]): void {
  for (let i = 0; i < nodes.length; i++) {
    const own = nodes[i]!;
    own.value += c.value[i] ?? 0;
    own.beside += c.beside[i] ?? 0;
    own.was += c.was?.[i] ?? 0;
    own.width += c.width[i] ?? 0;
    own.rest += c.rest[i] ?? 0;
    own.aged += agedOf(c, i);
    if (i === 0)
      continue;
    const above = nodes[c.parent[i] ?? 0]!;
    above.value -= c.value[i] ?? 0;
    above.beside -= c.beside[i] ?? 0;
    above.was -= c.was?.[i] ?? 0;
    above.width -= c.width[i] ?? 0;
    above.aged -= agedOf(c, i);
  }
}

/** Sums up, leaves out what has nothing left, and puts the children of one in a row, widest first, the rest last. */
function flattened(c: FlameColumns, root: Node): FlameColumns {
  const order: Node[] = [root];
  for (let at = 0; at < order.length; at++)
    order.push(...order[at]!.children.values());
  for (let at = order.length - 1; at > 0; at--) {
    const node = order[at]!;
    const parent = node.parent!;
    parent.value += node.value;
    parent.beside += node.beside;
    parent.was += node.was;
    parent.width += node.width;
    parent.aged += node.aged;
  }

  const kept: Node[] = [root];
  const parents = [-1];
  const isRestBox = (node: Node): boolean => c.kind[node.like] === KIND.rest;
  for (let at = 0; at < kept.length; at++) {
    const children = [...kept[at]!.children.values()].filter((child) => child.width > 0);
    children.sort((a, b) => Number(isRestBox(a)) - Number(isRestBox(b)) || b.width - a.width || a.like - b.like);
    for (const child of children) {
      kept.push(child);
      parents.push(at);
    }
  }
  const column = (of: readonly number[]): number[] => kept.map((node) => of[node.like] ?? 0);
  return {
    ...c,
    parent: parents,
    name: column(c.name),
    function: c.function && column(c.function),
    object: column(c.object),
    marks: column(c.marks),
    place: column(c.place),
    module: column(c.module),
    hue: kept.map((node, i) => (c.is_change && i > 0 ? changeHue(node.value, c.was ? node.was : null, node.width) : (c.hue[node.like] ?? 0))),
    shade: column(c.shade),
    kind: column(c.kind),
    site: column(c.site),
    width: kept.map((node) => node.width),
    value: kept.map((node) => node.value),
    beside: kept.map((node) => node.beside),
    was: c.was && kept.map((node) => node.was),
    rest: kept.map((node) => node.rest),
    age_s: c.age_s && kept.map((node) => (node.value > 0 && !Number.isNaN(node.aged) ? Math.max(0, node.aged / node.value) : null)),
  };
}
