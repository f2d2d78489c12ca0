// SPDX-License-Identifier: MIT
import type { ViewProps } from "../api/ask";
import { Empty } from "../widgets/empty";

export function ThreadsView(_: ViewProps) {
  return <Empty title="Threads" why="Nothing is drawn here yet." />;
}
