// SPDX-License-Identifier: MIT
// The heat map of sizes and lifetimes: where a cell is, how dark it is, and which filters a brush means.
// Across: lifetimes, shortest left, each class as wide as the next (each is four times the one before).
// Up: sizes on a log axis, largest on top; classes nobody used are gaps. All places are shares of the picture, 0 to 1.

export interface HeatColumns {
  readonly sizes: readonly { readonly min_bytes: number; readonly max_bytes: number | null }[];
  readonly lifetimes: readonly { readonly min_s: number; readonly max_s: number | null }[];
  readonly size: readonly number[];
  readonly lifetime: readonly number[];
  readonly blocks: readonly number[];
  readonly bytes: readonly number[];
  readonly live_blocks: readonly number[];
  readonly live_bytes: readonly number[];
}

export type HeatFigure = "blocks" | "bytes" | "live_blocks" | "live_bytes";

/** Indices from first to last, both included. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

export interface HeatGrid {
  /** Classes between the first and the last that have blocks. */
  readonly sizes: Span;
  readonly lifetimes: Span;
  /** By size class minus sizes.first: where it begins and ends, from the top. */
  readonly top: Float64Array;
  readonly bottom: Float64Array;
  readonly nColumns: number;
  readonly most: number;
}

/** Places on the log axis. What is smaller than 4 bytes is where 4 are: one class would take a quarter of the picture. */
function level(bytes: number): number {
  return Math.max(2, Math.log2(bytes));
}

function spanOf(indices: readonly number[]): Span | undefined {
  let first = Infinity, last = -Infinity;
  for (const i of indices) {
    first = Math.min(first, i);
    last = Math.max(last, i);
  }
  return last < 0 ? undefined : { first, last };
}

/** undefined: there are no blocks. */
export function heatGrid(heat: HeatColumns, figure: HeatFigure): HeatGrid | undefined {
  const sizes = spanOf(heat.size), lifetimes = spanOf(heat.lifetime);
  if (!sizes || !lifetimes) return undefined;
  const used = heat.sizes.slice(sizes.first, sizes.last + 1);
  const lows = used.map((c) => level(Math.max(1, c.min_bytes - 1)));
  const highs = used.map((c, i) => Math.max(lows[i] + 0.25, c.max_bytes === null ? lows[i] + 1 : level(c.max_bytes)));
  const least = lows[0], span = highs[highs.length - 1] - least;
  return {
    sizes,
    lifetimes,
    top: Float64Array.from(highs, (high) => 1 - (high - least) / span),
    bottom: Float64Array.from(lows, (low) => 1 - (low - least) / span),
    nColumns: lifetimes.last - lifetimes.first + 1,
    most: heat[figure].reduce((a, b) => Math.max(a, b), 0),
  };
}

/** 0 to steps: 0 is nothing, 1 the least that is there. Logarithmic: a cell with a thousandth of the most is still seen. */
export function heatStep(value: number, most: number, steps: number): number {
  if (value <= 0 || most <= 0) return 0;
  const decades = 4;
  const share = 1 + Math.log10(value / most) / decades;
  return Math.max(1, Math.min(steps, Math.ceil(share * steps)));
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function cellBox(heat: HeatColumns, grid: HeatGrid, i: number): Box {
  const row = heat.size[i] - grid.sizes.first, column = heat.lifetime[i] - grid.lifetimes.first;
  return { x: column / grid.nColumns, y: grid.top[row], width: 1 / grid.nColumns, height: grid.bottom[row] - grid.top[row] };
}

/** The cell at a place of the picture; -1: no blocks. */
export function cellAt(heat: HeatColumns, grid: HeatGrid, x: number, y: number): number {
  for (let i = 0; i < heat.size.length; i++) {
    const box = cellBox(heat, grid, i);
    if (x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height) return i;
  }
  return -1;
}

/** Classes of the answer that a rectangle in the picture touches. */
export interface Brush {
  readonly sizes: Span;
  readonly lifetimes: Span;
}

/** undefined: it lies in a gap. */
export function brushOf(grid: HeatGrid, x0: number, y0: number, x1: number, y1: number): Brush | undefined {
  const column = (x: number) => grid.lifetimes.first + Math.max(0, Math.min(grid.nColumns - 1, Math.floor(x * grid.nColumns)));
  const high = Math.min(y0, y1), low = Math.max(y0, y1);
  let first = -1, last = -1;
  for (let i = 0; i < grid.top.length; i++)
    if (grid.bottom[i] > high && (grid.top[i] < low || (high === low && grid.top[i] <= low))) {
      if (first < 0) first = i;
      last = i;
    }
  if (first < 0) return undefined;
  return {
    sizes: { first: grid.sizes.first + first, last: grid.sizes.first + last },
    lifetimes: { first: column(Math.min(x0, x1)), last: column(Math.max(x0, x1)) },
  };
}

export function brushBox(grid: HeatGrid, brush: Brush): Box {
  const y = grid.top[brush.sizes.last - grid.sizes.first];
  return {
    x: (brush.lifetimes.first - grid.lifetimes.first) / grid.nColumns,
    y,
    width: (brush.lifetimes.last - brush.lifetimes.first + 1) / grid.nColumns,
    height: grid.bottom[brush.sizes.first - grid.sizes.first] - y,
  };
}

export interface BrushSum {
  readonly blocks: number;
  readonly bytes: number;
  readonly live_blocks: number;
  readonly live_bytes: number;
}

export function brushSum(heat: HeatColumns, brush: Brush): BrushSum {
  const sum = { blocks: 0, bytes: 0, live_blocks: 0, live_bytes: 0 };
  for (let i = 0; i < heat.size.length; i++) {
    if (heat.size[i] < brush.sizes.first || heat.size[i] > brush.sizes.last) continue;
    if (heat.lifetime[i] < brush.lifetimes.first || heat.lifetime[i] > brush.lifetimes.last) continue;
    sum.blocks += heat.blocks[i];
    sum.bytes += heat.bytes[i];
    sum.live_blocks += heat.live_blocks[i];
    sum.live_bytes += heat.live_bytes[i];
  }
  return sum;
}

/** Exact for whole nanoseconds, and as short as can be: 16us, 1.024ms, 2s. */
export function timeKey(seconds: number): string {
  const ns = Math.round(seconds * 1e9);
  if (ns === 0) return "0s";
  if (ns % 1000 !== 0) return `${ns}ns`;
  const trim = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (ns < 1e6) return `${trim((ns / 1e3).toFixed(3))}us`;
  if (ns < 1e9) return `${trim((ns / 1e6).toFixed(6))}ms`;
  return `${trim((ns / 1e9).toFixed(9))}s`;
}

/** What the filters `size` and `lifetime` must say to select a brush's blocks; null: it reaches over all of them.
 * Sizes include both ends, lifetimes only the first. */
export function brushKeys(heat: HeatColumns, grid: HeatGrid, brush: Brush): { readonly size: string | null; readonly lifetime: string | null } {
  const small = heat.sizes[brush.sizes.first], large = heat.sizes[brush.sizes.last];
  const short = heat.lifetimes[brush.lifetimes.first], long = heat.lifetimes[brush.lifetimes.last];
  const everySize = brush.sizes.first === grid.sizes.first && brush.sizes.last === grid.sizes.last;
  const everyLife = brush.lifetimes.first === grid.lifetimes.first && brush.lifetimes.last === grid.lifetimes.last;
  return {
    size: everySize ? null : `${small.min_bytes}..${large.max_bytes ?? ""}`,
    lifetime: everyLife ? null : `${timeKey(short.min_s)}..${long.max_s === null ? "" : timeKey(long.max_s)}`,
  };
}

export interface Tick {
  readonly at: number;
  readonly value: number;
}

/** Powers of two of bytes on the axis, at least `least` apart (a share of the picture). */
export function sizeTicks(heat: HeatColumns, grid: HeatGrid, least: number): readonly Tick[] {
  const low = level(Math.max(1, heat.sizes[grid.sizes.first].min_bytes - 1));
  const lastClass = heat.sizes[grid.sizes.last];
  const high = Math.max(low + 0.25, lastClass.max_bytes === null ? level(lastClass.min_bytes) + 1 : level(lastClass.max_bytes));
  const step = Math.max(1, Math.ceil(least * (high - low)));
  const ticks: Tick[] = [];
  for (let power = Math.ceil(low / step) * step; power <= high + 1e-9; power += step) ticks.push({ at: 1 - (power - low) / (high - low), value: 2 ** power });
  return ticks;
}

/** Where lifetimes' classes begin, at least `least` apart. */
export function lifeTicks(heat: HeatColumns, grid: HeatGrid, least: number): readonly Tick[] {
  const step = Math.max(1, Math.ceil(least * grid.nColumns));
  const ticks: Tick[] = [];
  for (let i = 0; i < grid.nColumns; i += step) ticks.push({ at: i / grid.nColumns, value: heat.lifetimes[grid.lifetimes.first + i].min_s });
  return ticks;
}
