// SPDX-License-Identifier: MIT
// The rows of a table of groups out of the columns of a file, in the shape of the server's answer.
import type { Columns } from "../api/columns";
import type { Table } from "../api/table";
import { figuresIn, functionKey, functionText, isUnknown, liveOver, pathKey, shownFrames, totalsIn, type FigureName, type Metric, type WindowFigures } from "./columns";
import { exactly } from "./pick";
import { baseName, place } from "./spread";

export const FILE_GROUPS = ["site", "function", "module", "line", "crate", "component"] as const;
export type FileGroup = (typeof FILE_GROUPS)[number];

interface Row {
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

/** The frame whose row a path belongs to: the code that asked; of components the first that does not leave its memory to its caller. */
function ownerOf(c: Columns, frames: readonly number[], by: FileGroup): number {
  return (by === "component" ? frames.find((frame) => !c.frames.passes_on[frame]) : undefined) ?? frames[0];
}

function group(c: Columns, by: FileGroup): Row[] {
  const rows = new Map<string, Row>();
  const row = (key: string, frame: number): Row => {
    let found = rows.get(key);
    if (!found) rows.set(key, (found = { frame, paths: [], totalPaths: [] }));
    return found;
  };
  for (let path = 0; path < c.paths.length; path++) {
    const frames = shownFrames(c, path);
    if (frames.length === 0) {
      row("", -1).paths.push(path);
      continue;
    }
    if (by === "site") {
      row(pathKey(c, path), frames[0]).paths.push(path);
      continue;
    }
    const owner = ownerOf(c, frames, by);
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
    case "allocated": return sum(f.allocated_bytes, paths);
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

export function tableFrom(c: Columns, wish: TableWish): Table {
  const f = figuresIn(c, wish.from, wish.to);
  const all = group(c, wish.groupBy)
    .map((row) => ({ row, value: rowValue(f, row.paths, wish.metric) }))
    .sort((a, b) => b.value - a.value || a.row.frame - b.row.frame);
  const rows = all.slice(0, wish.rows).map(({ row }) => row);
  const names = [...c.names];
  const text = (value: string): number => names.push(value) - 1;
  const empty = text("");
  const smaller = text("smaller call paths");
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
    if (row.frame < 0) return row.paths[0] === c.paths.length ? smaller : text("(no stack)");
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
  const column = (name: FigureName): readonly number[] | null => (isUnknown(c, name) ? null : rows.map((row) => sum(f[name], row.paths)));
  const filterKey = { site: "site", function: "function", module: "module", line: null, crate: null, component: null }[wish.groupBy];
  const at = c.edges_s.slice(wish.from + 1, wish.to + 1);
  return {
    schema: "silt.table/1", group_by: wish.groupBy, filter_key: filterKey, rows_in_all: all.length, rows_with_value: undefined, rows: rows.length, metric: wish.metric, whole: undefined,
    totals: totalsIn(c, wish.from, wish.to), names,
    label: rows.map(labelOf),
    function: rows.map(functionOf),
    file: rows.map((row) => (row.frame < 0 ? empty : c.frames.file[row.frame])),
    line: rows.map((row) => (row.frame < 0 ? 0 : c.frames.line[row.frame])),
    module: rows.map((row) => (row.frame < 0 ? empty : c.frames.module[row.frame])),
    site: rows.map((row) => (row.frame < 0 || row.paths.length === 0 ? 0 : c.paths[row.paths[0]])),
    key: rows.map(keyText),
    call_paths: rows.map((row) => (row.paths[0] === c.paths.length ? c.smaller_paths : row.paths.length)),
    peak_bytes: column("peak_bytes"), peak_blocks: column("peak_blocks"), end_bytes: column("end_bytes"), end_blocks: column("end_blocks"),
    allocated_bytes: column("allocated_bytes"), count: column("count"), temporary: column("temporary"),
    growth_bytes: rows.map((row) => sum(f.end_bytes, row.paths) - sum(f.begin_bytes, row.paths)),
    total_peak_bytes: wish.groupBy === "site" || isUnknown(c, "peak_bytes") ? null : rows.map((row) => sum(f.peak_bytes, row.totalPaths)),
    cpu_ns: null, cpu_samples: null, blocked_ns: null, total_cpu_ns: null, total_blocked_ns: null, total_count: null, total_allocated_bytes: null,
    error: null,
    spark_at_s: at,
    spark_live_bytes: rows.slice(0, wish.sparks).map((row) => liveOver(c, new Set(row.paths)).bytes.slice(wish.from, wish.to)),
  };
}
