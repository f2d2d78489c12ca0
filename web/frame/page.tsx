// SPDX-License-Identifier: MIT
// Everything: header, timeline, list of views, the chosen view, the detail pane.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Ask, Refused, Source, ViewProps } from "../api/ask";
import { AT_END, isFixed, toEnd } from "../model/following";
import { get, toFragment, VIEWS, type State, type ViewName } from "../model/state";
import { timeText } from "../model/window";
import { weightWords } from "../model/units";
import { BlocksView } from "../views/blocks";
import { CompareView } from "../views/compare";
import { FlameView } from "../views/flame";
import { HoldersView } from "../views/holders";
import { MemoryView } from "../views/memory";
import { OverviewView } from "../views/overview";
import { QueryView } from "../views/query";
import { SitesView } from "../views/sites";
import { SourceView } from "../views/source";
import { TasksView } from "../views/tasks";
import { ThreadsView } from "../views/threads";
import { TreeView } from "../views/tree";
import { DetailPane } from "../widgets/detail";
import { Refusal } from "../widgets/pending";
import { Timeline } from "../widgets/timeline";
import { useAnsweredWindow } from "./answered";
import { Chips } from "./chips";
import { useTrace } from "./follow";
import { Header } from "./header";
import { KeysHelp, keyOf, onKey } from "./keys";
import { openStore } from "./store";

const VIEW: Record<ViewName, (props: ViewProps) => preact.JSX.Element | null> = {
  overview: OverviewView,
  flame: FlameView,
  tree: TreeView,
  sites: SitesView,
  source: SourceView,
  blocks: BlocksView,
  threads: ThreadsView,
  compare: CompareView,
  holders: HoldersView,
  memory: MemoryView,
  tasks: TasksView,
  query: QueryView,
};

export function titleOf(view: ViewName): string {
  return view.charAt(0).toUpperCase() + view.slice(1);
}

export function Page({ source }: { source: Source }) {
  const followed = useTrace(source);
  const store = useMemo(() => openStore(window), []);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const { trace, error, isFollowing, turn } = followed;
  const state = store.state.value;
  const isDragging = store.isDragging.value;
  const ask: Ask | null = useMemo(
    () => trace && { isFile: source.isFile, writtenFor: source.writtenFor, edges_s: source.edges_s, sources: source.sources, answer: source.answer.bind(source), trace, version: trace.version, go: store.go, isDragging },
    [source, trace, isDragging],
  );

  // A window that stays does not follow, and is not said to.
  const follows = isFollowing && !(trace !== null && isFixed(state, trace));
  const toggle = (): void => {
    if (!ask?.trace.growing) return;
    if (!follows && isFixed(state, ask.trace)) ask.go(toEnd(state, ask.trace));
    turn(!follows);
  };
  const now = useRef({ state, ask, toggle });
  now.current = { state, ask, toggle };
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { state: s, ask: a, toggle: follow } = now.current;
      if (a) onKey(event, s, a, { help: () => setHelpOpen(true), follow });
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
  useMovedWindow(ask, state, isFollowing);

  if (error && !trace) return <div class="alone"><Refusal error={error} /></div>;
  if (!ask) return <p class="alone quiet" role="status">Reading the trace …</p>;
  return (
    <Whole state={state} ask={ask} error={error} onDrag={store.setDragging} follow={{ isFollowing: follows, turn, toggle }} onHelp={() => setHelpOpen(true)}>
      <KeysHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </Whole>
  );
}

interface WholeProps extends ViewProps {
  readonly error: Refused | null;
  readonly onDrag: (isOn: boolean) => void;
  readonly follow: { readonly isFollowing: boolean; readonly turn: (on: boolean) => void; readonly toggle: () => void };
  readonly onHelp: () => void;
  readonly children: ComponentChildren;
}

function Whole({ state, ask, error, onDrag, follow, onHelp, children }: WholeProps) {
  const answered = useAnsweredWindow(state, ask);
  const View = VIEW[state.view];
  return (
    <div class={get(state, "pick") === undefined ? "page" : "page has-detail"}>
      <Header state={state} ask={ask} />
      {error && <Refusal error={error} />}
      {ask.trace.has_peak !== false && weightWords() === null && <Timeline state={state} ask={ask} answered={answered} onDrag={onDrag} follow={follow} />}
      <Views state={state} ask={ask} onHelp={onHelp} />
      <div class="middle">
        <Chips state={state} ask={ask} answered={answered} />
        <main class="view" tabIndex={-1} aria-label={titleOf(state.view)}>
          <View key={state.view} state={state} ask={ask} />
        </main>
      </div>
      <DetailPane state={state} ask={ask} />
      {children}
    </div>
  );
}

function Views({ state, ask, onHelp }: ViewProps & { onHelp: () => void }) {
  // Narrow, the list is a row that scrolls.
  useEffect(() => {
    const show = (): void => document.querySelector('.views [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
    show();
    window.addEventListener("resize", show);
    return () => window.removeEventListener("resize", show);
  }, [state.view]);
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map((name, i) => (
        <a key={name} href={toFragment({ ...state, view: name })} aria-current={name === state.view ? "page" : undefined} title={`${titleOf(name)} (${keyOf(i)})`}
           onClick={(event) => {
             if (event.ctrlKey || event.metaKey || event.shiftKey) return;
             event.preventDefault();
             ask.go({ view: name });
           }}>
          {titleOf(name)}
        </a>
      ))}
      <button class="link views-help" onClick={onHelp}>? keys</button>
    </nav>
  );
}

/** Following, a window that ended where the recording did goes along with it. */
function useMovedWindow(ask: Ask | null, state: State, isFollowing: boolean): void {
  const end_s = ask?.trace.duration_s ?? 0;
  const before = useRef(end_s);
  useLayoutEffect(() => {
    const was = before.current;
    before.current = end_s;
    const from = Number(get(state, "from"));
    const to = Number(get(state, "to"));
    if (!ask || !isFollowing || !ask.trace.growing || !(was > 0) || !(to >= was * AT_END) || !(from >= 0)) return;
    const step = (to - from) / 1000;
    ask.go({ set: { from: timeText(from + end_s - to, step), to: timeText(end_s, step) } }, "replace");
  }, [end_s]);
}
