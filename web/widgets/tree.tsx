// SPDX-License-Identifier: MIT
// A tree as indented rows: only those in sight are drawn. Right opens, left closes, * opens all below, Enter tells more, c copies the call path.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { scrollFor, visibleRange } from "../model/table_rows";
import { openAtFirst, revealed, rowsOf, stepRows, type RowTree } from "../model/tree_rows";
import { Menu, type MenuItem } from "./menu";

const ROW_PX = 24;
const BEYOND_ROWS = 8;
const INDENT_PX = 14;
const MAX_INDENT = 24; // levels; deeper ones are not moved further, their depth is written

export interface TreeColumn {
  readonly title: string;
  readonly hint?: string;
  readonly isWide?: boolean;
  cell(node: number): ComponentChildren;
  /** the bar behind the number, 0 to 1 */
  share?(node: number): number;
}

export interface TreeProps {
  readonly label: string;
  readonly tree: RowTree;
  readonly value: readonly number[];
  readonly heading: string;
  name(node: number): ComponentChildren;
  title(node: number): string;
  readonly columns: readonly TreeColumn[];
  /** Rows that are looked for: they are shown, the rest is dimmed. */
  readonly found: ReadonlySet<number> | null;
  itemsFor(node: number): readonly MenuItem[];
  onOpen(node: number): void;
  /** A row was chosen, by a click or by keys. */
  onChoose?(node: number): void;
  onCopy(node: number): void;
}

export function Tree(props: TreeProps) {
  const { tree, columns, found } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<ReadonlySet<number>>(() => openAtFirst(tree, props.value));
  const [chosen, setChosen] = useState(-1);
  const choose = (node: number): void => {
    setChosen(node);
    if (node >= 0) props.onChoose?.(node);
  };
  const [scrollPx, setScroll] = useState(0);
  const [heightPx, setHeight] = useState(480);
  const [menu, setMenu] = useState<{ node: number; x: number; y: number } | null>(null);
  const rows = useMemo(() => rowsOf(tree, open), [tree, open]);
  const range = visibleRange(scrollPx, heightPx - ROW_PX, ROW_PX, rows.length, BEYOND_ROWS);

  useEffect(() => {
    setOpen(openAtFirst(tree, props.value));
    setChosen(-1);
  }, [tree]);
  useEffect(() => {
    if (found) setOpen((was) => revealed(tree, was, [...found].slice(0, 500)));
  }, [tree, found]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const size = new ResizeObserver(() => setHeight(element.clientHeight));
    size.observe(element);
    return () => size.disconnect();
  }, []);

  const reveal = (node: number, of: readonly number[]): void => {
    const element = scroller.current;
    const at = of.indexOf(node);
    if (element && at >= 0) element.scrollTop = scrollFor(at, element.scrollTop, element.clientHeight - ROW_PX, ROW_PX);
  };

  const toggle = (node: number): void => {
    const next = new Set(open);
    if (!next.delete(node)) next.add(node);
    setOpen(next);
    choose(node);
  };

  const onKey = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = stepRows(tree, open, rows, chosen, e.key, Math.max(1, Math.floor(heightPx / ROW_PX) - 2));
    if (step) {
      if (step.open !== open) setOpen(step.open);
      choose(step.chosen);
      reveal(step.chosen, step.open === open ? rows : rowsOf(tree, step.open));
    } else if (e.key === "Enter" && chosen >= 0) props.onOpen(chosen);
    else if (e.key === "c" && chosen >= 0) props.onCopy(chosen);
    else if ((e.key === "m" || e.key === "ContextMenu") && chosen >= 0) setMenu({ node: chosen, x: 120, y: rows.indexOf(chosen) * ROW_PX - scrollPx + 2 * ROW_PX });
    else if (!e.key.startsWith("Arrow")) return;
    e.preventDefault();
    e.stopPropagation();
  };

  const tracks = `minmax(200px, 1fr) ${columns.map((column) => (column.isWide ? "minmax(96px, 200px)" : "96px")).join(" ")}`;
  return (
    <div class="tree">
      <div class="tree-scroll" ref={scroller} tabIndex={0} role="treegrid" aria-label={props.label} aria-rowcount={rows.length}
           aria-activedescendant={chosen >= 0 ? `tree-row-${chosen}` : undefined} style={{ "--tracks": tracks }}
           onScroll={(e) => setScroll(e.currentTarget.scrollTop)} onKeyDown={onKey}>
        <div class="tree-row is-head" role="row">
          <div role="columnheader">{props.heading}</div>
          {columns.map((column) => <div role="columnheader" class="number" key={column.title} title={column.hint}>{column.title}</div>)}
        </div>
        <div class="tree-rows" style={{ height: `${rows.length * ROW_PX}px` }}>
          {rows.slice(range.first, range.end).map((node, k) => {
            const hasChildren = tree.children[node]!.length > 0;
            const level = tree.depth[node]!;
            return (
              <div key={node} id={`tree-row-${node}`} role="row" aria-level={level} aria-expanded={hasChildren ? open.has(node) : undefined} aria-selected={node === chosen}
                   class={`tree-row${node === chosen ? " is-chosen" : ""}${found && !found.has(node) ? " is-dim" : ""}`}
                   style={{ transform: `translateY(${(range.first + k) * ROW_PX}px)` }}
                   onClick={() => { choose(node); if (hasChildren) toggle(node); }} onDblClick={() => props.onOpen(node)}
                   onContextMenu={(e) => {
                     const box = scroller.current?.getBoundingClientRect();
                     e.preventDefault();
                     choose(node);
                     setMenu({ node, x: e.clientX - (box?.left ?? 0), y: e.clientY - (box?.top ?? 0) });
                   }}>
                <div role="gridcell" class="tree-name" style={{ paddingLeft: `${Math.min(level - 1, MAX_INDENT) * INDENT_PX}px` }} title={props.title(node)}>
                  <span class="tree-arrow" aria-hidden="true">{hasChildren ? (open.has(node) ? "▾" : "▸") : ""}</span>
                  {level > MAX_INDENT && <span class="quiet">{level} </span>}
                  {props.name(node)}
                </div>
                {columns.map((column) => (
                  <div role="gridcell" class="cell is-number" key={column.title}>
                    {column.share && <span class="cell-bar" style={{ width: `${Math.min(1, column.share(node)) * 100}%` }} />}
                    <span class="cell-text">{column.cell(node)}</span>
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {menu && <Menu label={props.title(menu.node)} items={props.itemsFor(menu.node)} x={menu.x} y={menu.y} onClose={() => { setMenu(null); scroller.current?.focus(); }} />}
    </div>
  );
}
