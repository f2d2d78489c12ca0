// SPDX-License-Identifier: MIT
// What was recorded, asked again while it grows. Following, the page shows the latest; else it stays with what it has.
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, type Source } from "../api/ask";
import type { Trace } from "../api/trace";
import { setHasTimes, setWeights } from "../model/units";

/** The server answers as soon as there is more, at the latest after so many seconds. */
const WAIT_S = 10;
/** Between two answers of a recording that grows: what is drawn should be looked at. */
const PAUSE_MS = 500;

export interface Followed {
  readonly trace: Trace | null;
  readonly error: Refused | null;
  readonly isFollowing: boolean;
  readonly turn: (on: boolean) => void;
}

export function useTrace(source: Source): Followed {
  const [shown, show] = useState<Trace | null>(null);
  const [error, setError] = useState<Refused | null>(null);
  const [isFollowing, setFollowing] = useState(true);
  const latest = useRef<Trace | null>(null);
  const follows = useRef(true);

  useEffect(() => {
    const controller = new AbortController();
    let timer = 0;
    const take = (trace: Trace): void => {
      latest.current = trace;
      setHasTimes(trace.has_times !== false, trace.has_events ? "event" : "moment");
      setWeights(trace.unit ?? "bytes");
      // That it has ended is news for everybody.
      show((was) => (was === null || follows.current ? trace : trace.growing ? was : { ...was, growing: false }));
      if (trace.growing) timer = window.setTimeout(() => ask(trace.version), PAUSE_MS);
    };
    const ask = (since: number | null): void => {
      source.answer("trace", since === null ? [] : [["since", String(since)], ["wait", String(WAIT_S)]], controller.signal).then(take, (failure: unknown) => {
        if (!controller.signal.aborted) setError(failure instanceof Refused ? failure : new Refused(String(failure)));
      });
    };
    ask(null);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [source]);

  const turn = (on: boolean): void => {
    follows.current = on;
    setFollowing(on);
    if (on && latest.current) show(latest.current);
  };
  return { trace: shown, error, isFollowing, turn };
}
