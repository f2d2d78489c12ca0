// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandText, visible, visibleLines } from "./visible";

test("what could hide or reorder is an escape, all else stays", () => {
  assert.equal(visible("std::vector<int, 名前>::push_back 😀 é"), "std::vector<int, 名前>::push_back 😀 é");
  assert.equal(visible("a\u202eb\nc\u0000"), "a\\u{202e}b\\x0ac\\x00");
  assert.equal(visible("\u00ad\u{e0001}\u007f"), "\\u{ad}\\u{e0001}\\x7f");
  assert.equal(visible("\ud800x"), "\\u{d800}x");
  assert.equal(visible("<img src=x onerror=alert(1)>"), "<img src=x onerror=alert(1)>");
});

test("lines and tabs of a longer text stay", () => {
  assert.equal(visibleLines("a\u202eb\nc\td\u0007"), "a\\u{202e}b\nc\td\\x07");
});

test("a command can be typed again", () => {
  assert.equal(commandText(["redis-server", "--save", "", "a b", "it's"]), "redis-server --save '' 'a b' 'it'\\''s'");
});
