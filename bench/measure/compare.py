# SPDX-License-Identifier: MIT
"""Two results side by side: what a change did, and whether traces or memory grew by it."""
from measure import table

GROWS = 1.02        # a trace is larger by more than this where the same events take more bytes
MEMORY_GROWS = 1.1  # peaks vary from run to run with what threads and recorder do at once
MEMORY_FLOOR_BYTES = 2 << 20  # of one huge page more or less


def pairs(old, new):
    """(before, after) of the workloads that both have, in the order of the new one."""
    before = {row["workload"]: row for row in old["rows"]}
    return [(before[row["workload"]], row) for row in new["rows"] if row["workload"] in before]


def grown(a, b):
    """What became larger from row a to row b and may not, in words."""
    was, now, found = a["silt"], b["silt"], []
    if now["bytes_per_event"] > was["bytes_per_event"] * GROWS:
        found.append("bytes per event")
    for key, name in (("recorder_rss_bytes", "recorder memory"), ("runtime_bytes", "runtime memory")):
        if now[key] > was[key] * MEMORY_GROWS + (MEMORY_FLOOR_BYTES if key == "recorder_rss_bytes" else 0):
            found.append(name)
    return found


def both(text, a, b):
    return f"{text(a)} → {text(b)}"


def cells(a, b):
    was, now = a["silt"], b["silt"]
    return [b["workload"], both(lambda s: f"{s['wall']:.2f}", was, now), both(table.share_text, a, b),
            both(lambda s: f"{s['cpu']:.2f}", was, now), both(lambda s: f"{s['recorder_ns']:.0f}", was, now),
            both(lambda s: f"{s['bytes_per_event']:.2f}", was, now),
            both(lambda s: table.bytes_text(s["recorder_rss_bytes"]), was, now),
            both(lambda s: table.bytes_text(s["runtime_bytes"]), was, now), ", ".join(grown(a, b))]


HEAD = ["workload", "silt", "share", "target CPU", "recorder ns", "bytes per event", "recorder, peak", "runtime", "larger"]


def lines(old, new):
    rows = [HEAD, *(cells(a, b) for a, b in pairs(old, new))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    for row in rows:
        yield "  ".join(f"{text:{width}}" if i == 0 else f"{text:>{width}}" for i, (text, width) in enumerate(zip(row, widths))).rstrip()


def markdown(old, new):
    return "\n".join(table.markdown_table(HEAD, (cells(a, b) for a, b in pairs(old, new)))) + "\n"
