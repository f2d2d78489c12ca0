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
