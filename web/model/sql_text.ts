// SPDX-License-Identifier: MIT
// The text of a statement, cut into pieces: enough to colour it, to find its parameters and to complete a word. SQLite decides what it means.

export type PieceKind = "word" | "keyword" | "text" | "number" | "comment" | "parameter" | "mark" | "blank";

export interface Piece {
  readonly kind: PieceKind;
  readonly begin: number;
  /** One behind the last letter. */
  readonly end: number;
}

export const KEYWORDS: readonly string[] = [
  "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "HAVING", "JOIN", "LEFT JOIN", "ON", "USING", "AS", "AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "GLOB", "REGEXP",
  "BETWEEN", "EXISTS", "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "WITH", "RECURSIVE", "UNION", "UNION ALL", "EXCEPT", "INTERSECT", "DESC", "ASC", "OFFSET", "OVER", "PARTITION BY", "VALUES", "CAST", "FILTER", "NULLS LAST",
];
/** Of SQLite itself, those that questions use. */
export const PLAIN_FUNCTIONS: readonly string[] = [
  "abs", "avg", "coalesce", "count", "group_concat", "ifnull", "iif", "instr", "length", "lower", "max", "min", "nullif", "printf", "replace", "round", "substr", "sum", "total", "trim", "upper", "row_number", "rank", "lag", "lead",
];
const words = new Set(KEYWORDS.flatMap((keyword) => keyword.split(" ")));

const PIECES: readonly (readonly [PieceKind, RegExp])[] = [
  ["blank", /\s+/y],
  ["comment", /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y],
  ["text", /'(?:[^']|'')*(?:'|$)/y],
  ["word", /"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)/y],
  ["parameter", /[:@$][A-Za-z_]\w*/y],
  ["number", /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y],
  ["word", /[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*/y],
];

export function pieces(text: string): readonly Piece[] {
  const found: Piece[] = [];
  let at = 0;
  while (at < text.length) {
    let kind: PieceKind = "mark";
    let end = at + 1;
    for (const [name, pattern] of PIECES) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (!match) continue;
      kind = name === "word" && words.has(match[0].toUpperCase()) ? "keyword" : name;
      end = at + match[0].length;
      break;
    }
    found.push({ kind, begin: at, end });
    at = end;
  }
  return found;
}

/** The names of its parameters, without the colon, in their order. */
export function parametersOf(text: string): readonly string[] {
  const named = pieces(text).filter((piece) => piece.kind === "parameter" && text[piece.begin] === ":").map((piece) => text.slice(piece.begin + 1, piece.end));
  return [...new Set(named)];
}
