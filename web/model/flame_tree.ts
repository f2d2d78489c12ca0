// SPDX-License-Identifier: MIT
// The boxes of a silt.flame/1 answer as a tree: where children begin, how deep and how far from the left each box lies.
// Boxes keep their number. Sums over neighbours are prefix sums, so that what a hundred narrow boxes have together costs one
// subtraction.

export interface FlameColour {
  hue: number;
  name: string;
  share: number;
}

/** What of the answer is drawn. */
export interface FlameColumns {
  metric: string;
  reversed: boolean;
  whole: number;
  is_change: boolean;
  names: readonly string[];
  parent: readonly number[];
  name: readonly number[];
  /** Whole, as filters take it; the name of nothing where it is not known. */
  function?: readonly number[] | null;
  place: readonly number[];
  module: readonly number[];
  /** The file the code is in. */
  object: readonly number[];
  /** MARK, added up. */
  marks: readonly number[];
  hue: readonly number[];
  shade: readonly number[];
  width: readonly number[];
  value: readonly number[];
  beside: readonly number[];
  was: readonly number[] | null;
  kind: readonly number[];
  rest: readonly number[];
  site: readonly number[];
  colours: readonly FlameColour[];
  /** The mean age of what is alive, in seconds: null where it is not known, or nothing is. */
  age_s?: readonly (number | null)[] | null;
  /** Hues are those of ages. */
  is_by_age?: boolean;
}

/** As `kind` is coded. */
export const KIND = { root: 0, frame: 1, rest: 2, process: 3, line: 4 } as const;

/** Bits of `marks`. */
export const MARK = { inlined: 1, async: 2, unnamed: 4, machinery: 8 } as const;

export interface FlameTree {
  columns: FlameColumns;
  n: number;
  first: Int32Array; // the first child; of leaves 0
  children: Int32Array;
  depth: Int32Array;
  rows: number;
  begin: Float64Array; // from the left edge, in the units of width
  width: Float64Array;
  // sums of all boxes before this one, n + 1 entries
  valueBefore: Float64Array;
  besideBefore: Float64Array;
  wasBefore: Float64Array;
  framesBefore: Float64Array; // a rest counts as many as it stands for
}

/** Throws where the columns are no tree: an answer that is wrong is not drawn. */
export function growTree(c: FlameColumns): FlameTree {
  const n = c.parent.length;
  const first = new Int32Array(n);
  const children = new Int32Array(n);
  const depth = new Int32Array(n);
  const begin = new Float64Array(n);
  const width = Float64Array.from(c.width);
  const end = new Float64Array(n); // where the next child begins
  let rows = n > 0 ? 1 : 0;

  if (c.width.length !== n || c.value.length !== n || c.name.length !== n || c.kind.length !== n || c.rest.length !== n)
    throw new Error("the columns of the flame graph differ in length");
  for (let i = 1; i < n; i++) {
    const p = c.parent[i] ?? -1;
    if (p < 0 || p >= i || (children[p] !== 0 && first[p]! + children[p]! !== i))
      throw new Error(`box ${i} of the flame graph is out of order`);
    if (children[p] === 0) {
      first[p] = i;
      end[p] = begin[p]!;
    }
    children[p]!++;
    depth[i] = depth[p]! + 1;
    rows = Math.max(rows, depth[i]! + 1);
    begin[i] = end[p]!;
    end[p]! += width[i]!;
  }
  return {
    columns: c,
    n,
    first,
    children,
    depth,
    rows,
    begin,
    width,
    valueBefore: sumsOf(c.value, n),
    besideBefore: sumsOf(c.beside, n),
    wasBefore: sumsOf(c.was, n),
    framesBefore: sumsOf(c.kind.map((kind, i) => (kind === KIND.rest ? (c.rest[i] ?? 0) : 1)), n),
  };
}

function sumsOf(column: readonly number[] | null, n: number): Float64Array {
  const sums = new Float64Array(n + 1);
  for (let i = 0; i < n; i++)
    sums[i + 1] = sums[i]! + (column?.[i] ?? 0);
  return sums;
}

export function nameOf(t: FlameTree, i: number): string {
  return t.columns.names[t.columns.name[i] ?? -1] ?? "";
}

export function placeOf(t: FlameTree, i: number): string {
  return t.columns.names[t.columns.place[i] ?? -1] ?? "";
}

export function isRest(t: FlameTree, i: number): boolean {
  return t.columns.kind[i] === KIND.rest;
}

/** What a box requested itself: what is left when its children are taken away. */
export function selfOf(t: FlameTree, i: number): number {
  const from = t.first[i]!;
  const to = from + t.children[i]!;
  return (t.columns.value[i] ?? 0) - (t.valueBefore[to]! - t.valueBefore[from]!);
}

/** From the outermost box below the root down to `i`. */
export function lineage(t: FlameTree, i: number): number[] {
  const line: number[] = [];
  for (let at = i; at > 0; at = t.columns.parent[at] ?? 0)
    line.unshift(at);
  return line;
}

/** How `zoom` is written in an address: names joined with `;`, each with its own `;` and `%` escaped. */
export function zoomText(t: FlameTree, i: number): string {
  return lineage(t, i)
    .map((at) => nameOf(t, at).replace(/%/g, "%25").replace(/;/g, "%3B"))
    .join(";");
}

function unescaped(text: string): string {
  return text.replace(/%3B/gi, ";").replace(/%25/g, "%");
}

/** The box with that path of names, or the nearest above it that there is; of several the widest. */
export function boxAtZoom(t: FlameTree, zoom: string): number {
  let boxes = [0];
  if (t.n === 0 || zoom === "")
    return 0;
  for (const part of zoom.split(";")) {
    const name = unescaped(part);
    const next = boxes.flatMap((at) => childrenOf(t, at).filter((c) => !isRest(t, c) && nameOf(t, c) === name));
    if (next.length === 0)
      break;
    boxes = next;
  }
  return boxes.reduce((best, at) => (t.width[at]! > t.width[best]! ? at : best));
}

export function childrenOf(t: FlameTree, i: number): number[] {
  return Array.from({ length: t.children[i] ?? 0 }, (_, k) => t.first[i]! + k);
}

export const FOUND = 1;
export const BELOW = 2;

export interface Found {
  /** of each box: 0 not found, FOUND, BELOW one that is */
  state: Uint8Array;
  boxes: number;
  value: number;
  was: number;
  width: number;
}

/** A regular expression over names; a capital in it makes case matter. Null: not one. */
export function searchPattern(text: string): RegExp | null {
  try {
    return new RegExp(text, /[A-Z]/.test(text) ? "u" : "iu");
  } catch {
    return null;
  }
}

/** What matches. A box below one that was found is counted with it, so that each byte counts once. */
export function search(t: FlameTree, pattern: RegExp): Found {
  const c = t.columns;
  const state = new Uint8Array(t.n);
  const matches = c.names.map((name) => name !== "" && pattern.test(name)); // as shown, or whole
  const found: Found = { state, boxes: 0, value: 0, was: 0, width: 0 };

  for (let i = 1; i < t.n; i++) {
    const above = state[c.parent[i] ?? 0]!;
    if (!isRest(t, i) && (matches[c.name[i] ?? -1] || matches[c.function?.[i] ?? -1])) {
      state[i] = FOUND;
      found.boxes++;
      if (above === 0) {
        found.value += c.value[i] ?? 0;
        found.was += c.was?.[i] ?? 0;
        found.width += t.width[i]!;
      }
    } else {
      state[i] = above === 0 ? 0 : BELOW;
    }
  }
  return found;
}

/** The whole name of a box's function, as filters and questions take it. */
export function functionOf(tree: FlameTree, box: number): string {
  const c = tree.columns;
  return (c.function ? c.names[c.function[box]] : "") || nameOf(tree, box);
}
