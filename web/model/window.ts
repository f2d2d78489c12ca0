// SPDX-License-Identifier: MIT
// Times of a recording: as an address writes them, in seconds, and windows made of them.
import type { Trace } from "../api/trace";
import { get, type State } from "./state";
import { duration } from "./units";

export interface Span {
  readonly from_s: number;
  readonly to_s: number;
}

const UNITS: Readonly<Record<string, number>> = { "": 1, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, m: 60, min: 60, h: 3600 };

type Moments = Pick<Trace, "duration_s" | "marks" | "peak">;

/** "12.4", "250ms", "@warm"; undefined: means nothing here, and the server will say so. */
export function secondsOf(text: string, trace: Moments): number | undefined {
  if (text.startsWith("@")) {
    const name = text.slice(1);
    if (name === "start") return 0;
    if (name === "end") return trace.duration_s;
    if (name === "peak") return trace.peak.time_s;
    return trace.marks.find((mark) => mark.name === name)?.time_s;
  }
  const parts = /^(\d+(?:\.\d+)?) ?([a-z]*)$/.exec(text);
  if (!parts || !(parts[2] in UNITS)) return undefined;
  return Number(parts[1]) * UNITS[parts[2]];
}

/** As an address writes it: seconds, with as many digits as a step of `resolution_s` needs. */
export function timeText(seconds: number, resolution_s: number): string {
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(Math.max(resolution_s, 1e-9)))));
  return String(Number(Math.max(0, seconds).toFixed(digits)));
}

/** The keys of a window that was dragged. Where windows begin and end at edges, the address has those: it says what is shown. */
export function spanKeys(span: Span, resolution_s: number, end_s: number, edges_s?: readonly number[]): { readonly from: string; readonly to: string | null } {
  if (!edges_s || edges_s.length < 2) return { from: timeText(span.from_s, resolution_s), to: span.to_s >= end_s ? null : timeText(span.to_s, resolution_s) };
  const last = edges_s.length - 1;
  const nearest = (at: number): number => edges_s.reduce((best, edge, i) => (Math.abs(edge - at) < Math.abs(edges_s[best] - at) ? i : best), 0);
  const from = Math.min(nearest(span.from_s), last - 1);
  const to = Math.max(nearest(span.to_s), from + 1);
  return { from: timeText(edges_s[from], 1e-9), to: to === last ? null : timeText(edges_s[to], 1e-9) };
}

/** What is chosen of the time; null: all of it. A moment (`at`) is a window from the start to it. */
export function windowOf(state: State, trace: Moments): Span | null {
  const at = get(state, "at");
  const from = get(state, "from");
  const to = at ?? get(state, "to");
  if (from === undefined && to === undefined) return null;
  const from_s = from === undefined ? 0 : secondsOf(from, trace);
  const to_s = to === undefined ? trace.duration_s : secondsOf(to, trace);
  if (from_s === undefined || to_s === undefined || to_s < from_s) return null;
  return { from_s, to_s };
}

/** What of the time the timeline shows: `see=FROM..TO`, or all. */
export function seenOf(state: State, trace: Moments): Span {
  const [from, to] = (get(state, "see") ?? "").split("..").map(Number);
  const whole = { from_s: 0, to_s: Math.max(trace.duration_s, 1e-6) };
  return from >= 0 && to > from && from < whole.to_s ? { from_s: from, to_s: Math.min(to, whole.to_s) } : whole;
}

/** Moved by a part of its own length, and kept inside. */
export function nudge(span: Span, by: number, within: Span): Span {
  const length = Math.min(span.to_s - span.from_s, within.to_s - within.from_s);
  const from_s = Math.min(Math.max(span.from_s + by * length, within.from_s), within.to_s - length);
  return { from_s, to_s: from_s + length };
}

/** Zoomed by a factor around a moment that stays where it is; never beyond `within`, never shorter than `least_s`. */
export function zoom(span: Span, factor: number, around_s: number, within: Span, least_s: number): Span {
  const whole = within.to_s - within.from_s;
  const length = Math.min(whole, Math.max(least_s, (span.to_s - span.from_s) * factor));
  const part = (around_s - span.from_s) / (span.to_s - span.from_s || 1);
  const from_s = Math.min(Math.max(around_s - part * length, within.from_s), within.to_s - length);
  return { from_s, to_s: from_s + length };
}

/** "12.4–38 s", "1.25–1.5 s", "250–300 ms": one unit where both have the same. */
export function spanText(span: Span): string {
  const from = duration(span.from_s);
  const to = duration(span.to_s);
  const [fromNumber, fromUnit] = from.split(" ");
  const [, toUnit] = to.split(" ");
  if (span.from_s === 0) return `0–${to}`;
  return from.split(" ").length === 2 && fromUnit === toUnit ? `${fromNumber}–${to}` : `${from}–${to}`;
}

/** Whether it begins or ends where single events are gone, so that figures are of a window near it. */
export function isBeforeDetail(span: Span, trace: Pick<Trace, "detail_from_s">): boolean {
  return span.from_s < trace.detail_from_s && (span.from_s > 0 || span.to_s < trace.detail_from_s);
}
