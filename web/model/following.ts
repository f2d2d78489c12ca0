// SPDX-License-Identifier: MIT
// Whether a page that follows a recording shows the latest: of a window only where it ends with the recording, and goes along.
import type { Trace } from "../api/trace";
import { get, type Change, type State } from "./state";
import { timeText, windowOf } from "./window";

type Moments = Pick<Trace, "duration_s" | "marks" | "peak">;

/** A window that was dragged to the end ends a little before it. */
export const AT_END = 0.995;

/** The window stays where it is, whatever is recorded. */
export function isFixed(state: State, trace: Moments): boolean {
  if (get(state, "at") !== undefined) return true;
  const to = get(state, "to");
  if (to === undefined || to === "@end") return false;
  const window = windowOf(state, trace);
  return window !== null && window.to_s < trace.duration_s * AT_END;
}

/** Its length at the end of the recording; a moment becomes the whole of it. */
export function toEnd(state: State, trace: Moments): Change {
  const window = windowOf(state, trace);
  if (window === null || get(state, "at") !== undefined) return { set: { at: null, from: null, to: null } };
  const length = window.to_s - window.from_s;
  return { set: { from: timeText(Math.max(0, trace.duration_s - length), length / 1000), to: timeText(trace.duration_s, length / 1000) } };
}
