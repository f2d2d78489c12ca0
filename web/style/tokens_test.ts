// SPDX-License-Identifier: MIT
// Whatever is written is read by tired eyes: 4.5 to 1 for text on every ground it stands on, 3 to 1 for lines and marks, light and dark.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { contrast, parseColour } from "../model/flame_colour";

const sheet = fs.readFileSync(path.join(process.env["SILT_WEB"] ?? ".", "style/tokens.css"), "utf8");
const cut = sheet.indexOf("@media (prefers-color-scheme: dark)");

function tokensOf(css: string): ReadonlyMap<string, string> {
  return new Map([...css.matchAll(/--([a-z0-9-]+):\s*(#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]));
}

const light = tokensOf(sheet.slice(0, cut));
const schemes = [["light", light], ["dark", new Map([...light, ...tokensOf(sheet.slice(cut))])]] as const;

/** Text, and the grounds it is written on. */
const TEXT: readonly (readonly [text: string, grounds: readonly string[]])[] = [
  ["text", ["ground", "raised", "hover", "accent-soft", "alarm-soft", "notice-soft", "bar"]],
  ["quiet", ["ground", "raised", "hover", "accent-soft", "alarm-soft", "notice-soft"]],
  ["accent", ["ground", "raised", "hover", "accent-soft"]],
  ["on-accent", ["accent"]],
  ["alarm", ["ground", "raised", "alarm-soft"]],
  ["notice", ["ground", "raised", "notice-soft"]],
  ["resident", ["ground", "raised"]],
  ["grew", ["ground", "raised"]],
  ["shrank", ["ground", "raised"]],
];

test("text is read on every ground it stands on", () => {
  assert.ok(cut > 0 && light.size > 20);
  for (const [scheme, tokens] of schemes) {
    const colour = (name: string): readonly [number, number, number] => parseColour(tokens.get(name) ?? assert.fail(`no token ${name}`));
    for (const [text, grounds] of TEXT)
      for (const ground of grounds) {
        const ratio = contrast(colour(text), colour(ground));
        assert.ok(ratio >= 4.5, `${scheme}: ${text} on ${ground}: ${ratio.toFixed(2)}`);
      }
  }
});
