// SPDX-License-Identifier: MIT
// Choosing a stretch of a timeline with the pointer: drag chooses, its edges and its grip can be dragged again, a click is a moment, a double click clears.

export interface BrushEvents {
  /** From one to the other moment; isLast: the pointer was lifted. */
  readonly choose: (from_s: number, to_s: number, isFirst: boolean, isLast: boolean) => void;
  readonly moment: (at_s: number) => void;
  readonly clear: () => void;
}

export interface BrushScale {
  readonly toSeconds: (px: number) => number;
  readonly toPixels: (seconds: number) => number;
}

const CLICK_PX = 3;
const EDGE_PX = 7;
const GRIP_PX = 12;
/** A second click in that time is a double click. */
const DOUBLE_MS = 260;

type Drag = { readonly kind: "new" | "move"; readonly anchor_px: number; readonly left_px: number; readonly right_px: number } | { readonly kind: "edge"; readonly fixed_px: number };

export class Brush {
  private readonly box = document.createElement("div");
  private drag: Drag | null = null;
  private began_px = 0;
  private hasMoved = false;
  private frame = 0;
  private clickTimer = 0;
  private span: { from_s: number; to_s: number } | null = null;

  constructor(private readonly over: HTMLElement, private readonly scale: BrushScale, private readonly events: BrushEvents) {
    this.box.className = "brush";
    for (const part of ["brush-edge", "brush-edge is-right", "brush-grip"]) this.box.appendChild(document.createElement("i")).className = part;
    over.append(this.box);
    over.addEventListener("pointerdown", this.down);
    over.addEventListener("pointermove", this.moved);
    over.addEventListener("pointerup", this.up);
    over.addEventListener("pointercancel", this.up);
    over.addEventListener("dblclick", this.twice);
  }

  done(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.clickTimer);
    this.box.remove();
  }

  /** What is chosen; null: nothing. */
  show(span: { from_s: number; to_s: number } | null): void {
    this.span = span;
    this.place();
  }

  place(): void {
    const width = this.over.clientWidth;
    this.box.hidden = this.span === null;
    if (!this.span) return;
    const left = Math.max(-4, this.scale.toPixels(this.span.from_s));
    const right = Math.min(width + 4, this.scale.toPixels(this.span.to_s));
    this.box.hidden = right < 0 || left > width;
    this.box.style.left = `${left}px`;
    this.box.style.width = `${Math.max(1, right - left)}px`;
  }

  private at(event: PointerEvent): { x: number; y: number } {
    const place = this.over.getBoundingClientRect();
    return { x: Math.min(Math.max(event.clientX - place.left, 0), place.width), y: event.clientY - place.top };
  }

  private readonly down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const { x, y } = this.at(event);
    this.over.setPointerCapture(event.pointerId);
    this.began_px = x;
    this.hasMoved = false;
    const left = this.span ? this.scale.toPixels(this.span.from_s) : -100;
    const right = this.span ? this.scale.toPixels(this.span.to_s) : -100;
    if (Math.abs(x - left) <= EDGE_PX) this.drag = { kind: "edge", fixed_px: right };
    else if (Math.abs(x - right) <= EDGE_PX) this.drag = { kind: "edge", fixed_px: left };
    else this.drag = { kind: x > left && x < right && y < GRIP_PX ? "move" : "new", anchor_px: x, left_px: left, right_px: right };
  };

  private readonly moved = (event: PointerEvent): void => {
    if (!this.drag) return;
    const { x } = this.at(event);
    if (!this.hasMoved && Math.abs(x - this.began_px) < CLICK_PX) return;
    const isFirst = !this.hasMoved;
    this.hasMoved = true;
    if (isFirst) return this.tell(x, true, false);
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.tell(x, false, false));
  };

  private readonly up = (event: PointerEvent): void => {
    if (!this.drag) return;
    cancelAnimationFrame(this.frame);
    const { x } = this.at(event);
    if (this.hasMoved) this.tell(x, false, true);
    else if (event.type === "pointerup" && this.drag.kind === "new") {
      clearTimeout(this.clickTimer);
      const at_s = this.scale.toSeconds(x);
      this.clickTimer = window.setTimeout(() => this.events.moment(at_s), DOUBLE_MS);
    }
    this.drag = null;
  };

  private readonly twice = (): void => {
    clearTimeout(this.clickTimer);
    this.events.clear();
  };

  private tell(x: number, isFirst: boolean, isLast: boolean): void {
    const d = this.drag;
    if (!d) return;
    let [a, b] = d.kind === "edge" ? [d.fixed_px, x] : d.kind === "new" ? [d.anchor_px, x] : [d.left_px + x - d.anchor_px, d.right_px + x - d.anchor_px];
    if (a > b) [a, b] = [b, a];
    if (b - a < 1) b = a + 1;
    this.events.choose(this.scale.toSeconds(a), this.scale.toSeconds(b), isFirst, isLast);
  }
}
