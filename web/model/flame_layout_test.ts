// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { foldRecursion } from "./flame_fold";
import { boxInSight, clampSight, hit, layOut, LEAST_PX, placeOfBox, scaleOf, sightOf, sumOf, zoomAt, type Layout, type Sight } from "./flame_layout";
import { randomFlame, seeded } from "../testing/flame_random";
import { boxAtZoom, BELOW, FOUND, growTree, isRest, lineage, nameOf, search, searchPattern, selfOf, zoomText, type FlameTree } from "./flame_tree";

// ---- by brute force ---------------------------------------------------------------------------------

interface Drawn {
  boxes: Set<number>;
  bars: { begin: number; end: number; frames: number; value: number; beside: number; was: number }[][];
}

/** Every box is looked at: one that is wide enough, below one that is drawn, is drawn; those too narrow are bars, by row. */
function drawnByBrute(t: FlameTree, s: Sight): Drawn {
  const scale = scaleOf(s);
  const boxes = new Set<number>();
  const runs: Drawn["bars"] = Array.from({ length: t.rows }, () => []);
  const isNarrow = (i: number): boolean => i > 0 && (isRest(t, i) || t.width[i]! * scale < LEAST_PX);
  const isIn = (from: number, to: number): boolean => to > s.from && from < s.to;
  for (let i = 0; i < t.n; i++) {
    const above = t.columns.parent[i]!;
    if (i > 0 && !boxes.has(above))
      continue;
    if (!isNarrow(i)) {
      if (isIn(t.begin[i]!, t.begin[i]! + t.width[i]!))
        boxes.add(i);
      continue;
    }
    const row = runs[t.depth[i]!]!;
    const run = { begin: t.begin[i]!, end: t.begin[i]! + t.width[i]!, frames: isRest(t, i) ? t.columns.rest[i]! : 1, value: t.columns.value[i]!,
                  beside: t.columns.beside[i]!, was: t.columns.was?.[i] ?? 0 };
    const last = row[row.length - 1];
    const isOfLast = last !== undefined && i > 0 && t.columns.parent[i - 1] === above && isNarrow(i - 1);
    if (last && isOfLast) {
      last.end = run.end;
      last.frames += run.frames;
      last.value += run.value;
      last.beside += run.beside;
      last.was += run.was;
    } else {
      row.push(run);
    }
  }
  return { boxes, bars: runs.map((row) => joined(row, s)) };
}

function joined(row: Drawn["bars"][number], s: Sight): Drawn["bars"][number] {
  const seen = row.filter((run) => run.end > s.from && run.begin < s.to);
  const bars: Drawn["bars"][number] = [];
  for (const run of seen) {
    const last = bars[bars.length - 1];
    if (last && (run.begin - last.end) * scaleOf(s) < LEAST_PX) {
      last.end = run.end;
      last.frames += run.frames;
      last.value += run.value;
      last.beside += run.beside;
      last.was += run.was;
    } else {
      bars.push({ ...run });
    }
  }
  return bars;
}

function checkLayout(t: FlameTree, s: Sight): Layout {
  const l = layOut(t, s);
  const brute = drawnByBrute(t, s);
  const boxes = new Set<number>();
  for (let row = 0; row < l.rows; row++) {
    let bar = 0;
    for (let k = l.rowStart[row]!; k < l.rowStart[row + 1]!; k++) {
      if (k > l.rowStart[row]! && l.x[k]! < l.x[k - 1]! + l.width[k - 1]! - 1e-6)
        assert.fail("boxes of a row overlap");
      if (t.depth[l.box[k]!] !== row)
        assert.fail("a box is in the wrong row");
      if (l.more[k] === 0) {
        boxes.add(l.box[k]!);
        continue;
      }
      const expected = brute.bars[row]![bar++]!;
      const sum = sumOf(t, l, k);
      const px = (at: number): number => (at - s.from) * scaleOf(s);
      assert.ok(Math.abs(l.x[k]! - px(expected.begin)) < 1e-3 && Math.abs(l.x[k]! + l.width[k]! - px(expected.end)) < 1e-3);
      assert.deepEqual([l.more[k], sum.frames, sum.value, sum.beside, sum.was],
                       [expected.frames, expected.frames, expected.value, expected.beside, expected.was]);
    }
    assert.equal(bar, brute.bars[row]!.length, `bars of row ${row}`);
  }
  assert.deepEqual([...boxes].sort((a, b) => a - b), [...brute.boxes].sort((a, b) => a - b));
  return l;
}

// ---- layout -----------------------------------------------------------------------------------------

test("the layout is what looking at every box gives", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seeded(seed);
    const t = growTree(randomFlame(random, 3 + Math.floor(random() * 1200), seed % 3 === 0));
    checkLayout(t, sightOf(t, 0, 50 + random() * 2000));
    for (let k = 0; k < 4; k++) {
      const box = Math.floor(random() * t.n);
      if (t.width[box]! > 0)
        checkLayout(t, sightOf(t, box, 800));
      const whole = t.width[0]!;
      const from = random() * whole * 0.9;
      checkLayout(t, clampSight(t, { from, to: from + random() * (whole - from), px: 640 }));
    }
  }
});

test("100,000 boxes: right, and quick enough for every frame", () => {
  const t = growTree(randomFlame(seeded(7), 100000));
  assert.ok(t.n >= 100000);
  checkLayout(t, sightOf(t, 0, 1600));
  checkLayout(t, sightOf(t, 5, 1600));
  const begin = process.hrtime.bigint();
  let n = 0;
  for (let k = 0; k < 50; k++)
    n += layOut(t, zoomAt(t, sightOf(t, 0, 1600), 300, 1 + k / 10)).n;
  const ms = Number(process.hrtime.bigint() - begin) / 50e6;
  assert.ok(n > 1000);
  assert.ok(ms < 40, `${ms} ms`); // about 1 ms; the bound is for busy machines
});

test("what is under the pointer is what lies there", () => {
  const random = seeded(11);
  const t = growTree(randomFlame(random, 2000));
  const l = layOut(t, sightOf(t, 0, 1000));
  for (let k = 0; k < 1000; k++) {
    const row = Math.floor(random() * (l.rows + 2)) - 1;
    const x = random() * 1100 - 50;
    let expected = -1;
    for (let i = row < 0 || row >= l.rows ? 0 : l.rowStart[row]!; row >= 0 && row < l.rows && i < l.rowStart[row + 1]!; i++)
      if (l.x[i]! <= x && x < l.x[i]! + l.width[i]!)
        expected = i;
    assert.equal(hit(l, row, x), expected);
  }
  const single = new Set(Array.from(l.box.subarray(0, l.n)).filter((_, at) => l.more[at] === 0));
  for (let i = 0; i < t.n; i++) {
    const k = placeOfBox(t, l, i);
    assert.equal(k >= 0, single.has(i), `box ${i}`);
    if (k >= 0)
      assert.equal(l.box[k], i);
  }
});

test("zooming keeps what is under the pointer and stays inside", () => {
  const t = growTree(randomFlame(seeded(3), 500));
  let s = sightOf(t, 0, 1000);
  for (let k = 0; k < 200; k++)
    s = zoomAt(t, s, 333, 1.2);
  assert.ok(s.to > s.from && s.from >= 0 && s.to <= t.width[0]!);
  const at = s.from + 0.333 * (s.to - s.from);
  const out = zoomAt(t, s, 333, 1 / 4);
  assert.ok(Math.abs(out.from + 0.333 * (out.to - out.from) - at) < 1e-6 * t.width[0]!);
  for (let k = 0; k < 300; k++)
    s = zoomAt(t, s, 900, 0.8);
  assert.deepEqual([s.from, s.to], [0, t.width[0]]);
});

test("where one is: the innermost box that holds what is in sight", () => {
  const random = seeded(5);
  const t = growTree(randomFlame(random, 900));
  for (let i = 0; i < t.n; i++) {
    if (isRest(t, i))
      continue;
    const at = boxInSight(t, sightOf(t, i, 700));
    assert.ok(lineage(t, i).includes(at) || at === 0);
    assert.ok(t.begin[at] === t.begin[i] && t.width[at] === t.width[i] || at === i, "fills the width");
  }
});

test("an empty answer, and one that is no tree", () => {
  const c = randomFlame(seeded(1), 20);
  const none = growTree({ ...c, parent: [], name: [], place: [], module: [], hue: [], shade: [], width: [], value: [], beside: [], kind: [], rest: [], site: [] });
  assert.equal(layOut(none, { from: 0, to: 0, px: 100 }).n, 0);
  assert.equal(hit(layOut(none, { from: 0, to: 0, px: 100 }), 0, 5), -1);
  assert.throws(() => growTree({ ...c, parent: c.parent.map((p, i) => (i === 3 ? 19 : p)) }));
  assert.throws(() => growTree({ ...c, width: [1] }));
});

// ---- search, zoom, self -----------------------------------------------------------------------------

test("a search counts each byte once", () => {
  for (let seed = 1; seed <= 15; seed++) {
    const t = growTree(randomFlame(seeded(seed), 700, seed % 2 === 0));
    const pattern = searchPattern(`_${seed % 40}$|ns3`)!;
    const found = search(t, pattern);
    let value = 0, was = 0, width = 0, boxes = 0;
    for (let i = 1; i < t.n; i++) {
      const isMatch = (at: number): boolean => !isRest(t, at) && pattern.test(nameOf(t, at));
      const above = lineage(t, i).slice(0, -1).some(isMatch);
      assert.equal(found.state[i], isMatch(i) ? FOUND : above ? BELOW : 0);
      boxes += isMatch(i) ? 1 : 0;
      if (isMatch(i) && !above) {
        value += t.columns.value[i]!;
        was += t.columns.was?.[i] ?? 0;
        width += t.width[i]!;
      }
    }
    assert.deepEqual([found.boxes, found.value, found.was, found.width], [boxes, value, was, width]);
    assert.ok(found.width <= t.width[0]!);
  }
  assert.equal(searchPattern("("), null);
  assert.ok(searchPattern("ab")!.test("AB") && !searchPattern("Ab")!.test("ab"));
});

test("the address leads back to the box", () => {
  const t = growTree({ ...randomFlame(seeded(9), 300), names: Array.from({ length: 43 }, (_, i) => `a;b%3B${i}`) });
  for (let i = 0; i < t.n; i++)
    if (!isRest(t, i)) {
      const at = boxAtZoom(t, zoomText(t, i));
      assert.equal(zoomText(t, at), zoomText(t, i));
    }
  assert.equal(boxAtZoom(t, "nothing;like;it"), 0);
});

test("self is what the children leave", () => {
  const t = growTree(randomFlame(seeded(2), 800));
  let sum = 0;
  for (let i = 0; i < t.n; i++) {
    assert.ok(selfOf(t, i) >= 0);
    sum += selfOf(t, i);
  }
  assert.equal(sum, t.columns.value[0]);
});

// ---- recursion --------------------------------------------------------------------------------------

test("folded recursion: each function once in a path, nothing lost", () => {
  for (let seed = 1; seed <= 15; seed++) {
    const c = randomFlame(seeded(seed), 600, seed % 2 === 0);
    const folded = foldRecursion(c);
    const t = growTree(folded);
    const whole = growTree(c);
    assert.deepEqual([folded.value[0], folded.beside[0], folded.was?.[0], folded.width[0]], [c.value[0], c.beside[0], c.was?.[0], c.width[0]]);
    const selves = (of: FlameTree): Map<string, number> => {
      const sums = new Map<string, number>();
      for (let i = 0; i < of.n; i++)
        sums.set(nameOf(of, i), (sums.get(nameOf(of, i)) ?? 0) + selfOf(of, i));
      return sums;
    };
    assert.deepEqual([...selves(t)].sort(), [...selves(whole)].sort());
    for (let i = 1; i < t.n; i++) {
      const path = lineage(t, i).filter((at) => !isRest(t, at)).map((at) => nameOf(t, at));
      assert.equal(new Set(path).size, path.length);
      if (i > 1 && folded.parent[i] === folded.parent[i - 1] && !isRest(t, i))
        assert.ok(folded.width[i]! <= folded.width[i - 1]!);
    }
  }
  const plain = { ...randomFlame(seeded(1), 20), names: [], name: Array.from({ length: 20 }, (_, i) => i) };
  assert.equal(foldRecursion({ ...plain, name: plain.parent.map((_, i) => i) }).parent, plain.parent);
});
