// SPDX-License-Identifier: MIT
// Processes as a tree, each with its life as a bar over the time of the recording.

export interface Life {
  readonly word: string;
  readonly name: string;
  /** null: the source of what was imported does not tell it. */
  readonly pid: number | null;
  /** pid; 0: nobody in the recording. */
  readonly parent: number;
  readonly begin_s: number;
  /** null: it still runs. */
  readonly end_s: number | null;
}

export interface TreeRow<L extends Life> {
  readonly process: L;
  readonly depth: number;
  /** Shares of the recording's time, 0 to 1. */
  readonly begin: number;
  readonly end: number;
}

/** Parents before children, in order of birth; several programs of one pid (exec) follow each other at one depth. */
export function processTree<L extends Life>(processes: readonly L[], duration_s: number): readonly TreeRow<L>[] {
  const pids = new Set(processes.map((p) => p.pid));
  const byParent = new Map<number, L[]>();
  for (const p of processes) {
    const parent = p.parent && p.parent !== p.pid && pids.has(p.parent) ? p.parent : 0;
    byParent.set(parent, [...(byParent.get(parent) ?? []), p]);
  }
  const rows: TreeRow<L>[] = [];
  const seen = new Set<L>();
  const share = (s: number): number => (duration_s > 0 ? Math.max(0, Math.min(1, s / duration_s)) : 0);
  const add = (p: L, depth: number): void => {
    if (seen.has(p)) return;
    seen.add(p);
    rows.push({ process: p, depth, begin: share(p.begin_s), end: p.end_s === null ? 1 : share(p.end_s) });
  };
  const walk = (parent: number, depth: number): void => {
    const children = (byParent.get(parent) ?? []).slice().sort((a, b) => a.begin_s - b.begin_s || (a.pid ?? 0) - (b.pid ?? 0));
    byParent.delete(parent); // a pid that was used again must not lead round in circles
    for (const pid of new Set(children.map((p) => p.pid))) {
      for (const p of children) if (p.pid === pid) add(p, depth);
      if (pid) walk(pid, depth + 1);
    }
  };
  walk(0, 0);
  for (const p of processes) add(p, 0);
  return rows;
}

/** Round times under a bar chart, at most `n` of them: 0, 10, 20 … */
export function timeTicks(duration_s: number, n: number): readonly number[] {
  if (!(duration_s > 0)) return [0];
  const rough = duration_s / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough - 1e-12) ?? 10 * power;
  return Array.from({ length: Math.floor(duration_s / step + 1e-9) + 1 }, (_, i) => i * step);
}
