// SPDX-License-Identifier: MIT
// The steering wheel: live bytes as an area, resident memory as a line, or the CPU; beside it what else happens; marks, the peak, births and ends. What is dragged over holds everywhere.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ViewProps } from "../api/ask";
import type { Timeline as TimelineAnswer } from "../api/timeline";
import { useAnswer } from "../api/use";
import { get, isFilter, question, type State } from "../model/state";
import { isFixed } from "../model/following";
import { bytes, count, duration } from "../model/units";
import { isTimeMetric, metricOf } from "../model/metric";
import { columnAt } from "../model/series";
import { evened, inUnits, leadOf, stripsOf, threadsText, type Lead } from "../model/strips";
import { visible } from "../model/visible";
import { seenOf, spanKeys, timeText, windowOf, zoom, type Span } from "../model/window";
import { Chart, STRIP_HEIGHT } from "./chart";
import { useColours } from "./theme";

const GROUPS = 6;
const WHEEL_REST_MS = 180;

export interface TimelineProps extends ViewProps {
  /** The window that figures are about, where it is another than the one chosen. */
  readonly answered: Span | null;
  /** Somebody began or ended dragging. */
  readonly onDrag: (isOn: boolean) => void;
  readonly follow: { readonly isFollowing: boolean; readonly turn: (on: boolean) => void; readonly toggle: () => void };
}

/** Of the timeline: filters and process hold, the window does not. */
function timelineKeys(state: State, seen: Span, isAll: boolean, added: Readonly<Record<string, string | number | boolean>>) {
  const by = get(state, "by");
  return question(state, { at: null, by: by !== undefined && isTimeMetric(by) ? by : null, from: isAll ? null : timeText(seen.from_s, 1e-9), to: isAll ? null : timeText(seen.to_s, 1e-9), ...added });
}

export function Timeline({ state, ask, answered, onDrag, follow }: TimelineProps) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [hovered, setHovered] = useState<number | null>(null);
  const [isWheeling, setWheeling] = useState(false);
  const seen = seenOf(state, ask.trace);
  const isAll = get(state, "see") === undefined;
  const stack = ask.isFile ? undefined : get(state, "stack");
  const columns = Math.max(60, Math.min(1200, Math.round(width / 2)));
  const isFiltered = state.keys.some(([key]) => isFilter(key));
  const lead = leadOf(metricOf(state, ask.trace));

  const grouped: Readonly<Record<string, string | number>> = stack ? { groups: GROUPS, "group-by": stack } : {};
  const main = useAnswer(ask, "timeline", width ? timelineKeys(state, seen, isAll, { columns, ...(isWheeling ? { coarse: true } : grouped) }) : null);
  const drawn = useMemo(() => evened(main.answer), [main.answer]);
  const bare: State = { view: state.view, keys: state.keys.filter(([key]) => !isFilter(key)) };
  const whole = useAnswer(ask, "timeline", width && isFiltered ? timelineKeys(bare, seen, isAll, { columns, ...(isWheeling ? { coarse: true } : {}) }) : null);

  const allDrawn = useMemo(() => evened(whole.answer), [whole.answer]);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    setWidth(element.clientWidth);
    return () => watch.disconnect();
  }, []);

  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-bar">
        <Readout answer={drawn} lead={lead} hovered={hovered} isFiltered={isFiltered} />
        {main.error && <span class="notice-text">{main.error.message}</span>}
        <span class="timeline-tools">
          {!isAll && <button class="link" onClick={() => ask.go({ set: { see: null } })}>show all</button>}
          {!ask.isFile && <label class="quiet">stack by{" "}
            <select class="choice" value={stack ?? ""} onChange={(event) => ask.go({ set: { stack: event.currentTarget.value || null } })}>
              <option value="">nothing</option>
              {ask.trace.group_by.filter((name) => name !== "site" && name !== "line" && !(name === "size" && lead !== "memory")).map((name) => <option key={name} value={name}>{name === "crate" ? "crate or namespace" : name}</option>)}
            </select>
          </label>}
          {ask.trace.growing && (
            <button class={follow.isFollowing ? "chip-toggle is-on" : "chip-toggle"} aria-pressed={follow.isFollowing} onClick={follow.toggle}
                    title={follow.isFollowing ? "The latest is shown as it is recorded (f)" : isFixed(state, ask.trace) ? "The window stays where it is: a click moves it to the latest (f)" : "A click shows the latest (f)"}>
              {follow.isFollowing ? "● following" : "○ follow"}
            </button>
          )}
        </span>
      </div>
      <div class="timeline-place" ref={place} style={{ height: `${heightFor(width) + STRIP_HEIGHT * stripsOf(drawn, lead).length}px` }}>
        {width > 0 && (
          <Drawn state={state} ask={ask} lead={lead} answered={answered} width={width} main={drawn} whole={isFiltered ? allDrawn : null} seen={seen}
                 onDrag={onDrag} onHover={setHovered} onWheel={setWheeling} stopFollowing={() => follow.isFollowing && follow.turn(false)} />
        )}
      </div>
    </section>
  );
}

function heightFor(width: number): number {
  return width < 600 ? 96 : window.innerHeight > 1000 ? 176 : 128;
}

interface DrawnProps extends ViewProps {
  readonly answered: Span | null;
  readonly lead: Lead;
  readonly width: number;
  readonly main: TimelineAnswer | null;
  readonly whole: TimelineAnswer | null;
  readonly seen: Span;
  readonly onDrag: (isOn: boolean) => void;
  readonly onHover: (seconds: number | null) => void;
  readonly onWheel: (isOn: boolean) => void;
  readonly stopFollowing: () => void;
}

/** The chart is made once for a size and theme; what changes is handed to it. */
function Drawn(props: DrawnProps) {
  const { state, ask, lead, width, main, whole, seen } = props;
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const colours = useColours();

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const resolution = (): number => (latest.current.seen.to_s - latest.current.seen.from_s) / Math.max(1, latest.current.width);
    let rest = 0;
    const made = new Chart(element, width, heightFor(width), colours, {
      choose: (from_s, to_s, isFirst, isLast) => {
        const { ask: a } = latest.current;
        if (isFirst) {
          latest.current.onDrag(true);
          latest.current.stopFollowing();
        }
        if (isLast) latest.current.onDrag(false);
        a.go({ set: { at: null, ...spanKeys({ from_s, to_s }, resolution(), a.trace.duration_s, a.edges_s) } }, isFirst ? "push" : "replace");
      },
      moment: (at_s) => latest.current.ask.go({ set: { at: timeText(at_s, resolution()), from: null, to: null } }),
      clear: () => latest.current.ask.go({ set: { at: null, from: null, to: null } }),
      hover: (seconds) => latest.current.onHover(seconds),
      wheel: (factor, around_s, pan) => {
        const { ask: a, seen: now } = latest.current;
        const all = { from_s: 0, to_s: a.trace.duration_s };
        const shift = pan * (now.to_s - now.from_s);
        const next = pan ? clampShift(now, shift, all) : zoom(now, factor, around_s, all, Math.max(1e-6, all.to_s / 1e6));
        const isWhole = next.to_s - next.from_s >= (all.to_s - all.from_s) * 0.999;
        a.go({ set: { see: isWhole ? null : `${timeText(next.from_s, 1e-7)}..${timeText(next.to_s, 1e-7)}` } }, "replace");
        latest.current.onWheel(true);
        clearTimeout(rest);
        rest = window.setTimeout(() => latest.current.onWheel(false), WHEEL_REST_MS);
      },
    });
    chart.current = made;
    return () => {
      clearTimeout(rest);
      made.done();
      chart.current = null;
    };
  }, [width, colours]);

  useEffect(() => {
    if (main) chart.current?.show({ main, lead, whole, seen, trace: ask.trace, process: get(state, "process") ?? "all" });
  }, [main, lead, whole, seen.from_s, seen.to_s, width, colours, ask.trace, get(state, "process")]);

  const span = props.answered ?? windowOf(state, ask.trace);
  useEffect(() => {
    chart.current?.choose(span, get(state, "at") !== undefined);
  }, [span?.from_s, span?.to_s, get(state, "at"), main, width, colours, seen.from_s, seen.to_s]);

  return (
    <div class="timeline-chart" id="timeline" ref={place} tabIndex={0} role="application"
         aria-label={`Timeline: ${describe(main, lead, span)}. Arrow keys move the window, Shift and arrows change its length, plus and minus zoom, Escape clears.`}
         onKeyDown={(event) => keyDown(event, latest.current, span)} />
  );
}

function clampShift(span: Span, by: number, all: Span): Span {
  const length = span.to_s - span.from_s;
  const from_s = Math.min(Math.max(span.from_s + by, all.from_s), all.to_s - length);
  return { from_s, to_s: from_s + length };
}

const LEAD_WORDS: Readonly<Record<Lead, string>> = { memory: "live bytes", cpu: "threads on a CPU", blocked: "threads blocked" };

function describe(main: TimelineAnswer | null, lead: Lead, span: Span | null): string {
  if (!main) return "not drawn yet";
  const part = span ? `, window from ${duration(span.from_s)} to ${duration(span.to_s)}` : ", no window";
  return `${LEAD_WORDS[lead]} from ${duration(main.from_s)} to ${duration(main.to_s)}${part}`;
}

/** Arrows move the window or, where there is none, make one; Shift changes its end. */
function keyDown(event: KeyboardEvent, { ask, seen }: DrawnProps, span: Span | null): void {
  const step = (seen.to_s - seen.from_s) / 50;
  const end = ask.trace.duration_s;
  const direction = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  if (direction !== 0 && !event.altKey && !event.ctrlKey && !event.metaKey) {
    const now = span ?? { from_s: seen.from_s + 20 * step, to_s: seen.from_s + 30 * step };
    const from_s = event.shiftKey || !span ? now.from_s : Math.max(0, Math.min(now.from_s + direction * step, end - step));
    const to_s = span ? Math.max(from_s + step / 4, Math.min(now.to_s + direction * step, end)) : now.to_s;
    ask.go({ set: { at: null, from: timeText(from_s, step / 10), to: timeText(to_s, step / 10) } }, span ? "replace" : "push");
  } else if (event.key === "+" || event.key === "=" || event.key === "-") {
    const middle = span ? (span.from_s + span.to_s) / 2 : (seen.from_s + seen.to_s) / 2;
    const next = zoom(seen, event.key === "-" ? 2 : 0.5, middle, { from_s: 0, to_s: end }, end / 1e6);
    ask.go({ set: { see: next.to_s - next.from_s >= end * 0.999 ? null : `${timeText(next.from_s, 1e-7)}..${timeText(next.to_s, 1e-7)}` } }, "replace");
  } else if (event.key === "Escape" && span) ask.go({ set: { at: null, from: null, to: null } });
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The legend; under the pointer, its figures. */
function Readout({ answer: given, lead, hovered, isFiltered }: { answer: TimelineAnswer | null; lead: Lead; hovered: number | null; isFiltered: boolean }) {
  const answer = given && inUnits(given, lead);
  const i = answer && hovered !== null ? columnAt(answer, hovered) : -1;
  const text = (line: readonly (number | null)[] | null | undefined, words: (n: number) => string): string => (i >= 0 && line && line[i] !== null && line[i] !== undefined ? ` ${words(line[i] ?? 0)}` : "");
  const value = (line: readonly (number | null)[] | null | undefined): string => text(line, lead === "memory" ? bytes : threadsText);
  const groups = answer?.groups ?? [];
  const hasStrip = (name: string): boolean => stripsOf(answer, lead).some((strip) => strip.name === name);
  return (
    <span class="readout">
      {i >= 0 && hovered !== null && <span class="readout-time">{duration(hovered)}</span>}
      {groups.length === 0 && lead === "memory" && <span class="key-live">{isFiltered ? "live, selected" : "live"}<b>{value(answer?.live_bytes)}</b></span>}
      {groups.length === 0 && lead === "cpu" && <span class="key-cpu">threads on a CPU{isFiltered ? ", selected" : ""}<b>{value(answer?.threads_on_cpu)}</b></span>}
      {groups.length === 0 && lead === "blocked" && <span class="key-blocked">threads blocked{isFiltered ? ", selected" : ""}<b>{value(answer?.threads_blocked)}</b></span>}
      {groups.map((group, k) => <span key={group.name} class="key-group" style={{ "--key": `var(--series-${k + 1})` }} title={visible(group.name)}>{visible(group.name)}<b>{value(group.live_bytes)}</b></span>)}
      {groups.length > 0 && <span class="key-group" style={{ "--key": "var(--series-rest)" }}>rest<b>{value(answer?.rest_live_bytes)}</b></span>}
      {lead === "memory" && answer?.rss_bytes.some((v) => v !== null) && <span class="key-resident">resident<b>{value(answer.rss_bytes)}</b></span>}
      {hasStrip("CPU") && <span class="key-cpu">on a CPU<b>{text(answer?.threads_on_cpu, threadsText)}</b></span>}
      {hasStrip("blocked") && <span class="key-blocked">blocked<b>{text(answer?.threads_blocked, threadsText)}</b></span>}
      {i >= 0 && hasStrip("memory") && <span>{answer?.live_bytes.some((v) => v) ? "live" : "resident"}<b>{text(answer?.live_bytes.some((v) => v) ? answer.live_bytes : answer?.rss_bytes, bytes)}</b></span>}
      {i >= 0 && answer?.allocations_per_s && hasStrip("rate") && <span class="key-rate">{count(answer.allocations_per_s[i] ?? 0)} per second</span>}
    </span>
  );
}
