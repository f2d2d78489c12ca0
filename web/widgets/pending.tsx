// SPDX-License-Identifier: MIT
// What stands around an answer: a line with a number while it is on its way, one sentence if it is refused, the former answer meanwhile.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Refused } from "../api/ask";
import type { Answered } from "../api/use";
import { percent } from "../model/units";

const WAIT_STEP_MS = 100;
const WAIT_SHOWN_S = 0.4;
/** Nothing is nearly ready because one pass of it is. */
const ALMOST = 0.9;

export function Refusal({ error }: { error: Refused }) {
  return (
    <div class="refusal" role="alert">
      <p>{sentence(error.message)}</p>
      {error.fix && <p class="quiet">{sentence(error.fix)}</p>}
    </div>
  );
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** How far an answer is. It is made in several passes, each of which comes to its end before there is one: then the time it took is told. */
export function ProgressLine({ share }: { share: number | null }) {
  const most = useRef(0);
  most.current = Math.max(most.current, Math.min(share ?? 0, 1));
  if (share === null || most.current >= ALMOST) return <Waiting />;
  return (
    <div class="progress" role="progressbar" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(most.current * 100)}>
      <div class="progress-bar" style={{ width: `${Math.max(1, most.current * 100)}%` }} />
      <span class="progress-text">{percent(most.current * 100)}</span>
    </div>
  );
}

/** How long it took so far, until it is known how far it is: a number that moves. Short waits are not worth a word. */
function Waiting() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const begin = performance.now();
    const timer = setInterval(() => setSeconds((performance.now() - begin) / 1000), WAIT_STEP_MS);
    return () => clearInterval(timer);
  }, []);
  if (seconds < WAIT_SHOWN_S) return null;
  return (
    <div class="progress" role="status">
      <span class="progress-text">{seconds.toFixed(1)} s</span>
    </div>
  );
}

export function Pending<T>({ of, children }: { of: Answered<T>; children: (answer: T) => JSX.Element | null }) {
  return (
    <div class={of.isStale && of.answer ? "pending is-stale" : "pending"} aria-busy={of.isStale}>
      {of.progress !== null ? <ProgressLine share={of.progress} /> : of.isStale && <Waiting />}
      {of.error && <Refusal error={of.error} />}
      {of.answer && !of.error && children(of.answer)}
    </div>
  );
}
