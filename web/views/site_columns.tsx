// SPDX-License-Identifier: MIT
// The columns of Sites: a name, a place, every metric with a bar, and the history.
import type { Table as TableAnswer } from "../api/table";
import { estimate, place } from "../model/spread";
import { isTimeMetric, type Unit } from "../model/metric";
import { bytes, count, share, signedBytes, time, weightWords } from "../model/units";
import { Spark } from "../widgets/spark";
import type { Column } from "../widgets/table";

/** What a `group-by` is called. */
export const GROUP_WORDS: Readonly<Record<string, string>> = {
  site: "call path", function: "function", module: "module", line: "line", crate: "crate or namespace", component: "component", thread: "thread", size: "size", process: "process",
};

const SPARK_PX = 88;

interface Metric {
  readonly key: string;
  readonly title: string;
  readonly hint: string;
  readonly values: readonly number[] | null;
  readonly unit: Unit;
  readonly minPx?: number;
}

/** Of an imported profile of something else than memory: its one figure. */
function weightsOf(a: TableAnswer, title: string): readonly (Metric & { values: readonly number[] })[] {
  const metrics: readonly Metric[] = [
    { key: a.metric, title, hint: "Measured in it itself", values: a.metric === "end" ? a.end_bytes : a.peak_bytes, unit: "bytes" },
    { key: "total", title: "with callees", hint: "Measured in it and everything it called", values: a.total_peak_bytes, unit: "bytes", minPx: 96 },
  ];
  return metrics.filter((m): m is Metric & { values: readonly number[] } => m.values !== null);
}

function metricsOf(a: TableAnswer, hasWindow: boolean): readonly (Metric & { values: readonly number[] })[] {
  const weights = weightWords();
  if (weights !== null) return weightsOf(a, weights);
  const metrics: Metric[] = [
    { key: "peak", title: "at peak", hint: "Bytes live when the process peaked", values: a.peak_bytes, unit: "bytes" },
    { key: "blocks", title: "blocks", hint: "Blocks live at the peak", values: a.peak_blocks, unit: "count" },
    { key: "end", title: "at end", hint: "Bytes still allocated at the end of the window", values: a.end_bytes, unit: "bytes" },
    { key: "allocated", title: "allocated", hint: "Bytes ever allocated", values: a.allocated_bytes, unit: "bytes" },
    { key: "count", title: "allocations", hint: "Allocations ever made", values: a.count, unit: "count" },
    { key: "temporary", title: "temporary", hint: "Allocations freed by the same thread before it allocated again", values: a.temporary, unit: "count" },
  ];
  if (a.total_peak_bytes) metrics.splice(2, 0, { key: "total", title: "with callees", hint: "Bytes live at the peak, requested by it and everything it called", values: a.total_peak_bytes, unit: "bytes", minPx: 96 });
  if (hasWindow) metrics.splice(3, 0, { key: "growth", title: "growth", hint: "Bytes live at the end of the window minus those at its begin", values: a.growth_bytes, unit: "bytes" });
  const times: readonly Metric[] = [
    { key: "cpu", title: "CPU", hint: "CPU time in it itself", values: a.cpu_ns, unit: "time" },
    { key: "total-cpu", title: "CPU with callees", hint: "CPU time in it and everything it called", values: a.total_cpu_ns, unit: "time", minPx: 112 },
    { key: "blocked", title: "blocked", hint: "Time that threads waited in it itself", values: a.metric === "blocked" ? a.blocked_ns : someOf(a.blocked_ns), unit: "time" },
    { key: "total-blocked", title: "blocked with callees", hint: "Time that threads waited in it and everything it called", values: a.metric === "blocked" ? a.total_blocked_ns : null, unit: "time", minPx: 136 },
  ];
  // Beside time, what is done in it comes before what is kept.
  const traffic = (m: Metric): boolean => m.key === "count" || m.key === "allocated" || m.key === "temporary";
  const all = isTimeMetric(a.metric) ? [...times, ...metrics.filter(traffic), ...metrics.filter((m) => !traffic(m) && m.key !== "total")] : [...metrics, ...times];
  return all.filter((m): m is Metric & { values: readonly number[] } => m.values !== null);
}

/** A column of nothing is none. */
function someOf(values: readonly number[] | null): readonly number[] | null {
  return values?.some((n) => n !== 0) ? values : null;
}

/** As it is, for who looks closely. */
function exactText(n: number, unit: Unit): string {
  return unit === "bytes" && weightWords() === null ? `${count(n)} bytes` : unit === "time" ? `${count(n)} ns` : count(n);
}

function numberColumn(m: Metric & { values: readonly number[] }, answer: TableAnswer, isSampled: boolean): Column {
  const most = m.values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const error = (isSampled || m.key === "cpu") && answer.error && m.key === answer.metric ? answer.error : null;
  const show = (row: number): string => {
    const value = m.values[row];
    if (m.key === "growth") return value === 0 ? "–" : signedBytes(value);
    return value === 0 ? "–" : estimate(value, m.unit, error?.[row]);
  };
  const whole = m.values.reduce((a, b) => a + Math.max(0, b), 0);
  return {
    key: m.key, title: m.title, hint: m.hint, isNumber: true, minPx: (m.minPx ?? 88) + (error ? 40 : 0), values: m.values,
    cell: show,
    tip: (row) => exactText(m.values[row], m.unit) + (m.key === "growth" || m.key.startsWith("total") ? "" : `, ${share(m.values[row], whole)} of all rows`),
    share: most > 0 ? (row) => m.values[row] / most : undefined,
    copy: (row) => String(m.values[row]),
  };
}

/** The same in every answer to the same question, wherever the row is. */
function identity(answer: TableAnswer, row: number): string {
  return `${answer.site[row]} ${answer.names[answer.key[row]]} ${answer.names[answer.label[row]]}`;
}

function historiesOf(answer: TableAnswer): ReadonlyMap<string, readonly (number | null)[]> {
  return new Map(answer.spark_live_bytes.map((values, row) => [identity(answer, row), values]));
}

/** `first` has the histories, of its first rows; `answer` the same rows and more. */
export function siteColumns(answer: TableAnswer, first: TableAnswer, how: { isSampled: boolean; hasWindow: boolean }): readonly Column[] {
  const name = (index: number): string => answer.names[index] ?? "";
  const wholePlace = (row: number): string => (name(answer.file[row]) === "" ? name(answer.module[row]) : name(answer.file[row]) + (answer.line[row] > 0 ? `:${answer.line[row]}` : ""));
  const isCode = ["site", "function", "line", "crate", "component", "module"].includes(answer.group_by);
  const columns: Column[] = [
    {
      key: "name", title: GROUP_WORDS[answer.group_by] ?? answer.group_by, minPx: 176, grow: 3, values: answer.label.map(name),
      look: isCode ? "name" : undefined,
      cell: (row) => name(answer.label[row]),
      tip: (row) => (answer.group_by === "site" || answer.group_by === "function" ? name(answer.function[row]) : name(answer.label[row])) || name(answer.label[row]),
      copy: (row) => name(answer.label[row]),
    },
  ];
  if (answer.group_by === "site" || answer.group_by === "function")
    columns.push({
      key: "place", title: "place", isMinor: true, minPx: 112, grow: 1, values: answer.file.map((file, row) => place(name(file), answer.line[row]) || name(answer.module[row])),
      look: "quiet",
      cell: (row) => place(name(answer.file[row]), answer.line[row]) || name(answer.module[row]).replace(/^.*\//, ""),
      tip: wholePlace,
      copy: wholePlace,
    });
  const metrics = metricsOf(answer, how.hasWindow).map((m) => numberColumn(m, answer, how.isSampled));
  // What is asked for comes first.
  metrics.sort((a, b) => Number(b.key === answer.metric) - Number(a.key === answer.metric));
  columns.push(...metrics);
  if (answer.group_by !== "site" && answer.call_paths.some((n) => n > 1))
    columns.push({ key: "paths", title: "call paths", isNumber: true, minPx: 80, values: answer.call_paths, cell: (row) => count(answer.call_paths[row]), copy: (row) => String(answer.call_paths[row]) });
  const histories = historiesOf(first);
  if (histories.size > 0 && weightWords() === null)
    columns.push({
      key: "spark", title: "over time", hint: `${isTimeMetric(answer.metric) ? "Time" : "Live bytes"} over the window, of the largest rows`, minPx: SPARK_PX + 16,
      cell: (row) => {
        const values = histories.get(identity(answer, row));
        if (!values) return "";
        const most = values.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
        return <Spark values={values} at_s={first.spark_at_s} width={SPARK_PX} height={18} label={isTimeMetric(answer.metric) ? `over time, at most ${time(most)} at once` : `live over time, at most ${bytes(most)}`} />;
      },
    });
  return columns;
}
