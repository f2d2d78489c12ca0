# SPDX-License-Identifier: MIT
"""From single runs to medians, spreads, ratios, and the aims they are held against."""
import statistics

SHARE_MAX = 0.10          # of the wall time that heaptrack adds
BYTES_PER_EVENT_MAX = 1.5
RUNTIME_ONE_THREAD_MAX = 4 << 20
RUNTIME_MAX = 64 << 20
START_AND_END_MAX_MS = 30
RECORDER_BASE_BYTES, RECORDER_PER_BLOCK_BYTES = 190 << 20, 64


def middle(runs, key):
    return statistics.median(r[key] for r in runs)


def ratios(runs, bare_wall, bare_cpu, whys):
    """Wall and CPU over the bare program's; the spread is that of single runs."""
    walls = [r["wall"] / bare_wall for r in runs]
    deviation = statistics.median(abs(x - statistics.median(walls)) for x in walls)
    return {"wall": round(statistics.median(walls), 3), "wall_min": round(min(walls), 3), "wall_max": round(max(walls), 3),
            "wall_mad": round(deviation, 3), "cpu": round(middle(runs, "cpu") / max(bare_cpu, 1e-9), 3), "runs": len(runs),
            "failed": sum(bool(x) for x in whys), "why": next((x for x in whys if x), "")}


def row_of(w, runs, whys, report):
    """The figures of workload w: runs and whys are lists per way, report is silt's own of one trace."""
    bare_wall, bare_cpu = middle(runs["bare"], "wall"), middle(runs["bare"], "cpu")
    row = {"workload": w.name, "threads": w.threads, "real": w.is_real, "bare_s": round(bare_wall, 4), "bare_cpu_s": round(bare_cpu, 4)}
    for way in runs:
        row[way] = ratios(runs[way], bare_wall, bare_cpu, whys[way])
    silt, overhead, totals = row["silt"], report.get("overhead", {}), report.get("totals", {})
    recorder_s = middle(runs["silt"], "recorder")
    silt["whole"] = round(middle(runs["silt"], "whole") / bare_wall, 3)
    silt["recorder_cpu"] = round(recorder_s / max(bare_cpu, 1e-9), 3)
    silt["total_cpu"] = round(silt["cpu"] + silt["recorder_cpu"], 3)
    silt["blocked_s"] = round(middle(runs["silt"], "blocked"), 3)
    silt["events"] = int(middle(runs["silt"], "events"))
    silt["events_per_s"] = int(silt["events"] / middle(runs["silt"], "wall"))
    silt["events_per_recorder_s"] = int(silt["events"] / max(recorder_s, 1e-3))
    silt["recorder_ns"] = round(recorder_s * 1e9 / max(silt["events"], 1), 1)
    silt["lost"] = max(r["lost"] for r in runs["silt"])
    silt["bytes_per_event"] = round(middle(runs["silt"], "bytes_per_event"), 3)
    silt["recorder_rss_bytes"] = max(r["recorder_rss"] for r in runs["silt"])
    silt["runtime_bytes"] = overhead.get("runtime_bytes", 0)
    silt["peak_live_blocks"] = totals.get("peak_live_blocks", 0)
    silt["sites"] = totals.get("sites", 0)
    silt["allocations"] = totals.get("allocations", 0)
    heaptrack = row.get("heaptrack")
    if heaptrack:
        heaptrack["allocations"] = max(r["allocations"] for r in runs["heaptrack"])
    if heaptrack and not heaptrack["failed"] and heaptrack["wall"] > 1:
        row["share"] = round((silt["wall"] - 1) / (heaptrack["wall"] - 1), 3)
        row["share_cpu"] = round((silt["total_cpu"] - 1) / max(heaptrack["cpu"] - 1, 1e-9), 3)
    row["aims"] = aims_of(w, row)
    row["raw"] = {way: [{k: round(v, 4) for k, v in r.items() if k in ("wall", "whole", "cpu", "recorder", "blocked")} for r in runs[way]]
                  for way in runs}
    return row


def aims_of(w, row):
    """What was aimed at: {what, value, limit, ok}. An aim that could not be measured is not in the list."""
    silt, found = row["silt"], []

    def at_most(what, value, limit):
        found.append({"what": what, "value": value, "limit": limit, "ok": value <= limit})

    def at_least(what, value, limit):
        found.append({"what": what, "value": value, "limit": limit, "ok": value >= limit, "least": True})

    if "share" in row:
        at_most("share", row["share"], SHARE_MAX)
    if w.wall_max:
        at_most("wall", silt["wall"], w.wall_max)
    if w.cpu_max:
        at_most("CPU", silt["total_cpu"], w.cpu_max)
    at_most("lost", silt["lost"], 0)
    at_most("runs that differ", silt["failed"], 0)
    if w.is_real:
        at_most("bytes per event", silt["bytes_per_event"], BYTES_PER_EVENT_MAX)
    if w.events_per_s_min:
        at_least("events per recorder second", silt["events_per_recorder_s"], w.events_per_s_min)
    if w.recorder_ns_max:
        at_most("recorder ns", silt["recorder_ns"], w.recorder_ns_max)
    if silt["runtime_bytes"]:
        at_most("runtime bytes", silt["runtime_bytes"], RUNTIME_ONE_THREAD_MAX if w.threads == 1 else RUNTIME_MAX)
    if silt["recorder_rss_bytes"]:
        at_most("recorder bytes", silt["recorder_rss_bytes"],
                RECORDER_BASE_BYTES + RECORDER_PER_BLOCK_BYTES * silt["peak_live_blocks"])
    return found


def missed(row):
    return [a for a in row["aims"] if not a["ok"]]
