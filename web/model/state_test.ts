// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { all, change, fromFragment, get, parseKeys, question, same, START, toFragment, toQuery, type State } from "./state";

test("an address and a state are the same thing", () => {
  for (const text of ["#overview", "#flame?process=all&from=12.4s&to=38s&by=peak&function=^Cache::&search=parse&pick=site:12", "#sites?function=a&function=b%26c%3Dd"]) {
    const state = fromFragment(text);
    assert.equal(toFragment(state), text);
    assert.ok(same(fromFragment(toFragment(state)), state));
  }
});

test("what means nothing in an address is left out", () => {
  assert.deepEqual(fromFragment(""), START);
  assert.deepEqual(fromFragment("#nonsense?x=1&=&from=&%E0%A4%A=1&by=%zz&token=secret"), START);
  assert.deepEqual(fromFragment("#tree?by=peak&by=end").keys, [["by", "end"]]);
  assert.deepEqual(fromFragment("#tree?__proto__=1&constructor=2").keys, []);
});

test("names of any kind survive the address", () => {
  for (const name of ["operator<<(a&, b=c)", "#?&=%+ ;", "ключ", "a\u202eb", "x".repeat(10000)]) {
    const state: State = change(START, { add: [["function", name]] });
    assert.deepEqual(all(fromFragment(toFragment(state)), "function"), [name]);
  }
});

test("a change sets, adds and removes", () => {
  let state = change(START, { view: "flame", set: { from: "1s", to: "2s" }, add: [["function", "a"], ["function", "b"], ["function", "a"]] });
  assert.deepEqual(all(state, "function"), ["a", "b"]);
  state = change(state, { remove: [["function", "a"]], set: { from: null } });
  assert.equal(toFragment(state), "#flame?to=2s&function=b");
  state = change(state, { clear: true, set: { by: "end" } });
  assert.equal(toFragment(state), "#flame?by=end");
});

test("a filter ends the zoom, a set zoom stays", () => {
  const zoomed = change(START, { set: { zoom: "main;f" } });
  assert.equal(get(change(zoomed, { add: [["function", "a"]] }), "zoom"), undefined);
  assert.equal(get(change(zoomed, { set: { search: "x" } }), "zoom"), "main;f");
  assert.equal(get(change(START, { add: [["function", "a"]], set: { zoom: "g" } }), "zoom"), "g");
});

test("questions carry scope and filters, not the page's own keys", () => {
  const state = fromFragment("#sites?process=12&from=1s&by=end&function=a&search=x&pick=site:1&sort=count");
  assert.equal(toQuery(question(state, { "group-by": "function", rows: 100, reverse: false })), "process=12&from=1s&by=end&function=a&group-by=function&rows=100");
  assert.equal(toQuery(question(state, { by: null, from: "2s" })), "process=12&function=a&from=2s");
});

test("keys of a next step are read as a state's", () => {
  assert.deepEqual(parseKeys("process=main&callers=f%20g&by=peak&top=5&full"), [["process", "main"], ["callers", "f g"], ["by", "peak"], ["full", "1"]]);
});
