// SPDX-License-Identifier: MIT
// A small histogram: one bar for each class, its words on hover and for screen readers.

export interface Bar {
  readonly value: number;
  readonly words: string;
}

export function Bars({ bars, label, first, last }: { bars: readonly Bar[]; label: string; first: string; last: string }) {
  const most = bars.reduce((a, bar) => Math.max(a, bar.value), 0);
  return (
    <figure class="bars" aria-label={label}>
      <div class="bars-row" role="list">
        {bars.map((bar) => (
          <span key={bar.words} role="listitem" class="bars-slot" title={bar.words} aria-label={bar.words}>
            <span class="bars-bar" style={{ height: `${bar.value > 0 ? Math.max(4, (100 * bar.value) / (most || 1)) : 0}%` }} />
          </span>
        ))}
      </div>
      <figcaption class="bars-ends quiet"><span>{first}</span><span>{last}</span></figcaption>
    </figure>
  );
}
