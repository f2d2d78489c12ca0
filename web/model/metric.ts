// SPDX-License-Identifier: MIT
// What a metric counts: bytes, allocations, or nanoseconds. One recording may have all of them, so the unit is the metric's.
import { get, type State } from "./state";
import { bytes, count, signedBytes, signedCount, signedTime, time, weightWords } from "./units";

export type Unit = "bytes" | "count" | "time";

interface Recorded {
  readonly metrics: readonly string[];
}

export function isTimeMetric(metric: string): boolean {
  return metric === "cpu" || metric === "blocked";
}

export function isCountMetric(metric: string): boolean {
  return metric === "count" || metric === "temporary";
}

export function unitOf(metric: string): Unit {
  return isTimeMetric(metric) ? "time" : isCountMetric(metric) ? "count" : "bytes";
}

/** What is chosen; without a choice what views take: of a recording of time alone the CPU's. */
export function metricOf(state: State, trace: Recorded): string {
  const usual = trace.metrics.includes("peak") ? (get(state, "at") === undefined ? "peak" : "end") : (trace.metrics[0] ?? "peak");
  return get(state, "by") ?? usual;
}

/** By the unit of a metric. */
export function amount(n: number, unit: Unit): string {
  return unit === "bytes" ? bytes(n) : unit === "time" ? time(n) : count(n);
}

export function signedAmount(n: number, unit: Unit): string {
  return unit === "bytes" ? signedBytes(n) : unit === "time" ? signedTime(n) : signedCount(n);
}

/** As the report prints it: growth has a sign. */
export function metricText(n: number, metric: string): string {
  return metric === "growth" ? signedBytes(n) : amount(n, unitOf(metric));
}

/** What code does with it: it requests memory, makes allocations, takes time. */
export function verbOf(metric: string): string {
  if (weightWords() !== null) return "has";
  return metric === "cpu" ? "took" : metric === "blocked" ? "waited" : isCountMetric(metric) ? "made" : "requested";
}

/** From which end a call path is read. */
export function codeWords(metric: string): string {
  if (weightWords() !== null) return "From the code that was measured";
  return metric === "cpu" ? "From the code that ran" : metric === "blocked" ? "From the code that waited" : "From the code that requested it";
}
