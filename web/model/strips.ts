// SPDX-License-Identifier: MIT
// What the timeline draws: one thing as an area, the others as strips below it. What is chosen as metric leads.
import type { Timeline } from "../api/timeline";
import { isTimeMetric } from "./metric";
import type { Line } from "./series";

export type Lead = "memory" | "cpu" | "blocked";

export interface Strip {
  readonly name: "rate" | "CPU" | "blocked" | "memory";
  readonly values: readonly (number | null)[];
}

export function leadOf(metric: string): Lead {
  return isTimeMetric(metric) ? (metric as Lead) : "memory";
}

/** The line of the area, of a timeline that has it. */
export function leadLine(t: Timeline, lead: Lead): Line {
  const line = lead === "cpu" ? t.threads_on_cpu : lead === "blocked" ? t.threads_blocked : t.live_bytes;
  return line ? [...line] : new Array<number | null>(t.columns).fill(null);
}

function isSome(line: readonly (number | null)[] | null): line is readonly (number | null)[] {
  return line !== null && line.some((v) => v !== null && v > 0);
}

/** Below a memory's area the CPU and the rate; below time the memory. What is nothing anywhere has no strip. */
export function stripsOf(t: Timeline | null, lead: Lead): readonly Strip[] {
  if (t === null) return [{ name: "rate", values: [] }];
  const strips: Strip[] = [];
  if (lead !== "cpu" && isSome(t.threads_on_cpu)) strips.push({ name: "CPU", values: t.threads_on_cpu });
  if (lead === "cpu" && isSome(t.threads_blocked)) strips.push({ name: "blocked", values: t.threads_blocked });
  if (lead !== "memory" && (isSome(t.live_bytes) || isSome(t.rss_bytes))) strips.push({ name: "memory", values: isSome(t.live_bytes) ? t.live_bytes : t.rss_bytes });
  if (t.allocations_per_s && isSome(t.allocations_per_s)) strips.push({ name: "rate", values: t.allocations_per_s });
  return strips;
}

/** A thread that runs has 1,000 samples a second: a line is even over so much time. */
const EVEN_S = 0.03;

function evenly(line: readonly (number | null)[], n: number): Line {
  const half = Math.floor(n / 2);
  return line.map((v, i) => {
    if (v === null) return null;
    let sum = 0, seen = 0;
    for (let k = Math.max(0, i - half); k <= Math.min(line.length - 1, i + half); k++) {
      sum += line[k] ?? 0;
      seen++;
    }
    return sum / seen;
  });
}

/** With lines of time as far as samples tell: single ones are noise. */
export function evened(t: Timeline | null): Timeline | null {
  if (t === null || (!t.threads_on_cpu && !t.threads_blocked)) return t;
  const n = Math.round((EVEN_S * t.columns) / (t.to_s - t.from_s || 1));
  if (n < 2) return t;
  return { ...t, threads_on_cpu: t.threads_on_cpu && evenly(t.threads_on_cpu, n) };
}

/** Groups of time have nanoseconds of a column: as many threads, at a time. */
export function threadsOf(t: Pick<Timeline, "from_s" | "to_s" | "columns">, ns: readonly (number | null)[]): Line {
  const width_ns = ((t.to_s - t.from_s) / Math.max(1, t.columns)) * 1e9;
  return ns.map((v) => (v === null ? null : v / (width_ns || 1)));
}

/** With groups of time as threads: what is stacked on each other has one unit. */
export function inUnits(t: Timeline, lead: Lead): Timeline {
  if (lead === "memory" || t.groups.length === 0) return t;
  return {
    ...t, rest_live_bytes: t.rest_live_bytes && threadsOf(t, t.rest_live_bytes),
    groups: t.groups.map((group) => ({ ...group, live_bytes: threadsOf(t, group.live_bytes) })),
  };
}

/** "0.25", "1.5", "12": threads at a time. */
export function threadsText(n: number): string {
  if (Number.isNaN(n)) return "unknown";
  return n === 0 ? "0" : n < 10 ? String(Number(n.toFixed(n < 1 ? 2 : 1))) : String(Math.round(n));
}
