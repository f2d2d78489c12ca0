// SPDX-License-Identifier: MIT
// silt.fleet/1: what many machines hold. docs/fleet.md.
import { array, boolean, literal, nullable, number, numbersOrNull, object, string, strings, Unfit, type Check, type Checked } from "./check";
import { optional } from "./common";

export const FLEET_QUESTIONS = ["services", "grew", "builds", "release", "hosts", "paths"] as const;
export type FleetQuestion = (typeof FLEET_QUESTIONS)[number];

/** Rows have the columns of their question; those that no question has are refused. */
const row = object({
  service: optional(string), host: optional(string), build: optional(string), path: optional(nullable(string)),
  live_bytes: optional(number), growth_bytes: optional(number), before_bytes: optional(number), now_bytes: optional(number), error_bytes: optional(number),
  change_bytes: optional(number), old_bytes: optional(number), new_bytes: optional(number), mean_bytes: optional(number), max_bytes: optional(number),
  median_bytes: optional(number), spread_bytes: optional(number), excess_bytes: optional(number), score: optional(number),
  hosts: optional(number), hosts_grew: optional(number), hosts_compared: optional(number), hosts_new: optional(number), hosts_gone: optional(number),
  builds: optional(number), processes: optional(number), processes_old: optional(number), processes_new: optional(number), live_blocks: optional(number),
  first_time: optional(number), last_time: optional(number), history: optional(numbersOrNull),
});
export type FleetRow = Checked<typeof row>;

const fields = object({
  schema: literal("silt.fleet/1"), sentence: string, doubts: strings, question: literal(...FLEET_QUESTIONS), since_s: number,
  service: nullable(string), host: nullable(string), build: nullable(string), old: nullable(string), new: nullable(string),
  now_s: number, before_s: number, has_more: boolean, rows: array(row), paths: array(object({ path: string, frames: strings })),
});
export type Fleet = Checked<typeof fields>;

export const fleet: Check<Fleet> = (value, path) => {
  const answer = fields(value, path);
  if (answer.rows.length > 10000) throw new Unfit("rows", "are more than requested");
  return answer;
};
