// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { boxAt, layoutHeap, nearest, stackedParts } from "./bill_series";

test("parts stand on each other, and the last line is all of them", () => {
  const part = (name: string, bytes: number[]) => ({ part: name, text: name, bytes });
  assert.deepEqual(stackedParts({ at_s: [0, 1], parts: [part("live", [1, 2]), part("files", [10, 20]), part("remainder", [-1, 0])] }), [[1, 2], [11, 22], [10, 22]]);
});

test("the nearest moment", () => {
  assert.equal(nearest([], 1), -1);
  assert.equal(nearest([0, 1, 4], 2.4), 1);
  assert.equal(nearest([0, 1, 4], 99), 2);
});

test("boxes keep their order, and leave a place before those that lie apart", () => {
  const l = layoutHeap({ apart: [0, 0, 1, 0] }, 30, 100);
  assert.deepEqual([l.px, l.columns, l.rows], [14, 2, 3]);
  assert.deepEqual(l.places, [0, 1, 3, 4]);
  assert.equal(boxAt(l, 15, 15), 2);
  assert.equal(boxAt(l, 1, 15), -1);
  assert.equal(boxAt(l, 29, 1), -1);
});
