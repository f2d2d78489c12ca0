// SPDX-License-Identifier: MIT
// Small choices above a view: one of several, or on and off.
import type { ComponentChildren } from "preact";

export interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly of: readonly (readonly [value: T, text: string])[];
  readonly value: T;
  onChoose(value: T): void;
}

export function Choice<T extends string>({ label, of, value, onChoose }: ChoiceProps<T>) {
  return (
    <span class="either" role="group" aria-label={label}>
      {of.map(([each, text]) => (
        <button type="button" key={each} aria-pressed={each === value} onClick={() => onChoose(each)}>
          {text}
        </button>
      ))}
    </span>
  );
}

export function Switch({ on, onTurn, title, children }: { on: boolean; onTurn(on: boolean): void; title?: string; children: ComponentChildren }) {
  return (
    <label class="switch" title={title}>
      <input type="checkbox" checked={on} onChange={(e) => onTurn(e.currentTarget.checked)} />
      {children}
    </label>
  );
}
