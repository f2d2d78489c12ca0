// SPDX-License-Identifier: MIT
// The sentence a view starts with: what to look at first. Made of the figures the view shows, in the words of the report.
import type { Heat } from "../api/heat";
import type { Source } from "../api/source";
import type { Table } from "../api/table";
import type { Threads } from "../api/threads";
import type { Tree, TreeNode } from "../api/tree";
import { metricWords } from "./chips";
import { cut } from "./cut";
import { shownName } from "./frame_name";
import { isCountMetric, isTimeMetric, metricText, verbOf } from "./metric";
import { place, shortName, spread } from "./spread";
import { bytes, count, duration, plural, share, signedBytes, time, weightWords } from "./units";
import { visible } from "./visible";

/** Longer names are cut in the middle: a sentence is to be read at a glance. */
const NAME_CELLS = 72;
/** So much of the whole are "most" rows. */
const MOST_PCT = 90;

/** What a figure of a metric is a part of: "of the 14.9 MiB live at the peak". */
const WHOLE_WORDS: Readonly<Record<string, string>> = {
  peak: "live at the peak", end: "still allocated at the end", allocated: "allocated", count: "allocations", temporary: "temporary allocations", growth: "of growth", mapped: "mapped by the program itself", cpu: "of CPU time", blocked: "blocked",
};

function nameText(name: string): string {
  return cut(visible(shortName(name)), NAME_CELLS);
}

const figure = metricText;

/** "live at the peak"; of one allocation, "allocation". */
function wordsOf(metric: string, n: number): string {
  const words = weightWords() !== null ? "measured" : (WHOLE_WORDS[metric] ?? metric);
  return isCountMetric(metric) && Math.round(n) === 1 ? words.replace(/s$/, "") : words;
}

/** "7.0 MiB of the 14.9 MiB live at the peak (47 %)"; what is more than the whole, as growth among parts that shrank, has no share. */
function partText(part: number, whole: number, metric: string, about: string, error = ""): string {
  const text = `${about}${figure(part, metric)}${error}`;
  if (whole <= 0 || part > whole) return `${text} ${wordsOf(metric, part)}`;
  return part === whole && about === "" ? `all of the ${figure(whole, metric)} ${wordsOf(metric, whole)}`
    : `${text} of the ${figure(whole, metric)} ${wordsOf(metric, whole)} (${share(part, whole)})`;
}

function shrankText(whole: number, about: string): string {
  return whole === 0 ? "Nothing grew: as much was live at the end as at the start." : `Nothing grew: what is live changed by ${about}${signedBytes(whole)}.`;
}

/** How a count's or a size's parts are told: "80 % of it", "of them". */
function ofWhole(metric: string): string {
  return isCountMetric(metric) ? "of them" : "of it";
}

// ---- call paths as a tree ------------------------------------------------------------------------

export type TreeShape = "tree" | "bottom-up" | "callers" | "callees";

/** null: there is nothing to say. `about`: the function of callers and callees. */
export function treeSentence(answer: Pick<Tree, "metric" | "nodes">, shape: TreeShape, isSampled: boolean, about = ""): string | null {
  const { nodes, metric } = answer;
  if (nodes.length < 2) return null;
  const some = isSampled ? "about " : "";
  const whole = nodes[0].total.value;
  const first = largestChild(nodes, nodes[0]);
  if (metric === "growth") {
    // What grew may be below what shrank by more.
    const grown = nodes.reduce<TreeNode | null>((best, node) => (node.rest_of_children === undefined && node !== nodes[0] && (node.self?.value ?? 0) > (best?.self?.value ?? 0) ? node : best), null);
    if (!first && grown) return `${nodeName(grown)} requested ${some}${signedBytes(grown.self?.value ?? 0)} of growth; in all, what is live changed by ${some}${signedBytes(whole)}.`;
    if (!first) return nodes.some((node) => node !== nodes[0] && node.total.value > 0) ? null : shrankText(whole, some);
  }
  if (!first) return null;
  const verb = verbOf(metric), ofIt = ofWhole(metric), isTime = isTimeMetric(metric) || weightWords() !== null;
  if (shape === "callers" || shape === "callees") {
    const next = largestChild(nodes, first);
    const where = shape === "callers" ? "called from" : "through";
    return `Call paths with ${nameText(about)} ${verb} ${some}${figure(whole, metric)} ${wordsOf(metric, whole)}${next && Math.round(whole) !== 1 ? `; ${share(next.total.value, whole)} ${ofIt} ${where} ${nodeName(next)}` : ""}.`;
  }
  if (shape === "bottom-up") {
    const next = largestChild(nodes, first);
    return `${nodeName(first)} ${verb} ${partText(first.total.value, whole, metric, some)}${next ? `; ${share(next.total.value, first.total.value)} ${ofIt} called from ${nodeName(next)}` : ""}.`;
  }
  // Down along what has most of the whole, to where it forks.
  let at = first, parent: TreeNode | null = null;
  for (let next = largestChild(nodes, at); next && 2 * next.total.value >= whole; next = largestChild(nodes, at)) {
    parent = at;
    at = next;
  }
  const next = largestChild(nodes, at), self = at.self?.value ?? 0;
  const below = next && next.total.value > self ? `; ${share(next.total.value, at.total.value)} ${ofIt} through ${nodeName(next)}`
    : self > 0 && next ? `; ${share(self, at.total.value)} ${ofIt} ${isTime ? "in itself" : `${verb} by itself`}` : "";
  return `${capital(`${partText(at.total.value, whole, metric, some)} ${isTime ? "went" : "came"} through ${nodeName(at)}`)}${parent ? `, called from ${nodeName(parent)}` : ""}${below}.`;
}

/** The largest that has a name: what is put together is no place to look at. */
function largestChild(nodes: readonly TreeNode[], of: TreeNode): TreeNode | null {
  let found: TreeNode | null = null;
  for (const node of nodes)
    if (node.parent === of.id && node.rest_of_children === undefined && node.total.value > (found?.total.value ?? 0)) found = node;
  return found;
}

function nodeName(node: TreeNode): string {
  return cut(visible(shownName(node)), NAME_CELLS) || (node.module ? `code of ${visible(node.module.slice(node.module.lastIndexOf("/") + 1))}` : "code without a call path");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// ---- tables --------------------------------------------------------------------------------------

const GROUPS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  site: ["call path", "call paths"], function: ["function", "functions"], module: ["module", "modules"], line: ["line", "lines"],
  crate: ["crate or namespace", "crates and namespaces"], component: ["component", "components"], thread: ["thread", "threads"], size: ["size", "sizes"], process: ["process", "processes"],
};

/** The column of the metric. */
export function columnOf(t: Table): readonly number[] {
  return {
    peak: t.peak_bytes, end: t.end_bytes, allocated: t.allocated_bytes, count: t.count, temporary: t.temporary, growth: t.growth_bytes, cpu: t.cpu_ns, blocked: t.blocked_ns,
  }[t.metric] ?? t.peak_bytes ?? [];
}

/** Of all rows together; null: not known. */
function wholeOf(t: Table): number | null {
  if (t.whole !== undefined) return t.whole;
  switch (t.metric) {
    case "peak": return t.totals.peak_live_bytes;
    case "end": return t.totals.end_live_bytes;
    case "allocated": return t.totals.bytes_allocated;
    case "count": return t.totals.allocations;
    case "temporary": return t.totals.temporary_allocations;
    default: return t.rows === t.rows_in_all ? (t.growth_bytes ?? []).reduce((sum, n) => sum + n, 0) : null;
  }
}

export function tableSentence(t: Table, isSampled: boolean): string | null {
  const values = columnOf(t);
  if (t.rows === 0) return null;
  const whole = wholeOf(t), about = isSampled ? "about " : "";
  const most = values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
  const [one, many] = GROUPS[t.group_by] ?? [t.group_by, t.group_by];
  if (values[most] <= 0 && t.metric === "growth" && whole !== null) return shrankText(whole, about);
  if (values[most] <= 0) return `${plural(t.rows_in_all, one, many)}, none with ${t.metric === "growth" ? "growth" : isTimeMetric(t.metric) ? metricWords(t.metric) : isCountMetric(t.metric) ? WHOLE_WORDS[t.metric] : `anything ${WHOLE_WORDS[t.metric] ?? t.metric}`}.`;
  const error = isSampled || isTimeMetric(t.metric) ? spread(values[most], t.error?.[most]) : "";
  const part = whole === null ? `${about}${figure(values[most], t.metric)}${error} ${wordsOf(t.metric, values[most])}` : partText(values[most], whole, t.metric, about, error);
  return `${subjectOf(t, most)} ${t.group_by === "size" ? "are" : verbOf(t.metric)} ${part}${mostText(t, values, whole, many)}.`;
}

function subjectOf(t: Table, row: number): string {
  const label = t.names[t.label[row]] ?? "";
  switch (t.group_by) {
    case "size": return `Blocks of ${visible(label)}`;
    case "thread": return `Thread ${cut(visible(label), NAME_CELLS)}`;
    case "process": return `Process ${cut(visible(label), NAME_CELLS)}`;
    case "site": {
      const where = place(t.names[t.file[row]] ?? "", t.line[row]);
      return `${nameText(label)}${where === "" ? "" : ` (${visible(where)})`}`;
    }
    default: return nameText(label) || "Code without a name";
  }
}

/** "; 7 of 693 functions make up 90 % of it", where the rows that are here reach so far. The table below counts the same rows. */
function mostText(t: Table, values: readonly number[], whole: number | null, many: string): string {
  const n = t.rows_in_all;
  if (n < 2) return "";
  if (t.metric !== "growth" && whole !== null && whole > 0) {
    const sorted = [...values].sort((a, b) => b - a);
    for (let i = 0, sum = 0; i < sorted.length; i++) {
      sum += sorted[i];
      if (100 * sum >= MOST_PCT * whole) return i === 0 || i + 1 >= n ? `; ${count(n)} ${many} in all` : `; ${count(i + 1)} of ${count(n)} ${many} make up ${MOST_PCT} % ${ofWhole(t.metric)}`;
    }
  }
  return `; ${count(n)} ${many} in all`;
}

// ---- single blocks -------------------------------------------------------------------------------

function sizeText(size: Heat["sizes"][number]): string {
  if (size.max_bytes === null) return `${bytes(size.min_bytes)} or more`;
  return size.min_bytes === size.max_bytes ? bytes(size.min_bytes) : `${count(size.min_bytes)} to ${count(size.max_bytes)} bytes`;
}

/** How long most live, what was never freed, and which sizes have the most bytes. */
export function blocksSentence(heat: Heat, isSampled: boolean): string | null {
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const blocks = sum(heat.blocks), all = sum(heat.bytes), live = sum(heat.live_blocks), liveBytes = sum(heat.live_bytes);
  if (blocks <= 0) return null;
  const about = isSampled ? "about " : "";
  const freed = new Array<number>(heat.lifetimes.length).fill(0), bySize = new Array<number>(heat.sizes.length).fill(0);
  heat.size.forEach((size, i) => {
    freed[heat.lifetime[i]] += heat.blocks[i] - heat.live_blocks[i];
    bySize[size] += heat.bytes[i];
  });
  const total = `${isSampled ? "about" : "the"} ${plural(blocks, "block")}`;
  const never = live > 0 ? `${about}${count(live)} (${bytes(liveBytes)}) ${Math.round(live) === 1 ? "was" : "were"} never freed` : "all were freed";
  const largest = bySize.reduce((best, n, i) => (n > bySize[best] ? i : best), 0);
  const part = `${share(bySize[largest], all)} of ${about}${bytes(all)}`;
  const sizes = 2 * bySize[largest] > all ? ` Most bytes are in blocks of ${sizeText(heat.sizes[largest])}: ${part}.` : ` No size has more bytes than ${sizeText(heat.sizes[largest])}: ${part}.`;
  if (blocks === 1 && !isSampled) return `The one block, ${bytes(all)}, was ${live > 0 ? "never freed" : "freed"}.`;
  const last = heat.lifetimes.length - 1;
  const isMostlyLive = (gone: number): boolean => 2 * live > blocks || (2 * gone < blocks && live >= freed[last]);
  if (isMostlyLive(freed.reduce((a, b, i) => (i < last ? a + b : a), 0))) return capital(`${share(live, blocks)} of ${total} were never freed, ${about}${bytes(liveBytes)}.${sizes}`);
  for (let i = 0, gone = 0; i < freed.length; i++) {
    gone += freed[i];
    const within = heat.lifetimes[i].max_s;
    if (2 * gone >= blocks && within !== null) return `${share(gone, blocks)} of ${total} lived under ${duration(within)}; ${never}.${sizes}`;
  }
  return `${share(freed[last], blocks)} of ${total} lived ${duration(heat.lifetimes[last].min_s)} or longer; ${never}.${sizes}`;
}

// ---- source and threads --------------------------------------------------------------------------

function sourceSubject(source: Pick<Source, "function" | "line" | "files">): string {
  return source.function ? cut(visible(source.function), 2 * NAME_CELLS) : visible(place(source.files[0]?.file ?? "", source.line ?? 0));
}

/** null: nothing is known of it as a whole. */
export function sourceSentence(source: Pick<Source, "metric" | "function" | "line" | "total" | "totals" | "files">, isSampled: boolean): string | null {
  if (!source.total) return null;
  const { value } = source.total;
  if (source.metric === "growth" && value <= 0) return `${sourceSubject(source)} and what it calls: what is live changed by ${isSampled ? "about " : ""}${signedBytes(value)}.`;
  if (value === 0 && isTimeMetric(source.metric)) return `${sourceSubject(source)} and what it calls have no ${metricWords(source.metric)}.`;
  if (value === 0) return `${sourceSubject(source)} and what it calls ${isCountMetric(source.metric) ? `made no ${WHOLE_WORDS[source.metric]}` : `requested nothing that is ${WHOLE_WORDS[source.metric] ?? source.metric}`}.`;
  return `${sourceSubject(source)} and what it calls ${verbOf(source.metric)} ${partText(source.total.value, source.totals.value, source.metric, isSampled ? "about " : "")}.`;
}

/** "worker ran for 75 % of 2 s of CPU time and was blocked for 3 s"; null: nobody looked. */
function timeSentence(a: Threads): string | null {
  const sum = (of: (t: Threads["threads"][number]) => number | undefined): number => a.threads.reduce((all, t) => all + (of(t) ?? 0), 0);
  const cpu = sum((t) => t.cpu_s), blocked = sum((t) => t.blocked_s);
  if (a.threads.every((t) => t.cpu_s === undefined)) return null;
  if (cpu === 0) return `none of them ran, and all together were blocked for ${time(1e9 * blocked)}`;
  const most = a.threads.reduce((x, y) => ((y.cpu_s ?? 0) > (x.cpu_s ?? 0) ? y : x));
  const waits = a.threads.reduce((x, y) => ((y.blocked_s ?? 0) > (x.blocked_s ?? 0) ? y : x));
  const name = (t: typeof most): string => visible(t.name) || String(t.tid);
  const ran = a.threads.length > 1 ? `${name(most)} ran for ${share(most.cpu_s ?? 0, cpu)} of the ${time(1e9 * cpu)} of CPU time` : `${time(1e9 * cpu)} of CPU time`;
  return `${ran}${(waits.blocked_s ?? 0) > 0 ? `; ${a.threads.length > 1 ? `${name(waits)} was blocked longest, for` : "blocked for"} ${time(1e9 * (waits.blocked_s ?? 0))}` : ""}`;
}

/** `isTold`: the source says which thread did what. */
export function threadsSentence(a: Threads, isTold = true): string {
  const processes = plural(a.pids_in_all, "process", "processes");
  if (!isTold) return `${capital(processes)}; what its threads did is unknown.`;
  const who = `${plural(a.threads_in_all, "thread")} in ${processes}`;
  if (a.threads_in_all === 0) return `No thread allocated, in ${processes}.`;
  const cpu = timeSentence(a);
  if (cpu !== null) return `${who}: ${cpu}.`;
  if (!a.has_figures || a.threads.length === 0) return `${who}.`;
  const most = a.threads.reduce((x, y) => ((y.allocations ?? 0) > (x.allocations ?? 0) ? y : x));
  const all = a.threads.reduce((sum, thread) => sum + (thread.allocations ?? 0), 0);
  const foreign = a.threads.reduce((sum, thread) => sum + (thread.freed_for_others ?? 0), 0);
  const frees = a.threads.reduce((sum, thread) => sum + (thread.frees ?? 0), 0);
  const about = a.is_estimate ? "about " : "";
  const first = a.threads.length > 1 && all > 0 ? `: ${visible(most.name) || most.tid} made ${share(most.allocations ?? 0, all)} of ${a.is_estimate ? "about" : "the"} ${count(all)} allocations` : `, ${about}${plural(all, "allocation")}`;
  return `${who}${first}${foreign > 0 && frees > 0 ? `; ${about}${plural(foreign, "block")} of ${count(frees)} freed came from another thread` : ""}.`;
}
