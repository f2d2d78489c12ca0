# SPDX-License-Identifier: MIT
"""Many short processes, as of a shell or make: exact, readable, and in bounded memory."""

N_SITES = 30
N_KEPT = 10
MIB = 1 << 20


def record(t, n, *how):
    program = t.context.helpers.build("short_lived", ["short_lived.c"])
    trace = t.path(f"{n}-{len(how)}.silt")
    recorded = t.silt.record(trace, [program, str(n), *how])
    assert recorded.code == 0, recorded.errors
    return trace


def report(t, trace, *options):
    found, problem = t.silt.report(trace, *options)
    assert found, problem
    return found


def check_children(children):
    for child in children:
        totals = child["totals"]
        figures = [totals[k] for k in ("allocations", "frees", "sites", "end_live_blocks", "lost_events")]
        assert figures == [N_SITES, N_SITES - N_KEPT, N_SITES, N_KEPT, 0], child


def check_views(t, trace, n):
    totals = report(t, trace, "--process", "all")["totals"]
    assert totals["allocations"] == n * N_SITES and totals["lost_events"] == 0, totals
    assert totals["end_live_bytes"] == 0 < totals["peak_live_bytes"], totals  # each took what it kept with it
    text = t.silt.command("report", trace).text
    rows = [line for line in text.splitlines() if "the largest" in line]
    assert f"Processes ({n + 1:,})" in text, text
    assert len(rows) == 1 and f"×{n:,}" in rows[0], text
    checked = t.silt.command("verify", trace)
    assert checked.code == 0, checked.text


def test_forked(t):
    n = t.count(150, 3000)
    trace = record(t, n)
    found = report(t, trace)
    assert len(found["processes"]) == n + 1, len(found["processes"])
    check_children(found["processes"][1:])
    check_views(t, trace, n)


def test_spawned(t):
    n = t.count(40, 1000)
    trace = record(t, n, "spawn")
    found = report(t, trace)
    check_children(p for p in found["processes"] if p["command"][1:] == ["child"])
    totals = report(t, trace, "--process", "all")["totals"]
    assert totals["allocations"] == n * N_SITES and totals["lost_events"] == 0, totals


def test_the_recorder_does_not_grow_with_them(t):
    """Checkpoints keep something of ended processes up to a bound, and are made of it in bursts: of 6,000 of these by then, it
    depends on the moment. Behind that, twice as many take no more."""
    n = t.count(120, 20000)
    peaks = [report(t, record(t, k))["overhead"]["recorder_peak_bytes"] for k in (n, 2 * n)]
    growth = peaks[1] - peaks[0]
    assert peaks[1] < 100000000, peaks
    if n >= 20000:
        t.notes.append(f"{n:,} processes {peaks[0] / MIB:.1f} MiB, twice as many {peaks[1] / MIB:.1f} MiB")
        assert growth < 2048 * n, f"{growth / n:.0f} bytes for each ended process"
