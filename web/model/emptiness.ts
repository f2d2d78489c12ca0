// SPDX-License-Identifier: MIT
// Why there is nothing to show, and what to do about it.
import type { Trace } from "../api/trace";
import { metricWords } from "./chips";
import { isTimeMetric, metricOf } from "./metric";
import { get, isFilter, type Change, type State } from "./state";
import { duration, weightWords } from "./units";

export interface Emptiness {
  readonly title: string;
  readonly why: string;
  /** What shows something again; null: nothing does. */
  readonly removal: { readonly label: string; readonly change: Change } | null;
}

type Recorded = Pick<Trace, "events" | "duration_s" | "detail_from_s" | "growing" | "peak"> & Partial<Pick<Trace, "metrics" | "time" | "has_times" | "imported">>;

export function emptiness(state: State, trace: Recorded): Emptiness {
  const hasFilter = state.keys.some(([key]) => isFilter(key));
  const hasWindow = ["from", "to", "at"].some((key) => get(state, key) !== undefined);
  const process = get(state, "process");
  const metric = metricOf(state, { metrics: trace.metrics ?? ["peak"] });
  if (isTimeMetric(metric)) return noTime(state, metric, hasFilter, hasWindow);
  if (trace.events === 0 && trace.peak.bytes === 0)
    return {
      title: weightWords() !== null ? `No ${weightWords()}` : "No allocations",
      why: trace.growing
        ? "The program has not allocated anything yet. This page follows it."
        : trace.imported
        ? weightWords() !== null ? "Nothing was counted in what was imported." : "What was imported has no allocation."
        : `The program ran for ${duration(trace.duration_s)} and made no allocation that silt saw. If it should have, silt report FILE says what was not seen and why.`,
      removal: null,
    };
  if (hasFilter)
    return { title: "No blocks", why: `No block ${hasWindow ? "of this window " : ""}passes the filters.`, removal: { label: hasWindow ? "Clear window and filters" : "Clear the filters", change: { clear: true } } };
  if (hasWindow) return { title: "No blocks", why: "Nothing was allocated or live in this window.", removal: { label: "Clear the window", change: { clear: true } } };
  if (process !== undefined && process !== "all")
    return { title: "No blocks", why: "This process allocated nothing.", removal: { label: "All processes", change: { set: { process: null } } } };
  return metric === "peak"
    ? { title: "No blocks", why: "Nothing is known of single call paths in this recording.", removal: null }
    : { title: "No blocks", why: `No call path has any ${metricWords(metric)}.`, removal: { label: "Show what was live at the peak", change: { set: { by: null } } } };
}

/** Nobody was seen running, or waiting. */
function noTime(state: State, metric: string, hasFilter: boolean, hasWindow: boolean): Emptiness {
  const title = metric === "cpu" ? "No CPU time" : "Nothing blocked";
  const what = metric === "cpu" ? "ran" : "was blocked";
  if (hasFilter)
    return { title, why: `No code that passes the filters ${what}${hasWindow ? " in this window" : ""}. Filters on sizes and lifetimes are of blocks and leave out all time.`,
             removal: { label: hasWindow ? "Clear window and filters" : "Clear the filters", change: { clear: true } } };
  if (hasWindow) return { title, why: `No thread ${what} in this window.`, removal: { label: "Clear the window", change: { clear: true } } };
  if ((get(state, "process") ?? "all") !== "all") return { title, why: `No thread of this process ${what}.`, removal: { label: "All processes", change: { set: { process: null } } } };
  return { title, why: metric === "cpu" ? "No sample found a thread running." : "No thread was seen waiting: the recording may have been made with --no-off-cpu.", removal: null };
}
