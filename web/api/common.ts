// SPDX-License-Identifier: MIT
// Parts that several answers have.
import { pageWords } from "../model/page_words";
import { array, boolean, known, nullable, number, object, string, type Check, type Checked } from "./check";

export const frame: Check<Frame> = object({ function: string, file: string, line: number, module: string, inlined: boolean, guess: optional(boolean), offset: optional(number), label: optional(string) });
export interface Frame {
  readonly function: string;
  readonly file: string;
  readonly line: number;
  readonly module: string;
  readonly inlined: boolean;
  /** The name is that of the nearest function before it. */
  readonly guess?: boolean;
  /** Of code without a name: where in its module. */
  readonly offset?: number;
  /** As reports show it, where that is not the whole name. */
  readonly label?: string;
}

/** A sentence of the command line, as the page says it. */
export const said: Check<string> = (value, path) => pageWords(string(value, path));

/** A field that need not be there. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

/** Of a window: what a group or a node has. */
export const figures = object({
  value: number, allocations: known, bytes_allocated: known, frees: known, bytes_freed: known, temporary_allocations: known,
  reallocations: known, peak_live_bytes: number, peak_live_blocks: known, begin_live_bytes: number, begin_live_blocks: known,
  end_live_bytes: number, end_live_blocks: known,
});
export type Figures = Checked<typeof figures>;

export const window = object({ from_s: number, to_s: number });
export type Window = Checked<typeof window>;

export const stack = array(frame);

export const sizes = object({
  exact: boolean, blocks: number, bytes: optional(number),
  buckets: array(object({ min_bytes: number, max_bytes: nullable(number), blocks: number, bytes: number })),
});
export type Sizes = Checked<typeof sizes>;

export const lifetimes = object({
  exact: boolean, blocks: number, buckets: array(object({ from_s: number, to_s: nullable(number), blocks: number })),
});
export type Lifetimes = Checked<typeof lifetimes>;
