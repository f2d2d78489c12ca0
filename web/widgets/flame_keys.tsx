// SPDX-License-Identifier: MIT
// What the colours of a flame graph mean.
import { changeKeys } from "../model/flame_colour";
import type { FlameColumns } from "../model/flame_tree";
import { percent } from "../model/units";
import { visible } from "../model/visible";

export function FlameKeys({ of }: { of: FlameColumns }) {
  const keys: readonly (readonly [number, string])[] = of.is_change
    ? changeKeys(of.was !== null)
    : of.colours.map((colour) => [colour.hue, `${visible(colour.name)}${colour.share > 0 ? ` ${percent(100 * colour.share)}` : ""}`] as const);
  return (
    <ul class="flame-keys" aria-label="What colours mean">
      {keys.map(([hue, text]) => (
        <li key={hue + text}>
          <span class="flame-key" style={{ background: `var(--flame-${hue})` }} aria-hidden="true" />
          {text}
        </li>
      ))}
    </ul>
  );
}
