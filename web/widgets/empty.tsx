// SPDX-License-Identifier: MIT
// An empty state says why it is empty and what to do.
import type { ComponentChildren } from "preact";
import type { ViewProps } from "../api/ask";
import { emptiness } from "../model/emptiness";

export function Empty({ title, why, children }: { title: string; why: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{why}</p>
      {children}
    </div>
  );
}

/** Nothing is selected: because of the window, a filter, the process, or because nothing was ever allocated. */
export function NoBlocks({ state, ask }: ViewProps) {
  const { title, why, removal } = emptiness(state, ask.trace);
  return (
    <Empty title={title} why={why}>
      {removal && <button type="button" class="button" onClick={() => ask.go(removal.change)}>{removal.label}</button>}
    </Empty>
  );
}
