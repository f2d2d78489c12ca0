// SPDX-License-Identifier: MIT
// Figures of samples with their standard errors, and names of places: short texts that several views share.
import { amount, type Unit } from "./metric";
import { count, duration, hasTimesNow } from "./units";

/** "±3 %" behind an estimate; nothing behind what is exact. docs/words.md, "Figures". */
export function spread(value: number, error: number | null | undefined): string {
  if (error === null || error === undefined || !(error > 0) || value === 0) return "";
  const percent = (100 * error) / Math.abs(value);
  return percent < 1 ? " ±1 %" : ` ±${count(Math.min(percent, 999))} %`;
}

/** "61.0 MiB ±3 %" */
export function estimate(value: number, unit: Unit, error: number | null | undefined): string {
  return amount(value, unit) + spread(value, error);
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** "session.cc:88"; "" if nothing is known. */
export function place(file: string, line: number): string {
  return file === "" ? "" : line > 0 ? `${baseName(file)}:${line}` : baseName(file);
}

/** A name in two: what may be cut, and behind the last `::` outside of brackets what stays. */
export function splitName(name: string): readonly [head: string, tail: string] {
  let at = 0, depth = 0;
  for (let i = 0; i < name.length; i++) {
    const letter = name[i];
    if ("<([{".includes(letter)) depth++;
    else if (">)]}".includes(letter) && depth > 0 && !(letter === ">" && name[i - 1] === "-")) depth--;
    else if (letter === ":" && name[i + 1] === ":" && depth === 0) at = i + 2;
  }
  return [name.slice(0, at), name.slice(at)];
}

/** A function without its parameters: `a::b<c>::d(int) const` is `a::b<c>::d`. Whole names are for hovering. */
export function shortName(name: string): string {
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const letter = name[i];
    if (letter === "(" && depth === 0) {
      // "operator()" and "(anonymous namespace)" are names, not parameters.
      if (name.startsWith("()", i) && name.slice(0, i).endsWith("operator")) {
        i++;
        continue;
      }
      if (name.startsWith("(anonymous", i)) {
        i = name.indexOf(")", i);
        if (i < 0) return name;
        continue;
      }
      return i > 0 ? name.slice(0, i) : name;
    }
    if ("<([{".includes(letter) && !/operator<?$/.test(name.slice(0, i))) depth++;
    else if (">)]}".includes(letter) && depth > 0 && !(letter === ">" && name[i - 1] === "-")) depth--;
  }
  return name;
}

/** Times of a recording: its begin is "0 s", or, where moments are numbered, before the first. */
export function moment(seconds: number): string {
  return seconds === 0 && !hasTimesNow() ? "start" : seconds === 0 ? "0 s" : duration(seconds);
}
