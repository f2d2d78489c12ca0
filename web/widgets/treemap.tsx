// SPDX-License-Identifier: MIT
// A treemap of boxes with names. Pointing at one tells it, a click chooses it.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { treemap, type MapNodes } from "../model/treemap";

const HEIGHT_PX = 240;
const NAME_PX = 18;
const LETTER_PX = 7;

export interface TreemapProps {
  readonly label: string;
  readonly nodes: MapNodes;
  name(node: number): string;
  title(node: number): string;
  readonly chosen: number;
  onChoose(node: number): void;
}

export function Treemap({ label, nodes, name, title, chosen, onChoose }: TreemapProps) {
  const around = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = around.current;
    if (!element) return undefined;
    const size = new ResizeObserver(() => setWidth(element.clientWidth));
    size.observe(element);
    setWidth(element.clientWidth);
    return () => size.disconnect();
  }, []);
  const boxes = useMemo(() => treemap(nodes, { width, height: HEIGHT_PX, namePx: NAME_PX, gapPx: 3, leastPx: 4, maxDepth: 6 }), [nodes, width]);
  return (
    <div class="treemap" ref={around} role="img" aria-label={label} style={{ height: `${HEIGHT_PX}px` }}>
      {boxes.map((box) => (
        <div key={box.node} class={`treemap-box${box.node === chosen ? " is-chosen" : ""}`} data-depth={Math.min(box.depth, 5)} title={title(box.node)}
             style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${Math.max(box.width - 1, 1)}px`, height: `${Math.max(box.height - 1, 1)}px` }}
             onClick={(event) => { event.stopPropagation(); onChoose(box.node); }}>
          {box.width > 5 * LETTER_PX && box.height >= NAME_PX - 2 ? name(box.node) : ""}
        </div>
      ))}
    </div>
  );
}
