// SPDX-License-Identifier: MIT
// Colours of boxes, as src/flame/colour.c chooses them: by crate or module, of changes by how much a box grew or shrank.

export const HUE = { names: 32, own: 32, system: 33, rest: 34, root: 35, helper: 36, process: 37, noPath: 38, gone: 40, same: 46, fresh: 52, age: 53, ages: 7, n: 60 } as const;
export const SHADES = 3;
/** How opaque each shade is. */
export const SHADE_OPACITY = [1, 0.84, 0.7] as const;

/** Whether the other ink is read on it: the strongest of changes, and the oldest. */
export function isStrong(hue: number): boolean {
  return hue === HUE.gone || hue === HUE.fresh || (hue >= HUE.age + 5 && hue < HUE.age + HUE.ages);
}

function steps(amount: number, limits: readonly number[], isLess: boolean): number {
  const n = limits.filter((limit) => amount >= limit).length;
  return HUE.same + (isLess ? -n : n);
}

/** Under 1 % is no change; then by a factor of up to 1.1, 1.5, 2.5, 6, and more. `was` null: `value` is a change itself, of `width`. */
export function changeHue(value: number, was: number | null, width: number): number {
  if (was !== null && value > 0 && was > 0)
    return steps(value > was ? value / was : was / value, [1.01, 1.1, 1.5, 2.5, 6], value < was);
  if (was === 0 && value > 0)
    return HUE.fresh;
  if (was !== null && value === 0 && was > 0)
    return HUE.gone;
  const by = was === null ? value : value - was;
  const base = was === null ? width : Math.max(Math.abs(value), Math.abs(was));
  return steps(base > 0 ? Math.abs(by) / base : 0, [0.01, 0.1, 1 / 3, 2 / 3, 0.9], by < 0);
}

/** What colours of changes mean: [hue, words]. */
export function changeKeys(hasOld: boolean): readonly (readonly [number, string])[] {
  return hasOld
    ? [[HUE.gone, "gone"], [HUE.same - 3, "smaller"], [HUE.same, "same"], [HUE.same + 2, "larger"], [HUE.same + 4, "over 2.5 times"],
       [HUE.same + 5, "over 6 times"], [HUE.fresh, "new"]]
    : [[HUE.same - 4, "shrank"], [HUE.same, "same"], [HUE.same + 4, "grew"]];
}

export type Rgb = readonly [number, number, number];

/** "#rrggbb"; what is something else is grey. */
export function parseColour(text: string): Rgb {
  const found = /^\s*#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\s*$/i.exec(text);
  return found ? [parseInt(found[1]!, 16), parseInt(found[2]!, 16), parseInt(found[3]!, 16)] : [128, 128, 128];
}

/** `over` seen through, on `paper`. */
export function blend(over: Rgb, paper: Rgb, opacity: number): string {
  const part = (k: 0 | 1 | 2): string => Math.round(over[k] * opacity + paper[k] * (1 - opacity)).toString(16).padStart(2, "0");
  return `#${part(0)}${part(1)}${part(2)}`;
}

/** How light it is to the eye, 0 to 1, and from that the contrast of two, 1 to 21, as WCAG counts. */
function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
