// SPDX-License-Identifier: MIT
// Many machines: services by growth, call paths that grew, builds side by side, hosts unlike the others; from each to call paths.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Source } from "../api/ask";
import { FLEET_QUESTIONS, type Fleet, type FleetQuestion, type FleetRow } from "../api/fleet";
import { useAnswer, type Answering } from "../api/use";
import { changeFleet, fleetKeys, missing, momentText, pathText, readFleet, sinceOf, SINCES, writeFleet, type FleetKey, type FleetState } from "../model/fleet";
import { formatSort, parseSort } from "../model/table_rows";
import { bytes, count, duration, signedBytes } from "../model/units";
import { visible } from "../model/visible";
import { Empty } from "../widgets/empty";
import { Pending } from "../widgets/pending";
import { Spark } from "../widgets/spark";
import { Table, type Column } from "../widgets/table";

const TITLES: Readonly<Record<FleetQuestion, string>> = { services: "Services", grew: "Growth", builds: "Builds", release: "Release", hosts: "Hosts", paths: "Call paths" };
const ROW_FRAMES = 8;
const SPARK_PX = 96;

type Go = (question: FleetQuestion, set?: Readonly<Partial<Record<FleetKey, string | null>>>) => void;

function useFleet(): { state: FleetState; go: Go } {
  const [state, setState] = useState(() => readFleet(location.hash));
  useEffect(() => {
    const read = (): void => setState(readFleet(location.hash));
    window.addEventListener("hashchange", read);
    window.addEventListener("popstate", read);
    return () => {
      window.removeEventListener("hashchange", read);
      window.removeEventListener("popstate", read);
    };
  }, []);
  const go: Go = (question, set = {}) => {
    const next = changeFleet(readFleet(location.hash), question, set);
    if (writeFleet(next) === location.hash) return;
    history.pushState(null, "", writeFleet(next));
    setState(next);
  };
  return { state, go };
}

export function FleetPage({ source }: { source: Source }) {
  const { state, go } = useFleet();
  const ask = useMemo((): Answering => ({ answer: source.answer.bind(source), version: 0, isDragging: false }), [source]);
  const services = useAnswer(ask, "fleet", [["question", "services"], ["back", sinceOf(state)], ["top", "1000"]]);
  useEffect(() => {
    document.title = `${TITLES[state.question]} – silt fleet`;
  }, [state.question]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))) return;
      const at = FLEET_QUESTIONS[Number(event.key) - 1];
      if (at) go(at);
      else if (event.key === "Escape") go(readFleet(location.hash).question, { pick: null });
      else if (event.key === "/") document.getElementById("search")?.focus();
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
  return (
    <div class={state.keys.pick === undefined ? "page fleet" : "page fleet has-detail"}>
      <FleetHeader state={state} go={go} services={services.answer} />
      <nav class="views" aria-label="Views">
        {FLEET_QUESTIONS.map((name, i) => (
          <a key={name} href={writeFleet(changeFleet(state, name))} aria-current={name === state.question ? "page" : undefined} title={`${TITLES[name]} (${i + 1})`}
             onClick={(event) => {
               if (event.ctrlKey || event.metaKey || event.shiftKey) return;
               event.preventDefault();
               go(name);
             }}>
            {TITLES[name]}
          </a>
        ))}
      </nav>
      <div class="middle">
        <FleetChips state={state} go={go} />
        <main class="view" tabIndex={-1} aria-label={TITLES[state.question]}>
          {missing(state) === null ? <Asked key={state.question} state={state} go={go} ask={ask} /> : <Missing state={state} go={go} ask={ask} services={services.answer} />}
        </main>
      </div>
    </div>
  );
}

interface Props {
  readonly state: FleetState;
  readonly go: Go;
}

function FleetHeader({ state, go, services }: Props & { services: Fleet | null }) {
  const names = (services?.rows ?? []).map((row) => row.service ?? "");
  const chosen = state.keys.service;
  return (
    <header class="header">
      <div class="header-row">
        <span class="brand">silt</span>
        <span class="program">fleet</span>
        {services && services.now_s > 0 && <span class="header-figures"><span>as of <b>{momentText(services.now_s)} UTC</b></span></span>}
        <span class="header-choices">
          <select class="choice" aria-label="Service" value={chosen ?? ""} onChange={(event) => go(state.question, { service: event.currentTarget.value || null, host: null, build: null, old: null, new: null })}>
            <option value="">all services</option>
            {chosen !== undefined && !names.includes(chosen) && <option value={chosen}>{visible(chosen)}</option>}
            {names.map((name) => <option key={name} value={name}>{visible(name)}</option>)}
          </select>
          <select class="choice" aria-label="Compare with" value={sinceOf(state)} onChange={(event) => go(state.question, { since: event.currentTarget.value })}>
            {!SINCES.some(([value]) => value === sinceOf(state)) && <option value={sinceOf(state)}>{visible(sinceOf(state))}</option>}
            {SINCES.map(([value, words]) => <option key={value} value={value}>{state.question === "builds" || state.question === "release" ? `the last ${words}` : `compared with ${words} before`}</option>)}
          </select>
          <input id="search" class="search" type="search" placeholder="/ search" aria-label="Search rows" spellcheck={false} autocomplete="off" value={state.keys.search ?? ""}
                 onInput={(event) => go(state.question, { search: event.currentTarget.value || null })} />
        </span>
      </div>
    </header>
  );
}

const CHIPS: readonly (readonly [key: FleetKey, words: string])[] = [["service", "service"], ["host", "host"], ["build", "build"], ["old", "old build"], ["new", "new build"]];

function FleetChips({ state, go }: Props) {
  const shown = CHIPS.filter(([key]) => state.keys[key] !== undefined);
  return (
    <div class="chips">
      {shown.map(([key, words]) => (
        <span key={key} class="chip">
          <span class="chip-label">{words}</span>
          <span class="chip-value" title={visible(state.keys[key] ?? "")}>{visible(state.keys[key] ?? "")}</span>
          <button type="button" class="chip-remove" aria-label={`Remove ${words}`} onClick={() => go(state.question, { [key]: null })}>×</button>
        </span>
      ))}
    </div>
  );
}

/** What must be chosen first: a service, or two of its builds. */
function Missing({ state, go, ask, services }: Props & { ask: Answering; services: Fleet | null }) {
  const builds = useAnswer(ask, "fleet", missing(state) === "builds" ? [["question", "builds"], ["back", sinceOf(state)], ["service", state.keys.service ?? ""], ["top", "1000"]] : null);
  if (missing(state) === "service")
    return (
      <div class="fleet-choose">
        <h1 class="headline">Choose a service.</h1>
        {(services?.rows ?? []).map((row) => <button key={row.service} type="button" class="button" onClick={() => go(state.question, { service: row.service ?? null })}>{visible(row.service ?? "")}</button>)}
      </div>
    );
  return (
    <Pending of={builds}>
      {(answer) => {
        const names = answer.rows.map((row) => row.build ?? "");
        if (names.length < 2) return <Empty title="There is one build" why={`Only one build of ${visible(state.keys.service ?? "")} was seen in this time. A longer time may have more.`} />;
        return <div class="fleet-choose"><h1 class="headline">Choose two builds.</h1><Pair state={state} go={go} names={names} /></div>;
      }}
    </Pending>
  );
}

function Pair({ state, go, names }: Props & { names: readonly string[] }) {
  const [old, setOld] = useState(state.keys.old ?? names[1] ?? "");
  const [newer, setNewer] = useState(state.keys.new ?? names[0] ?? "");
  const select = (label: string, value: string, set: (v: string) => void) => (
    <label class="field">{label}<select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>{names.map((name) => <option key={name} value={name}>{visible(name) || "without a build-id"}</option>)}</select></label>
  );
  return (
    <p class="fleet-pair">
      {select("old build", old, setOld)} {select("new build", newer, setNewer)}{" "}
      <button type="button" class="button" disabled={old === newer || old === "" || newer === ""} onClick={() => go("release", { old, new: newer })}>Compare</button>
    </p>
  );
}

function Asked({ state, go, ask }: Props & { ask: Answering }) {
  const asked = useAnswer(ask, "fleet", fleetKeys(state));
  return (
    <div class="filling">
      <Pending of={asked}>
        {(answer) => (
          <>
            <h1 class="headline first-sentence">{visible(answer.sentence)}</h1>
            {answer.doubts.map((text) => <p key={text} class="limit">{visible(text)}</p>)}
            <Rows answer={answer} state={state} go={go} />
            <PathPane answer={answer} state={state} go={go} />
          </>
        )}
      </Pending>
    </div>
  );
}

// ---- rows ----------------------------------------------------------------------------------------

function figure(answer: Fleet, key: keyof FleetRow, title: string, show: (n: number) => string, hint: string, isMinor = false): Column {
  const values = answer.rows.map((row) => Number(row[key] ?? Number.NaN));
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b) || 0), 0);
  return { key, title, hint, isNumber: true, minPx: 88, isMinor, values, cell: (i) => (Number.isNaN(values[i]) ? "–" : show(values[i])), tip: (i) => count(values[i]),
           share: most > 0 && show !== momentText ? (i) => values[i] / most : undefined, copy: (i) => String(values[i]) };
}

function text(answer: Fleet, key: "service" | "host" | "build", minPx: number): Column {
  const values = answer.rows.map((row) => row[key] ?? "");
  return { key, title: key, minPx, grow: 1, values, cell: (i) => visible(values[i]) || "–", tip: (i) => visible(values[i]), copy: (i) => values[i] };
}

/** Frames by row, read once. */
function framesOf(answer: Fleet): (i: number) => readonly string[] {
  const byId = new Map(answer.paths.map((one) => [one.path, one.frames]));
  return (i) => byId.get(answer.rows[i].path ?? "") ?? [];
}

function columnsOf(answer: Fleet): readonly Column[] {
  const frames = framesOf(answer);
  const spark: Column = { key: "history", title: "over time", hint: "Live bytes of the service in this time", minPx: SPARK_PX, isMinor: true,
                          cell: (i) => <Spark values={answer.rows[i].history ?? []} width={SPARK_PX} height={18} /> };
  const path: Column = { key: "path", title: "call path", minPx: 240, grow: 4, values: answer.rows.map((_, i) => pathText(frames(i), ROW_FRAMES)),
                         cell: (i) => (answer.rows[i].path ? visible(pathText(frames(i), ROW_FRAMES)) : "–"), tip: (i) => frames(i).map(visible).join("\n"), copy: (i) => frames(i).join(" <- ") };
  const f = (key: keyof FleetRow, title: string, show: (n: number) => string, hint: string, isMinor = false): Column => figure(answer, key, title, show, hint, isMinor);
  switch (answer.question) {
    case "services":
      return [text(answer, "service", 128), spark, f("live_bytes", "live", bytes, "Live bytes now, of all hosts"), f("growth_bytes", "growth", signedBytes, "Of hosts that were there at both times"), f("hosts", "hosts", count, "Hosts that are recorded now"), f("hosts_new", "new", count, "Hosts that were not there before", true), f("hosts_gone", "gone", count, "Hosts that are not there any more", true), f("builds", "builds", count, "Builds that run now", true)];
    case "grew":
      return [f("growth_bytes", "growth", signedBytes, "Of hosts that were there at both times"), f("now_bytes", "now", bytes, "Live bytes now"), f("hosts_grew", "hosts", count, "Hosts on which it grew"), text(answer, "service", 96), text(answer, "build", 96), path];
    case "builds":
      return [text(answer, "service", 96), text(answer, "build", 128), f("mean_bytes", "mean", bytes, "What a process holds, on average"), f("max_bytes", "most", bytes, "The most that a process held in a snapshot"), f("processes", "processes", count, "Processes of that build"), f("hosts", "hosts", count, "Hosts it was seen on"), f("first_time", "first seen", momentText, "UTC", true), f("last_time", "last seen", momentText, "UTC", true)];
    case "release":
      return [f("change_bytes", "change", signedBytes, "Of what a process holds, on average"), f("old_bytes", "old", bytes, "What a process of the old build holds, on average"), f("new_bytes", "new", bytes, "What a process of the new build holds, on average"), f("error_bytes", "±", bytes, "Standard error of the change", true), path];
    case "hosts":
      return [text(answer, "host", 128), text(answer, "service", 96), text(answer, "build", 96), f("live_bytes", "live", bytes, "Live bytes now"), f("median_bytes", "median", bytes, "Of the hosts of that service"), f("score", "spreads", (n) => n.toFixed(1), "How far above the median, in spreads of 1.4826 MAD"), path];
    case "paths":
      return [f("live_bytes", "live", bytes, "Live bytes now, of all hosts"), f("growth_bytes", "growth", signedBytes, "Since then"), f("live_blocks", "blocks", count, "Live blocks now", true), f("hosts", "hosts", count, "Hosts on which it holds something"), path];
  }
}

/** Where a row leads: from services to their growth, from a host to its call paths, from a build to its release, from a path to its functions. */
function open(answer: Fleet, i: number, state: FleetState, go: Go): void {
  const row = answer.rows[i];
  if (answer.question === "services") go("grew", { service: row.service ?? null });
  else if (answer.question === "hosts") go("paths", { service: row.service ?? null, host: row.host ?? null });
  else if (answer.question === "builds") {
    const before = answer.rows.slice(i + 1).find((other) => other.service === row.service);
    if (before) go("release", { service: row.service ?? null, old: before.build ?? null, new: row.build ?? null });
    else go("paths", { service: row.service ?? null, build: row.build ?? null });
  } else if (row.path) go(state.question, { pick: state.keys.pick === row.path ? null : row.path });
}

function Rows({ answer, state, go }: Props & { answer: Fleet }) {
  const columns = useMemo(() => columnsOf(answer), [answer]);
  const frames = useMemo(() => framesOf(answer), [answer]);
  const first = columns.find((column) => column.isNumber)?.key ?? columns[0].key;
  const usual = answer.question === "services" ? "growth_bytes" : answer.question === "hosts" ? "score" : answer.question === "builds" ? "first_time" : first;
  return (
    <Table
      label={TITLES[answer.question]}
      n={answer.rows.length}
      columns={columns}
      sort={parseSort(state.keys.sort, usual)}
      onSort={(sort) => go(state.question, { sort: formatSort(sort) })}
      filter={state.keys.search ?? ""}
      text={(i) => `${answer.rows[i].service ?? ""} ${answer.rows[i].host ?? ""} ${answer.rows[i].build ?? ""} ${frames(i).join(" ")}`.toLowerCase()}
      isPicked={(i) => state.keys.pick !== undefined && answer.rows[i].path === state.keys.pick}
      onOpen={(i) => open(answer, i, state, go)}
      note={<span class="quiet">{answer.has_more ? "There are more rows: choose a service, or ask silt fleet --top." : `compared with ${momentText(answer.before_s)} UTC, ${duration(answer.since_s)} before`}</span>}
      empty={<Empty title="Nothing" why={visible(answer.sentence)} />}
    />
  );
}

// ---- one call path -------------------------------------------------------------------------------

function PathPane({ answer, state, go }: Props & { answer: Fleet }) {
  const pick = state.keys.pick;
  const row = answer.rows.find((one) => one.path === pick);
  if (pick === undefined || !row) return null;
  const frames = answer.paths.find((one) => one.path === pick)?.frames ?? [];
  const figures: readonly (readonly [words: string, value: number | undefined, show: (n: number) => string])[] = [
    ["live", row.live_bytes ?? row.now_bytes, bytes], ["growth", row.growth_bytes, signedBytes], ["change of a process", row.change_bytes, signedBytes], ["hosts", row.hosts_grew ?? row.hosts, count],
  ];
  return (
    <section class="fleet-path" aria-label="Call path">
      <div class="detail-head">
        <h2>Call path</h2>
        <button type="button" class="button is-plain" onClick={() => go(state.question, { pick: null })}>Close</button>
      </div>
      <dl class="totals">
        {figures.filter(([, value]) => value !== undefined).map(([words, value, show]) => <div key={words}><dd>{show(value ?? 0)}</dd><dt>{words}</dt></div>)}
      </dl>
      <ol class="stack">{frames.map((name, i) => <li key={i} class={i === 0 ? "is-requester" : undefined}>{visible(name)}</li>)}</ol>
      {frames.length === 0 && <p class="quiet">The server does not have the functions of this call path.</p>}
      {row.service !== undefined && state.question !== "paths" && <p><button type="button" class="link" onClick={() => go("paths", { service: row.service ?? null })}>All call paths of {visible(row.service)}</button></p>}
    </section>
  );
}

