// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { randomFlame, seeded } from "../testing/flame_random";
import { growRows, openAtFirst, openedBelow, revealed, rowsOf, stepRows, withoutEmptyRests, type RowTree } from "./tree_rows";

/** By recursion: what is there if its parents are all open. */
function rowsByBrute(tree: RowTree, open: ReadonlySet<number>): number[] {
  const below = (node: number): number[] => tree.children[node]!.flatMap((child) => [child, ...(open.has(child) ? below(child) : [])]);
  return tree.n > 0 ? below(0) : [];
}

test("rows are what is below open ones, in order", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seeded(seed);
    const c = randomFlame(random, 600);
    const tree = growRows({ parent: c.parent, value: c.value });
    const open = new Set(c.parent.map((_, i) => i).filter(() => random() < 0.4));
    assert.deepEqual(rowsOf(tree, open), rowsByBrute(tree, open));
    const first = openAtFirst(tree, c.value);
    assert.ok(rowsOf(tree, first).length <= 60 + tree.children[0]!.length);
    const node = Math.floor(random() * tree.n);
    const revealing = revealed(tree, open, [node]);
    assert.ok(node === 0 || rowsOf(tree, revealing).includes(node));
    const all = rowsOf(tree, openedBelow(tree, new Set([0]), 0));
    assert.equal(all.length, tree.n - 1);
  }
  assert.deepEqual(rowsOf(growRows({ parent: [], value: [] }), new Set()), []);
  assert.throws(() => growRows({ parent: [-1, 2, 0], value: [1, 1, 1] }));
});

test("arrow keys walk the tree and open and close it", () => {
  const tree = growRows({ parent: [-1, 0, 1, 1, 0], value: [10, 8, 5, 3, 2] });
  const closed: ReadonlySet<number> = new Set([0]);
  const step = (open: ReadonlySet<number>, chosen: number, key: string) => stepRows(tree, open, rowsOf(tree, open), chosen, key, 10);
  assert.equal(step(closed, -1, "ArrowDown")?.chosen, 1);
  assert.equal(step(closed, 1, "ArrowDown")?.chosen, 4);
  assert.equal(step(closed, 4, "ArrowDown")?.chosen, 4);
  const opened = step(closed, 1, "ArrowRight");
  if (!opened)
    assert.fail("nothing was opened");
  assert.ok(opened.open.has(1) && opened.chosen === 1);
  assert.equal(step(opened.open, 1, "ArrowRight")?.chosen, 2);
  assert.equal(step(opened.open, 3, "ArrowLeft")?.chosen, 1);
  assert.ok(!step(opened.open, 1, "ArrowLeft")?.open.has(1));
  assert.equal(step(closed, 1, "ArrowLeft"), null);
  assert.equal(step(opened.open, 1, "End")?.chosen, 4);
  assert.equal(step(opened.open, 1, "x"), null);
});

test("what is put together and has nothing is no row", () => {
  const nodes = [{ total: { value: 8 } }, { rest_of_children: 1, total: { value: 0 } }, { rest_of_children: 2, total: { value: 8 } }, { total: { value: 0 } }];
  assert.deepEqual(withoutEmptyRests(nodes, "peak"), [nodes[0], nodes[2], nodes[3]]);
  assert.deepEqual(withoutEmptyRests(nodes, "growth"), nodes);
});
