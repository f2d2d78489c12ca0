// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { randomFlame, seeded } from "../testing/flame_random";
import { ageHue, ageScale, ageText, byAge } from "./flame_age";
import { HUE } from "./flame_colour";
import { foldRecursion, groupBoxes } from "./flame_fold";
import { growTree, KIND, selfOf, type FlameColumns } from "./flame_tree";

test("steps by the logarithm, from the youngest to the oldest", () => {
  const scale = { young: 0.001, old: 10000 };
  assert.equal(ageHue(0.001, scale), HUE.age);
  assert.equal(ageHue(0.002, scale), HUE.age);
  assert.equal(ageHue(0.05, scale), HUE.age + 1);
  assert.equal(ageHue(5, scale), HUE.age + 3);
  assert.equal(ageHue(10000, scale), HUE.age + HUE.ages - 1);
  assert.equal(ageHue(0, { young: 0, old: 0 }), HUE.age + 3);
  assert.equal(ageHue(2, { young: 2, old: 2 }), HUE.age + 3);
  assert.equal(ageHue(0, { young: 0, old: 3 }), HUE.age);
  assert.equal(ageText(0.012), "12 ms old");
});

test("a small box, however young, does not stretch the scale", () => {
  const plain = randomFlame(seeded(5), 60);
  const ages = plain.value.map((_, i) => 10 + (i % 7));
  const whole = plain.value.reduce((sum, n, i) => (plain.kind[i] === KIND.root ? sum : sum + n), 0);
  const least = plain.value.findIndex((n, i) => plain.kind[i] !== KIND.root && n > 0 && n < 0.01 * whole);
  ages[least] = 1e-6;
  const scale = ageScale({ ...plain, age_s: ages })!;
  assert.ok(scale.young >= 10 && scale.old <= 16 && scale.young < scale.old, JSON.stringify(scale));
  assert.equal(ageHue(ages[least]!, scale), HUE.age);
});

/** Every box gets an age of its own for what it has itself; the ages of all below are their means. */
function withAges(plain: FlameColumns, ownAge: (i: number) => number): FlameColumns {
  const t = growTree(plain);
  const aged = plain.value.map((_, i) => selfOf(t, i) * ownAge(i));
  for (let i = t.n - 1; i > 0; i--) aged[plain.parent[i]!] += aged[i]!;
  return { ...plain, age_s: plain.value.map((value, i) => (value > 0 ? aged[i]! / value : null)) };
}

test("boxes put together have the mean age of their bytes", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seeded(seed);
    const plain = randomFlame(random, 200);
    // all of a crate are of one age, so each box of a crate that asks itself alone is of that age
    const c = withAges(plain, (i) => 1 + (plain.module[i] ?? 0));
    for (const made of [groupBoxes(c, "crate"), foldRecursion(c)]) {
      const t = growTree(made);
      assert.equal(made.age_s?.length, made.parent.length);
      assert.ok(Math.abs(made.age_s![0]! - c.age_s![0]!) < 1e-6 * c.age_s![0]!);
      for (let i = 1; i < t.n; i++)
        if (made.kind[i] === KIND.frame && t.children[i] === 0 && made.value[i]! > 0)
          assert.ok(Math.abs(made.age_s![i]! - (1 + made.module[i]!)) < 1e-6, `seed ${seed}, box ${i}: ${made.age_s![i]}`);
    }
  }
});

test("what is not known of a part is not known of the whole, and is grey", () => {
  const plain = randomFlame(seeded(3), 50);
  const c = withAges(plain, () => 7);
  const last = c.parent.length - 1;
  const age = [...c.age_s!];
  for (let i = last; i >= 0; i = c.parent[i] ?? -1) age[i] = null;
  const folded = groupBoxes({ ...c, age_s: age }, "crate");
  assert.equal(folded.age_s![0], null);
  const drawn = byAge({ ...c, age_s: age });
  assert.equal(drawn.hue[last], HUE.noPath);
  assert.equal(drawn.is_by_age, true);
  assert.deepEqual(ageScale(drawn), ageScale({ ...c, age_s: age }));
  const none = { ...c, age_s: age.map(() => null) };
  assert.equal(byAge(none), none);
});
