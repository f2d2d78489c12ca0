// SPDX-License-Identifier: MIT
// Questions in components: useAnswer asks again when the keys change, keeps the former answer meanwhile, and cancels what is superseded.
import { useEffect, useRef, useState } from "preact/hooks";
import { toQuery, type Keys } from "../model/state";
import type { AnswerName, Answers } from "./answers";
import { Refused, type Ask } from "./ask";

export interface Answered<T> {
  /** The latest answer; while another is on its way, the one before. */
  readonly answer: T | null;
  readonly error: Refused | null;
  /** Another answer is on its way. */
  readonly isStale: boolean;
  /** How far it is, from 0 to 1; null: not known, or it took no time yet. */
  readonly progress: number | null;
}

/** What is said of an answer: of one before, as it was said then; nothing over a refusal. */
export function useSaid<T>(of: Pick<Answered<T>, "answer" | "error" | "isStale">, say: (answer: T) => string | null): string | null {
  const said = useRef<string | null>(null);
  if (of.error !== null || of.answer === null) said.current = null;
  else if (!of.isStale) said.current = say(of.answer);
  return said.current;
}

interface Lane {
  controller: AbortController | null;
  /** While somebody drags, the question under way may end and only the latest waits. */
  waiting: (() => void) | null;
}

/** Whom to ask, and when to ask again. */
export type Answering = Pick<Ask, "answer" | "version" | "isDragging">;

/** keys null: nothing is asked. */
export function useAnswer<N extends AnswerName>(ask: Answering, name: N, keys: Keys | null): Answered<Answers[N]> {
  const [shown, show] = useState<Answered<Answers[N]>>({ answer: null, error: null, isStale: keys !== null, progress: null });
  const lane = useRef<Lane>({ controller: null, waiting: null });
  const query = keys === null ? null : toQuery(keys);

  useEffect(() => {
    const l = lane.current;
    const begin = (): void => {
      if (keys === null) {
        l.controller?.abort();
        l.controller = null;
        show({ answer: null, error: null, isStale: false, progress: null });
        return;
      }
      l.controller?.abort();
      const controller = new AbortController();
      l.controller = controller;
      l.waiting = null;
      show((was) => ({ ...was, isStale: true, progress: null }));
      const isCurrent = (): boolean => l.controller === controller;
      const end = (): void => {
        if (!isCurrent()) return;
        l.controller = null;
        l.waiting?.();
      };
      ask.answer(name, keys, controller.signal, (share) => isCurrent() && show((was) => ({ ...was, progress: share }))).then(
        (answer) => {
          if (isCurrent()) show({ answer, error: null, isStale: l.waiting !== null, progress: null });
          end();
        },
        (error: unknown) => {
          if (isCurrent() && !controller.signal.aborted)
            show((was) => ({ answer: was.answer, error: error instanceof Refused ? error : new Refused(String(error)), isStale: false, progress: null }));
          end();
        },
      );
    };
    if (ask.isDragging && l.controller) l.waiting = begin;
    else begin();
  }, [name, query, ask.version]);

  useEffect(
    () => () => {
      lane.current.controller?.abort();
      lane.current = { controller: null, waiting: null };
    },
    [],
  );
  return shown;
}
