// SPDX-License-Identifier: MIT
// Which boxes of a flame graph are drawn, and where, for a part of its width on so many pixels. Only what is drawn is looked at: the children of a box
// are widest first, so those in sight and those too narrow are found by halving. What is too narrow becomes one bar, "+ N more", in its row.
import { isRest, type FlameTree } from "./flame_tree";

/** Narrower boxes are put together, in pixels. */
export const LEAST_PX = 1.5;

/** What is seen: a part of the whole width, in its units. */
export interface Sight {
  from: number;
  to: number;
  px: number;
}

/** Boxes of all rows, from the top, in each from the left. */
export interface Layout {
  sight: Sight;
  n: number;
  rows: number;
  /** of each row its first box; rows + 1 entries */
  rowStart: number[];
  /** the frame; of bars of many the first of them */
  box: Int32Array;
  /** of bars of many the number of frames in them; of single boxes 0 */
  more: Float64Array;
  /** pixels from the left edge; not cut off at the edges */
  x: Float64Array;
  width: Float64Array;
}

/** What a bar stands for. */
export interface Sum {
  frames: number;
  value: number;
  beside: number;
  was: number;
  width: number;
  /** the box above, -1 of several */
  parent: number;
}

/** The first of [from, to) for which `isPast` holds, which it does for all after it. */
function halve(from: number, to: number, isPast: (i: number) => boolean): number {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isPast(middle))
      to = middle;
    else
      from = middle + 1;
  }
  return from;
}

class Builder {
  n = 0;
  box = new Int32Array(1024);
  more = new Float64Array(1024);
  x = new Float64Array(1024);
  width = new Float64Array(1024);

  push(box: number, more: number, x: number, width: number): void {
    if (this.n === this.box.length)
      this.grow();
    this.box[this.n] = box;
    this.more[this.n] = more;
    this.x[this.n] = x;
    this.width[this.n++] = width;
  }

  private grow(): void {
    const longer = <T extends Int32Array | Float64Array>(old: T, made: T): T => {
      made.set(old);
      return made;
    };
    const size = 2 * this.n;
    this.box = longer(this.box, new Int32Array(size));
    this.more = longer(this.more, new Float64Array(size));
    this.x = longer(this.x, new Float64Array(size));
    this.width = longer(this.width, new Float64Array(size));
  }
}

export function scaleOf(s: Sight): number {
  return s.to > s.from ? s.px / (s.to - s.from) : 0;
}

/** All that is in sight. */
export function layOut(t: FlameTree, sight: Sight): Layout {
  const b = new Builder();
  const rowStart = [0];
  const scale = scaleOf(sight);

  if (t.n > 0 && scale > 0 && t.width[0]! > 0) {
    b.push(0, 0, (t.begin[0]! - sight.from) * scale, t.width[0]! * scale);
    rowStart.push(b.n);
    for (let row = 0; rowStart[row]! < rowStart[row + 1]!; row++) {
      layOutRow(t, sight, scale, b, rowStart[row]!, rowStart[row + 1]!);
      rowStart.push(b.n);
    }
    rowStart.pop();
  }
  return { sight, n: b.n, rows: rowStart.length - 1, rowStart, box: b.box, more: b.more, x: b.x, width: b.width };
}

/** The row below the boxes [from, to) of the layout. */
function layOutRow(t: FlameTree, sight: Sight, scale: number, b: Builder, from: number, to: number): void {
  const rowBegin = b.n;
  for (let k = from; k < to; k++) {
    const parent = b.box[k]!;
    if (b.more[k] !== 0 || t.children[parent] === 0)
      continue;
    const first = t.first[parent]!;
    const end = first + t.children[parent]!;
    const known = isRest(t, end - 1) ? end - 1 : end; // what the answer put together stays together
    const narrow = halve(first, known, (i) => t.width[i]! * scale < LEAST_PX);
    const seen = halve(first, narrow, (i) => t.begin[i]! + t.width[i]! > sight.from);
    const unseen = halve(seen, narrow, (i) => t.begin[i]! >= sight.to);
    for (let i = seen; i < unseen; i++)
      b.push(i, 0, (t.begin[i]! - sight.from) * scale, t.width[i]! * scale);
    if (narrow < end)
      addBar(t, sight, scale, b, narrow, end, rowBegin);
  }
}

function addBar(t: FlameTree, sight: Sight, scale: number, b: Builder, first: number, end: number, rowBegin: number): void {
  const begin = t.begin[first]!;
  const width = t.begin[end - 1]! + t.width[end - 1]! - begin;
  const last = b.n - 1;
  const x = (begin - sight.from) * scale;
  const more = Math.max(1, t.framesBefore[end]! - t.framesBefore[first]!);

  if (begin + width <= sight.from || begin >= sight.to)
    return;
  // bars of neighbours with nothing that could be drawn between them are one
  if (last >= rowBegin && b.more[last] !== 0 && x - (b.x[last]! + b.width[last]!) < LEAST_PX) {
    b.width[last] = x + width * scale - b.x[last]!;
    b.more[last]! += more;
    return;
  }
  b.push(first, more, x, width * scale);
}

/** What the bar at place `k` of a layout stands for. */
export function sumOf(t: FlameTree, l: Layout, k: number): Sum {
  const sum: Sum = { frames: 0, value: 0, beside: 0, was: 0, width: 0, parent: t.columns.parent[l.box[k]!] ?? -1 };
  for (const [from, to, parent] of partsOf(t, l, k)) {
    sum.frames += t.framesBefore[to]! - t.framesBefore[from]!;
    sum.value += t.valueBefore[to]! - t.valueBefore[from]!;
    sum.beside += t.besideBefore[to]! - t.besideBefore[from]!;
    sum.was += t.wasBefore[to]! - t.wasBefore[from]!;
    sum.width += t.begin[to - 1]! + t.width[to - 1]! - t.begin[from]!;
    if (parent !== sum.parent)
      sum.parent = -1;
  }
  return sum;
}

/** The runs of children in a bar: [from, to, parent]. */
function* partsOf(t: FlameTree, l: Layout, k: number): Generator<[number, number, number]> {
  const scale = scaleOf(l.sight);
  const row = t.depth[l.box[k]!]!;
  const from = l.x[k]!;
  const to = from + l.width[k]!;
  const begin = halve(l.rowStart[row - 1]!, l.rowStart[row]!, (i) => l.x[i]! + l.width[i]! > from - 1e-6);
  for (let above = begin; above < l.rowStart[row]! && l.x[above]! < to + 1e-6; above++) {
    const parent = l.box[above]!;
    if (l.more[above] !== 0 || t.children[parent] === 0)
      continue;
    const first = t.first[parent]!;
    const end = first + t.children[parent]!;
    const known = isRest(t, end - 1) ? end - 1 : end;
    const narrow = halve(first, known, (i) => t.width[i]! * scale < LEAST_PX);
    if (narrow === end)
      continue;
    const x = (t.begin[narrow]! - l.sight.from) * scale;
    if (x >= from - 1e-6 && x < to + 1e-6)
      yield [narrow, end, parent];
  }
}

/** The place in the layout of what is at x in a row; -1: nothing. */
export function hit(l: Layout, row: number, x: number): number {
  if (row < 0 || row >= l.rows)
    return -1;
  const end = l.rowStart[row + 1]!;
  const k = halve(l.rowStart[row]!, end, (i) => l.x[i]! + l.width[i]! > x);
  return k < end && l.x[k]! <= x ? k : -1;
}

/** The place of a box in the layout; -1 where it is not drawn by itself. */
export function placeOfBox(t: FlameTree, l: Layout, box: number): number {
  const row = t.depth[box]!;
  if (row >= l.rows)
    return -1;
  const end = l.rowStart[row + 1]!;
  const centre = (t.begin[box]! + t.width[box]! / 2 - l.sight.from) * scaleOf(l.sight);
  const k = halve(l.rowStart[row]!, end, (i) => l.x[i]! + l.width[i]! > centre);
  return k < end && l.box[k] === box && l.more[k] === 0 ? k : -1;
}

/** Within the whole, and not so near that numbers run out: a part of at least a ten-millionth. */
export function clampSight(t: FlameTree, s: Sight): Sight {
  const whole = t.n > 0 ? t.width[0]! : 0;
  const span = Math.min(whole, Math.max(s.to - s.from, whole * 1e-7));
  const from = Math.min(Math.max(s.from, 0), whole - span);
  return { from, to: from + span, px: s.px };
}

/** Nearer by `factor` (over 1) with what is at x staying there. */
export function zoomAt(t: FlameTree, s: Sight, x: number, factor: number): Sight {
  const at = s.from + (x / s.px) * (s.to - s.from);
  const span = (s.to - s.from) / factor;
  return clampSight(t, { from: at - (x / s.px) * span, to: at + (1 - x / s.px) * span, px: s.px });
}

export function sightOf(t: FlameTree, box: number, px: number): Sight {
  return t.n > 0 ? { from: t.begin[box]!, to: t.begin[box]! + t.width[box]!, px } : { from: 0, to: 0, px };
}

/** The innermost box that holds all that is in sight: where one is. */
export function boxInSight(t: FlameTree, s: Sight): number {
  const slack = (s.to - s.from) * 1e-9;
  let at = 0;
  for (;;) {
    const first = t.first[at] ?? 0;
    const end = first + (t.children[at] ?? 0);
    const next = halve(first, end, (i) => t.begin[i]! + t.width[i]! > s.from + slack);
    if (next >= end || next === 0 || isRest(t, next) || t.begin[next]! > s.from + slack || t.begin[next]! + t.width[next]! < s.to - slack)
      return at;
    // a call that is all its caller has looks the same in sight: stop at the outermost that fills it
    if (t.width[next]! === t.width[at]! && t.width[at]! <= (s.to - s.from) * (1 + 1e-9))
      return at;
    at = next;
  }
}
