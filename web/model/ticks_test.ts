// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { byteLabel, byteTicks, timeLabels, timeTicks } from "./ticks";
import { lengthOf, setHasTimes } from "./units";

test("byte axes have round lines, few of them", () => {
  assert.deepEqual(byteTicks(118683648, 4).map(byteLabel), ["0", "32 MiB", "64 MiB", "96 MiB"]);
  assert.deepEqual(byteTicks(3, 4).map(byteLabel), ["0", "1 B", "2 B", "3 B"]);
  assert.deepEqual(byteTicks(0, 4), [0]);
  assert.deepEqual(byteTicks(NaN, 4), [0]);
  for (const most of [1, 1000, 1e6, 1e9, 1e12, 2 ** 50]) assert.ok(byteTicks(most, 4).length <= 5);
});

test("time axes have one unit", () => {
  assert.deepEqual(timeLabels(timeTicks(0, 2.49, 5)), ["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
  assert.deepEqual(timeLabels(timeTicks(0, 61.2, 6)), ["0", "15 s", "30 s", "45 s", "60 s"]);
  assert.deepEqual(timeLabels(timeTicks(0, 0.0005, 5)), ["0", "100 us", "200 us", "300 us", "400 us", "500 us"]);
  assert.deepEqual(timeLabels(timeTicks(100, 400, 5)), ["2:00 min", "3:00 min", "4:00 min", "5:00 min", "6:00 min"].slice(0, timeTicks(100, 400, 5).length));
  assert.deepEqual(timeLabels(timeTicks(0, 36000, 5)), ["0:00 h", "2:00 h", "4:00 h", "6:00 h", "8:00 h", "10:00 h"]);
  assert.deepEqual(timeLabels(timeTicks(12.345, 12.35, 5)), ["12.345 s", "12.346 s", "12.347 s", "12.348 s", "12.349 s", "12.350 s"]);
  for (const [from, to] of [[0, 1e-9], [0, 1e6], [59, 61], [0, 119.9]]) assert.ok(timeTicks(from, to, 6).length <= 8, `${from} ${to}`);
});

test("without times an axis has whole moments, and a recording a number of them", () => {
  setHasTimes(false);
  try {
    assert.deepEqual(timeLabels(timeTicks(0, 99, 4)), ["moment 30", "moment 60", "moment 90"]);
    assert.deepEqual(timeLabels(timeTicks(0, 2, 10)), ["moment 1", "moment 2"]);
    assert.equal(lengthOf(47), "47 moments");
    assert.equal(lengthOf(1.000001), null);
    setHasTimes(false, "event");
    assert.equal(lengthOf(5252), "5,252 events");
  } finally {
    setHasTimes(true);
  }
  assert.equal(lengthOf(2.5), "2.5 s");
});
