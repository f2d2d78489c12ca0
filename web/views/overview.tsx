// SPDX-License-Identifier: MIT
// The report's headline, what was found, and where memory went: the first look.
import type { ViewProps } from "../api/ask";
import type { Lifetimes, Sizes } from "../api/common";
import type { Early, Finding, Report } from "../api/report";
import { totals as totalsCheck } from "../api/shapes";
import type { Table } from "../api/table";
import { useAnswer, type Answered } from "../api/use";
import { metricWords } from "../model/chips";
import { emptiness } from "../model/emptiness";
import { amount, isTimeMetric, metricOf, unitOf } from "../model/metric";
import { columnOf } from "../model/sentence";
import { place } from "../model/spread";
import { question } from "../model/state";
import { fileCan, stepOf } from "../model/step";
import { bytes, count, duration, plural, share, time, weightWords } from "../model/units";
import { visible } from "../model/visible";
import { Bars } from "../widgets/bars";
import { Name } from "../widgets/name";
import { Pending, ProgressLine } from "../widgets/pending";
import { Spark } from "../widgets/spark";

const SEVERITY: Readonly<Record<Finding["severity"], string>> = { problem: "Problem", "worth-knowing": "Worth knowing", note: "Note" };
const CARD_COLUMNS = 80;
const LARGEST = 5;
const BOTH = 8;

/** Figures come first, then the largest call paths; what stands out is looked for behind them, once a window is chosen. */
export function OverviewView({ state, ask }: ViewProps) {
  const metric = metricOf(state, ask.trace);
  // time is where it went, whoever called that
  const by = isTimeMetric(metric) ? "function" : "site";
  const brief = useAnswer(ask, "report", ask.isFile ? null : question(state, { by: null, coarse: true }));
  const isTold = ask.isFile || !brief.isStale;
  const largest = useAnswer(ask, "table", question(state, { "group-by": by, rows: LARGEST }), isTold);
  const whole = useAnswer(ask, "report", question(state, { by: null }), isTold && !largest.isStale && !ask.isDragging);
  const isBrief = whole.isStale && !whole.error && brief.answer !== null && !brief.error;
  return (
    <Pending of={isBrief ? brief : whole}>
      {(report) => (
        <div class="overview">
          {report.post_mortem && <Headline text={report.post_mortem.text} />}
          <Headline text={report.headline} />
          <Findings of={whole} state={state} ask={ask} />
          <Totals report={report} state={state} ask={ask} />
          <div class="overview-parts">
            <Largest of={largest} by={by} metric={metric} state={state} ask={ask} />
            {ask.trace.time && !ask.trace.time.is_all && <Both state={state} ask={ask} />}
            {report.sizes && !ask.trace.time?.is_all && <SizesPart sizes={report.sizes} />}
            {report.lifetimes && !ask.trace.time?.is_all && <LifetimesPart lifetimes={report.lifetimes} />}
          </div>
          {report.notes.length > 0 && <ul class="notes quiet">{report.notes.map((note) => <li key={note}>{visible(note)}</li>)}</ul>}
        </div>
      )}
    </Pending>
  );
}

/** What is found while others are looked for stands in that order; the answer has them by weight. */
function Findings({ of, state, ask }: ViewProps & { of: Answered<Report> }) {
  const isEarly = of.isStale && of.parts.length > 0;
  const findings = isEarly ? null : of.answer?.findings;
  return (
    <div class={of.isStale && findings ? "findings is-stale" : "findings"} aria-busy={of.isStale}>
      {of.isStale && (
        <>
          <p class="quiet">Looking for what {ask.trace.time?.is_all ? "takes time or waits" : "grows, leaks or is temporary"}</p>
          <ProgressLine share={of.progress} />
        </>
      )}
      {isEarly && <div class="cards">{of.parts.map((finding, i) => <EarlyCard key={`${finding.kind} ${i}`} finding={finding} />)}</div>}
      {findings && findings.length > 0 && (
        <div class="cards">
          {findings.map((finding, i) => <Card key={`${finding.kind} ${i}`} finding={finding} state={state} ask={ask} />)}
        </div>
      )}
      {findings?.length === 0 && <p class="quiet">{!ask.trace.has_events ? "No finding: nothing stands out in what is known." : ask.trace.time ? "No finding: nothing stands out." : of.answer!.totals.allocations > 0 ? "No finding: nothing grows, leaks or is temporary to a degree that stands out." : "No finding: nothing was allocated."}</p>}
    </div>
  );
}

/** The first sentence is what a tired engineer reads. */
function Headline({ text }: { text: string }) {
  const cut = text.search(/\. (?=[A-Z0-9])/);
  const first = cut < 0 ? text : text.slice(0, cut + 1);
  return (
    <div>
      <h1 class="headline">{visible(first)}</h1>
      {cut >= 0 && <p class="headline-rest">{visible(text.slice(cut + 2))}</p>}
    </div>
  );
}

/** "Session::open: 31.2 MiB …": the subject stands out. */
function splitSubject(finding: Early): readonly [subject: string, rest: string] {
  const { text, function: name } = finding;
  return name && text.startsWith(name) && text.startsWith(":", name.length) ? [name, text.slice(name.length + 1).trim()] : ["", text];
}

function CardHead({ finding }: { finding: Early }) {
  const [subject, rest] = splitSubject(finding);
  return (
    <>
      <h2 class="card-kind">{SEVERITY[finding.severity]}</h2>
      {subject && <p class="card-subject mono" title={visible(subject)}><Name text={visible(subject)} /></p>}
      <p class="card-text">{visible(rest)}</p>
    </>
  );
}

function EarlyCard({ finding }: { finding: Early }) {
  return <article class={`card is-${finding.severity}`}><CardHead finding={finding} /></article>;
}

function Card({ finding, state, ask }: ViewProps & { finding: Finding }) {
  const next = stepOf(finding);
  const step = next && (!ask.isFile || fileCan(next.change)) ? next : null;
  const site = ask.isFile ? undefined : finding.site?.site; // a file knows the whole timeline alone
  const history = useAnswer(ask, "timeline", site ? [...question(state, { by: null, columns: CARD_COLUMNS, coarse: true }), ["site", String(site)]] : null);
  const line = history.answer?.live_bytes ?? [];
  return (
    <article class={`card is-${finding.severity}`}>
      <CardHead finding={finding} />
      {finding.held_by && <p class="card-text quiet">held by {visible(finding.held_by)}</p>}
      <div class="card-foot">
        <span class="card-chart">
          {line.some((v) => v) && !history.error && <Spark values={line} width={240} height={40} label="Live bytes of its largest call path over time" />}
        </span>
        {step && <button class={finding.severity === "problem" ? "button is-main" : "button"} onClick={() => ask.go(step.change)}>{step.label}</button>}
      </div>
    </article>
  );
}

/** Of the window: what threads ran and waited. */
function useTimes({ state, ask }: ViewProps): readonly (readonly [value: string, name: string])[] {
  const isAsked = ask.trace.time !== null && ask.trace.time !== undefined;
  const keys = (by: string) => (isAsked ? question(state, { by, tree: true, depth: 1 }) : null);
  const cpu = useAnswer(ask, "shaped", keys("cpu")), blocked = useAnswer(ask, "shaped", keys("blocked"));
  return ([[cpu, "of CPU"], [blocked, "blocked"]] as const).flatMap(([of, name]) => {
    const value = of.answer && !of.error ? totalsCheck(of.answer).value : 0;
    return value > 0 || (name === "of CPU" && of.answer && !of.error) ? [[time(value), name] as const] : [];
  });
}

function Totals({ report, state, ask }: ViewProps & { report: Report }) {
  const t = report.totals;
  const times = useTimes({ state, ask });
  const memory: readonly (readonly [value: string, name: string])[] = ask.trace.time?.is_all ? [] : weightWords() !== null ? [[bytes(t.end_live_bytes), "in all"]] : [
    [bytes(t.peak_live_bytes), t.peak_live_bytes > 0 && !Number.isNaN(t.peak_at_s) ? `peak, at ${duration(t.peak_at_s)}` : "peak"],
    [bytes(t.end_live_bytes), Number.isNaN(t.end_live_blocks) ? "at the end" : `at the end, ${plural(t.end_live_blocks, "block")}`],
    [bytes(t.bytes_allocated), "allocated"],
    [count(t.allocations), t.allocations === 1 ? "allocation" : "allocations"],
    ...(t.allocations > 0 && !Number.isNaN(t.temporary_allocations) ? [[share(t.temporary_allocations, t.allocations), "temporary"] as const] : []),
  ];
  const figures: readonly (readonly [value: string, name: string])[] = [
    ...times, ...memory,
    ...(t.peak_rss_bytes > 0 ? [[bytes(t.peak_rss_bytes), "resident at most"] as const] : []),
    ...(Number.isNaN(t.threads) || ask.trace.has_threads === false ? [] : [[count(t.threads), t.threads === 1 ? "thread" : "threads"] as const]),
    ...(Number.isFinite(t.sites) && !ask.trace.time?.is_all ? [[count(t.sites), t.sites === 1 ? "call path" : "call paths"] as const] : []),
  ];
  return (
    <dl class="totals">
      {figures.map(([value, name]) => (
        <div key={name}>
          <dd>{value}</dd>
          <dt>{name}</dt>
        </div>
      ))}
    </dl>
  );
}

function Largest({ of: asked, by, metric, state, ask }: ViewProps & { of: Answered<Table>; by: "site" | "function"; metric: string }) {
  return (
    <section class="part largest">
      <h2 class="part-title">Largest: {metricWords(metric)}</h2>
      <Pending of={asked}>
        {(table) => {
          const column = columnOf(table);
          const most = Math.max(1, ...column.map(Math.abs));
          // a call path that was alive at another moment is not among the largest
          const largest = column.slice(0, LARGEST).flatMap((value, i) => (value === 0 ? [] : [[value, i] as const]));
          if (largest.length === 0) return <p class="quiet">{emptiness(state, ask.trace).why}</p>;
          return (
            <div role="list">
              {largest.map(([value, i]) => (
                <button key={i} role="listitem" class="largest-row" title={visible(table.names[table.label[i]])} onClick={() => ask.go({ set: { pick: by === "site" ? `site:${table.site[i]}` : `function:${table.names[table.function[i]!]}` } })}>
                  <span class="largest-bar" style={{ width: `${(100 * Math.abs(value)) / most}%` }} />
                  <span class="largest-name mono"><Name text={visible(table.names[table.label[i]])} /></span>
                  <span class="largest-place quiet">{visible(place(table.names[table.file[i]], table.line[i]))}</span>
                  <span class="largest-value number">{amount(value, unitOf(metric))}</span>
                </button>
              ))}
              <button class="link" onClick={() => ask.go({ view: "sites", set: { "group-by": by === "site" ? null : by } })}>{table.rows_in_all > LARGEST ? (by === "site" ? "all call paths" : "all functions") : "show the table"}</button>
            </div>
          );
        }}
      </Pending>
    </section>
  );
}

/** The functions that run most, and what they and all they call allocate: one window, both weights. */
function Both({ state, ask }: ViewProps) {
  const asked = useAnswer(ask, "table", question(state, { by: "cpu", "group-by": "function", rows: BOTH }));
  return (
    <section class="part both">
      <h2 class="part-title">CPU time and allocations</h2>
      <Pending of={asked}>{(table) => <BothTable table={table} ask={ask} />}</Pending>
    </section>
  );
}

function BothTable({ table, ask }: { table: Table; ask: ViewProps["ask"] }) {
  const { cpu_ns, total_cpu_ns, total_count } = table, whole = table.whole ?? 0;
  const rows = (cpu_ns ?? []).flatMap((ns, i) => (ns > 0 ? [i] : []));
  if (!cpu_ns || !total_cpu_ns || rows.length === 0) return <p class="quiet">No sample found a thread running in what is chosen.</p>;
  return (
    <>
      <table class="plain">
        <thead><tr><th>function</th><th class="number" title="CPU time in it itself">CPU</th><th class="number" title="CPU time in it and everything it called">with callees</th><th class="number" title="Made by it and everything it called">allocations</th><th class="number" title="Allocations for each millisecond of CPU time, with everything it called">per ms</th></tr></thead>
        <tbody>
          {rows.map((i) => (
            <tr key={i}>
              <td title={visible(table.names[table.function[i]!]!)}><button type="button" class="link mono" onClick={() => ask.go({ set: { by: "cpu", pick: `function:${table.names[table.function[i]!]}` } })}><Name text={visible(table.names[table.label[i]!]!)} /></button></td>
              <td class="number" title={time(cpu_ns[i]!)}>{share(cpu_ns[i]!, whole)}</td>
              <td class="number" title={time(total_cpu_ns[i]!)}>{share(total_cpu_ns[i]!, whole)}</td>
              <td class="number">{total_count?.[i] ? count(total_count[i]!) : "–"}</td>
              <td class="number">{total_count?.[i] ? perMs(total_count[i]!, total_cpu_ns[i]!) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button class="link" onClick={() => ask.go({ view: "sites", set: { by: "cpu", "group-by": "function" } })}>all functions</button>
    </>
  );
}

/** "290", "6.7", "under 0.1" */
function perMs(n: number, ns: number): string {
  const rate = ns > 0 ? (1e6 * n) / ns : 0;
  return rate >= 10 ? count(rate) : rate < 0.1 ? "under 0.1" : rate.toFixed(1);
}

function SizesPart({ sizes }: { sizes: Sizes }) {
  const used = sizes.buckets;
  if (used.length === 0) return null;
  const upTo = (max: number | null): string => (max === null ? "larger" : bytes(max));
  return (
    <section class="part">
      <h2 class="part-title">Sizes {!sizes.exact && <span class="quiet">(estimated)</span>}</h2>
      <Bars label="Blocks by size" first={bytes(used[0].min_bytes)} last={upTo(used[used.length - 1].max_bytes)}
            bars={used.map((b) => ({ value: b.blocks, words: `${bytes(b.min_bytes)} to ${upTo(b.max_bytes)}: ${plural(b.blocks, "block")}, ${bytes(b.bytes)}` }))} />
    </section>
  );
}

function LifetimesPart({ lifetimes }: { lifetimes: Lifetimes }) {
  const filled = lifetimes.buckets.map((b, i) => (b.blocks > 0 ? i : -1)).filter((i) => i >= 0);
  if (filled.length === 0) return null;
  const used = lifetimes.buckets.slice(filled[0], filled[filled.length - 1] + 1);
  const last = used[used.length - 1];
  return (
    <section class="part">
      <h2 class="part-title">Lifetimes {!lifetimes.exact && <span class="quiet">(estimated)</span>}</h2>
      <Bars label="Freed blocks by lifetime" first={duration(used[0].from_s)} last={last.to_s === null ? `over ${duration(last.from_s)}` : duration(last.to_s)}
            bars={used.map((b) => ({ value: b.blocks, words: `${duration(b.from_s)} to ${b.to_s === null ? "longer" : duration(b.to_s)}: ${plural(b.blocks, "block")}` }))} />
    </section>
  );
}
