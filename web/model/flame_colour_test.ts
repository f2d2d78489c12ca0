// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { blend, changeHue, contrast, HUE, isStrong, parseColour, SHADE_OPACITY } from "./flame_colour";

test("names can be read on every colour, light and dark", () => {
  const sheet = fs.readFileSync(path.join(process.env["SILT_WEB"] ?? ".", "style", "flame.css"), "utf8");
  const parts = sheet.split("@media (prefers-color-scheme: dark)");
  for (const part of [parts[0]!, parts[1]!]) {
    const colour = (name: string) => parseColour(new RegExp(`--flame-${name}: (#[0-9a-f]{6});`).exec(part)?.[1] ?? assert.fail(`no colour ${name}`));
    const paper = colour("paper");
    for (let hue = 0; hue < HUE.n; hue++) {
      if (hue === 39)
        continue; // no such hue
      const isDark = isStrong(hue);
      for (const opacity of hue >= HUE.gone ? [1] : SHADE_OPACITY) {
        const seen = parseColour(blend(colour(String(hue)), paper, opacity));
        const ratio = contrast(colour(isDark ? "ink-gone" : "ink"), seen);
        assert.ok(ratio >= 4.5, `hue ${hue} at ${opacity}: ${ratio.toFixed(2)}`);
      }
    }
    assert.ok(contrast(colour("ink-found"), colour("found")) >= 4.5);
  }
});

test("changes in steps, as the picture has them", () => {
  assert.equal(changeHue(100, 100, 0), HUE.same);
  assert.equal(changeHue(105, 100, 0), HUE.same + 1);
  assert.equal(changeHue(100, 700, 0), HUE.same - 5);
  assert.equal(changeHue(5, 0, 0), HUE.fresh);
  assert.equal(changeHue(0, 5, 0), HUE.gone);
  assert.equal(changeHue(-50, null, 100), HUE.same - 3);
  assert.equal(changeHue(0, null, 0), HUE.same);
});
