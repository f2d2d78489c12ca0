// SPDX-License-Identifier: MIT
// A field for a statement: coloured by what its words are, with a list of what may follow. Typing opens the list, Ctrl Space does; Tab takes from it,
// Enter after an arrow; Esc closes it. Ctrl Enter runs the statement.
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SqlSchema } from "../api/rows";
import { accept, complete, type Completions } from "../model/sql_complete";
import { pieces } from "../model/sql_text";

export interface SqlEditorProps {
  readonly text: string;
  readonly schema: SqlSchema | null;
  readonly onText: (text: string) => void;
  readonly onRun: () => void;
  /** The statement was refused. */
  readonly isWrong: boolean;
}

interface List {
  readonly completions: Completions;
  readonly place: number;
  readonly chosen: number;
  /** An arrow chose: then Enter takes it. */
  readonly isMoved: boolean;
}

const LIST = "sql-list";

export function SqlEditor({ text, schema, onText, onRun, isWrong }: SqlEditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const caret = useRef<HTMLSpanElement>(null);
  const popup = useRef<HTMLUListElement>(null);
  const place = useRef<number | null>(null); // of the cursor, once the text is drawn
  const [list, setList] = useState<List | null>(null);

  useLayoutEffect(() => {
    if (place.current === null || !field.current) return;
    field.current.setSelectionRange(place.current, place.current);
    place.current = null;
  }, [text]);
  useLayoutEffect(() => {
    const at = caret.current, box = popup.current;
    if (!at || !box) return;
    const room = box.parentElement?.clientWidth ?? 0;
    box.style.left = `${Math.max(0, Math.min(at.offsetLeft, room - box.offsetWidth))}px`;
    box.style.top = `${at.offsetTop + at.offsetHeight + 4}px`;
    box.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [list]);

  const open = (value: string, at: number, isAsked: boolean): void => {
    if (!schema) return setList(null);
    const completions = complete(value, at, schema);
    // unasked, only a word that was begun or a dot opens it
    const isBegun = at > completions.begin || value[at - 1] === ".";
    setList(completions.items.length > 0 && (isAsked || isBegun) ? { completions, place: at, chosen: 0, isMoved: false } : null);
  };
  const take = (i: number): void => {
    const item = list?.completions.items[i];
    if (!list || !item) return;
    const after = accept(text, list.place, list.completions, item);
    place.current = after.place;
    setList(null);
    onText(after.text);
    field.current?.focus();
    if (item.text.endsWith(".")) open(after.text, after.place, true);
  };
  const move = (by: number): void => {
    if (!list) return;
    const n = list.completions.items.length;
    setList({ ...list, chosen: (list.chosen + by + n) % n, isMoved: true });
  };

  const onKeyDown = (event: JSX.TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    const { key } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
      setList(null);
      onRun();
    } else if (key === " " && event.ctrlKey) open(text, event.currentTarget.selectionStart, true);
    else if (event.ctrlKey || event.metaKey || event.altKey || !list) return;
    else if (key === "ArrowDown" || key === "ArrowUp") move(key === "ArrowDown" ? 1 : -1);
    else if (key === "Tab" && !event.shiftKey) take(list.chosen);
    else if (key === "Enter" && list.isMoved) take(list.chosen);
    else if (key === "Escape") {
      setList(null);
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };

  const coloured = useMemo(() => pieces(text), [text]);
  const spans: JSX.Element[] = [];
  for (const piece of coloured) {
    const word = text.slice(piece.begin, piece.end);
    spans.push(<span key={piece.begin} class={`sql-${piece.kind}`}>{word}</span>);
  }
  const at = list?.completions.begin ?? null;
  return (
    <div class={isWrong ? "sql-editor is-wrong" : "sql-editor"}>
      <pre class="sql-colours" aria-hidden="true">{spans}{"\n"}</pre>
      {at !== null && <pre class="sql-colours is-measure" aria-hidden="true">{text.slice(0, at)}<span ref={caret}>{"\u200b"}</span></pre>}
      <textarea
        ref={field}
        class="sql-field"
        aria-label="Statement"
        aria-invalid={isWrong}
        aria-describedby="sql-trouble"
        aria-autocomplete="list"
        aria-controls={list ? LIST : undefined}
        aria-expanded={list !== null}
        aria-activedescendant={list ? `${LIST}-${list.chosen}` : undefined}
        role="combobox"
        rows={3}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        value={text}
        onInput={(event) => {
          const { value, selectionStart } = event.currentTarget;
          onText(value);
          open(value, selectionStart, false);
        }}
        onKeyDown={onKeyDown}
        onClick={() => setList(null)}
        onBlur={() => setList(null)}
      />
      {list && (
        <ul ref={popup} id={LIST} class="sql-list" role="listbox" aria-label="What may follow">
          {list.completions.items.map((item, i) => (
            <li key={item.text} id={`${LIST}-${i}`} role="option" aria-selected={i === list.chosen} class={i === list.chosen ? "is-chosen" : undefined}
                onMouseDown={(event) => { event.preventDefault(); take(i); }}>
              <span class="mono">{item.text}</span> <span class="quiet">{item.kind}{item.help === "" ? "" : `: ${item.help}`}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
