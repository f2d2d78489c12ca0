// SPDX-License-Identifier: MIT
// A window with an address and a history, and the store on it.
import assert from "node:assert/strict";
import test from "node:test";
import { get } from "../model/state";
import { openStore } from "./store";

function fakeWindow(hash: string) {
  const entries = [hash];
  let at = 0;
  const heard: (() => void)[] = [];
  return {
    location: { get hash() { return entries[at]; } },
    history: {
      pushState: (_: unknown, __: string, address: string) => void entries.splice(++at, Infinity, address),
      replaceState: (_: unknown, __: string, address: string) => void (entries[at] = address),
    },
    addEventListener: (kind: string, listener: () => void) => void (kind === "popstate" && heard.push(listener)),
    entries,
    back: () => {
      at--;
      heard.forEach((listener) => listener());
    },
  };
}

test("a choice pushes, dragging replaces, back undoes the choice", () => {
  const at = fakeWindow("#flame?by=peak");
  const store = openStore(at as unknown as Window);
  store.go({ set: { from: "1" } });
  store.go({ set: { from: "2" } }, "replace");
  store.go({ set: { from: "3" } }, "replace");
  assert.deepEqual(at.entries, ["#flame?by=peak", "#flame?by=peak&from=3"]);
  store.go({ set: { from: "3" } });
  assert.equal(at.entries.length, 2, "the same again is no choice");
  at.back();
  assert.equal(get(store.state.value, "from"), undefined);
  assert.equal(store.state.value.view, "flame");
});
