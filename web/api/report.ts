// SPDX-License-Identifier: MIT
// silt.report/1: the summary, as `silt report --json` prints it. Only what the page shows is looked at.
import { array, boolean, literal, nullable, number, object, string, strings, unknown, type Checked } from "./check";
import { lifetimes, optional, sizes, stack, window } from "./common";

const totals = object({
  allocations: number, frees: number, reallocations: number, bytes_allocated: number, temporary_allocations: number,
  peak_live_bytes: number, peak_live_blocks: number, peak_at_s: number, end_live_bytes: number, end_live_blocks: number,
  peak_rss_bytes: number, lost_events: number, threads: number, sites: number,
});
export type Totals = Checked<typeof totals>;

const site = object({ site: optional(number), bytes: number, blocks: number, allocations: number, stack });
export type ReportSite = Checked<typeof site>;

const finding = object({
  kind: string, severity: literal("problem", "worth-knowing", "note"), text: string, bytes: number, process: optional(string),
  next: string, next_view: optional(nullable(string)), next_request: optional(nullable(string)),
  next_shows: nullable(object({ metric: string, value: number, whole: number })),
  site: nullable(site), function: string, held_by: optional(nullable(string)), evidence: unknown,
});
export type Finding = Checked<typeof finding>;

export const report = object({
  schema: literal("silt.report/1"), window, filter: string, headline: string, totals, limits: array(object({ text: string })), findings: nullable(array(finding)),
  top: array(object({ metric: string, sites: array(site) })),
  resident: nullable(object({ peak_bytes: number, is_mostly_blocks: boolean })),
  mappings: nullable(object({ peak_bytes: number, end_bytes: number })),
  sizes: nullable(sizes), lifetimes: nullable(lifetimes), notes: strings,
});
export type Report = Checked<typeof report>;
