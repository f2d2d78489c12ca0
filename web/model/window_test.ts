// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { fromFragment } from "./state";
import { isBeforeDetail, nudge, secondsOf, seenOf, spanKeys, spanText, timeText, windowOf, zoom } from "./window";

const trace = { duration_s: 60, marks: [{ time_s: 12, name: "warm", kind: "mark" as const, pid: 1 }], peak: { time_s: 30, bytes: 1 } };

test("times are read as options are", () => {
  const cases: [string, number | undefined][] = [["5", 5], ["250ms", 0.25], ["1.5s", 1.5], ["2m", 120], ["@peak", 30], ["@warm", 12], ["@end", 60], ["@start", 0], ["@none", undefined], ["5x", undefined], ["", undefined], ["-1", undefined]];
  for (const [text, seconds] of cases) assert.equal(secondsOf(text, trace), seconds, text);
});

test("windows", () => {
  assert.equal(windowOf(fromFragment("#flame"), trace), null);
  assert.deepEqual(windowOf(fromFragment("#flame?from=@warm"), trace), { from_s: 12, to_s: 60 });
  assert.deepEqual(windowOf(fromFragment("#flame?from=1&to=2.5"), trace), { from_s: 1, to_s: 2.5 });
  assert.deepEqual(windowOf(fromFragment("#flame?at=@peak"), trace), { from_s: 0, to_s: 30 });
  assert.equal(windowOf(fromFragment("#flame?from=5&to=2"), trace), null);
});

test("what is seen is within the recording", () => {
  assert.deepEqual(seenOf(fromFragment("#flame?see=10..20"), trace), { from_s: 10, to_s: 20 });
  for (const see of ["20..10", "x", "70..80", "..", "-5..10"]) assert.deepEqual(seenOf(fromFragment(`#flame?see=${see}`), trace), { from_s: 0, to_s: 60 }, see);
  assert.deepEqual(seenOf(fromFragment("#flame?see=50..80"), trace), { from_s: 50, to_s: 60 });
});

test("texts have the digits that a pixel is worth", () => {
  assert.equal(timeText(12.3456789, 0.01), "12.35");
  assert.equal(timeText(12.3456789, 0.06), "12.35");
  assert.equal(timeText(12.0001, 1), "12");
  assert.equal(timeText(0.000012345, 1e-7), "0.0000123");
  assert.equal(timeText(-1, 1), "0");
});

test("a nudged window keeps its length and stays inside", () => {
  const whole = { from_s: 0, to_s: 60 };
  assert.deepEqual(nudge({ from_s: 10, to_s: 20 }, 0.5, whole), { from_s: 15, to_s: 25 });
  assert.deepEqual(nudge({ from_s: 55, to_s: 60 }, 1, whole), { from_s: 55, to_s: 60 });
  assert.deepEqual(nudge({ from_s: 2, to_s: 12 }, -1, whole), { from_s: 0, to_s: 10 });
});

test("zooming keeps the moment under the pointer", () => {
  const whole = { from_s: 0, to_s: 60 };
  const near = zoom(whole, 0.5, 15, whole, 0.001);
  assert.deepEqual(near, { from_s: 7.5, to_s: 37.5 });
  assert.deepEqual(zoom(near, 4, 15, whole, 0.001), whole);
  assert.equal(zoom({ from_s: 1, to_s: 1.002 }, 0.1, 1.001, whole, 0.001).to_s - zoom({ from_s: 1, to_s: 1.002 }, 0.1, 1.001, whole, 0.001).from_s < 0.0011, true);
});

test("windows in words", () => {
  assert.equal(spanText({ from_s: 12.4, to_s: 38 }), "12.4–38 s");
  assert.equal(spanText({ from_s: 0, to_s: 1.25 }), "0–1.25 s");
  assert.equal(spanText({ from_s: 0.5, to_s: 1.25 }), "500 ms–1.25 s");
  assert.equal(spanText({ from_s: 200, to_s: 300 }), "3 min 20 s–5 min 00 s");
});

test("a window of a file is at its edges, and the address says so", () => {
  const edges = [0, 1.000001, 2, 3.25, 4];
  assert.deepEqual(spanKeys({ from_s: 0.9, to_s: 3.1 }, 0.01, 4, edges), { from: "1.000001", to: "3.25" });
  assert.deepEqual(spanKeys({ from_s: 3.9, to_s: 4 }, 0.01, 4, edges), { from: "3.25", to: null });
  assert.deepEqual(spanKeys({ from_s: 1, to_s: 1.1 }, 0.01, 4, edges), { from: "1.000001", to: "2" });
  assert.deepEqual(spanKeys({ from_s: 0.9, to_s: 3.12345 }, 0.01, 4), { from: "0.9", to: "3.12" });
  assert.deepEqual(spanKeys({ from_s: 0.9, to_s: 5 }, 0.01, 4), { from: "0.9", to: null });
});

test("figures of a window are of one near it where the events are gone", () => {
  const trace = { detail_from_s: 10 };
  assert.ok(isBeforeDetail({ from_s: 0.2, to_s: 3 }, trace));
  assert.ok(isBeforeDetail({ from_s: 0, to_s: 3 }, trace));
  assert.ok(isBeforeDetail({ from_s: 4, to_s: 12 }, trace));
  assert.ok(!isBeforeDetail({ from_s: 0, to_s: 12 }, trace), "from the start to where events are");
  assert.ok(!isBeforeDetail({ from_s: 10, to_s: 12 }, trace));
  assert.ok(!isBeforeDetail({ from_s: 1, to_s: 12 }, { detail_from_s: 0 }));
});
