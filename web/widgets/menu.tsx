// SPDX-License-Identifier: MIT
// A menu at a place: arrows move, Enter chooses, Esc and a click elsewhere close it.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface MenuItem {
  readonly text: string;
  /** Shown at the right: the key that does the same. */
  readonly key?: string;
  run(): void;
}

export interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** In pixels, in the element that is its container. */
  readonly x: number;
  readonly y: number;
  onClose(): void;
}

export function Menu({ label, items, x, y, onClose }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const element = menu.current;
    const around = element?.offsetParent;
    if (!element || !around) return;
    element.style.left = `${Math.max(0, Math.min(x, around.clientWidth - element.offsetWidth - 4))}px`;
    element.style.top = `${Math.max(0, Math.min(y, around.clientHeight - element.offsetHeight - 4))}px`;
    element.querySelector("button")?.focus();
  }, [x, y]);

  useEffect(() => {
    const onElsewhere = (e: Event): void => {
      if (!menu.current?.contains(e.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", onElsewhere, true);
    return () => document.removeEventListener("pointerdown", onElsewhere, true);
  }, [onClose]);

  const onKey = (e: KeyboardEvent): void => {
    const buttons = [...(menu.current?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[e.key];
    if (to !== undefined) buttons[(to + buttons.length) % buttons.length]?.focus();
    else if (e.key === "Escape" || e.key === "Tab") onClose();
    else {
      if (e.key === "Enter" || e.key === " ") e.stopPropagation(); // it presses the button, and means nothing to what the menu lies on
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  };

  return (
    <div class="menu" role="menu" aria-label={label} ref={menu} onKeyDown={onKey}>
      <div class="menu-title mono">{label}</div>
      {items.map((item) => (
        <button type="button" role="menuitem" class="menu-item" onClick={() => { onClose(); item.run(); }}>
          <span>{item.text}</span>
          {item.key && <kbd class="quiet">{item.key}</kbd>}
        </button>
      ))}
    </div>
  );
}
