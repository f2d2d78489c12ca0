// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { frameName, isNamed, nearText, shownName } from "./frame_name";

test("a function is known by its name", () => {
  const frame = { function: "Cache::insert(int)", module: "/usr/bin/app", offset: 16 };
  assert.equal(frameName(frame), "Cache::insert(int)");
  assert.ok(isNamed(frame));
  assert.equal(nearText(frame), "");
});

test("the nearest name is another function's: its place is what it is known by", () => {
  const frame = { function: "parse", module: "/usr/bin/app", offset: 0x1234, guess: true };
  assert.equal(frameName(frame), "app+0x1234");
  assert.ok(!isNamed(frame));
  assert.equal(nearText(frame), "near parse");
});

test("without a name or a module", () => {
  assert.equal(frameName({ function: "", module: "/lib/libc.so.6", offset: 0xdeadbeef00 }), "libc.so.6+0xdeadbeef00");
  assert.equal(frameName({ function: "", module: "", offset: 255 }), "0xff");
  assert.equal(frameName({ function: "" }), "");
});

test("people read it without parameters, and an async function's body by the function's name", () => {
  assert.equal(shownName({ function: "Cache::insert(int)" }), "Cache::insert");
  assert.equal(shownName({ function: "app::run::{{closure}}", async: true }), "app::run (async)");
  assert.equal(shownName({ function: "app::run::{closure#0}::{closure#1}", async: true }), "app::run (async)");
  assert.equal(shownName({ function: "app::run::{{closure}}" }), "app::run::{{closure}}");
  assert.equal(shownName({ function: "std::vector<int, std::allocator<int> >::push_back(int const&)", label: "std::vector<int>::push_back" }), "std::vector<int>::push_back");
  assert.equal(shownName({ function: "sqlite3PCachePercentDirty", module: "/usr/lib/libsqlite3.so.0", offset: 0xb786c, guess: true }), "libsqlite3.so.0+0xb786c");
  assert.equal(shownName({ function: "run", module: "app", offset: 16, guess: true, async: true }), "app+0x10");
});
