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
  assert.equal(sparkPath([4], 100, 22).line, "M0 1");
});
