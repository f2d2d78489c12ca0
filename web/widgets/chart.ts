// SPDX-License-Identifier: MIT
// The timeline's canvas: uPlot draws lines and axes; flags, lives of processes and strips are drawn here.
import UPlot from "uplot";
import type { Timeline } from "../api/timeline";
import type { Trace } from "../api/trace";
import { highest, middles, stacked, type Line } from "../model/series";
import { inUnits, leadLine, stripsOf, threadsText, type Lead, type Strip } from "../model/strips";
import { byteLabel, byteTicks, plainTicks, timeLabels, timeTicks } from "../model/ticks";
import { visible } from "../model/visible";
import type { Span } from "../model/window";
import { Brush, type BrushEvents } from "./brush";
import type { Colours } from "./theme";

export const STRIP_HEIGHT = 22;
const AXIS_LEFT = 64;
const AXIS_BOTTOM = 22;
const FONT = "12px system-ui, sans-serif";
const MAX_LIVES = 200;
const TIME_COLOURS: Readonly<Record<string, readonly [fill: string, edge: string]>> = { cpu: ["--cpu", "--cpu-edge"], blocked: ["--blocked", "--blocked-edge"] };
const STRIP_COLOURS: Readonly<Record<Strip["name"], string>> = { rate: "--rate", CPU: "--cpu", blocked: "--blocked", memory: "--live-area" };

export interface ChartEvents extends BrushEvents {
  readonly hover: (seconds: number | null) => void;
  readonly wheel: (factor: number, around_s: number, pan: number) => void;
}

export interface Shown {
  readonly main: Timeline;
  /** What is drawn as an area. */
  readonly lead: Lead;
  /** All of it, where the main line is a part. */
  readonly whole: Timeline | null;
  readonly seen: Span;
  readonly trace: Trace;
  readonly process: string;
}

export class Chart {
  private plot: UPlot;
  private brush: Brush;
  private shown: Shown | null = null;
  private top = 1;
  private drawn = "0 memory";
  private chosen: Span | null = null;
  private readonly strips = document.createElement("canvas");

  constructor(
    private readonly place: HTMLElement,
    private readonly width: number,
    private readonly height: number,
    private readonly colours: Colours,
    private readonly events: ChartEvents,
  ) {
    [this.plot, this.brush] = this.make(0);
    this.strips.className = "strips";
    place.append(this.strips);
  }

  done(): void {
    this.brush.done();
    this.plot.destroy();
    this.strips.remove();
  }

  /** uPlot's series are made with it: another number of groups is another plot. */
  private make(groups: number): [UPlot, Brush] {
    const { events } = this;
    const plot = new UPlot(this.options(groups), [[]], (self, start) => {
      this.place.prepend(self.root);
      start();
    });
    const over = plot.over;
    const brush = new Brush(over, { toSeconds: (px) => plot.posToVal(px, "x"), toPixels: (s) => plot.valToPos(s, "x") }, events);
    const toX = (event: MouseEvent): number => plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
    over.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) events.wheel(1, 0, Math.sign(event.deltaX || event.deltaY) * 0.1);
      else events.wheel(2 ** (Math.max(-100, Math.min(100, event.deltaY)) / 200), toX(event), 0);
    }, { passive: false });
    over.addEventListener("pointermove", (event) => events.hover(toX(event)));
    over.addEventListener("pointerleave", () => events.hover(null));
    return [plot, brush];
  }

  show(shown: Shown): void {
    this.shown = shown;
    const { main, whole, seen, lead } = shown;
    const none = (): Line => new Array<number | null>(main.columns).fill(null);
    const lines = main.groups.length > 0 ? stacked(inUnits(main, lead)).reverse() : [leadLine(main, lead)];
    const wholeLine: Line = whole && whole.columns === main.columns ? leadLine(whole, lead) : none();
    const resident: Line = lead === "memory" ? [...main.rss_bytes] : none();
    const drawn = `${main.groups.length} ${lead}`;
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.brush.done();
      this.plot.destroy();
      [this.plot, this.brush] = this.make(main.groups.length);
      this.brush.show(this.chosen);
    }
    this.top = Math.max(lead === "memory" ? 1 : 0.1, highest([...lines, wholeLine, resident])) * 1.06;
    this.plot.setData([middles(main), ...lines, wholeLine, resident], false);
    this.plot.batch(() => {
      this.plot.setScale("x", { min: seen.from_s, max: seen.to_s });
      this.plot.setScale("y", { min: 0, max: this.top });
    });
    this.drawStrips();
    this.brush.place();
  }

  choose(span: Span | null, isMoment: boolean): void {
    this.chosen = span && isMoment ? { from_s: span.to_s, to_s: span.to_s } : span;
    this.brush.show(this.chosen);
  }

  private options(groups: number): UPlot.Options {
    const { width, height } = this;
    const quiet = this.colours("--quiet");
    const line = this.colours("--line");
    const axis = { stroke: quiet, font: FONT, ticks: { show: false }, grid: { stroke: line, width: 1 } };
    return {
      width,
      height,
      legend: { show: false },
      padding: [16, 24, 0, 0],
      cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { show: false } },
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      axes: [
        {
          ...axis, size: AXIS_BOTTOM, grid: { show: false },
          splits: (u) => timeTicks(u.scales["x"].min ?? 0, u.scales["x"].max ?? 1, Math.max(2, Math.floor(width / 110))),
          values: (_, ticks) => timeLabels(ticks),
        },
        { ...axis, size: AXIS_LEFT, splits: () => (this.isOfTime() ? plainTicks : byteTicks)(this.top, height < 110 ? 2 : 4), values: (_, ticks) => ticks.map(this.isOfTime() ? threadsText : byteLabel) },
      ],
      series: [{}, ...this.series(groups)],
      hooks: { draw: [() => this.drawFlags()] },
    };
  }

  /** Areas are drawn from the highest to the lowest, each over the one before; then all of it, and what is resident. */
  private series(groups: number): UPlot.Series[] {
    const plain = { points: { show: false }, spanGaps: true };
    const area = (colour: string, edge: string): UPlot.Series => ({ ...plain, stroke: this.colours(edge), width: 1, fill: this.colours(colour) });
    const areas = groups === 0 ? [this.isOfTime() ? area(...TIME_COLOURS[this.shown!.lead]) : area("--live-area", "--accent")] : [];
    for (let k = 0; k < groups; k++) areas.push(area(`--series-${k + 1}`, "--ground"));
    if (groups > 0) areas.push(area("--series-rest", "--ground"));
    return [...areas, { ...plain, stroke: this.colours("--quiet"), width: 1, dash: [2, 3] }, { ...plain, stroke: this.colours("--resident"), width: 1.5 }];
  }

  private isOfTime(): boolean {
    return this.shown !== null && this.shown.lead !== "memory";
  }

  /** Device pixels of a moment; null: outside of what is shown. */
  private x(seconds: number): number | null {
    const { min, max } = this.plot.scales["x"];
    if (min === undefined || max === undefined || seconds < min || seconds > max) return null;
    return this.plot.valToPos(seconds, "x", true);
  }

  private drawFlags(): void {
    const shown = this.shown;
    if (!shown) return;
    const { ctx, bbox } = this.plot;
    const { trace } = shown;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.lineWidth = devicePixelRatio;
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    this.drawLives(trace);
    const marks = trace.marks.map((mark) => ({ at: this.x(mark.time_s), text: `@${visible(mark.name)}`, colour: this.colours("--text") }));
    const peak = { at: shown.lead === "memory" && shown.process === "all" && trace.peak.bytes > 0 ? this.x(trace.peak.time_s) : null, text: "▲ peak", colour: this.colours("--accent") };
    let free_px = -Infinity;
    for (const flag of [...marks, peak].filter((f): f is typeof f & { at: number } => f.at !== null).sort((a, b) => a.at - b.at)) {
      ctx.strokeStyle = flag.colour;
      ctx.fillStyle = flag.colour;
      ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(flag.at, bbox.top - 4 * devicePixelRatio);
      ctx.lineTo(flag.at, bbox.top + bbox.height);
      ctx.stroke();
      const width = ctx.measureText(flag.text).width;
      const left = Math.min(flag.at + 3 * devicePixelRatio, bbox.left + bbox.width - width + 20 * devicePixelRatio, ctx.canvas.width - width - 4 * devicePixelRatio);
      if (left < free_px) continue; // the line stays, its name is told where there is room
      ctx.fillText(flag.text, left, bbox.top - 4 * devicePixelRatio);
      free_px = left + width + 6 * devicePixelRatio;
    }
    ctx.restore();
  }

  /** Births and ends of processes: ticks at the foot. */
  private drawLives(trace: Trace): void {
    if (trace.processes.length < 2) return;
    const { ctx, bbox } = this.plot;
    const foot = bbox.top + bbox.height;
    ctx.strokeStyle = this.colours("--quiet");
    ctx.setLineDash([]);
    for (const one of trace.processes.slice(0, MAX_LIVES))
      for (const [at, length] of [[one.begin_s, 7], [one.end_s, 4]] as const) {
        const x = at === null ? null : this.x(at);
        if (x === null) continue;
        ctx.beginPath();
        ctx.moveTo(x, foot);
        ctx.lineTo(x, foot - length * devicePixelRatio);
        ctx.stroke();
      }
  }

  /** What happens beside it, as strips of bars below the axis. */
  private drawStrips(): void {
    const shown = this.shown;
    const strips = shown ? stripsOf(shown.main, shown.lead) : [];
    const ratio = devicePixelRatio;
    const width = this.place.clientWidth;
    const height = STRIP_HEIGHT * strips.length;
    this.strips.width = width * ratio;
    this.strips.height = height * ratio;
    this.strips.style.width = `${width}px`;
    this.strips.style.height = `${height}px`;
    const ctx = this.strips.getContext("2d");
    if (!ctx || !shown) return;
    ctx.scale(ratio, ratio);
    ctx.font = FONT;
    ctx.textAlign = "right";
    for (const strip of strips) {
      this.drawStrip(ctx, strip, shown);
      ctx.translate(0, STRIP_HEIGHT);
    }
  }

  private drawStrip(ctx: CanvasRenderingContext2D, strip: Strip, { main, seen }: Shown): void {
    const left = this.plot.bbox.left / devicePixelRatio;
    const room = this.plot.bbox.width / devicePixelRatio;
    const step = (main.to_s - main.from_s) / main.columns;
    const most = highest([strip.values]);
    ctx.fillStyle = this.colours("--quiet");
    ctx.fillText(strip.name, AXIS_LEFT - 8, STRIP_HEIGHT - 5);
    ctx.fillStyle = this.colours(STRIP_COLOURS[strip.name]);
    // one outline: bars beside each other would leave seams
    const toX = (seconds: number): number => Math.min(Math.max(left + ((seconds - seen.from_s) / (seen.to_s - seen.from_s)) * room, left), left + room);
    ctx.beginPath();
    ctx.moveTo(toX(main.from_s), STRIP_HEIGHT - 2);
    strip.values.forEach((v, i) => {
      const y = STRIP_HEIGHT - 2 - (v ? Math.max(1, (v / most) * (STRIP_HEIGHT - 4)) : 0);
      ctx.lineTo(toX(main.from_s + i * step), y);
      ctx.lineTo(toX(main.from_s + (i + 1) * step), y);
    });
    ctx.lineTo(toX(main.to_s), STRIP_HEIGHT - 2);
    ctx.fill();
  }
}
