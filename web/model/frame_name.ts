// SPDX-License-Identifier: MIT
// How a frame is known, to people and to filters: by its function or, where that is unknown or only the nearest name, by its place, app+0x1234, as reports show it.
import { baseName, shortName } from "./spread";

export interface NamedFrame {
  readonly function?: string;
  readonly module?: string;
  readonly offset?: number;
  readonly guess?: boolean;
  readonly async?: boolean;
  /** As reports show it, where that is not the whole name. */
  readonly label?: string;
}

export function isNamed(frame: NamedFrame): boolean {
  return frame.function !== undefined && frame.function !== "" && !frame.guess;
}

/** "": nothing is known of it. */
export function frameName(frame: NamedFrame): string {
  if (isNamed(frame)) return frame.function ?? "";
  if (frame.offset === undefined) return "";
  const place = `0x${frame.offset.toString(16)}`;
  return frame.module ? `${baseName(frame.module)}+${place}` : place;
}

/** As reports show it. */
export function shownName(frame: NamedFrame): string {
  if (frame.label !== undefined) return frame.label;
  const name = shortName(frameName(frame));
  return frame.async && isNamed(frame) ? `${name.replace(/(::\{\{?closure(#\d+)?\}\}?)+$/, "")} (async)` : name;
}

/** What else may be said of it: "near parse" where only the name before it is known. */
export function nearText(frame: NamedFrame): string {
  return frame.guess && frame.function ? `near ${frame.function}` : "";
}
