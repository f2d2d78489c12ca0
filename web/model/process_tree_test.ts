// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { processTree, timeTicks, type Life } from "./process_tree";

function life(pid: number, parent: number, begin_s: number, end_s: number | null): Life {
  return { word: String(pid), name: `p${pid}`, pid, parent, begin_s, end_s };
}

test("children below their parents, in order of birth", () => {
  const rows = processTree([life(3, 1, 5, 6), life(1, 0, 0, 10), life(2, 1, 2, null), life(4, 3, 5.5, 6)], 10);
  assert.deepEqual(rows.map((row) => [row.process.pid, row.depth]), [[1, 0], [2, 1], [3, 1], [4, 2]]);
  assert.deepEqual([rows[1].begin, rows[1].end], [0.2, 1]);
});

test("a program after exec stands beside the one before", () => {
  const rows = processTree([life(1, 0, 0, 1), life(1, 0, 1, 10), life(2, 1, 3, 4)], 10);
  assert.deepEqual(rows.map((row) => [row.process.begin_s, row.depth]), [[0, 0], [1, 0], [3, 1]]);
});

test("parents outside, circles and oneself as parent lose nobody", () => {
  assert.equal(processTree([life(1, 99, 0, 1), life(2, 2, 0, 1)], 10).length, 2);
  assert.equal(processTree([life(1, 2, 0, 1), life(2, 1, 0, 1)], 10).length, 2);
  assert.equal(processTree([], 10).length, 0);
});

test("ticks are round and few", () => {
  assert.deepEqual(timeTicks(61.2, 6), [0, 20, 40, 60]);
  assert.deepEqual(timeTicks(1, 5).length, 6);
  assert.deepEqual(timeTicks(0, 5), [0]);
});
