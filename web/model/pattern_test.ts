// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactly } from "./pattern";

test("a pattern for one name matches it and nothing longer", () => {
  for (const name of ["operator new[](unsigned long)", "a::b<c>::~b()", "f{lambda(int)#1}::operator()(int) const", "x^$.|?*+\\"]) {
    const pattern = new RegExp(exactly(name));
    assert.ok(pattern.test(name));
    assert.ok(!pattern.test(`${name}x`) && !pattern.test(`x${name}`));
  }
  assert.ok(new RegExp(exactly("std::map<…>::insert")).test("std::map<int, long>::insert"));
});
