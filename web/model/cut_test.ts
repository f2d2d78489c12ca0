// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { cells, cut } from "./cut";

test("what fits stays, what does not is cut in the middle", () => {
  assert.equal(cut("main", 4), "main");
  assert.equal(cut("main", 3), "");
  assert.equal(cut("main", 0), "");
  assert.equal(cut("abcdefghijkl", 7), "abc…jkl");
  assert.equal(cut("some_namespace::Thing::method", 16), "some_nam…:method");
});

test("the part behind the last :: stays whole where it can", () => {
  assert.equal(cut("std::vector<a::b>::reallocate_all", 20), "std::…reallocate_all");
});

test("never wider than the room, whatever the letters", () => {
  const names = ["名前空間::関数の名前", "e\u0301".repeat(30), "😀".repeat(20), "a<b::c>::d->e", "::", "operator->", "x".repeat(300)];
  for (const name of names)
    for (let room = 0; room < 60; room++) {
      const shown = cut(name, room);
      assert.ok(cells(shown) <= room, `${name} in ${room}: ${shown}`);
      assert.ok(shown === "" || shown === name || shown.includes("…"));
    }
});
