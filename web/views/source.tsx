// SPDX-License-Identifier: MIT
import type { ViewProps } from "../api/ask";
import { Empty } from "../widgets/empty";

export function SourceView(_: ViewProps) {
  return <Empty title="Source" why="Nothing is drawn here yet." />;
}
