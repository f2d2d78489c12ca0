// SPDX-License-Identifier: MIT
// silt.diff/1: what changed from one recording or window to another, as `silt diff --json` prints it.
import { array, boolean, literal, nullable, number, object, string, unknown, type Checked } from "./check";
import { figures, optional, said, stack, window } from "./common";

const side = object({ file: string, window, exact: boolean, doubt: nullable(string) });

const changed = {
  status: literal("new", "gone", "grown", "shrunk", "same"), change: number, change_pct: nullable(number), of_note: boolean, old: figures, new: figures,
};
const changedFunction = object({ ...changed, function: string, file: string, line: number, module: string, guess: optional(boolean), offset: optional(number), label: optional(string) });
export type ChangedFunction = Checked<typeof changedFunction>;
const changedSite = object({ ...changed, stack: optional(stack) });
export type ChangedSite = Checked<typeof changedSite>;

export const diff = object({
  schema: literal("silt.diff/1"), text: said, found: boolean, metric: string, per_second: boolean, filter: string,
  change: nullable(number), change_pct: nullable(number), old: side, new: side, totals: unknown,
  functions: array(changedFunction), functions_changed: number, sites: array(changedSite), sites_changed: number,
});
export type Diff = Checked<typeof diff>;
