// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { parametersOf, pieces } from "./sql_text";

test("pieces are the whole text, in order", () => {
  for (const text of ["", "SELECT 'it''s', \"a b\", 1.5e3 -- why\nFROM x /* y", "'open", "[a", "é ≤ :b"]) {
    const all = pieces(text);
    assert.equal(all.map((piece) => text.slice(piece.begin, piece.end)).join(""), text);
    assert.ok(all.every((piece, i) => piece.end > piece.begin && piece.begin === (i === 0 ? 0 : all[i - 1]!.end)));
  }
});

test("what a piece is", () => {
  const kinds = (text: string): string[] => pieces(text).filter((piece) => piece.kind !== "blank").map((piece) => piece.kind);
  assert.deepEqual(kinds("select 'a' from b -- c"), ["keyword", "text", "keyword", "word", "comment"]);
  assert.deepEqual(kinds("x >= 1.5e-3 and :y"), ["word", "mark", "mark", "number", "keyword", "parameter"]);
});

test("parameters, each once, and not those in texts and comments", () => {
  assert.deepEqual(parametersOf("SELECT :b, :a, :b, ':c' -- :d\n, \":e\""), ["b", "a"]);
  assert.deepEqual(parametersOf("SELECT 1"), []);
});
