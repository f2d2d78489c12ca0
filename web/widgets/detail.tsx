// SPDX-License-Identifier: MIT
// The detail pane: everything about the call path, function or group that is picked. It opens from `pick` in the state.
import { useEffect, useRef } from "preact/hooks";
import { hasSource, type Ask, type ViewProps } from "../api/ask";
import type { Frame, Lifetimes, Sizes } from "../api/common";
import type { Detail } from "../api/detail";
import { useAnswer } from "../api/use";
import { frameName, nearText, shownName } from "../model/frame_name";
import { isTimeMetric } from "../model/metric";
import { exactly, picked, type Pick } from "../model/pick";
import { baseName, moment, place } from "../model/spread";
import { question } from "../model/state";
import { bytes, count, duration, plural, share, time, weightWords } from "../model/units";
import { visible } from "../model/visible";
import { Bars } from "./bars";
import { copyText } from "./clipboard";
import { Name } from "./name";
import { Pending } from "./pending";
import { Spark } from "./spark";

const TITLES: Readonly<Record<string, string>> = { site: "Call path", function: "Function", module: "Module", thread: "Thread", size: "Size", process: "Process" };

/** Nothing without a pick: the frame gives its room to the view. */
export function DetailPane({ state, ask }: ViewProps) {
  const pick = picked(state);
  const asked = useAnswer(ask, "detail", pick ? question(state, { [pick.key]: pick.value }) : null);
  const pane = useRef<HTMLElement>(null);
  const key = pick ? `${pick.kind}:${pick.value}` : "";
  useEffect(() => pane.current?.scrollTo(0, 0), [key]);
  if (!pick) return null;
  return (
    <aside
      ref={pane}
      class="detail"
      aria-label="Detail"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        ask.go({ set: { pick: null } });
      }}
    >
      <header class="detail-head">
        <h2>{TITLES[pick.kind] ?? pick.kind}</h2>
        <button type="button" class="button is-plain" aria-label="Close the detail" onClick={() => ask.go({ set: { pick: null } })}>✕</button>
      </header>
      {pick.name !== "" && <p class="detail-name mono" title={visible(pick.name)}>{visible(pick.name)}</p>}
      <Pending of={asked}>{(detail) => <Body detail={detail} pick={pick} state={state} ask={ask} />}</Pending>
    </aside>
  );
}

function Body({ detail, pick, state, ask }: { detail: Detail; pick: Pick } & ViewProps) {
  const peak = detail.unfiltered?.peak_live_bytes ?? ask.trace.peak.bytes;
  const isTime = isTimeMetric(detail.metric ?? "");
  return (
    <>
      {pick.name === "" && <Requester detail={detail} ask={ask} />}
      <p class="detail-sentence">{detail.sentence}</p>
      {detail.both && <BothWeights both={detail.both} isTime={isTime} />}
      {ask.trace.mode !== "exact" && !isTime && <p class="quiet">Estimates from samples: each stands for about {bytes(ask.trace.sample_bytes)} of allocations.</p>}
      {detail.without && detail.stacks_in_all > 0 && bytes(detail.without.peak_live_bytes) !== bytes(peak) && (
        <p>
          Without it the peak would be <strong>{bytes(detail.without.peak_live_bytes)}</strong> instead of {bytes(peak)}, at {duration(detail.without.peak_at_s)}; the end{" "}
          {bytes(detail.without.end_live_bytes)}.
        </p>
      )}
      <div class="detail-links">
        {pick.key !== "process" && !ask.isFile && <button type="button" class="button" onClick={() => ask.go({ set: { pick: null }, add: [[pick.key, pick.value]] })}>Filter to it</button>}
        {pick.kind === "function" && !ask.isFile && <button type="button" class="button" onClick={() => ask.go({ set: { pick: null }, add: [["not-function", pick.value]] })}>Hide it</button>}
        {pick.kind === "function" && isFunction(pick.name) && hasSource(ask, pick.name) && <button type="button" class="button" onClick={() => ask.go({ view: "source", set: { what: pick.name } })}>Source</button>}
        {pick.kind === "function" && <button type="button" class="button" onClick={() => ask.go({ view: "tree", set: { callers: pick.name, callees: null, shape: "callers" } })}>Callers</button>}
      </div>
      {detail.history && detail.stacks_in_all > 0 && weightWords() === null && <History history={detail.history} isTime={isTime} />}
      {detail.stack && detail.stack.length > 0 && <Stack stack={detail.stack} requester={isTime ? 0 : (detail.requester ?? 0)} nInAll={detail.stacks_in_all} state={state} ask={ask} />}
      {detail.sizes && detail.sizes.buckets.length > 0 && <SizeBars sizes={detail.sizes} />}
      {detail.lifetimes && detail.lifetimes.blocks > 0 && <LifeBars lifetimes={detail.lifetimes} />}
      {detail.threads && detail.threads.length > 0 && <ThreadList threads={detail.threads} />}
      {detail.blocks && detail.blocks.length > 0 && <BlockList blocks={detail.blocks} />}
      {detail.unknown.length > 0 && (
        <section>
          <h3>Unknown</h3>
          {detail.unknown.map((text) => <p key={text} class="quiet">{text}.{!ask.isFile && " A shorter window may be answered."}</p>)}
        </section>
      )}
    </>
  );
}

/** A place such as app+0x1234 has no source. */
function isFunction(name: string): boolean {
  return !/(^|\+)0x[0-9a-f]+$/.test(name);
}

/** The other weight of the same code in the same window. */
function BothWeights({ both, isTime }: { both: NonNullable<Detail["both"]>; isTime: boolean }) {
  const waits = both.blocked_s > 0 ? <> and waited for <strong>{time(1e9 * both.blocked_s)}</strong></> : null;
  if (!isTime) return <p>Its code ran for <strong>{time(1e9 * both.cpu_s)}</strong> of CPU time ({share(both.cpu_s, both.all_cpu_s)}){waits}.</p>;
  if (both.allocations === null) return null;
  if (both.allocations === 0) return <p>It allocated nothing.</p>;
  const rate = both.cpu_s > 0 ? both.allocations / (1e3 * both.cpu_s) : 0;
  return (
    <p>
      It made <strong>{plural(both.allocations, "allocation")}</strong>, {bytes(both.bytes_allocated ?? 0)} in all
      {rate >= 0.1 && <>: {rate >= 10 ? count(rate) : rate.toFixed(1)} for each millisecond of CPU time</>}.
    </p>
  );
}

function History({ history, isTime }: { history: NonNullable<Detail["history"]>; isTime: boolean }) {
  const most = history.live_bytes.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
  const last = history.at_s[history.at_s.length - 1] ?? 0;
  if (isTime && most === 0) return null;
  if (isTime)
    return (
      <section>
        <h3>Over time</h3>
        <div class="detail-chart"><Spark values={history.live_bytes} at_s={history.at_s} width={320} height={64} label="When its time passed" /></div>
        <p class="bars-ends quiet"><span>{moment(history.at_s[0] ?? 0)}</span><span>{moment(last)}</span></p>
      </section>
    );
  return (
    <section>
      <h3>Live over time <span class="quiet">at {count(history.at_s.length)} moments, highest {bytes(most)}</span></h3>
      <div class="detail-chart"><Spark values={history.live_bytes} at_s={history.at_s} width={320} height={64} label={`Live bytes over time, at most ${bytes(most)}`} /></div>
      <p class="bars-ends quiet"><span>{moment(history.at_s[0] ?? 0)}</span><span>{moment(last)}</span></p>
    </section>
  );
}

/** What a table calls the call path, and its line: one click to the source. */
function Requester({ detail, ask }: { detail: Detail; ask: Ask }) {
  const frame = detail.stack?.[detail.requester ?? 0];
  if (!frame) return null;
  const name = frameName(frame);
  return (
    <p class="detail-name mono" title={visible(name)}>
      <Name text={visible(shownName(frame)) || "(unknown)"} /> <Place frame={frame} ask={ask} />
    </p>
  );
}

/** Inlined frames stand a little in; every frame leads to its detail, its source and a filter, so far as there is one. Machinery inside of the code that requested the memory is folded. */
function Stack({ stack, requester, nInAll, ask }: { stack: readonly Frame[]; requester: number; nInAll: number } & ViewProps) {
  const text = stack.map((frame) => `${frameName(frame) || "(unknown)"}  ${place(frame.file, frame.line)}`).join("\n");
  const rows = stack.map((frame, i) => <StackFrame key={i} frame={frame} isRequester={i === requester && requester > 0} ask={ask} />);
  return (
    <section>
      <h3>
        {nInAll > 1 ? `Largest of ${count(nInAll)} call paths` : "Call path"}{" "}
        <button type="button" class="button is-plain" onClick={() => void copyText(`${text}\n`)}>copy</button>
      </h3>
      {requester > 1 && (
        <details class="stack-machinery">
          <summary>{plural(requester, "frame")} of machinery inside</summary>
          <ol class="stack">{rows.slice(0, requester)}</ol>
        </details>
      )}
      <ol class="stack">{requester > 1 ? rows.slice(requester) : rows}</ol>
    </section>
  );
}

/** Leads to the source, where there is one. */
function Place({ frame, ask }: { frame: Frame; ask: Ask }) {
  const name = frameName(frame);
  if (frame.file === "" || !hasSource(ask, name)) return <span class="quiet" title={visible(frame.file || frame.module)}>{visible(place(frame.file, frame.line) || baseName(frame.module))}</span>;
  return <button type="button" class="link" title={visible(`${frame.file}:${frame.line}`)} onClick={() => ask.go({ view: "source", set: { what: frame.line > 0 && !ask.isFile ? `${frame.file}:${frame.line}` : name } })}>{visible(place(frame.file, frame.line))}</button>;
}

function StackFrame({ frame, isRequester, ask }: { frame: Frame; isRequester: boolean; ask: Ask }) {
  const name = frameName(frame), near = nearText(frame);
  const label = <Name text={visible(shownName(frame)) || "(unknown)"} />;
  return (
    <li class={[frame.inlined && "is-inlined", isRequester && "is-requester"].filter(Boolean).join(" ") || undefined}>
      {name === "" ? label : (
        <button type="button" class="link" title={visible(`${name}\n${frame.module}`)} onClick={() => ask.go({ set: { pick: `function:${name}` } })}>{label}</button>
      )}
      <span class="stack-place quiet">
        {frame.inlined && "inlined "}
        {near !== "" && <span title="The nearest name before it: the function itself has none">{visible(near)} </span>}
        <Place frame={frame} ask={ask} />{" "}
        {name !== "" && !ask.isFile && (
          <button type="button" class="link" title="Only call paths that contain it" aria-label={`Filter to ${visible(name)}`} onClick={() => ask.go({ add: [["function", exactly(name)]] })}>filter</button>
        )}
      </span>
    </li>
  );
}

function SizeBars({ sizes }: { sizes: Sizes }) {
  const b = sizes.buckets, end = b[b.length - 1];
  return (
    <section>
      <h3>Sizes <span class="quiet">{plural(sizes.blocks, "block")}</span></h3>
      <Bars
        label="Sizes of its blocks"
        bars={b.map((x) => ({ value: x.blocks, words: `${bytes(x.min_bytes)}${x.max_bytes === null ? " or more" : ` to ${bytes(x.max_bytes)}`}: ${plural(x.blocks, "block")}, ${bytes(x.bytes)}` }))}
        first={bytes(b[0].min_bytes)}
        last={end.max_bytes === null ? "" : bytes(end.max_bytes)}
      />
    </section>
  );
}

function LifeBars({ lifetimes }: { lifetimes: Lifetimes }) {
  const used = lifetimes.buckets.map((x, i) => (x.blocks > 0 ? i : -1)).filter((i) => i >= 0);
  const b = lifetimes.buckets.slice(used[0], used[used.length - 1] + 1), end = b[b.length - 1];
  return (
    <section>
      <h3>Lifetimes <span class="quiet">of {plural(lifetimes.blocks, "freed block")}</span></h3>
      <Bars
        label="Lifetimes of its blocks"
        bars={b.map((x) => ({ value: x.blocks, words: `${x.to_s === null ? `${duration(x.from_s)} or longer` : `${moment(x.from_s)} to ${duration(x.to_s)}`}: ${plural(x.blocks, "block")}` }))}
        first={moment(b[0].from_s)}
        last={end.to_s === null ? "longer" : duration(end.to_s)}
      />
    </section>
  );
}

function ThreadList({ threads }: { threads: NonNullable<Detail["threads"]> }) {
  return (
    <section>
      <h3>Threads</h3>
      <table class="plain">
        <thead><tr><th>thread</th><th class="number">allocated</th><th class="number">freed</th></tr></thead>
        <tbody>
          {threads.slice(0, 10).map((t) => <tr key={t.tid}><td title={`tid ${t.tid}`}>{t.name || t.tid}</td><td class="number">{count(t.allocations)}</td><td class="number">{count(t.frees)}</td></tr>)}
        </tbody>
      </table>
      {threads.length > 10 && <p class="quiet">{count(threads.length - 10)} more threads.</p>}
    </section>
  );
}

function BlockList({ blocks }: { blocks: NonNullable<Detail["blocks"]> }) {
  return (
    <section>
      <h3>Its first blocks</h3>
      <table class="plain">
        <thead><tr><th class="number">allocated at</th><th class="number">size</th><th class="number">lived</th><th>thread</th></tr></thead>
        <tbody>
          {blocks.map((b, i) => (
            <tr key={i}>
              <td class="number">{duration(b.time_s)}</td>
              <td class="number">{bytes(b.bytes)}</td>
              <td class="number" title={b.live ? "never freed in this recording" : undefined}>{b.age_s === null ? "" : duration(b.age_s)}{b.live && " +"}</td>
              <td>{b.thread}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
