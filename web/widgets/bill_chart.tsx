// SPDX-License-Identifier: MIT
// Resident memory over time, one area for each part on top of another; a click chooses a moment.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import type { BillSeries } from "../api/bill";
import { billLines, nearest } from "../model/bill_series";
import { byteLabel, byteTicks, timeLabels, timeTicks } from "../model/ticks";
import { bytes, duration } from "../model/units";
import { useColours, type Colours } from "./theme";

const HEIGHT = 240;
const FONT = "12px system-ui, sans-serif";

export interface BillChartProps {
  readonly series: BillSeries;
  /** The moment that is told below. */
  readonly at_s: number;
  /** Of the recording: where nobody looked, nothing is drawn. */
  readonly duration_s: number;
  readonly onChoose: ((at_s: number) => void) | null;
}

function optionsOf(series: BillSeries, duration_s: number, width: number, top: number, colours: Colours, hover: (i: number) => void, at: () => number): UPlot.Options {
  const axis = { stroke: colours("--quiet"), font: FONT, ticks: { show: false }, grid: { stroke: colours("--line"), width: 1 } };
  // drawn from the highest to the lowest, each over the one before
  const areas = [...series.parts].reverse().map((part): UPlot.Series => ({
    stroke: colours("--ground"), width: 1, fill: colours(`--bill-${part.part.replace(/_/g, "-")}`), points: { show: false },
  }));
  const end_s = Math.max(duration_s, series.at_s[series.at_s.length - 1] ?? 0, 1e-6);
  return {
    width, height: HEIGHT, legend: { show: false }, padding: [12, 24, 0, 0],
    cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { show: false } },
    scales: { x: { time: false, range: () => [0, end_s] }, y: { range: () => [0, top] } },
    axes: [
      { ...axis, size: 22, grid: { show: false }, splits: (u) => timeTicks(u.scales["x"].min ?? 0, u.scales["x"].max ?? 1, Math.max(2, Math.floor(width / 110))), values: (_, ticks) => timeLabels(ticks) },
      { ...axis, size: 64, splits: () => byteTicks(top, 4), values: (_, ticks) => ticks.map(byteLabel) },
    ],
    series: [{}, ...areas],
    hooks: {
      setCursor: [(u) => hover(u.cursor.idx ?? -1)],
      draw: [(u) => {
        const x = u.valToPos(at(), "x", true), { ctx, bbox } = u;
        ctx.save();
        ctx.strokeStyle = colours("--text");
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        ctx.restore();
      }],
    },
  };
}

export function BillChart({ series, at_s, duration_s, onChoose }: BillChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [hovered, hover] = useState(-1);
  const colours = useColours();
  const latest = useRef({ at_s, onChoose });
  latest.current = { at_s, onChoose };

  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    setWidth(element.clientWidth);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const element = place.current;
    if (!element || width === 0) return undefined;
    const top = Math.max(1, ...series.resident_bytes) * 1.06;
    const drawn = billLines(series, duration_s);
    const hoverLook = (i: number): void => hover(drawn.looks[i] ?? -1);
    const plot = new UPlot(optionsOf(series, duration_s, width, top, colours, hoverLook, () => latest.current.at_s), [drawn.at_s, ...drawn.lines.reverse()] as UPlot.AlignedData, element);
    const click = (event: MouseEvent): void => {
      const i = nearest(series.at_s, plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
      if (i >= 0) latest.current.onChoose?.(series.at_s[i]!);
    };
    plot.over.addEventListener("click", click);
    return () => plot.destroy();
  }, [series, duration_s, width, colours, at_s]);

  const hasGaps = billLines(series, duration_s).looks.includes(-1);
  const shown = hovered >= 0 && hovered < series.at_s.length ? hovered : nearest(series.at_s, at_s);
  const step = (by: number): void => {
    const i = Math.max(0, Math.min(series.at_s.length - 1, nearest(series.at_s, at_s) + by));
    onChoose?.(series.at_s[i]!);
  };
  return (
    <div class="bill-chart">
      <div class="bill-place" ref={place} tabIndex={0} role="img" aria-label={`Resident memory by part over time${onChoose ? "; arrows choose a moment" : ""}`}
           onKeyDown={(event) => {
             if (!onChoose || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
             step(event.key === "ArrowLeft" ? -1 : 1);
             event.preventDefault();
           }} />
      <ul class="bill-legend" aria-label={`Parts at ${duration(series.at_s[shown] ?? 0)}`}>
        <li class="bill-when">at {duration(series.at_s[shown] ?? 0)}: {bytes(series.resident_bytes[shown] ?? 0)}</li>
        {series.parts.map((part) => (
          <li key={part.part}><i class={`bill-colour is-${part.part}`} />{part.text} <b>{bytes(Math.max(0, part.bytes[shown] ?? 0))}</b></li>
        ))}
      </ul>
      {hasGaps && <p class="bill-gaps">In the gaps silt did not look what memory was made of; the line of resident memory above has no gaps.</p>}
    </div>
  );
}
