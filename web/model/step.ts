// SPDX-License-Identifier: MIT
// From what a finding says to look at next (`next_view`, `next_request`) to a state that shows it.
import type { Finding } from "../api/report";
import { isFilter, parseKeys, type Change, type ViewName } from "./state";

export interface Step {
  readonly change: Change;
  readonly label: string;
}

const SHAPES: readonly (readonly [key: string, view: ViewName, label: string])[] = [
  ["callers", "tree", "Show its callers"],
  ["callees", "tree", "Show what it calls"],
  ["bottom-up", "tree", "Show who requested it"],
  ["tree", "tree", "Show the tree"],
  ["group-by", "sites", "Show the table"],
  ["blocks", "blocks", "Show the blocks"],
  ["histogram", "blocks", "Show sizes and lifetimes"],
];

/** null: there is nothing to look at. Window and filters become the step's own; the process stays, unless the step names one. */
export function stepOf(finding: Pick<Finding, "next_view" | "next_request">): Step | null {
  if (!finding.next_view || finding.next_request === undefined || finding.next_request === null) return null;
  const raw = new Map(finding.next_request.split("&").map((pair) => [pair.split("=")[0], true]));
  const keys = parseKeys(finding.next_request);
  const set: Record<string, string | null> = { callers: null, callees: null, shape: null, "group-by": null, what: null, pick: null, zoom: null, search: null };
  const add = keys.filter(([key]) => !["process", "from", "to", "at", "by", "callers", "callees", "group-by", "what"].includes(key));
  for (const [key, value] of keys) if (!add.some(([k]) => k === key)) set[key] = key === "process" && value === "all" ? null : value;
  if (finding.next_view === "flame") return { change: { clear: true, view: "flame", set, add }, label: "Show the flame graph" };
  if (finding.next_view === "source") return { change: { clear: true, view: "source", set, add }, label: "Show the source" };
  if (finding.next_view === "diff") return { change: { clear: true, view: "compare", set, add }, label: "Compare" };
  for (const [key, view, label] of SHAPES)
    if (raw.has(key)) {
      if (view === "tree") set["shape"] = key === "tree" ? null : key;
      return { change: { clear: true, view, set, add }, label };
    }
  return { change: { clear: true, view: "sites", set, add }, label: "Show the call paths" };
}

/** A page in one file has no filters, no single processes, no blocks and nothing to compare. */
export function fileCan(change: Change): boolean {
  return (change.add ?? []).every(([key]) => !isFilter(key)) && !change.set?.["process"] && change.view !== "blocks" && change.view !== "compare" && change.view !== "source";
}
