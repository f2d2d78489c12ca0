// SPDX-License-Identifier: MIT
// Keys that hold everywhere, and the sheet that tells them.
import { useEffect, useRef } from "preact/hooks";
import type { Ask } from "../api/ask";
import { get, VIEWS, type State } from "../model/state";
import { nudge, timeText, windowOf } from "../model/window";

/** Of the view at a place in the list. */
export function keyOf(i: number): string {
  return i < 10 ? String((i + 1) % 10) : i === 10 ? "a" : "q";
}

const KEYS: readonly (readonly [keys: string, means: string])[] = [
  ["1 – 9, 0", "Overview, Flame, Tree, Sites, Source, Blocks, Threads, Compare, Holders, Memory"],
  ["a", "Tasks"],
  ["q", "Query: ask in SQL; there Ctrl Enter runs, Ctrl Space completes"],
  ["/", "search names"],
  ["+", "add a filter"],
  ["[  ]", "move the window back, forward; with Shift by a whole window"],
  ["t", "go to the timeline: arrows move its window, + and − zoom, Esc clears"],
  ["Esc", "back one step: close, stop searching, leave the detail"],
  ["f", "follow a recording that grows"],
  ["arrows, Enter", "move and open in tables, trees and flame graphs"],
  ["c", "copy a table"],
  ["Backspace, Alt ←", "undo the last choice"],
  ["?", "these keys"],
];

export function KeysHelp({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = dialog.current;
    if (isOpen && d && !d.open) d.showModal();
    if (!isOpen && d?.open) d.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} class="keys" aria-label="Keys" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([keys, means]) => (
          <div key={keys}>
            <dt><kbd>{keys}</kbd></dt>
            <dd>{means}</dd>
          </div>
        ))}
      </dl>
      <button class="button" onClick={onClose}>Close</button>
    </dialog>
  );
}

/** Typing into a field is no command. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
}

export interface Commands {
  readonly help: () => void;
  readonly follow: () => void;
}

export function onKey(event: KeyboardEvent, state: State, ask: Ask, commands: Commands): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return escape(event, state, ask);
  if (isTyping(event.target)) return;
  const view = VIEWS.find((_, i) => keyOf(i) === event.key);
  if (view) return void ask.go({ view });
  switch (event.key) {
    case "/": focus("search"); break;
    case "+": document.getElementById("add-filter")?.click(); break;
    case "?": commands.help(); break;
    case "f": commands.follow(); break;
    case "t": focus("timeline"); break;
    case "[": case "{": move(state, ask, event.key === "[" ? -0.1 : -1); break;
    case "]": case "}": move(state, ask, event.key === "]" ? 0.1 : 1); break;
    case "Backspace": history.back(); break;
    default: return;
  }
  event.preventDefault();
}

function focus(id: string): void {
  const element = document.getElementById(id);
  element?.focus();
  if (element instanceof HTMLInputElement) element.select();
}

function escape(event: KeyboardEvent, state: State, ask: Ask): void {
  if (get(state, "pick") !== undefined) ask.go({ set: { pick: null } });
  else if (get(state, "search") !== undefined) ask.go({ set: { search: null } });
  else if (get(state, "zoom") !== undefined) ask.go({ set: { zoom: null } });
  else if (isTyping(event.target)) (event.target as HTMLElement).blur();
  else return;
  event.preventDefault();
}

/** Moves the window by a part of its length. */
export function move(state: State, ask: Ask, by: number): void {
  const span = windowOf(state, ask.trace);
  if (!span || get(state, "at") !== undefined) return;
  const next = nudge(span, by, { from_s: 0, to_s: ask.trace.duration_s });
  const step = (span.to_s - span.from_s) / 1000;
  ask.go({ set: { from: timeText(next.from_s, step), to: timeText(next.to_s, step) } }, "replace");
}
