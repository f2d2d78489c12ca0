// SPDX-License-Identifier: MIT
// What a view is given: `state` says what is chosen, `ask` answers questions and makes choices. Two sources answer: http.ts and file.ts.
import type { Change, Keys, State } from "../model/state";
import type { AnswerName, Answers } from "./answers";
import type { Early } from "./report";
import type { Trace } from "./trace";

/** One sentence, and what may be done about it. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly fix: string | null = null,
    /** The key of the question that is to blame. */
    readonly key: string | null = null,
    readonly status = 0,
  ) {
    super(message);
  }
}

/** How far an answer is, from 0 to 1, null where that is not known; and what of it is known already, in the order in which it was found. */
export type OnProgress = (share: number | null, parts: readonly Early[]) => void;

export interface Source {
  /** Rejects with Refused, or with an AbortError once `signal` is aborted. `onProgress`: if it takes longer than 300 ms. */
  answer<N extends AnswerName>(name: N, keys: Keys, signal: AbortSignal, onProgress?: OnProgress): Promise<Answers[N]>;
  /** Written into a file: only what is in it can be answered. */
  readonly isFile: boolean;
  /** What a file was written for: its fixed keys hold in every answer. */
  readonly writtenFor?: { readonly title: string | null; readonly fixed: Keys };
  /** Windows begin and end at these; none: anywhere. */
  readonly edges_s?: readonly number[];
  /** Of a file: the functions whose source is in it. */
  readonly sources?: ReadonlySet<string>;
}

export interface Ask extends Source {
  readonly trace: Trace;
  /** Rises when the recording has grown: what was answered before may be asked again. */
  readonly version: number;
  /** A choice: pushes an entry to the history, or replaces the last one (while dragging). */
  go(change: Change, how?: "push" | "replace"): void;
  /** Somebody drags: what is asked now is superseded soon. */
  readonly isDragging: boolean;
}

/** Whether it is of use to lead to the source of a function. */
export function hasSource(ask: Pick<Source, "sources">, name: string): boolean {
  return name !== "" && (ask.sources === undefined || ask.sources.has(name));
}

export interface ViewProps {
  readonly state: State;
  readonly ask: Ask;
}
