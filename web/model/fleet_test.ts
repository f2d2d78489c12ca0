// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeFleet, fleetKeys, missing, momentText, pathText, readFleet, writeFleet } from "./fleet";

test("an address says what is chosen, and nothing else", () => {
  const state = readFleet("#grew?since=7d&service=a%20b%26c&nonsense=1&host=");
  assert.deepEqual(state, { question: "grew", keys: { since: "7d", service: "a b&c" } });
  assert.deepEqual(readFleet(writeFleet(state)), state);
  assert.equal(readFleet("#no_such?since=1h").question, "services");
  assert.equal(readFleet("").question, "services");
  assert.equal(readFleet("#grew?service=%E0%A4%A").keys.service !== undefined, true); // damaged, and no exception
});

test("a question is asked once all that it needs is chosen", () => {
  assert.equal(missing(readFleet("#paths")), "service");
  assert.equal(fleetKeys(readFleet("#paths")), null);
  assert.equal(missing(readFleet("#release?service=a&old=x")), "builds");
  assert.equal(missing(readFleet("#release?service=a&old=x&new=x")), "builds");
  assert.deepEqual(fleetKeys(readFleet("#release?service=a&old=x&new=y&host=h")), [["question", "release"], ["back", "7d"], ["top", "500"], ["service", "a"], ["old", "x"], ["new", "y"]]);
  assert.deepEqual(fleetKeys(readFleet("#services?since=30d")), [["question", "services"], ["back", "30d"], ["top", "500"]]);
});

test("another question keeps the scope and leaves what was picked", () => {
  const state = readFleet("#grew?service=a&pick=00&sort=hosts&since=7d");
  assert.deepEqual(changeFleet(state, "paths", { host: "h" }).keys, { service: "a", since: "7d", host: "h" });
  assert.deepEqual(changeFleet(state, "grew", { service: null }).keys, { pick: "00", sort: "hosts", since: "7d" });
});

test("call paths and moments in words", () => {
  assert.equal(pathText(["a", "b", "c"], 2), "a ← b ← …");
  assert.equal(pathText(["a", "b"], 2), "a ← b");
  assert.equal(pathText([], 2), "(functions unknown)");
  assert.equal(momentText(1794938400), "2026-11-17 18:00");
  assert.equal(momentText(0), "never");
});
