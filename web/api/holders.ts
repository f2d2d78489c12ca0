// SPDX-License-Identifier: MIT
// silt.holders/1: who keeps memory, as `silt holders --json` prints it. The first holder is everything that is held; parents come before children.
import { array, literal, nullable, number, object, string, type Checked } from "./check";
import { optional, said, stack } from "./common";

const amount = object({ bytes: number, blocks: number });

// Tables have entries and slots, vectors and strings bytes.
const container = object({
  kind: string, blocks: number, bytes: number, entries: optional(number), slots: optional(number), used_bytes: optional(number), capacity_bytes: optional(number),
});

const holder = object({
  parent: nullable(number), group: number, kind: string, label: string, type: optional(string), stack: optional(stack), blocks: number, bytes: number,
  tree_blocks: number, tree_bytes: number, retained_bytes: optional(number), oldest_s: optional(nullable(number)), blocks_per_s: optional(nullable(number)), container: optional(container),
});
export type Holder = Checked<typeof holder>;

export const holders = object({
  schema: literal("silt.holders/1"), sentence: said, pid: number, graph: number, at_s: number, pause_s: number, unread_bytes: number,
  live: amount, held: amount, held_from_several: amount, held_by_nothing: amount, groups_in_all: number, holders: array(holder),
  why: nullable(object({ function: string, wanted: amount, unreachable: amount, freed: amount, paths: array(holder) })),
});
export type Holders = Checked<typeof holders>;

// silt.neighbours/1: who points to the blocks of one of them, and what these point to. `from`: blocks or words that point, `to`: blocks they point to.
const pointers = { from: number, to: number, to_bytes: number };
const neighbour = object({ kind: string, label: string, type: optional(string), stack: optional(stack), ...pointers });
export type Neighbour = Checked<typeof neighbour>;

export const neighbours = object({
  schema: literal("silt.neighbours/1"), sentence: said, graph: number, group: number, kind: string, label: string, stack: optional(stack), blocks: number, bytes: number,
  among: object(pointers), held_by_in_all: number, held_by: array(neighbour), holds_in_all: number, holds: array(neighbour),
});
export type Neighbours = Checked<typeof neighbours>;
