// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { sparkPath } from "./spark_path";

test("zero is the bottom, the highest the top", () => {
  assert.equal(sparkPath([0, 5, 10], 100, 22).line, "M0 21L50 11L100 1");
  assert.equal(sparkPath([0, 5, 10], 100, 22).area, "M0 21L50 11L100 1L100 21L0 21Z");
});

test("what is unknown is a gap, nothing is nothing", () => {
  assert.equal(sparkPath([1, null, 1], 100, 22).line, "M0 1M100 1");
  assert.deepEqual(sparkPath([], 100, 22), { line: "", area: "" });
  assert.equal(sparkPath([0, 0], 100, 22).line, "M0 21L100 21");
});

test("values stand at their moments, not one step apart", () => {
  const { line } = sparkPath([0, 8, 8, 0], 100, 10, [0, 1, 2, 10]);
  assert.equal(line, "M0 9L10 1L20 1L100 9");
  assert.equal(sparkPath([0, 8], 100, 10, [3, 3]).line, sparkPath([0, 8], 100, 10).line, "moments that are one tell nothing");
});

test("one value alone holds all of the time", () => {
  assert.equal(sparkPath([4], 50, 10).line, "M0 1L50 1");
});
