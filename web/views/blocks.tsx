// SPDX-License-Identifier: MIT
// Single blocks: how many of which size lived how long, and the first thousand of them.
import { useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import { blocks as checkBlocks, type Blocks, type BlockRow } from "../api/blocks";
import type { Frame } from "../api/common";
import { useAnswer, useSaid } from "../api/use";
import { frameName, shownName } from "../model/frame_name";
import type { HeatFigure } from "../model/heat_cells";
import { blocksSentence } from "../model/sentence";
import { get, question } from "../model/state";
import { moment, place } from "../model/spread";
import { parseSort, type Sort } from "../model/table_rows";
import { bytes, count, duration, weightWords } from "../model/units";
import { visible } from "../model/visible";
import { Empty, NoBlocks } from "../widgets/empty";
import { Heat } from "../widgets/heat";
import { Name } from "../widgets/name";
import { Pending } from "../widgets/pending";
import { Table, type Column } from "../widgets/table";

const MAX_BLOCKS = 1000;
const FIGURES: readonly (readonly [HeatFigure, string])[] = [["blocks", "blocks"], ["bytes", "bytes"], ["live_blocks", "blocks never freed"], ["live_bytes", "bytes never freed"]];

export function BlocksView({ state, ask }: ViewProps) {
  const [figure, setFigure] = useState<HeatFigure>("blocks");
  const hasTimes = ask.trace.has_times !== false;
  const heat = useAnswer(ask, "heat", hasTimes ? question(state, { by: null }) : null);
  const list = useAnswer(ask, "shaped", ask.isFile ? null : question(state, { by: null, blocks: true, top: MAX_BLOCKS }));
  const sentence = useSaid(heat, (answer) => blocksSentence(answer, ask.trace.mode !== "exact"));
  if (ask.trace.time?.is_all) return <Empty title="Blocks" why="This recording has where the time went, and no blocks. Record memory too with silt run --cpu." />;
  if (weightWords() !== null) return <Empty title="Blocks" why="What was imported is not a profile of memory, so there are no blocks. The other views have what is known." />;
  if (!ask.trace.has_events) return <Empty title="Blocks" why="The recording has totals and no events, so sizes and lifetimes of single blocks are unknown. The other views have what is known." />;
  const isFiltered = get(state, "size") !== undefined || get(state, "lifetime") !== undefined;
  return (
    <div class="blocks">
      {sentence && <p class="first-sentence">{sentence}</p>}
      {!hasTimes && <section class="blocks-heat"><p class="notice">What was imported has no times, so how long blocks lived is unknown. They are listed in the order of allocation.</p></section>}
      {hasTimes && <section class="blocks-heat">
        <div class="blocks-tools">
          <label class="field">
            colour by{" "}
            <select value={figure} onChange={(event) => setFigure(event.currentTarget.value as HeatFigure)}>
              {FIGURES.map(([key, words]) => <option key={key} value={key}>{words}</option>)}
            </select>
          </label>
          {isFiltered && <button type="button" class="button" onClick={() => ask.go({ set: { size: null, lifetime: null } })}>All sizes and lifetimes</button>}
        </div>
        <Pending of={heat}>
          {(answer) =>
            answer.size.length === 0 ? (
              <NoBlocks state={state} ask={ask} />
            ) : (
              <>
                <Heat heat={answer} figure={figure} onBrush={ask.isFile ? null : (size, lifetime) => ask.go({ set: { size, lifetime } })} />
                {!answer.exact && <p class="notice">Single blocks are known from {duration(ask.trace.detail_from_s)} on: the trace was limited in size, and older ones are left out.</p>}
                {ask.trace.mode !== "exact" && <p class="quiet">Estimates: each sampled block stands for others.</p>}
              </>
            )
          }
        </Pending>
      </section>}
      <section class="blocks-list">
        {ask.isFile && <Empty title="Single blocks" why="A page in one file has the sizes and lifetimes of all blocks together. To see single ones, start silt view FILE." />}
        <Pending of={list}>{(answer) => <BlockTable answer={checkBlocks(answer, "")} state={state} ask={ask} />}</Pending>
      </section>
    </div>
  );
}

/** The code that requested it, as reports choose it: allocators, containers and start code are not it. */
function frameOf(block: BlockRow) {
  return block.stack[block.shown ?? 0];
}

function nameOf(frame: Frame | undefined): string {
  return frame === undefined ? "(no stack)" : shownName(frame) || "(unknown)";
}

function BlockTable({ answer, state, ask }: { answer: Blocks } & ViewProps) {
  const [sort, setSort] = useState<Sort>(parseSort("-time", "-time"));
  const rows = answer.blocks;
  const columns = useMemo((): readonly Column[] => {
    const most = rows.reduce((a, b) => Math.max(a, b.bytes), 0);
    const frames = rows.map(frameOf);
    const places = frames.map((f) => place(f?.file ?? "", f?.line ?? 0));
    const at = rows.map((b) => b.at_s ?? b.event ?? Number.NaN);
    return [
      { key: "time", title: "allocated at", isNumber: true, minPx: 88, values: at, cell: (i) => moment(at[i]!), tip: (i) => (rows[i].at_s === null ? moment(at[i]!) : `${at[i]} s`), copy: (i) => String(at[i]) },
      { key: "bytes", title: "size", isNumber: true, minPx: 64, values: rows.map((b) => b.bytes), cell: (i) => bytes(rows[i].bytes), tip: (i) => `${count(rows[i].bytes)} bytes`, share: (i) => rows[i].bytes / most, copy: (i) => String(rows[i].bytes) },
      ...(ask.trace.has_times === false ? [] : [{
        key: "age", title: "lived", isNumber: true, minPx: 80, values: rows.map((b) => b.age_s ?? Number.NaN),
        cell: (i: number) => (rows[i].live ? <span title="never freed in this recording">{duration(rows[i].age_s ?? 0)} +</span> : duration(rows[i].age_s ?? 0)),
        copy: (i: number) => (rows[i].live ? `${rows[i].age_s ?? ""}+` : String(rows[i].age_s ?? "")),
      }]),
      ...(rows.some((b) => b.stands_for !== undefined)
        ? [{ key: "stands", title: "stands for", hint: "So many blocks of its size were allocated for one that was sampled, on average", isNumber: true, minPx: 80, values: rows.map((b) => b.stands_for ?? 1), cell: (i: number) => count(rows[i].stands_for ?? 1), copy: (i: number) => String(rows[i].stands_for ?? 1) }]
        : []),
      { key: "thread", title: "thread", isMinor: true, minPx: 56, values: rows.map((b) => b.thread), cell: (i) => rows[i].thread || String(rows[i].tid), tip: (i) => `${rows[i].thread} (${rows[i].tid})`, copy: (i) => rows[i].thread },
      {
        key: "function", title: "function", minPx: 112, grow: 3, values: frames.map((f) => (f ? frameName(f) : "")),
        cell: (i) => <Name text={visible(nameOf(frames[i]))} />, tip: (i) => rows[i].stack.map((f) => `${frameName(f) || "(unknown)"}  ${place(f.file, f.line)}`).join("\n"), copy: (i) => nameOf(frames[i]),
      },
      ...(places.some((one) => one !== "")
        ? [{ key: "place", title: "place", isMinor: true, minPx: 80, grow: 2, values: places, cell: (i: number) => <span class="quiet">{places[i]}</span>, copy: (i: number) => places[i] }]
        : []),
    ];
  }, [rows]);
  return (
    <Table
      label="Single blocks"
      n={rows.length}
      columns={columns}
      sort={sort}
      onSort={setSort}
      filter={get(state, "search") ?? ""}
      text={(i) => rows[i].stack.map(frameName).join(" ").toLowerCase() + ` ${rows[i].thread.toLowerCase()}`}
      onOpen={(i) => {
        const frame = frameOf(rows[i]);
        if (rows[i].site !== undefined) ask.go({ set: { pick: `site:${rows[i].site}` } });
        else if (frame && frameName(frame) !== "") ask.go({ set: { pick: `function:${frameName(frame)}` } });
      }}
      note={rows.length >= MAX_BLOCKS ? <span class="quiet">the first {count(MAX_BLOCKS)} of the window; choose a window or a filter for others</span> : undefined}
      empty=""
    />
  );
}
