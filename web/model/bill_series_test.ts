// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { billLines, boxAt, layoutHeap, nearest, stackedParts } from "./bill_series";

test("parts stand on each other, and the last line is all of them", () => {
  const part = (name: string, bytes: number[]) => ({ part: name, text: name, bytes });
  assert.deepEqual(stackedParts({ at_s: [0, 1], parts: [part("live", [1, 2]), part("files", [10, 20]), part("remainder", [-1, 0])] }), [[1, 2], [11, 22], [10, 22]]);
});

test("where nobody looked for long, there is a gap, and what is beside it is seen", () => {
  const s = (at_s: number[]) => ({ at_s, parts: [{ part: "live", text: "live", bytes: at_s.map((_, i) => i + 1) }] });
  const even = [10, 11.2, 12.6, 14.2, 16, 18, 20];
  assert.deepEqual(billLines(s(even), 20), { at_s: even, looks: [0, 1, 2, 3, 4, 5, 6], lines: [[1, 2, 3, 4, 5, 6, 7]] });
  const l = billLines(s([1, 2, 8, 9]), 10);
  assert.deepEqual(l.looks, [0, 1, 1, -1, 2, 2, 3]);
  assert.deepEqual(l.lines, [[1, 2, 2, null, 3, 3, 4]]);
  assert.deepEqual(l.at_s.map((x) => x.toFixed(2)), ["1.00", "2.00", "2.04", "5.00", "7.96", "8.00", "9.00"]);
  assert.deepEqual(billLines(s([4]), 10).looks, [0, 0]);
  assert.deepEqual(billLines(s([]), 10), { at_s: [], looks: [], lines: [[]] });
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
