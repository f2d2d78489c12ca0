// SPDX-License-Identifier: MIT
// Answers about a recording that never was: a program of 60 s whose cache grows. For tests of the page without a server.
import type { Keys } from "../model/state";

const DURATION_S = 60;
const MIB = 2 ** 20;

const NAMES = ["Cache::insert(Key const&, std::string)", "parse_header(char const*)", "main", "/src/cache.cc", "/src/parse.cc", "/src/main.cc", "/usr/bin/server", ""] as const;

function liveAt(seconds: number): number {
  return Math.round(4 * MIB + (seconds / DURATION_S) * 90 * MIB + 6 * MIB * Math.sin(seconds));
}

function trace(): unknown {
  const process = (word: string, begin_s: number, end_s: number, is_main: boolean): unknown => ({
    word, name: is_main ? "server" : "worker", pid: Number(word), image: 1, parent: is_main ? 0 : 4711, begin_s, end_s, ended: "exit",
    peak_live_bytes: is_main ? 96 * MIB : 2 * MIB, end_live_bytes: is_main ? 90 * MIB : 0, is_main,
  });
  return {
    schema: "silt.trace/1", version: 1, file: "server.silt", command: ["./server", "-p", "80"], pid: 4711, duration_s: DURATION_S, mode: "exact", sample_bytes: 0,
    growing: false, ended: "exit", detail_from_s: 0, has_events: true, events: 20022, graphs: 0, limits: ["silt did not see what jemalloc allocates"],
    processes: [process("4711", 0, DURATION_S, true), process("4712", 5, 20, false)], processes_in_all: 2, pids_in_all: 2,
    marks: [{ time_s: 12.4, name: "warm", kind: "mark", pid: 4711 }], peak: { time_s: 58.1, bytes: 96 * MIB }, end_live_bytes: 90 * MIB, peak_rss_bytes: 120 * MIB,
    metrics: ["peak", "end", "allocated", "count", "temporary", "growth"], group_by: ["site", "function", "module", "line", "crate", "component", "thread", "size", "process"], old: null,
  };
}

function totals(): unknown {
  return {
    allocations: 20022, frees: 18000, reallocations: 12, bytes_allocated: 400 * MIB, temporary_allocations: 9000, peak_live_bytes: 96 * MIB, peak_live_blocks: 2003,
    peak_at_s: 58.1, end_live_bytes: 90 * MIB, end_live_blocks: 1900, peak_rss_bytes: 120 * MIB, lost_events: 0, threads: 4, sites: 3,
  };
}

function report(): unknown {
  const finding = (kind: string, severity: string, text: string, name: string): unknown => ({
    kind, severity, text, bytes: 60 * MIB, next: `silt report server.silt --callers '${name}'`, next_view: "report", next_request: `callers=${encodeURIComponent(name)}&by=peak`,
    next_shows: null, site: null, function: name, evidence: {},
  });
  return {
    schema: "silt.report/1", window: { from_s: 0, to_s: DURATION_S }, filter: "",
    headline: "server ran for 60 s and peaked at 96.0 MiB after 58.1 s. When it exited, 90.0 MiB in 1,900 blocks were still allocated.",
    totals: totals(), limits: [],
    findings: [
      finding("growing", "problem", "Cache::insert: grows by 1.5 MiB per second to 90.0 MiB, 94 % of the peak.", "Cache::insert"),
      finding("temporary", "note", "parse_header: 9,000 allocations (45 % of all) were freed before the same thread allocated again.", "parse_header"),
    ],
    top: [], resident: { peak_bytes: 120 * MIB, is_mostly_blocks: true }, mappings: null,
    sizes: { exact: true, blocks: 20022, bytes: 400 * MIB, buckets: [1, 2, 4, 8, 16].map((n) => ({ min_bytes: n * 8, max_bytes: n * 16, blocks: 400 * n, bytes: 4000 * n })) },
    lifetimes: { exact: true, blocks: 18000, buckets: [0, 1, 2, 3].map((n) => ({ from_s: n ? 4 ** n * 1e-6 : 0, to_s: n === 3 ? null : 4 ** (n + 1) * 1e-6, blocks: 900 * (4 - n) })) }, notes: [],
  };
}

function timeline(of: ReadonlyMap<string, string>): unknown {
  const columns = Number(of.get("columns") ?? 600);
  const from_s = Number(of.get("from") ?? 0);
  const to_s = Number(of.get("to") ?? DURATION_S);
  const part = of.has("function") ? 0.7 : 1;
  const over = (f: (seconds: number) => number): number[] => Array.from({ length: columns }, (_, i) => Math.round(f(from_s + ((i + 0.5) / columns) * (to_s - from_s))));
  const by = of.get("group-by") ?? null;
  return {
    schema: "silt.timeline/1", from_s, to_s, columns, exact: !of.has("coarse"), live_bytes: over((s) => liveAt(s) * part), low_live_bytes: over((s) => liveAt(s) * part * 0.95),
    rss_bytes: over((s) => liveAt(s) * 1.2 + 8 * MIB), allocations_per_s: over((s) => 300 + 200 * Math.sin(s * 3)), allocated_bytes_per_s: null,
    group_by: by, groups: by ? ["tokio", "hyper", "serde"].map((name, k) => ({ name, live_bytes: over((s) => (liveAt(s) * part) / (k + 2)) })) : [],
    rest_live_bytes: by ? over((s) => liveAt(s) * 0.1) : null,
  };
}

function table(): unknown {
  const column = (a: number, b: number, c: number): number[] => [a, b, c];
  return {
    schema: "silt.table/1", group_by: "site", filter_key: "site", rows_in_all: 3, rows: 3, metric: "peak", totals: totals(), names: NAMES, label: column(0, 1, 2), function: column(0, 1, 2), file: column(3, 4, 5), line: column(88, 12, 1),
    module: column(6, 6, 6), site: column(1, 2, 3), key: column(0, 1, 2), call_paths: column(1, 1, 1), peak_bytes: column(90 * MIB, 5 * MIB, MIB), peak_blocks: column(1500, 400, 103),
    end_bytes: column(88 * MIB, MIB, MIB), end_blocks: column(1400, 400, 100), allocated_bytes: column(200 * MIB, 190 * MIB, 10 * MIB), count: column(10000, 9500, 522),
    temporary: column(0, 9000, 0), growth_bytes: column(88 * MIB, MIB, 0), total_peak_bytes: null, error: null, spark_at_s: [0, 30, 60], spark_live_bytes: [[0, 45 * MIB, 90 * MIB], [MIB, MIB, MIB], [MIB, MIB, MIB]],
  };
}

function shaped(of: ReadonlyMap<string, string>): unknown {
  const figures = {
    value: of.has("function") ? 67 * MIB : 96 * MIB, allocations: 1, bytes_allocated: 1, frees: 0, bytes_freed: 0, temporary_allocations: 0, reallocations: 0,
    peak_live_bytes: 1, peak_live_blocks: 1, begin_live_bytes: 0, begin_live_blocks: 0, end_live_bytes: 1, end_live_blocks: 1,
  };
  return { schema: "silt.tree/1", window: { from_s: 0, to_s: DURATION_S }, metric: of.get("by") ?? "peak", totals: figures, nodes: [] };
}

function rows(): unknown {
  const column = (name: string): unknown => ({ name, trace: "main", table: "sites", column: name });
  return {
    schema: "silt.rows/1", columns: ["function", "end_bytes", "allocations", "stack"].map(column), rows: [[NAMES[0], 88 * MIB, 10000, 1], [NAMES[1], MIB, 9500, 2], [NAMES[2], MIB, 522, 3]],
    has_more: false, threads: [], processes: [], doubts: null,
  };
}

function sqlSchema(): unknown {
  const column = (name: string): unknown => ({ name, help: "", is_argument: false });
  return {
    schema: "silt.sql-schema/1", has_other: false, tables: [{ name: "sites", help: "a call path that allocated", columns: ["function", "end_bytes", "allocations", "stack"].map(column) }],
    functions: [{ name: "bytes", usage: "bytes(N)", help: "a number as people read it" }],
    recipes: [{ name: "large", help: "Who holds most at the end?", statement: "SELECT function, end_bytes FROM sites\nWHERE end_bytes >= :at_least\nORDER BY end_bytes DESC", trouble: null, parameters: [{ name: "at_least", without: "1M", help: "no less than so much", is_size: true }] }],
  };
}

/** undefined: nobody made that answer up. */
export function madeUp(address: string, keys: Keys): unknown {
  const of = new Map(keys);
  switch (address) {
    case "trace": return trace();
    case "report": return of.has("tree") || of.has("callers") ? shaped(of) : report();
    case "timeline": return timeline(of);
    case "table": return table();
    case "sql": return rows();
    case "sql-schema": return sqlSchema();
    default: return undefined;
  }
}
