// SPDX-License-Identifier: MIT
// Who allocated, who freed, who ran and who waited: threads with their figures, processes with their lives, and what was mapped.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import type { ProcessLife, Threads } from "../api/threads";
import { useAnswer } from "../api/use";
import { hasSource } from "../api/ask";
import { frameName, shownName } from "../model/frame_name";
import { processTree, timeTicks } from "../model/process_tree";
import { threadsSentence } from "../model/sentence";
import { get, question } from "../model/state";
import { moment, place } from "../model/spread";
import { timeText, windowOf } from "../model/window";
import { parseSort, type Sort } from "../model/table_rows";
import { bytes, count, duration, lengthOf, markedTimes, time, weightWords } from "../model/units";
import { visible } from "../model/visible";
import { Empty } from "../widgets/empty";
import { Name } from "../widgets/name";
import { Pending } from "../widgets/pending";
import { Table, type Column } from "../widgets/table";

export function ThreadsView({ state, ask }: ViewProps) {
  // Of many events only once it is asked for: a pass over a hundred million takes seconds.
  const [isWhole, setWhole] = useState(false);
  const asked = useAnswer(ask, "threads", question(state, { by: null, full: isWhole }));
  return (
    <Pending of={asked}>
      {(answer) => (
        <div class="threads">
          <h1 class="headline">{threadsSentence(answer, ask.trace.has_threads !== false)}</h1>
          {answer.note !== null && <p class="quiet">{answer.note}</p>}
          <section>
            <h2>Threads</h2>
            {ask.trace.has_threads === false ? <p class="quiet">What was imported does not say which thread did what.</p> : <ThreadTable answer={answer} state={state} ask={ask} onWhole={() => setWhole(true)} />}
          </section>
          <section>
            <h2>Processes</h2>
            <Processes answer={answer} state={state} ask={ask} />
          </section>
          {!ask.trace.time?.is_all && (
            <section>
              <h2>Mappings</h2>
              <Mappings answer={answer} ask={ask} state={state} />
            </section>
          )}
        </div>
      )}
    </Pending>
  );
}

// ---- threads -------------------------------------------------------------------------------------

function ThreadTable({ answer, state, ask, onWhole }: { answer: Threads; onWhole: () => void } & ViewProps) {
  const rows = answer.threads;
  const hasTime = rows.some((t) => t.cpu_s !== undefined);
  const [sort, setSort] = useState<Sort>(hasTime ? parseSort("cpu", "cpu") : parseSort("allocations", "allocations"));
  const hasSeveral = new Set(rows.map((t) => t.process)).size > 1;
  const columns = useMemo((): readonly Column[] => {
    const figure = (key: string, title: string, hint: string, values: readonly number[], show: (n: number) => string): Column => {
      const most = values.reduce((a, b) => Math.max(a, b), 0);
      return { key, title, hint, isNumber: true, minPx: 96, values, cell: (i) => (values[i] === 0 ? "–" : show(values[i])), share: most > 0 ? (i) => values[i] / most : undefined, tip: (i) => count(values[i]), copy: (i) => String(values[i]) };
    };
    const columns: Column[] = [{ key: "name", title: "thread", minPx: 144, grow: 2, values: rows.map((t) => t.name), cell: (i) => rows[i].name || "(no name)", tip: (i) => `${rows[i].name} (${rows[i].tid})`, copy: (i) => rows[i].name }];
    columns.push({ key: "tid", title: "tid", isMinor: true, isNumber: true, minPx: 72, values: rows.map((t) => t.tid), cell: (i) => String(rows[i].tid), copy: (i) => String(rows[i].tid) });
    if (hasSeveral) columns.push({ key: "process", title: "process", isMinor: true, minPx: 96, grow: 1, values: rows.map((t) => t.process), cell: (i) => rows[i].process, copy: (i) => rows[i].process });
    if (hasTime)
      columns.push(
        figure("cpu", "CPU", "Time it ran", rows.map((t) => Math.round(1e9 * (t.cpu_s ?? 0))), time),
      );
    if (rows.some((t) => t.blocked_s !== undefined))
      columns.push(
        figure("blocked", "blocked", "Time it waited for something", rows.map((t) => Math.round(1e9 * (t.blocked_s ?? 0))), time),
        figure("ready", "waited for a CPU", "Time it could have run, but others did", rows.map((t) => Math.round(1e9 * (t.ready_s ?? 0))), time),
      );
    if (answer.has_figures && !ask.trace.time?.is_all)
      columns.push(
        figure("allocations", "allocations", "Allocations it made", rows.map((t) => t.allocations ?? 0), count),
        figure("bytes", "allocated", "Bytes it allocated", rows.map((t) => t.bytes_allocated ?? 0), bytes),
        figure("temporary", "temporary", "Allocations it freed before it allocated again", rows.map((t) => t.temporary_allocations ?? 0), count),
        figure("frees", "frees", "Blocks it freed", rows.map((t) => t.frees ?? 0), count),
        figure("foreign", "freed for others", "Blocks it freed that another thread had allocated", rows.map((t) => t.freed_for_others ?? 0), count),
      );
    columns.push({ key: "begin", title: "started", isNumber: true, minPx: 80, values: rows.map((t) => t.begin_s), cell: (i) => moment(rows[i].begin_s), copy: (i) => String(rows[i].begin_s) });
    return columns;
  }, [answer]);
  const isIn = (tid: number): boolean => get(state, "thread") === String(tid);
  return (
    <>
      {!answer.has_figures && !ask.trace.time?.is_all && <NoFigures state={state} ask={ask} onWhole={onWhole} />}
      <Table
        label="Threads"
        n={rows.length}
        columns={columns}
        sort={answer.has_figures || hasTime ? sort : parseSort("-begin", "-begin")}
        onSort={setSort}
        filter={get(state, "search") ?? ""}
        text={(i) => `${rows[i].name} ${rows[i].tid}`.toLowerCase()}
        isPicked={(i) => isIn(rows[i].tid)}
        onOpen={(i) => !ask.isFile && ask.go({ set: { thread: isIn(rows[i].tid) ? null : String(rows[i].tid) } })}
        maxRows={12}
        note={<span class="quiet">{ask.isFile ? "" : "Enter or a click filters everything to a thread"}{answer.threads_in_all > rows.length ? ` ${count(answer.threads_in_all - rows.length)} more are not shown.` : ""}</span>}
        empty={<Empty title="No threads" why="No thread ran in the chosen process and window." />}
      />
    </>
  );
}

/** Figures by thread come from events: they may be gone, never have been there, or be too many. */
function NoFigures({ state, ask, onWhole }: { onWhole: () => void } & ViewProps) {
  const { trace } = ask;
  const from_s = windowOf(state, trace)?.from_s ?? 0;
  if (!trace.has_events) return <p class="notice">The recording has totals and no events, so figures by thread are unknown.</p>;
  if (ask.isFile) return <p class="notice">Figures by thread are not in this file: start silt view FILE to see them.</p>;
  if (from_s >= trace.detail_from_s)
    return (
      <p class="notice">
        Figures by thread need more than 4 million events to be read. Choose a shorter window, or{" "}
        <button type="button" class="link" onClick={onWhole}>read them all</button>.
      </p>
    );
  return (
    <p class="notice">
      Figures by thread are known from {duration(trace.detail_from_s)} on: the trace was limited in size, and the events before are gone.{" "}
      <button type="button" class="link" onClick={() => ask.go({ set: { at: null, from: timeText(trace.detail_from_s, 1e-6), to: null } })}>Show from there on</button>
    </p>
  );
}

// ---- processes -----------------------------------------------------------------------------------

function seconds(s: number | undefined): string {
  return s ? time(1e9 * s) : "–";
}

function Processes({ answer, state, ask }: { answer: Threads } & ViewProps) {
  const tree = useMemo(() => processTree<ProcessLife>(answer.processes, ask.trace.duration_s), [answer, ask.trace.duration_s]);
  const isOfTime = ask.trace.time?.is_all === true;
  const valueOf = (p: ProcessLife): number => (isOfTime ? (p.cpu_s ?? 0) : (p.totals?.peak_live_bytes ?? 0));
  const most = answer.processes.reduce((a, p) => Math.max(a, valueOf(p)), 0);
  const ticks = lengthOf(ask.trace.duration_s) === null ? [] : markedTimes(timeTicks(ask.trace.duration_s, 5));
  const hasWaits = answer.processes.some((p) => p.blocked_s !== undefined);
  // what was imported has one figure where it is not of memory
  const titles = isOfTime ? ["CPU", ...(hasWaits ? ["blocked", "waited for a CPU"] : [])] : weightWords() !== null ? [weightWords()!] : ["peak", "at end", "allocations"];
  const chosen = get(state, "process");
  return (
    <div class="lives" role="table" aria-label="Processes and their lives">
      <div class="life is-head" role="row">
        <span role="columnheader">process</span>
        {[0, 1, 2].map((i) => <span key={i} role="columnheader" class="number">{titles[i] ?? ""}</span>)}
        <span role="columnheader" class="life-axis" aria-label="time">
          {ticks.map((tick) => <span key={tick} style={{ left: `${(100 * tick) / (ask.trace.duration_s || 1)}%` }}>{moment(tick)}</span>)}
        </span>
      </div>
      {tree.map(({ process, depth, begin, end }) => (
        <div key={process.word} class={chosen === process.word ? "life is-picked" : "life"} role="row">
          <span role="cell" class="life-name" style={{ paddingLeft: `${depth * 16}px` }} title={`${process.name}${process.pid === null ? "" : `, pid ${process.pid}`}, ended: ${process.ended}`}>
            {ask.isFile ? visible(process.name || process.word) : <button type="button" class="link" onClick={() => ask.go({ set: { process: chosen === process.word ? null : process.word } })}>{visible(process.name || process.word)}</button>} <span class="quiet">{process.word}</span>
          </span>
          <span role="cell" class="number cell is-number"><span class="cell-bar" style={{ width: `${most > 0 ? (100 * valueOf(process)) / most : 0}%` }} /><span class="cell-text">{isOfTime ? seconds(process.cpu_s) : process.totals ? bytes(process.totals.peak_live_bytes) : "–"}</span></span>
          <span role="cell" class="number">{titles.length < 2 ? "" : isOfTime ? seconds(process.blocked_s) : process.totals?.end_live_bytes ? bytes(process.totals.end_live_bytes) : "–"}</span>
          <span role="cell" class="number">{titles.length < 3 ? "" : isOfTime ? seconds(process.ready_s) : process.totals ? count(process.totals.allocations) : "–"}</span>
          <span role="cell" class="life-track" title={`${moment(process.begin_s)} to ${process.end_s === null ? "now" : duration(process.end_s)}`}>
            <span class="life-bar" style={{ left: `${100 * begin}%`, width: `${Math.max(0.3, 100 * (end - begin))}%` }} />
          </span>
        </div>
      ))}
      {answer.processes_in_all > answer.processes.length && <p class="quiet">{count(answer.processes_in_all - answer.processes.length)} more are not shown. Search for a process in the header.</p>}
    </div>
  );
}

// ---- mappings ------------------------------------------------------------------------------------

function Mappings({ answer, ask }: { answer: Threads } & ViewProps) {
  const { mappings } = answer;
  if (!mappings) return <p class="quiet">What was imported does not say what the program mapped itself.</p>;
  if ((mappings.peak_bytes === 0 && mappings.sites.length === 0))
    return <p class="quiet">The program mapped no memory itself: everything came through its allocator.</p>;
  const most = mappings.sites.reduce((a, s) => Math.max(a, s.peak_bytes), 0);
  const frames = mappings.sites.map((s) => s.stack[s.shown ?? 0]);
  const nameOf = (i: number): string => (frames[i] === undefined ? "(no stack)" : frameName(frames[i]) || "(unknown)");
  return (
    <>
      <p>
        At most {bytes(mappings.peak_bytes)} were mapped by the program itself, not by its allocator; {bytes(mappings.end_bytes)} at the end.
      </p>
      <Table
        label="Mappings"
        n={mappings.sites.length}
        maxRows={12}
        columns={[
          { key: "function", title: "function", minPx: 176, grow: 2, cell: (i) => <Name text={visible(frames[i] === undefined ? nameOf(i) : shownName(frames[i]) || "(unknown)")} />, tip: (i) => mappings.sites[i].stack.map((f) => frameName(f) || "(unknown)").join("\n"), copy: nameOf },
          { key: "place", title: "place", isMinor: true, minPx: 112, grow: 1, cell: (i) => <span class="quiet">{place(frames[i]?.file ?? "", frames[i]?.line ?? 0)}</span> },
          { key: "peak", title: "at most", isNumber: true, minPx: 96, cell: (i) => bytes(mappings.sites[i].peak_bytes), share: (i) => (most > 0 ? mappings.sites[i].peak_bytes / most : 0), copy: (i) => String(mappings.sites[i].peak_bytes) },
          { key: "end", title: "at end", isNumber: true, minPx: 96, cell: (i) => bytes(mappings.sites[i].end_bytes), copy: (i) => String(mappings.sites[i].end_bytes) },
        ]}
        onOpen={(i) => {
          const frame = frames[i];
          if (frame && frame.file !== "" && hasSource(ask, frameName(frame))) ask.go({ view: "source", set: { what: frameName(frame) } });
        }}
        empty=""
      />
    </>
  );
}
