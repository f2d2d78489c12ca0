// SPDX-License-Identifier: MIT
// Tasks: what an asynchronous program has going on, by where it was spawned: running, waiting, finished and still kept, and by whom. Sources of
// GLib's main loops the same way. Without a graph: what samples tell of the time that tasks took.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import type { SourceGroup, TaskGroup, Tasks } from "../api/tasks";
import { useAnswer, useSaid } from "../api/use";
import { frameName } from "../model/frame_name";
import { get, question } from "../model/state";
import { formatSort, parseSort, type Sort } from "../model/table_rows";
import { bytes, count, duration, plural, time } from "../model/units";
import { visible } from "../model/visible";
import { Empty } from "../widgets/empty";
import { openFunction } from "../widgets/flame_items";
import { Name } from "../widgets/name";
import { Pending } from "../widgets/pending";
import { Table, type Column } from "../widgets/table";

const MAX_GROUPS = 2000;

/** Where others stand beside it, a table is as high as so many rows. */
const ROWS_BESIDE = 16;

export function TasksView({ state, ask }: ViewProps) {
  const hasGraph = ask.trace.graphs > 0, hasTime = Boolean(ask.trace.time);
  const asked = useAnswer(ask, "tasks", hasGraph || hasTime ? question(state, { by: null, top: MAX_GROUPS }) : null);
  const sentence = useSaid(asked, (answer) => answer.sentence);
  if (!hasGraph && !hasTime) return <NoGraph />;
  return (
    <div class="filling">
      {sentence && <p class="first-sentence">{visible(sentence)}</p>}
      <Pending of={asked}>{(answer) => <Whole answer={answer} state={state} ask={ask} />}</Pending>
    </div>
  );
}

function Whole({ answer, state, ask }: ViewProps & { answer: Tasks }) {
  const hasSources = answer.sources.groups.length > 0, hasTasks = answer.groups.length > 0;
  if (answer.graph === null) return answer.times.length > 0 ? <Times answer={answer} /> : <NoGraph />;
  if (!hasSources) return hasTasks ? <Groups answer={answer} state={state} ask={ask} /> : <NoTasks answer={answer} />;
  return (
    <>
      {hasTasks && <Groups answer={answer} state={state} ask={ask} maxRows={ROWS_BESIDE} />}
      <SourceTable answer={answer} state={state} ask={ask} maxRows={hasTasks ? ROWS_BESIDE : undefined} />
    </>
  );
}

function NoGraph() {
  return <Empty title="This trace has no reference graph" why="Tasks of asynchronous programs, and sources of GLib's main loops, are told by their memory, from a graph of the process. Record with silt run --graph-every 10s, or take a graph of a program that is being recorded with silt snapshot PID --graph." />;
}

/** An unknown layout is said, and never guessed. */
function NoTasks({ answer }: { answer: Tasks }) {
  const what = answer.unknown.map((one) => `${plural(one.blocks, "block")} of ${one.runtime} (${bytes(one.bytes)})`).join(", ");
  return <Empty title="No tasks" why={what === "" ? `At ${duration(answer.at_s)} the process had no task of a runtime that silt knows.` : `${what} may be tasks of a version whose layout silt does not know: they are not counted.`} />;
}

function nameOf(group: TaskGroup): string {
  return visible(group.runs ?? group.type ?? "(unknown)");
}

/** The function that spawned it, where its call path is known. */
function spawner(group: TaskGroup): string {
  const frame = group.stack?.[group.shown ?? 0];
  return frame ? frameName(frame) : "";
}

function spawnText(group: TaskGroup): string {
  return visible((group.spawned ?? "unknown").replace(/^spawned /, "").replace(/^(at|in|by) /, ""));
}

function keptText(group: TaskGroup): string {
  return group.kept_by.map((keeper) => `${visible(keeper.name)}${group.kept_by.length > 1 ? ` (${count(keeper.tasks)})` : ""}`).join(", ");
}

function waitsText(group: TaskGroup): string {
  return group.waits_for.map((wait) => `${visible(wait.for)}${group.waits_for.length > 1 ? ` (${count(wait.tasks)})` : ""}`).join(", ");
}

/** A figure by row; a column of nothing but zeros is left out, unless it counts. */
function numbersOf<Group>(rows: readonly Group[]) {
  return (key: string, title: string, hint: string, of: (group: Group) => number, show: (n: number) => string, minPx = 80): readonly Column[] => {
    const values = rows.map(of), most = values.reduce((a, b) => Math.max(a, b), 0);
    if (most === 0 && key !== "tasks") return [];
    return [{ key, title, hint, isNumber: true, minPx, values, cell: (i) => (values[i] === 0 ? "–" : show(values[i]!)), share: (i) => values[i]! / most, copy: (i) => String(values[i]) }];
  };
}

const seconds = (s: number | null | undefined): number => (s ?? 0) * 1e9;

/** What to say of groups that the answer does not have. */
function leftOut(ask: ViewProps["ask"], more: number): string | null {
  if (more <= 0) return null;
  return ask.isFile ? `${count(more)} smaller ones are not in this file: silt view FILE has them.` : `${count(more)} more are not shown.`;
}

function columnsOf(rows: readonly TaskGroup[]): readonly Column[] {
  const number = numbersOf(rows);
  const hasKeepers = rows.some((group) => group.kept_by.length > 0), hasWaits = rows.some((group) => group.waits_for.length > 0);
  return [
    { key: "runs", title: "runs", minPx: 160, grow: 3, values: rows.map(nameOf), look: "name", cell: (i) => <Name text={nameOf(rows[i]!)} />, tip: (i) => `${rows[i]!.type ?? nameOf(rows[i]!)}\n${rows[i]!.runtime} (${rows[i]!.layout})`, copy: (i) => nameOf(rows[i]!) },
    { key: "spawned", title: "spawned at", minPx: 128, grow: 2, values: rows.map((group) => group.spawned ?? ""), look: "quiet", cell: (i) => <Name text={spawnText(rows[i]!)} />, tip: (i) => (rows[i]!.stack ?? []).map((frame) => frameName(frame) || "(unknown)").join("\n"), copy: (i) => rows[i]!.spawned ?? "" },
    ...number("tasks", "tasks", "Tasks whose memory is there", (g) => g.tasks, count),
    ...number("running", "running", "A thread runs them now", (g) => g.running, count),
    ...number("ready", "ready", "They were woken and wait for a thread", (g) => g.ready, count),
    ...number("waiting", "waiting", "They wait to be woken", (g) => g.waiting, count),
    ...number("finished", "finished", "They have ended, and their memory is kept", (g) => g.finished, count),
    ...number("busy", "CPU", "CPU time of their polls", (g) => seconds(g.busy_s), time),
    ...number("bytes", "bytes", "Of the tasks themselves, with their futures", (g) => g.bytes, bytes),
    ...number("retained", "retained", "What would be free without them", (g) => g.retained_bytes, bytes),
    ...number("oldest", "oldest", "Age of the oldest", (g) => seconds(g.oldest_s), time),
    ...(hasKeepers ? [{ key: "kept", title: "kept by", minPx: 144, grow: 2, values: rows.map(keptText), cell: (i: number) => <Name text={keptText(rows[i]!)} />, tip: (i: number) => keptText(rows[i]!), copy: (i: number) => keptText(rows[i]!) }] : []),
    ...(hasWaits ? [{ key: "waits", title: "waiting for", minPx: 144, grow: 2, values: rows.map(waitsText), cell: (i: number) => <Name text={waitsText(rows[i]!)} />, tip: (i: number) => waitsText(rows[i]!), copy: (i: number) => waitsText(rows[i]!) }] : []),
  ];
}

function Groups({ answer, state, ask, maxRows }: ViewProps & { answer: Tasks; maxRows?: number }) {
  const rows = answer.groups;
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const more = answer.groups_in_all - rows.length;
  return (
    <>
      <Table
        label="Tasks"
        n={rows.length}
        columns={columns}
        sort={parseSort(get(state, "sort"), "tasks")}
        onSort={(sort) => ask.go({ set: { sort: formatSort(sort) } })}
        filter={get(state, "search") ?? ""}
        text={(i) => `${nameOf(rows[i]!)} ${rows[i]!.spawned ?? ""} ${keptText(rows[i]!)} ${rows[i]!.runtime}`.toLowerCase()}
        onOpen={(i) => spawner(rows[i]!) !== "" && openFunction(ask, spawner(rows[i]!))}
        maxRows={maxRows}
        note={<span class="quiet">{leftOut(ask, more) ?? "Enter or a click opens who spawned them"}</span>}
        empty={<Empty title="No tasks" why="No group has that in its name." />}
      />
      <p class="quiet tree-note">
        At {duration(answer.at_s)}, pid {answer.pid}: {plural(answer.tasks, "task")}, {bytes(answer.bytes)}
        {answer.unknown.map((one) => `; ${plural(one.blocks, "block")} of ${visible(one.runtime)} of a layout that silt does not know`).join("")}
        {answer.unkept_blocks > 0 ? `; ${plural(answer.unkept_blocks, "block")} more than a graph keeps may be tasks too` : ""}; the program was stopped for {duration(answer.pause_s)}.
      </p>
    </>
  );
}

// ---- sources -------------------------------------------------------------------------------------

function kindOf(group: SourceGroup): string {
  return visible(group.kind ?? (group.table === null ? "a kind without a name" : `source of ${group.table}`));
}

function callsOf(group: SourceGroup): string {
  return visible(group.calls ?? "unknown");
}

function addedText(group: SourceGroup): string {
  return visible((group.added ?? "unknown").replace(/^added (at|by) /, ""));
}

/** The function that added it, where reports say that it did: by its place, or by its name. */
function adder(group: SourceGroup): string {
  const place = addedText(group);
  const frame = (group.stack ?? []).find((one) => `${one.file.replace(/^.*\//, "")}:${one.line}` === place || frameName(one) === place);
  return frame ? frameName(frame) : "";
}

function sourceColumns(rows: readonly SourceGroup[]): readonly Column[] {
  const number = numbersOf(rows);
  return [
    { key: "kind", title: "kind", minPx: 128, grow: 1, values: rows.map(kindOf), cell: (i) => kindOf(rows[i]!), tip: (i) => rows[i]!.table ?? kindOf(rows[i]!), copy: (i) => kindOf(rows[i]!) },
    { key: "calls", title: "calls", minPx: 144, grow: 2, values: rows.map(callsOf), look: "name", cell: (i) => <Name text={callsOf(rows[i]!)} />, tip: (i) => callsOf(rows[i]!), copy: (i) => callsOf(rows[i]!) },
    { key: "added", title: "added at", minPx: 128, grow: 2, values: rows.map(addedText), look: "quiet", cell: (i) => <Name text={addedText(rows[i]!)} />, tip: (i) => (rows[i]!.stack ?? []).map((frame) => frameName(frame) || "(unknown)").join("\n"), copy: (i) => rows[i]!.added ?? "" },
    ...number("sources", "sources", "Sources whose memory is there", (g) => g.sources, count),
    ...number("running", "running", "What they call is running", (g) => g.running, count),
    ...number("ready", "ready", "They are called in this turn of the loop", (g) => g.ready, count),
    ...number("waiting", "waiting", "A main loop has them", (g) => g.waiting, count),
    ...number("removed", "removed", "No main loop has them any more, and somebody has a reference", (g) => g.removed, count),
    ...number("unattached", "in no loop", "No main loop has them", (g) => g.unattached, count),
    ...number("same", "same data", "With the callback and the data of another one", (g) => g.same_data, count, 96),
    ...number("bytes", "bytes", "Of the sources, and of what their callbacks are kept in", (g) => g.bytes, bytes),
    ...number("oldest", "oldest", "Age of the oldest", (g) => seconds(g.oldest_s), time),
    ...number("gone", "gone", "Others that were added there, and freed", (g) => g.gone ?? 0, count),
  ];
}

function SourceTable({ answer, state, ask, maxRows }: ViewProps & { answer: Tasks; maxRows?: number }) {
  const { groups: rows, groups_in_all } = answer.sources;
  const [sort, setSort] = useState<Sort>(parseSort("sources", "sources"));
  const columns = useMemo(() => sourceColumns(rows), [rows]);
  const more = groups_in_all - rows.length;
  return (
    <>
      <Table
        label="Sources of GLib"
        n={rows.length}
        columns={columns}
        sort={sort}
        onSort={setSort}
        filter={get(state, "search") ?? ""}
        text={(i) => `${kindOf(rows[i]!)} ${callsOf(rows[i]!)} ${addedText(rows[i]!)}`.toLowerCase()}
        onOpen={(i) => adder(rows[i]!) !== "" && openFunction(ask, adder(rows[i]!))}
        maxRows={maxRows}
        note={<span class="quiet">{leftOut(ask, more) ?? "Sources of GLib's main loops; Enter or a click opens who added them"}</span>}
        empty={<Empty title="No sources" why="No group has that in its name." />}
      />
      <p class="quiet tree-note">
        At {duration(answer.at_s)}, pid {answer.pid}: {plural(answer.sources.sources, "source")}, {bytes(answer.sources.bytes)}
        {answer.sources.doubtful_blocks > 0 ? `; ${plural(answer.sources.doubtful_blocks, "block")} more look like sources, but nothing names their kinds` : ""}; the program was stopped for {duration(answer.pause_s)}.
      </p>
    </>
  );
}

// ---- without a graph -----------------------------------------------------------------------------

function Times({ answer }: { answer: Tasks }) {
  const rows = answer.times;
  const [sort, setSort] = useState<Sort>(parseSort("busy", "busy"));
  const columns = useMemo((): readonly Column[] => {
    const number = numbersOf(rows);
    return [
      { key: "runs", title: "runs", minPx: 160, grow: 3, values: rows.map((row) => visible(row.runs)), look: "name", cell: (i) => <Name text={visible(rows[i]!.runs)} />, tip: (i) => visible(rows[i]!.runs), copy: (i) => rows[i]!.runs },
      ...number("busy", "CPU", "CPU time of their polls", (row) => seconds(row.busy_s), time),
      ...number("samples", "samples", "Of which it is", (row) => row.samples, count),
    ];
  }, [rows]);
  return <Table label="CPU time of tasks" n={rows.length} columns={columns} sort={sort} onSort={setSort} empty={<Empty title="No tasks" why="No sample is in a task." />} />;
}
