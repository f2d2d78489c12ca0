// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { brushBox, brushKeys, brushOf, brushSum, cellAt, cellBox, heatGrid, heatStep, lifeTicks, sizeTicks, timeKey, type HeatColumns } from "./heat_cells";

const heat: HeatColumns = {
  sizes: [{ min_bytes: 1, max_bytes: 8 }, { min_bytes: 9, max_bytes: 16 }, { min_bytes: 17, max_bytes: 32 }, { min_bytes: 129, max_bytes: 160 }],
  lifetimes: [{ min_s: 0, max_s: 4e-6 }, { min_s: 4e-6, max_s: 16e-6 }, { min_s: 16e-6, max_s: 64e-6 }, { min_s: 64e-6, max_s: null }],
  size: [1, 3, 2],
  lifetime: [0, 1, 3],
  blocks: [1000, 10, 1],
  bytes: [16000, 400, 20],
  live_blocks: [0, 0, 1],
  live_bytes: [0, 0, 20],
};

function grid() {
  const made = heatGrid(heat, "blocks");
  assert.ok(made);
  return made;
}

test("grid: only the classes in use, on a log axis, largest on top", () => {
  const g = grid();
  assert.deepEqual([g.sizes, g.nColumns, g.most], [{ first: 1, last: 3 }, 4, 1000]);
  assert.equal(g.bottom[0], 1);
  assert.equal(g.top[2], 0);
  assert.ok(Math.abs(g.bottom[0] - g.top[0] - (g.bottom[1] - g.top[1])) < 1e-9); // 8 to 16 is as high as 16 to 32
  assert.ok(g.top[1] - g.bottom[2] > 0.3); // 32 to 128: a gap
  assert.equal(heatGrid({ ...heat, size: [], lifetime: [], blocks: [], bytes: [] }, "blocks"), undefined);
});

test("grid: one class fills the picture", () => {
  const one = heatGrid({ ...heat, size: [0], lifetime: [0], blocks: [1], bytes: [1], live_blocks: [0], live_bytes: [0] }, "bytes");
  assert.ok(one);
  assert.deepEqual([one.top[0], one.bottom[0], one.nColumns], [0, 1, 1]);
});

test("cells: where they are drawn is where they are found", () => {
  const g = grid();
  for (let i = 0; i < heat.size.length; i++) {
    const box = cellBox(heat, g, i);
    assert.equal(cellAt(heat, g, box.x + box.width / 2, box.y + box.height / 2), i);
  }
  assert.equal(cellAt(heat, g, 0.1, 0.4), -1);
});

test("steps: nothing is nothing, a little is seen, the most is darkest", () => {
  assert.equal(heatStep(0, 1000, 8), 0);
  assert.equal(heatStep(1, 1e9, 8), 1);
  assert.equal(heatStep(1000, 1000, 8), 8);
  assert.ok(heatStep(10, 1000, 8) < heatStep(100, 1000, 8));
});

test("brush: what it touches, its sum, its filters", () => {
  const g = grid();
  const brush = brushOf(g, 0.4, 0.01, 0.1, 0.99); // from any corner
  assert.ok(brush);
  assert.deepEqual(brush, { sizes: { first: 1, last: 3 }, lifetimes: { first: 0, last: 1 } });
  assert.deepEqual(brushSum(heat, brush), { blocks: 1010, bytes: 16400, live_blocks: 0, live_bytes: 0 });
  assert.deepEqual(brushKeys(heat, g, brush), { size: null, lifetime: "0s..16us" });
  assert.deepEqual(brushBox(g, brush), { x: 0, y: 0, width: 0.5, height: 1 });
  const top = brushOf(g, 0, 0, 1, 0.02);
  assert.ok(top);
  assert.deepEqual(brushKeys(heat, g, top), { size: "129..160", lifetime: null });
  const corner = brushOf(g, 0.99, g.top[1] + 0.01, 2, g.top[1] + 0.01);
  assert.ok(corner);
  assert.deepEqual(brushKeys(heat, g, corner), { size: "17..32", lifetime: "64us.." });
  assert.equal(brushOf(g, 0, 0.3, 0.1, 0.35), undefined); // a gap
});

test("times in keys are exact", () => {
  assert.deepEqual([0, 4e-6, 0.001024, 0.262144, 16.777216, 4294.967296, 1.5e-7, 60].map(timeKey), ["0s", "4us", "1.024ms", "262.144ms", "16.777216s", "4294.967296s", "150ns", "60s"]);
});

test("ticks: powers of two inside the picture, apart", () => {
  const g = grid();
  const ticks = sizeTicks(heat, g, 0.1);
  assert.deepEqual(ticks.map((tick) => tick.value), [8, 16, 32, 64, 128]);
  assert.equal(ticks[0].at, 1);
  assert.deepEqual(sizeTicks(heat, g, 0.4).map((tick) => tick.value), [16, 64]);
  assert.deepEqual(lifeTicks(heat, g, 0.5).map((tick) => tick.value), [0, 16e-6]);
});
