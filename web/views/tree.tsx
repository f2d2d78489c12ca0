// SPDX-License-Identifier: MIT
import type { ViewProps } from "../api/ask";
import { Empty } from "../widgets/empty";

export function TreeView(_: ViewProps) {
  return <Empty title="Tree" why="Nothing is drawn here yet." />;
}
