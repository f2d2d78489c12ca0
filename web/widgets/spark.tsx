// SPDX-License-Identifier: MIT
// A sparkline: one series over time in a table's cell or a card, from nothing to its own highest.
import { sparkPath } from "../model/spark_path";

export interface SparkProps {
  readonly values: readonly (number | null)[];
  /** Their moments; without, they are evenly spaced. */
  readonly at_s?: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly label?: string;
}

export function Spark({ values, at_s, width, height, label }: SparkProps) {
  const path = sparkPath(values, width, height, at_s);
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role={label ? "img" : undefined} aria-label={label} aria-hidden={label ? undefined : true}>
      <path class="spark-area" d={path.area} />
      <path class="spark-line" d={path.line} />
    </svg>
  );
}
