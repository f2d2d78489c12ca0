// SPDX-License-Identifier: MIT
// What was recorded, and what holds everywhere: process, metric, search.
import { useEffect, useRef } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import type { Trace, TraceProcess } from "../api/trace";
import { metricWords } from "../model/chips";
import { metricOf } from "../model/metric";
import { get } from "../model/state";
import { bytes, count, duration, lengthOf, weightWords } from "../model/units";
import { residentShare, residentWords } from "../model/resident";
import { commandText, visible } from "../model/visible";

function programOf(trace: Trace): string {
  const [first = trace.file, ...rest] = trace.command;
  return commandText([first.split("/").pop() || first, ...rest]);
}

function processText(one: TraceProcess, trace: Trace): string {
  return `${visible(one.name)} ${one.word}${trace.time?.is_all ? "" : `, peak ${bytes(one.peak_live_bytes)}`}`;
}

/** Memory, and where the time went, so far as they were recorded. */
function Figures({ trace }: { trace: Trace }) {
  const { time } = trace;
  const resident = residentWords(trace), length = lengthOf(trace.duration_s);
  return (
    <>
      {trace.peak_rss_bytes > 0 && <span title="Physical memory at most">resident <b>{bytes(trace.peak_rss_bytes)}</b></span>}
      {trace.has_peak !== false && !time?.is_all && weightWords() === null && (
        <span title={resident ?? "Blocks: allocated and not yet freed, at most"}>live <b>{bytes(trace.peak.bytes)}</b>{resident !== null && trace.peak.bytes < trace.peak_rss_bytes && `, ${residentShare(trace)} of it`}</span>
      )}
      {!time?.is_all && <span>{trace.has_live === false ? "allocated" : weightWords() !== null ? "in all" : trace.growing ? "now" : "end"} <b>{bytes(trace.end_live_bytes)}</b></span>}
      {time && <span>CPU <b>{duration(time.cpu_s)}</b></span>}
      {time && time.blocked_s > 0 && <span class="is-minor">blocked <b>{duration(time.blocked_s)}</b></span>}
      {weightWords() === null && length !== null && <span>{time ? "in " : ""}<b>{length}</b></span>}
    </>
  );
}

function modeText(trace: Trace): string | null {
  if (trace.mode !== "sampled") return null;
  return trace.sample_bytes > 0 ? `sampled every ${bytes(trace.sample_bytes)}: figures are estimates` : "sampled: figures are estimates";
}

export function Header({ state, ask }: ViewProps) {
  const { trace } = ask;
  const search = useRef<HTMLInputElement>(null);
  const searched = get(state, "search") ?? "";
  const mode = modeText(trace);
  const program = visible(programOf(trace));
  const title = ask.writtenFor?.title ? visible(ask.writtenFor.title) : null;
  useEffect(() => {
    document.title = `${title ?? program} – silt`;
  }, [program, title]);
  return (
    <header class="header">
      <div class="header-row">
        <span class="brand">silt</span>
        {title !== null && <span class="program-title">{title}</span>}
        <span class="program" title={visible(commandText(trace.command))}>{program}</span>
        <span class="header-figures">
          <Figures trace={trace} />
          {mode && <span class="notice-text">{mode}</span>}
        </span>
        <span class="header-choices">
          {trace.processes_in_all > 1 && ask.isFile && !ask.writtenFor?.fixed.some(([key]) => key === "process") && <span class="quiet" title="Of a single process: silt view FILE">all {count(trace.processes_in_all)} processes together</span>}
          {trace.processes_in_all > 1 && !ask.isFile && (
            <select class="choice" aria-label="Process" value={get(state, "process") ?? "all"}
                    onChange={(event) => ask.go({ set: { process: event.currentTarget.value === "all" ? null : event.currentTarget.value } })}>
              <option value="all">all {count(trace.pids_in_all)} processes</option>
              {get(state, "process") && !trace.processes.some((one) => one.word === get(state, "process")) && get(state, "process") !== "all" && (
                <option value={get(state, "process")}>{visible(get(state, "process") ?? "")}</option>
              )}
              {trace.processes.map((one) => <option key={one.word} value={one.word}>{processText(one, trace)}</option>)}
            </select>
          )}
          <select class="choice" aria-label="Metric" value={metricOf(state, trace)} onChange={(event) => ask.go({ set: { by: event.currentTarget.value } })}>
            {trace.metrics.map((name) => <option key={name} value={name}>by {metricWords(name)}</option>)}
          </select>
          <input ref={search} id="search" class="search" type="search" placeholder="/ search" aria-label="Search names" spellcheck={false} autocomplete="off"
                 value={searched} onInput={(event) => ask.go({ set: { search: event.currentTarget.value } }, searched ? "replace" : "push")} />
        </span>
      </div>
      {trace.limits.length > 0 && <Limits limits={trace.limits} />}
    </header>
  );
}

function Limits({ limits }: { limits: readonly string[] }) {
  const [first, ...rest] = limits;
  if (rest.length === 0) return <p class="limit">{visible(first)}</p>;
  return (
    <details class="limit">
      <summary>{visible(first)} <span class="quiet">and {count(rest.length)} more</span></summary>
      <ul>{rest.map((text) => <li key={text}>{visible(text)}</li>)}</ul>
    </details>
  );
}
