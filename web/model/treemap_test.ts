// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { seeded } from "../testing/flame_random";
import { fillRoom, treemap } from "./treemap";

const SIZE = { width: 900, height: 500, namePx: 16, gapPx: 2, leastPx: 3, maxDepth: 4 };

test("boxes fill their room: no two lie on each other, each is as large as its value", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seeded(seed);
    const values = Array.from({ length: 1 + Math.floor(random() * 40) }, () => 1 + Math.floor(random() ** 4 * 1e6)).sort((a, b) => b - a);
    const whole = values.reduce((a, b) => a + b, 0);
    const boxes = fillRoom(values, whole, { x: 10, y: 20, width: 300, height: 200 });
    assert.equal(boxes.length, values.length);
    boxes.forEach((a, i) => {
      assert.ok(Math.abs(a.width * a.height - (values[i]! / whole) * 60000) < 0.01, `seed ${seed}: box ${i}`);
      assert.ok(a.x >= 10 - 1e-6 && a.y >= 20 - 1e-6 && a.x + a.width <= 310 + 1e-6 && a.y + a.height <= 220 + 1e-6);
      for (const b of boxes.slice(0, i))
        assert.ok(a.x + a.width <= b.x + 1e-6 || b.x + b.width <= a.x + 1e-6 || a.y + a.height <= b.y + 1e-6 || b.y + b.height <= a.y + 1e-6, `seed ${seed}: ${i}`);
    });
  }
});

test("what lies in a box stays in it, and nothing is deeper than asked", () => {
  const nodes = { parent: [-1, 0, 0, 1, 1, 3, 5], value: [100, 70, 20, 40, 30, 40, 10] };
  const boxes = treemap(nodes, SIZE);
  assert.deepEqual(boxes.map((box) => box.node), [1, 2, 3, 4, 5, 6]);
  for (const box of boxes) {
    const above = boxes.find((other) => other.node === nodes.parent[box.node]);
    if (above) assert.ok(box.x >= above.x && box.y >= above.y + SIZE.namePx && box.x + box.width <= above.x + above.width && box.y + box.height <= above.y + above.height);
  }
  assert.ok(treemap(nodes, { ...SIZE, maxDepth: 1 }).every((box) => box.depth === 1));
  assert.deepEqual(treemap({ parent: [], value: [] }, SIZE), []);
  assert.deepEqual(treemap({ parent: [-1], value: [0] }, SIZE), []);
});
