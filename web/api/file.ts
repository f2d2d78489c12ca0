// SPDX-License-Identifier: MIT
// Answers of a page in one file (`silt html`): those that were written into it, and windows added up from its columns.
import { columnsBy, figuresIn, figuresOf, functionText, isCount, isFunction, liveOver, pathKey, snap, spentOver, totalsIn, allFrames, shownFrames, valueOf, weightsOf, type Metric, type Weights } from "../model/columns";
import { flameFrom, huesOf } from "../model/columns_flame";
import { FILE_GROUPS, tableFrom, type FileGroup } from "../model/columns_table";
import { treeAnswer } from "../model/columns_nodes";
import { metricWords } from "../model/chips";
import { searchPattern } from "../model/flame_tree";
import { plainText } from "../model/pick";
import { isFilter, type Keys } from "../model/state";
import { amount, isTimeMetric, unitOf } from "../model/metric";
import { count, duration, share, time } from "../model/units";
import { checkAnswer, type AnswerName, type Answers } from "./answers";
import { Refused, type Source } from "./ask";
import { array, boolean, nullable, number, object, string, strings } from "./check";
import { columns as columnsCheck, type Columns } from "./columns";
import type { Detail } from "./detail";
import type { Flame } from "./flame";
import type { Found } from "./found";
import type { Report } from "./report";
import type { Timeline } from "./timeline";
import type { Trace } from "./trace";

const OPEN = "open the recording with silt view FILE";
const SOURCE = "source?what=";
const METRICS: readonly string[] = ["peak", "end", "allocated", "count", "temporary", "growth", "cpu", "blocked"];

/** What a detail may be about. */
const DETAILS = ["site", "function", "module"] as const;

export interface FileData {
  readonly answers: Readonly<Record<string, unknown>>;
  /** Answers that could not be given when the file was written, and why. */
  readonly missing: ReadonlyMap<string, string>;
  readonly columns: Columns;
  readonly weights: Weights;
  readonly for: WrittenFor;
}

/** What the file was written for. Answers that columns cannot give are of this window and this metric. */
export interface WrittenFor {
  readonly title: string | null;
  /** Process and filters: they hold in all of it. */
  readonly fixed: Keys;
  readonly from_s: number | null;
  readonly to_s: number | null;
  readonly by: string;
  readonly reversed: boolean;
  readonly full: boolean;
}

const writtenFor = object({
  title: nullable(string), fixed: array(strings), from_s: nullable(number), to_s: nullable(number), by: string, reversed: boolean, full: boolean,
});

/** The document as `silt html` writes it: JSON, gzip, base64. */
export async function readFileData(encoded: string): Promise<FileData> {
  const packed = Uint8Array.from(atob(encoded.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data: unknown = JSON.parse(await new Response(stream).text());
  if (typeof data !== "object" || data === null || !("answers" in data) || typeof data.answers !== "object" || data.answers === null)
    throw new Refused("this file is incomplete", "write it again with silt html");
  const answers = data.answers as Record<string, unknown>;
  const wanted = writtenFor(data, "file");
  const missing = "missing" in data && typeof data.missing === "object" && data.missing !== null ? Object.entries(data.missing) : [];
  const columns = columnsCheck(answers["columns"], "columns");
  return { answers, missing: new Map(missing.map(([name, why]) => [name, String(why)])), columns, weights: weightsOf(columns, !checkAnswer("trace", answers["trace"]).time?.is_all), for: { ...wanted, fixed: wanted.fixed.map(([key = "", value = ""]) => [key, value] as const) } };
}

interface Asked {
  readonly of: ReadonlyMap<string, string>;
  readonly from: number;
  readonly to: number;
  readonly isWhole: boolean;
  /** The window the file was written for. */
  readonly isItsWindow: boolean;
  readonly metric: Metric;
  /** Those that have the metric. */
  readonly columns: Columns;
}

const SECONDS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, m: 60, min: 60, h: 3600, "": 1 };

function timeOf(text: string | undefined, data: FileData): number | null {
  if (text === undefined) return null;
  if (text.startsWith("@")) return momentOf(text.slice(1), data);
  const parts = /^([0-9.]+) ?([a-z]*)$/.exec(text);
  if (!parts || !(parts[2] in SECONDS)) throw new Refused(`'${text}' is not a time`, "write 5s or @NAME", "from");
  return Number(parts[1]) * SECONDS[parts[2]];
}

function momentOf(name: string, data: FileData): number {
  const trace = checkAnswer("trace", data.answers["trace"]);
  if (name === "start") return 0;
  if (name === "end") return trace.duration_s;
  if (name === "peak") return trace.peak.time_s;
  const mark = trace.marks.find((one) => one.name === name);
  if (!mark) throw new Refused(`no mark or snapshot has the name '${name}'`, null, "from");
  return mark.time_s;
}

function understand(name: AnswerName, keys: Keys, data: FileData): Asked {
  const of = new Map(keys);
  const process = of.get("process");
  if (process !== undefined && process !== (fixedValue(data, "process") ?? "all")) refuseProcess(data);
  const filter = keys.find(([key]) => isFilter(key) && !(name === "detail" && (DETAILS as readonly string[]).includes(key)));
  if (filter) throw new Refused(`this file cannot filter by ${filter[0]}`, `${OPEN}, or remove the filter`, filter[0]);
  const metrics = checkAnswer("trace", data.answers["trace"]).metrics;
  const by = of.get("by") ?? (isOfTime(data) ? "cpu" : of.has("at") || !metrics.includes("peak") ? "end" : "peak");
  if (by === "mapped") throw new Refused("this file holds blocks, not mappings", OPEN, "by");
  if (!METRICS.includes(by)) throw new Refused(`'${by}' is not a metric`, METRICS.join(", "), "by");
  const columns = columnsBy(data.weights, by as Metric);
  if (!columns) throw new Refused(withoutTime(data), OPEN, "by");
  const end = timeOf(of.get("at"), data) ?? timeOf(of.get("to"), data);
  const [from, to] = snap(data.columns, timeOf(of.get("from"), data), end);
  const [itsFrom, itsTo] = snap(data.columns, data.for.from_s, data.for.to_s);
  return {
    of, from, to, isWhole: from === 0 && to === data.columns.edges_s.length - 1, isItsWindow: from === itsFrom && to === itsTo, metric: by as Metric, columns,
  };
}

/** There is no memory in the recording. */
function isOfTime(data: FileData): boolean {
  return !data.weights.hasMemory;
}

function withoutTime(data: FileData): string {
  const why = data.columns.without_time?.split(": ")[0];
  return `this file does not have where the time went${why ? `: ${why}` : ""}`;
}

function fixedValue(data: FileData, key: string): string | undefined {
  return data.for.fixed.find(([k]) => k === key)?.[1];
}

function refuseProcess(data: FileData): never {
  const only = fixedValue(data, "process");
  if (only !== undefined) throw new Refused(`this file has process ${only} only`, OPEN, "process");
  throw new Refused("this file has all processes together only", `choose all processes, or ${OPEN}`, "process");
}

export function fileSource(data: FileData): Source {
  return {
    isFile: true,
    writtenFor: data.for,
    edges_s: data.columns.edges_s,
    sources: new Set(Object.keys(data.answers).filter((key) => key.startsWith(SOURCE)).map((key) => key.slice(SOURCE.length))),
    answer: async <N extends AnswerName>(name: N, keys: Keys): Promise<Answers[N]> => {
      await Promise.resolve();
      return checkAnswer(name, answerFrom(data, name, keys));
    },
  };
}

function answerFrom(data: FileData, name: AnswerName, keys: Keys): unknown {
  if (name === "trace") return traceFrom(data);
  if (name === "progress") return { schema: "silt.progress/1", state: "unknown", done: 0, total: 0, parts: [] };
  if (name === "diff" || keys.some(([key]) => key === "against" || key.startsWith("old-"))) return differenceFrom(data, name, keys);
  if (name === "source") return sourceFrom(data, keys);
  if (name === "bill" || name === "heap" || name === "tasks") return momentFrom(data, name, keys);
  const asked = understand(name, keys, data);
  const c = asked.columns;
  switch (name) {
    case "flame": {
      const stored = storedFlame(data, asked.metric);
      const isReversed = asked.of.has("reverse");
      const isFull = asked.of.has("full");
      const byLine = asked.of.has("lines");
      if (!byLine && asked.isItsWindow && asked.metric === stored.metric && isReversed === data.for.reversed && isFull === data.for.full) return stored;
      return flameFrom(c, { ...asked, isReversed, isFull, byLine }, huesOf(stored), stored);
    }
    case "table": {
      const by = asked.of.get("group-by") ?? "site";
      if (!(FILE_GROUPS as readonly string[]).includes(by)) throw new Refused(`this file cannot group by ${by}`, OPEN, "group-by");
      return tableFrom(data.weights, { ...asked, groupBy: by as FileGroup, rows: Number(asked.of.get("rows") ?? 1000), sparks: Number(asked.of.get("sparks") ?? 0) });
    }
    case "found": return foundFrom(c, asked);
    case "shaped": return shapedFrom(asked);
    case "report": return reportFrom(data, asked);
    case "timeline": return timelineFrom(data, asked);
    case "detail": return detailFrom(data, asked);
    case "sql":
    case "sql-schema": throw new Refused("this file answers no statements", OPEN);
    case "fleet": throw new Refused("this file is about one program", OPEN);
    case "holders":
    case "neighbours": throw new Refused("this file does not say who holds what", OPEN);
    case "heat":
    case "threads":
      if (!asked.isItsWindow) throw new Refused(`this file has the blocks and threads of ${itsWindow(data)} only`, `choose it, or ${OPEN}`);
      return data.answers[name] ?? refuseMissing(data, name);
  }
}

/** The picture of the whole by this metric, or by one of the same weight. */
function storedFlame(data: FileData, metric: Metric): Flame {
  const own = checkAnswer("flame", data.answers["flame"]);
  if (own.metric === metric || (!isTimeMetric(metric) && !isTimeMetric(own.metric))) return own;
  const other = data.answers[`flame?by=${isTimeMetric(metric) ? metric : "peak"}`];
  return other === undefined ? own : checkAnswer("flame", other);
}

/** Of resident memory the file has one moment: the one it was written for. Tasks are those of the newest graph. The view says which. */
function momentFrom(data: FileData, name: "bill" | "heap" | "tasks", keys: Keys): unknown {
  const process = new Map(keys).get("process");
  if (process !== undefined && process !== (fixedValue(data, "process") ?? "all")) refuseProcess(data);
  return data.answers[name] ?? refuseMissing(data, name);
}

const MOMENT_WORDS: Readonly<Record<string, string>> = { bill: "what resident memory is made of", heap: "the pages of the heap", tasks: "tasks" };
const MISSING_WORDS: Readonly<Record<string, string>> = { heat: "blocks by size and lifetime", threads: "threads" };

function refuseMissing(data: FileData, name: string): never {
  const why = data.missing.get(name);
  throw new Refused(`this file does not have ${MISSING_WORDS[name] ?? MOMENT_WORDS[name] ?? `the answer '${name}'`}${why ? `: ${why}` : ""}`, OPEN);
}

/** With what was left out of the file, for the header. */
function traceFrom(data: FileData): Trace {
  const trace = checkAnswer("trace", data.answers["trace"]);
  const c = data.columns, { cpu, blocked } = data.weights;
  const limits = [...trace.limits];
  const live = figuresIn(c, 0, c.edges_s.length - 1).peak_bytes;
  sayFewer(limits, c, live, "peak");
  if (cpu) sayFewer(limits, cpu, figuresIn(cpu, 0, cpu.edges_s.length - 1).allocated_bytes, "CPU time");
  if (blocked) sayFewer(limits, blocked, figuresIn(blocked, 0, blocked.edges_s.length - 1).allocated_bytes, "time blocked");
  for (const [name, words] of Object.entries(MISSING_WORDS))
    if (data.missing.has(name)) limits.push(`This file does not have ${words}: ${data.missing.get(name)}.`);
  if (!trace.time || cpu) return { ...trace, limits };
  limits.push(`${withoutTime(data).replace(/^t/, "T")}. To see it, ${OPEN}.`);
  return { ...trace, limits, time: null, metrics: trace.metrics.filter((metric) => !isTimeMetric(metric)) };
}

function sayFewer(limits: string[], c: Columns, values: Float64Array, whole: string): void {
  if (c.smaller_paths === 0) return;
  const all = values.reduce((a, b) => a + b, 0);
  limits.push(`This file has the ${count(c.paths.length)} largest call paths${whole === "peak" ? "" : ` by ${whole}`}. ${count(c.smaller_paths)} smaller ones, ${share(values[c.paths.length] ?? 0, all)} of the ${whole}, are in one row: ${OPEN} to see each.`);
}

/** Of the smaller call paths, which are one row, nothing is known. */
function foundFrom(c: Columns, asked: Asked): Found {
  const text = asked.of.get("search") ?? "";
  const pattern = searchPattern(text.replace(/^\(\?i\)/, "")); // as patternText() wrote it
  if (!pattern) throw new Refused(`'${text}' is not a regular expression`, null, "search");
  const f = figuresIn(c, asked.from, asked.to);
  const matches = c.frames.label.map((label, frame) => pattern.test(c.names[label]!) || pattern.test(functionText(c, frame)));
  const found = { schema: "silt.found/1" as const, metric: asked.metric, whole: 0, value: 0, shown_value: 0, call_paths: 0, shown_call_paths: 0 };
  for (let path = 0; path <= c.paths.length; path++) {
    const value = valueOf(figuresOf(f, path), asked.metric);
    found.whole += value;
    if (path === c.paths.length || !allFrames(c, path).some((frame) => matches[frame])) continue;
    found.value += value;
    found.call_paths++;
    if (!asked.of.has("full") && !shownFrames(c, path).some((frame) => matches[frame])) continue;
    found.shown_value += value;
    found.shown_call_paths++;
  }
  return found;
}

function shapedFrom(asked: Asked): unknown {
  for (const shape of ["tree", "bottom-up", "callers", "callees"] as const)
    if (asked.of.has(shape)) return treeAnswer(asked.columns, { ...asked, shape, function: asked.of.get(shape) ?? "" });
  if (asked.of.has("blocks")) throw new Refused("single blocks are not in this file", OPEN);
  throw new Refused("this file cannot answer that", OPEN);
}

/** The window it was written for, in words. */
function itsWindow(data: FileData): string {
  const { from_s, to_s } = data.for;
  if (from_s === null && to_s === null) return "the whole recording";
  return `${duration(from_s ?? 0)} to ${duration(to_s ?? data.columns.edges_s[data.columns.edges_s.length - 1])}`;
}

/** Two recordings, as they were compared when the file was written. */
function differenceFrom(data: FileData, name: AnswerName, keys: Keys): unknown {
  if (!keys.some(([key]) => key === "against")) throw new Refused("this file cannot compare windows", OPEN);
  const asked = understand(name, keys.filter(([key]) => key !== "against"), data);
  const found = name === "diff" ? data.answers[`diff?by=${asked.metric}`] : data.answers[`against?by=${asked.metric}${asked.of.has("reverse") ? "&reverse=1" : ""}`];
  if (data.answers[`diff?by=${data.for.by}`] === undefined) throw new Refused("this file has one recording and cannot compare", OPEN);
  if (found === undefined) throw new Refused(`this file does not compare by ${asked.metric}`, `choose ${data.for.by}, or open both with silt view BEFORE AFTER`, "by");
  if (!asked.isItsWindow) throw new Refused(`this file compares ${itsWindow(data)} only`, "choose it, or open both with silt view BEFORE AFTER", "from");
  return found;
}

/** As it was written; of another window the figures: findings are about the one it was written for. */
function reportFrom(data: FileData, asked: Asked): Report {
  const whole = checkAnswer("report", data.answers["report"]);
  if (asked.isItsWindow) return whole;
  const c = asked.columns;
  const f = figuresIn(c, asked.from, asked.to);
  const resident = timelineFrom(data, asked).rss_bytes.filter((value) => value !== null);
  const peak_rss_bytes = resident.length > 0 ? Math.max(0, ...resident) : isOfTime(data) ? Number.NaN : 0;
  const memory = figuresIn(data.columns, asked.from, asked.to);
  const totals = isOfTime(data) ? { ...whole.totals, sites: Number.NaN, threads: Number.NaN, peak_rss_bytes } : {
    ...whole.totals, ...totalsIn(data.columns, asked.from, asked.to), sites: Number.NaN, reallocations: memory.reallocations.reduce((a, b) => a + b, 0), peak_rss_bytes,
  };
  const largest = c.paths
    .map((_, path) => path)
    .sort((a, b) => valueOf(figuresOf(f, b), asked.metric) - valueOf(figuresOf(f, a), asked.metric))
    .slice(0, 20);
  return {
    ...whole, totals, window: { from_s: c.edges_s[asked.from], to_s: c.edges_s[asked.to] },
    headline: [...(isOfTime(data) ? [] : [`This window peaks at ${amount(totals.peak_live_bytes, "bytes")} and ends with ${amount(totals.end_live_bytes, "bytes")} live.`]), ...timeWords(data, asked)].join(" "),
    post_mortem: null, findings: null, sizes: null, lifetimes: null,
    notes: [...whole.notes, `Findings are about ${itsWindow(data)}: choose it to see them.`],
    top: [{
      metric: asked.metric,
      sites: isTimeMetric(asked.metric) ? [] : largest.map((path) => ({
        site: c.paths[path],
        bytes: isCount(asked.metric) ? f.allocated_bytes[path] : valueOf(figuresOf(f, path), asked.metric),
        blocks: f.peak_blocks[path], allocations: f.count[path], stack: stackOf(c, path),
      })),
    }],
  };
}

/** What threads ran and waited in a window. */
function timeWords(data: FileData, asked: Asked): readonly string[] {
  const { cpu, blocked } = data.weights;
  if (!cpu || !blocked) return [];
  const spent = (c: Columns): string => time(c.totals.bytes_allocated.slice(asked.from, asked.to).reduce((a, b) => a + b, 0));
  return [`In this window threads used ${spent(cpu)} of CPU time and waited for ${spent(blocked)}.`];
}

function stackOf(c: Columns, path: number): NonNullable<Detail["stack"]> {
  return allFrames(c, path).map((frame) => ({
    function: functionText(c, frame), label: c.names[c.frames.label[frame]], file: c.names[c.frames.file[frame]], line: c.frames.line[frame],
    module: c.names[c.frames.module[frame]], inlined: c.frames.inlined[frame],
  }));
}

/** Which of the frames requested the memory: those before it are machinery. */
function requesterOf(c: Columns, path: number): number | null {
  const at = c.path_frames[path].findIndex((frame) => frame >= 0);
  return at < 0 ? null : at;
}

/** The columns of the whole recording that the timeline's own window covers. */
function timelineFrom(data: FileData, asked: Asked): Timeline {
  const whole = checkAnswer("timeline", data.answers["timeline"]);
  const width = (whole.to_s - whole.from_s) / whole.columns;
  const c = data.columns;
  const first = Math.max(0, Math.floor((c.edges_s[asked.from] - whole.from_s) / width + 1e-6));
  const end = Math.min(whole.columns, Math.max(first + 1, Math.ceil((c.edges_s[asked.to] - whole.from_s) / width - 1e-6)));
  const cut = <T>(list: readonly T[] | null): readonly T[] | null => (list === null ? null : list.slice(first, end));
  return {
    ...whole, from_s: whole.from_s + first * width, to_s: whole.from_s + end * width, columns: end - first,
    live_bytes: whole.live_bytes.slice(first, end), low_live_bytes: whole.low_live_bytes.slice(first, end), rss_bytes: whole.rss_bytes.slice(first, end),
    allocations_per_s: cut(whole.allocations_per_s), allocated_bytes_per_s: cut(whole.allocated_bytes_per_s), threads_on_cpu: cut(whole.threads_on_cpu), threads_blocked: cut(whole.threads_blocked), groups: [], rest_live_bytes: null,
  };
}

/** The paths a detail is about: one of them, or those through a function or a module; none where these have another weight alone. */
function pathsOf(data: FileData, c: Columns, of: ReadonlyMap<string, string>): readonly number[] {
  const every = c.paths.map((_, path) => path);
  const site = of.get("site");
  if (site !== undefined) {
    const one = c.paths.indexOf(Number(site));
    if (one < 0) throw new Refused("this call path is not among those in the file", OPEN, "site");
    const shown = pathKey(c, one);
    return every.filter((path) => path === one || pathKey(c, path) === shown);
  }
  const name = plainText(of.get("function") ?? ""), module = plainText(of.get("module") ?? "");
  const found = pathsThrough(c, of);
  if (found.length === 0 && [data.weights.cpu, data.weights.blocked, data.weights.memory].some((other) => other && pathsThrough(other, of).length > 0)) return [];
  if (found.length === 0) throw new Refused(`${name || module || "this"} is not among the call paths in the file`, OPEN);
  return found;
}

/** Those through a function or a module. */
function pathsThrough(c: Columns, of: ReadonlyMap<string, string>): readonly number[] {
  const name = plainText(of.get("function") ?? ""), module = plainText(of.get("module") ?? "");
  const isIn = (frame: number): boolean => (name !== "" ? isFunction(c, frame, name) : c.names[c.frames.module[frame]] === module);
  return c.paths.map((_, path) => path).filter((path) => allFrames(c, path).some(isIn));
}

function detailFrom(data: FileData, asked: Asked): Detail {
  const c = asked.columns;
  const paths = pathsOf(data, c, asked.of);
  const f = figuresIn(c, asked.from, asked.to);
  const value = (path: number): number => valueOf(figuresOf(f, path), asked.metric);
  const sum = (list: Float64Array): number => paths.reduce((all, path) => all + list[path], 0);
  const largest = paths.reduce<number | null>((a, b) => (a === null || value(b) > value(a) ? b : a), null);
  const isTime = isTimeMetric(asked.metric);
  return {
    schema: "silt.detail/1", sentence: sentenceOf(c, asked, paths.reduce((all, path) => all + value(path), 0)),
    totals: {
      allocations: sum(f.count), bytes_allocated: sum(f.allocated_bytes), temporary_allocations: sum(f.temporary),
      peak_live_bytes: sum(f.peak_bytes), peak_live_blocks: sum(f.peak_blocks), end_live_bytes: sum(f.end_bytes), end_live_blocks: sum(f.end_blocks),
    },
    site: largest === null ? 0 : c.paths[largest], unfiltered: undefined, stack: largest === null ? null : stackOf(c, largest), requester: largest === null ? null : requesterOf(c, largest),
    stacks_in_all: paths.length, history: paths.length > 0 ? historyOf(c, asked, paths) : null,
    sizes: null, lifetimes: null, threads: null, blocks: null, without: null, both: bothOf(data, asked), metric: asked.metric,
    unknown: isTime ? [] : [`sizes, lifetimes, threads and single blocks are not in this file: ${OPEN}`],
  };
}

/** "1.5 s of CPU time (75 %)." */
function sentenceOf(c: Columns, asked: Asked, value: number): string {
  if (!isTimeMetric(asked.metric)) return `${amount(value, unitOf(asked.metric))} ${metricWords(asked.metric)}.`;
  const all = c.totals.bytes_allocated.slice(asked.from, asked.to).reduce((a, b) => a + b, 0);
  return `${time(value)} ${asked.metric === "cpu" ? "of CPU time" : "blocked"}${all > 0 ? ` (${share(value, all)})` : ""}.`;
}

/** A wait is told when it is over, so that when it passed is not known. */
function historyOf(c: Columns, asked: Asked, paths: readonly number[]): Detail["history"] {
  if (asked.metric === "blocked") return null;
  const at_s = c.edges_s.slice(asked.from + 1, asked.to + 1);
  if (asked.metric === "cpu") return { at_s, live_bytes: spentOver(c, new Set(paths)).slice(asked.from, asked.to), live_blocks: null };
  const live = liveOver(c, new Set(paths));
  return { at_s, live_bytes: live.bytes.slice(asked.from, asked.to), live_blocks: live.blocks.slice(asked.from, asked.to) };
}

/** How long the code ran and waited, and how much it allocated; a call path is of one weight. */
function bothOf(data: FileData, asked: Asked): Detail["both"] {
  const { memory, cpu, blocked } = data.weights;
  if (!cpu || !blocked || asked.of.has("site")) return null;
  const sum = (c: Columns, name: "allocated_bytes" | "count"): number => {
    const list = figuresIn(c, asked.from, asked.to)[name];
    return pathsThrough(c, asked.of).reduce((all, path) => all + list[path], 0);
  };
  const all = cpu.totals.bytes_allocated.slice(asked.from, asked.to).reduce((a, b) => a + b, 0);
  return {
    cpu_s: sum(cpu, "allocated_bytes") / 1e9, all_cpu_s: all / 1e9, blocked_s: sum(blocked, "allocated_bytes") / 1e9,
    allocations: isOfTime(data) ? null : sum(memory, "count"), bytes_allocated: isOfTime(data) ? null : sum(memory, "allocated_bytes"),
  };
}

/** Written for the functions that matter most, by the metric of the file. */
function sourceFrom(data: FileData, keys: Keys): unknown {
  const asked = understand("source", keys.filter(([key]) => key !== "what"), data);
  const what = new Map(keys).get("what") ?? "";
  const found = data.answers[`${SOURCE}${what}`];
  if (found === undefined) throw new Refused(`the source of ${what || "this function"} is not in this file`, OPEN, "what");
  if (!asked.isItsWindow || asked.metric !== data.for.by) throw new Refused(`this file has the source by ${data.for.by}, of ${itsWindow(data)}`, `choose them, or ${OPEN}`);
  return found;
}
