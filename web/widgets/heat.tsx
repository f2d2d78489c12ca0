// SPDX-License-Identifier: MIT
// The heat map of sizes and lifetimes on a canvas. Drag brushes; with the keyboard arrows move a cell, Shift and arrows stretch the brush, Enter takes it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { brushBox, brushKeys, brushOf, brushSum, cellBox, heatGrid, heatStep, lifeTicks, sizeTicks, type Brush, type HeatColumns, type HeatFigure, type HeatGrid } from "../model/heat_cells";
import { bytes, duration, plural } from "../model/units";

const STEPS = 8;
const LEFT_PX = 64, BOTTOM_PX = 24, TOP_PX = 8, RIGHT_PX = 8;

export interface HeatProps {
  readonly heat: HeatColumns;
  readonly figure: HeatFigure;
  /** null: nothing can be filtered, and figures are said under the pointer alone. */
  readonly onBrush: ((size: string | null, lifetime: string | null) => void) | null;
}

interface Box {
  readonly width: number;
  readonly height: number;
}

function paint(canvas: HTMLCanvasElement, heat: HeatColumns, grid: HeatGrid, figure: HeatFigure, brush: Brush | null, box: Box): void {
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  if (!context) return;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const width = box.width - LEFT_PX - RIGHT_PX, height = box.height - TOP_PX - BOTTOM_PX;
  const x = (share: number): number => LEFT_PX + share * width;
  const y = (share: number): number => TOP_PX + share * height;
  context.font = `12px ${colour("--font") || "sans-serif"}`;
  context.strokeStyle = colour("--line");
  context.fillStyle = colour("--quiet");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of sizeTicks(heat, grid, 22 / height)) {
    const at = Math.round(y(tick.at)) + 0.5;
    context.beginPath();
    context.moveTo(LEFT_PX - 4, at);
    context.lineTo(box.width - RIGHT_PX, at);
    context.stroke();
    context.fillText(bytes(tick.value), LEFT_PX - 8, at);
  }
  context.textAlign = "left";
  context.textBaseline = "top";
  for (const tick of lifeTicks(heat, grid, 64 / width)) {
    const at = Math.round(x(tick.at)) + 0.5;
    context.beginPath();
    context.moveTo(at, TOP_PX);
    context.lineTo(at, TOP_PX + height + 4);
    context.stroke();
    context.fillText(tick.value === 0 ? "0 s" : duration(tick.value), at + 2, TOP_PX + height + 6);
  }
  for (let i = 0; i < heat.size.length; i++) {
    const step = heatStep(heat[figure][i], grid.most, STEPS);
    if (step === 0) continue;
    const cell = cellBox(heat, grid, i);
    context.fillStyle = colour(`--heat-${step}`);
    context.fillRect(x(cell.x) + 0.5, y(cell.y) + 0.5, Math.max(1, cell.width * width - 1), Math.max(2, cell.height * height - 1));
  }
  if (brush) {
    const b = brushBox(grid, brush);
    context.strokeStyle = colour("--accent");
    context.lineWidth = 2;
    context.strokeRect(x(b.x), y(b.y), b.width * width, b.height * height);
  }
}

function words(heat: HeatColumns, brush: Brush): string {
  const small = heat.sizes[brush.sizes.first], large = heat.sizes[brush.sizes.last];
  const short = heat.lifetimes[brush.lifetimes.first], long = heat.lifetimes[brush.lifetimes.last];
  const sum = brushSum(heat, brush);
  const life = long.max_s === null ? `${duration(short.min_s)} or longer` : short.min_s === 0 ? `under ${duration(long.max_s)}` : `${duration(short.min_s)} to ${duration(long.max_s)}`;
  const size = large.max_bytes === null ? `${bytes(small.min_bytes)} or more` : small.min_bytes === large.max_bytes ? bytes(small.min_bytes) : `${bytes(small.min_bytes)} to ${bytes(large.max_bytes)}`;
  const live = sum.live_blocks > 0 ? `, ${plural(sum.live_blocks, "block")} of them never freed` : "";
  return `${size}, lived ${life}: ${plural(sum.blocks, "block")}, ${bytes(sum.bytes)}${live}`;
}

export function Heat({ heat, figure, onBrush }: HeatProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [box, setBox] = useState<Box>({ width: 480, height: 360 });
  // A brush means classes of its own answer: it is gone when another one comes.
  const [held, hold] = useState<{ readonly of: HeatColumns; readonly brush: Brush } | null>(null);
  const brush = held?.of === heat ? held.brush : null;
  const setBrush = (next: Brush | null): void => hold(next && { of: heat, brush: next });
  const [from, setFrom] = useState<readonly [number, number] | null>(null);
  const [theme, setTheme] = useState(0);
  const grid = heatGrid(heat, figure);

  useLayoutEffect(() => {
    const parent = canvas.current?.parentElement;
    if (!parent) return undefined;
    const measure = (): void => setBox({ width: Math.max(240, parent.clientWidth), height: Math.max(240, parent.clientHeight) });
    const observer = new ResizeObserver(measure);
    measure();
    observer.observe(parent);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const again = (): void => setTheme((n) => n + 1);
    dark.addEventListener("change", again);
    return () => dark.removeEventListener("change", again);
  }, []);
  useLayoutEffect(() => {
    if (canvas.current && grid) paint(canvas.current, heat, grid, figure, brush, box);
  }, [heat, figure, brush, box, theme]);
  if (!grid) return null;

  const place = (event: JSX.TargetedPointerEvent<HTMLCanvasElement>): readonly [number, number] => {
    const rect = event.currentTarget.getBoundingClientRect();
    return [(event.clientX - rect.left - LEFT_PX) / (rect.width - LEFT_PX - RIGHT_PX), (event.clientY - rect.top - TOP_PX) / (rect.height - TOP_PX - BOTTOM_PX)];
  };
  const take = (b: Brush | null): void => {
    if (!b) return;
    const keys = brushKeys(heat, grid, b);
    onBrush?.(keys.size, keys.lifetime);
  };
  const onKeyDown = (event: JSX.TargetedKeyboardEvent<HTMLCanvasElement>): void => {
    const start: Brush = brush ?? { sizes: { first: grid.sizes.first, last: grid.sizes.first }, lifetimes: { first: grid.lifetimes.first, last: grid.lifetimes.first } };
    const dx = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const dy = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (event.key === "Enter") take(brush);
    else if (event.key === "Escape" && brush) setBrush(null);
    else if (dx !== 0 || dy !== 0) {
      const move = (span: { first: number; last: number }, by: number, within: { first: number; last: number }) => {
        const to = (n: number): number => Math.max(within.first, Math.min(within.last, n + by));
        return event.shiftKey ? { first: span.first, last: Math.max(span.first, to(span.last)) } : { first: to(span.first), last: to(span.first) };
      };
      setBrush(brush ? { sizes: dy === 0 ? start.sizes : move(start.sizes, dy, grid.sizes), lifetimes: dx === 0 ? start.lifetimes : move(start.lifetimes, dx, grid.lifetimes) } : start);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="heat">
      <div class="heat-box">
        <canvas
          ref={canvas}
          class="heat-canvas"
          tabIndex={0}
          role="img"
          aria-label={`Blocks by size and lifetime. Arrows move, Shift and arrows select${onBrush ? ", Enter filters" : ""}.`}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            const at = place(event);
            event.currentTarget.setPointerCapture(event.pointerId);
            setFrom(at);
            setBrush(brushOf(grid, at[0], at[1], at[0], at[1]) ?? null);
          }}
          onPointerMove={(event) => {
            const at = place(event);
            const begin = from ?? at;
            setBrush(brushOf(grid, begin[0], begin[1], at[0], at[1]) ?? null);
          }}
          onPointerUp={(event) => {
            const at = place(event);
            const done = from ? (brushOf(grid, from[0], from[1], at[0], at[1]) ?? null) : null;
            setFrom(null);
            take(done);
          }}
          onPointerLeave={() => from === null && setBrush(null)}
        />
      </div>
      <p class="heat-words" role="status">{brush ? words(heat, brush) : onBrush ? "Drag over blocks to filter everything by their size and lifetime." : "Point at blocks to see how many there are."}</p>
    </div>
  );
}
