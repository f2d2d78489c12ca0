// SPDX-License-Identifier: MIT
// silt.trace/1: what was recorded.
import { array, boolean, literal, nullable, number, object, string, strings, type Check, type Checked } from "./check";
import { optional } from "./common";

const process = object({
  word: string, name: string, pid: nullable(number), image: number, parent: number, begin_s: number, end_s: nullable(number), ended: string,
  peak_live_bytes: number, end_live_bytes: number, is_main: boolean,
});
export type TraceProcess = Checked<typeof process>;

const mark = object({ time_s: number, name: string, kind: literal("mark", "snapshot"), pid: number });
export type TraceMark = Checked<typeof mark>;

const one = {
  schema: literal("silt.trace/1"), version: number, file: string, command: strings, pid: nullable(number), duration_s: number, mode: string,
  sample_bytes: number, growing: boolean, ended: string, detail_from_s: number, has_events: boolean, has_times: optional(boolean), has_peak: optional(boolean), has_live: optional(boolean), has_blocks: optional(boolean), has_threads: optional(boolean), imported: optional(boolean), unit: optional(string), events: number, graphs: number, limits: strings,
  processes: array(process), processes_in_all: number, pids_in_all: number, marks: array(mark),
  peak: object({ time_s: number, bytes: number }), end_live_bytes: number, peak_rss_bytes: number, metrics: strings, group_by: strings,
  time: optional(nullable(object({ cpu_s: number, blocked_s: number, ready_s: number, samples: number, is_all: boolean }))),
};
const alone = object({ ...one, old: nullable((): null => null) });
export type TraceAlone = Checked<typeof alone>;

export const trace = object({ ...one, old: nullable(alone as Check<TraceAlone>) });
export type Trace = Checked<typeof trace>;
