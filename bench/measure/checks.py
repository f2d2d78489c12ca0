# SPDX-License-Identifier: MIT
"""Figures beside the workloads: starting and ending, an idle target, and a thousand threads."""
import os
import statistics

from measure import figures, programs, table
from measure.programs import Workload


def start_and_end(ways, is_quick):
    """What `silt run` adds to a program that does nothing, to its own end: all ways in turn, as for workloads."""
    w, walls = Workload("true", ["true"]), {way: [] for way in ways.all()}
    for _ in range(5 if is_quick else 21):
        for way, run in ways.all().items():
            one = run(w)
            walls[way].append(one.get("whole", one["wall"]))
    added = {way: (statistics.median(found) - statistics.median(walls["bare"])) * 1000 for way, found in walls.items()}
    beside = f" (heaptrack {added['heaptrack']:.0f} ms)" if "heaptrack" in added else ""
    return {"name": "start and end, added to a program that does nothing", "value": added["silt"],
            "text": f"{added['silt']:.0f} ms{beside}", "aim": f"at most {figures.START_AND_END_MAX_MS} ms",
            "ok": added["silt"] <= figures.START_AND_END_MAX_MS}


def idle_recorder(ways, is_quick):
    """The recorder's CPU time while its target sleeps: what more sleep costs, so that starting and ending do not count."""
    short, long = (1, 2) if is_quick else (1, 9)
    cost = {s: min(ways.silt_(Workload("idle", ["sleep", str(s)]))["recorder"] for _ in range(3)) for s in (short, long)}
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
    yield start_and_end(ways, is_quick)
    yield idle_recorder(ways, is_quick)
    yield runtime_at_threads(ways, out, 1, figures.RUNTIME_ONE_THREAD_MAX)
    yield runtime_at_threads(ways, out, 1000, figures.RUNTIME_MAX)
    if os.path.exists(ways.trace):
        os.unlink(ways.trace)
