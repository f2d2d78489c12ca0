# SPDX-License-Identifier: MIT
"""Pages of large blocks that were never touched, against what the program touched and mincore says. Parameters are drawn anew on
every run; the seed is among the notes."""

import os

from harness.process import run

FIELDS = ("peak_blocks", "peak_bytes", "peak_touched", "last_blocks", "last_bytes", "last_touched", "seen_blocks", "seen_bytes",
          "seen_touched", "max_touched")


def record(t, ms, how):
    """(what the program says, what the trace says): {function: …}; the trace's by (process, function)"""
    program = t.context.helpers.build("touch", ["touch.c"])
    seed = t.chance.randrange(1 << 30)
    t.notes.append(f"touch {seed} {ms} {how}")
    trace = t.path(f"{seed}.silt")
    recorded = t.silt.record(trace, [program, str(seed), str(ms), how])
    assert recorded.code == 0, recorded.errors
    verdict = t.silt.command("verify", trace)
    assert verdict.code == 0, verdict.text
    told = {}
    for line in recorded.text.splitlines():
        name, blocks, size, in_core = line.split()
        told[name] = (int(blocks), int(size), int(in_core))
    probe = run([os.path.join(t.context.build_dir, "src", "query", "testing", "residency_probe"), trace])
    assert probe.code == 0, probe.errors
    rows = {}
    for line in probe.text.splitlines():
        process, name, *numbers = line.split()
        rows[int(process), name] = dict(zip(FIELDS, map(int, numbers)))
    return told, rows


def check(told, rows):
    assert told, "the program says nothing"
    for name, (blocks, size, in_core) in told.items():
        row = rows.get((0, name))
        assert row, f"{name}: no row"
        for state in ("peak", "last", "seen"):
            got = tuple(row[f"{state}_{what}"] for what in ("blocks", "bytes", "touched"))
            assert got == (blocks, size, in_core), f"{name}, {state}: {got}, not {(blocks, size, in_core)}"
        assert row["max_touched"] == in_core, (name, row, in_core)


def check_in_time(t, how):
    """On a machine that is busy with other things two looks may take their time; what is wrong stays so."""
    for ms in (700, 2500):
        told, rows = record(t, ms, how)
        try:
            check(told, rows)
            return rows
        except AssertionError as e:
            t.notes.append(str(e))
    told, rows = record(t, 8000, how)
    check(told, rows)
    return rows


def test_shares(t):
    for _ in range(t.count(2, 20)):
        check_in_time(t, "exit")


def test_then_nothing_happens(t):
    """Two looks are enough, and both are made though the program sleeps."""
    check_in_time(t, "idle")


def test_a_child_touches_what_it_inherited(t):
    """Its own copies of the pages: nothing to do with its parent's blocks, and none of its own."""
    rows = check_in_time(t, "fork")
    assert all(process == 0 for process, _ in rows), rows


def test_another_program_in_its_place(t):
    """The pages of a program that was exec'd, one that is recorded or one that cannot be, are not those of the blocks before."""
    plain = t.context.helpers.build("touch", ["touch.c"])
    static = t.context.helpers.build("touch-static", ["touch.c"], link=["-static"])
    for program in (plain, static):
        for ms in (0, 10, 60, 300):
            _, rows = record(t, ms, program)
            row = rows.get((0, "ask_all"))
            assert not row or row["seen_touched"] == row["seen_bytes"], (program, ms, row)


def test_short_lives(t):
    """Blocks that are touched and released again and again: released ones look untouched, and must not count."""
    _, rows = record(t, t.count(500, 5000), "churn")
    for key, row in rows.items():
        assert row["seen_touched"] == row["seen_bytes"], (key, row)


def test_short_peaks_of_children(t):
    """What a child had in memory for a few milliseconds is its peak, whenever samples are taken; its parent had none of it."""
    program = t.context.helpers.build("short_peak", ["short_peak.c"])
    r = t.silt.record(t.path("t.silt"), [program])
    assert r.code == 0, r.errors
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    peaks = [p["totals"]["peak_rss_bytes"] for p in got["processes"]]
    assert len(peaks) == 3 and peaks[0] < 10e6 and all(20e6 < p < 24e6 for p in peaks[1:]), peaks
