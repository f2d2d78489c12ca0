// SPDX-License-Identifier: MIT
// The state as signals, in step with the address and its history.
import { signal, type ReadonlySignal } from "@preact/signals";
import { change, fromFragment, same, toFragment, type Change, type State } from "../model/state";

export interface Store {
  readonly state: ReadonlySignal<State>;
  readonly isDragging: ReadonlySignal<boolean>;
  go(by: Change, how?: "push" | "replace"): void;
  setDragging(on: boolean): void;
}

export function openStore(at: Window): Store {
  const state = signal(fromFragment(at.location.hash));
  const isDragging = signal(false);
  const read = (): void => {
    const next = fromFragment(at.location.hash);
    if (!same(next, state.value)) state.value = next;
  };
  at.addEventListener("popstate", read);
  at.addEventListener("hashchange", read);
  return {
    state,
    isDragging,
    go(by, how = "push") {
      const next = change(state.value, by);
      if (same(next, state.value)) return;
      state.value = next;
      if (how === "push") at.history.pushState(null, "", toFragment(next));
      else at.history.replaceState(null, "", toFragment(next));
    },
    setDragging(on) {
      isDragging.value = on;
    },
  };
}
