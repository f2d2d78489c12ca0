// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import { residentShare, residentWords } from "./resident";

const MIB = 2 ** 20;
const of = (live: number, peak_rss_bytes: number) => ({ peak: { time_s: 1, bytes: live }, peak_rss_bytes });

test("blocks explain at most so much of resident memory", () => {
  assert.equal(residentShare(of(10.8 * MIB, 240.8 * MIB)), "4 %");
  assert.equal(residentWords(of(10.8 * MIB, 240.8 * MIB)), "Live blocks explain at most 4 % of the 240.8 MiB that were resident: Memory has the other parts");
  assert.equal(residentShare(of(300 * MIB, 240 * MIB)), "100 %");
});

test("nothing is said of what nobody looked at", () => {
  assert.equal(residentWords(of(10 * MIB, 0)), null);
  assert.equal(residentWords({ ...of(10 * MIB, 20 * MIB), has_peak: false }), null);
});
