// SPDX-License-Identifier: MIT
// silt.flame/1: the boxes of a flame graph, by column. The root is first, parents come before children.
import { said } from "./common";
import { array, boolean, literal, nullable, number, numbers, numbersOrNull, object, sameLength, string, strings, type Check, type Checked } from "./check";

export const KINDS = ["root", "frame", "rest", "process", "line"] as const;

const fields = object({
  schema: literal("silt.flame/1"), metric: string, reversed: boolean, whole: number, unit: string, sentence: said, doubts: strings,
  is_change: boolean, names: strings, parent: numbers, name: numbers, function: nullable(numbers), place: numbers, module: numbers, object: numbers, marks: numbers, hue: numbers, shade: numbers,
  width: numbers, value: numbers, beside: nullable(numbers), was: nullable(numbers), kind: numbers, rest: numbers, site: numbers,
  colours: array(object({ hue: number, name: string, share: number })),
  age_s: nullable(numbersOrNull), age_unknown: nullable(string),
});
/** What stands beside a value is NaN where nobody knows it. */
export type Flame = Omit<Checked<typeof fields>, "beside"> & { readonly beside: readonly number[] };

export const flame: Check<Flame> = (value, path) => {
  const told = fields(value, path);
  const answer: Flame = { ...told, beside: told.beside ?? told.value.map(() => Number.NaN) };
  sameLength(answer, path, ["parent", "name", "function", "place", "module", "object", "marks", "hue", "shade", "width", "value", "beside", "was", "kind", "rest", "site", "age_s"]);
  return answer;
};
