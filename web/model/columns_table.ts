// SPDX-License-Identifier: MIT
// The rows of a table of groups out of the columns of a file, in the shape of the server's answer.
import type { Columns } from "../api/columns";
import type { Table } from "../api/table";
import { columnsBy, errorOver, figuresIn, functionKey, functionText, isUnknown, liveOver, pathKey, shownFrames, spentOver, totalsIn, type FigureName, type Metric, type Weights, type WindowFigures } from "./columns";
import { isTimeMetric } from "./metric";
import { exactly } from "./pick";
import { baseName, place } from "./spread";

export const FILE_GROUPS = ["site", "function", "module", "line", "crate", "component"] as const;
export type FileGroup = (typeof FILE_GROUPS)[number];

interface Row {
  readonly key: string; // the same in all weights, which share their frames
  frame: number; // -1: the smaller call paths
  readonly paths: number[];
  readonly totalPaths: number[]; // with the group anywhere on them
}

function keyOf(c: Columns, frame: number, by: FileGroup): string {
  const f = c.frames;
  switch (by) {
    case "module": return String(f.module[frame]);
    case "crate": return String(f.crate[frame]);
    case "component": return String(f.component[frame]);
    case "line": return f.line[frame] ? `${f.file[frame]}:${f.line[frame]}` : functionKey(c, frame);
    default: return functionKey(c, frame);
  }
}

/** The frame whose row a path belongs to: the code that asked; of components the first that does not leave its memory to its caller. Time is where it went. */
function ownerOf(c: Columns, frames: readonly number[], by: FileGroup, isTime: boolean): number {
  return (by === "component" && !isTime ? frames.find((frame) => !c.frames.passes_on[frame]) : undefined) ?? frames[0];
}

function group(c: Columns, by: FileGroup, isTime: boolean): Row[] {
  const rows = new Map<string, Row>();
  const row = (key: string, frame: number): Row => {
    let found = rows.get(key);
    if (!found) rows.set(key, (found = { key, frame, paths: [], totalPaths: [] }));
    return found;
  };
  for (let path = 0; path < c.paths.length; path++) {
    const frames = shownFrames(c, path);
    if (frames.length === 0) {
      row("", -1).paths.push(path);
      continue;
    }
    if (by === "site") {
      row(isTime ? String(path) : pathKey(c, path), frames[0]).paths.push(path); // of time those that are shown alike are one already
      continue;
    }
    const owner = ownerOf(c, frames, by, isTime);
    const own = keyOf(c, owner, by);
    row(own, owner).paths.push(path);
    const seen = new Set<string>();
    for (const frame of frames) {
      const key = keyOf(c, frame, by);
      if (by === "component" && key !== own && c.frames.passes_on[frame]) continue;
      if (!seen.has(key)) row(key, frame).totalPaths.push(path);
      seen.add(key);
    }
  }
  if (c.smaller_paths > 0) row("smaller", -1).paths.push(c.paths.length);
  return [...rows.values()];
}

const sum = (list: Float64Array, paths: readonly number[]): number => paths.reduce((all, path) => all + list[path], 0);

function rowValue(f: WindowFigures, paths: readonly number[], m: Metric): number {
  switch (m) {
    case "peak": return sum(f.peak_bytes, paths);
    case "end": return sum(f.end_bytes, paths);
    case "allocated":
    case "cpu":
    case "blocked": return sum(f.allocated_bytes, paths);
    case "count": return sum(f.count, paths);
    case "temporary": return sum(f.temporary, paths);
    case "growth": return sum(f.end_bytes, paths) - sum(f.begin_bytes, paths);
  }
}

export interface TableWish {
  readonly metric: Metric;
  readonly groupBy: FileGroup;
  readonly from: number;
  readonly to: number;
  readonly rows: number;
  readonly sparks: number;
}

/** What has one weight, by the key of its row. */
interface Weighed {
  readonly c: Columns;
  readonly f: WindowFigures;
  readonly rows: ReadonlyMap<string, Row>;
}

function weigh(c: Columns, wish: TableWish, isTime: boolean): Weighed {
  return { c, f: figuresIn(c, wish.from, wish.to), rows: new Map(group(c, wish.groupBy, isTime).map((row) => [row.key, row])) };
}

/** Those that have any of it in the window, by what they or their callees have. */
function busyRows(of: Weighed): Row[] {
  const total = (row: Row): number => sum(of.f.allocated_bytes, row.totalPaths.length > 0 ? row.totalPaths : row.paths);
  return [...of.rows.values()].filter((row) => total(row) > 0).sort((a, b) => sum(of.f.allocated_bytes, b.paths) - sum(of.f.allocated_bytes, a.paths) || total(b) - total(a) || a.frame - b.frame);
}

const SMALLER = "smaller"; // of each weight other call paths

export function tableFrom(w: Weights, wish: TableWish): Table {
  const isTime = isTimeMetric(wish.metric);
  const c = columnsBy(w, wish.metric) ?? w.memory;
  const own = weigh(c, wish, isTime);
  // Call paths are of one weight; all else stands beside each other.
  const beside = (of: Columns | null, isOfTime: boolean): Weighed | null => (of === null ? null : of === c ? own : wish.groupBy === "site" || !w.cpu ? null : weigh(of, wish, isOfTime));
  const memory = beside(w.hasMemory ? w.memory : null, false), cpu = beside(w.cpu, true), blocked = beside(w.blocked, true);
  const f = own.f;
  const sorted = isTime ? busyRows(own) : [...own.rows.values()]
    .map((row) => ({ row, value: rowValue(f, row.paths, wish.metric) }))
    .sort((a, b) => b.value - a.value || a.row.frame - b.row.frame)
    .map(({ row }) => row);
  const all = [...sorted];
  const known = new Set(sorted.map((row) => row.key));
  for (const of of [memory, cpu, blocked]) {
    if (of === null || of === own) continue;
    for (const row of busyRows(of)) {
      if (known.has(row.key)) continue;
      known.add(row.key);
      all.push(row);
    }
  }
  const rows = all.slice(0, wish.rows);
  const names = [...c.names];
  const text = (value: string): number => names.push(value) - 1;
  const empty = text("");
  const smaller = text("smaller call paths");
  const isSmaller = (row: Row): boolean => row.key === SMALLER;
  const ownPaths = (row: Row): readonly number[] => own.rows.get(row.key)?.paths ?? [];
  const siteOf = (row: Row): number => (row.frame < 0 ? 0 : (c.paths[ownPaths(row)[0] ?? -1] ?? 0));
  const keyText = (row: Row): number => {
    if (row.frame < 0) return empty;
    switch (wish.groupBy) {
      case "site": return text(String(c.paths[row.paths[0]]));
      case "function": return text(exactly(functionText(c, row.frame)));
      case "module": return text(c.names[c.frames.module[row.frame]] === "" ? "" : exactly(c.names[c.frames.module[row.frame]]));
      default: return empty;
    }
  };
  const labelOf = (row: Row): number => {
    if (row.frame < 0) return isSmaller(row) ? smaller : text("(no stack)");
    const f = c.frames;
    switch (wish.groupBy) {
      case "component": return c.names[f.component[row.frame]] === "" ? text("(unknown)") : f.component[row.frame];
      case "crate": return c.names[f.crate[row.frame]] === "" ? text("(unknown)") : f.crate[row.frame];
      case "module": return text(baseName(c.names[f.module[row.frame]]) || "(unknown)");
      case "line": return f.line[row.frame] ? text(place(c.names[f.file[row.frame]], f.line[row.frame])) : f.label[row.frame];
      default: return f.label[row.frame];
    }
  };
  const functionOf = (row: Row): number => (row.frame < 0 ? empty : text(functionText(c, row.frame)));
  const hasTotals = wish.groupBy !== "site";
  const column = (of: Weighed | null, name: FigureName): readonly number[] | null => (of === null || isUnknown(of.c, name) ? null : rows.map((row) => sum(of.f[name], of.rows.get(row.key)?.paths ?? [])));
  const total = (of: Weighed | null, name: FigureName): readonly number[] | null =>
    of === null || !hasTotals || isUnknown(of.c, name) ? null : rows.map((row) => sum(of.f[name], of.rows.get(row.key)?.totalPaths ?? []));
  const filterKey = { site: "site", function: "function", module: "module", line: null, crate: null, component: null }[wish.groupBy];
  const at = c.edges_s.slice(wish.from + 1, wish.to + 1);
  const errorOf = wish.metric === "cpu" && w.memory.time ? errorOver(w.memory.time.cpu, wish.from, wish.to) : null;
  const end = memory && column(memory, "end_bytes"), begin = memory && column(memory, "begin_bytes");
  // A wait is told when it is over: by column it would seem to have passed in the last.
  const sparkOf = (row: Row): readonly number[] => (isTime ? spentOver(c, new Set(ownPaths(row))) : liveOver(c, new Set(ownPaths(row))).bytes).slice(wish.from, wish.to);
  const sparks = wish.metric === "blocked" ? [] : sorted.slice(0, Math.min(wish.sparks, rows.length));
  return {
    schema: "silt.table/1", group_by: wish.groupBy, filter_key: filterKey, rows_in_all: all.length, rows_with_value: undefined, rows: rows.length, metric: wish.metric,
    whole: isTime ? c.totals.bytes_allocated.slice(wish.from, wish.to).reduce((a, b) => a + b, 0) : undefined,
    totals: totalsIn(w.memory, wish.from, wish.to), names,
    label: rows.map(labelOf),
    function: rows.map(functionOf),
    file: rows.map((row) => (row.frame < 0 ? empty : c.frames.file[row.frame])),
    line: rows.map((row) => (row.frame < 0 ? 0 : c.frames.line[row.frame])),
    module: rows.map((row) => (row.frame < 0 ? empty : c.frames.module[row.frame])),
    site: rows.map(siteOf),
    key: rows.map(keyText),
    call_paths: rows.map((row) => (isSmaller(row) ? [own, memory, cpu, blocked].find((of) => of?.rows.has(SMALLER))?.c.smaller_paths ?? 0 : row.paths.length)),
    peak_bytes: column(memory, "peak_bytes"), peak_blocks: column(memory, "peak_blocks"), end_bytes: end, end_blocks: column(memory, "end_blocks"),
    allocated_bytes: column(memory, "allocated_bytes"), count: column(memory, "count"), temporary: column(memory, "temporary"),
    growth_bytes: end && begin && end.map((bytes, i) => bytes - begin[i]!),
    total_peak_bytes: total(memory, "peak_bytes"), total_count: total(memory, "count"), total_allocated_bytes: total(memory, "allocated_bytes"),
    cpu_ns: column(cpu, "allocated_bytes"), cpu_samples: column(cpu, "count"), blocked_ns: column(blocked, "allocated_bytes"),
    total_cpu_ns: total(cpu, "allocated_bytes"), total_blocked_ns: total(blocked, "allocated_bytes"),
    error: errorOf && rows.map((row) => errorOf(ownPaths(row))),
    spark_at_s: at,
    spark_live_bytes: sparks.map(sparkOf),
  };
}
