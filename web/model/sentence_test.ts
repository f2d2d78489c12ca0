// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Heat } from "../api/heat";
import type { Table } from "../api/table";
import type { Threads } from "../api/threads";
import type { TreeNode } from "../api/tree";
import { blocksSentence, sourceSentence, tableSentence, threadsSentence, treeSentence } from "./sentence";

const KIB = 1024, MIB = 1024 * KIB;

/** The root is first; `of`: its parent, its name, its total and what it requested itself. */
function nodesOf(...of: readonly (readonly [parent: number | null, name: string, total: number, self?: number])[]): TreeNode[] {
  return of.map(([parent, name, total, self], id) => ({
    id, parent, total: { value: total }, ...(name === "+" ? { rest_of_children: 3 } : name === "" ? {} : { function: name, file: "", line: 0, module: "/bin/app", inlined: false }), ...(self ? { self: { value: self } } : {}),
  })) as unknown as TreeNode[];
}

test("a tree says through what most came, down to where it forks", () => {
  const nodes = nodesOf([null, "", 15 * MIB], [0, "main", 15 * MIB], [1, "serve(int)", 10 * MIB], [2, "parse", 4 * MIB], [2, "+", 5 * MIB], [1, "load", 5 * MIB]);
  assert.equal(treeSentence({ metric: "peak", nodes }, "tree", false), "10.0 MiB of the 15.0 MiB live at the peak (67 %) came through serve, called from main; 40 % of it through parse.");
  assert.equal(treeSentence({ metric: "peak", nodes }, "tree", true), "About 10.0 MiB of the 15.0 MiB live at the peak (67 %) came through serve, called from main; 40 % of it through parse.");
  const own = nodesOf([null, "", 100], [0, "main", 100, 80], [1, "load", 20]);
  assert.equal(treeSentence({ metric: "count", nodes: own }, "tree", false), "All of the 100 allocations came through main; 80 % of them made by itself.");
  assert.equal(treeSentence({ metric: "peak", nodes: nodesOf([null, "", 0]) }, "tree", false), null);
});

test("from the code that requested it, and around one function", () => {
  const nodes = nodesOf([null, "", 8 * MIB], [0, "insert", 6 * MIB], [1, "push", 3 * MIB], [0, "grow", 2 * MIB]);
  assert.equal(treeSentence({ metric: "end", nodes }, "bottom-up", false), "insert requested 6.0 MiB of the 8.0 MiB still allocated at the end (75 %); 50 % of it called from push.");
  const around = nodesOf([null, "", 6 * MIB], [0, "insert", 6 * MIB], [1, "push", 3 * MIB]);
  assert.equal(treeSentence({ metric: "peak", nodes: around }, "callers", false, "insert"), "Call paths with insert requested 6.0 MiB live at the peak; 50 % of it called from push.");
  assert.equal(treeSentence({ metric: "temporary", nodes: around }, "callees", true, "insert"), "Call paths with insert made about 6,291,456 temporary allocations; 50 % of them through push.");
});

test("growth where something shrank has no share, and where all did nothing grew", () => {
  assert.equal(treeSentence({ metric: "growth", nodes: nodesOf([null, "", MIB], [0, "a", 3 * MIB], [0, "b", -2 * MIB]) }, "bottom-up", false), "a requested +3.0 MiB of growth.");
  assert.equal(treeSentence({ metric: "growth", nodes: nodesOf([null, "", -MIB], [0, "b", -MIB]) }, "tree", false), "Nothing grew: what is live changed by -1.0 MiB.");
});

function tableOf(more: Partial<Table>): Table {
  const zeros = [0, 0, 0];
  return {
    schema: "silt.table/1", group_by: "site", filter_key: "site", rows_in_all: 20, rows_with_value: undefined, rows: 3, metric: "peak", whole: undefined,
    totals: { peak_live_bytes: 100 * KIB, end_live_bytes: 0, bytes_allocated: 400 * KIB, allocations: 900, temporary_allocations: null },
    names: ["", "Session::open(int)", "session.cc", "load", "grow"], label: [1, 3, 4], function: [1, 3, 4], file: [2, 0, 0], line: [88, 0, 0], module: zeros, site: [1, 2, 3], key: zeros, call_paths: [1, 1, 1],
    peak_bytes: [60 * KIB, 30 * KIB, 5 * KIB], peak_blocks: zeros, end_bytes: zeros, end_blocks: zeros, allocated_bytes: [200 * KIB, 10 * KIB, 0], count: [500, 1, 1], temporary: [7, 0, 0], growth_bytes: zeros,
    total_peak_bytes: null, total_count: null, total_allocated_bytes: null, cpu_ns: null, cpu_samples: null, blocked_ns: null, total_cpu_ns: null, total_blocked_ns: null, error: null, spark_at_s: [], spark_live_bytes: [], ...more,
  };
}

test("a table says its largest row, its share, and how many rows matter", () => {
  assert.equal(tableSentence(tableOf({}), false), "Session::open (session.cc:88) requested 60.0 KiB of the 100.0 KiB live at the peak (60 %); 2 of 20 call paths make up 90 % of it.");
  assert.equal(tableSentence(tableOf({ error: [3 * KIB, null, null] }), true), "Session::open (session.cc:88) requested about 60.0 KiB ±5 % of the 100.0 KiB live at the peak (60 %); 2 of 20 call paths make up 90 % of it.");
  // The rows that are here do not reach so far.
  assert.equal(tableSentence(tableOf({ metric: "allocated", group_by: "function" }), false), "Session::open requested 200.0 KiB of the 400.0 KiB allocated (50 %); 20 functions in all.");
  assert.equal(tableSentence(tableOf({ metric: "temporary" }), false), "Session::open (session.cc:88) made 7 temporary allocations; 20 call paths in all.");
  assert.equal(tableSentence(tableOf({ group_by: "size", names: ["", "17 to 32 bytes"], label: [1, 1, 1], file: [0, 0, 0] }), false), "Blocks of 17 to 32 bytes are 60.0 KiB of the 100.0 KiB live at the peak (60 %); 2 of 20 sizes make up 90 % of it.");
  assert.equal(tableSentence(tableOf({ metric: "end" }), false), "20 call paths, none with anything still allocated at the end.");
  assert.equal(tableSentence(tableOf({ rows: 0, rows_in_all: 0 }), false), null);
});

const heat: Heat = {
  schema: "silt.heat/1", exact: true, sizes: [{ min_bytes: 1, max_bytes: 8 }, { min_bytes: 1025, max_bytes: 2048 }],
  lifetimes: [{ min_s: 0, max_s: 0.001 }, { min_s: 0.001, max_s: 1 }, { min_s: 1, max_s: null }],
  size: [0, 0, 1], lifetime: [0, 1, 2], blocks: [70, 20, 10], bytes: [560, 160, 20480], live_blocks: [0, 0, 4], live_bytes: [0, 0, 8192],
};

test("a table's whole, and how many rows have anything", () => {
  assert.equal(tableSentence(tableOf({ rows_with_value: 5, rows_in_all: 20 }), false), "Session::open (session.cc:88) requested 60.0 KiB of the 100.0 KiB live at the peak (60 %); 2 of 20 call paths make up 90 % of it.");
  assert.equal(tableSentence(tableOf({ metric: "count", whole: 502, rows: 3, rows_in_all: 3 }), false), "Session::open (session.cc:88) made 500 of the 502 allocations (99 %); 3 call paths in all.");
  // an estimate may be more than what was counted
  assert.equal(tableSentence(tableOf({ metric: "count", whole: 400, rows_with_value: 3 }), true), "Session::open (session.cc:88) made about 500 allocations; 20 call paths in all.");
  assert.equal(tableSentence(tableOf({ metric: "temporary", temporary: [0, 0, 0], rows_in_all: 1 }), false), "1 call path, none with temporary allocations.");
  assert.equal(tableSentence(tableOf({ metric: "count", count: [1, 0, 0], whole: 1, rows_with_value: 1 }), false), "Session::open (session.cc:88) made all of the 1 allocation; 20 call paths in all.");
  assert.equal(tableSentence(tableOf({ metric: "growth", growth_bytes: [-5 * KIB, 0, 0], whole: -5 * KIB }), false), "Nothing grew: what is live changed by -5.0 KiB.");
  assert.equal(tableSentence(tableOf({ metric: "growth", whole: 0 }), false), "Nothing grew: as much was live at the end as at the start.");
});

test("what grew is named, also below what shrank by more", () => {
  const node = (id: number, parent: number | null, name: string, total: number, self: number) => ({ id, parent, function: name, total: { value: total }, self: { value: self } });
  const nodes = [node(0, null, "", -4 * KIB, 0), node(1, 0, "main", -4 * KIB, 0), node(2, 1, "cache_put", 3 * KIB, 3 * KIB), node(3, 1, "load", -7 * KIB, -7 * KIB)];
  assert.equal(treeSentence({ metric: "growth", nodes } as unknown as Parameters<typeof treeSentence>[0], "tree", false), "cache_put requested +3.0 KiB of growth; in all, what is live changed by -4.0 KiB.");
  assert.equal(treeSentence({ metric: "growth", nodes: [nodes[0], nodes[1], nodes[3]] } as unknown as Parameters<typeof treeSentence>[0], "tree", false), "Nothing grew: what is live changed by -4.0 KiB.");
});

test("blocks: how long most lived, what was never freed, which sizes weigh", () => {
  assert.equal(blocksSentence(heat, false), "70 % of the 100 blocks lived under 1 ms; 4 (8.0 KiB) were never freed. Most bytes are in blocks of 1,025 to 2,048 bytes: 97 % of 20.7 KiB.");
  assert.equal(blocksSentence(heat, true), "70 % of about 100 blocks lived under 1 ms; about 4 (8.0 KiB) were never freed. Most bytes are in blocks of 1,025 to 2,048 bytes: 97 % of about 20.7 KiB.");
  assert.equal(blocksSentence({ ...heat, live_blocks: [60, 0, 4], live_bytes: [480, 0, 8192] }, false), "64 % of the 100 blocks were never freed, 8.5 KiB. Most bytes are in blocks of 1,025 to 2,048 bytes: 97 % of 20.7 KiB.");
  assert.equal(blocksSentence({ ...heat, blocks: [10, 10, 80], live_blocks: [0, 0, 0] }, false), "80 % of the 100 blocks lived 1 s or longer; all were freed. Most bytes are in blocks of 1,025 to 2,048 bytes: 97 % of 20.7 KiB.");
  assert.equal(blocksSentence({ ...heat, blocks: [30, 10, 60], live_blocks: [0, 0, 45] }, false), "45 % of the 100 blocks were never freed, 8.0 KiB. Most bytes are in blocks of 1,025 to 2,048 bytes: 97 % of 20.7 KiB.");
  assert.equal(blocksSentence({ ...heat, bytes: [560, 160, 500] }, false), "70 % of the 100 blocks lived under 1 ms; 4 (8.0 KiB) were never freed. Most bytes are in blocks of 1 to 8 bytes: 59 % of 1.2 KiB.");
  assert.equal(blocksSentence({ ...heat, size: [0], lifetime: [0], blocks: [1], bytes: [8], live_blocks: [1], live_bytes: [8] }, false), "The one block, 8 B, was never freed.");
  assert.equal(blocksSentence({ ...heat, size: [], lifetime: [], blocks: [], bytes: [], live_blocks: [], live_bytes: [] }, false), null);
});

test("a function's source, and who allocated", () => {
  const total = { value: 60 * KIB }, totals = { value: 100 * KIB };
  const source = { metric: "peak", function: "Session::open(int)", line: 0, total, totals, files: [] } as unknown as Parameters<typeof sourceSentence>[0];
  assert.equal(sourceSentence(source, false), "Session::open(int) and what it calls requested 60.0 KiB of the 100.0 KiB live at the peak (60 %).");
  assert.equal(sourceSentence({ ...source, total: null }, false), null);
  const thread = { tid: 7, name: "main", process: "1", begin_s: 0, end_s: null, allocations: 75, frees: 10, freed_for_others: 3 };
  const threads = { has_figures: true, is_estimate: true, threads: [thread, { ...thread, tid: 8, name: "", allocations: 25, frees: 0, freed_for_others: 0 }], threads_in_all: 2, pids_in_all: 1 } as unknown as Threads;
  assert.equal(threadsSentence(threads), "2 threads in 1 process: main made 75 % of about 100 allocations; about 3 blocks of 10 freed came from another thread.");
  assert.equal(threadsSentence(threads, false), "1 process; what its threads did is unknown.");
  assert.equal(threadsSentence({ ...threads, threads: [], threads_in_all: 0 }), "No thread allocated, in 1 process.");
});
