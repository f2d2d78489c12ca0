// SPDX-License-Identifier: MIT
// A table that holds 100,000 rows: only those in sight are drawn, and as rows move their elements are used again (row_pool.ts). Scrolling alone
// passes by the components: it moves rows and says which they are.
// Arrows, Home, End and pages choose a row, Enter opens it, c copies what passes the filter as TSV.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { filterRows, filterWords, moveTo, nextSort, placeColumns, scrollFor, sortRows, toTsv, visibleRange, type ColumnPlace, type Sort, type Values } from "../model/table_rows";
import { count, plural } from "../model/units";
import { copyText } from "./clipboard";
import { ROW_PX, RowPool } from "./row_pool";

const BEYOND_ROWS = 4;
/** So much is little room. */
const NARROW_PX = 560;

export interface Column {
  readonly key: string;
  readonly title: string;
  /** What the heading means, on hover. */
  readonly hint?: string;
  readonly minPx: number;
  /** How much of the room that is left it gets. */
  readonly grow?: number;
  readonly isNumber?: boolean;
  /** What it sorts by, by row; none: it does not sort. */
  readonly values?: Values;
  /** Texts are several times as quick as elements. */
  readonly cell: (row: number) => ComponentChildren;
  /** How a text is drawn: a name is cut in its middle. */
  readonly look?: "name" | "quiet";
  /** Whole, on hover. */
  readonly tip?: (row: number) => string | undefined;
  /** The bar behind a number, from -1 to 1. */
  readonly share?: (row: number) => number;
  /** Comes last where there is little room. */
  readonly isMinor?: boolean;
  /** As TSV has it; none: the column is not copied. */
  readonly copy?: (row: number) => string;
}

export interface TableProps {
  /** For screen readers. */
  readonly label: string;
  readonly n: number;
  /** Of so many, where the others are on their way. */
  readonly nInAll?: number | undefined;
  readonly columns: readonly Column[];
  readonly sort?: Sort;
  readonly onSort?: (sort: Sort) => void;
  /** What was typed to filter, and in lower case what it is looked for in. */
  readonly filter?: string;
  readonly text?: (row: number) => string;
  readonly isPicked?: (row: number) => boolean;
  readonly onOpen?: (row: number) => void;
  /** Keys that the table does not know; true: it was about the row. */
  readonly onKey?: (event: KeyboardEvent, row: number) => boolean;
  readonly empty: ComponentChildren;
  /** Beside the number of rows. */
  readonly note?: ComponentChildren;
  readonly tools?: ComponentChildren;
  /** As high as its rows, at most so many; none: as high as there is room. */
  readonly maxRows?: number;
}

// ---- headings ------------------------------------------------------------------------------------

function Heading({ column, place, index, sort, onSort }: { column: Column; place: ColumnPlace; index: number; sort?: Sort; onSort?: (sort: Sort) => void }) {
  const isSorted = sort?.column === column.key;
  const isText = typeof column.values?.[0] === "string";
  const direction = !isSorted ? "none" : sort.descending !== isText ? "descending" : "ascending";
  return (
    <div role="columnheader" class={column.isNumber ? "cell is-number" : "cell"} aria-colindex={index + 1} aria-sort={column.values && onSort ? direction : undefined} title={column.hint}
         style={{ left: `${place.leftPx}px`, width: `${place.widthPx}px` }}>
      {column.values && onSort && sort ? (
        <button type="button" class="heading" onClick={() => onSort(nextSort(sort, column.key))}>
          {column.title}
          <span class="heading-arrow" aria-hidden="true">{direction === "none" ? "" : direction === "descending" ? " ▼" : " ▲"}</span>
        </button>
      ) : (
        <span class="heading">{column.title}</span>
      )}
    </div>
  );
}

// ---- the table -----------------------------------------------------------------------------------

let nTables = 0;

export function Table(props: TableProps) {
  const { n, sort, filter = "", text } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [id] = useState(() => `table-${++nTables}`);
  const rows = useRef<HTMLDivElement>(null);
  const range = useRef<HTMLSpanElement>(null);
  const pool = useRef<RowPool | null>(null);
  const [heightPx, setHeight] = useState(480);
  const [widthPx, setWidth] = useState(960);
  const [chosen, choose] = useState(-1); // place in the order
  const [said, say] = useState("");

  const isNarrow = widthPx < NARROW_PX;
  const columns = useMemo(() => {
    if (!isNarrow) return props.columns;
    return [...props.columns.filter((column) => !column.isMinor), ...props.columns.filter((column) => column.isMinor)].map((column) => (column.grow ? { ...column, minPx: Math.min(column.minPx, 128) } : column));
  }, [props.columns, isNarrow]);
  const { places, wholePx } = useMemo(() => placeColumns(columns, widthPx), [columns, widthPx]);
  const by = columns.find((column) => column.key === sort?.column)?.values;
  const order = useMemo(() => {
    if (by && sort) return sortRows(by, sort.descending);
    return Uint32Array.from({ length: n }, (_, i) => i);
  }, [by, sort?.descending, n]);
  const shown = useMemo(() => (text ? filterRows(order, filterWords(filter), text) : order), [order, filter, text]);

  const draw = (): void => {
    const element = scroller.current;
    if (!element || !rows.current || !range.current) return;
    const scrollPx = element.scrollTop;
    const sight = visibleRange(scrollPx, heightPx - ROW_PX, ROW_PX, shown.length, BEYOND_ROWS);
    pool.current ??= new RowPool(rows.current);
    pool.current.show({ id, columns, places, shown, ...sight, chosen, isPicked: props.isPicked });
    const last = Math.min(shown.length, Math.ceil((scrollPx + heightPx - ROW_PX) / ROW_PX));
    range.current.textContent = said !== "" ? said : shown.length > 0 ? `${count(Math.floor(scrollPx / ROW_PX) + 1)}–${count(last)} of ${count(shown.length === n ? (props.nInAll ?? n) : shown.length)}` : "none";
    if (chosen >= sight.first && chosen < sight.end) element.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    else element.removeAttribute("aria-activedescendant");
  };
  useLayoutEffect(draw);
  useLayoutEffect(() => () => pool.current?.end(), []);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = (): void => {
      setHeight(element.clientHeight);
      setWidth(element.clientWidth);
    };
    const observer = new ResizeObserver(measure);
    measure();
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // Another order: a place in the former one means nothing. Other figures, as of a recording that grows, leave one where one was.
  useEffect(() => {
    choose(-1);
    if (scroller.current) scroller.current.scrollTop = 0;
  }, [props.label, sort?.column, sort?.descending, filter]);

  const copy = (): void => {
    const copied = columns.filter((column) => column.copy);
    const lines = [copied.map((column) => column.title), ...Array.from(shown, (row) => copied.map((column) => column.copy?.(row) ?? ""))];
    copyText(toTsv(lines)).then(
      () => say(`${plural(shown.length, "row")} copied`),
      () => say("The browser does not allow copying"),
    );
  };

  const onKeyDown = (event: JSX.TargetedKeyboardEvent<HTMLDivElement>): void => {
    const element = scroller.current;
    if (!element || event.ctrlKey || event.metaKey || event.altKey || (event.target as HTMLElement).tagName === "BUTTON") return;
    const row = chosen >= 0 ? shown[chosen] : undefined;
    const to = moveTo(event.key, chosen, shown.length, Math.floor((heightPx - ROW_PX) / ROW_PX));
    if (row !== undefined && props.onKey?.(event, row)) {
      // it was about the row
    } else if (to !== undefined) {
      choose(to);
      element.scrollTop = scrollFor(to, element.scrollTop, heightPx - ROW_PX, ROW_PX);
    } else if (event.key === "Enter" && row !== undefined) props.onOpen?.(row);
    else if (event.key === "c") copy();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const onClick = (event: JSX.TargetedMouseEvent<HTMLDivElement>): void => {
    const target = event.target as HTMLElement;
    const line = target.closest<HTMLElement>("[data-at]");
    if (!line || target.closest("a, button")) return;
    const at = Number(line.dataset["at"]);
    choose(at);
    props.onOpen?.(shown[at]);
  };

  const style: JSX.CSSProperties = {};
  if (props.maxRows !== undefined) style.height = `${(Math.min(props.maxRows, Math.max(1, shown.length)) + 1) * ROW_PX + 18}px`;
  return (
    <div class={props.maxRows === undefined ? "table is-filling" : "table"}>
      <div class="table-tools">
        {props.tools}
        <span class="table-count" role="status">
          <span ref={range} />
          {said === "" && shown.length < n && ` (${count(props.nInAll ?? n)} without the filter)`}
        </span>
        {props.note}
      </div>
      <div
        ref={scroller}
        class="table-scroll"
        style={style}
        role="grid"
        tabIndex={0}
        aria-label={props.label}
        aria-rowcount={shown.length + 1}
        aria-colcount={columns.length}
        onScroll={draw}
        onKeyDown={onKeyDown}
        onClick={onClick}
        onMouseOver={(event) => pool.current?.tell(event.target as Node)}
        onBlur={() => say("")}
      >
        <div role="row" class="row is-head" aria-rowindex={1} style={{ width: `${wholePx}px` }}>
          {columns.map((column, i) => (
            <Heading key={column.key} column={column} place={places[i]!} index={i} sort={sort} onSort={props.onSort} />
          ))}
        </div>
        <div ref={rows} class="table-rows" role="presentation" style={{ width: `${wholePx}px`, height: `${shown.length * ROW_PX}px` }} />
        {shown.length === 0 && <div class="table-empty">{n === 0 ? props.empty : <p>No row has “{filter}”. Another word, or none, shows more.</p>}</div>}
      </div>
    </div>
  );
}
