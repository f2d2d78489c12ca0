// SPDX-License-Identifier: MIT
// What comes from outside is looked at once, here; behind it types hold. A Check<T> returns the value as T or throws Unfit.

export class Unfit extends Error {
  constructor(readonly path: string, what: string) {
    super(`${path || "the answer"} ${what}`);
  }
}

export type Check<T> = (value: unknown, path: string) => T;
export type Checked<C> = C extends Check<infer T> ? T : never;

/** Fields that no check knows are reported to this, if it is set: tests of the other side look for what nobody described. */
export const unknownFields: { report: ((path: string) => void) | null } = { report: null };

export const number: Check<number> = (value, path) => {
  if (typeof value !== "number") throw new Unfit(path, "is not a number");
  return value;
};

/** null where nobody knows it: NaN, which units.ts calls unknown. */
export const known: Check<number> = (value, path) => (value === null ? Number.NaN : number(value, path));

export const string: Check<string> = (value, path) => {
  if (typeof value !== "string") throw new Unfit(path, "is not a text");
  return value;
};

export const boolean: Check<boolean> = (value, path) => {
  if (typeof value !== "boolean") throw new Unfit(path, "is neither true nor false");
  return value;
};

export const unknown: Check<unknown> = (value) => value;

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, path) => (value === null || value === undefined ? null : check(value, path));
}

export function array<T>(check: Check<T>): Check<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new Unfit(path, "is not a list");
    for (let i = 0; i < value.length; i++) value[i] = check(value[i], `${path}[${i}]`);
    return value as readonly T[];
  };
}

/** As array(number), without a path for each of 100,000. */
export const numbers: Check<readonly number[]> = (value, path) => {
  if (!Array.isArray(value)) throw new Unfit(path, "is not a list");
  for (let i = 0; i < value.length; i++) if (typeof value[i] !== "number") throw new Unfit(`${path}[${i}]`, "is not a number");
  return value as readonly number[];
};

export const numbersOrNull: Check<readonly (number | null)[]> = (value, path) => {
  if (!Array.isArray(value)) throw new Unfit(path, "is not a list");
  for (let i = 0; i < value.length; i++) if (typeof value[i] !== "number" && value[i] !== null) throw new Unfit(`${path}[${i}]`, "is not a number");
  return value as readonly (number | null)[];
};

export const strings: Check<readonly string[]> = array(string);

export function literal<T extends string>(...allowed: readonly T[]): Check<T> {
  return (value, path) => {
    if (!(allowed as readonly unknown[]).includes(value)) throw new Unfit(path, `is not one of ${allowed.join(", ")}`);
    return value as T;
  };
}

type Fields = Readonly<Record<string, Check<unknown>>>;
export type ObjectOf<F extends Fields> = { readonly [K in keyof F]: Checked<F[K]> };

export function object<F extends Fields>(fields: F): Check<ObjectOf<F>> {
  const known = Object.entries(fields);
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unfit(path, "is not an object");
    const from = value as Record<string, unknown>;
    for (const [name, check] of known) from[name] = check(from[name], path ? `${path}.${name}` : name);
    if (unknownFields.report) for (const name of Object.keys(from)) if (!(name in fields)) unknownFields.report(path ? `${path}.${name}` : name);
    return from as ObjectOf<F>;
  };
}

/** Columns of a columnar answer are of one length. */
export function sameLength(answer: object, path: string, names: readonly string[]): void {
  const columns = answer as Readonly<Record<string, unknown>>;
  let expected = -1;
  for (const name of names) {
    const column = columns[name];
    if (!Array.isArray(column)) continue;
    if (expected >= 0 && column.length !== expected) throw new Unfit(path ? `${path}.${name}` : name, `has ${column.length} rows, not ${expected}`);
    expected = column.length;
  }
}
