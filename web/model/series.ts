// SPDX-License-Identifier: MIT
// A timeline's answer as what a chart draws.
import type { Timeline } from "../api/timeline";

export type Line = (number | null)[];

/** The middle of each column. */
export function middles(t: Pick<Timeline, "from_s" | "to_s" | "columns">): number[] {
  const width = (t.to_s - t.from_s) / Math.max(1, t.columns);
  return Array.from({ length: t.columns }, (_, i) => t.from_s + (i + 0.5) * width);
}

/** Groups on top of each other, the rest lowest: line k is the sum of the rest and the groups up to k; the last is all. */
export function stacked(t: Pick<Timeline, "groups" | "rest_live_bytes" | "columns">): Line[] {
  const lines: Line[] = [];
  let below: Line = t.rest_live_bytes ? [...t.rest_live_bytes] : new Array<number | null>(t.columns).fill(0);
  lines.push(below);
  for (const group of [...t.groups].reverse()) {
    below = below.map((v, i) => (v === null || group.live_bytes[i] === null ? null : v + (group.live_bytes[i] ?? 0)));
    lines.push(below);
  }
  return lines;
}

/** The highest of all lines; 0: nothing is known. */
export function highest(lines: readonly (readonly (number | null)[])[]): number {
  let most = 0;
  for (const line of lines) for (const v of line) if (v !== null && v > most) most = v;
  return most;
}

/** The column that a moment is in; -1: none. */
export function columnAt(t: Pick<Timeline, "from_s" | "to_s" | "columns">, seconds: number): number {
  if (seconds < t.from_s || seconds > t.to_s || t.columns === 0) return -1;
  return Math.min(t.columns - 1, Math.floor(((seconds - t.from_s) / (t.to_s - t.from_s || 1)) * t.columns));
}
