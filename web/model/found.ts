// SPDX-License-Identifier: MIT
// What a search found, on call paths as they are and not only as they are shown.
import type { Found } from "../api/found";
import { metricText } from "./metric";
import { percent, plural, share } from "./units";

/** As the page searches: a capital in the pattern makes case matter. */
export function patternText(typed: string): string {
  return /[A-Z]/.test(typed) ? typed : `(?i)${typed}`;
}

/** "found 51 % of all: 15.7 MiB" */
export function foundWords(of: Found): string {
  if (of.call_paths === 0) return "no function matches";
  if (of.value === 0) return `found ${metricText(0, of.metric)} in ${plural(of.call_paths, "call path")}`;
  return of.value > 0 && of.whole > 0 ? `found ${percent((100 * of.value) / of.whole)} of all: ${metricText(of.value, of.metric)}` : `found ${metricText(of.value, of.metric)}`;
}

/** "93 % of it in folded machinery"; null: all of it is shown. */
export function foldedWords(of: Found): string | null {
  if (of.shown_call_paths === of.call_paths) return null;
  if (of.shown_call_paths === 0) return "all of it in folded machinery";
  return of.value > 0 && of.shown_value >= 0 ? `${share(of.value - of.shown_value, of.value)} of it in folded machinery` : "some of it in folded machinery";
}
