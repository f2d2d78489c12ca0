// SPDX-License-Identifier: MIT
// How much of resident memory blocks explain: both at most, so no more than that.
import type { Trace } from "../api/trace";
import { bytes, share } from "./units";

type Recorded = Pick<Trace, "peak" | "peak_rss_bytes"> & Partial<Pick<Trace, "has_peak" | "time">>;

/** "4 %"; memory that was allocated and never touched is not resident. */
export function residentShare(trace: Recorded): string {
  return share(Math.min(trace.peak.bytes, trace.peak_rss_bytes), trace.peak_rss_bytes);
}

/** null: nobody looked at resident memory, or nothing is known of blocks. */
export function residentWords(trace: Recorded): string | null {
  if (!(trace.peak_rss_bytes > 0) || trace.has_peak === false || trace.time?.is_all === true) return null;
  return `Live blocks explain at most ${residentShare(trace)} of the ${bytes(trace.peak_rss_bytes)} that were resident: Memory has the other parts`;
}
