// SPDX-License-Identifier: MIT
// An answer of rows as people read it: which columns are sizes, times or names, and what view a value leads to.
import type { Rows, SqlColumn, SqlValue } from "../api/rows";
import { exactly } from "./pick";
import type { Change } from "./state";
import { bytes, count, duration, hasTimesNow } from "./units";
import { timeText } from "./window";

/** "at": a moment, which is numbered where there are no times; "ns": a length of time. "words": sizes, times and counts that the statement has written out. */
export type Unit = "bytes" | "at" | "ns" | "count" | "id" | "real" | "words" | "text";

export interface ResultColumn {
  readonly name: string;
  readonly unit: Unit;
  readonly isNumber: boolean;
  /** Numbers by row, NaN where there is none; null: they are texts. */
  readonly numbers: Float64Array | null;
  /** What a number of it is, in bytes or nanoseconds or just so many; of what is written out, too. */
  readonly measure: "bytes" | "ns" | "count";
}

const IDS = /^(id|stack|parent|thread|process|block|location|freed_by|freed_stack|old_stack|old_block|pid|tid|image|line|address|graph|dominator|from_node|to_node|rank|level|depth|offset)$/;
const SIZE_WORDS = /^([+-]?)([\d.,]+) (B|KiB|MiB|GiB|TiB|PiB|EiB)$/;
const TIME_WORDS = /^([+-]?)(?:(\d+) h (\d\d) min|(\d+) min (\d\d) s|([\d.]+) (ns|us|ms|s))$/;
const MOMENT_WORDS = /^(?:moment|event) ([\d,]+)$/;
const COUNT_WORDS = /^[+-]?\d{1,3}(,\d{3})+$/;
const SIZES: readonly string[] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const SECONDS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };
const BIG = /^-?\d{16,19}$/;

/** Bytes of "12.3 MiB", nanoseconds of "1.25 s" and of the third moment, of "1,234" the number; null: it is none of these. */
export function readWords(text: string): { readonly value: number; readonly measure: "bytes" | "ns" | "count" } | null {
  const size = SIZE_WORDS.exec(text);
  if (size) return { value: signOf(size[1]) * Number(size[2]!.replaceAll(",", "")) * 1024 ** SIZES.indexOf(size[3]!), measure: "bytes" };
  const time = TIME_WORDS.exec(text);
  if (time) {
    const seconds = time[2] !== undefined ? Number(time[2]) * 3600 + Number(time[3]) * 60 : time[4] !== undefined ? Number(time[4]) * 60 + Number(time[5]) : Number(time[6]) * SECONDS[time[7]!]!;
    return { value: signOf(time[1]) * seconds * 1e9, measure: "ns" };
  }
  const moment = MOMENT_WORDS.exec(text);
  if (moment) return { value: Number(moment[1]!.replaceAll(",", "")) * 1e9, measure: "ns" };
  return COUNT_WORDS.test(text) ? { value: Number(text.replaceAll(",", "")), measure: "count" } : null;
}

function signOf(sign: string | undefined): number {
  return sign === "-" ? -1 : 1;
}

/** As recipes have them (sql/recipe.c). */
const MOMENTS = /(^|_)(at|begin|end|freed|from|peak|start|time)_ns$/;

function unitOf(name: string, hasFractions: boolean): Unit {
  if (/(^|_)bytes$/.test(name)) return "bytes";
  if (MOMENTS.test(name)) return "at";
  if (/(^|_)ns$/.test(name)) return "ns";
  if (IDS.test(name)) return "id";
  return hasFractions ? "real" : "count";
}

export function resultColumns(answer: Rows): readonly ResultColumn[] {
  return answer.columns.map((column, i) => columnOf(column, answer.rows.map((row) => row[i] ?? null)));
}

function columnOf(column: SqlColumn, values: readonly SqlValue[]): ResultColumn {
  const there = values.filter((value) => value !== null);
  const areNumbers = there.length > 0 && there.every((value) => typeof value === "number" || BIG.test(value) || value === "Inf" || value === "-Inf");
  if (areNumbers) {
    // as it was in its table, if it has another name here
    const unit = unitOf(column.column ?? column.name, there.some((value) => typeof value === "number" && !Number.isInteger(value)));
    const named = unit === "count" || unit === "real" ? unitOf(column.name, unit === "real") : unit;
    const numbers = Float64Array.from(values, (value) => (value === null ? NaN : value === "Inf" ? Infinity : value === "-Inf" ? -Infinity : Number(value)));
    return { name: column.name, unit: named, isNumber: true, numbers, measure: named === "at" ? "ns" : named === "bytes" || named === "ns" ? named : "count" };
  }
  const read = there.map((value) => (typeof value === "string" ? readWords(value) : null));
  const measure = read.find((one) => one !== null)?.measure;
  if (measure !== undefined && read.every((one) => one?.measure === measure || (one === null && false)))
    return { name: column.name, unit: "words", isNumber: true, numbers: Float64Array.from(values, (value) => (typeof value === "string" ? (readWords(value)?.value ?? NaN) : NaN)), measure };
  return { name: column.name, unit: "text", isNumber: false, numbers: null, measure: "count" };
}

function timeWords(ns: number): string {
  return ns < 0 ? `-${duration(-ns / 1e9)}` : duration(ns / 1e9);
}

/** As the table shows it. */
export function valueText(column: Pick<ResultColumn, "unit">, value: SqlValue): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return value;
  switch (column.unit) {
    case "bytes": return value < 0 ? `-${bytes(-value)}` : bytes(value);
    case "ns": return hasTimesNow() ? timeWords(value) : "unknown"; // nobody knows how long it is from one number to another
    case "at": return timeWords(value);
    case "count": return value < 0 ? `-${count(-value)}` : count(value);
    case "real": return String(Number(value.toPrecision(6)));
    default: return String(value);
  }
}

/** Whole, on hover. */
export function exactText(column: Pick<ResultColumn, "unit">, value: SqlValue): string | undefined {
  if (value === null) return "NULL";
  if (typeof value === "string") return value;
  if (column.unit === "bytes") return `${value} bytes`;
  if (column.unit === "at" || column.unit === "ns") return hasTimesNow() ? `${value} ns` : valueText(column, value);
  return String(value);
}

// ---- links ---------------------------------------------------------------------------------------

export interface Link {
  readonly words: string;
  readonly change: Change;
}

export interface Around {
  readonly duration_s: number;
}

/** A window around a moment: so much of the recording on either side. */
const AROUND_PART = 1 / 200;

function ofColumn(column: SqlColumn): string {
  if (column.column === "id" && column.table === "threads") return "thread";
  if (column.column === "id" && column.table === "processes") return "process";
  return column.column ?? column.name;
}

const OF_SITES: ReadonlySet<string> = new Set(["sites", "window"]);

/** A function as reports show it: its call path where the row tells it, else all sites with it. */
function nameLink(answer: Rows, row: readonly SqlValue[], value: string): Link | null {
  const at = answer.columns.findIndex((column) => ofColumn(column) === "stack" && column.trace === "main");
  const stack = at < 0 ? null : (row[at] ?? null);
  if (typeof stack === "number" && stack > 0) return { words: "Details of this call path", change: { set: { pick: `site:${stack}` } } };
  return /^\(.*\)$|\+0x[0-9a-f]+$/.test(value) ? null : { words: "Sites with this function in their call path", change: { view: "sites", add: [["function", exactly(value)]] } };
}

/** Where the value of a column leads; null: nowhere. Numbers of the other trace mean something else in this one. */
export function linkOf(answer: Rows, columnIndex: number, row: readonly SqlValue[], around: Around): Link | null {
  const column = answer.columns[columnIndex]!;
  const value = row[columnIndex] ?? null;
  const name = ofColumn(column);
  if (value === null || value === "" || column.trace === "other") return null;
  if (name === "function") return typeof value === "string" && !/^\(.*\)$/.test(value) ? { words: "Sites with this function in their call path", change: { view: "sites", add: [["function", exactly(value)]] } } : null;
  if (name === "name" && OF_SITES.has(column.table ?? "") && typeof value === "string") return nameLink(answer, row, value);
  if (column.name === "thread" && typeof value === "string") return /^[A-Za-z][^,]*$/.test(value) ? { words: `Threads with the name ${value}`, change: { view: "threads", set: { thread: value } } } : null;
  if (typeof value !== "number" || column.trace === null) return null;
  switch (name) {
    case "stack":
    case "old_stack": return value > 0 ? { words: "Details of this call path", change: { set: { pick: `site:${value}` } } } : null;
    case "thread":
    case "freed_by": {
      const thread = answer.threads.find((one) => one.id === value);
      return thread ? { words: `Thread ${thread.name === "" ? "" : `${thread.name}, `}${thread.tid}`, change: { view: "threads", set: { thread: String(thread.tid) } } } : null;
    }
    case "process": {
      const process = answer.processes.find((one) => one.id === value);
      return process ? { words: `Process ${process.name} ${process.word}`, change: { view: "overview", set: { process: process.word } } } : null;
    }
    case "time_ns":
    case "begin_ns":
    case "start_ns":
    case "end_ns":
    case "freed_ns":
    case "at_ns":
    case "peak_ns": return windowLink(answer, columnIndex, row, value, around);
    case "from_ns":
    case "to_ns": return pairOf(answer, row, name) ? windowLink(answer, columnIndex, row, value, around) : null; // alone it may be a length
    default: return null;
  }
}

const PAIRS: readonly (readonly [begin: string, end: string])[] = [["begin_ns", "end_ns"], ["start_ns", "end_ns"], ["from_ns", "to_ns"]];

/** Both ends of the stretch that a row is about. */
function pairOf(answer: Rows, row: readonly SqlValue[], name: string): readonly [begin_ns: number, end_ns: number] | null {
  const find = (wanted: string): number | null => {
    const i = answer.columns.findIndex((column) => (column.name === wanted || ofColumn(column) === wanted) && column.trace !== "other");
    const value = i < 0 ? null : (row[i] ?? null);
    return typeof value === "number" ? value : null;
  };
  for (const [begin, end] of PAIRS) {
    const begin_ns = find(begin), end_ns = find(end);
    if ((name === begin || name === end) && begin_ns !== null && end_ns !== null && end_ns > begin_ns) return [begin_ns, end_ns];
  }
  return null;
}

function windowLink(answer: Rows, columnIndex: number, row: readonly SqlValue[], at_ns: number, around: Around): Link {
  const pair = pairOf(answer, row, ofColumn(answer.columns[columnIndex]!)) ?? pairOf(answer, row, answer.columns[columnIndex]!.name);
  if (pair) return { words: "Sites in this window", change: { view: "sites", set: { from: timeText(pair[0] / 1e9, 1e-9), to: timeText(pair[1] / 1e9, 1e-9), at: null } } };
  const half_s = Math.max(around.duration_s * AROUND_PART, 1e-6);
  const from_s = Math.max(0, at_ns / 1e9 - half_s), to_s = Math.min(around.duration_s, at_ns / 1e9 + half_s);
  return { words: "Sites in the window around it", change: { view: "sites", set: { from: timeText(from_s, 1e-9), to: timeText(Math.max(to_s, from_s + 1e-9), 1e-9), at: null } } };
}

const FIRST = ["stack", "function", "time_ns", "begin_ns", "thread", "process"];

/** The one that Enter follows: the narrowest. */
export function rowLink(answer: Rows, row: readonly SqlValue[], around: Around): Link | null {
  for (const name of FIRST)
    for (let i = 0; i < answer.columns.length; i++) {
      const link = ofColumn(answer.columns[i]!) === name ? linkOf(answer, i, row, around) : null;
      if (link) return link;
    }
  for (let i = 0; i < answer.columns.length; i++) {
    const link = linkOf(answer, i, row, around);
    if (link) return link;
  }
  return null;
}

// ---- chart ---------------------------------------------------------------------------------------

export interface ResultChart {
  readonly kind: "lines" | "bars";
  /** Of lines: seconds, rising. Of bars: names. */
  readonly at_s: readonly number[];
  readonly names: readonly string[];
  /** Rows in the order of the chart. */
  readonly rows: readonly number[];
  readonly series: readonly { readonly column: number; readonly name: string; readonly values: readonly (number | null)[] }[];
  readonly measure: "bytes" | "ns" | "count";
}

const MAX_SERIES = 6;
/** Lengths of time are no moments. */
const RISING = /^(time|begin|start|end|freed|peak|at)_ns$/; // from_ns of a class of lifetimes is a length

/** null: the answer is no chart: its first column is neither a moment nor a name, or nothing is counted beside it. */
export function resultChart(answer: Rows, columns: readonly ResultColumn[]): ResultChart | null {
  const first = columns[0];
  if (!first || answer.rows.length < 2) return null;
  const isTime = first.unit === "at" && RISING.test(answer.columns[0]!.column ?? first.name);
  if (!isTime && first.unit !== "text") return null;
  const measured = columns.map((column, i) => ({ column, i })).filter(({ column, i }) => i > 0 && column.numbers !== null && column.unit !== "id" && !(isTime && RISING.test(column.name)));
  const measure = measured[0]?.column.measure;
  if (measure === undefined) return null;
  const chosen = measured.filter(({ column }) => column.measure === measure).slice(0, MAX_SERIES);
  const known = answer.rows.map((_, row) => row).filter((row) => (isTime ? Number.isFinite(first.numbers![row]!) : answer.rows[row]![0] !== null));
  const rows = isTime ? known.sort((a, b) => first.numbers![a]! - first.numbers![b]!) : known;
  return {
    kind: isTime ? "lines" : "bars", rows, measure,
    at_s: isTime ? rows.map((row) => first.numbers![row]! / 1e9) : [],
    names: isTime ? [] : rows.map((row) => String(answer.rows[row]![0])),
    series: chosen.map(({ column, i }) => ({ column: i, name: column.name, values: rows.map((row) => (Number.isFinite(column.numbers![row]!) ? column.numbers![row]! : null)) })),
  };
}

export function measureText(measure: ResultChart["measure"], value: number): string {
  return valueText({ unit: measure === "count" && !Number.isInteger(value) ? "real" : measure }, value);
}
