// SPDX-License-Identifier: MIT
// The boxes of a flame graph out of the columns of a file, in the shape of the server's answer.
import type { Columns } from "../api/columns";
import type { Flame } from "../api/flame";
import { besideOf, figuresIn, isCount, valueOf, type Metric } from "./columns";
import { changeHue, HUE } from "./flame_colour";
import { MARK } from "./flame_tree";
import { SMALLER, treeOf, type TreeNode } from "./columns_tree";
import { metricText } from "./metric";

const KIND_ROOT = 0;
const KIND_FRAME = 1;
const KIND_REST = 2;

/** Which hue a crate, namespace or module has: as the server's picture of the whole recording has it. */
export function huesOf(whole: Flame): ReadonlyMap<string, number> {
  const hues = new Map<string, number>();
  whole.module.forEach((module, i) => {
    if (whole.kind[i] === KIND_FRAME && !hues.has(whole.names[module])) hues.set(whole.names[module], whole.hue[i]);
  });
  return hues;
}

const STATES: Readonly<Record<Metric, string>> = {
  peak: "live at the peak", end: "live at the end", allocated: "allocated", count: "allocations", temporary: "temporary allocations",
  growth: "growth", cpu: "of CPU time", blocked: "blocked",
};

export interface FlameWish {
  readonly metric: Metric;
  readonly isReversed: boolean;
  readonly isFull: boolean;
  readonly byLine: boolean;
  readonly from: number;
  readonly to: number;
}

export function flameFrom(c: Columns, wish: FlameWish, hues: ReadonlyMap<string, number>, whole: Flame): Flame {
  const root = treeOf(c, figuresIn(c, wish.from, wish.to), wish);
  const names = [...c.names];
  const text = (value: string): number => names.push(value) - 1;
  const empty = text("");
  const hidden = wish.isFull ? hiddenFrames(c) : new Set<number>();
  const rootName = text("all");
  const smallerName = text("smaller call paths");
  const isChange = wish.metric === "growth";
  const out = {
    parent: [] as number[], name: [] as number[], function: [] as number[], place: [] as number[], module: [] as number[], object: [] as number[], marks: [] as number[], hue: [] as number[], shade: [] as number[],
    width: [] as number[], value: [] as number[], beside: [] as number[], kind: [] as number[], rest: [] as number[], site: [] as number[],
  };
  const places = new Map<number, number>();
  const placeOf = (frame: number): number => {
    let place = places.get(frame);
    if (place === undefined) {
      const file = c.names[c.frames.file[frame]];
      const base = file.slice(file.lastIndexOf("/") + 1);
      places.set(frame, (place = text(file ? `${base}${c.frames.line[frame] ? `:${c.frames.line[frame]}` : ""}` : "")));
    }
    return place;
  };
  const lineNames = new Map<number, number>();
  const nameOf = (frame: number): number => {
    const label = labelOf(c, frame, wish.isFull);
    if (!wish.byLine || c.frames.line[frame] === 0) return label;
    let name = lineNames.get(frame);
    if (name === undefined) lineNames.set(frame, (name = text(`${c.names[label]}  ${names[placeOf(frame)]}`)));
    return name;
  };
  const todo: { node: TreeNode; parent: number; shade: number }[] = [{ node: root, parent: -1, shade: 0 }];
  for (let i = 0; i < todo.length; i++) {
    const { node, parent, shade } = todo[i];
    const isFrame = node.frame >= 0;
    out.parent.push(parent);
    out.name.push(isFrame ? nameOf(node.frame) : node.frame === SMALLER ? smallerName : rootName);
    out.function.push(isFrame && isNamed(c, node.frame) ? c.frames.function[node.frame]! : empty);
    out.place.push(isFrame ? placeOf(node.frame) : empty);
    out.module.push(isFrame ? c.frames.crate[node.frame] : empty);
    out.object.push(isFrame ? c.frames.module[node.frame] : empty);
    out.marks.push(isFrame ? marksOf(c, node.frame, hidden.has(node.frame)) : 0);
    out.hue.push(isChange ? changeHue(valueOf(node.total, wish.metric), null, node.width) : isFrame ? (hidden.has(node.frame) ? HUE.helper : (hues.get(c.names[c.frames.crate[node.frame]]) ?? HUE.system)) : node.frame === SMALLER ? HUE.rest : HUE.root);
    out.shade.push(shade % 3);
    out.width.push(node.width);
    out.value.push(valueOf(node.total, wish.metric));
    out.beside.push(besideOf(node.total, wish.metric));
    out.kind.push(isFrame ? KIND_FRAME : node.frame === SMALLER ? KIND_REST : KIND_ROOT);
    out.rest.push(node.frame === SMALLER ? c.smaller_paths : 0);
    out.site.push(node.paths.length > 0 && node.paths[0] < c.paths.length ? c.paths[node.paths[0]] : 0);
    node.children.forEach((child, at) => todo.push({ node: child, parent: i, shade: shade + at + 1 }));
  }
  const isWhole = wish.from === 0 && wish.to === c.edges_s.length - 1;
  const unit = isCount(wish.metric) ? "blocks" : "bytes";
  return {
    ...whole, ...out, metric: wish.metric, reversed: wish.isReversed, whole: root.width, unit,
    sentence: isWhole && wish.metric === whole.metric ? whole.sentence : `${metricText(valueOf(root.total, wish.metric), wish.metric)} ${STATES[wish.metric]}${isWhole ? "" : ", in this window"}.`,
    is_change: isChange, names, was: null, colours: isChange ? [] : coloursOf(c, root, hues, wish.metric),
  };
}

/** The nearest name is another function's. */
function isNamed(c: Columns, frame: number): boolean {
  return !c.frames.guess[frame] && c.names[c.frames.function[frame]!] !== "";
}

/** Frames that are drawn only where everything is: each is hidden in all paths, or in none. */
function hiddenFrames(c: Columns): ReadonlySet<number> {
  return new Set(c.path_frames.flatMap((frames) => frames.filter((frame) => frame < 0).map((frame) => -1 - frame)));
}

function marksOf(c: Columns, frame: number, isHidden: boolean): number {
  return (c.frames.inlined[frame] ? MARK.inlined : 0) + (c.frames.async[frame] ? MARK.async : 0) + (isNamed(c, frame) ? 0 : MARK.unnamed) +
         (isHidden ? MARK.machinery : 0);
}

/** Everything has its long name. */
function labelOf(c: Columns, frame: number, isFull: boolean): number {
  return isFull && isNamed(c, frame) ? c.frames.function[frame]! : c.frames.label[frame]!;
}

/** What each colour's code asked for itself, the largest first. */
function coloursOf(c: Columns, root: TreeNode, hues: ReadonlyMap<string, number>, metric: Metric): Flame["colours"] {
  const sums = new Map<string, number>();
  const todo = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    const self = valueOf(node.self, metric);
    if (node.frame >= 0 && self > 0) {
      const crate = c.names[c.frames.crate[node.frame]];
      sums.set(crate, (sums.get(crate) ?? 0) + self);
    }
    todo.push(...node.children);
  }
  return [...sums]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 14)
    .map(([name, sum]) => ({ hue: hues.get(name) ?? HUE.system, name, share: root.width > 0 ? sum / root.width : 0 }));
}
