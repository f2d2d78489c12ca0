// SPDX-License-Identifier: MIT
import type { ViewProps } from "../api/ask";
import { Empty } from "../widgets/empty";

export function FlameView(_: ViewProps) {
  return <Empty title="Flame" why="Nothing is drawn here yet." />;
}
