// SPDX-License-Identifier: MIT
// Tasks: what an asynchronous program has going on, by where it was spawned: running, waiting, finished and still kept, and by whom.
import { useMemo } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import type { TaskGroup, Tasks } from "../api/tasks";
import { useAnswer, useSaid } from "../api/use";
import { frameName } from "../model/frame_name";
import { get, question } from "../model/state";
import { formatSort, parseSort } from "../model/table_rows";
import { bytes, count, duration, plural, time } from "../model/units";
import { visible } from "../model/visible";
import { Empty } from "../widgets/empty";
import { openFunction } from "../widgets/flame_items";
import { Name } from "../widgets/name";
import { Pending } from "../widgets/pending";
import { Table, type Column } from "../widgets/table";

const MAX_GROUPS = 2000;

export function TasksView({ state, ask }: ViewProps) {
  const hasGraph = !ask.isFile && ask.trace.graphs > 0;
  const asked = useAnswer(ask, "tasks", hasGraph ? question(state, { by: null, top: MAX_GROUPS }) : null);
  const sentence = useSaid(asked, (answer) => answer.sentence);
  if (!hasGraph)
    return ask.isFile && ask.trace.graphs > 0 ? <Empty title="Tasks" why="Tasks are not in this file: start silt view FILE to see them." />
      : <Empty title="This trace has no reference graph" why="Tasks of asynchronous Rust programs are told by their memory, from a graph of the process. Record with silt run --graph-every 10s, or take a graph of a program that is being recorded with silt snapshot PID --graph." />;
  return (
    <div class="filling">
      {sentence && <p class="first-sentence">{visible(sentence)}</p>}
      <Pending of={asked}>{(answer) => (answer.groups.length > 0 ? <Groups answer={answer} state={state} ask={ask} /> : <NoTasks answer={answer} />)}</Pending>
    </div>
  );
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

function columnsOf(rows: readonly TaskGroup[]): readonly Column[] {
  const number = (key: string, title: string, hint: string, of: (group: TaskGroup) => number, show: (n: number) => string, minPx = 80): readonly Column[] => {
    const values = rows.map(of), most = values.reduce((a, b) => Math.max(a, b), 0);
    if (most === 0 && key !== "tasks") return [];
    return [{ key, title, hint, isNumber: true, minPx, values, cell: (i) => (values[i] === 0 ? "–" : show(values[i]!)), share: (i) => values[i]! / most, copy: (i) => String(values[i]) }];
  };
  const seconds = (s: number | null | undefined): number => (s ?? 0) * 1e9;
  const hasKeepers = rows.some((group) => group.kept_by.length > 0);
  return [
    { key: "runs", title: "runs", minPx: 160, grow: 3, values: rows.map(nameOf), look: "name", cell: (i) => <Name text={nameOf(rows[i]!)} />, tip: (i) => `${rows[i]!.type ?? nameOf(rows[i]!)}\n${rows[i]!.runtime} (${rows[i]!.layout})`, copy: (i) => nameOf(rows[i]!) },
    { key: "spawned", title: "spawned at", minPx: 128, grow: 2, values: rows.map((group) => group.spawned ?? ""), look: "quiet", cell: (i) => <Name text={spawnText(rows[i]!)} />, tip: (i) => (rows[i]!.stack ?? []).map((frame) => frameName(frame) || "(unknown)").join("\n"), copy: (i) => rows[i]!.spawned ?? "" },
    ...number("tasks", "tasks", "Tasks whose memory is there", (g) => g.tasks, count),
    ...number("running", "running", "A thread runs them now", (g) => g.running, count),
    ...number("ready", "ready", "They were woken and wait for a thread", (g) => g.ready, count),
    ...number("waiting", "waiting", "They wait to be woken", (g) => g.waiting, count),
    ...number("finished", "finished", "They have ended, and their memory is kept", (g) => g.finished, count),
    ...number("busy", "CPU", "CPU time of their polls", (g) => seconds(g.busy_s), time),
    ...number("longest", "longest poll", "Longest time without a break on a thread", (g) => seconds(g.longest_poll_s), time, 96),
    ...number("bytes", "bytes", "Of the tasks themselves, with their futures", (g) => g.bytes, bytes),
    ...number("retained", "retained", "What would be free without them", (g) => g.retained_bytes, bytes),
    ...number("oldest", "oldest", "Age of the oldest", (g) => seconds(g.oldest_s), time),
    ...(hasKeepers ? [{ key: "kept", title: "finished, kept by", minPx: 144, grow: 2, values: rows.map(keptText), cell: (i: number) => <Name text={keptText(rows[i]!)} />, tip: (i: number) => keptText(rows[i]!), copy: (i: number) => keptText(rows[i]!) }] : []),
  ];
}

function Groups({ answer, state, ask }: ViewProps & { answer: Tasks }) {
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
        note={<span class="quiet">{more > 0 ? `${count(more)} more are not shown.` : "Enter or a click opens who spawned them"}</span>}
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
