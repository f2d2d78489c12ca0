// SPDX-License-Identifier: MIT
// What the search found in what is chosen: frames that are folded away count, and a click shows them.
import type { ViewProps } from "../api/ask";
import { useAnswer } from "../api/use";
import { searchPattern } from "../model/flame_tree";
import { foldedWords, foundWords, patternText } from "../model/found";
import { get, question } from "../model/state";

/** The view has a switch for what is folded: then a click turns it. Elsewhere it leads to the flame graph. */
export function FoundLine({ state, ask }: ViewProps) {
  const typed = get(state, "search") ?? "";
  const isFull = get(state, "full") !== undefined;
  const isPattern = searchPattern(typed) !== null;
  const { answer, error, isStale } = useAnswer(ask, "found", typed !== "" && isPattern ? question(state, { search: patternText(typed), full: isFull }) : null);
  const folded = answer && !error ? foldedWords(answer) : null;
  if (typed === "") return null;
  return (
    <span class={isStale && answer ? "found-line is-stale" : "found-line"} role="status" aria-busy={isStale}>
      {!isPattern ? "not a regular expression" : error ? error.message : answer ? foundWords(answer) : ""}
      {folded !== null && <>, {folded}: <button type="button" class="link" onClick={() => ask.go({ view: state.view === "tree" ? "tree" : "flame", set: { full: "1" } })}>show</button></>}
    </span>
  );
}
