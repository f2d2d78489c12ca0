// SPDX-License-Identifier: MIT
// silt.source/1: a function or file with figures for each line, as `silt source --json` prints it.
import { array, boolean, literal, nullable, number, object, string, unknown, type Checked } from "./check";
import { figures, optional, window } from "./common";

export const source = object({
  schema: literal("silt.source/1"), window, filter: string, metric: string, exact: boolean, totals: figures, kind: string,
  function: optional(nullable(string)), self: nullable(figures), total: nullable(figures),
  files: array(object({
    file: string, path: nullable(string), state: string, changed: optional(boolean),
    functions: array(object({ first_line: number, last_line: number })),
    lines: array(object({ line: number, text: optional(nullable(string)), function: optional(nullable(string)), self: figures, total: figures, calls: array(unknown) })),
  })),
});
export type Source = Checked<typeof source>;
