// SPDX-License-Identifier: MIT
// The two sides of a comparison: two recordings, or two windows of one. The newer is the window that holds everywhere; the older has keys of its own.
import { get, type Change, type State } from "./state";

export interface Moment {
  readonly word: string; // as `from` takes it
  readonly text: string;
}

interface Recorded {
  readonly duration_s: number;
  readonly marks: readonly { readonly time_s: number; readonly name: string }[];
  readonly old: unknown;
}

/** Moments a window may begin or end at: the start, marks in order of time, the peak, the end. */
export function momentsOf(trace: Recorded): readonly Moment[] {
  const marks = [...trace.marks].sort((a, b) => a.time_s - b.time_s);
  const seen = new Set<string>();
  const named = marks.filter((mark) => mark.name !== "" && !seen.has(mark.name) && seen.add(mark.name));
  return [
    { word: "@start", text: "the start" },
    ...named.map((mark) => ({ word: `@${mark.name}`, text: `@${mark.name}` })),
    { word: "@peak", text: "the peak" },
    { word: "@end", text: "the end" },
  ];
}

export type Sides =
  | { readonly kind: "traces" }
  | { readonly kind: "windows"; readonly oldFrom: string; readonly oldTo: string; readonly from: string; readonly to: string }
  | { readonly kind: "none" };

/** With a second recording the two recordings, unless windows were chosen. */
export function sidesOf(state: State, trace: Recorded): Sides {
  const oldFrom = get(state, "old-from"), oldTo = get(state, "old-to");
  if (oldFrom !== undefined || oldTo !== undefined)
    return { kind: "windows", oldFrom: oldFrom ?? "@start", oldTo: oldTo ?? "@end", from: get(state, "from") ?? "@start", to: get(state, "to") ?? "@end" };
  return trace.old ? { kind: "traces" } : { kind: "none" };
}

/** The keys that `diff` and `flame` take beside the newer side's. */
export function oldKeys(state: State, sides: Sides): Readonly<Record<string, string | boolean | null>> {
  if (sides.kind === "traces")
    return { against: true, from: get(state, "from") ?? null, to: get(state, "to") ?? null };
  if (sides.kind === "none")
    return {};
  return { "old-from": sides.oldFrom, "old-to": sides.oldTo, "old-process": get(state, "old-process") ?? null, from: sides.from, to: sides.to };
}

/** Generations: each stretch between two moments that were marked, against the one before it. */
export function generations(trace: Recorded): readonly { readonly text: string; readonly change: Change }[] {
  const stops = momentsOf(trace).filter((moment) => moment.word !== "@peak");
  const made: { text: string; change: Change }[] = [];
  for (let i = 2; i < stops.length; i++) {
    const [a, b, c] = [stops[i - 2]!, stops[i - 1]!, stops[i]!];
    made.push({ text: `${a.text} – ${b.text}, then – ${c.text}`, change: { set: { "old-from": a.word, "old-to": b.word, from: b.word, to: c.word, at: null } } });
  }
  return made;
}

/** The first half against the second. */
export function halves(trace: Recorded): Change {
  const middle = `${Number((trace.duration_s / 2).toPrecision(4))}s`;
  return { set: { "old-from": "@start", "old-to": middle, from: middle, to: "@end", at: null } };
}
