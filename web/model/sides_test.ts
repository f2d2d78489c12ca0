// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { generations, halves, momentsOf, oldKeys, sidesOf } from "./sides";
import { change, fromFragment, question } from "./state";

const trace = { duration_s: 60, old: null, marks: [{ time_s: 30, name: "busy" }, { time_s: 10, name: "warm" }, { time_s: 31, name: "busy" }] };

test("moments come in order of time, each name once", () => {
  assert.deepEqual(momentsOf(trace).map((moment) => moment.word), ["@start", "@warm", "@busy", "@peak", "@end"]);
});

test("generations: each stretch against the one before", () => {
  const made = generations(trace);
  assert.equal(made.length, 2);
  const state = change(fromFragment("#compare?function=^f"), made[0]!.change);
  const sides = sidesOf(state, trace);
  assert.deepEqual(sides, { kind: "windows", oldFrom: "@start", oldTo: "@warm", from: "@warm", to: "@busy" });
  const keys = new Map(question(state, oldKeys(state, sides)));
  assert.deepEqual([keys.get("old-from"), keys.get("old-to"), keys.get("from"), keys.get("to"), keys.get("function"), keys.get("against")],
                   ["@start", "@warm", "@warm", "@busy", "^f", undefined]);
});

test("two recordings are compared unless windows are chosen", () => {
  const both = { ...trace, old: {} };
  const state = fromFragment("#compare?from=5s");
  assert.deepEqual(sidesOf(state, trace), { kind: "none" });
  assert.deepEqual(sidesOf(state, both), { kind: "traces" });
  const keys = new Map(question(state, oldKeys(state, { kind: "traces" })));
  assert.deepEqual([keys.get("against"), keys.get("from")], ["1", "5s"]);
  assert.equal(sidesOf(change(state, halves(both)), both).kind, "windows");
});
