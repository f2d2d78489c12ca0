// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { randomFlame, seeded } from "../testing/flame_random";
import { foldRecursion, groupBoxes } from "./flame_fold";
import { growTree, KIND, MARK, nameOf, selfOf, type FlameColumns } from "./flame_tree";
import { marksOf, tell } from "./flame_words";

/** What boxes have themselves, added up by some text of theirs. */
function ownBy(c: FlameColumns, key: (i: number) => string): ReadonlyMap<string, number> {
  const t = growTree(c);
  const sums = new Map<string, number>();
  for (let i = 1; i < t.n; i++)
    if (c.kind[i] === KIND.frame) sums.set(key(i), (sums.get(key(i)) ?? 0) + selfOf(t, i));
  return new Map([...sums].filter(([, sum]) => sum !== 0).sort());
}

test("boxes of crates and modules: what each requested itself is what its functions did, and none is inside itself", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const c = randomFlame(seeded(seed), 300, seed % 3 === 0);
    for (const by of ["crate", "module"] as const) {
      const of = by === "crate" ? c.module : c.object;
      const grouped = groupBoxes(c, by);
      const t = growTree(grouped);
      assert.deepEqual([grouped.value[0], grouped.beside[0], grouped.width[0]], [c.value[0], c.beside[0], c.width[0]]);
      assert.deepEqual(ownBy(grouped, (i) => nameOf(t, i)), ownBy(c, (i) => c.names[of[i]!]!.split("/").pop()! || "unknown module"));
      for (let i = 1; i < t.n; i++)
        if (grouped.kind[i] === KIND.frame && grouped.parent[i]! > 0) assert.notEqual(nameOf(t, i), nameOf(t, grouped.parent[i]!));
    }
  }
});

test("a folded box keeps the function it is of", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const plain = randomFlame(seeded(seed), 200);
    const c = { ...plain, function: plain.name };
    const folded = foldRecursion(c);
    assert.equal(folded.function?.length, folded.name.length);
    folded.name.forEach((name, i) => assert.equal(folded.function![i], name));
    assert.equal(folded.marks.length, folded.name.length);
  }
});

test("marks are said in words", () => {
  const c = { ...randomFlame(seeded(3), 20), marks: [] as number[] };
  c.marks = c.parent.map((_, i) => (i === 1 ? MARK.inlined + MARK.async : i === 2 ? MARK.unnamed : 0));
  const t = growTree(c);
  assert.deepEqual(marksOf(t, 1), ["inlined", "async"]);
  assert.match(tell(t, 1, null).place, /inlined, async$/);
  assert.match(tell(t, 2, null).place, /no name known$/);
  assert.deepEqual(marksOf(t, 0), []);
});
