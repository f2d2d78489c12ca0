// SPDX-License-Identifier: MIT
// The window that is answered: of a trace whose early events are gone, windows begin and end where its history has figures.
import type { Ask } from "../api/ask";
import { totals } from "../api/shapes";
import { useAnswer } from "../api/use";
import { question, type State } from "../model/state";
import { isBeforeDetail, windowOf, type Span } from "../model/window";

/** null: the chosen one, or none. */
export function useAnsweredWindow(state: State, ask: Ask): Span | null {
  const chosen = windowOf(state, ask.trace);
  const isMoved = chosen !== null && !ask.isFile && isBeforeDetail(chosen, ask.trace);
  const asked = useAnswer(ask, "shaped", isMoved && !ask.isDragging ? question(state, { tree: true, depth: 1 }) : null);
  if (!isMoved || ask.isDragging || asked.isStale || asked.error || !asked.answer) return null;
  const { from_s, to_s } = totals(asked.answer);
  return { from_s, to_s };
}
