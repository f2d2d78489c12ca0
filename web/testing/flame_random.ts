// SPDX-License-Identifier: MIT
// Random flame graphs for tests and measurements: the same seed, the same boxes.
import { KIND, type FlameColumns } from "../model/flame_tree";

export type Random = () => number;

/** Numbers from 0 to under 1 by a seed: mulberry32. */
export function seeded(seed: number): Random {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** So many boxes at most, level by level, as the answer has them. Names repeat, so that there is recursion. */
export function randomFlame(random: Random, most: number, isChange = false): FlameColumns {
  const parent = [-1];
  const own: number[] = [0];
  const kind: number[] = [KIND.root];
  const rest: number[] = [0];
  const name: number[] = [0];
  const weight = [1];
  for (let i = 0; i < parent.length && parent.length < most; i++) {
    if (kind[i] === KIND.rest)
      continue;
    const children = Math.floor(random() * random() * 12) + (i < 3 ? 2 : 0);
    for (let k = 0; k < children && parent.length < most; k++) {
      parent.push(i);
      weight.push(random() * random() * random());
      kind.push(KIND.frame);
      rest.push(0);
      name.push(1 + Math.floor(random() * 40));
      own.push(random() < 0.5 ? Math.floor(random() * random() * 100000) : 0);
    }
    if (children > 0 && random() < 0.3) {
      parent.push(i);
      weight.push(0);
      kind.push(KIND.rest);
      rest.push(1 + Math.floor(random() * 300));
      name.push(0);
      own.push(1 + Math.floor(random() * 500));
    }
  }
  return ordered(parent, own, kind, rest, name, random, isChange);
}

function ordered(parent: number[], own: number[], kind: number[], rest: number[], name: number[], random: Random, isChange: boolean): FlameColumns {
  const n = parent.length;
  const total = own.map((bytes) => bytes + 1);
  const below: number[][] = parent.map(() => []);
  for (let i = n - 1; i > 0; i--) {
    total[parent[i]!]! += total[i]!;
    below[parent[i]!]!.push(i);
  }
  const order = [0];
  const place = new Int32Array(n);
  for (let at = 0; at < order.length; at++) {
    const children = below[order[at]!]!;
    children.sort((a, b) => Number(kind[a] === KIND.rest) - Number(kind[b] === KIND.rest) || total[b]! - total[a]! || a - b);
    for (const child of children)
      place[child] = order.push(child) - 1;
  }
  const value = order.map((i) => total[i]!);
  return {
    metric: "peak",
    reversed: false,
    whole: value[0] ?? 0,
    is_change: isChange,
    names: ["", ...Array.from({ length: 40 }, (_, i) => `ns${i % 7}::function_${i}`), "server.c:88", "server"],
    parent: order.map((i) => (i === 0 ? -1 : place[parent[i]!]!)),
    name: order.map((i) => name[i]!),
    place: order.map(() => 41),
    module: order.map((i) => 1 + (name[i]! % 3)),
    object: order.map((i) => 4 + (name[i]! % 2)),
    marks: order.map((i) => name[i]! % 16),
    hue: order.map((i) => (kind[i] === KIND.rest ? 34 : kind[i] === KIND.root ? 35 : (name[i]! * 7) % 34)),
    shade: order.map((i) => name[i]! % 3),
    width: value,
    value,
    beside: value.map((bytes) => Math.ceil(bytes / 64)),
    was: isChange ? value.map((bytes) => Math.floor(bytes * random() * 2)) : null,
    kind: order.map((i) => kind[i]!),
    rest: order.map((i) => rest[i]!),
    site: order.map((i) => i),
    colours: [],
  };
}
