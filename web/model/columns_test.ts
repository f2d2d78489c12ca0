// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Columns } from "../api/columns";
import { figuresIn, figuresOf, liveOver, peakColumn, snap, totalsIn, valueOf, weightsOf, type Metric } from "./columns";
import { SMALLER, treeOf } from "./columns_tree";
import { tableFrom } from "./columns_table";
import { reportFigures } from "./columns_nodes";

/** Two call paths, main → a → b and main → a, and smaller ones, in three columns. */
const made: Columns = {
  schema: "silt.columns/1", edges_s: [0, 1, 2, 3],
  totals: {
    allocations: [3, 0, 2], frees: [0, 1, 0], bytes_allocated: [160, 0, 50], temporary_allocations: [0, 0, 1], peak_live_bytes: [160, 160, 110],
    peak_live_blocks: [3, 3, 3], peak_at_s: [0.5, 1, 2.5], end_live_bytes: [160, 60, 110], end_live_blocks: [3, 2, 3],
  },
  paths: [7, 9], smaller_paths: 4, exact: true,
  cells: {
    path: [0, 1, 2, 0, 1], column: [0, 0, 0, 1, 2], count: [1, 1, 1, 0, 2], allocated_bytes: [100, 50, 10, 0, 50], frees: [0, 0, 0, 1, 0],
    bytes_freed: [0, 0, 0, 100, 0], reallocations: [0, 0, 0, 0, 0], temporary: [0, 0, 0, 0, 1],
    peak_bytes: [100, 50, 10, 100, 100], peak_blocks: [1, 1, 1, 1, 2], end_bytes: [100, 50, 10, 0, 100], end_blocks: [1, 1, 1, 0, 2],
  },
  path_frames: [[2, 1, -1 - 3, 0], [1, 0]],
  frames: {
    label: [0, 1, 2, 3], function: [0, 1, 2, 3], file: [4, 4, 4, 4], line: [1, 2, 3, 4], module: [5, 5, 5, 5], crate: [5, 5, 5, 5], component: [5, 5, 2, 5], passes_on: [false, false, true, false],
    inlined: [false, false, true, false], guess: [false, false, false, false], async: [false, false, false, false],
  },
  names: ["main", "a", "b", "hidden", "x.c", "app"], unknown: [], time: null, without_time: undefined,
};

test("a window moves to the nearest edges and holds a column", () => {
  assert.deepEqual(snap(made, null, null), [0, 3]);
  assert.deepEqual(snap(made, 0.4, 1.6), [0, 2]);
  assert.deepEqual(snap(made, 1.1, 1.2), [1, 2]);
  assert.deepEqual(snap(made, 9, 9), [2, 3]);
});

test("figures add up", () => {
  const whole = figuresIn(made, 0, 3);
  const value = (m: Metric): number[] => [0, 1, 2].map((path) => valueOf(figuresOf(whole, path), m));
  assert.deepEqual(value("peak"), [100, 50, 10]);
  assert.deepEqual(value("end"), [0, 100, 10]);
  assert.deepEqual(value("allocated"), [100, 100, 10]);
  assert.deepEqual(value("count"), [1, 3, 1]);
  assert.deepEqual(value("temporary"), [0, 1, 0]);
  assert.deepEqual(value("growth"), [0, 100, 10]);
  const last = figuresIn(made, 2, 3);
  assert.deepEqual([0, 1, 2].map((path) => valueOf(figuresOf(last, path), "growth")), [0, 50, 0]);
  assert.deepEqual([0, 1, 2].map((path) => valueOf(figuresOf(last, path), "peak")), [0, 100, 10]);
  assert.equal(peakColumn(made, 0, 3), 0);
  assert.equal(totalsIn(made, 1, 3).allocations, 2);
  assert.equal(totalsIn(made, 1, 3).peak_live_bytes, 160);
});

test("what is live is the sum of what each path has at the end of a column", () => {
  assert.deepEqual(liveOver(made, new Set([0, 1])).bytes, [150, 50, 100]);
  assert.deepEqual(liveOver(made, new Set([2])).blocks, [1, 1, 1]);
});

test("a tree has all of it, and folds what is hidden", () => {
  const root = treeOf(made, figuresIn(made, 0, 3), { metric: "peak", isReversed: false });
  assert.equal(root.total.peak_bytes, 160);
  const main = root.children[0];
  assert.equal(made.names[made.frames.label[main.frame]], "main");
  assert.equal(main.total.peak_bytes, 150);
  assert.equal(main.children.length, 1);
  assert.equal(main.children[0].self.peak_bytes, 50);
  assert.equal(main.children[0].children[0].total.peak_bytes, 100);
  assert.equal(root.children[1].frame, SMALLER);
  assert.equal(root.children[1].total.peak_bytes, 10);
  const callers = treeOf(made, figuresIn(made, 0, 3), { metric: "peak", isReversed: false, through: { label: "b", direction: "callers" } });
  assert.equal(callers.total.peak_bytes, 100);
});

test("a table's rows add up to the window, in any grouping", () => {
  for (const groupBy of ["site", "function", "module", "line", "crate", "component"] as const) {
    const table = tableFrom(weightsOf(made), { metric: "peak", groupBy, from: 0, to: 3, rows: 100, sparks: 10 });
    assert.equal(table.peak_bytes!.reduce((a, b) => a + b, 0), 160, groupBy);
    assert.equal(table.count!.reduce((a, b) => a + b, 0), 5, groupBy);
    assert.equal(table.spark_live_bytes.length, table.rows);
  }
  const functions = tableFrom(weightsOf(made), { metric: "peak", groupBy: "function", from: 0, to: 3, rows: 100, sparks: 0 });
  const main = functions.function.findIndex((name) => functions.names[name] === "main");
  assert.equal(functions.total_peak_bytes?.[main], 150);
  assert.equal(functions.peak_bytes![main], 0);
});

test("memory of a component that passes it on is its caller's", () => {
  const t = tableFrom(weightsOf(made), { metric: "peak", groupBy: "component", from: 0, to: 3, rows: 100, sparks: 0 });
  assert.deepEqual(t.label.map((name) => t.names[name]), ["app", "smaller call paths"]); // path 7 begins in `b`, which passes on
  assert.deepEqual(t.peak_bytes, [150, 10]);
  const alone = { ...made, path_frames: [[2], [1, 0]] };
  const u = tableFrom(weightsOf(alone), { metric: "peak", groupBy: "component", from: 0, to: 3, rows: 100, sparks: 0 });
  assert.deepEqual(u.label.map((name) => u.names[name]), ["b", "app", "smaller call paths"]); // nobody else is there
});

test("a row is named by what it is grouped by, and its key selects it", () => {
  const row = (groupBy: "module" | "line" | "function"): string[] => {
    const t = tableFrom(weightsOf(made), { metric: "peak", groupBy, from: 0, to: 3, rows: 1, sparks: 0 });
    return [t.names[t.label[0]], t.names[t.key[0]], t.filter_key ?? ""];
  };
  assert.deepEqual(row("module"), ["app", "^app$", "module"]);
  assert.deepEqual(row("line"), ["x.c:3", "", ""]);
  assert.deepEqual(row("function"), ["b", "^b$", "function"]);
});

test("the nearest name is nobody's: code without one is known by its place", () => {
  const near: Columns = { ...made, names: [...made.names, "near", "app+0x10"], frames: { ...made.frames, guess: [false, false, true, false], function: [0, 1, 6, 3], label: [0, 1, 7, 3] } };
  const t = tableFrom(weightsOf(near), { metric: "peak", groupBy: "function", from: 0, to: 3, rows: 1, sparks: 0 });
  assert.deepEqual([t.names[t.label[0]], t.names[t.function[0]], t.names[t.key[0]]], ["app+0x10", "app+0x10", "^app\\+0x10$"]);
});

test("histories are of the window", () => {
  const t = tableFrom(weightsOf(made), { metric: "peak", groupBy: "function", from: 1, to: 3, rows: 9, sparks: 9 });
  assert.equal(t.spark_at_s.length, 2);
  assert.ok(t.spark_live_bytes.every((line) => line.length === 2));
});

test("what the source did not know is NaN or no column, and never a number", () => {
  const massif: Columns = { ...made, unknown: ["count", "allocated_bytes", "frees", "bytes_freed", "temporary", "reallocations", "peak_blocks", "begin_blocks", "end_blocks"] };
  const figures = figuresOf(figuresIn(massif, 1, 3), 1);
  assert.equal(figures.peak_bytes, 50);
  assert.ok(Number.isNaN(figures.end_blocks) && Number.isNaN(figures.count));
  assert.ok(Number.isNaN(reportFigures(treeOf(massif, figuresIn(massif, 0, 3), { metric: "peak", isReversed: false }).total, "peak").peak_live_blocks));
  const totals = totalsIn(massif, 0, 3);
  assert.equal(totals.end_live_bytes, 110);
  assert.ok(Number.isNaN(totals.allocations) && Number.isNaN(totals.end_live_blocks));
  const table = tableFrom(weightsOf(massif), { metric: "peak", groupBy: "function", from: 0, to: 3, rows: 10, sparks: 0 });
  assert.deepEqual([table.peak_blocks, table.allocated_bytes, table.count, table.temporary], [null, null, null, null]);
  assert.deepEqual(table.peak_bytes, [100, 50, 10, 0]);
});

/** The same paths and columns, where time went: a is interrupted in both, what waits is main alone. */
const timed: Columns = {
  ...made,
  time: {
    cpu: {
      totals: { samples: [3, 0, 1], time_ns: [3000, 0, 1000] }, paths: [12, 13], smaller_paths: 2, exact: true, path_frames: [[1, 0], [2, 1, 0]],
      cells: { path: [0, 2, 0, 1], column: [0, 0, 2, 2], samples: [2, 1, 0, 1], time_ns: [2000, 1000, 0, 1000], error_ns: [1414, 1000, 0, 1000] },
    },
    blocked: { totals: { samples: [0, 1, 0], time_ns: [0, 500, 0] }, paths: [14], smaller_paths: 0, exact: true, path_frames: [[0]], cells: { path: [0], column: [1], samples: [1], time_ns: [500], error_ns: [0] } },
  },
};

test("time by function stands beside memory, and adds up", () => {
  const t = tableFrom(weightsOf(timed), { metric: "cpu", groupBy: "function", from: 0, to: 3, rows: 100, sparks: 10 });
  const at = (name: string): number => t.label.findIndex((label) => t.names[label] === name);
  assert.equal(t.cpu_ns!.reduce((a, b) => a + b, 0), 4000);
  assert.equal(t.whole, 4000);
  assert.deepEqual([t.cpu_ns![at("a")], t.total_cpu_ns![at("a")], t.total_cpu_ns![at("main")], t.blocked_ns![at("main")]], [2000, 3000, 3000, 500]);
  assert.deepEqual([t.peak_bytes![at("b")], t.total_count![at("a")], t.error![at("a")]], [100, 4, 1414]);
  assert.deepEqual(t.spark_live_bytes[t.label.findIndex((label) => t.names[label] === "a")], [2000, 0, 0]);
  const memory = tableFrom(weightsOf(timed), { metric: "peak", groupBy: "function", from: 0, to: 3, rows: 100, sparks: 0 });
  assert.equal(memory.cpu_ns!.reduce((a, b) => a + b, 0), 4000);
  const sites = tableFrom(weightsOf(timed), { metric: "cpu", groupBy: "site", from: 2, to: 3, rows: 100, sparks: 0 });
  assert.deepEqual([sites.cpu_ns, sites.site, sites.peak_bytes, sites.blocked_ns], [[1000], [13], null, null]);
});

test("time is never told as bytes", () => {
  const cpu = weightsOf(timed).cpu!;
  const root = treeOf(cpu, figuresIn(cpu, 0, 3), { metric: "cpu", isReversed: false });
  const told = reportFigures(root.total, "cpu");
  assert.deepEqual([told.value, told.bytes_allocated, told.allocations], [4000, 0, 0]);
});
