// SPDX-License-Identifier: MIT
// What is chosen, as chips above the view: one for the window, one for each filter.
import type { Trace } from "../api/trace";
import { get, isFilter, type Change, type State } from "./state";
import { spanText, windowOf, type Span } from "./window";
import { duration, weightWords } from "./units";

export interface Chip {
  readonly key: string;
  readonly label: string;
  readonly value: string;
  /** What more there is to say of it. */
  readonly note?: string;
  readonly removal: Change;
}

/** How people say it. */
export const FILTER_WORDS: Readonly<Record<string, string>> = {
  function: "function", "not-function": "not function", module: "module", "not-module": "not module", file: "file", "not-file": "not file",
  "asked-by": "requested by", "not-asked-by": "not requested by", thread: "thread", size: "size", lifetime: "lifetime", "older-than": "older than",
  allocated: "allocated in", "alive-at": "live at", "freed-before": "freed before", site: "call path",
};

/** What a value looks like, for whoever writes one. */
export const FILTER_HINTS: Readonly<Record<string, string>> = {
  function: "a pattern: ^Cache::", module: "libssl", file: "cache.cc", "asked-by": "a pattern: ^parse", thread: "worker, or 17,18", size: "1K..1M",
  lifetime: "10ms..1s", "older-than": "5s", "alive-at": "@warm, or 5s", "not-function": "a pattern: ^main$", "not-module": "libssl", "not-file": "cache.cc",
};

/** `answered`: the window that figures are about, where it is another than the one chosen. */
export function chipsOf(state: State, trace: Trace, answered: Span | null = null): readonly Chip[] {
  const chips: Chip[] = [];
  const at = get(state, "at");
  const chosen = windowOf(state, trace);
  const span = answered ?? chosen;
  const raw = at ?? `${get(state, "from") ?? "@start"}..${get(state, "to") ?? "@end"}`;
  if (at !== undefined || get(state, "from") !== undefined || get(state, "to") !== undefined)
    chips.push({
      key: "window",
      label: at !== undefined ? "at" : "window",
      value: span === null ? raw : at !== undefined ? `${at.startsWith("@") ? `${at}, ` : ""}${duration(span.to_s)}` : spanText(span),
      note: answered && chosen ? `${spanText(chosen)} was chosen. The trace was limited in size: before ${duration(trace.detail_from_s)} it has figures of whole stretches of time, and this is the nearest window.` : undefined,
      removal: { set: { from: null, to: null, at: null } },
    });
  for (const [key, value] of state.keys)
    if (isFilter(key)) chips.push({ key, label: FILTER_WORDS[key] ?? key, value, removal: { remove: [[key, value]] } });
  return chips;
}

/** What a share is a share of. */
export function wholeWords(metric: string): string | null {
  if (weightWords() !== null) return weightWords() === "time" ? "of the time" : `of all ${weightWords()}`;
  switch (metric) {
    case "peak": return "of the peak";
    case "end": return "of what was live at the end";
    case "allocated": return "of all bytes allocated";
    case "count": return "of all allocations";
    case "temporary": return "of all temporary allocations";
    case "cpu": return "of the CPU time";
    case "blocked": return "of the time blocked";
    default: return null;
  }
}

/** A metric as people choose it. */
export function metricWords(metric: string): string {
  return weightWords() ?? METRIC_WORDS[metric] ?? metric;
}

const METRIC_WORDS: Readonly<Record<string, string>> = {
  peak: "live at the peak", end: "live at the end", allocated: "bytes allocated", count: "allocations", temporary: "temporary allocations", growth: "growth", mapped: "bytes mapped by the program itself", cpu: "CPU time", blocked: "time blocked",
};
