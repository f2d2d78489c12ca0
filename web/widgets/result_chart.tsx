// SPDX-License-Identifier: MIT
// An answer of rows as a picture: lines over time, or a bar for each name.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import { measureText, type ResultChart } from "../model/result";
import { byteLabel, byteTicks, timeLabels, timeTicks } from "../model/ticks";
import { count, duration } from "../model/units";
import { visible } from "../model/visible";
import { Name } from "./name";
import { useColours, type Colours } from "./theme";

const HEIGHT = 320;
const FONT = "12px system-ui, sans-serif";
const MAX_BARS = 60;

export function ResultPicture({ chart, label, onOpen }: { chart: ResultChart; label: string; onOpen: (row: number) => void }) {
  return chart.kind === "lines" ? <Lines chart={chart} label={label} /> : <NameBars chart={chart} label={label} onOpen={onOpen} />;
}

// ---- lines ---------------------------------------------------------------------------------------

function extremes(chart: ResultChart): readonly [least: number, most: number] {
  let least = 0, most = 0;
  for (const series of chart.series) for (const value of series.values) if (value !== null) (least = Math.min(least, value)), (most = Math.max(most, value));
  return [least * 1.06, most * 1.06 || 1];
}

function optionsOf(chart: ResultChart, width: number, colours: Colours, hover: (i: number) => void): UPlot.Options {
  const axis = { stroke: colours("--quiet"), font: FONT, ticks: { show: false }, grid: { stroke: colours("--line"), width: 1 } };
  const [least, most] = extremes(chart);
  const from_s = chart.at_s[0]!, to_s = Math.max(chart.at_s[chart.at_s.length - 1]!, from_s + 1e-9);
  return {
    width, height: HEIGHT, legend: { show: false }, padding: [12, 24, 0, 0],
    cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { size: 6 } },
    scales: { x: { time: false, range: () => [from_s, to_s] }, y: { range: () => [least, most] } },
    axes: [
      { ...axis, size: 22, grid: { show: false }, splits: (u) => timeTicks(u.scales["x"]!.min ?? 0, u.scales["x"]!.max ?? 1, Math.max(2, Math.floor(width / 110))), values: (_, ticks) => timeLabels(ticks) },
      chart.measure === "bytes" && least === 0 ? { ...axis, size: 72, splits: () => byteTicks(most, 5), values: (_, ticks) => ticks.map(byteLabel) } : { ...axis, size: 72, values: (_, ticks) => ticks.map((tick) => measureText(chart.measure, tick)) },
    ],
    series: [{}, ...chart.series.map((_, i): UPlot.Series => ({ stroke: colours(`--series-${i + 1}`), width: 1.5, points: { show: chart.at_s.length < 60, size: 4 }, spanGaps: true }))],
    hooks: { setCursor: [(u) => hover(u.cursor.idx ?? -1)] },
  };
}

function Lines({ chart, label }: { chart: ResultChart; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [hovered, hover] = useState(-1);
  const colours = useColours();
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
    const plot = new UPlot(optionsOf(chart, width, colours, hover), [[...chart.at_s], ...chart.series.map((series) => [...series.values])] as UPlot.AlignedData, element);
    return () => plot.destroy();
  }, [chart, width, colours]);
  const at = hovered >= 0 && hovered < chart.at_s.length ? hovered : chart.at_s.length - 1;
  return (
    <div class="result-chart">
      <div ref={place} class="result-place" role="img" aria-label={label} />
      <ul class="result-legend">
        <li class="result-when">at {duration(chart.at_s[at] ?? 0)}</li>
        {chart.series.map((series, i) => {
          const value = series.values[at] ?? null;
          return <li key={series.column}><i class={`result-colour is-${i + 1}`} />{visible(series.name)} <b>{value === null ? "unknown" : measureText(chart.measure, value)}</b></li>;
        })}
      </ul>
    </div>
  );
}

// ---- bars ----------------------------------------------------------------------------------------

function NameBars({ chart, label, onOpen }: { chart: ResultChart; label: string; onOpen: (row: number) => void }) {
  const shown = chart.names.slice(0, MAX_BARS);
  const most = Math.max(...chart.series.flatMap((series) => series.values.slice(0, MAX_BARS).map((value) => Math.abs(value ?? 0))), 1e-300);
  return (
    <div class="result-chart">
      <ul class="result-legend">{chart.series.map((series, i) => <li key={series.column}><i class={`result-colour is-${i + 1}`} />{visible(series.name)}</li>)}</ul>
      <ol class="result-bars" aria-label={label}>
        {shown.map((name, at) => (
          <li key={at}>
            <button type="button" class="link result-name" title={visible(name)} onClick={() => onOpen(chart.rows[at]!)}><Name text={visible(name)} /></button>
            <span class="result-track">
              {chart.series.map((series, i) => {
                const value = series.values[at] ?? null;
                return (
                  <span key={series.column} class="result-line" title={`${visible(series.name)}: ${value === null ? "unknown" : value}`}>
                    <span class={`result-bar is-${i + 1}${value !== null && value < 0 ? " is-less" : ""}`} style={{ width: `${(75 * Math.abs(value ?? 0)) / most}%` }} />
                    <span class="result-value">{value === null ? "unknown" : measureText(chart.measure, value)}</span>
                  </span>
                );
              })}
            </span>
          </li>
        ))}
      </ol>
      {chart.names.length > MAX_BARS && <p class="quiet">{count(chart.names.length - MAX_BARS)} more rows are in the table.</p>}
    </div>
  );
}
