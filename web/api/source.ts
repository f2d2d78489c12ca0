// SPDX-License-Identifier: MIT
// silt.source/1: a function or file with figures for each line, as `silt source --json` prints it.
import { array, boolean, literal, nullable, number, object, string, strings, type Check, type Checked } from "./check";
import { figures, frame, optional, window, type Figures, type Frame } from "./common";

const call: Check<Frame & { readonly total: Figures }> = (value, path) => ({ ...frame(value, path), total: object({ total: figures })(value, path).total });

const line = object({ line: number, text: nullable(string), function: nullable(string), self: figures, total: figures, calls: array(call) });

const file = object({
  file: string, path: nullable(string), state: string, changed: nullable(boolean), why: nullable(string), tried: strings,
  functions: array(object({ first_line: number, last_line: number })), lines: array(line),
  parts: array(object({ first_line: number, lines: array(nullable(string)) })),
});
export type SourceFile = Checked<typeof file>;

export const source = object({
  schema: literal("silt.source/1"), window, filter: string, metric: string, exact: boolean, totals: figures, kind: string,
  function: optional(nullable(string)), line: optional(number), self: nullable(figures), total: nullable(figures), files: array(file),
});
export type Source = Checked<typeof source>;
