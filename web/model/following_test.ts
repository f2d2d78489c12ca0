// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { isFixed, toEnd } from "./following";
import { change, fromFragment, get } from "./state";

const trace = { duration_s: 100, marks: [], peak: { time_s: 50, bytes: 1 } };

test("a window that ends before the recording does not follow it", () => {
  assert.equal(isFixed(fromFragment("#flame"), trace), false);
  assert.equal(isFixed(fromFragment("#flame?from=20"), trace), false);
  assert.equal(isFixed(fromFragment("#flame?from=20&to=99.8"), trace), false);
  assert.equal(isFixed(fromFragment("#flame?from=20&to=60"), trace), true);
  assert.equal(isFixed(fromFragment("#flame?from=20&to=@peak"), trace), true);
  assert.equal(isFixed(fromFragment("#flame?at=30"), trace), true);
});

test("following moves it to the end, as long as it was", () => {
  const moved = change(fromFragment("#flame?from=20&to=60"), toEnd(fromFragment("#flame?from=20&to=60"), trace));
  assert.deepEqual([get(moved, "from"), get(moved, "to")], ["60", "100"]);
  assert.equal(isFixed(moved, trace), false);
  const whole = change(fromFragment("#flame?at=30"), toEnd(fromFragment("#flame?at=30"), trace));
  assert.equal(get(whole, "at"), undefined);
});
