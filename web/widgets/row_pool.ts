// SPDX-License-Identifier: MIT
// The rows of a table as elements that are used again while it scrolls. A row that comes takes the elements of one that left, and of those only the
// texts and bars that differ are touched: no elements are made, and no row is laid out anew. That keeps a frame short whatever the table holds.
import { render, type ComponentChildren } from "preact";
import { splitName } from "../model/spread";
import type { ColumnPlace } from "../model/table_rows";
import { visible, visibleLines } from "../model/visible";
import type { Column } from "./table";

export const ROW_PX = 24;
/** No letter of the font is wider on average; others may be as wide as high. */
const LETTER_PX = 9;
const ODD_LETTER_PX = 14;
const PLAIN = /^[\x20-\x7e]*$/;

/** What is to be seen. */
export interface Sight {
  readonly id: string;
  readonly columns: readonly Column[];
  readonly places: readonly ColumnPlace[];
  /** Rows in their order. */
  readonly shown: Uint32Array;
  readonly first: number;
  readonly end: number;
  /** Place in the order, -1 none. */
  readonly chosen: number;
  readonly isPicked?: (row: number) => boolean;
}

class CellSlot {
  readonly element = document.createElement("div");
  private readonly text = document.createTextNode("");
  private readonly head: Text | null = null;
  private bar = 0;
  private isMadeOfElements = false;
  private isLong = false;
  private readonly widthPx: number;

  constructor(column: Column, place: ColumnPlace) {
    this.widthPx = place.widthPx;
    this.element.style.left = `${place.leftPx}px`;
    this.element.style.width = `${place.widthPx}px`;
    this.element.setAttribute("role", "gridcell");
    this.element.className = `cell${column.isNumber ? " is-number" : ""}${column.look ? ` is-${column.look}` : ""}`;
    if (column.look === "name") {
      const parts = ["name-head", "name-tail"].map((name) => Object.assign(document.createElement("span"), { className: name }));
      this.head = document.createTextNode("");
      parts[0]!.append(this.head);
      parts[1]!.append(this.text);
      this.element.append(...parts);
    } else {
      this.element.append(this.text);
    }
  }

  show(column: Column, row: number): void {
    const content = column.cell(row);
    if (typeof content === "string") this.showText(visible(content));
    else this.showElements(content);
    const share = column.share?.(row) ?? 0;
    if (share !== this.bar) this.showBar(share);
    if (this.element.title !== "") this.element.title = ""; // that of the row before; the pointer brings its own
  }

  private showText(content: string): void {
    if (this.isMadeOfElements) {
      render(null, this.element);
      this.element.append(this.text);
      this.isMadeOfElements = false;
    }
    // What might not fit is clipped, which costs the browser time in every frame; so nothing else is.
    const isLong = content.length * (PLAIN.test(content) ? LETTER_PX : ODD_LETTER_PX) > this.widthPx;
    if (isLong !== this.isLong) this.element.classList.toggle("is-long", (this.isLong = isLong));
    const [head, tail] = this.head ? splitName(content) : ["", content];
    if (this.head && this.head.data !== head) this.head.data = head;
    if (this.text.data !== tail) this.text.data = tail;
  }

  private showElements(content: ComponentChildren): void {
    if (!this.isMadeOfElements) this.text.remove();
    this.isMadeOfElements = true;
    render(content, this.element);
  }

  private showBar(share: number): void {
    this.element.style.backgroundSize = `${Math.round(Math.min(1, Math.abs(share)) * 100)}% 18px`;
    if (share < 0 !== this.bar < 0) this.element.classList.toggle("is-less", share < 0);
    this.bar = share;
  }

  end(): void {
    if (this.isMadeOfElements) render(null, this.element);
  }
}

class RowSlot {
  readonly element = document.createElement("div");
  private readonly cells: readonly CellSlot[];
  private row = -1;
  private at = -1;
  private state = "row";

  constructor(private readonly columns: readonly Column[], places: readonly ColumnPlace[]) {
    this.element.setAttribute("role", "row");
    this.element.className = this.state;
    this.cells = columns.map((column, i) => new CellSlot(column, places[i]!));
    this.element.append(...this.cells.map((cell) => cell.element));
  }

  show(sight: Sight, at: number): void {
    const row = sight.shown[at]!;
    const isPicked = sight.isPicked?.(row) ?? false;
    const state = `row${at === sight.chosen ? " is-chosen" : ""}${isPicked ? " is-picked" : ""}`;
    if (at !== this.at) {
      this.element.id = `${sight.id}-${at}`;
      this.element.setAttribute("aria-rowindex", String(at + 2));
      this.element.dataset["at"] = String(at);
      this.element.style.top = `${at * ROW_PX}px`;
      this.at = at;
    }
    if (state !== this.state || row !== this.row) this.element.setAttribute("aria-selected", String(isPicked));
    if (state !== this.state) this.element.className = this.state = state;
    if (row !== this.row) this.columns.forEach((column, i) => this.cells[i]!.show(column, row));
    this.row = row;
  }

  /** The whole of what a cell shows, for the pointer over it. */
  tell(target: Node): void {
    const i = this.cells.findIndex((cell) => cell.element.contains(target));
    if (i >= 0) this.cells[i]!.element.title = visibleLines(this.columns[i]!.tip?.(this.row) ?? "");
  }

  end(): void {
    for (const cell of this.cells) cell.end();
    this.element.remove();
  }
}

export class RowPool {
  private slots: (RowSlot | undefined)[] = [];
  private columns: readonly Column[] = [];
  private places: readonly ColumnPlace[] = [];

  constructor(private readonly container: HTMLElement) {}

  /** Row i is always in slot i % slots: the elements of those that leave are taken by those that come. */
  show(sight: Sight): void {
    const n = sight.end - sight.first;
    if (sight.columns !== this.columns || sight.places !== this.places || n > this.slots.length) {
      this.end();
      this.columns = sight.columns;
      this.places = sight.places;
      this.slots = new Array<RowSlot | undefined>(n);
    }
    const size = this.slots.length;
    for (let i = 0; i < size; i++) {
      const at = sight.first + i;
      const slot = this.slots[at % size];
      if (i >= n) {
        slot?.end();
        this.slots[at % size] = undefined;
        continue;
      }
      const used = slot ?? new RowSlot(sight.columns, sight.places);
      used.show(sight, at);
      if (!slot) this.container.append(used.element);
      this.slots[at % size] = used;
    }
  }

  tell(target: Node): void {
    this.slots.find((slot) => slot?.element.contains(target))?.tell(target);
  }

  end(): void {
    for (const slot of this.slots) slot?.end();
    this.slots = [];
  }
}
