// SPDX-License-Identifier: MIT
// What is chosen on the page about many machines, and the address that says it: `#grew?since=7d&service=api`.
import { FLEET_QUESTIONS, type FleetQuestion } from "../api/fleet";
import type { Keys, Pair } from "./state";

export const FLEET_KEYS = ["since", "service", "host", "build", "old", "new", "top", "pick", "search", "sort"] as const;
export type FleetKey = (typeof FLEET_KEYS)[number];

export interface FleetState {
  readonly question: FleetQuestion;
  readonly keys: Readonly<Partial<Record<FleetKey, string>>>;
}

/** As far back as people usually look. */
export const SINCES: readonly (readonly [value: string, words: string])[] = [
  ["1h", "1 hour"], ["6h", "6 hours"], ["1d", "1 day"], ["7d", "7 days"], ["30d", "30 days"],
];

const USUAL_SINCE: Readonly<Record<FleetQuestion, string>> = { services: "1d", grew: "1d", builds: "7d", release: "7d", hosts: "1d", paths: "1d" };
/** What a question understands beside `since`. */
const ASKED: Readonly<Record<FleetQuestion, readonly FleetKey[]>> = {
  services: ["service"], grew: ["service", "host", "build"], builds: ["service"], release: ["service", "old", "new"], hosts: ["service"], paths: ["service", "host", "build"],
};
export const FLEET_ROWS = 500;

export function sinceOf(state: FleetState): string {
  return state.keys.since ?? USUAL_SINCE[state.question];
}

/** Whether all that the question needs is chosen; else what is missing. */
export function missing(state: FleetState): "service" | "builds" | null {
  const { service, old, new: newer } = state.keys;
  if ((state.question === "paths" || state.question === "release") && !service) return "service";
  if (state.question === "release" && (!old || !newer || old === newer)) return "builds";
  return null;
}

/** The keys of the question; null: something must be chosen first. */
export function fleetKeys(state: FleetState): Keys | null {
  if (missing(state) !== null) return null;
  const keys: Pair[] = [["question", state.question], ["back", sinceOf(state)], ["top", String(FLEET_ROWS)]];
  for (const key of ASKED[state.question]) {
    const value = state.keys[key];
    if (value) keys.push([key, value]);
  }
  return keys;
}

const questions: ReadonlySet<string> = new Set(FLEET_QUESTIONS);
const known: ReadonlySet<string> = new Set(FLEET_KEYS);

/** Anybody may write an address: what means nothing is left out. */
export function readFleet(fragment: string): FleetState {
  const text = fragment.startsWith("#") ? fragment.slice(1) : fragment;
  const cut = text.indexOf("?");
  const name = cut < 0 ? text : text.slice(0, cut);
  const keys: Partial<Record<FleetKey, string>> = {};
  for (const [key, value] of new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1))) if (known.has(key) && value !== "") keys[key as FleetKey] = value;
  return { question: questions.has(name) ? (name as FleetQuestion) : "services", keys };
}

export function writeFleet(state: FleetState): string {
  const keys = FLEET_KEYS.filter((key) => state.keys[key]).map((key) => `${key}=${encodeURIComponent(state.keys[key] ?? "")}`);
  return `#${state.question}${keys.length > 0 ? `?${keys.join("&")}` : ""}`;
}

/** null: the key goes. Another question leaves what was picked in the former one. */
export function changeFleet(state: FleetState, question: FleetQuestion, set: Readonly<Partial<Record<FleetKey, string | null>>> = {}): FleetState {
  const keys: Partial<Record<FleetKey, string>> = {};
  for (const key of FLEET_KEYS) {
    const value = key in set ? set[key] : question !== state.question && (key === "pick" || key === "sort" || key === "search") ? null : state.keys[key];
    if (value) keys[key] = value;
  }
  return { question, keys };
}

/** "parse ← read ← main": innermost first, as many as fit a line. */
export function pathText(frames: readonly string[], most: number): string {
  if (frames.length === 0) return "(functions unknown)";
  return frames.slice(0, most).join(" ← ") + (frames.length > most ? " ← …" : "");
}

/** "2026-11-16 18:00", in UTC as everything of a fleet. */
export function momentText(seconds: number): string {
  return seconds > 0 ? new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ") : "never";
}
