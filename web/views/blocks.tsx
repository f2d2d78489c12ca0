// SPDX-License-Identifier: MIT
import type { ViewProps } from "../api/ask";
import { Empty } from "../widgets/empty";

export function BlocksView(_: ViewProps) {
  return <Empty title="Blocks" why="Nothing is drawn here yet." />;
}
