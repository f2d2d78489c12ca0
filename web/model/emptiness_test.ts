// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { emptiness } from "./emptiness";
import { change, fromFragment } from "./state";
import { setWeights } from "./units";

const trace = { events: 20, duration_s: 2, detail_from_s: 0, growing: false, peak: { time_s: 1, bytes: 4096 } };

test("a program that allocated nothing", () => {
  const none = { ...trace, events: 0, peak: { time_s: 0, bytes: 0 } };
  const said = emptiness(fromFragment("#sites?function=x"), none);
  assert.match(said.why, /ran for 2 s and made no allocation/);
  assert.equal(said.removal, null);
  assert.match(emptiness(fromFragment("#sites"), { ...none, growing: true }).why, /not allocated anything yet/);
  assert.equal(emptiness(fromFragment("#sites"), { ...none, imported: true }).why, "What was imported has no allocation.");
  setWeights("samples");
  try {
    const said = emptiness(fromFragment("#sites"), { ...none, imported: true });
    assert.deepEqual([said.title, said.why], ["No samples", "Nothing was counted in what was imported."]);
  } finally {
    setWeights("bytes");
  }
});

test("what is to blame is what is offered to be removed", () => {
  for (const [fragment, label] of [["#sites?function=x", "Clear the filters"], ["#sites?from=1s&to=2s", "Clear the window"], ["#sites?from=1s&size=1K", "Clear window and filters"], ["#sites?process=17", "All processes"], ["#sites?by=temporary", "Show what was live at the peak"]] as const) {
    const state = fromFragment(fragment);
    const { removal } = emptiness(state, trace);
    assert.equal(removal?.label, label);
    assert.deepEqual(removal && change(state, removal.change).keys, [], `${fragment}: ${label} does not clear it`);
  }
});
