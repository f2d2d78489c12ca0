// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { columnAt, highest, middles, stacked } from "./series";

test("columns have middles, and moments columns", () => {
  const t = { from_s: 10, to_s: 20, columns: 5 };
  assert.deepEqual(middles(t), [11, 13, 15, 17, 19]);
  assert.deepEqual([9, 10, 12, 19.99, 20, 21].map((s) => columnAt(t, s)), [-1, 0, 1, 4, 4, -1]);
});

test("a stack adds up to all of it", () => {
  const lines = stacked({ columns: 2, rest_live_bytes: [1, 2], groups: [{ name: "a", live_bytes: [10, 20] }, { name: "b", live_bytes: [3, null] }] });
  assert.deepEqual(lines, [[1, 2], [4, null], [14, null]]);
  assert.equal(highest(lines), 14);
  assert.equal(highest([[null]]), 0);
});
