// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import type { Recipe } from "../api/rows";
import { sizeOf, valueOf, withParameters } from "./query";
import { fromFragment, toFragment } from "./state";

const TRACE = { duration_s: 60, marks: [], peak: { time_s: 30, bytes: 1 } } as unknown as Parameters<typeof valueOf>[3];
const RECIPE: Recipe = {
  name: "large", help: "?", statement: "SELECT :at_least, :since", trouble: null,
  parameters: [{ name: "at_least", without: "1M", help: "", is_size: true }, { name: "since", without: "0", help: "", is_size: false }],
};

test("a parameter is what the address says, else what the recipe has, else of the window, else NULL", () => {
  const state = fromFragment("#query?from=5&to=10&p-since=@warm");
  assert.equal(valueOf(state, RECIPE, "since", TRACE), "@warm");
  assert.equal(valueOf(state, RECIPE, "at_least", TRACE), "1048576");
  assert.equal(valueOf(state, null, "from", TRACE), "5000000000");
  assert.equal(valueOf(state, null, "to", TRACE), "10000000000");
  assert.equal(valueOf(fromFragment("#query"), null, "to", TRACE), "60000000000");
  assert.equal(valueOf(state, null, "other", TRACE), "");
});

test("sizes as options take them", () => {
  assert.deepEqual(["512", "1K", "1.5M", "2GiB", "x", ""].map(sizeOf), [512, 1024, 1572864, 2 * 2 ** 30, null, null]);
});

test("what is as the recipe has it is not in the address", () => {
  const given: Record<string, string> = { at_least: "1M", since: " 5s " };
  assert.deepEqual(withParameters(["at_least", "since"], (name) => given[name]!, RECIPE), { "p-at_least": null, "p-since": "5s" });
});

test("a statement and its parameters are in the address, and come back from it", () => {
  const state = fromFragment("#query?sql=SELECT%20%3Aa%20%26%20'%25'&p-a=1&p-b%20c=2&shape=chart");
  assert.deepEqual(state.keys, [["sql", "SELECT :a & '%'"], ["p-a", "1"], ["shape", "chart"]]);
  assert.deepEqual(fromFragment(toFragment(state)), state);
});
