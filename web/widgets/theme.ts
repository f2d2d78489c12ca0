// SPDX-License-Identifier: MIT
// Colours of the sheet for what is drawn on a canvas, and a way to hear that they changed.
import { useEffect, useState } from "preact/hooks";

export type Colours = (name: string) => string;

/** Of a token: colours("--accent"). Drawn again with the system's light or dark. */
export function useColours(): Colours {
  const [made, make] = useState(() => read());
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const again = (): void => make(() => read());
    dark.addEventListener("change", again);
    return () => dark.removeEventListener("change", again);
  }, []);
  return made;
}

function read(): Colours {
  const style = getComputedStyle(document.documentElement);
  const known = new Map<string, string>();
  return (name) => {
    let value = known.get(name);
    if (value === undefined) {
      value = style.getPropertyValue(name).trim();
      known.set(name, value);
    }
    return value;
  };
}
