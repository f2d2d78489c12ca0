// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import type { Found } from "../api/found";
import { foldedWords, foundWords, patternText } from "./found";

const MIB = 2 ** 20;
const found = (value: number, shown_value: number, call_paths: number, shown_call_paths: number, metric = "peak"): Found => ({ schema: "silt.found/1", metric, whole: 31 * MIB, value, shown_value, call_paths, shown_call_paths });

test("what is folded away is found, and its share is told", () => {
  const of = found(15.7 * MIB, 1.1 * MIB, 40, 3);
  assert.equal(foundWords(of), "found 51 % of all: 15.7 MiB");
  assert.equal(foldedWords(of), "93 % of it in folded machinery");
  assert.equal(foldedWords(found(MIB, 0, 4, 0)), "all of it in folded machinery");
  assert.equal(foldedWords(found(MIB, MIB, 4, 4)), null);
});

test("nothing is denied that exists", () => {
  assert.equal(foundWords(found(0, 0, 0, 0)), "no function matches");
  assert.equal(foundWords(found(0, 0, 2, 1)), "found 0 B in 2 call paths");
  assert.equal(foundWords(found(-MIB, 0, 2, 1, "growth")), "found -1.0 MiB");
  assert.equal(foldedWords(found(-MIB, 0, 2, 1, "growth")), "some of it in folded machinery");
});

test("case matters where a capital says so", () => {
  assert.equal(patternText("sds"), "(?i)sds");
  assert.equal(patternText("Sds"), "Sds");
});
