// SPDX-License-Identifier: MIT
// Everything: header, timeline, list of views, the chosen view, the detail pane.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Refused, type Ask, type Source, type ViewProps } from "../api/ask";
import type { Trace } from "../api/trace";
import { VIEWS, type ViewName } from "../model/state";
import { BlocksView } from "../views/blocks";
import { CompareView } from "../views/compare";
import { FlameView } from "../views/flame";
import { OverviewView } from "../views/overview";
import { SitesView } from "../views/sites";
import { SourceView } from "../views/source";
import { ThreadsView } from "../views/threads";
import { TreeView } from "../views/tree";
import { DetailPane } from "../widgets/detail";
import { Refusal } from "../widgets/pending";
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
};

export function titleOf(view: ViewName): string {
  return view.charAt(0).toUpperCase() + view.slice(1);
}

export function Page({ source }: { source: Source }) {
  const [trace, setTrace] = useState<Trace | null>(null);
  const [error, setError] = useState<Refused | null>(null);
  const store = useMemo(() => openStore(window), []);

  useEffect(() => {
    const controller = new AbortController();
    source.answer("trace", [], controller.signal).then(setTrace, (failure: unknown) => setError(failure instanceof Refused ? failure : new Refused(String(failure))));
    return () => controller.abort();
  }, [source]);

  if (error) return <Refusal error={error} />;
  if (!trace) return null;
  const state = store.state.value;
  const ask: Ask = {
    isFile: source.isFile,
    answer: source.answer.bind(source),
    trace,
    version: trace.version,
    go: store.go,
    isDragging: store.isDragging.value,
  };
  const View = VIEW[state.view];
  return (
    <div class="page">
      <header class="header">
        <strong>silt</strong> <span>{trace.command.join(" ")}</span>
      </header>
      <nav class="views" aria-label="Views">
        {VIEWS.map((name) => (
          <a key={name} href={"#" + name} aria-current={name === state.view ? "page" : undefined} onClick={(event) => (event.preventDefault(), store.go({ view: name }))}>
            {titleOf(name)}
          </a>
        ))}
      </nav>
      <main class="view" tabIndex={-1}>
        <View key={state.view} state={state} ask={ask} />
      </main>
      <DetailPane state={state} ask={ask} />
    </div>
  );
}
