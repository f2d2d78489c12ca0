# SPDX-License-Identifier: MIT
"""The figures as tables: on the terminal while they come, and in Markdown."""
from measure import figures, machine


def bytes_text(n):
    return f"{n / 2**20:.1f} MiB" if n >= 102_350 else f"{n / 2**10:.0f} KiB"


def heaptrack_text(row):
    h = row.get("heaptrack")
    if not h:
        return "–"
    return f"failed: {h['why']}" if h["failed"] else f"{h['wall']:.3g}"


def share_text(row, key="share"):
    return f"{row[key]:.3f}" if key in row else "–"


def aim_text(aim):
    limit, value, sign = aim["limit"], aim["value"], ">=" if aim.get("least") else "<="
    if aim["what"].endswith("bytes"):
        return f"{aim['what']} {bytes_text(value)} (aim {sign} {bytes_text(limit)})"
    if aim["what"].startswith("events"):
        return f"{aim['what']} {value / 1e6:.1f} M (aim {sign} {limit / 1e6:.0f} M)"
    return f"{aim['what']} {value:.3g} (aim {sign} {limit:g})"


def verdict(row):
    """Which aims are missed, if any."""
    bad = figures.missed(row)
    if bad:
        return "MISSED " + ", ".join(aim_text(a) for a in bad)
    return "ok"


HEAD = (f"{'workload':34} {'bare':>8} {'no-op':>6} {'silt':>6} {'(min-max)':>13} {'whole':>6} {'target':>7} {'recorder':>8} {'heaptrack':>9} "
        f"{'share':>6} {'of CPU':>6}  aims")


def line(row):
    s, h = row["silt"], row.get("heaptrack")
    peer = "–" if not h else "failed" if h["failed"] else f"{h['wall']:.2f}"
    spread = f"({s['wall_min']:.2f}-{s['wall_max']:.2f})"
    return (f"{row['workload']:34} {row['bare_s']:6.3f} s {row['noop']['wall']:6.2f} {s['wall']:6.2f} {spread:>13} {s['whole']:6.2f} {s['cpu']:7.2f} "
            f"{s['recorder_cpu']:8.2f} {peer:>9} {share_text(row):>6} {share_text(row, 'share_cpu'):>6}  {verdict(row)}")


def second_table(rows):
    """What is no ratio."""
    yield (f"{'workload':34} {'events':>11} {'events/s':>9} {'recorder ns':>11} {'lost':>5} {'B/event':>8} {'blocked':>9} "
           f"{'recorder RSS':>12} {'runtime':>9} {'live blocks':>11} {'sites':>8}")
    for row in rows:
        s = row["silt"]
        yield (f"{row['workload']:34} {s['events']:11,} {s['events_per_s'] / 1e6:7.2f} M {s['recorder_ns']:11.1f} "
               f"{s['lost']:5} {s['bytes_per_event']:8.2f} {s['blocked_s']:7.2f} s {bytes_text(s['recorder_rss_bytes']):>12} "
               f"{bytes_text(s['runtime_bytes']):>9} {s['peak_live_blocks']:11,} {s['sites']:8,}")


EXPLAINED = """
no-op, silt, heaptrack: wall time over the bare program's, medians; silt: to the program's end, whole: to that of `silt run`,
which has then looked up the names of its stacks; target, recorder: silt's CPU time over the bare program's;
share: wall time silt adds / wall time heaptrack adds; of CPU: the same of CPU time, all processes;
recorder ns: the recorder's CPU time per event, all of its threads; events/s: per second of wall time."""


def heaptrack_words(result):
    limit = result["heaptrack_limit_bytes"]
    if not limit:
        return "heaptrack was left out"
    text = f"heaptrack was held to {limit / (1 << 30):.0f} GiB by {result['heaptrack_limit_by']}"
    if result["heaptrack_limit_by"] == "RLIMIT_AS":
        text += " (no memory cgroup could be made: root and a mounted cgroup tree are needed)"
    return text


def markdown_row(cells):
    return "| " + " | ".join(cells) + " |"


def markdown_table(head, rows):
    """The first column is text, the last one too where it has words; numbers stand right."""
    yield markdown_row(head)
    yield markdown_row(["---" if title in ("workload", "aims", "beside the workloads", "larger", "") else "--:" for title in head])
    for row in rows:
        yield markdown_row(row)


def ratio_cells(row):
    s, says = row["silt"], verdict(row).replace("<=", "≤").replace(">=", "≥")
    return [row["workload"], f"{row['bare_s']:.2f} s", f"{row['noop']['wall']:.2f}", f"**{s['wall']:.2f}**",
            f"{s['wall_min']:.2f}–{s['wall_max']:.2f}", f"{s['whole']:.2f}", f"{s['cpu']:.2f}", f"{s['recorder_cpu']:.2f}", heaptrack_text(row),
            share_text(row), share_text(row, "share_cpu"), says]


def other_cells(row):
    s = row["silt"]
    return [row["workload"], f"{s['events']:,}", f"{s['recorder_ns']:.0f}", f"{s['bytes_per_event']:.2f}",
            str(s["lost"]), f"{s['blocked_s']:.2f} s", bytes_text(s["recorder_rss_bytes"]), bytes_text(s["runtime_bytes"]),
            f"{s['peak_live_blocks']:,}", f"{s['sites']:,}"]


def markdown(result):
    """The part of docs/overhead.md that is made from a result."""
    m, rows = result["machine"], result["rows"]
    out = [f"{machine.in_words(m)}; {m['silt']}; {m['date']}. Medians of {result['runs']} interleaved runs; {heaptrack_words(result)}."]
    if m["load_before"] > 0.5:
        out += ["", f"The machine was busy with other work (load {m['load_before']:.1f} before the first run): wall times and spreads "
                "are too large; the CPU times can be trusted more."]
    out += ["", *markdown_table(["workload", "bare", "no-op", "silt", "min–max", "whole", "target CPU", "recorder CPU", "heaptrack", "share",
                                 "of CPU", "aims"], map(ratio_cells, rows))]
    out += ["", *markdown_table(["workload", "events", "recorder ns per event", "bytes per event", "lost", "blocked",
                                 "recorder, peak resident", "runtime", "live blocks", "call paths"], map(other_cells, rows))]
    if result.get("checks"):
        told = [[c["name"], c["text"], c["aim"], "ok" if c["ok"] else "MISSED"] for c in result["checks"]]
        out += ["", *markdown_table(["beside the workloads", "measured", "aim", ""], told)]
    return "\n".join(out) + "\n"
