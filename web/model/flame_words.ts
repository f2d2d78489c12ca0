// SPDX-License-Identifier: MIT
// What is said of a box: inside it, in few letters, and beside the pointer, in lines.
import { type Sum } from "./flame_layout";
import { isRest, KIND, MARK, nameOf, placeOf, selfOf, type FlameColumns, type FlameTree, type Found } from "./flame_tree";
import { amount as unitText, signedAmount, unitOf } from "./metric";
import { bytes, count, duration, percent, plural, share, time } from "./units";
import { visible } from "./visible";

/** What a box or a bar of many has. */
export type Figures = Pick<Sum, "frames" | "value" | "beside" | "was" | "width" | "parent">;

export function figuresOf(t: FlameTree, i: number): Figures {
  const c = t.columns;
  return { frames: isRest(t, i) ? (c.rest[i] ?? 0) : 1, value: c.value[i] ?? 0, beside: c.beside[i] ?? 0, was: c.was?.[i] ?? 0,
           width: t.width[i]!, parent: c.parent[i] ?? -1 };
}

/** By the metric: bytes, time, or how many. Negative where a change is. */
export function amount(c: FlameColumns, n: number): string {
  return (n < 0 ? "-" : "") + unitText(Math.abs(n), unitOf(c.metric));
}

export function signed(c: FlameColumns, n: number): string {
  return n === 0 ? amount(c, 0) : signedAmount(n, unitOf(c.metric));
}

/** "+78 %"; under ten with a tenth. */
function changePct(is: number, was: number): string {
  const pct = (100 * (is - was)) / was;
  return `${pct > 0 ? "+" : ""}${pct.toFixed(Math.abs(pct) < 9.95 ? 1 : 0)} %`;
}

/** "412.0 MiB in 12,011 blocks" */
export function figureText(c: FlameColumns, value: number, beside: number): string {
  if (Number.isNaN(beside)) return c.metric === "growth" ? signed(c, value) : bytes(value);
  switch (c.metric) {
    case "temporary": return plural(value, "temporary allocation");
    case "count": return `${plural(value, "allocation")} of ${bytes(beside)}`;
    case "allocated": return `${bytes(value)} in ${plural(beside, "allocation")}`;
    case "cpu": return `${time(value)} of CPU in ${plural(beside, "sample")}`;
    case "blocked": return `${time(value)} blocked`;
    case "growth": return `${signed(c, value)} in ${beside > 0 ? "+" : ""}${beside < 0 ? "-" : ""}${plural(Math.abs(beside), "block")}`;
    default: return `${bytes(value)} in ${plural(beside, "block")}`;
  }
}

export function changeText(c: FlameColumns, is: number, was: number): string {
  const by = is - was;
  if (by === 0)
    return `${amount(c, is)}, the same before`;
  return `${amount(c, is)}, was ${amount(c, was)}: ${signed(c, by)}${was > 0 ? ` (${changePct(is, was)})` : ""}`;
}

/** In a few letters, for inside of a box. */
export function boxLabel(c: FlameColumns, of: Figures): string {
  if (c.was === null)
    return c.metric === "growth" ? signed(c, of.value) : `${amount(c, of.value)}, ${share(of.width, c.width[0] ?? 0)}`;
  if (of.was === 0 && of.value > 0)
    return `new, ${amount(c, of.value)}`;
  if (of.value === 0 && of.was > 0)
    return `gone, was ${amount(c, of.was)}`;
  const by = of.value - of.was;
  if (by === 0)
    return "";
  return `${signed(c, by)}${of.was > 0 ? `, ${changePct(of.value, of.was)}` : ""}`;
}

export function moreLabel(frames: number): string {
  return `+ ${count(frames)} more`;
}

export interface Line {
  readonly label: string;
  readonly text: string;
}

export interface Told {
  readonly title: string;
  /** file and line, module */
  readonly place: string;
  readonly lines: readonly Line[];
}

/** About a box, or about `sum`: several that were put together. */
export function tell(t: FlameTree, box: number, sum: Sum | null): Told {
  const c = t.columns;
  const of = sum ?? figuresOf(t, box);
  const isMany = sum !== null || isRest(t, box);
  const lines: Line[] = [];
  const whole = c.width[0] ?? 0;

  if (c.was !== null) {
    lines.push({ label: "now", text: amount(c, of.value) }, { label: "before", text: amount(c, of.was) });
    lines.push({ label: "change", text: of.value === of.was ? "none" : `${signed(c, of.value - of.was)}${of.was > 0 ? `, ${changePct(of.value, of.was)}` : ", new"}` });
  } else {
    lines.push({ label: "total", text: figureText(c, of.value, of.beside) });
    if (!isMany && !c.reversed && c.kind[box] !== KIND.process) {
      const self = selfOf(t, box);
      lines.push({ label: "self", text: self === 0 ? "nothing" : `${amount(c, self)}${self === of.value ? " (all of it)" : ""}` });
    }
  }
  const age = sum === null ? (c.age_s?.[box] ?? null) : null;
  if (age !== null)
    lines.push({ label: "age", text: `${duration(age)}${of.beside > 1 ? " on average, by bytes" : ""}` });
  if (box !== 0 && !c.is_change) {
    lines.push({ label: "of all", text: share(of.width, whole) });
    if (of.parent > 0)
      lines.push({ label: c.reversed ? "of the callee" : "of the caller", text: share(of.width, t.width[of.parent]!) });
  }
  return {
    title: isMany ? `${count(of.frames)} more${sum !== null && of.parent < 0 ? ", of several callers" : ""}` : box === 0 ? "all" : visible(nameOf(t, box)),
    place: isMany ? "too narrow to draw here" : [visible(placeOf(t, box)), ...marksOf(t, box)].filter((part) => part !== "").join(", "),
    lines,
  };
}

/** What its letters and its paleness say, in words. */
export function marksOf(t: FlameTree, box: number): readonly string[] {
  const marks = t.columns.marks[box] ?? 0;
  const words: readonly (readonly [number, string])[] = [[MARK.inlined, "inlined"], [MARK.async, "async"], [MARK.unnamed, "no name known"], [MARK.machinery, "machinery"]];
  return words.filter(([bit]) => (marks & bit) !== 0).map(([, word]) => word);
}

/** The same in one sentence, for those who do not see it. */
export function spoken(told: Told): string {
  return [told.title, ...told.lines.map((line) => `${line.label} ${line.text}`), told.place].filter((part) => part !== "").join(", ");
}

/** "7.6 % of all: 31.2 MiB in 12 functions" */
export function foundText(t: FlameTree, found: Found): string {
  const c = t.columns;
  if (found.boxes === 0)
    return "no box matches";
  const what = c.was !== null ? changeText(c, found.value, found.was)
    : c.is_change ? signed(c, found.value)
    : `${percent((100 * found.width) / (c.width[0] || 1))} of all: ${amount(c, found.value)}`;
  return `found ${what} in ${plural(found.boxes, "box").replace(/boxs$/, "boxes")}`;
}

/** The call path from the outermost caller to the box, one line each, for the clipboard. */
export function stackText(t: FlameTree, line: readonly number[]): string {
  return line.map((i) => (placeOf(t, i) === "" ? nameOf(t, i) : `${nameOf(t, i)}  (${placeOf(t, i)})`)).map(visible).join("\n");
}
