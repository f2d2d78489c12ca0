// SPDX-License-Identifier: MIT
// Questions in components: useAnswer asks again when the keys change, keeps the former answer meanwhile, and cancels what is superseded.
import { useEffect, useRef, useState } from "preact/hooks";
import { toQuery, type Keys } from "../model/state";
import type { AnswerName, Answers } from "./answers";
import { Refused, type Ask } from "./ask";
import type { Early } from "./report";

export interface Answered<T> {
  /** The latest answer; while another is on its way, the one before. */
  readonly answer: T | null;
  readonly error: Refused | null;
  /** Another answer is on its way. */
  readonly isStale: boolean;
  /** How far it is, from 0 to 1; null: not known, or it took no time yet. */
  readonly progress: number | null;
  /** What of an answer on its way is known already, unless the one before is of the same question and the recording has only grown. */
  readonly parts: readonly Early[];
}

const NOTHING_YET: Pick<Answered<unknown>, "progress" | "parts"> = { progress: null, parts: [] };

/** What is said of an answer: of one before, as it was said then; nothing over a refusal. */
export function useSaid<T>(of: Pick<Answered<T>, "answer" | "error" | "isStale">, say: (answer: T) => string | null): string | null {
  const said = useRef<string | null>(null);
  if (of.error !== null || of.answer === null) said.current = null;
  else if (!of.isStale) said.current = say(of.answer);
  return said.current;
}

/** `of`: what was asked; `answerOf`: what the answer is of, whatever the recording's length. */
type Shown<T> = Answered<T> & { readonly of: string; readonly answerOf: string | null };

/** While somebody drags, a question under way has so long to end before the latest takes its place. */
const PATIENCE_MS = 250;

interface Lane {
  controller: AbortController | null;
  /** Only the latest waits. */
  waiting: (() => void) | null;
  began_ms: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Whom to ask, and when to ask again. */
export type Answering = Pick<Ask, "answer" | "version" | "isDragging">;

/** keys null: nothing is asked. isTurn false: others come first, and until then what is shown is that of before. */
export function useAnswer<N extends AnswerName>(ask: Answering, name: N, keys: Keys | null, isTurn = true): Answered<Answers[N]> {
  const [shown, show] = useState<Shown<Answers[N]>>({ answer: null, error: null, isStale: keys !== null, ...NOTHING_YET, of: "", answerOf: null });
  const lane = useRef<Lane>({ controller: null, waiting: null, began_ms: 0, timer: undefined });
  const query = keys === null ? null : toQuery(keys);
  const current = `${name}?${query ?? ""}#${ask.version}`;

  useEffect(() => {
    const l = lane.current;
    const begin = (): void => {
      clearTimeout(l.timer);
      if (keys === null) {
        l.controller?.abort();
        l.controller = null;
        show({ answer: null, error: null, isStale: false, ...NOTHING_YET, of: current, answerOf: null });
        return;
      }
      l.controller?.abort();
      const controller = new AbortController();
      l.controller = controller;
      l.waiting = null;
      l.began_ms = performance.now();
      show((was) => ({ ...was, isStale: true, ...NOTHING_YET, of: current }));
      const isCurrent = (): boolean => l.controller === controller;
      const end = (): void => {
        if (!isCurrent()) return;
        l.controller = null;
        l.waiting?.();
      };
      ask.answer(name, keys, controller.signal, (share, parts) => isCurrent() && show((was) => ({ ...was, progress: share, parts: was.answerOf === query ? NOTHING_YET.parts : parts }))).then(
        (answer) => {
          if (isCurrent()) show({ answer, error: null, isStale: l.waiting !== null, ...NOTHING_YET, of: current, answerOf: query });
          end();
        },
        (error: unknown) => {
          if (isCurrent() && !controller.signal.aborted)
            show((was) => ({ ...was, error: error instanceof Refused ? error : new Refused(String(error)), isStale: false, ...NOTHING_YET, of: current }));
          end();
        },
      );
    };
    if (keys !== null && !isTurn) {
      clearTimeout(l.timer);
      l.controller?.abort();
      l.controller = l.waiting = null;
      show((was) => ({ ...was, isStale: true, ...NOTHING_YET }));
    } else if (ask.isDragging && l.controller) {
      l.waiting = begin;
      clearTimeout(l.timer);
      l.timer = setTimeout(begin, Math.max(0, l.began_ms + PATIENCE_MS - performance.now()));
    } else begin();
  }, [name, query, ask.version, isTurn]);

  useEffect(
    () => () => {
      clearTimeout(lane.current.timer);
      lane.current.controller?.abort();
      lane.current = { controller: null, waiting: null, began_ms: 0, timer: undefined };
    },
    [],
  );
  // Whoever waits for its turn learns at once that others are asked anew.
  return shown.of === current ? shown : { ...shown, isStale: query !== null, ...NOTHING_YET };
}
