// SPDX-License-Identifier: MIT
// The flame graph: breadcrumbs, the canvas, what is said beside the pointer, and a menu for each box.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { cut } from "../model/cut";
import { sumOf } from "../model/flame_layout";
import { boxAtZoom, growTree, isRest, lineage, nameOf, search as searchTree, searchPattern, zoomText, type FlameColumns, type FlameTree } from "../model/flame_tree";
import { foundText, spoken, stackText, tell, type Told } from "../model/flame_words";
import { visible } from "../model/visible";
import { copyText } from "./clipboard";
import { FlameStage } from "./flame_stage";
import { Menu, type MenuItem } from "./menu";

export interface FlameProps {
  readonly columns: FlameColumns;
  /** The same picture as before with more boxes: one stays where one is. */
  readonly isFiner?: boolean;
  readonly label: string;
  readonly search: string;
  /** What the search found of what is drawn and what is not; none: of what is drawn. */
  readonly found?: ComponentChildren;
  readonly zoom: string;
  /** callers below */
  readonly isUpward: boolean;
  onZoom(zoom: string, how: "push" | "replace"): void;
  /** Only a part is in sight now. */
  onNear?(): void;
  /** What one may do with a box, beside zooming and copying. */
  itemsFor(tree: FlameTree, box: number): readonly MenuItem[];
  /** What one keystroke or a click with a key held does with it. */
  readonly onOpen?: ((tree: FlameTree, box: number) => void) | undefined;
}

interface Spot {
  readonly place: number;
  readonly x: number;
  readonly y: number;
}

const NOWHERE: Spot = { place: -1, x: 0, y: 0 };

export function Flame(props: FlameProps) {
  const { columns, isUpward } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const around = useRef<HTMLDivElement>(null);
  const stage = useRef<FlameStage | null>(null);
  const latest = useRef(props);
  const sent = useRef<string | null>(null); // the zoom that came from here
  const [hovered, setHovered] = useState<Spot>(NOWHERE);
  const [menu, setMenu] = useState<Spot>(NOWHERE);
  const [marked, setMarked] = useState(-1);
  const tree = useMemo(() => growTree(columns), [columns]);
  const pattern = useMemo(() => (props.search === "" ? null : searchPattern(props.search)), [props.search]);
  const found = useMemo(() => (pattern ? searchTree(tree, pattern) : null), [tree, pattern]);
  const at = useMemo(() => boxAtZoom(tree, props.zoom), [tree, props.zoom]);
  latest.current = props;

  const zoomTo = (of: FlameTree, box: number, isChoice: boolean): void => {
    const text = zoomText(of, box);
    if (isChoice) stage.current?.lookAt(box);
    if (text === latest.current.zoom) return;
    sent.current = text;
    latest.current.onZoom(text, isChoice ? "push" : "replace");
  };

  useLayoutEffect(() => {
    if (!canvas.current || !around.current) return undefined;
    const s = new FlameStage(canvas.current, {
      onZoom: (box, isChoice) => {
        if (!s.tree) return;
        zoomTo(s.tree, box, isChoice);
        if (s.isNear() || box !== 0) latest.current.onNear?.();
      },
      onHover: (place, x, y) => setHovered((was) => (place < 0 && was.place < 0 ? was : { place, x, y })),
      onMark: setMarked,
      onMenu: (place, x, y) => setMenu({ place, x, y }),
    });
    const size = new ResizeObserver(() => around.current && s.resize(around.current.clientWidth, around.current.clientHeight));
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    const onScheme = (): void => s.forgetColours();
    stage.current = s;
    size.observe(around.current);
    scheme.addEventListener("change", onScheme);
    s.resize(around.current.clientWidth, around.current.clientHeight);
    return () => {
      size.disconnect();
      scheme.removeEventListener("change", onScheme);
      s.end();
    };
  }, []);

  useLayoutEffect(() => {
    stage.current?.setTree(tree, at, props.isFiner === true);
    setMarked(-1);
    setMenu(NOWHERE);
  }, [tree]);
  useLayoutEffect(() => {
    stage.current?.setOptions({ isUpward, found });
  }, [tree, found, isUpward]);
  useEffect(() => {
    if (sent.current !== props.zoom) stage.current?.lookAt(at);
    sent.current = null;
  }, [props.zoom]);

  const itemsOf = (place: number): readonly MenuItem[] => {
    const layout = stage.current?.layout;
    if (!layout || place < 0 || place >= layout.n) return [];
    const box = layout.box[place]!;
    const zoomItem: MenuItem = { text: "Zoom to it", key: "Enter", run: () => stage.current?.choose(place) };
    if (layout.more[place] !== 0 || isRest(tree, box)) return [zoomItem];
    const copyItem: MenuItem = { text: "Copy call path", key: "c", run: () => copy(tree, box) };
    return box === 0 ? [zoomItem] : [zoomItem, ...props.itemsFor(tree, box), copyItem];
  };

  const onKey = (e: KeyboardEvent): void => {
    const s = stage.current;
    if (!s || e.altKey || e.ctrlKey || e.metaKey) return;
    const place = s.markedPlace();
    const box = place >= 0 && s.layout ? s.layout.box[place]! : -1;
    if (e.key === "ArrowUp" || e.key === "ArrowDown" || e.key === "ArrowLeft" || e.key === "ArrowRight") s.step(e.key, at);
    else if (e.key === "Enter" && place >= 0) s.choose(place);
    else if (e.key === "Escape" && (at !== 0 || place >= 0)) {
      s.mark(-1);
      zoomTo(tree, 0, true);
    } else if (e.key === "Backspace" && at !== 0) zoomTo(tree, tree.columns.parent[at] ?? 0, true);
    else if (e.key === "Home") zoomTo(tree, 0, true);
    else if (e.key === "+" || e.key === "=") s.zoomBy(1.5);
    else if (e.key === "-") s.zoomBy(1 / 1.5);
    else if ((e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey) || e.key === "m") && place >= 0) setMenu({ place, ...s.spotOf(place) });
    else if (e.key === "c" && box > 0) copy(tree, box);
    else if ((e.key === "o" || e.key === " ") && box > 0 && props.onOpen) props.onOpen(tree, box);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const told = toldAt(tree, stage.current, hovered.place >= 0 ? hovered.place : marked);
  const spot = hovered.place >= 0 ? hovered : { place: marked, ...(stage.current?.spotOf(marked) ?? { x: 0, y: 0 }) };
  const markedTold = toldAt(tree, stage.current, marked);
  return (
    <div class="flame">
      <div class="flame-bar">
        <Crumbs tree={tree} at={at} onChoose={(box) => zoomTo(tree, box, true)} />
        <span class="flame-found" role={props.found === undefined ? "status" : undefined}>
          {props.search === "" ? "" : props.found !== undefined ? props.found : pattern === null ? "not a regular expression" : found ? foundText(tree, found) : ""}
        </span>
      </div>
      <div class="flame-around" ref={around} onKeyDown={onKey} tabIndex={0} role="tree" aria-label={`${props.label}; arrow keys move, Enter zooms, m opens a menu`}
           aria-activedescendant={markedTold ? `flame-box-${marked}` : undefined} onBlur={() => setHovered(NOWHERE)}>
        <canvas ref={canvas} aria-hidden="true" data-boxes={tree.n} />
        {markedTold && stage.current?.layout && (
          <div class="unseen" role="treeitem" id={`flame-box-${marked}`} key={marked} aria-selected="true"
               aria-level={(tree.depth[stage.current.layout.box[marked] ?? 0] ?? 0) + 1}>
            {spoken(markedTold)}
          </div>
        )}
        {told && menu.place < 0 && <Tip told={told} x={spot.x} y={spot.y} />}
        {menu.place >= 0 && (
          <Menu label={toldAt(tree, stage.current, menu.place)?.title ?? ""} items={itemsOf(menu.place)} x={menu.x} y={menu.y}
                onClose={() => { setMenu(NOWHERE); around.current?.focus(); }} />
        )}
      </div>
    </div>
  );
}

function toldAt(tree: FlameTree, stage: FlameStage | null, place: number): Told | null {
  const layout = stage?.layout;
  if (!layout || stage.tree !== tree || place < 0 || place >= layout.n) return null;
  return tell(tree, layout.box[place]!, layout.more[place] !== 0 ? sumOf(tree, layout, place) : null);
}

function copy(tree: FlameTree, box: number): void {
  copyText(stackText(tree, lineage(tree, box))).catch(() => undefined); // a browser that forbids it says so itself
}

const CRUMB_LETTERS = 32;
const CRUMBS = 5;

/** Where one is: all › main › … › serve › parse. */
function Crumbs({ tree, at, onChoose }: { tree: FlameTree; at: number; onChoose(box: number): void }) {
  const line = lineage(tree, at);
  const hidden = Math.max(0, line.length - CRUMBS);
  const shown = hidden > 1 ? [line[0]!, ...line.slice(-CRUMBS + 1)] : line;
  return (
    <nav class="crumbs" aria-label="Where the flame graph is">
      <button type="button" class="crumb" disabled={at === 0} onClick={() => onChoose(0)}>all</button>
      {shown.map((box, i) => (
        <span key={box}>
          <span class="quiet" aria-hidden="true">{i === 1 && hidden > 1 ? " › … ›" : " ›"} </span>
          <button type="button" class="crumb mono" title={visible(nameOf(tree, box))} aria-current={box === at ? "location" : undefined} onClick={() => onChoose(box)}>
            {cut(visible(nameOf(tree, box)), CRUMB_LETTERS)}
          </button>
        </span>
      ))}
    </nav>
  );
}

const TIP_GAP_PX = 14;

/** Beside the pointer, inside of the graph. */
function Tip({ told, x, y }: { told: Told; x: number; y: number }) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = tip.current;
    const around = element?.parentElement;
    if (!element || !around) return;
    const below = y + TIP_GAP_PX + 4;
    const isBelow = below + element.offsetHeight <= around.clientHeight || y - element.offsetHeight - TIP_GAP_PX < 0;
    element.style.left = `${Math.max(4, Math.min(x + TIP_GAP_PX, around.clientWidth - element.offsetWidth - 4))}px`;
    element.style.top = `${isBelow ? below : y - element.offsetHeight - TIP_GAP_PX}px`;
  });
  return (
    <div class="tip" ref={tip} aria-hidden="true">
      <div class="tip-title mono">{told.title}</div>
      {told.place && <div class="quiet tip-place">{told.place}</div>}
      <dl class="tip-lines">
        {told.lines.map((line) => (
          <>
            <dt>{line.label}</dt>
            <dd>{line.text}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}
