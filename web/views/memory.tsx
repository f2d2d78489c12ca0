// SPDX-License-Identifier: MIT
// Memory: what resident memory is made of, over time and at one moment, and the pages of the heap then.
import type { ViewProps } from "../api/ask";
import type { Bill, BillPart } from "../api/bill";
import { useAnswer, useSaid } from "../api/use";
import { get, isFilter, question } from "../model/state";
import { bytes, duration, share } from "../model/units";
import { visible } from "../model/visible";
import { BillChart } from "../widgets/bill_chart";
import { Empty } from "../widgets/empty";
import { HeapMap } from "../widgets/heap_map";
import { Pending } from "../widgets/pending";

const MAX_LINES = 4;

export function MemoryView({ state, ask }: ViewProps) {
  const bare = { view: state.view, keys: state.keys.filter(([key]) => !isFilter(key)) };
  const asked = useAnswer(ask, "bill", question(bare, { by: null }));
  const sentence = useSaid(asked, (answer) => answer.text);
  const at_s = asked.answer?.parts ? (asked.answer.at_s ?? null) : null;
  const heap = useAnswer(ask, "heap", at_s === null ? null : question(bare, { by: null, from: null, to: null, at: `${at_s.toFixed(6)}s` }));
  return (
    <div class="memory">
      {sentence && <p class="first-sentence">{visible(sentence)}</p>}
      {state.keys.some(([key]) => isFilter(key)) && <p class="quiet">Filters select blocks; resident memory is of whole processes, so none holds here.</p>}
      <Pending of={asked}>{(answer) => (answer.parts ? <Whole bill={answer} state={state} ask={ask} /> : <Empty title="Memory" why={ask.trace.imported ? "What was imported does not say what resident memory was made of. A recording of silt run does." : ask.trace.time?.is_all ? "This recording has where the time went, and does not say what resident memory was made of. Record memory too with silt run --cpu." : "The trace does not say what resident memory was made of: it ended before the first look, or an older silt made it."} />)}</Pending>
      {at_s !== null && (
        <section>
          <h2>The heap's pages, by address</h2>
          <Pending of={heap}>{(answer) => (answer.page.length > 0 ? <HeapMap heap={answer} /> : <p class="quiet">At {duration(answer.at_s)} no page of the heap of {visible(answer.process)} is known.</p>)}</Pending>
        </section>
      )}
    </div>
  );
}

function whenWords(bill: Bill, isFile: boolean): string {
  const most = bill.is_highest ? ", when most was resident" : "";
  const once = bill.shared_counted_once ? "; what processes share is counted once" : "";
  return `${bytes(bill.resident_bytes ?? 0)} resident at ${duration(bill.at_s ?? 0)}${most}${once}${isFile ? " (the one moment of this file)" : ""}`;
}

/** Looks at the parts are rarer than samples of what is resident: what they missed is said. */
function unseenWords(bill: Bill, sampled_bytes: number): string | null {
  const seen = Math.max(0, ...(bill.series?.resident_bytes ?? []));
  return sampled_bytes > seen * 1.5 ? `Up to ${bytes(sampled_bytes)} were resident in this recording, at a moment of which silt has no bill: the highest with a bill is ${bytes(seen)}.` : null;
}

function Whole({ bill, state, ask }: { bill: Bill } & ViewProps) {
  const unseen = (get(state, "process") ?? "all") === "all" ? unseenWords(bill, ask.trace.peak_rss_bytes) : null;
  const fragmentation = bill.fragmentation?.text ?? null;
  return (
    <>
      {unseen && <p class="notice-text">{unseen}</p>}
      {fragmentation && <p>{visible(fragmentation)}</p>}
      {bill.series && <BillChart series={bill.series} at_s={bill.at_s ?? 0} duration_s={ask.trace.duration_s} onChoose={ask.isFile ? null : (at) => ask.go({ set: { at: `${at.toFixed(6)}s`, from: null, to: null } }, "replace")} />}
      <div class="bill-moment">
        <h2>{whenWords(bill, ask.isFile)}</h2>
        {!ask.isFile && get(state, "at") !== undefined && <button type="button" class="button" onClick={() => ask.go({ set: { at: null } })}>When most was resident</button>}
      </div>
      <PartTable bill={bill} />
    </>
  );
}

function PartTable({ bill }: { bill: Bill }) {
  const whole = Math.max(1, bill.resident_bytes ?? 0);
  const parts = [...(bill.parts ?? [])].sort((a, b) => b.bytes - a.bytes);
  return (
    <table class="bill-table">
      <thead><tr><th>part</th><th class="number">bytes</th><th class="number">share</th><th>most of it</th></tr></thead>
      <tbody>
        {parts.map((part) => (
          <tr key={part.part}>
            <td><i class={`bill-colour is-${part.part}`} />{part.text}</td>
            <td class="number" title={`${part.bytes} bytes`}>{part.bytes < 0 ? `-${bytes(-part.bytes)}` : bytes(part.bytes)}</td>
            <td class="number">{share(Math.max(0, part.bytes), whole)}</td>
            <td class="bill-lines" title={linesOf(part, 100)}>{linesOf(part, MAX_LINES)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function linesOf(part: BillPart, n: number): string {
  const named = part.lines.map((line) => `${visible(line.function || line.name || "without a name").replace(/^.*\/(?=[^/]+$)/, "")} ${bytes(line.bytes)}`);
  return named.slice(0, n).join(", ") + (named.length > n ? `, ${named.length - n} more` : "");
}
