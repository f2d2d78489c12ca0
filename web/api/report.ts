// SPDX-License-Identifier: MIT
// silt.report/1: the summary, as `silt report --json` prints it. Only what the page shows is looked at.
import { array, boolean, known, literal, nullable, number, object, string, strings, unknown, type Checked } from "./check";
import { lifetimes, optional, sizes, stack, window } from "./common";

const totals = object({
  allocations: known, frees: known, reallocations: known, bytes_allocated: known, temporary_allocations: known,
  peak_live_bytes: known, peak_live_blocks: known, peak_at_s: known, end_live_bytes: known, end_live_blocks: known,
  peak_rss_bytes: known, lost_events: known, threads: known, sites: known,
});
export type Totals = Checked<typeof totals>;

const site = object({ site: optional(number), bytes: number, blocks: known, allocations: known, stack });
export type ReportSite = Checked<typeof site>;

/** A finding while others are still looked for. */
export const early = object({ kind: string, severity: literal("problem", "worth-knowing", "note"), function: string, text: string });
export type Early = Checked<typeof early>;

const finding = object({
  kind: string, severity: literal("problem", "worth-knowing", "note"), text: string, bytes: number, process: optional(string),
  next: string, next_view: optional(nullable(string)), next_request: optional(nullable(string)),
  next_shows: nullable(object({ metric: string, value: number, whole: number })),
  site: nullable(site), function: string, held_by: optional(nullable(string)), evidence: unknown,
});
export type Finding = Checked<typeof finding>;

export const report = object({
  schema: literal("silt.report/1"), window, filter: string, headline: string, post_mortem: optional(nullable(object({ text: string }))), totals, limits: array(object({ text: string })), findings: nullable(array(finding)),
  top: array(object({ metric: string, sites: nullable(array(site)) })),
  resident: nullable(object({ peak_bytes: number, is_mostly_blocks: boolean })),
  mappings: nullable(object({ peak_bytes: number, end_bytes: number })),
  sizes: nullable(sizes), lifetimes: nullable(lifetimes), notes: strings,
});
export type Report = Checked<typeof report>;
