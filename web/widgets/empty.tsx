// SPDX-License-Identifier: MIT
// An empty state says why it is empty and what to do.
import type { ComponentChildren } from "preact";

export function Empty({ title, why, children }: { title: string; why: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{why}</p>
      {children}
    </div>
  );
}
