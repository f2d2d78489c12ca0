// SPDX-License-Identifier: MIT
import type { ViewProps } from "../api/ask";
import { Empty } from "../widgets/empty";

export function CompareView(_: ViewProps) {
  return <Empty title="Compare" why="Nothing is drawn here yet." />;
}
