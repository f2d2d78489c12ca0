// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { baseName, estimate, moment, place, shortName, splitName } from "./spread";

test("estimates carry their error, exact figures none", () => {
  assert.equal(estimate(64 << 20, "bytes", 2 << 20), "64.0 MiB ±3 %");
  assert.equal(estimate(1000, "count", null), "1,000");
  assert.equal(estimate(1000, "count", 0), "1,000");
  assert.equal(estimate(1000000, "count", 10), "1,000,000 ±1 %");
  assert.equal(estimate(-1000, "count", 100).endsWith(" ±10 %"), true);
});

test("places", () => {
  assert.equal(place("/a/b/session.cc", 88), "session.cc:88");
  assert.equal(place("/a/b/session.cc", 0), "session.cc");
  assert.equal(place("", 3), "");
  assert.equal(baseName("x"), "x");
});

test("names keep what is behind the last ::", () => {
  assert.deepEqual(splitName("a::b<c::d>::insert(e::f)"), ["a::b<c::d>::", "insert(e::f)"]);
  assert.deepEqual(splitName("main"), ["", "main"]);
  assert.deepEqual(splitName("A::operator->"), ["A::", "operator->"]);
});

test("short names have no parameters", () => {
  assert.equal(shortName("a::b<c(int)>::d(e) const"), "a::b<c(int)>::d");
  assert.equal(shortName("f::operator()(int)"), "f::operator()");
  assert.equal(shortName("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
  assert.equal(shortName("std::operator<(int, int)"), "std::operator<");
  assert.equal(shortName("main"), "main");
  assert.equal(shortName("(unknown)"), "(unknown)");
});

test("the begin of a recording", () => {
  assert.equal(moment(0), "0 s");
  assert.equal(moment(2.5), "2.5 s");
});
