// SPDX-License-Identifier: MIT
// silt.diff/1: what changed from one recording or window to another, as `silt diff --json` prints it.
import { array, boolean, literal, nullable, number, object, string, unknown, type Checked } from "./check";
import { window } from "./common";

const side = object({ file: string, window, exact: boolean, doubt: nullable(string) });

export const diff = object({
  schema: literal("silt.diff/1"), text: string, found: boolean, metric: string, per_second: boolean, filter: string,
  change: nullable(number), change_pct: nullable(number), old: side, new: side, totals: unknown,
  functions: array(unknown), functions_changed: number, sites: array(unknown), sites_changed: number,
});
export type Diff = Checked<typeof diff>;
