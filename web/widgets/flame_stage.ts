// SPDX-License-Identifier: MIT
// The flame graph on its canvas, which moves like a map: what is seen, how it gets there, and what pointers, wheels and keys do.
import { boxInSight, clampSight, hit, layOut, placeOfBox, sightOf, zoomAt, type Layout, type Sight } from "../model/flame_layout";
import { isRest, type FlameTree, type Found } from "../model/flame_tree";
import { HIGH_ROW_PX, Labels, paint, readPalette, ROW_PX, rowAt, rowTop, type Palette, type Scene } from "./flame_paint";

const MOVE_MS = 180;
const SETTLE_MS = 200; // after the last turn of a wheel one is where one wants to be
const CLICK_PX = 4;

export interface StageEvents {
  /** One is at this box now. `isChoice`: it was chosen, not passed. */
  onZoom(box: number, isChoice: boolean): void;
  /** A place in the layout under the pointer, -1 none. */
  onHover(place: number, x: number, y: number): void;
  onMark(place: number): void;
  onMenu(place: number, x: number, y: number): void;
}

export interface StageOptions {
  isUpward: boolean;
  found: Found | null;
}

interface Marked {
  box: number;
  isBar: boolean;
}

export class FlameStage {
  tree: FlameTree | null = null;
  layout: Layout | null = null;
  private labels: Labels | null = null;
  private sight: Sight = { from: 0, to: 0, px: 0 };
  private target: { from: Sight; to: Sight; begin: number } | null = null;
  private options: StageOptions = { isUpward: false, found: null };
  private palette: Palette | null = null;
  private heightPx = 0;
  private scrollPx = 0;
  private rowPx = ROW_PX;
  private hovered = -1;
  private marked: Marked | null = null;
  private frame = 0;
  private settling = 0;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private pressed: { x: number; y: number; isMoved: boolean } | null = null;
  private readonly ctx: CanvasRenderingContext2D;

  constructor(readonly canvas: HTMLCanvasElement, private readonly events: StageEvents) {
    this.ctx = canvas.getContext("2d", { alpha: false })!;
    canvas.addEventListener("wheel", this.onWheel, { passive: false });
    canvas.addEventListener("pointerdown", this.onDown);
    canvas.addEventListener("pointermove", this.onPointer);
    canvas.addEventListener("pointerup", this.onUp);
    canvas.addEventListener("pointercancel", this.onCancel);
    canvas.addEventListener("pointerleave", this.onLeave);
    canvas.addEventListener("contextmenu", this.onContextMenu);
  }

  end(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settling);
    this.canvas.removeEventListener("wheel", this.onWheel);
    this.canvas.removeEventListener("pointerdown", this.onDown);
    this.canvas.removeEventListener("pointermove", this.onPointer);
    this.canvas.removeEventListener("pointerup", this.onUp);
    this.canvas.removeEventListener("pointercancel", this.onCancel);
    this.canvas.removeEventListener("pointerleave", this.onLeave);
    this.canvas.removeEventListener("contextmenu", this.onContextMenu);
  }

  // ---- what is drawn ----------------------------------------------------------------------------

  /** `stays`: it is the former one with more boxes. */
  setTree(tree: FlameTree, box: number, stays: boolean): void {
    const sight = this.target?.to ?? this.sight;
    const { scrollPx } = this;
    stays &&= this.tree !== null;
    this.tree = tree;
    this.labels = new Labels(tree);
    this.target = null;
    this.marked = null;
    this.hover(-1, 0, 0);
    this.sight = stays ? clampSight(tree, sight) : sightOf(tree, box, this.sight.px);
    this.scrollPx = stays ? scrollPx : 0;
    this.layout = null;
    this.fitRows();
    this.redraw();
  }

  isNear(): boolean {
    return this.tree !== null && this.sight.to - this.sight.from < 0.9 * this.tree.width[0]!;
  }

  setOptions(options: StageOptions): void {
    this.options = options;
    this.redraw();
  }

  /** Colours changed: the screen is dark now, or light. */
  forgetColours(): void {
    this.palette = null;
    this.redraw();
  }

  resize(widthPx: number, heightPx: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(widthPx * ratio));
    this.canvas.height = Math.max(1, Math.round(heightPx * ratio));
    this.heightPx = heightPx;
    this.sight = { ...this.sight, px: widthPx };
    if (this.target)
      this.target = { ...this.target, to: { ...this.target.to, px: widthPx } };
    this.layout = null;
    this.fitRows();
    this.draw(performance.now());
  }

  /** Shallow pictures use the room: figures below the names. */
  private fitRows(): void {
    if (!this.tree || this.heightPx <= 0)
      return;
    const rows = layOut(this.tree, sightOf(this.tree, 0, Math.max(1, this.sight.px))).rows;
    this.rowPx = rows * HIGH_ROW_PX <= this.heightPx ? HIGH_ROW_PX : ROW_PX;
    this.scrollPx = Math.min(this.scrollPx, this.maxScroll());
  }

  private maxScroll(): number {
    return Math.max(0, (this.laidOut()?.rows ?? 0) * this.rowPx - this.heightPx);
  }

  private laidOut(): Layout | null {
    if (this.tree && !this.layout)
      this.layout = layOut(this.tree, this.sight);
    return this.layout;
  }

  private redraw(): void {
    if (this.frame === 0)
      this.frame = requestAnimationFrame((now) => {
        this.frame = 0;
        this.draw(now);
      });
  }

  private draw(now: number): void {
    this.move(now);
    const layout = this.laidOut();
    const ratio = window.devicePixelRatio || 1;
    if (!this.tree || !layout || !this.labels)
      return;
    this.palette ??= readPalette(this.canvas, this.ctx);
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(this.ctx, this.scene(layout, this.palette, this.labels, ratio));
  }

  private scene(layout: Layout, palette: Palette, labels: Labels, ratio: number): Scene {
    return {
      tree: this.tree!, layout, palette, labels, ratio, found: this.options.found, isUpward: this.options.isUpward,
      rowPx: this.rowPx, scrollPx: this.scrollPx, heightPx: this.heightPx, hovered: this.hovered, marked: this.markedPlace(),
    };
  }

  private get geometry(): Pick<Scene, "isUpward" | "rowPx" | "scrollPx" | "heightPx"> {
    return { isUpward: this.options.isUpward, rowPx: this.rowPx, scrollPx: this.scrollPx, heightPx: this.heightPx };
  }

  // ---- moving -----------------------------------------------------------------------------------

  private setSight(sight: Sight): void {
    this.sight = sight;
    this.layout = null;
    this.hovered = -1; // something else is under the pointer now
    this.scrollPx = Math.min(this.scrollPx, this.maxScroll());
    this.redraw();
  }

  private move(now: number): void {
    const t = this.target;
    if (!t)
      return;
    const part = Math.min(1, Math.max(0, (now - t.begin) / MOVE_MS));
    const eased = 1 - (1 - part) ** 3;
    if (part >= 1)
      this.target = null;
    // spans shrink by factors, so that near and far take as long
    const spanFrom = t.from.to - t.from.from;
    const spanTo = t.to.to - t.to.from;
    const span = spanFrom > 0 && spanTo > 0 ? spanFrom * (spanTo / spanFrom) ** eased : spanTo;
    const along = Math.abs(spanFrom - spanTo) > 1e-9 * spanFrom ? (spanFrom - span) / (spanFrom - spanTo) : eased;
    const from = t.from.from + (t.to.from - t.from.from) * along;
    this.setSight(part >= 1 ? t.to : { from, to: from + span, px: t.to.px });
  }

  private goTo(sight: Sight): void {
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.target = null;
      this.setSight(sight);
      return;
    }
    this.target = { from: this.sight, to: sight, begin: performance.now() };
    this.redraw();
  }

  /** The box fills the width. */
  lookAt(box: number): void {
    if (!this.tree || box >= this.tree.n || this.tree.width[box] === 0)
      return;
    this.goTo(sightOf(this.tree, box, this.sight.px));
    this.reveal(this.tree.depth[box]!);
  }

  private reveal(row: number): void {
    const top = rowTop(this.geometry, row);
    if (top >= 0 && top + this.rowPx <= this.heightPx)
      return;
    this.scrollPx = Math.max(0, row * this.rowPx - this.heightPx / 3);
    this.redraw();
  }

  /** To what a click on a place means. */
  choose(place: number): void {
    const { tree, layout } = this;
    if (!tree || !layout || place < 0)
      return;
    const box = layout.box[place]!;
    if (layout.more[place] === 0 && !isRest(tree, box)) {
      this.events.onZoom(box, true);
      return;
    }
    const from = this.sight.from + (layout.x[place]! / this.sight.px) * (this.sight.to - this.sight.from);
    const to = from + (layout.width[place]! / this.sight.px) * (this.sight.to - this.sight.from);
    const room = (to - from) * 0.1;
    this.goTo(clampSight(tree, { from: from - room, to: to + room, px: this.sight.px }));
    this.settle();
  }

  private settle(): void {
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => {
      if (this.tree)
        this.events.onZoom(boxInSight(this.tree, this.target?.to ?? this.sight), false);
    }, SETTLE_MS);
  }

  zoomBy(factor: number, x = this.sight.px / 2): void {
    if (!this.tree)
      return;
    this.target = null;
    this.setSight(zoomAt(this.tree, this.sight, x, factor));
    this.settle();
  }

  private pan(dx: number, dy: number): void {
    if (!this.tree)
      return;
    const by = (-dx / this.sight.px) * (this.sight.to - this.sight.from);
    this.target = null;
    this.scrollPx = Math.min(Math.max(0, this.scrollPx + (this.options.isUpward ? dy : -dy)), this.maxScroll());
    this.setSight(clampSight(this.tree, { from: this.sight.from + by, to: this.sight.to + by, px: this.sight.px }));
    this.settle();
  }

  // ---- pointers ---------------------------------------------------------------------------------

  private placeAt(e: MouseEvent): number {
    const layout = this.laidOut();
    return layout ? hit(layout, rowAt(this.geometry, e.offsetY), e.offsetX) : -1;
  }

  private hover(place: number, x: number, y: number): void {
    if (place !== this.hovered)
      this.redraw();
    this.hovered = place;
    this.events.onHover(place, x, y);
  }

  private readonly onWheel = (e: WheelEvent): void => {
    const unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    e.preventDefault();
    this.hover(-1, 0, 0);
    if (e.ctrlKey || e.metaKey)
      this.zoomBy(Math.exp(-e.deltaY * unit * 0.01), e.offsetX);
    else if (e.altKey)
      this.pan(0, -e.deltaY * unit);
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
      this.pan(-(e.deltaX || e.deltaY) * unit, 0);
    else
      this.zoomBy(Math.exp(-e.deltaY * unit * 0.002), e.offsetX);
  };

  private readonly onDown = (e: PointerEvent): void => {
    if (e.button !== 0)
      return;
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    this.canvas.setPointerCapture(e.pointerId);
    this.pressed = this.pointers.size === 1 ? { x: e.offsetX, y: e.offsetY, isMoved: false } : null;
  };

  private readonly onPointer = (e: PointerEvent): void => {
    const last = this.pointers.get(e.pointerId);
    if (!last) {
      this.hover(this.placeAt(e), e.offsetX, e.offsetY);
      return;
    }
    if (this.pointers.size === 2)
      this.pinch(e, last);
    else if (this.pressed && (this.pressed.isMoved || Math.hypot(e.offsetX - this.pressed.x, e.offsetY - this.pressed.y) > CLICK_PX)) {
      this.pressed.isMoved = true;
      this.hover(-1, 0, 0);
      this.canvas.classList.add("is-dragged");
      this.pan(e.offsetX - last.x, e.offsetY - last.y);
    } else {
      return; // a click may tremble
    }
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
  };

  /** Two fingers: the distance zooms, their middle moves. */
  private pinch(e: PointerEvent, last: { x: number; y: number }): void {
    const other = [...this.pointers].find(([id]) => id !== e.pointerId)?.[1];
    if (!other)
      return;
    const before = Math.hypot(last.x - other.x, last.y - other.y);
    const after = Math.hypot(e.offsetX - other.x, e.offsetY - other.y);
    if (before > 0 && after > 0)
      this.zoomBy(after / before, (e.offsetX + other.x) / 2);
    this.pan((e.offsetX - last.x) / 2, (e.offsetY - last.y) / 2);
  }

  private readonly onUp = (e: PointerEvent): void => {
    const isClick = this.pressed !== null && !this.pressed.isMoved && this.pointers.size === 1;
    this.onCancel(e);
    if (isClick && e.button === 0)
      this.choose(this.placeAt(e));
  };

  private readonly onCancel = (e: PointerEvent): void => {
    this.pointers.delete(e.pointerId);
    this.pressed = null;
    this.canvas.classList.remove("is-dragged");
  };

  private readonly onLeave = (): void => {
    if (this.pointers.size === 0)
      this.hover(-1, 0, 0);
  };

  private readonly onContextMenu = (e: MouseEvent): void => {
    const place = this.placeAt(e);
    if (place < 0)
      return;
    e.preventDefault();
    this.hover(-1, 0, 0);
    this.events.onMenu(place, e.offsetX, e.offsetY);
  };

  // ---- keys -------------------------------------------------------------------------------------

  markedPlace(): number {
    const { tree, marked } = this;
    const layout = this.laidOut();
    if (!tree || !layout || !marked)
      return -1;
    if (!marked.isBar)
      return placeOfBox(tree, layout, marked.box);
    const row = tree.depth[marked.box]!;
    for (let k = layout.rowStart[row] ?? layout.n; k < (layout.rowStart[row + 1] ?? layout.n); k++)
      if (layout.box[k] === marked.box && layout.more[k] !== 0)
        return k;
    return -1;
  }

  mark(place: number): void {
    const layout = this.laidOut();
    if (layout && place >= 0) {
      this.marked = { box: layout.box[place]!, isBar: layout.more[place] !== 0 };
      this.reveal(this.tree!.depth[this.marked.box]!);
    } else {
      this.marked = null;
    }
    this.events.onMark(place);
    this.redraw();
  }

  /** Where a place lies on the canvas. */
  spotOf(place: number): { x: number; y: number } {
    const layout = this.laidOut();
    if (!layout || !this.tree || place < 0)
      return { x: 0, y: 0 };
    return { x: Math.max(0, layout.x[place]!), y: rowTop(this.geometry, this.tree.depth[layout.box[place]!]!) + this.rowPx };
  }

  /** From box to box: towards the callers, to the widest below, along the row. */
  step(key: "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight", box: number): void {
    const layout = this.laidOut();
    const at = this.markedPlace();
    if (!layout || !this.tree)
      return;
    if (at < 0) {
      this.mark(Math.max(0, placeOfBox(this.tree, layout, box)));
      return;
    }
    const row = this.tree.depth[layout.box[at]!]!;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const next = at + (key === "ArrowLeft" ? -1 : 1);
      if (next >= layout.rowStart[row]! && next < layout.rowStart[row + 1]!)
        this.mark(next);
      return;
    }
    const isOutward = (key === "ArrowUp") !== this.options.isUpward;
    const middle = Math.min(Math.max(layout.x[at]! + layout.width[at]! / 2, 0), this.sight.px);
    const next = isOutward ? hit(layout, row - 1, middle) : this.widestBelow(layout, row, at);
    if (next >= 0)
      this.mark(next);
  }

  private widestBelow(layout: Layout, row: number, at: number): number {
    let best = -1;
    if (row + 1 >= layout.rows)
      return -1;
    for (let k = layout.rowStart[row + 1]!; k < layout.rowStart[row + 2]!; k++) {
      const middle = layout.x[k]! + layout.width[k]! / 2;
      if (middle >= layout.x[at]! && middle <= layout.x[at]! + layout.width[at]! && (best < 0 || layout.width[k]! > layout.width[best]!))
        best = k;
    }
    return best;
  }
}
