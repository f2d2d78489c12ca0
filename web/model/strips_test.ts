// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timeline } from "../api/timeline";
import { evened, inUnits, leadLine, leadOf, stripsOf, threadsText } from "./strips";

const TIMELINE: Timeline = {
  schema: "silt.timeline/1", from_s: 0, to_s: 4, columns: 2, exact: true, live_bytes: [10, 20], low_live_bytes: [0, 0], rss_bytes: [null, 4096],
  allocations_per_s: [5, 0], allocated_bytes_per_s: [5, 0], threads_on_cpu: [0.5, 1], threads_blocked: [2, 3],
  group_by: "thread", groups: [{ name: "a", live_bytes: [1e9, 2e9] }], rest_live_bytes: [0, 2e9],
};

test("what is chosen leads, the others are strips", () => {
  const names = (lead: "memory" | "cpu" | "blocked", t = TIMELINE): string[] => stripsOf(t, lead).map((strip) => strip.name);
  assert.deepEqual(["peak", "cpu", "blocked", "count"].map(leadOf), ["memory", "cpu", "blocked", "memory"]);
  assert.deepEqual(names("memory"), ["CPU", "rate"]);
  assert.deepEqual(names("cpu"), ["blocked", "memory", "rate"]);
  assert.deepEqual(names("blocked"), ["CPU", "memory", "rate"]);
  assert.deepEqual(names("memory", { ...TIMELINE, threads_on_cpu: null, threads_blocked: null }), ["rate"]);
  const ofTime = { ...TIMELINE, live_bytes: [0, 0], allocations_per_s: [0, 0], threads_blocked: [0, 0] };
  assert.deepEqual(names("cpu", ofTime), ["memory"]);
  assert.deepEqual(stripsOf(ofTime, "cpu")[0]!.values, [null, 4096]);
  assert.deepEqual(names("memory", { ...ofTime, threads_on_cpu: null, threads_blocked: null }), []);
  assert.equal(stripsOf(null, "cpu").length, 1);
  assert.deepEqual(leadLine(TIMELINE, "blocked"), [2, 3]);
  assert.deepEqual(leadLine({ ...TIMELINE, threads_on_cpu: null }, "cpu"), [null, null]);
});

test("groups of time are threads at a time, groups of memory stay bytes", () => {
  const t = inUnits(TIMELINE, "cpu");
  assert.deepEqual(t.groups[0]!.live_bytes, [0.5, 1]);
  assert.deepEqual(t.rest_live_bytes, [0, 1]);
  assert.equal(inUnits(TIMELINE, "memory"), TIMELINE);
});

test("single samples are evened out", () => {
  const columns = 100;
  const noisy = { ...TIMELINE, to_s: 0.5, columns, threads_on_cpu: Array.from({ length: columns }, (_, i) => (i % 4 === 0 ? 4 : 0)), threads_blocked: new Array<number>(columns).fill(1) };
  const even = evened(noisy)!;
  assert.ok(even.threads_on_cpu!.slice(5, -5).every((v) => v! > 0.5 && v! < 1.5));
  assert.deepEqual(even.threads_blocked, noisy.threads_blocked); // waits are no samples
  assert.equal(evened({ ...noisy, to_s: 50 })!.threads_on_cpu, noisy.threads_on_cpu);
  assert.equal(evened(null), null);
});

test("few threads have a tenth", () => {
  assert.deepEqual([0, 0.25, 1, 1.25, 9.96, 12.4].map(threadsText), ["0", "0.25", "1", "1.3", "10", "12"]);
});
