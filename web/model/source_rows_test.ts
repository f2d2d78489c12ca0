// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { commonIndent, expandTabs, heatOf, sourceRows, type SourceFile } from "./source_rows";

function line(n: number, value: number) {
  const figures = { value, allocations: 1, end_live_bytes: 0 };
  return { line: n, text: `line ${n}`, self: figures, total: figures, calls: [] };
}

test("text, figures beside it, gaps between parts", () => {
  const file: SourceFile = { lines: [line(3, 100), line(9, 1)], parts: [{ first_line: 2, lines: ["two", "three"] }, { first_line: 8, lines: ["eight", "nine"] }] };
  const rows = sourceRows(file);
  assert.deepEqual(rows.map((row) => (row.kind === "gap" ? `${row.from}-${row.to}` : row.line)), [2, 3, "4-7", 8, 9]);
  const three = rows[1];
  assert.ok(three.kind === "line" && three.heat === 4 && three.isMost && three.text === "three" && three.figures?.total.value === 100);
  const nine = rows[4];
  assert.ok(nine.kind === "line" && nine.heat === 1 && !nine.isMost);
});

test("no file: the lines with figures, and what lies behind the end of a file that is shorter now", () => {
  assert.deepEqual(sourceRows({ lines: [line(3, 5), line(4, 5)], parts: [] }).map((row) => row.kind), ["line", "line"]);
  const rows = sourceRows({ lines: [line(7, 5)], parts: [{ first_line: 1, lines: ["a"] }] });
  assert.deepEqual(rows.map((row) => row.kind), ["line", "gap", "line"]);
});

test("only one line is pointed out", () => {
  const rows = sourceRows({ lines: [line(1, 5), line(2, 5)], parts: [] });
  assert.deepEqual(rows.map((row) => row.kind === "line" && row.isMost), [true, false]);
});

test("heat, tabs, indents", () => {
  assert.deepEqual([0, 1, 10, 50, 100, -100].map((v) => heatOf(v, 100)), [0, 1, 2, 3, 4, 4]);
  assert.equal(expandTabs("\tx\ty"), "        x       y");
  assert.equal(commonIndent(["    a", "", "      b"]), 4);
  assert.equal(commonIndent([""]), 0);
});
