// SPDX-License-Identifier: MIT
// Parts of resident memory over time, as a chart draws them, and as heaps are laid out in rows.
import type { BillSeries } from "../api/bill";
import type { Heap } from "../api/heap";

/** Line k is the sum of the parts up to k; the last is what was resident. */
export function stackedParts(s: Pick<BillSeries, "parts" | "at_s">): number[][] {
  const lines: number[][] = [];
  let below = s.at_s.map(() => 0);
  for (const part of s.parts) {
    below = below.map((v, i) => v + (part.bytes[i] ?? 0));
    lines.push(below);
  }
  return lines;
}

/** What a chart draws: the lines of the looks, with a gap where nobody looked for long. */
export interface BillLines {
  readonly at_s: number[];
  /** Of each place on the chart the look that it belongs to; -1: none. */
  readonly looks: number[];
  readonly lines: (number | null)[][];
}

const HOLE_SHARE = 0.1, HOLE_AGE_SHARE = 0.25, EDGE_SHARE = 0.004;

/** Looks come an eighth of the age apart: between some that are a quarter and a tenth of the chart apart nobody knows what there was. What a look
 * found then ends a little beside it, so that one with a gap on both sides is seen. */
export function billLines(s: Pick<BillSeries, "parts" | "at_s">, duration_s: number): BillLines {
  const edge = duration_s * EDGE_SHARE, at_s: number[] = [], looks: number[] = [];
  const put = (at: number, look: number): void => {
    at_s.push(at);
    looks.push(look);
  };
  s.at_s.forEach((at, i) => {
    const next = s.at_s[i + 1] ?? at;
    put(at, i);
    if (s.at_s.length === 1) put(at + edge, i);
    if (next - at <= duration_s * HOLE_SHARE || next - at <= at * HOLE_AGE_SHARE) return;
    put(at + edge, i);
    put((at + next) / 2, -1);
    put(next - edge, i + 1);
  });
  return { at_s, looks, lines: stackedParts(s).map((line) => looks.map((look) => (look < 0 ? null : line[look] ?? 0))) };
}

/** The moment nearest to it; -1: there is none. */
export function nearest(at_s: readonly number[], seconds: number): number {
  let best = -1;
  at_s.forEach((s, i) => {
    if (best < 0 || Math.abs(s - seconds) < Math.abs((at_s[best] ?? 0) - seconds)) best = i;
  });
  return best;
}

export interface HeapLayout {
  readonly px: number;
  readonly columns: number;
  readonly rows: number;
  /** The place of each box; one that lies apart has a blank place before it. */
  readonly places: readonly number[];
}

const MAX_PX = 14, MIN_PX = 5;

/** Boxes as large as fit into the width and height, or as small as can be seen. */
export function layoutHeap(h: Pick<Heap, "apart">, width: number, height: number): HeapLayout {
  let at = 0;
  const places = h.apart.map((apart) => {
    at += apart + 1;
    return at - 1;
  });
  let px = MAX_PX;
  while (px > MIN_PX && Math.floor(width / px) * Math.floor(height / px) < at) px--;
  const columns = Math.max(1, Math.floor(width / px));
  return { px, columns, rows: Math.ceil(at / columns), places };
}

/** The box at a point; -1: none. */
export function boxAt(l: HeapLayout, x: number, y: number): number {
  const column = Math.floor(x / l.px);
  return column < 0 || column >= l.columns ? -1 : l.places.indexOf(Math.floor(y / l.px) * l.columns + column);
}
