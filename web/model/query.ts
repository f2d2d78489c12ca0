// SPDX-License-Identifier: MIT
// Values of a statement's parameters: what the address says, else what its recipe has without, else the window that is chosen.
import type { Recipe } from "../api/rows";
import { get, type Change, type State } from "./state";
import { windowOf } from "./window";

type Moments = Parameters<typeof windowOf>[1];

const POWERS: Readonly<Record<string, number>> = { "": 0, K: 1, M: 2, G: 3, T: 4 };

/** "1M" in bytes, as options take it; null: it is no size. */
export function sizeOf(text: string): number | null {
  const parts = /^(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?$/.exec(text.trim());
  if (!parts) return null;
  return Math.round(Number(parts[1]) * 1024 ** POWERS[parts[2]!]!);
}

/** As the statement gets it; "" is NULL. `:from` and `:to` are the window's, if nobody says otherwise. */
export function valueOf(state: State, recipe: Recipe | null, name: string, trace: Moments): string {
  const about = recipe?.parameters.find((one) => one.name === name);
  const given = get(state, `p-${name}`) ?? about?.without ?? windowValue(state, name, trace);
  const bytes = about?.is_size ? sizeOf(given) : null;
  return bytes === null ? given : String(bytes);
}

function windowValue(state: State, name: string, trace: Moments): string {
  if (name !== "from" && name !== "to") return "";
  const span = windowOf(state, trace) ?? { from_s: 0, to_s: trace.duration_s };
  return String(Math.round((name === "from" ? span.from_s : span.to_s) * 1e9));
}

/** What the fields say, by key; null: as the recipe has it, which is not in the address. */
export function withParameters(names: readonly string[], value: (name: string) => string, recipe: Recipe | null): NonNullable<Change["set"]> {
  const usual = (name: string): string => recipe?.parameters.find((one) => one.name === name)?.without ?? "";
  return Object.fromEntries(names.map((name) => [`p-${name}`, value(name).trim() === "" || value(name).trim() === usual(name) ? null : value(name).trim()]));
}
