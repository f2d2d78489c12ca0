// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { pageWords } from "./page_words";

test("sides are the newer and the older", () => {
  assert.equal(pageWords("NEW peaks at 4.5 MiB, 3.2 MiB more than OLD (+242 %); f grew by 896.0 KiB."), "The newer peaks at 4.5 MiB, 3.2 MiB more than the older (+242 %); f grew by 896.0 KiB.");
  assert.equal(pageWords("NEW peaks at 4.5 MiB, as OLD does."), "The newer peaks at 4.5 MiB, as the older does.");
});

test("options are left out, names stay", () => {
  assert.equal(pageWords("Nothing grew: try another metric (--by), window or process."), "Nothing grew: try another metric, window or process.");
  assert.equal(pageWords("Besides: blocks (+12 %, --by count)"), "Besides: blocks (+12 %)");
  assert.equal(pageWords("NEW_TABLE held 3 B; OLD_TABLE shrank."), "NEW_TABLE held 3 B; OLD_TABLE shrank.");
});
