// SPDX-License-Identifier: MIT
// Draws the boxes of a layout on a canvas.
import { cut } from "../model/cut";
import { blend, changeHue, HUE, isStrong, parseColour, SHADES, SHADE_OPACITY, type Rgb } from "../model/flame_colour";
import { sumOf, type Layout } from "../model/flame_layout";
import { FOUND, isRest, MARK, nameOf, type FlameTree, type Found } from "../model/flame_tree";
import { boxLabel, figuresOf, moreLabel } from "../model/flame_words";
import { visible } from "../model/visible";

export const ROW_PX = 20;
export const HIGH_ROW_PX = 36; // room for figures below the name
const PAD_PX = 4;
const LETTER_PX = 12; // labels smaller than this are left out

export interface Palette {
  paper: string;
  ink: string;
  inkOnGone: string;
  quiet: string;
  focus: string;
  found: string;
  inkOnFound: string;
  fill: readonly string[]; // by hue and shade
  dim: readonly string[];
  pale: readonly string[]; // code without a name
  font: string;
  cellPx: number;
}

const DIM_OPACITY = 0.35;
const PALE_OPACITY = 0.55;

/** The colours as the style sheet has them now: light or dark. */
export function readPalette(element: Element, ctx: CanvasRenderingContext2D): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): Rgb => parseColour(style.getPropertyValue(name));
  const text = (name: string): string => blend(colour(name), colour(name), 1);
  const paper = colour("--flame-paper");
  const fill: string[] = [];
  const dim: string[] = [];
  const pale: string[] = [];
  for (let hue = 0; hue < HUE.n; hue++)
    for (let shade = 0; shade < SHADES; shade++) {
      const opacity = hue >= HUE.gone ? 1 : SHADE_OPACITY[shade]!;
      fill.push(blend(colour(`--flame-${hue}`), paper, opacity));
      pale.push(blend(colour(`--flame-${hue}`), paper, opacity * PALE_OPACITY));
      dim.push(blend(colour(`--flame-${hue}`), paper, opacity * DIM_OPACITY));
    }
  const font = `12px ${style.getPropertyValue("--mono").trim() || "monospace"}`;
  ctx.font = font;
  return {
    paper: text("--flame-paper"), ink: text("--flame-ink"), inkOnGone: text("--flame-ink-gone"), quiet: text("--flame-quiet"),
    focus: text("--flame-focus"), found: text("--flame-found"), inkOnFound: text("--flame-ink-found"),
    fill, dim, pale, font, cellPx: Math.max(1, ctx.measureText("MMMMMMMMMM").width / 10),
  };
}

/** Words inside boxes, made once: the same ones are drawn sixty times a second. */
export class Labels {
  private readonly cuts: { room: number; text: string }[] = [];
  private readonly said: string[] = [];

  constructor(private readonly tree: FlameTree) {}

  name(box: number, room: number): string {
    const known = this.cuts[box];
    if (known && known.room === room)
      return known.text;
    const text = cut(box === 0 ? "all" : visible(nameOf(this.tree, box)), room);
    this.cuts[box] = { room, text };
    return text;
  }

  figures(box: number): string {
    return (this.said[box] ??= boxLabel(this.tree.columns, figuresOf(this.tree, box)));
  }
}

export interface Scene {
  tree: FlameTree;
  layout: Layout;
  palette: Palette;
  found: Found | null;
  /** callers below */
  isUpward: boolean;
  rowPx: number;
  scrollPx: number;
  heightPx: number;
  /** device pixels in one */
  ratio: number;
  labels: Labels;
  hovered: number; // places in the layout; -1: none
  marked: number;
}

/** Where the row is, from the top of the canvas. */
export function rowTop(scene: Pick<Scene, "isUpward" | "rowPx" | "scrollPx" | "heightPx">, row: number): number {
  return scene.isUpward ? scene.heightPx - (row + 1) * scene.rowPx + scene.scrollPx : row * scene.rowPx - scene.scrollPx;
}

export function rowAt(scene: Pick<Scene, "isUpward" | "rowPx" | "scrollPx" | "heightPx">, y: number): number {
  return Math.floor((scene.isUpward ? scene.heightPx - y + scene.scrollPx : y + scene.scrollPx) / scene.rowPx);
}

export function paint(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, palette } = scene;
  ctx.fillStyle = palette.paper;
  ctx.fillRect(0, 0, layout.sight.px, scene.heightPx);
  ctx.font = palette.font;
  ctx.textBaseline = "middle";
  for (let row = 0; row < layout.rows; row++) {
    const top = rowTop(scene, row);
    if (top + scene.rowPx < 0 || top > scene.heightPx)
      continue;
    paintBoxes(ctx, scene, row, top);
    paintLabels(ctx, scene, row, top);
    paintMore(ctx, scene, row, top);
  }
  outline(ctx, scene, scene.hovered, 1);
  outline(ctx, scene, scene.marked, 2);
}

function paintBoxes(ctx: CanvasRenderingContext2D, scene: Scene, row: number, top: number): void {
  const { layout: l, palette } = scene;
  const high = scene.rowPx - 1;
  const ratio = scene.ratio;
  let style = "";
  for (let k = l.rowStart[row]!; k < l.rowStart[row + 1]!; k++) {
    const fill = fillOf(scene, k);
    // on whole pixels: sharper, and several times as quick
    const x = Math.round(Math.max(-1, l.x[k]!) * ratio) / ratio;
    const end = Math.round(Math.min(l.sight.px + 1, l.x[k]! + l.width[k]!) * ratio) / ratio;
    const width = end - x;
    if (fill !== style)
      ctx.fillStyle = style = fill;
    ctx.fillRect(x, top, Math.max(1 / ratio, width > 3 ? width - 1 : width), high);
    if (l.more[k] !== 0 && width > 6)
      hatch(ctx, x, top, width - 1, high, palette.quiet);
  }
}

/** A bar of many looks unlike a box: with lines along its lower edge. */
function hatch(ctx: CanvasRenderingContext2D, x: number, top: number, width: number, high: number, colour: string): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1;
  ctx.setLineDash([1, 2]);
  ctx.beginPath();
  ctx.moveTo(x, top + high - 0.5);
  ctx.lineTo(x + width, top + high - 0.5);
  ctx.stroke();
  ctx.setLineDash([]);
}

function fillOf(scene: Scene, k: number): string {
  const { tree, layout: l, palette, found } = scene;
  const c = tree.columns;
  const box = l.box[k]!;
  if (l.more[k] !== 0) {
    const state = found ? found.state[c.parent[box] ?? 0]! : 1;
    let hue: number = HUE.rest;
    if (c.is_change) {
      const sum = sumOf(tree, l, k);
      hue = changeHue(sum.value, c.was ? sum.was : null, sum.width);
    }
    return (state === 0 ? palette.dim : palette.fill)[hue * SHADES]!;
  }
  const state = found ? found.state[box]! : 2;
  if (state === FOUND)
    return palette.found;
  const hue = c.hue[box] ?? HUE.noPath;
  const isPale = ((c.marks[box] ?? 0) & MARK.unnamed) !== 0 && !c.is_change && c.is_by_age !== true;
  return (state === 0 && box !== 0 ? palette.dim : isPale ? palette.pale : palette.fill)[hue * SHADES + (c.shade[box] ?? 0)] ?? palette.quiet;
}

function inkOf(scene: Scene, k: number): string {
  const { layout: l, palette, found, tree } = scene;
  const box = l.box[k]!;
  if (found && l.more[k] === 0 && found.state[box] === FOUND)
    return palette.inkOnFound;
  const isDim = found !== null && box !== 0 && found.state[l.more[k] !== 0 ? (tree.columns.parent[box] ?? 0) : box] === 0;
  if (isDim)
    return palette.quiet;
  const hue = l.more[k] === 0 ? tree.columns.hue[box] : HUE.rest;
  return hue !== undefined && isStrong(hue) ? palette.inkOnGone : palette.ink;
}

/** Inlined functions are italic, async ones bold. */
function fontOf(scene: Scene, k: number): string {
  const marks = scene.layout.more[k] === 0 ? (scene.tree.columns.marks[scene.layout.box[k]!] ?? 0) & (MARK.inlined | MARK.async) : 0;
  if (marks === 0)
    return scene.palette.font;
  return `${marks & MARK.inlined ? "italic " : ""}${marks & MARK.async ? "bold " : ""}${scene.palette.font}`;
}

/** Names, and where there is room figures: below, or at the right end. */
function paintLabels(ctx: CanvasRenderingContext2D, scene: Scene, row: number, top: number): void {
  const { tree, layout: l, palette } = scene;
  const isHigh = scene.rowPx >= HIGH_ROW_PX;
  let style = "";
  let face = palette.font;
  for (let k = l.rowStart[row]!; k < l.rowStart[row + 1]!; k++) {
    const left = Math.max(0, l.x[k]!);
    const width = Math.min(l.sight.px, l.x[k]! + l.width[k]!) - left - 1;
    if (width < LETTER_PX)
      continue;
    const room = Math.floor((width - 2 * PAD_PX) / palette.cellPx);
    const isMore = l.more[k] !== 0;
    const more = isMore ? moreLabel(l.more[k]!) : "";
    const text = isMore ? (more.length > room ? "" : more) : scene.labels.name(l.box[k]!, room);
    if (text === "")
      continue;
    const ink = inkOf(scene, k);
    if (ink !== style)
      ctx.fillStyle = style = ink;
    const figures = room < 9 ? "" : isMore ? boxLabel(tree.columns, sumOf(tree, l, k)) : scene.labels.figures(l.box[k]!);
    const isBelow = isHigh && figures !== "" && figures.length <= room;
    const middle = top + (scene.rowPx - 1) / 2;
    const font = fontOf(scene, k);
    if (font !== face)
      ctx.font = face = font;
    ctx.fillText(text, left + PAD_PX, isBelow ? middle - 7 : middle);
    if (isBelow)
      ctx.fillText(figures, left + PAD_PX, middle + 8);
    else if (!isHigh && figures !== "" && text.length + figures.length + 3 <= room)
      ctx.fillText(figures, left + width - PAD_PX - figures.length * palette.cellPx, middle);
  }
  if (face !== palette.font)
    ctx.font = palette.font;
}

/** What bars without a word stand for is said at the right end of the row, where nothing lies. */
function paintMore(ctx: CanvasRenderingContext2D, scene: Scene, row: number, top: number): void {
  const { layout: l, palette } = scene;
  const last = l.rowStart[row + 1]! - 1;
  let unsaid = 0;
  let end = 0;
  for (let k = l.rowStart[row]!; k <= last; k++) {
    end = l.x[k]! + l.width[k]!;
    if (l.more[k] !== 0 && (moreLabel(l.more[k]!).length + 1) * palette.cellPx + 2 * PAD_PX > l.width[k]!)
      unsaid += l.more[k]!;
  }
  const label = moreLabel(unsaid);
  if (unsaid > 0 && end + (label.length + 2) * palette.cellPx < l.sight.px) {
    ctx.fillStyle = palette.quiet;
    ctx.fillText(label, end + palette.cellPx, top + (scene.rowPx - 1) / 2);
  }
}

function outline(ctx: CanvasRenderingContext2D, scene: Scene, k: number, px: number): void {
  const { layout: l, palette, tree } = scene;
  if (k < 0 || k >= l.n)
    return;
  const top = rowTop(scene, tree.depth[l.box[k]!]!);
  const x = Math.max(0, l.x[k]!);
  const width = Math.min(l.sight.px, l.x[k]! + l.width[k]!) - x;
  ctx.strokeStyle = palette.focus;
  ctx.lineWidth = px;
  ctx.strokeRect(x + px / 2, top + px / 2, Math.max(2, width - 1 - px), scene.rowPx - 1 - px);
}

export function isBar(scene: Pick<Scene, "layout" | "tree">, k: number): boolean {
  return scene.layout.more[k] !== 0 || isRest(scene.tree, scene.layout.box[k]!);
}
