// SPDX-License-Identifier: MIT
// What a table shows of 100,000 rows: which pass the filter, in which order, and which of them are in sight.
// Rows are numbers, indices into columns somewhere else; nothing here copies a row.

/** Figures or texts of one column, by row. */
export type Values = readonly number[] | readonly string[] | Float64Array;

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

/** `bytes` largest first, `-bytes` smallest first: as the address has it. Texts have A first, and Z first with `-`. */
export function parseSort(text: string | undefined, usual: string): Sort {
  const column = (text ?? usual) || usual;
  return column.startsWith("-") ? { column: column.slice(1), descending: false } : { column, descending: true };
}

export function formatSort(sort: Sort): string {
  return sort.descending ? sort.column : `-${sort.column}`;
}

/** A click on a heading: the other way round if it is sorted by it already. */
export function nextSort(sort: Sort, column: string): Sort {
  return { column, descending: sort.column === column ? !sort.descending : true };
}

function isTexts(values: Values): values is readonly string[] {
  return values.length > 0 && typeof values[0] === "string";
}

/** Equal texts get equal numbers, and later ones larger: comparing numbers is ten times as fast, and names repeat. */
export function ranks(texts: readonly string[]): Float64Array {
  const lower = texts.map((text) => text.toLowerCase());
  const different = [...new Set(lower)].sort((a, b) => (a < b ? -1 : 1));
  const rank = new Map(different.map((text, i) => [text, i]));
  return Float64Array.from(lower, (text) => rank.get(text) ?? 0);
}

/** All rows in order. What has no figure (NaN) comes last, whichever way; equal rows stay as they came. */
export function sortRows(values: Values, descending: boolean): Uint32Array {
  const texts = isTexts(values);
  const by = texts ? ranks(values) : (values as readonly number[] | Float64Array);
  const up = texts ? descending : !descending; // "largest first" of a text is A first
  const order = new Uint32Array(values.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  return order.sort((a, b) => {
    const x = by[a], y = by[b];
    if (x === y) return a - b;
    if (Number.isNaN(x)) return Number.isNaN(y) ? a - b : 1;
    if (Number.isNaN(y)) return -1;
    return up ? x - y : y - x;
  });
}

/** The words of what was typed; all must be somewhere in a row. */
export function filterWords(typed: string): readonly string[] {
  return typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
}

/** Those of the rows in `order` whose text has every word. `text` is in lower case. */
export function filterRows(order: Uint32Array, words: readonly string[], text: (row: number) => string): Uint32Array {
  if (words.length === 0) return order;
  return order.filter((row) => {
    const hay = text(row);
    return words.every((word) => hay.includes(word));
  });
}

export interface Range {
  readonly first: number;
  /** One behind the last. */
  readonly end: number;
}

/** Rows to be drawn: those in sight and `beyond` more at either side, so that a turn of the wheel finds them there. */
export function visibleRange(scrollPx: number, heightPx: number, rowPx: number, n: number, beyond: number): Range {
  const top = Math.max(0, Math.floor(scrollPx / rowPx));
  const shown = Math.ceil(heightPx / rowPx) + 1;
  const first = Math.min(Math.max(0, top - beyond), n);
  return { first, end: Math.min(n, Math.max(top + shown + beyond, first)) };
}

/** Where to scroll so that row `at` is wholly in sight: as little as possible. */
export function scrollFor(at: number, scrollPx: number, heightPx: number, rowPx: number): number {
  const top = at * rowPx;
  if (top < scrollPx) return top;
  if (top + rowPx > scrollPx + heightPx) return top + rowPx - heightPx;
  return scrollPx;
}

/** The row a key leads to; undefined: the key is not about rows. `at` -1: none is chosen yet. */
export function moveTo(key: string, at: number, n: number, pageRows: number): number | undefined {
  const page = Math.max(1, pageRows - 1);
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? n - 1 : at - 1, Home: 0, End: n - 1, PageDown: Math.max(at, 0) + page, PageUp: at - page }[key];
  return to === undefined || n === 0 ? undefined : Math.min(n - 1, Math.max(0, to));
}

/** Tab-separated, one line for each row. A tab or a new line inside a cell would make two of it: it becomes a blank. */
export function toTsv(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => cells.map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t") + "\n").join("");
}

export interface ColumnPlace {
  readonly leftPx: number;
  readonly widthPx: number;
}

export const COLUMN_GAP_PX = 16;

/** Where columns stand in so much room: each has its least width, those that grow share what is left. With too little room they reach beyond it. */
export function placeColumns(columns: readonly { readonly minPx: number; readonly grow?: number }[], roomPx: number): { readonly places: readonly ColumnPlace[]; readonly wholePx: number } {
  const leastPx = columns.reduce((sum, column) => sum + column.minPx + COLUMN_GAP_PX, 0);
  const grows = columns.reduce((sum, column) => sum + (column.grow ?? 0), 0);
  const spare = Math.max(0, roomPx - leastPx);
  let leftPx = COLUMN_GAP_PX / 2;
  const places = columns.map((column) => {
    const widthPx = column.minPx + (grows > 0 ? Math.floor((spare * (column.grow ?? 0)) / grows) : 0);
    const place = { leftPx, widthPx };
    leftPx += widthPx + COLUMN_GAP_PX;
    return place;
  });
  return { places, wholePx: Math.max(leastPx, roomPx) };
}
