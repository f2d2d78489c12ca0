// SPDX-License-Identifier: MIT
// The expected texts are what silt prints: src/base/base_test.c has the same numbers.
import assert from "node:assert/strict";
import test from "node:test";
import { bytes, count, duration, percent, plural, share, signedBytes } from "./units";

test("sizes", () => {
  const cases: [number, string][] = [
    [0, "0 B"], [1, "1 B"], [812, "812 B"], [1023, "1023 B"], [1024, "1.0 KiB"], [1536, "1.5 KiB"], [1023 * 1024, "1023 KiB"],
    [1024 * 1024 - 1, "1.0 MiB"], [Math.round(999.9 * 1024), "999.9 KiB"], [Math.round(999.96 * 1024), "1000 KiB"], [118683648, "113.2 MiB"], [2 ** 40, "1.0 TiB"],
  ];
  for (const [n, text] of cases) assert.equal(bytes(n), text);
  assert.equal(signedBytes(-2048), "-2.0 KiB");
  assert.equal(signedBytes(0), "+0 B");
});

test("counts", () => {
  assert.equal(count(0), "0");
  assert.equal(count(999), "999");
  assert.equal(count(1000), "1,000");
  assert.equal(count(1234567), "1,234,567");
  assert.equal(plural(1, "block"), "1 block");
  assert.equal(plural(2000, "block"), "2,000 blocks");
});

test("times", () => {
  const cases: [number, string][] = [
    [0, "0 ns"], [9.99e-7, "999 ns"], [1e-6, "1 us"], [0.0125, "12.5 ms"], [0.25, "250 ms"], [1.25, "1.25 s"], [2.4904, "2.49 s"], [61.2, "61.2 s"], [119.9, "120 s"],
    [120, "2 min 00 s"], [185, "3 min 05 s"], [7199, "119 min 59 s"], [7200, "2 h 00 min"], [11520, "3 h 12 min"],
  ];
  for (const [s, text] of cases) assert.equal(duration(s), text);
});

test("shares", () => {
  assert.equal(percent(0), "0 %");
  assert.equal(percent(0.4), "under 1 %");
  assert.equal(percent(79.6), "80 %");
  assert.equal(percent(99.9), "99 %");
  assert.equal(percent(100), "100 %");
  assert.equal(share(1, 0), "0 %");
});
