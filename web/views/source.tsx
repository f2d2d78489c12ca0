// SPDX-License-Identifier: MIT
// A function's source with the bytes of each line beside it. Without the file: where it was looked for, and which option gives the path.
import { useMemo, useState } from "preact/hooks";
import { hasSource, type ViewProps } from "../api/ask";
import type { Source, SourceFile } from "../api/source";
import type { Figures } from "../api/common";
import { useAnswer } from "../api/use";
import { frameName, isNamed, shownName } from "../model/frame_name";
import { picked, plainText } from "../model/pick";
import { sourceSentence } from "../model/sentence";
import { get, question } from "../model/state";
import { commonIndent, expandTabs, sourceRows, type SourceLine, type SourceRow } from "../model/source_rows";
import { amount, unitOf, type Unit } from "../model/metric";
import { bytes, count, weightWords } from "../model/units";
import { visible } from "../model/visible";
import { Empty, NoBlocks } from "../widgets/empty";
import { Name } from "../widgets/name";
import { Pending } from "../widgets/pending";

/** What to show: what was asked for, what is picked, the function that is filtered to. */
function subjectOf(state: ViewProps["state"]): string | undefined {
  const pick = picked(state);
  const filter = get(state, "function") ?? get(state, "asked-by");
  return get(state, "what") ?? (pick?.kind === "function" ? pick.name : undefined) ?? (filter === undefined ? undefined : plainText(filter));
}

export function SourceView({ state, ask }: ViewProps) {
  const subject = subjectOf(state);
  // Without a subject the function that holds the most.
  const largest = useAnswer(ask, "table", subject === undefined ? question(state, { "group-by": "function", rows: 30 }) : null);
  const answer = largest.answer;
  const row = answer ? answer.function.findIndex((_, i) => answer.names[answer.file[i]] !== "" && answer.names[answer.key[i]] !== "" && hasSource(ask, answer.names[answer.function[i]])) : -1;
  const what = subject ?? (answer && row >= 0 ? answer.names[answer.function[row]] : undefined);
  const asked = useAnswer(ask, "source", what !== undefined ? question(state, { what }) : null);
  if (what === undefined) {
    if (!answer || answer.rows === 0) return <Pending of={largest}>{() => <NoBlocks state={state} ask={ask} />}</Pending>;
    return (
      <Empty title="No source lines" why={ask.isFile && answer.file.some((file) => answer.names[file] !== "") ? "This file has the source of the functions that hold most at the peak. To see others, start silt view FILE."
        : "No function of what is chosen has a known source line. Lines come from debug information: build with -g, or give debug files to silt symbolize."}>
        <button type="button" class="button" onClick={() => ask.go({ view: "sites", set: { "group-by": "function" } })}>Show functions</button>
      </Empty>
    );
  }
  return (
    <div class="source">
      {!ask.isFile && <form
        class="source-what"
        onSubmit={(event) => {
          event.preventDefault();
          const text = new FormData(event.currentTarget).get("what");
          if (typeof text === "string" && text.trim() !== "") ask.go({ set: { what: text.trim() } });
        }}
      >
        <label class="field">
          function, or file and line{" "}
          <input key={what} class="field-text is-wide mono" name="what" type="text" defaultValue={what} spellcheck={false} />
        </label>
        <button type="submit" class="button">Show</button>
      </form>}
      {ask.isFile && <FileSources ask={ask} what={what} />}
      <Pending of={asked}>{(source) => <SourceFiles source={source} ask={ask} state={state} />}</Pending>
    </div>
  );
}

/** A page in one file has some functions: one chooses among them. */
function FileSources({ ask, what }: { ask: ViewProps["ask"]; what: string }) {
  const all = [...(ask.sources ?? [])];
  return (
    <label class="field source-what">
      function{" "}
      <select value={what} onChange={(event) => ask.go({ set: { what: event.currentTarget.value } })}>
        {!all.includes(what) && <option value={what}>{visible(what)}</option>}
        {all.map((name) => <option key={name} value={name}>{visible(name)}</option>)}
      </select>
    </label>
  );
}

const METRIC_WORDS: Readonly<Record<string, string>> = {
  peak: "at peak", end: "at end", allocated: "allocated", count: "allocations", temporary: "temporary", growth: "growth", cpu: "CPU time", blocked: "blocked",
};

function SourceFiles({ source, ask, state }: { source: Source } & ViewProps) {
  const sentence = sourceSentence(source, ask.trace.mode !== "exact");
  return (
    <>
      {sentence !== null && <h1 class="headline">{sentence}</h1>}
      {source.files.length === 0 && <Empty title="No source lines" why="Its call paths have no line numbers. Lines come from debug information: build with -g, or give debug files to silt symbolize." />}
      {source.files.map((file) => (
        <Listing key={file.file} file={file} metric={source.metric} ask={ask} state={state} />
      ))}
    </>
  );
}

function Missing({ file }: { file: SourceFile }) {
  return (
    <div class="notice">
      <p>
        {file.state === "missing" ? "There is no such file here" : `The file ${file.why ?? "cannot be read"}`}. Figures of its lines follow without their text.
      </p>
      {file.tried.length > 0 && (
        <p>
          silt looked at {file.tried.map((path, i) => (
            <span key={path}>{i > 0 && ", "}<code>{path}</code></span>
          ))}.
        </p>
      )}
      <p>
        Start silt view with <code>--source-dir DIR</code> to look below a directory, or with <code>--map BEFORE=NOW</code> if the tree has moved.
      </p>
    </div>
  );
}

/** Else lines have the one figure that was measured. */
function isOfMemory(unit: Unit): boolean {
  return unit !== "time" && weightWords() === null;
}

/** What lines tell beside the metric: what of it is known, and is another figure. */
interface Beside {
  readonly allocations: boolean;
  readonly end: boolean;
}

function besideOf(rows: readonly SourceRow<Figures>[], metric: string): Beside {
  const isKnown = (of: (f: SourceLine<Figures>) => number): boolean => rows.some((row) => row.kind === "line" && row.figures && !Number.isNaN(of(row.figures)));
  const isMemory = isOfMemory(unitOf(metric));
  return { allocations: isMemory && metric !== "count" && isKnown((f) => f.total.allocations), end: isMemory && metric !== "end" && isKnown((f) => f.total.end_live_bytes) };
}

function Listing({ file, metric, ask, state }: { file: SourceFile; metric: string } & ViewProps) {
  const rows = useMemo(() => sourceRows(file), [file]);
  const indent = useMemo(() => commonIndent(rows.flatMap((row) => (row.kind === "line" && row.text !== null ? [expandTabs(row.text)] : []))), [rows]);
  const unit = unitOf(metric), beside = besideOf(rows, metric);
  return (
    <section class="listing">
      <h2 class="listing-path mono">{file.path ?? file.file}</h2>
      {file.changed && <p class="notice">The file has changed since the program was built or recorded: lines may not match.</p>}
      {file.state !== "read" && <Missing file={file} />}
      <div class="listing-scroll">
        <table class="listing-table">
          <thead>
            <tr>
              <th scope="col" class="number">{weightWords() ?? METRIC_WORDS[metric] ?? metric}</th>
              {beside.allocations && <th scope="col" class="number">allocations</th>}
              {beside.end && <th scope="col" class="number">at end</th>}
              <th scope="col" class="number">line</th>
              <th scope="col">source</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (row.kind === "gap" ? <Gap key={`gap-${row.from}`} from={row.from} to={row.to} columns={2 + Number(beside.allocations) + Number(beside.end)} /> : <Line key={row.line} row={row} unit={unit} beside={beside} indent={indent} ask={ask} state={state} />))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Gap({ from, to, columns }: { from: number; to: number; columns: number }) {
  return (
    <tr class="listing-gap">
      <td colSpan={columns} />
      <td>{from === to ? `line ${from} has no figures` : `lines ${count(from)} to ${count(to)} have no figures`}</td>
    </tr>
  );
}

function cell(value: number, unit: Unit): string {
  return value === 0 ? "" : amount(value, unit);
}

function Line({ row, unit, beside, indent, ask }: { row: Extract<SourceRow<Figures>, { kind: "line" }>; unit: Unit; beside: Beside; indent: number } & ViewProps) {
  const [isOpen, open] = useState(row.isMost);
  const figures = row.figures;
  const calls = figures?.calls ?? [];
  const text = row.text === null ? null : expandTabs(row.text).slice(indent);
  return (
    <>
      <tr class={`heat-${row.heat}${row.isMost ? " is-most" : ""}`}>
        <td class="number listing-value" title={figures ? `${count(figures.total.value)}; by the line itself ${count(figures.self.value)}` : undefined}>{figures && cell(figures.total.value, unit)}</td>
        {beside.allocations && <td class="number">{figures && cell(figures.total.allocations, "count")}</td>}
        {beside.end && <td class="number">{figures && cell(figures.total.end_live_bytes, "bytes")}</td>}
        <td class="number quiet">
          {calls.length > 0 ? (
            <button type="button" class="fold" aria-expanded={isOpen} aria-label={`What line ${row.line} calls`} onClick={() => open(!isOpen)}>
              {isOpen ? "▾" : "▸"} {row.line}
            </button>
          ) : (
            row.line
          )}
        </td>
        <td class="listing-text mono">{text ?? <span class="quiet">(text unknown)</span>}</td>
      </tr>
      {isOpen &&
        calls.map((call) => (
          <tr key={`${frameName(call)} ${call.line}`} class="listing-call">
            <td class="number">{cell(call.total.value, unit)}</td>
            {beside.allocations && <td class="number">{cell(call.total.allocations, "count")}</td>}
            {beside.end && <td class="number">{cell(call.total.end_live_bytes, "bytes")}</td>}
            <td />
            <td>
              {isNamed(call) ? (
                <a href={`#source`} title={visible(call.function)} onClick={(event) => (event.preventDefault(), ask.go({ set: { what: call.function } }))}>
                  <Name text={visible(shownName(call))} />
                </a>
              ) : <span class="mono">{visible(shownName(call))}</span>}{" "}
              {isOfMemory(unit) && !Number.isNaN(call.total.bytes_allocated) && <>{bytes(call.total.bytes_allocated)} allocated</>}
            </td>
          </tr>
        ))}
    </>
  );
}
