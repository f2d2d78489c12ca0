// SPDX-License-Identifier: MIT
// What the colours of a flame graph mean.
import { ageScale, ageText, type AgeScale } from "../model/flame_age";
import { changeKeys, HUE } from "../model/flame_colour";
import { KIND, type FlameColumns } from "../model/flame_tree";
import { percent } from "../model/units";
import { visible } from "../model/visible";

/** From young to old, with the two ends in words. */
function AgeKeys({ scale, hasUnknown }: { scale: AgeScale; hasUnknown: boolean }) {
  if (ageText(scale.young) === ageText(scale.old)) return <p class="flame-keys">Nearly all that is alive is {ageText(scale.old)} (mean age of boxes, by bytes).</p>;
  return (
    <p class="flame-keys" aria-label="What colours mean">
      <span>{ageText(scale.young)} or less</span>
      <span class="flame-ages" aria-hidden="true">
        {Array.from({ length: HUE.ages }, (_, i) => <span class="flame-key" key={i} style={{ background: `var(--flame-${HUE.age + i})` }} />)}
      </span>
      <span>{ageText(scale.old)} or more</span>
      <span>(mean age of what is alive, by bytes)</span>
      {hasUnknown && <span><span class="flame-key" style={{ background: `var(--flame-${HUE.noPath})` }} aria-hidden="true" /> age unknown</span>}
    </p>
  );
}

export function FlameKeys({ of }: { of: FlameColumns }) {
  const scale = of.is_by_age === true ? ageScale(of) : null;
  if (scale !== null)
    return <AgeKeys scale={scale} hasUnknown={of.hue.some((hue, i) => hue === HUE.noPath && of.kind[i] !== KIND.root)} />;
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
