# SPDX-License-Identifier: MIT
"""Figures that are no comparison with another way of running: an idle target, and a thousand threads."""
import os

from harness import figures, programs, table
from harness.programs import Workload


def idle_recorder(ways, is_quick):
    """The recorder's CPU time while its target sleeps: what more sleep costs, so that starting and ending do not count."""
    short, long = (1, 2) if is_quick else (1, 9)
    cost = {s: min(ways.silt_(Workload("idle", ["sleep", str(s)]))["recorder"] for _ in range(3 if s == short else 1))
            for s in (short, long)}
    pct = max(cost[long] - cost[short], 0) / (long - short) * 100
    return {"name": "recorder CPU on an idle target", "value": pct, "text": f"{pct:.2f} % of a core", "aim": "at most 0.1 %",
            "ok": pct <= 0.1}


def runtime_at_threads(ways, out, n_threads, limit):
    loop = programs.compiled(out, programs.LOOP_CC, "loop.c")
    one = ways.silt_(Workload("threads", [loop, "16", str(n_threads), str(max(2_000_000 // n_threads, 2000))]))
    used = ways.silt_report().get("overhead", {}).get("runtime_bytes", 0)
    name = f"memory of the runtime, {n_threads:,} thread{'s' if n_threads > 1 else ''}"
    return {"name": name, "value": used, "text": table.bytes_text(used), "aim": f"at most {table.bytes_text(limit)}",
            "ok": 0 < used <= limit and one["lost"] == 0}


def all_checks(ways, out, is_quick):
    yield idle_recorder(ways, is_quick)
    yield runtime_at_threads(ways, out, 1, figures.RUNTIME_ONE_THREAD_MAX)
    yield runtime_at_threads(ways, out, 1000, figures.RUNTIME_MAX)
    if os.path.exists(ways.trace):
        os.unlink(ways.trace)
