// SPDX-License-Identifier: MIT
// Holders: who keeps the memory that something still points to, as boxes and as a tree; the ways from the roots to what a function allocated; and the
// neighbours of what is chosen.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Ask, ViewProps } from "../api/ask";
import type { Holder, Holders } from "../api/holders";
import { useAnswer, useSaid } from "../api/use";
import { searchPattern } from "../model/flame_tree";
import { get, question, type State } from "../model/state";
import { growRows } from "../model/tree_rows";
import { bytes, count, duration, plural } from "../model/units";
import { visible } from "../model/visible";
import { copyText } from "../widgets/clipboard";
import { Empty } from "../widgets/empty";
import { functionItems, openFunction } from "../widgets/flame_items";
import { Name } from "../widgets/name";
import { NeighboursPane } from "../widgets/neighbours";
import { Pending } from "../widgets/pending";
import { Tree, type TreeColumn } from "../widgets/tree";
import { Treemap } from "../widgets/treemap";

const MAX_GROUPS = 2000;

export function HoldersView({ state, ask }: ViewProps) {
  const what = get(state, "what-held") ?? "";
  const hasGraph = !ask.isFile && ask.trace.graphs > 0;
  const asked = useAnswer(ask, "holders", hasGraph ? question(state, { by: null, top: MAX_GROUPS, what: what === "" ? null : what }) : null);
  const sentence = useSaid(asked, (answer) => (answer.why ? whySentence(answer.why) : answer.sentence));
  if (!hasGraph)
    return ask.isFile && ask.trace.graphs > 0 ? <Empty title="Holders" why="Who holds what is not in this file: start silt view FILE to see it." />
      : <Empty title="This trace has no reference graph" why="Record with silt run --leaks, or take a graph of a program that is being recorded with silt snapshot PID --graph. This view then says who keeps its memory." />;
  return (
    <div class="holders">
      {sentence && <p class="first-sentence">{visible(sentence)}</p>}
      <div class="switches">
        <form onSubmit={(e) => { e.preventDefault(); ask.go({ set: { "what-held": new FormData(e.currentTarget).get("what")?.toString().trim() || null } }); }}>
          <label class="field">
            why is it kept{" "}
            <input key={what} class="field-text is-wide mono" name="what" type="text" placeholder="a function that allocates" defaultValue={what} spellcheck={false} />
          </label>
          {what !== "" && <button type="button" class="button" onClick={() => ask.go({ set: { "what-held": null } })}>All holders</button>}
        </form>
      </div>
      <Pending of={asked}>{(answer) => <Rows answer={answer} state={state} ask={ask} />}</Pending>
    </div>
  );
}

function whySentence(why: NonNullable<Holders["why"]>): string {
  const more = why.freed.bytes > why.wanted.bytes ? `, and with them ${bytes(why.freed.bytes - why.wanted.bytes)} that only they hold` : "";
  return `${why.function} allocated ${plural(why.wanted.blocks, "block")}, ${bytes(why.wanted.bytes)}, that ${why.wanted.blocks === 1 ? "is" : "are"} live. Without them ${bytes(why.freed.bytes)} would be free${more}.`;
}

/** The shown frame is in the label; a function that can be looked at is the first with a name. */
function functionOf(holder: Holder): string {
  return holder.stack?.find((frame) => frame.function !== "" && !frame.guess)?.function ?? "";
}

function Rows({ answer, state, ask }: { answer: Holders; state: State; ask: Ask }) {
  const nodes = answer.why ? answer.why.paths : answer.holders;
  const [chosen, choose] = useState(-1);
  const [isBox, setBox] = useState(false); // it was chosen among the boxes: its row is shown
  const value = useMemo(() => nodes.map((node) => node.tree_bytes), [nodes]);
  const tree = useMemo(() => growRows({ parent: nodes.map((node) => node.parent ?? -1), value }), [nodes]);
  const map = useMemo(() => ({ parent: nodes.map((node) => node.parent ?? -1), value }), [nodes]);
  useEffect(() => choose(-1), [nodes]);
  const pattern = searchPattern(get(state, "search") ?? "");
  const text = pattern && get(state, "search") ? pattern.source : "";
  const found = useMemo(() => (isBox && chosen > 0 ? new Set([chosen]) : text && pattern ? new Set(nodes.map((_, i) => i).filter((i) => i > 0 && pattern.test(nodes[i]!.label))) : null), [nodes, text, isBox ? chosen : -1]);
  if (nodes.length < 2) return <Empty title="Nothing is held" why="No block that silt saw allocated was live when it looked." />;
  const whole = value[0]!;
  const label = (i: number): string => visible(nodes[i]!.label);
  const path = (node: number): string => {
    const line: string[] = [];
    for (let at = node; at > 0; at = tree.parent[at]!) line.unshift(label(at));
    return line.join("\n");
  };
  const each = (i: number): string => (nodes[i]!.blocks > 0 ? bytes(nodes[i]!.tree_bytes / nodes[i]!.blocks) : "");
  const rate = (i: number): string => { const r = nodes[i]!.blocks_per_s ?? 0; return r === 0 ? "" : `${r > 0 ? "+" : "-"}${count(Math.abs(r))}/s`; };
  return (
    <>
      <Treemap label="Memory by who holds it" nodes={map} name={label} title={(i) => `${path(i)}\n${bytes(value[i]!)}, ${plural(nodes[i]!.tree_blocks, "block")}`} chosen={chosen} onChoose={(i) => { setBox(true); choose(i === chosen ? -1 : i); }} />
      <div class="holders-rows">
      <Tree label="Holders" tree={tree} value={value} heading="holder" found={found}
            name={(i) => <><Name text={label(i)} />{nodes[i]!.kind !== "blocks" && nodes[i]!.kind !== "all" ? <span class="quiet tree-place"> {nodes[i]!.kind}</span> : null}</>}
            title={path}
            columns={[
              { title: "retained", hint: "what freeing it would free", isWide: true, cell: (i) => bytes(nodes[i]!.retained_bytes ?? value[i]!), share: (i) => (whole > 0 ? value[i]! / whole : 0) },
              { title: "blocks", cell: (i) => count(nodes[i]!.blocks || nodes[i]!.tree_blocks) },
              { title: "each", hint: "retained bytes for each block", cell: each },
              ...(chosen > 0 ? [] : [{ title: "oldest", cell: (i) => { const s = nodes[i]!.oldest_s ?? 0; return s > 0 ? duration(s) : ""; } } satisfies TreeColumn,
              { title: "growth", hint: "blocks more per second", cell: rate } satisfies TreeColumn]),
            ]}
            itemsFor={(i) => (functionOf(nodes[i]!) ? [...functionItems(ask, functionOf(nodes[i]!)), { text: "Copy the way from its root", key: "c", run: () => void copyText(path(i)) }] : [])}
            onOpen={(i) => functionOf(nodes[i]!) && openFunction(ask, functionOf(nodes[i]!))} onCopy={(i) => void copyText(path(i))}
            onChoose={(i) => { setBox(false); choose(i); }} />
      {chosen > 0 && <NeighboursPane ask={ask} keys={question(state, { by: null, graph: answer.graph, group: nodes[chosen]?.group ?? 0, what: answer.why ? answer.why.function : null })} onClose={() => choose(-1)} />}
      </div>
      <p class="quiet tree-note">
        At {duration(answer.at_s)}: {bytes(answer.held.bytes)} held{answer.held_by_nothing.bytes > 0 ? `, ${bytes(answer.held_by_nothing.bytes)} held by nothing (silt leaks tells them)` : ""}; the program was stopped for {duration(answer.pause_s)}.
      </p>
    </>
  );
}
