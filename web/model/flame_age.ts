// SPDX-License-Identifier: MIT
// Boxes coloured by how old what is alive in them is: one hue in steps, by the logarithm of the mean age.
import { HUE } from "./flame_colour";
import { KIND, type FlameColumns } from "./flame_tree";
import { duration } from "./units";

export interface AgeScale {
  readonly young: number; // seconds
  readonly old: number;
}

/** Younger ones are as young as this: the logarithm of nothing has no place on a scale. */
const LEAST_S = 1e-6;

/** From the youngest to the oldest box; null: no age is known. */
export function ageScale(c: FlameColumns): AgeScale | null {
  let young = Infinity;
  let old = -Infinity;
  for (const age of c.age_s ?? []) {
    if (age === null) continue;
    young = Math.min(young, age);
    old = Math.max(old, age);
  }
  return old >= 0 ? { young, old } : null;
}

/** All of one age are in the middle: neither young nor old. */
export function ageHue(age: number, scale: AgeScale): number {
  const place = (seconds: number): number => Math.log(Math.max(seconds, LEAST_S));
  const span = place(scale.old) - place(scale.young);
  const share = span > 1e-9 ? (place(age) - place(scale.young)) / span : 0.5;
  return HUE.age + Math.min(HUE.ages - 1, Math.max(0, Math.floor(share * HUE.ages)));
}

/** The same boxes in the colours of their ages; grey where none is known. */
export function byAge(c: FlameColumns): FlameColumns {
  const scale = ageScale(c);
  if (scale === null)
    return c;
  return {
    ...c,
    is_by_age: true,
    hue: c.hue.map((hue, i) => {
      const age = c.age_s?.[i] ?? null;
      return c.kind[i] === KIND.root ? hue : age === null ? HUE.noPath : ageHue(age, scale);
    }),
    shade: c.shade.map(() => 0),
  };
}

/** "12 ms old" */
export function ageText(seconds: number): string {
  return `${duration(seconds)} old`;
}
