// SPDX-License-Identifier: MIT
// The heap's pages in the order of their addresses, as `silt heap` draws them: by how full, whose or how old they are.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Heap } from "../api/heap";
import { boxAt, layoutHeap } from "../model/bill_series";
import { bytes, duration, plural } from "../model/units";
import { visible } from "../model/visible";
import { Choice } from "./switches";
import { useColours } from "./theme";

type By = "fill" | "owner" | "age";
const OTHERS = 12, NOBODY = 13, MAX_HEIGHT = 320;
const KEYS: Readonly<Record<"fill" | "age", readonly (readonly [number, string])[]>> = {
  fill: [[0, "free"], [1, "little live"], [4, "half"], [8, "full"], [9, "not in memory"]],
  age: [[0, "allocated just now"], [2, "in the last third"], [4, "near the beginning"], [5, "nothing live, or unknown"]],
};

function keysOf(heap: Heap, by: By): readonly (readonly [number, string])[] {
  if (by !== "owner") return KEYS[by];
  const used = new Set(heap.owner);
  const all: (readonly [number, string])[] = [...heap.owners.map((name, i) => [i, name] as const), [OTHERS, "others, or unknown"], [NOBODY, "nobody"]];
  return all.filter(([i]) => used.has(i));
}

function wordsOf(heap: Heap, i: number): string {
  const owner = heap.owners[heap.owner[i]!];
  return `0x${(BigInt(heap.page[i]!) << 12n).toString(16)}: ${bytes(heap.live_bytes[i]!)} live in ${plural(heap.blocks[i]!, "block")}, ${bytes(heap.resident_bytes[i]!)} in memory${owner === undefined ? "" : `, most of ${visible(owner)}`}`;
}

export function HeapMap({ heap }: { heap: Heap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [by, setBy] = useState<By>("fill");
  const [width, setWidth] = useState(0);
  const [pointed, point] = useState(-1);
  const colours = useColours();
  const layout = layoutHeap(heap, Math.max(240, width), MAX_HEIGHT);

  useLayoutEffect(() => {
    const parent = canvas.current?.parentElement;
    if (!parent) return undefined;
    const watch = new ResizeObserver(() => setWidth(parent.clientWidth));
    watch.observe(parent);
    setWidth(parent.clientWidth);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current, context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    const ratio = devicePixelRatio || 1;
    element.width = layout.columns * layout.px * ratio;
    element.height = layout.rows * layout.px * ratio;
    context.scale(ratio, ratio);
    layout.places.forEach((at, i) => {
      context.fillStyle = colours(`--heap-${by}-${heap[by][i]!}`);
      context.fillRect((at % layout.columns) * layout.px, Math.floor(at / layout.columns) * layout.px, layout.px - 1, layout.px - 1);
    });
  }, [heap, by, width, colours]);

  return (
    <div class="heap-map">
      <div class="switches">
        <Choice label="Colours of the pages" of={[["fill", "how full"], ["owner", "whose"], ["age", "how old"]]} value={by} onChoose={(value) => setBy(value as By)} />
        <ul class="bill-legend">
          {keysOf(heap, by).map(([i, text]) => <li key={i}><i class="bill-colour" style={{ background: colours(`--heap-${by}-${i}`) }} />{visible(text)}</li>)}
        </ul>
      </div>
      <div class="heap-box">
        <canvas ref={canvas} role="img" aria-label={`Pages of the heap of ${visible(heap.process)}`} style={{ width: `${layout.columns * layout.px}px`, height: `${layout.rows * layout.px}px` }}
                onPointerMove={(event) => {
                  const r = event.currentTarget.getBoundingClientRect();
                  point(boxAt(layout, event.clientX - r.left, event.clientY - r.top));
                }}
                onPointerLeave={() => point(-1)} />
      </div>
      <p class="quiet heat-words" role="status">
        {pointed >= 0 && pointed < heap.page.length ? wordsOf(heap, pointed)
          : `${visible(heap.process)} at ${duration(heap.at_s)}: the heap is ${bytes(heap.heap_bytes)}, of these ${bytes(heap.heap_live_bytes)} live and ${bytes(heap.heap_free_bytes)} free but kept. A box is ${bytes(heap.box_bytes)} of addresses.`}
      </p>
    </div>
  );
}
