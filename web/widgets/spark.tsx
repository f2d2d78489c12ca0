// SPDX-License-Identifier: MIT
// A sparkline: one series over time in a table's cell or a card, from nothing to its own highest.
import { sparkPath } from "../model/spark_path";

export function Spark({ values, width, height, label }: { values: readonly (number | null)[]; width: number; height: number; label?: string }) {
  const path = sparkPath(values, width, height);
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role={label ? "img" : undefined} aria-label={label} aria-hidden={label ? undefined : true}>
      <path class="spark-area" d={path.area} />
      <path class="spark-line" d={path.line} />
    </svg>
  );
}
