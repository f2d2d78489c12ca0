// SPDX-License-Identifier: MIT
// Adds the columns of a file up to what a window holds: src/answer/columns.h has the rules, and a test of the server compares both.
import type { Columns, TimeCells } from "../api/columns";

/** What happens in a window, of one call path or of several together: all of it adds up. */
export const FIGURES = [
  "count", "allocated_bytes", "frees", "bytes_freed", "temporary", "reallocations", "peak_bytes", "peak_blocks", "begin_bytes", "begin_blocks",
  "end_bytes", "end_blocks",
] as const;
export type FigureName = (typeof FIGURES)[number];
export type FigureSet = { [F in FigureName]: number };

/** Of each call path, and last of the smaller ones together. */
export type WindowFigures = { readonly from: number; readonly to: number } & { readonly [F in FigureName]: Float64Array };

export function noFigures(): FigureSet {
  return {
    count: 0, allocated_bytes: 0, frees: 0, bytes_freed: 0, temporary: 0, reallocations: 0, peak_bytes: 0, peak_blocks: 0, begin_bytes: 0, begin_blocks: 0,
    end_bytes: 0, end_blocks: 0,
  };
}

export function addFigures(to: FigureSet, f: WindowFigures, path: number): void {
  for (const name of FIGURES) to[name] += f[name][path];
}

/** The columns a window means: its edges move to the nearest, and it holds one at least. */
export function snap(c: Columns, from_s: number | null, to_s: number | null): readonly [number, number] {
  const last = c.edges_s.length - 1;
  const from = Math.min(from_s === null ? 0 : nearest(c.edges_s, from_s), last - 1);
  const to = to_s === null ? last : nearest(c.edges_s, to_s);
  return [from, Math.max(to, from + 1)];
}

function nearest(edges: readonly number[], at: number): number {
  let low = 0;
  let high = edges.length - 1;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (edges[mid] <= at) low = mid;
    else high = mid;
  }
  return at - edges[low] <= edges[high] - at ? low : high;
}

/** Nobody counted it: it is NaN, and so is what it is added to. */
export function isUnknown(c: Columns, name: FigureName): boolean {
  return c.unknown?.includes(name) ?? false;
}

/** The first of the columns whose peak is highest. */
export function peakColumn(c: Columns, from: number, to: number): number {
  const peaks = c.totals.peak_live_bytes;
  let peak = from;
  for (let i = from; i < to; i++) if (peaks[i] > peaks[peak]) peak = i;
  return peak;
}

export function figuresIn(c: Columns, from: number, to: number): WindowFigures {
  const n = c.paths.length + 1;
  const make = (): Float64Array => new Float64Array(n);
  const f: WindowFigures = {
    from, to, count: make(), allocated_bytes: make(), frees: make(), bytes_freed: make(), temporary: make(), reallocations: make(), peak_bytes: make(),
    peak_blocks: make(), begin_bytes: make(), begin_blocks: make(), end_bytes: make(), end_blocks: make(),
  };
  const peak = peakColumn(c, from, to);
  const x = c.cells;
  for (let i = 0; i < x.path.length; i++) {
    const path = x.path[i];
    const column = x.column[i];
    if (column >= to) break; // they are sorted
    if (column < from) {
      f.begin_bytes[path] = x.end_bytes[i];
      f.begin_blocks[path] = x.end_blocks[i];
    } else {
      f.count[path] += x.count[i];
      f.allocated_bytes[path] += x.allocated_bytes[i];
      f.frees[path] += x.frees[i];
      f.bytes_freed[path] += x.bytes_freed[i];
      f.temporary[path] += x.temporary[i];
      f.reallocations[path] += x.reallocations[i];
    }
    if (column < peak) {
      f.peak_bytes[path] = x.end_bytes[i];
      f.peak_blocks[path] = x.end_blocks[i];
    } else if (column === peak) {
      f.peak_bytes[path] = x.peak_bytes[i];
      f.peak_blocks[path] = x.peak_blocks[i];
    }
    f.end_bytes[path] = x.end_bytes[i];
    f.end_blocks[path] = x.end_blocks[i];
  }
  for (const name of FIGURES) if (isUnknown(c, name)) f[name].fill(Number.NaN);
  return f;
}

// ---- time ----------------------------------------------------------------------------------------

/** What a file knows by weight: memory and, where it was recorded, time. */
export interface Weights {
  readonly memory: Columns;
  readonly cpu: Columns | null;
  readonly blocked: Columns | null;
  /** Not of a recording of time alone: its memory is nothing that anybody looked at. */
  readonly hasMemory: boolean;
}

/** Time is an allocation of nanoseconds that nobody frees, samples are how many: as in src/query/spent_time.h. */
function timeColumns(c: Columns, of: TimeCells): Columns {
  const none = of.cells.path.map(() => 0), nothing = of.totals.samples.map(() => 0);
  return {
    ...c, paths: of.paths, smaller_paths: of.smaller_paths, exact: of.exact, path_frames: of.path_frames, unknown: [], time: null,
    totals: {
      allocations: of.totals.samples, frees: nothing, bytes_allocated: of.totals.time_ns, temporary_allocations: nothing, peak_live_bytes: nothing, peak_live_blocks: nothing,
      peak_at_s: nothing, end_live_bytes: nothing, end_live_blocks: nothing,
    },
    cells: {
      path: of.cells.path, column: of.cells.column, count: of.cells.samples, allocated_bytes: of.cells.time_ns, frees: none, bytes_freed: none, temporary: none, reallocations: none,
      peak_bytes: none, peak_blocks: none, end_bytes: none, end_blocks: none,
    },
  };
}

export function weightsOf(c: Columns, hasMemory = true): Weights {
  return { hasMemory, memory: c, cpu: c.time ? timeColumns(c, c.time.cpu) : null, blocked: c.time ? timeColumns(c, c.time.blocked) : null };
}

/** The columns that have a metric; null: the file does not. */
export function columnsBy(w: Weights, m: Metric): Columns | null {
  return m === "cpu" ? w.cpu : m === "blocked" ? w.blocked : w.memory;
}

/** The standard error of what some paths took: samples are independent of each other. */
export function errorOver(of: TimeCells, from: number, to: number): (paths: readonly number[]) => number {
  const squares = new Float64Array(of.paths.length + 1);
  const x = of.cells;
  x.path.forEach((path, i) => {
    if (x.column[i]! >= from && x.column[i]! < to) squares[path] += x.error_ns[i]! ** 2;
  });
  return (paths) => Math.sqrt(paths.reduce((sum, path) => sum + squares[path]!, 0));
}

/** What some paths took in each column. */
export function spentOver(c: Columns, paths: ReadonlySet<number>): readonly number[] {
  const spent = new Array<number>(c.edges_s.length - 1).fill(0);
  const x = c.cells;
  x.path.forEach((path, i) => {
    if (paths.has(path)) spent[x.column[i]!] += x.allocated_bytes[i]!;
  });
  return spent;
}

export type Metric = "peak" | "end" | "allocated" | "count" | "temporary" | "growth" | "cpu" | "blocked";
export const isCount = (m: Metric): boolean => m === "count" || m === "temporary";

/** What figures have of a metric. */
export function valueOf(f: FigureSet, m: Metric): number {
  switch (m) {
    case "peak": return f.peak_bytes;
    case "end": return f.end_bytes;
    case "allocated":
    case "cpu":
    case "blocked": return f.allocated_bytes;
    case "count": return f.count;
    case "temporary": return f.temporary;
    case "growth": return f.end_bytes - f.begin_bytes;
  }
}

/** Beside it: of bytes the blocks, of counts the bytes. */
export function besideOf(f: FigureSet, m: Metric): number {
  switch (m) {
    case "peak": return f.peak_blocks;
    case "end": return f.end_blocks;
    case "allocated":
    case "cpu":
    case "blocked": return f.count;
    case "count": return f.allocated_bytes;
    // Sizes are known of all of a path's allocations together.
    case "temporary": return f.count > 0 ? Math.round((f.allocated_bytes * f.temporary) / f.count) : 0;
    case "growth": return f.end_blocks - f.begin_blocks;
  }
}

export function figuresOf(f: WindowFigures, path: number): FigureSet {
  const one = noFigures();
  addFigures(one, f, path);
  return one;
}

export interface WindowTotals {
  readonly allocations: number;
  readonly frees: number;
  readonly bytes_allocated: number;
  readonly temporary_allocations: number;
  readonly peak_live_bytes: number;
  readonly peak_live_blocks: number;
  readonly peak_at_s: number;
  readonly end_live_bytes: number;
  readonly end_live_blocks: number;
}

export function totalsIn(c: Columns, from: number, to: number): WindowTotals {
  const peak = peakColumn(c, from, to);
  const sum = (list: readonly number[]): number => list.slice(from, to).reduce((a, b) => a + b, 0);
  const t = c.totals;
  const known = (name: FigureName, value: number): number => (isUnknown(c, name) ? Number.NaN : value);
  return {
    allocations: known("count", sum(t.allocations)), frees: known("frees", sum(t.frees)), bytes_allocated: known("allocated_bytes", sum(t.bytes_allocated)),
    temporary_allocations: known("temporary", sum(t.temporary_allocations)), peak_live_bytes: known("peak_bytes", t.peak_live_bytes[peak]),
    peak_live_blocks: known("peak_blocks", t.peak_live_blocks[peak]), peak_at_s: known("peak_bytes", t.peak_at_s[peak]),
    end_live_bytes: t.end_live_bytes[to - 1], end_live_blocks: known("end_blocks", t.end_live_blocks[to - 1]),
  };
}

/** What was live of some paths at the end of each column. */
export function liveOver(c: Columns, paths: ReadonlySet<number>): { readonly bytes: readonly number[]; readonly blocks: readonly number[] } {
  const n = c.edges_s.length - 1;
  const bytes = new Array<number>(n).fill(0);
  const blocks = new Array<number>(n).fill(0);
  const x = c.cells;
  const last = new Map<number, number>(); // path → its cell so far
  for (let i = 0, column = 0; column < n; column++) {
    for (; i < x.path.length && x.column[i] === column; i++) if (paths.has(x.path[i])) last.set(x.path[i], i);
    for (const cell of last.values()) {
      bytes[column] += x.end_bytes[cell];
      blocks[column] += x.end_blocks[cell];
    }
  }
  return { bytes, blocks };
}

// ---- call paths --------------------------------------------------------------------------------

/** The frames of a path that are shown, as numbers, innermost first. */
export function shownFrames(c: Columns, path: number): readonly number[] {
  return c.path_frames[path].filter((frame) => frame >= 0);
}

/** All of them. */
export function allFrames(c: Columns, path: number): readonly number[] {
  return c.path_frames[path].map((frame) => (frame >= 0 ? frame : -1 - frame));
}

/** Frames that are one function have one key. */
export function functionKey(c: Columns, frame: number): string {
  return `${c.frames.label[frame]}|${c.frames.module[frame]}`;
}

/** What a function is known by: its whole name, or its place where it has none. */
export function functionText(c: Columns, frame: number): string {
  return (c.frames.guess[frame] ? "" : c.names[c.frames.function[frame]]) || c.names[c.frames.label[frame]];
}

/** Whether a frame is meant by a name, whole or short. */
export function isFunction(c: Columns, frame: number, name: string): boolean {
  return functionText(c, frame) === name || c.names[c.frames.label[frame]] === name;
}

/** Paths that are shown alike have one key. */
export function pathKey(c: Columns, path: number): string {
  return shownFrames(c, path).map((frame) => functionKey(c, frame)).join(";");
}
