// SPDX-License-Identifier: MIT
// What may follow at a place in a statement: columns behind `alias.`, tables behind FROM, else columns of the tables it names, functions and keywords.
import type { SqlSchema, SqlTable } from "../api/rows";
import { KEYWORDS, pieces, PLAIN_FUNCTIONS, type Piece } from "./sql_text";

export interface Completion {
  /** What takes the place of the word. */
  readonly text: string;
  readonly kind: "table" | "column" | "function" | "keyword";
  readonly help: string;
}

export interface Completions {
  /** Where the word begins that is completed; it ends at the place. */
  readonly begin: number;
  readonly items: readonly Completion[];
}

const MOST = 60;
const NONE: Completions = { begin: 0, items: [] };

/** A table that a statement reads, under the name it has there. */
interface Source {
  readonly name: string;
  readonly table: SqlTable | undefined;
}

type Word = Piece & { readonly word: string };

function plain(word: string): string {
  return word.replace(/^["`[]|["`\]]$/g, "");
}

/** What stands behind FROM, JOIN and their commas; subqueries have no columns here. */
function sourcesOf(list: readonly Word[], schema: SqlSchema): readonly Source[] {
  const found: Source[] = [];
  const tableOf = (name: string): SqlTable | undefined => schema.tables.find((table) => table.name === name.toLowerCase());
  for (let i = 0; i < list.length; i++) {
    const isBegin = list[i]!.kind === "keyword" && /^(FROM|JOIN)$/i.test(list[i]!.word);
    const isNext = list[i]!.word === "," && found.length > 0;
    if (!isBegin && !isNext) continue;
    let at = i + 1;
    if (list[at]?.kind === "word" && list[at + 1]?.word === ".") at += 2;
    const name = list[at];
    if (name?.kind !== "word" || (isNext && !tableOf(plain(name.word)))) continue;
    at++;
    if (list[at]?.word === "(") at = behindBracket(list, at);
    if (list[at]?.kind === "keyword" && /^AS$/i.test(list[at]!.word)) at++;
    const table = tableOf(plain(name.word));
    if (list[at]?.kind === "word") found.push({ name: plain(list[at]!.word), table });
    found.push({ name: plain(name.word), table });
  }
  return found;
}

function behindBracket(list: readonly Word[], at: number): number {
  let depth = 0;
  for (let i = at; i < list.length; i++) {
    if (list[i]!.word === "(") depth++;
    if (list[i]!.word === ")" && --depth === 0) return i + 1;
  }
  return list.length;
}

function columnItems(table: SqlTable): readonly Completion[] {
  return table.columns.filter((column) => !column.is_argument).map((column) => ({ text: column.name, kind: "column", help: column.help }));
}

function tableItems(schema: SqlSchema, isOther: boolean): readonly Completion[] {
  const items = schema.tables.map((table): Completion => {
    const takes = table.columns.filter((column) => column.is_argument).map((column) => column.name);
    return { text: table.name, kind: "table", help: takes.length > 0 ? `(${takes.join(", ")}) ${table.help}` : table.help };
  });
  return isOther || !schema.has_other ? items : [...items, { text: "other.", kind: "table", help: "tables of the older trace" }];
}

function functionItems(schema: SqlSchema): readonly Completion[] {
  const own = schema.functions.map((one): Completion => ({ text: /^[a-z_]\w*\(/i.test(one.usage) ? `${one.name}(` : one.name, kind: "function", help: `${one.usage}: ${one.help}` }));
  return [...own, ...PLAIN_FUNCTIONS.map((name): Completion => ({ text: `${name}(`, kind: "function", help: "" }))];
}

function fitting(items: readonly Completion[], word: string): readonly Completion[] {
  const lower = word.toLowerCase();
  const seen = new Set<string>();
  const fits = items.filter((item) => {
    const isNew = !seen.has(item.text) && item.text.toLowerCase().startsWith(lower);
    seen.add(item.text);
    return isNew;
  });
  // what is there already needs no list
  return fits.length === 1 && fits[0]!.text.toLowerCase() === lower ? [] : fits.slice(0, MOST);
}

/** `place`: letters before the cursor. */
export function complete(text: string, place: number, schema: SqlSchema): Completions {
  const all = pieces(text);
  const at = all.find((piece) => piece.begin < place && piece.end >= place);
  const isInside = at !== undefined && (at.kind === "text" || at.kind === "comment" || at.kind === "parameter" || at.kind === "number");
  if (isInside && !(at.end === place && at.kind === "text" && isClosed(text, at))) return NONE;
  const list: Word[] = all.filter((piece) => piece.kind !== "blank" && piece.kind !== "comment").map((piece) => ({ ...piece, word: text.slice(piece.begin, piece.end) }));
  const isWord = at !== undefined && (at.kind === "word" || at.kind === "keyword");
  const begin = isWord ? at.begin : place;
  const word = text.slice(begin, place);
  const before = list.filter((piece) => piece.end <= begin);
  const last = before[before.length - 1];
  if (last?.word === "." && last.end === begin) {
    const owner = plain(before[before.length - 2]?.word ?? "").toLowerCase();
    if (owner === "other" || owner === "main") return { begin, items: fitting(tableItems(schema, true), word) };
    const table = sourcesOf(list, schema).find((source) => source.name.toLowerCase() === owner)?.table;
    return { begin, items: table ? fitting(columnItems(table), word) : [] };
  }
  if (isTablePlace(before, schema)) return { begin, items: fitting(tableItems(schema, false), word) };
  const columns = sourcesOf(list, schema).flatMap((source) => (source.table ? columnItems(source.table) : []));
  const keywords = KEYWORDS.map((keyword): Completion => ({ text: keyword, kind: "keyword", help: "" }));
  return { begin, items: fitting([...columns, ...functionItems(schema), ...keywords, ...tableItems(schema, false)], word) };
}

function isClosed(text: string, piece: Piece): boolean {
  return piece.end - piece.begin > 1 && text[piece.end - 1] === "'";
}

/** Behind FROM or JOIN, or behind a comma after a table there. */
function isTablePlace(before: readonly Word[], schema: SqlSchema): boolean {
  const last = before[before.length - 1];
  if (last?.kind === "keyword") return /^(FROM|JOIN)$/i.test(last.word);
  if (last?.word !== ",") return false;
  let depth = 0;
  for (let i = before.length - 2; i >= 0; i--) {
    const { word, kind } = before[i]!;
    if (word === ")") depth++;
    else if (word === "(" && depth-- === 0) return false;
    else if (kind === "keyword" && depth === 0 && !/^AS$/i.test(word)) return /^(FROM|JOIN)$/i.test(word) && sourcesOf(before, schema).length > 0;
  }
  return false;
}

/** The text with an item in the place of the word, and where the cursor then stands. */
export function accept(text: string, place: number, completions: Completions, item: Completion): { readonly text: string; readonly place: number } {
  const rest = text.slice(place);
  // a bracket that is there already is not doubled
  const added = item.text.endsWith("(") && rest.startsWith("(") ? item.text.slice(0, -1) : item.text;
  return { text: text.slice(0, completions.begin) + added + rest, place: completions.begin + added.length };
}
