// SPDX-License-Identifier: MIT
// What is chosen, and the address that says it: `#flame?process=all&from=12.4s&by=peak&function=^Cache::`.
// The only place that reads and writes the fragment. docs/page.md, "State".

export const VIEWS = ["overview", "flame", "tree", "sites", "source", "blocks", "threads", "compare", "holders", "memory", "tasks", "query"] as const;
export type ViewName = (typeof VIEWS)[number];

export type Pair = readonly [key: string, value: string];
export type Keys = readonly Pair[];

export interface State {
  readonly view: ViewName;
  /** In the order in which they were chosen. Keys of filters may be there several times. */
  readonly keys: Keys;
}

/** Conditions on blocks: each may be given several times, and all must hold. */
export const FILTERS = [
  "function", "not-function", "module", "not-module", "file", "not-file", "asked-by", "not-asked-by", "thread", "size", "lifetime",
  "older-than", "allocated", "alive-at", "freed-before", "site",
] as const;
export type FilterKey = (typeof FILTERS)[number];

/** What every question of every view carries, beside the filters. */
const SCOPE = ["process", "from", "to", "at", "by"] as const;

/** The page's own: no question carries them. `group-by` is asked by the views that group. */
export const OWN = [
  "search", "pick", "zoom", "sort", "see", "stack", "old-from", "old-to", "old-process", "against", "reverse", "group-by", "what", "what-held", "shape",
  "callers", "callees", "layout", "colour", "full", "fold", "boxes", "columns", "sql", "recipe",
] as const;

const filters: ReadonlySet<string> = new Set(FILTERS);
const scope: ReadonlySet<string> = new Set(SCOPE);
const own: ReadonlySet<string> = new Set(OWN);
const views: ReadonlySet<string> = new Set(VIEWS);

/** A parameter of a statement: `p-since` is the value of `:since`. */
export function isParameter(key: string): boolean {
  return /^p-\w+$/.test(key);
}

export const START: State = { view: "overview", keys: [] };

export function isFilter(key: string): key is FilterKey {
  return filters.has(key);
}

/** The value of a key; the last, if there are several. */
export function get(state: State, key: string): string | undefined {
  for (let i = state.keys.length - 1; i >= 0; i--) if (state.keys[i][0] === key) return state.keys[i][1];
  return undefined;
}

export function all(state: State, key: string): readonly string[] {
  return state.keys.filter(([k]) => k === key).map(([, value]) => value);
}

/** The keys of a question: scope and filters, and what is added; a key that is added takes the place of the state's, and null leaves it out. */
export function question(state: State, added: Readonly<Record<string, string | number | boolean | null | undefined>> = {}): Keys {
  const keys: Pair[] = state.keys.filter(([key]) => (scope.has(key) || filters.has(key)) && added[key] === undefined);
  for (const [key, value] of Object.entries(added))
    if (value !== null && value !== undefined && value !== false) keys.push([key, value === true ? "1" : String(value)]);
  return keys;
}

/** A change of the state. */
export interface Change {
  readonly view?: ViewName;
  /** Takes the place of all values of that key; null: it goes. */
  readonly set?: Readonly<Record<string, string | null>>;
  /** Conditions beside those that are there. */
  readonly add?: Keys;
  readonly remove?: Keys;
  /** Filters and window go first. */
  readonly clear?: boolean;
}

/** Belong to what is shown: another window or filter makes them meaningless. */
const PASSING = ["zoom"] as const;

export function change(state: State, by: Change): State {
  const set = by.set ?? {};
  const gone = new Set((by.remove ?? []).map(([key, value]) => `${key}=${value}`));
  let keys = state.keys.filter(([key, value]) => !(key in set) && !gone.has(`${key}=${value}`));
  if (by.clear) keys = keys.filter(([key]) => !filters.has(key) && key !== "from" && key !== "to" && key !== "at");
  for (const [key, value] of Object.entries(set)) if (value !== null && value !== "") keys.push([key, value]);
  for (const [key, value] of by.add ?? []) if (!keys.some(([k, v]) => k === key && v === value)) keys.push([key, value]);
  if (by.clear || (by.add && by.add.length > 0) || gone.size > 0)
    keys = keys.filter(([key]) => key in set || !(PASSING as readonly string[]).includes(key));
  return { view: by.view ?? state.view, keys };
}

// ---- address -----------------------------------------------------------------------------------

/** Percent-encoded, but for what a fragment may hold and people like to read. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/%(5E|3A|2C|2F|40|24|7C|3B)/g, (code) => decodeURIComponent(code));
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

export function toFragment(state: State): string {
  const keys = state.keys.map(([key, value]) => `${encode(key)}=${encode(value)}`).join("&");
  return `#${state.view}${keys ? `?${keys}` : ""}`;
}

/** Anybody may write an address: what means nothing is left out. */
export function fromFragment(fragment: string): State {
  const text = fragment.startsWith("#") ? fragment.slice(1) : fragment;
  const cut = text.indexOf("?");
  const view = cut < 0 ? text : text.slice(0, cut);
  return { view: views.has(view) ? (view as ViewName) : "overview", keys: cut < 0 ? [] : parseKeys(text.slice(cut + 1)) };
}

/** "from=5s&tree": as a URL's query has it. Keys that neither the page nor a question knows are left out. */
export function parseKeys(query: string): Keys {
  const keys: Pair[] = [];
  for (const part of query.split("&")) {
    const equals = part.indexOf("=");
    const key = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? "1" : decode(part.slice(equals + 1));
    if (key !== undefined && value !== undefined && value !== "" && (scope.has(key) || filters.has(key) || own.has(key) || isParameter(key))) keys.push([key, value]);
  }
  return keys.filter(([key], i) => filters.has(key) || !keys.some(([k], j) => j > i && k === key));
}

/** As a question's URL has them. */
export function toQuery(keys: Keys): string {
  return keys.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join("&");
}

export function same(a: State, b: State): boolean {
  return a.view === b.view && a.keys.length === b.keys.length && a.keys.every(([k, v], i) => k === b.keys[i][0] && v === b.keys[i][1]);
}
