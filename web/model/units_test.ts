// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { bytes, count, duration, percent, plural, share, signedBytes } from "./units";

const PRINTERS: Readonly<Record<string, (n: number) => string>> = { bytes, signed: signedBytes, count, duration: (ns) => duration(ns / 1e9) };

test("figures are what silt prints: src/base/base_test.c holds it to the same table", () => {
  const table = fs.readFileSync(path.join(process.env["SILT_WEB"] ?? ".", "../src/base/testing/units.table"), "utf8");
  const lines = table.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.ok(lines.length > 50);
  for (const line of lines) {
    const [kind, number, ...text] = line.split(" ");
    assert.equal(PRINTERS[kind](Number(number)), text.join(" "), line);
  }
});

test("one is singular", () => {
  assert.equal(plural(1, "block"), "1 block");
  assert.equal(plural(2000, "block"), "2,000 blocks");
});

test("shares", () => {
  assert.equal(percent(0), "0 %");
  assert.equal(percent(0.4), "under 1 %");
  assert.equal(percent(79.6), "80 %");
  assert.equal(percent(99.9), "99 %");
  assert.equal(percent(100), "100 %");
  assert.equal(share(1, 0), "0 %");
});
