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

/** So much of the drawn area is beyond each end: one box of a microsecond would make all others one colour. */
const BEYOND = 0.05;

/** From young to old boxes; null: no age is known. */
export function ageScale(c: FlameColumns): AgeScale | null {
  const aged: (readonly [age: number, weight: number])[] = [];
  let whole = 0;
  c.age_s?.forEach((age, i) => {
    if (age === null || c.kind[i] === KIND.root) return;
    const weight = Math.abs(c.value[i]);
    aged.push([age, weight]);
    whole += weight;
  });
  if (aged.length === 0) return null;
  aged.sort((a, b) => a[0] - b[0]);
  let sum = 0, young = aged[0][0], old = aged[aged.length - 1][0], isYoung = false, isOld = false;
  for (const [age, weight] of aged) {
    sum += weight;
    if (!isYoung && sum >= BEYOND * whole) [young, isYoung] = [age, true];
    if (!isOld && sum >= (1 - BEYOND) * whole) [old, isOld] = [age, true];
  }
  return { young, old };
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
