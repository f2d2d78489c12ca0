// SPDX-License-Identifier: MIT
// Compare: two recordings, or two windows of one: the sentence, what changed as a flame graph, and as a table.
import type { Ask, ViewProps } from "../api/ask";
import type { ChangedFunction, Diff } from "../api/diff";
import { useAnswer } from "../api/use";
import { frameName, shownName } from "../model/frame_name";
import { generations, halves, momentsOf, oldKeys, sidesOf, type Sides } from "../model/sides";
import { amount as unitText, codeWords, metricOf, signedAmount, unitOf } from "../model/metric";
import { get, question, type State } from "../model/state";
import { lengthOf, plural } from "../model/units";
import { visible } from "../model/visible";
import { openFunction } from "../widgets/flame_items";
import { Empty } from "../widgets/empty";
import { Name } from "../widgets/name";
import { Pending } from "../widgets/pending";
import { Choice } from "../widgets/switches";
import { Table, type Column } from "../widgets/table";
import { Picture } from "./flame";

const ROWS = 500;

export function CompareView({ state, ask }: ViewProps) {
  if (ask.isFile && !ask.trace.old) return <Empty title="Compare" why="This file has one recording and the answers about it. To compare two windows or two recordings, start silt view FILE, or silt view BEFORE AFTER." />;
  return <Comparison state={state} ask={ask} />;
}

function Comparison({ state, ask }: ViewProps) {
  const sides = sidesOf(state, ask.trace);
  const keys = sides.kind === "none" ? null : oldKeys(state, sides);
  const isTable = get(state, "shape") === "table";
  const isReversed = get(state, "reverse") !== undefined;
  const differ = useAnswer(ask, "diff", keys && question(state, { ...keys, top: ROWS }));
  const flame = useAnswer(ask, "flame", keys && !isTable ? question(state, { ...keys, reverse: isReversed }) : null);
  return (
    <div class="flame-view">
      <div class="flame-head">
        {differ.answer && keys && <p class="first-sentence">{differ.answer.text}</p>}
        <SidePicker state={state} ask={ask} sides={sides} />
        {keys && (
          <Choice label="Shown as" value={isTable ? "table" : "flame"} onChoose={(v) => ask.go({ set: { shape: v === "table" ? v : null } })}
                  of={[["flame", "Flame graph"], ["table", "Table"]]} />
        )}
        {keys && !isTable && (
          <Choice label="What comes first" value={isReversed ? "code" : "callers"} onChoose={(v) => ask.go({ set: { reverse: v === "code" ? "1" : null } })}
                  of={[["callers", "From the start of the program"], ["code", codeWords(metricOf(state, ask.trace))]]} />
        )}
      </div>
      {keys === null ? <Choose ask={ask} />
        : isTable ? <Pending of={differ}>{(answer) => <ChangeTable answer={answer} state={state} ask={ask} />}</Pending>
        : <Pending of={flame}>{(answer) => <Picture answer={answer} state={state} ask={ask} />}</Pending>}
    </div>
  );
}

// ---- sides ---------------------------------------------------------------------------------------

function Choose({ ask }: { ask: Ask }) {
  if (lengthOf(ask.trace.duration_s) === null) return <Empty title="Compare" why="What was imported is of one moment. To compare it with another, start silt view BEFORE AFTER." />;
  const made = generations(ask.trace);
  return (
    <div class="empty">
      <h2>Two windows of this recording</h2>
      <p>Compare what one stretch of time allocated or held with what the next one did. To compare with another recording, start <code>silt view BEFORE AFTER</code>.</p>
      <p class="switches">
        <button type="button" class="button is-main" onClick={() => ask.go(halves(ask.trace))}>First half, second half</button>
        {made.map((each) => <button type="button" class="button" key={each.text} onClick={() => ask.go(each.change)}>{visible(each.text)}</button>)}
      </p>
      {made.length === 0 && <p class="quiet">Marks name moments to compare between: <code>silt snapshot</code>, or <code>silt_mark()</code> in the program.</p>}
    </div>
  );
}

function SidePicker({ state, ask, sides }: ViewProps & { sides: Sides }) {
  if (sides.kind === "traces") {
    return (
      <p class="quiet">
        <b>Before</b> {visible(ask.trace.old?.file ?? "")} · <b>Now</b> {visible(ask.trace.file)}{" "}
        {!ask.isFile && <button type="button" class="link" onClick={() => ask.go(halves(ask.trace))}>compare two windows of the newer instead</button>}
      </p>
    );
  }
  if (sides.kind === "none") return null;
  const pick = (label: string, key: string, value: string) => (
    <MomentPicker ask={ask} label={label} value={value} onPick={(word) => ask.go({ set: { [key]: word } })} />
  );
  return (
    <p class="switches">
      <span><b>Before</b> {pick("from", "old-from", sides.oldFrom)} {pick("to", "old-to", sides.oldTo)}</span>
      <span><b>Now</b> {pick("from", "from", sides.from)} {pick("to", "to", sides.to)}</span>
      {get(state, "from") !== undefined && (
        <button type="button" class="button" title="What the timeline shows now becomes the older side"
                onClick={() => ask.go({ set: { "old-from": sides.from, "old-to": sides.to } })}>
          Window becomes Before
        </button>
      )}
      <button type="button" class="link" onClick={() => ask.go({ set: { "old-from": null, "old-to": null } })}>{ask.trace.old ? "compare the two recordings" : "choose anew"}</button>
    </p>
  );
}

function MomentPicker({ ask, label, value, onPick }: { ask: Ask; label: string; value: string; onPick(word: string): void }) {
  const moments = momentsOf(ask.trace);
  return (
    <label class="field">
      {label}
      <select value={value} onChange={(e) => onPick(e.currentTarget.value)}>
        {!moments.some((moment) => moment.word === value) && <option value={value}>{/^[\d.]+$/.test(value) ? `${value} s` : value}</option>}
        {moments.map((moment) => <option key={moment.word} value={moment.word}>{visible(moment.text)}</option>)}
      </select>
    </label>
  );
}

// ---- the table -----------------------------------------------------------------------------------

/** A sign beside the colour: nobody has to tell purple from blue. */
const STATUS = { new: ["+", "new", "grew"], gone: ["−", "gone", "shrank"], grown: ["▲", "grew", "grew"], shrunk: ["▼", "shrank", "shrank"], same: ["", "same", "same"] } as const;

function ChangeTable({ answer, state, ask }: { answer: Diff; state: State; ask: Ask }) {
  const rows = answer.functions;
  const unit = unitOf(answer.metric);
  const signed = (n: number): string => signedAmount(n, unit);
  const amount = (n: number): string => (n < 0 ? signed(n) : unitText(n, unit));
  const most = Math.max(1, ...rows.map((row) => Math.abs(row.change)));
  const sort = get(state, "sort") ?? "change";
  const place = (row: ChangedFunction): string => visible(row.file ? `${row.file.slice(row.file.lastIndexOf("/") + 1)}:${row.line}` : row.module.slice(row.module.lastIndexOf("/") + 1));
  const at = (row: number): ChangedFunction => rows[row]!;
  const columns: readonly Column[] = [
    { key: "status", title: "", minPx: 72, values: rows.map((row) => row.status), copy: (i) => at(i).status,
      cell: (i) => <span class={`change is-${STATUS[at(i).status][2]}`}>{STATUS[at(i).status][0]} {STATUS[at(i).status][1]}</span> },
    { key: "function", title: "function", minPx: 220, grow: 3, values: rows.map(shownName), tip: (i) => visible(frameName(at(i))), copy: (i) => frameName(at(i)),
      cell: (i) => <Name text={visible(shownName(at(i)) || "code without a call path")} /> },
    { key: "place", title: "place", minPx: 120, grow: 1, cell: (i) => <span class="quiet">{place(at(i))}</span>, copy: (i) => place(at(i)) },
    { key: "change", title: "change", minPx: 120, grow: 1, isNumber: true, values: rows.map((row) => Math.abs(row.change)), copy: (i) => String(at(i).change),
      cell: (i) => signed(at(i).change), share: (i) => at(i).change / most },
    { key: "pct", title: "by", minPx: 72, isNumber: true, values: rows.map((row) => row.change_pct ?? 0), copy: (i) => String(at(i).change_pct ?? ""),
      cell: (i) => { const pct = at(i).change_pct; return pct === null ? "" : `${pct > 0 ? "+" : ""}${pct.toFixed(Math.abs(pct) < 9.95 ? 1 : 0)} %`; } },
    { key: "old", title: "before", minPx: 88, isNumber: true, values: rows.map((row) => row.old.value), cell: (i) => amount(at(i).old.value), copy: (i) => String(at(i).old.value) },
    { key: "new", title: "now", minPx: 88, isNumber: true, values: rows.map((row) => row.new.value), cell: (i) => amount(at(i).new.value), copy: (i) => String(at(i).new.value) },
  ];
  return (
    <Table label="What changed" n={rows.length} columns={columns} sort={{ column: sort.replace(/^-/, ""), descending: !sort.startsWith("-") }}
           onSort={(by) => ask.go({ set: { sort: `${by.descending ? "" : "-"}${by.column}` } })}
           filter={get(state, "search") ?? ""} text={(i) => `${frameName(at(i))} ${shownName(at(i))} ${place(at(i))} ${at(i).status}`.toLowerCase()}
           onOpen={(i) => frameName(at(i)) && openFunction(ask, frameName(at(i)))} empty="No function changed by more than 1 %."
           note={<span class="quiet">{plural(answer.functions_changed, "function")} changed</span>} />
  );
}
