// SPDX-License-Identifier: MIT
// silt.tasks/1: the tasks of an asynchronous program by where they were spawned, as `silt tasks --json` prints it.
import { array, boolean, literal, nullable, number, object, string, type Checked } from "./check";
import { optional, said, stack } from "./common";

const states = { waiting: number, ready: number, running: number, finished: number };

const group = object({
  runtime: string, layout: string, kind: string, type: nullable(string), runs: nullable(string), is_merged: boolean, spawned: nullable(string), tasks: number, ...states,
  with_handle: number, cancelled: number, bytes: number, finished_bytes: number, retained_bytes: number, oldest_s: nullable(number), newest_s: nullable(number),
  kept_by: array(object({ name: string, tasks: number, stack: optional(stack) })), waits_for: array(object({ for: string, tasks: number })), stack: optional(stack), shown: optional(number),
  // from samples of their polls; null: nobody looked
  busy_s: optional(nullable(number)), samples: optional(nullable(number)),
});
export type TaskGroup = Checked<typeof group>;

const sourceStates = { waiting: number, ready: number, running: number, unattached: number, removed: number };

const sourceGroup = object({
  kind: nullable(string), table: nullable(string), calls: nullable(string), added: nullable(string), sources: number, ...sourceStates, same_data: number, bytes: number,
  oldest_s: nullable(number), gone: nullable(number), stack: optional(stack), shown: optional(number),
});
export type SourceGroup = Checked<typeof sourceGroup>;

const sources = object({ sentence: nullable(said), sources: number, ...sourceStates, bytes: number, doubtful_blocks: number, groups_in_all: number, groups: array(sourceGroup) });
export type Sources = Checked<typeof sources>;

export const tasks = object({
  schema: literal("silt.tasks/1"), sentence: said, pid: number, recorded: boolean, graph: nullable(number), at_s: number, pause_s: number, tasks: number, ...states,
  bytes: number, runtime_tasks: number, typeless_tasks: number, nameless_blocks: number, unkept_blocks: number,
  unknown: array(object({ runtime: string, blocks: number, bytes: number })), groups_in_all: number, groups: array(group),
  // without a graph: what samples tell
  times: array(object({ runs: string, busy_s: number, samples: number })), sources,
});
export type Tasks = Checked<typeof tasks>;
