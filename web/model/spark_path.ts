// SPDX-License-Identifier: MIT
// The path of a sparkline. Zero is the bottom, the highest value the top; what is unknown is a gap.

export interface SparkPath {
  readonly line: string;
  readonly area: string;
}

function place(n: number): string {
  return (Math.round(n * 10) / 10).toString();
}

export function sparkPath(values: readonly (number | null)[], width: number, height: number): SparkPath {
  const known = values.filter((value): value is number => value !== null);
  const most = known.reduce((a, b) => Math.max(a, b), 0);
  const least = known.reduce((a, b) => Math.min(a, b), 0);
  const span = most - least || 1;
  const room = height - 2;
  const y = (value: number): number => 1 + room * (1 - (value - least) / span);
  const x = (i: number): number => (values.length > 1 ? (i * width) / (values.length - 1) : 0);
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
