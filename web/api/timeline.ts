// SPDX-License-Identifier: MIT
// silt.timeline/1: columns of equal length.
import { array, boolean, literal, nullable, number, numbersOrNull, object, sameLength, string, type Check, type Checked } from "./check";

const fields = object({
  schema: literal("silt.timeline/1"), from_s: number, to_s: number, columns: number, exact: boolean,
  live_bytes: numbersOrNull, low_live_bytes: numbersOrNull, rss_bytes: numbersOrNull,
  allocations_per_s: nullable(numbersOrNull), allocated_bytes_per_s: nullable(numbersOrNull),
  threads_on_cpu: nullable(numbersOrNull), threads_blocked: nullable(numbersOrNull),
  group_by: nullable(string), groups: array(object({ name: string, live_bytes: numbersOrNull })), rest_live_bytes: nullable(numbersOrNull),
});
export type Timeline = Checked<typeof fields>;

export const timeline: Check<Timeline> = (value, path) => {
  const answer = fields(value, path);
  sameLength(answer, path, ["live_bytes", "low_live_bytes", "rss_bytes", "allocations_per_s", "allocated_bytes_per_s", "threads_on_cpu", "threads_blocked", "rest_live_bytes"]);
  return answer;
};
