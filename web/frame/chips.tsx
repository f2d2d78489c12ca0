// SPDX-License-Identifier: MIT
// What is chosen of the recording, each with a way to remove it; and how much that is.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import { useAnswer } from "../api/use";
import { totals as totalsCheck } from "../api/shapes";
import { chipsOf, FILTER_HINTS, FILTER_WORDS, wholeWords } from "../model/chips";
import { metricText } from "../model/metric";
import { question } from "../model/state";
import { share } from "../model/units";
import { visible } from "../model/visible";
import type { Span } from "../model/window";

export function Chips({ state, ask, answered }: ViewProps & { answered: Span | null }) {
  const chips = chipsOf(state, ask.trace, answered);
  const isNarrow = (ask.writtenFor?.fixed.length ?? 0) > 0;
  return (
    <div class="chips">
      {ask.writtenFor?.fixed.map(([key, value]) => (
        <span class="chip" key={`${key}=${value}`} title="This file was written with it, and has nothing else">
          <span class="chip-label">{FILTER_WORDS[key] ?? key}</span> <span class="chip-value" title={visible(value)}>{visible(value)}</span>
        </span>
      ))}
      {chips.map((chip) => (
        <span class="chip" key={`${chip.key}=${chip.value}`}>
          <span class="chip-label">{chip.label}</span> <span class="chip-value" title={chip.note ?? visible(chip.value)}>{visible(chip.value)}</span>
          {chip.note !== undefined && <span class="chip-label" title={chip.note}>nearest known</span>}
          <button class="chip-remove" aria-label={`Remove ${chip.label} ${visible(chip.value)}`} onClick={() => ask.go(chip.removal)}>✕</button>
        </span>
      ))}
      {!ask.isFile && <AddFilter state={state} ask={ask} />}
      {chips.length > 1 && <button class="link" onClick={() => ask.go({ clear: true })}>clear</button>}
      <Selected state={state} ask={ask} hasChips={chips.length > 0 || isNarrow} isNarrow={isNarrow} />
    </div>
  );
}

function AddFilter({ ask }: ViewProps) {
  const [isOpen, setOpen] = useState(false);
  const [key, setKey] = useState("function");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isOpen) input.current?.focus();
  }, [isOpen]);
  if (!isOpen) return <button class="chip-add" id="add-filter" onClick={() => setOpen(true)}>+ filter</button>;
  const add = (event: Event): void => {
    event.preventDefault();
    const value = input.current?.value.trim() ?? "";
    if (value) ask.go({ add: [[key, value]] });
    setOpen(false);
  };
  return (
    <form class="chip chip-form" onSubmit={add} onKeyDown={(event) => event.key === "Escape" && (event.stopPropagation(), setOpen(false))}>
      <select aria-label="Filter by" value={key} onChange={(event) => { setKey(event.currentTarget.value); input.current?.focus(); }}>
        {Object.keys(FILTER_HINTS).map((name) => <option key={name} value={name}>{FILTER_WORDS[name]}</option>)}
      </select>
      <input ref={input} aria-label="Value" placeholder={FILTER_HINTS[key]} spellcheck={false} autocomplete="off" />
      <button type="submit" class="link">add</button>
    </form>
  );
}

/** "= 31.2 MiB, 7 % of the peak"; of what a file leaves out nobody knows a share. */
function Selected({ state, ask, hasChips, isNarrow }: ViewProps & { hasChips: boolean; isNarrow: boolean }) {
  const tree = { tree: true, depth: 1 };
  const part = useAnswer(ask, "shaped", hasChips ? question(state, tree) : null);
  const scope = state.keys.filter(([key]) => key === "process" || key === "by");
  const whole = useAnswer(ask, "shaped", hasChips && !isNarrow ? question({ view: state.view, keys: scope }, tree) : null);
  if (!hasChips || !part.answer || part.error) return null;
  const { metric, value } = totalsCheck(part.answer);
  const all = whole.answer && !whole.error ? totalsCheck(whole.answer) : null;
  const words = wholeWords(metric);
  return (
    <span class={part.isStale ? "selected is-stale" : "selected"}>
      = <b>{metricText(value, metric)}</b>
      {all && words && all.metric === metric && all.value > 0 && `, ${share(value, all.value)} ${words}`}
    </span>
  );
}
