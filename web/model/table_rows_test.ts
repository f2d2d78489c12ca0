// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { filterRows, filterWords, formatSort, moveTo, nextSort, parseSort, placeColumns, ranks, scrollFor, sortRows, toTsv, visibleRange } from "./table_rows";

test("sort: largest first, equal rows as they came, unknown last either way", () => {
  const values = [3, Number.NaN, 7, 3, 1];
  assert.deepEqual([...sortRows(values, true)], [2, 0, 3, 4, 1]);
  assert.deepEqual([...sortRows(values, false)], [4, 0, 3, 2, 1]);
  assert.deepEqual([...sortRows([], true)], []);
});

test("sort: texts A first, without regard to case", () => {
  const names = ["beta", "Alpha", "gamma", "alpha"];
  assert.deepEqual([...sortRows(names, true)], [1, 3, 0, 2]);
  assert.deepEqual([...sortRows(names, false)], [2, 0, 1, 3]);
  assert.deepEqual([...ranks(names)], [1, 0, 2, 0]);
});

test("sort: agrees with a plain sort on random figures", () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647);
  const values = Array.from({ length: 5000 }, () => random() % 100);
  const plain = values.map((_, i) => i).sort((a, b) => values[b] - values[a] || a - b);
  assert.deepEqual([...sortRows(values, true)], plain);
  assert.deepEqual([...sortRows(Float64Array.from(values), true)], plain);
});

test("sort: 100,000 rows while nobody waits", () => {
  const values = Array.from({ length: 100000 }, (_, i) => (i * 7919) % 100003);
  const began = performance.now();
  sortRows(values, true);
  assert.ok(performance.now() - began < 2500, "a busy machine may take ten times as long"); // 25 ms alone
});

test("sort: address and heading", () => {
  assert.deepEqual(parseSort(undefined, "peak"), { column: "peak", descending: true });
  assert.deepEqual(parseSort("-end", "peak"), { column: "end", descending: false });
  assert.equal(formatSort(parseSort("-end", "peak")), "-end");
  assert.deepEqual(nextSort({ column: "end", descending: true }, "end"), { column: "end", descending: false });
  assert.deepEqual(nextSort({ column: "end", descending: false }, "peak"), { column: "peak", descending: true });
});

test("filter: every word, anywhere, in the given order", () => {
  const rows = ["cache::insert cache.cc", "cache::find cache.cc", "list::insert list.cc"];
  const order = Uint32Array.of(2, 1, 0);
  assert.deepEqual([...filterRows(order, filterWords(" INSERT  cache"), (row) => rows[row])], [0]);
  assert.deepEqual([...filterRows(order, filterWords("insert"), (row) => rows[row])], [2, 0]);
  assert.equal(filterRows(order, filterWords("  "), (row) => rows[row]), order);
});

test("visible: rows in sight and some beyond, never outside", () => {
  assert.deepEqual(visibleRange(0, 240, 24, 100000, 5), { first: 0, end: 16 });
  assert.deepEqual(visibleRange(2400, 240, 24, 100000, 5), { first: 95, end: 116 });
  assert.deepEqual(visibleRange(24 * 99990, 240, 24, 100000, 5), { first: 99985, end: 100000 });
  assert.deepEqual(visibleRange(9999, 240, 24, 3, 5), { first: 3, end: 3 }); // the rows went while it was scrolled
  assert.deepEqual(visibleRange(-50, 240, 24, 3, 5), { first: 0, end: 3 }); // rubber band
});

test("visible: whatever is scrolled to, the rows in sight are drawn", () => {
  for (let scroll = 0; scroll < 24 * 1000 - 300; scroll += 7) {
    const range = visibleRange(scroll, 300, 24, 1000, 0);
    assert.ok(range.first * 24 <= scroll && range.end * 24 >= scroll + 300, `at ${scroll}`);
  }
});

test("scroll: as little as brings the row into sight", () => {
  assert.equal(scrollFor(10, 0, 240, 24), 24);
  assert.equal(scrollFor(5, 0, 240, 24), 0);
  assert.equal(scrollFor(5, 240, 240, 24), 120);
});

test("keys: arrows, pages, ends, and no further", () => {
  assert.equal(moveTo("ArrowDown", -1, 10, 5), 0);
  assert.equal(moveTo("ArrowDown", 9, 10, 5), 9);
  assert.equal(moveTo("ArrowUp", -1, 10, 5), 9);
  assert.equal(moveTo("PageDown", 2, 100, 5), 6);
  assert.equal(moveTo("PageUp", 2, 100, 5), 0);
  assert.equal(moveTo("End", 0, 100, 5), 99);
  assert.equal(moveTo("Home", 50, 100, 5), 0);
  assert.equal(moveTo("End", 0, 0, 5), undefined);
  assert.equal(moveTo("x", 0, 10, 5), undefined);
});

test("tsv: no cell becomes two", () => {
  assert.equal(toTsv([["a", "b"], ["x\ty", "1\n2"]]), "a\tb\nx y\t1 2\n");
});

test("columns: least widths first, those that grow share the rest, and none overlap", () => {
  const columns = [{ minPx: 100, grow: 3 }, { minPx: 50 }, { minPx: 80, grow: 1 }];
  const wide = placeColumns(columns, 678);
  assert.deepEqual(wide.places, [{ leftPx: 8, widthPx: 400 }, { leftPx: 424, widthPx: 50 }, { leftPx: 490, widthPx: 180 }]);
  assert.equal(wide.wholePx, 678);
  const narrow = placeColumns(columns, 100);
  assert.deepEqual(narrow.places.map((place) => place.widthPx), [100, 50, 80]);
  assert.equal(narrow.wholePx, 278);
  assert.deepEqual(placeColumns([], 100), { places: [], wholePx: 100 });
});
