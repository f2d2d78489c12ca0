// SPDX-License-Identifier: MIT
// Tree: the call paths of the window as rows that open: from the start of the program, from the code that requested the memory, or around one function.
import { useMemo } from "preact/hooks";
import { Refused, type Ask, type ViewProps } from "../api/ask";
import { tree as checkTree, type Tree as TreeAnswer, type TreeNode } from "../api/tree";
import { useAnswer, useSaid } from "../api/use";
import { frameName, nearText, shownName } from "../model/frame_name";
import { searchPattern } from "../model/flame_tree";
import { codeWords, isCountMetric, isTimeMetric, metricOf, metricText } from "../model/metric";
import { treeSentence } from "../model/sentence";
import { get, question, type State } from "../model/state";
import { growRows, withoutEmptyRests } from "../model/tree_rows";
import { count, plural, share } from "../model/units";
import { visible } from "../model/visible";
import { copyText } from "../widgets/clipboard";
import { Empty, NoBlocks } from "../widgets/empty";
import { functionItems, openFunction } from "../widgets/flame_items";
import { FoundLine } from "../widgets/found_line";
import { Name } from "../widgets/name";
import { Pending } from "../widgets/pending";
import { Choice, Switch } from "../widgets/switches";
import { Tree } from "../widgets/tree";

const SHAPES = [["tree", "From the start of the program"], ["bottom-up", "From the code that requested it"], ["callers", "Callers of"], ["callees", "Callees of"]] as const;
type Shape = (typeof SHAPES)[number][0];

const MIN_SHARE_PCT = 0.1;

function shapeOf(state: State): Shape {
  return SHAPES.find(([shape]) => shape === get(state, "shape"))?.[0] ?? "tree";
}

export function TreeView({ state, ask }: ViewProps) {
  const shape = shapeOf(state);
  const isAround = shape === "callers" || shape === "callees";
  const about = get(state, shape) ?? get(state, "callers") ?? get(state, "callees") ?? "";
  const isFull = get(state, "full") !== undefined;
  const metric = metricOf(state, ask.trace);
  const keys = isAround && about === "" ? null
    : question(state, { [shape]: isAround ? about : true, "min-share": MIN_SHARE_PCT, full: isFull });
  const answered = useAnswer(ask, "shaped", keys);
  const checked = useMemo(() => checkedTree(answered.answer), [answered.answer]);
  const sentence = useSaid({ ...answered, ...checked, error: answered.error ?? checked.error }, (answer) => treeSentence(answer, shape, ask.trace.mode !== "exact", about));
  const choose = (to: Shape): void => {
    const isToo = to === "callers" || to === "callees";
    ask.go({ set: { shape: to === "tree" ? null : to, callers: to === "callers" ? about : null, callees: to === "callees" ? about : null, ...(isToo ? {} : { callers: null, callees: null }) } });
  };
  return (
    <div class="flame-view">
      <div class="flame-head switches">
        {sentence && <p class="first-sentence">{sentence}</p>}
        <Choice label="What is on top" value={shape} of={SHAPES.map(([key, words]) => [key, key === "bottom-up" ? codeWords(metric) : words] as const)} onChoose={choose} />
        {isAround && (
          <form onSubmit={(e) => { e.preventDefault(); ask.go({ set: { [shape]: new FormData(e.currentTarget).get("function")?.toString() ?? "" } }); }}>
            <input class="field-text is-wide mono" name="function" aria-label="function" placeholder="a function, or a pattern" key={about} defaultValue={about} spellcheck={false} />
          </form>
        )}
        {!isTimeMetric(metric) && <Switch on={isFull} onTurn={(on) => ask.go({ set: { full: on ? "1" : null } })} title="Allocators, containers, executors and start code">Show machinery</Switch>}
        <FoundLine state={state} ask={ask} />
      </div>
      {keys === null ? <Empty title="Which function?" why="Type its name above, or choose it in another view: its menu leads here." />
        : <Pending of={{ ...answered, ...checked, error: answered.error ?? checked.error }}>{(answer) => <Rows answer={answer} state={state} ask={ask} />}</Pending>}
    </div>
  );
}

/** The answer as a tree, or why it is none. */
function checkedTree(answer: unknown): { answer: TreeAnswer | null; error: Refused | null } {
  try {
    return { answer: answer === null ? null : checkTree(answer, ""), error: null };
  } catch (failure: unknown) {
    return { answer: null, error: new Refused(`the tree is not what this page expects: ${failure instanceof Error ? failure.message : String(failure)}`, "reload the page") };
  }
}

function nameOf(node: TreeNode): string {
  return node.rest_of_children !== undefined ? plural(node.rest_of_children, "more", "more") : visible(shownName(node) || (node.module ? `code of ${node.module}` : "no call path"));
}

function placeOf(node: TreeNode): string {
  const file = node.file ? `${node.file.slice(node.file.lastIndexOf("/") + 1)}${node.line ? `:${node.line}` : ""}` : "";
  return visible(file || (node.module ? node.module.slice(node.module.lastIndexOf("/") + 1) : ""));
}

/** What stands beside the value: the blocks, or how often. */
function besideOf(node: TreeNode, metric: string): number {
  const f = node.total;
  if (f.blocks !== undefined) return f.blocks;
  if (metric === "end") return f.end_live_blocks ?? 0;
  if (metric === "growth") return (f.end_live_blocks ?? 0) - (f.begin_live_blocks ?? 0);
  return (metric === "peak" ? f.peak_live_blocks : f.allocations) ?? 0;
}

function Rows({ answer, state, ask }: { answer: TreeAnswer; state: State; ask: Ask }) {
  const { metric } = answer;
  const nodes = useMemo(() => withoutEmptyRests(answer.nodes, metric), [answer]);
  const isAbout = get(state, "callers") ?? get(state, "callees") ?? "";
  const places = useMemo(() => new Map(nodes.map((node, i) => [node.id, i])), [nodes]);
  const value = useMemo(() => nodes.map((node) => node.total.value), [nodes]);
  const tree = useMemo(() => growRows({ parent: nodes.map((node) => (node.parent === null ? -1 : (places.get(node.parent) ?? -1))), value }), [nodes]);
  const pattern = searchPattern(get(state, "search") ?? "");
  const text = pattern && get(state, "search") ? pattern.source : "";
  const found = useMemo(() => (text && pattern ? new Set(nodes.map((_, i) => i).filter((i) => i > 0 && pattern.test(frameName(nodes[i]!)))) : null), [nodes, text]);
  const amount = (n: number): string => metricText(n, metric);
  const whole = nodes.reduce((sum, node) => (node.parent === 0 ? sum + Math.abs(node.total.value) : sum), 0);
  if (nodes.length < 2)
    return isAbout ? <Empty title="No call paths" why={`${isTimeMetric(metric) ? "No sample" : "No block"} of what is chosen has ${visible(isAbout)} in its call path.`} /> : <NoBlocks state={state} ask={ask} />;
  const path = (node: number): string => {
    const line: string[] = [];
    for (let at = node; at > 0; at = tree.parent[at]!) line.unshift(`${nameOf(nodes[at]!)}  (${placeOf(nodes[at]!)})`);
    return line.join("\n");
  };
  return (
    <>
      <Tree label="Call paths" tree={tree} value={value} heading="function" found={found}
            name={(i) => <><Name text={nameOf(nodes[i]!)} /> <span class="quiet tree-place">{nearText(nodes[i]!) !== "" ? <span title="The nearest name before it: the function itself has none">{visible(nearText(nodes[i]!))}</span> : placeOf(nodes[i]!)}{nodes[i]!.inlined ? ", inlined" : ""}</span></>}
            title={(i) => visible(frameName(nodes[i]!)) || nameOf(nodes[i]!)}
            columns={[
              { title: "total", hint: "with everything it calls", isWide: true, cell: (i) => amount(value[i]!), share: (i) => (whole > 0 ? Math.abs(value[i]!) / whole : 0) },
              { title: "share", hint: "of the window", cell: (i) => share(Math.abs(value[i]!), whole) },
              { title: "self", hint: isTimeMetric(metric) ? "in this function itself" : "requested by this function itself", cell: (i) => { const self = nodes[i]!.self?.value ?? 0; return self === 0 ? "" : amount(self); } },
              ...(isTimeMetric(metric) || ask.trace.has_blocks === false ? [] : [{ title: isCountMetric(metric) || metric === "allocated" ? "allocations" : "blocks", cell: (i: number) => count(besideOf(nodes[i]!, metric)) }]),
            ]}
            itemsFor={(i) => (frameName(nodes[i]!) ? [...functionItems(ask, frameName(nodes[i]!)), { text: "Copy call path", key: "c", run: () => void copyText(path(i)) }] : [])}
            onOpen={(i) => frameName(nodes[i]!) && openFunction(ask, frameName(nodes[i]!))} onCopy={(i) => void copyText(path(i))} />
      <p class="quiet tree-note">{found ? `${plural(found.size, "row matches", "rows match")}. ` : ""}Calls under {MIN_SHARE_PCT} % of the window are put together.</p>
    </>
  );
}
