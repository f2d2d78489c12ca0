// SPDX-License-Identifier: MIT
// Whatever the page writes passes here: control and bidi characters in names become escapes, whichever view forgot to. Lines and tabs stay.
import { options } from "preact";
import { visibleLines } from "../model/visible";

const TITLES = ["title", "aria-label", "placeholder"] as const;

/** A node as Preact makes it: of text `type` is null, and `props` the text itself. */
interface Made {
  readonly type: unknown;
  props: unknown;
}

export function keepPlain(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    const made: Made = vnode;
    if (made.type === null && typeof made.props === "string") made.props = visibleLines(made.props);
    else if (typeof made.type === "string" && typeof made.props === "object" && made.props !== null) {
      const props = made.props as Record<string, unknown>;
      for (const name of TITLES) if (typeof props[name] === "string") props[name] = visibleLines(props[name] as string);
    }
    before?.(vnode);
  };
}
