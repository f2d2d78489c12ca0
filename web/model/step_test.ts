// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { change, fromFragment, toFragment } from "./state";
import { stepOf } from "./step";

function after(view: string, request: string, from = "#overview"): string {
  const step = stepOf({ next_view: view, next_request: request });
  assert.ok(step);
  return toFragment(change(fromFragment(from), step.change));
}

test("each kind of next step has a view", () => {
  assert.equal(after("report", "callers=S::S&by=peak"), "#tree?callers=S::S&shape=callers&by=peak");
  assert.equal(after("report", "group-by=function&by=end"), "#sites?group-by=function&by=end");
  assert.equal(after("report", "blocks=1&function=f"), "#blocks?function=f");
  assert.equal(after("source", "by=peak"), "#source?by=peak");
  assert.equal(after("flame", "by=growth"), "#flame?by=growth");
  assert.equal(after("report", "by=growth"), "#sites?by=growth");
});

test("the window and filters of before make room, the process stays", () => {
  assert.equal(after("report", "group-by=function&to=5s", "#flame?process=12&from=1&function=a&pick=site:1"), "#sites?process=12&group-by=function&to=5s");
  assert.equal(after("report", "process=main&group-by=function", "#flame?process=12"), "#sites?group-by=function&process=main");
});

test("nothing to look at", () => {
  assert.equal(stepOf({ next_view: undefined, next_request: undefined }), null);
});
