// SPDX-License-Identifier: MIT
// What the detail pane is about: `site:12`, `function:Cache::insert`, or a filter and its value, `module:^/usr/lib/libc.so$`.
import { get, isFilter, type FilterKey, type State } from "./state";

export interface Pick {
  /** The key of a question that selects it. */
  readonly key: FilterKey | "process";
  readonly value: string;
  readonly kind: string;
  readonly name: string;
}

/** A pattern that this text alone matches (pcre2pattern(3)). */
export function exactly(text: string): string {
  return `^${text.replace(/[\\^$.[\]|()?*+{}]/g, "\\$&")}$`;
}

/** The text that a pattern made by exactly() matches; the pattern itself, if it is another one. */
export function plainText(pattern: string): string {
  const text = pattern.slice(1, -1).replace(/\\([\\^$.[\]|()?*+{}])/g, "$1");
  return exactly(text) === pattern ? text : pattern;
}

/** undefined: the text means nothing. */
export function parsePick(text: string | undefined): Pick | undefined {
  const cut = text?.indexOf(":") ?? -1;
  if (text === undefined || cut < 1 || cut === text.length - 1) return undefined;
  const kind = text.slice(0, cut), rest = text.slice(cut + 1);
  if (kind === "site") return /^\d+$/.test(rest) ? { key: "site", value: rest, kind, name: "" } : undefined;
  if (kind === "function" && !rest.startsWith("^")) return { key: "function", value: exactly(rest), kind, name: rest };
  if (kind === "process") return { key: "process", value: rest, kind, name: rest };
  return isFilter(kind) ? { key: kind, value: rest, kind, name: plainText(rest) } : undefined;
}

export function picked(state: State): Pick | undefined {
  return parsePick(get(state, "pick"));
}
