// SPDX-License-Identifier: MIT
// What the answers of every shape but the summary have in front.
import { object, string, type Checked } from "./check";
import { figures, window } from "./common";

const head = object({ schema: string, window, metric: string, totals: figures });
export type ShapeHead = Checked<typeof head>;

export function totals(answer: unknown): { metric: string; value: number; from_s: number; to_s: number } {
  const said = head(answer, "");
  return { metric: said.metric, value: said.totals.value, from_s: said.window.from_s, to_s: said.window.to_s };
}
