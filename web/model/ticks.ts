// SPDX-License-Identifier: MIT
// Where an axis has its lines, and what is written at them.
import { bytes, duration, hasTimesNow, markedTimes } from "./units";

/** 0, and multiples of 1, 2, 4, 8 … 512 of a unit of 1024: what people call round for bytes; at most n + 1. */
export function byteTicks(most: number, n: number): number[] {
  if (!(most > 0) || n < 1) return [0];
  let step = 1;
  while (most / step > n) step *= 2;
  const ticks: number[] = [];
  for (let v = 0; v <= most; v += step) ticks.push(v);
  return ticks;
}

/** 0, and multiples of 1, 2 or 5 of a power of ten; at most n + 1. */
export function plainTicks(most: number, n: number): number[] {
  if (!(most > 0) || n < 1) return [0];
  const power = 10 ** Math.floor(Math.log10(most / n));
  const step = ([1, 2, 5].find((m) => m * power >= (most / n) * (1 - 1e-9)) ?? 10) * power;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** Without a tenth where it is none. */
export function byteLabel(n: number): string {
  return n === 0 ? "0" : bytes(n).replace(".0 ", " ");
}

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** Round moments of a stretch, at most n + 1. */
export function timeTicks(from_s: number, to_s: number, n: number): number[] {
  return [...markedTimes(roundTimes(from_s, to_s, n))];
}

function roundTimes(from_s: number, to_s: number, n: number): number[] {
  const length = to_s - from_s;
  if (!(length > 0) || n < 1) return [from_s];
  const step = timeStep(length / n);
  const ticks: number[] = [];
  for (let i = Math.ceil(from_s / step - 1e-9); i * step <= to_s + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function timeStep(least: number): number {
  if (least > 1) return TIME_STEPS.find((s) => s >= least) ?? Math.ceil(least / 86400) * 86400;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((m) => m * power >= least * (1 - 1e-9)) ?? 10) * power;
}

/** All labels of an axis in one unit: "250 ms", "12.5 s", "3:20 min", "1:05 h"; "moment 20" where there are no times. */
export function timeLabels(ticks: readonly number[]): string[] {
  if (!hasTimesNow()) return ticks.map(duration);
  const last = ticks[ticks.length - 1] ?? 0;
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : last || 1;
  if (last >= 7200) return ticks.map((t) => `${Math.floor(t / 3600)}:${two(Math.floor(t / 60) % 60)} h`);
  if (last >= 120 && step >= 1) return ticks.map((t) => (t === 0 ? "0" : `${Math.floor(t / 60)}:${two(Math.floor(t % 60))} min`));
  const [unit, factor] = last >= 1 ? ["s", 1] : last >= 1e-3 ? ["ms", 1e3] : ["us", 1e6];
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step * factor) + 1e-9)));
  return ticks.map((t) => (t === 0 ? "0" : `${(t * factor).toFixed(digits)} ${unit}`));
}

function two(n: number): string {
  return n.toString().padStart(2, "0");
}
