// SPDX-License-Identifier: MIT
// A source file as rows: its text, the figures beside it, and the functions a line calls below it.

export interface LineFigures {
  readonly value: number;
  readonly allocations: number;
  readonly end_live_bytes: number;
}

export interface SourceCall<F extends LineFigures = LineFigures> {
  readonly function: string;
  readonly file: string;
  readonly line: number;
  readonly total: F;
}

export interface SourceLine<F extends LineFigures = LineFigures> {
  readonly line: number;
  readonly text: string | null;
  readonly self: F;
  readonly total: F;
  readonly calls: readonly SourceCall<F>[];
}

export interface SourceFile<F extends LineFigures = LineFigures> {
  readonly lines: readonly SourceLine<F>[];
  readonly parts: readonly { readonly first_line: number; readonly lines: readonly (string | null)[] }[];
}

export type SourceRow<F extends LineFigures = LineFigures> =
  | { readonly kind: "line"; readonly line: number; readonly text: string | null; readonly figures: SourceLine<F> | null; readonly heat: number; readonly isMost: boolean }
  | { readonly kind: "gap"; readonly from: number; readonly to: number };

/** 0 to 4: how much of the largest line it has. */
export function heatOf(value: number, most: number): number {
  const share = most > 0 ? Math.abs(value) / most : 0;
  return share <= 0 ? 0 : share < 0.05 ? 1 : share < 0.25 ? 2 : share < 0.75 ? 3 : 4;
}

/** Lines in order; between parts that are apart, a gap. Without text only the lines with figures are there. */
export function sourceRows<F extends LineFigures>(file: SourceFile<F>): readonly SourceRow<F>[] {
  const at = new Map(file.lines.map((line) => [line.line, line]));
  const most = file.lines.reduce((a, line) => Math.max(a, Math.abs(line.total.value)), 0);
  const rows: SourceRow<F>[] = [];
  let last = 0;
  let hasMost = false;
  const add = (line: number, text: string | null): void => {
    const figures = at.get(line) ?? null;
    const isMost = !hasMost && most > 0 && figures !== null && Math.abs(figures.total.value) === most;
    if (last > 0 && line > last + 1) rows.push({ kind: "gap", from: last + 1, to: line - 1 });
    rows.push({ kind: "line", line, text, figures, heat: figures ? heatOf(figures.total.value, most) : 0, isMost });
    hasMost ||= isMost;
    last = line;
    at.delete(line);
  };
  const texts = new Map<number, string | null>();
  for (const part of file.parts) part.lines.forEach((text, i) => texts.set(part.first_line + i, text));
  for (const line of file.lines) if (!texts.has(line.line)) texts.set(line.line, line.text);
  for (const line of [...texts.keys()].sort((a, b) => a - b)) add(line, texts.get(line) ?? null);
  return rows;
}

/** Tabs as blanks up to the next of 8 columns, as the compiler's writers saw it. */
export function expandTabs(text: string): string {
  let out = "";
  for (const letter of text) out += letter === "\t" ? " ".repeat(8 - (out.length % 8)) : letter;
  return out;
}

/** How many blanks all lines with text begin with: they can go. */
export function commonIndent(texts: readonly string[]): number {
  const indents = texts.filter((text) => text.trim() !== "").map((text) => text.length - text.trimStart().length);
  return indents.length > 0 ? Math.min(...indents) : 0;
}
