// SPDX-License-Identifier: MIT
import type { ViewProps } from "../api/ask";
import { Empty } from "../widgets/empty";

export function SitesView(_: ViewProps) {
  return <Empty title="Sites" why="Nothing is drawn here yet." />;
}
