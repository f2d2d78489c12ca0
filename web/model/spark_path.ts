// SPDX-License-Identifier: MIT
// The path of a sparkline. Zero is the bottom, the highest value the top; what is unknown is a gap. Values stand where their moments are.

export interface SparkPath {
  readonly line: string;
  readonly area: string;
}

function place(n: number): string {
  return (Math.round(n * 10) / 10).toString();
}

/** Where each value stands, from 0 to 1: by its moment or, without moments, evenly. */
export function sparkPlaces(n: number, at_s?: readonly number[]): readonly number[] {
  const first = at_s?.[0] ?? 0;
  const span = at_s && at_s.length === n ? at_s[n - 1] - first : 0;
  return Array.from({ length: n }, (_, i) => (span > 0 && at_s ? (at_s[i] - first) / span : n > 1 ? i / (n - 1) : 0));
}

export function sparkPath(values: readonly (number | null)[], width: number, height: number, at_s?: readonly number[]): SparkPath {
  const known = values.filter((value): value is number => value !== null);
  const most = known.reduce((a, b) => Math.max(a, b), 0);
  const least = known.reduce((a, b) => Math.min(a, b), 0);
  const span = most - least || 1;
  const room = height - 2;
  const y = (value: number): number => 1 + room * (1 - (value - least) / span);
  // One value alone holds all of the time.
  if (values.length === 1 && known.length === 1) return sparkPath([known[0], known[0]], width, height);
  const places = sparkPlaces(values.length, at_s);
  const x = (i: number): number => places[i] * width;
  let line = "", area = "", begin = -1;
  const close = (end: number): void => {
    if (begin < 0) return;
    area += `L${place(x(end))} ${place(y(0))}L${place(x(begin))} ${place(y(0))}Z`;
    begin = -1;
  };
  values.forEach((value, i) => {
    if (value === null) {
      close(i - 1);
      return;
    }
    const point = `${place(x(i))} ${place(y(value))}`;
    line += (begin < 0 ? "M" : "L") + point;
    area += (begin < 0 ? "M" : "L") + point;
    if (begin < 0) begin = i;
  });
  close(values.length - 1);
  return { line, area };
}
