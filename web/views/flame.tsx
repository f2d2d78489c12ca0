// SPDX-License-Identifier: MIT
// Flame: where the memory of the window comes from, as boxes.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import { useAnswer, useSaid } from "../api/use";
import { byAge } from "../model/flame_age";
import type { FlameColumns } from "../model/flame_tree";
import { foldRecursion, groupBoxes } from "../model/flame_fold";
import { codeWords, isTimeMetric, metricOf } from "../model/metric";
import { get, question, type State } from "../model/state";
import { NoBlocks } from "../widgets/empty";
import { Flame } from "../widgets/flame";
import { FoundLine } from "../widgets/found_line";
import { FlameKeys } from "../widgets/flame_keys";
import { boxItems, openBox } from "../widgets/flame_items";
import { Pending } from "../widgets/pending";
import { Choice, Switch } from "../widgets/switches";
import type { Flame as FlameAnswer } from "../api/flame";

const MAX_BOXES = 200000;

export function FlameView({ state, ask }: ViewProps) {
  const isReversed = get(state, "reverse") !== undefined;
  const isFull = get(state, "full") !== undefined;
  const metric = metricOf(state, ask.trace);
  // a file has no single blocks to ask, and time and totals have none; without times blocks have no age
  const mayBeByAge = !ask.isFile && !isTimeMetric(metric) && ask.trace.has_events && ask.trace.has_times !== false;
  const isByAge = get(state, "colour") === "age" && mayBeByAge;
  const boxes = boxesOf(state);
  const keys = question(state, { reverse: isReversed, full: isFull, lines: boxes === "line", ages: isByAge });
  const answered = useAnswer(ask, "flame", keys);
  const sentence = useSaid(answered, (answer) => answer.sentence);
  const [isNear, setNear] = useState(false);
  const hasRest = answered.answer !== null && !answered.isStale && answered.answer.rest.some((n) => n > 0);
  // What a picture puts together is asked for once somebody goes nearer.
  const finer = useAnswer(ask, "flame", isNear && hasRest && !ask.isFile && !ask.isDragging ? [...keys, ["boxes", String(MAX_BOXES)]] : null);
  useEffect(() => setNear(false), [answered.answer]);
  const set = (key: string, value: string | null): void => ask.go({ set: { [key]: value } });
  return (
    <div class="flame-view">
      <div class="flame-head">
        <p class="first-sentence">{sentence ?? ""}</p>
        <div class="switches">
          <Choice label="What comes first" value={isReversed ? "code" : "callers"} onChoose={(v) => set("reverse", v === "code" ? "1" : null)}
                  of={[["callers", "From the start of the program"], ["code", codeWords(metric)]]} />
          <Choice label="A box for each" value={boxes} onChoose={(v) => ask.go({ set: { boxes: v === "function" ? null : v, zoom: null } })}
                  of={[["function", "Function"], ["line", "Line"], ["module", "Module"], ["crate", "Crate"]]} />
          <Choice label="Direction" value={get(state, "layout") === "flame" ? "flame" : "icicle"} onChoose={(v) => set("layout", v === "flame" ? v : null)}
                  of={[["icicle", "Downwards"], ["flame", "Upwards"]]} />
          {mayBeByAge && (
            <Choice label="Colour" value={isByAge ? "age" : "usual"} onChoose={(v) => set("colour", v === "age" ? v : null)}
                    of={[["usual", answered.answer?.is_change ? "Colour by change" : "Colour by module"], ["age", "By age"]]} />
          )}
          <Switch on={get(state, "fold") !== undefined} onTurn={(on) => set("fold", on ? "1" : null)}
                  title="A function that calls itself, also by way of others, has one box: that of its first call">
            Fold recursion
          </Switch>
          {!isTimeMetric(metric) && (
            <Switch on={isFull} onTurn={(on) => set("full", on ? "1" : null)} title="Allocators, containers, executors and start code">
              Show machinery
            </Switch>
          )}
        </div>
      </div>
      <Pending of={answered}>{(answer) => <Picture answer={answer} finer={finer.answer} onNear={() => setNear(true)} state={state} ask={ask} />}</Pending>
    </div>
  );
}

type Boxes = "function" | "line" | "module" | "crate";

/** What has a box. A crate is an outermost C++ namespace, too. */
function boxesOf(state: State): Boxes {
  const chosen = get(state, "boxes");
  return chosen === "line" || chosen === "module" || chosen === "crate" ? chosen : "function";
}

/** One answer drawn, with what its colours mean. Compare draws its difference with it, too. */
export function Picture({ answer, finer, onNear, state, ask }: ViewProps & { answer: FlameAnswer; finer?: FlameAnswer | null; onNear?: () => void }) {
  const isFolded = get(state, "fold") !== undefined;
  const drawn = finer ?? answer;
  const boxes = boxesOf(state);
  const columns = useMemo((): FlameColumns => {
    const grouped = boxes === "module" || boxes === "crate" ? groupBoxes(drawn, boxes) : drawn;
    const folded = isFolded ? foldRecursion(grouped) : grouped;
    return folded.age_s ? byAge(folded) : folded;
  }, [drawn, boxes, isFolded]);
  if (answer.parent.length < 2)
    return <NoBlocks state={state} ask={ask} />;
  return (
    <>
      <Flame columns={columns} isFiner={drawn !== answer} onNear={onNear} label={answer.sentence} search={get(state, "search") ?? ""}
             found={answer.was === null ? <FoundLine state={state} ask={ask} /> : undefined} zoom={get(state, "zoom") ?? ""}
             isUpward={get(state, "layout") === "flame"} onZoom={(zoom, how) => ask.go({ set: { zoom: zoom === "" ? null : zoom } }, how)}
             itemsFor={(tree, box) => boxItems(ask, tree, box, boxes)} onOpen={boxes === "function" || boxes === "line" ? (tree, box) => openBox(ask, tree, box) : undefined} />
      <FlameKeys of={columns.is_by_age ? columns : answer} />
      {answer.age_unknown !== null && <p class="quiet" role="status">{answer.age_unknown}</p>}
      {answer.doubts.map((doubt) => <p class="quiet" key={doubt}>{doubt}</p>)}
    </>
  );
}
