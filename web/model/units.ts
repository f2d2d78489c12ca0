// SPDX-License-Identifier: MIT
// Numbers for people, as the report prints them: docs/words.md, "Figures"; src/base/units.c.

/** What stands where bytes stand: samples or time of a CPU profile that was imported, or weights that nobody says the unit of. */
export type Weights = "bytes" | "samples" | "time" | "units";

let weights: Weights = "bytes";

/** Of the trace at hand, by the name of its unit (docs/http-api.md). */
export function setWeights(unit: string): void {
  weights = unit === "samples" ? "samples" : unit === "nanoseconds" ? "time" : unit === "unknown" ? "units" : "bytes";
}

/** "samples", "time", "units"; of memory null: its metrics have words of their own. */
export function weightWords(): string | null {
  return weights === "bytes" ? null : weights;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/** "41.2 MiB", "812 B"; from 1000 of a unit on without a tenth. Of other weights than bytes "150 ms", "1,000 units". */
export function bytes(n: number): string {
  if (Number.isNaN(n)) return "unknown";
  if (weights === "time") return time(n);
  if (weights !== "bytes") return plural(n, weights.slice(0, -1));
  let v = n;
  let i = 0;
  // 1023.5 would print as "1024 KiB": the next unit begins there.
  while (v >= 1023.5 && i + 1 < SIZES.length) {
    v /= 1024;
    i++;
  }
  return `${fixed(v, i > 0 && v < 999.95 ? 1 : 0)} ${SIZES[i]}`;
}

export function signedBytes(n: number): string {
  return (n < 0 ? "-" : "+") + bytes(Math.abs(n));
}

/** As printf's %.nf: of two that are equally near, the even digit. Only what is exactly between them, in binary, is a tie. */
function fixed(v: number, digits: number): string {
  const scaled = v * 10 ** digits;
  const floor = Math.floor(scaled);
  if (Math.abs(scaled - floor - 0.5) < 1e-9 && /^50*$/.test(v.toFixed(60).split(".")[1].slice(digits)) && floor % 2 === 0) return (floor / 10 ** digits).toFixed(digits);
  return v.toFixed(digits);
}

/** "1,234,567" */
export function count(n: number): string {
  if (Number.isNaN(n)) return "unknown";
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function signedCount(n: number): string {
  return (n < 0 ? "-" : "+") + count(Math.abs(n));
}

/** As printf's %.3g for 1 to 1000. */
function threeDigits(v: number): string {
  return Number(fixed(v, v < 10 ? 2 : v < 100 ? 1 : 0)).toString();
}

let hasTimes = true;
let numbered = "moment";

/** Of the trace at hand: without times its moments, or its events, are numbered, the n-th at n seconds (docs/ledger.md). */
export function setHasTimes(has: boolean, what: "moment" | "event" = "moment"): void {
  hasTimes = has;
  numbered = what;
}

export function hasTimesNow(): boolean {
  return hasTimes;
}

/** Of marks along the time: those that a label fits. Between two numbered moments there is nothing. */
export function markedTimes(ticks: readonly number[]): readonly number[] {
  return hasTimes ? ticks : ticks.filter((t) => t > 0 && Number.isInteger(t));
}

/** How long a recording is: "61.2 s"; of numbered moments their number, null if it is one dump. */
export function lengthOf(seconds: number): string | null {
  if (hasTimes) return duration(seconds);
  return Math.round(seconds) > 1 ? plural(Math.round(seconds), numbered) : null;
}

/** "1.25 s", "12 ms", "3 min 05 s", "3 h 12 min"; "moment 3" or "event 3" where there are no times */
export function duration(seconds: number): string {
  if (!hasTimes) return Number.isNaN(seconds) ? "an unknown moment" : `${numbered} ${count(Math.round(seconds))}`;
  if (Number.isNaN(seconds)) return "an unknown time";
  return lengthText(Math.round(seconds * 1e9));
}

function lengthText(ns: number): string {
  const s = Math.floor(ns / 1e9);
  if (ns < 1000) return `${ns} ns`;
  // 999.5 would be 1000 of it: the next unit begins there.
  if (ns < 999500) return `${threeDigits(ns / 1e3)} us`;
  if (ns < 999500000) return `${threeDigits(ns / 1e6)} ms`;
  if (s < 120) return `${threeDigits(ns / 1e9)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min ${pad(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${pad(Math.floor(s / 60) % 60)} min`;
}

function pad(n: number): string {
  return n.toString().padStart(2, "0");
}

/** "79.9 %"; what rounds to nothing is "under 1 %", and 100 % is all, and nothing less. */
export function percent(p: number): string {
  if (p <= 0) return "0 %";
  if (p >= 100) return "100 %";
  if (p < 1) return "under 1 %";
  return p >= 99.5 ? "99 %" : `${Math.round(p)} %`;
}

export function share(part: number, whole: number): string {
  if (Number.isNaN(part)) return "unknown";
  return whole > 0 ? percent((100 * part) / whole) : "0 %";
}

export function plural(n: number, word: string, words = `${word}s`): string {
  return `${count(n)} ${n === 1 ? word : words}`;
}

/** Nanoseconds of CPU or of waiting: "1.25 s". They are a length of time also where moments have none. */
export function time(ns: number): string {
  return Number.isNaN(ns) ? "unknown" : lengthText(Math.round(ns));
}

export function signedTime(ns: number): string {
  return (ns < 0 ? "-" : "+") + time(Math.abs(ns));
}
