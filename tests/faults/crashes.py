# SPDX-License-Identifier: MIT
"""The target ends badly: the same status and output as alone, and everything up to the end is in the trace."""

import os
import struct

from harness.process import run
from harness.watch import same, whole

N_ALLOCATIONS, N_FREES, N_THREADS = 5004, 2500, 5  # before the end, whatever the way; derived in crash.c


def tally(t):
    with open(t.path("tally"), "rb") as f:
        return struct.unpack("<2Q", f.read(16))


def crash(t, way, n_runs):
    """n_runs times alone and under silt; yields the report and what the program had counted."""
    argv = [t.victim("crash", flags=["-Wno-infinite-recursion"]), way, t.path("tally")]
    bare = run(argv)
    for i in range(n_runs):
        if os.path.exists(t.path("tally")):
            os.unlink(t.path("tally"))
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"])
        assert r.stderr == bare.stderr, f"run {i}: {r.errors!r}, alone {bare.errors!r}"
        same(bare, r.code, r.stdout, r.errors)
        report = whole(t, t.path("t.silt"))
        assert report["totals"]["lost_events"] == 0 and report["totals"]["implicit_frees"] == 0, report["totals"]
        yield bare, report, tally(t)
    t.notes.append(f"{n_runs} runs, 0 failures, status {bare.code}")


def check_totals(totals, n_more=0, n_in_flight=0, n_more_frees=0, n_threads=N_THREADS):
    least = {"allocations": N_ALLOCATIONS + n_more, "frees": N_FREES + n_more_frees, "threads": n_threads, "unknown_frees": 0}
    for name, n in least.items():
        slack = n_in_flight if name in ("allocations", "frees") else 0
        assert n <= totals[name] <= n + slack, f"{name}: {totals[name]}, not {n} to {n + slack}"


def ends(t, way, status, ended, n_soak=20):
    for bare, report, _ in crash(t, way, t.count(1, n_soak)):
        assert bare.code == status, f"alone: {bare.code}"
        check_totals(report["totals"])
        assert report["ended"] == ended, report["ended"]


def test_segv(t):
    ends(t, "segv", 139, "signal")


def test_segv_in_a_thread(t):
    ends(t, "thread_segv", 139, "signal")


def test_bus_error(t):
    ends(t, "bus", 135, "signal")


def test_trap(t):
    argv = [t.victim("crash", flags=["-Wno-infinite-recursion"]), "ill", t.path("tally")]
    ends(t, "ill", run(argv).code, "signal")  # SIGILL or SIGTRAP, as the machine has it


def test_abort(t):
    ends(t, "abort", 134, "signal")


def test_immediate_exit(t):
    ends(t, "_exit", 9, "exit")


def test_quick_exit(t):
    ends(t, "quick_exit", 10, "exit")


def test_stack_overflow(t):
    for bare, report, (n, _) in crash(t, "overflow", t.count(1, 20)):
        assert bare.code == 139, bare.code
        assert n > 10000, f"the stack was full after {n} levels"
        check_totals(report["totals"], n, n_in_flight=1)
        assert report["ended"] == "signal", report["ended"]


def test_stack_overflow_that_is_caught(t):
    for bare, report, (n, _) in crash(t, "overflow_caught", t.count(1, 20)):
        assert bare.code == 3, bare.code
        check_totals(report["totals"], n, n_in_flight=1)
        assert report["ended"] == "exit", report["ended"]


def test_stack_overflow_whose_handler_allocates(t):
    for bare, report, _ in crash(t, "overflow_handler_allocates", t.count(1, 20)):
        assert bare.code == 4, bare.code
        check_totals(report["totals"], 5)


def images(report):
    found = sorted((p for p in report["processes"] if p["pid"] == report["pid"]), key=lambda p: p["image"])
    assert [p["image"] for p in found] == [1, 2] and len(report["processes"]) == 2, report["processes"]
    second = found[1]["totals"]
    assert (second["allocations"], second["frees"], second["threads"]) == (7, 0, 1), second
    assert report["totals"]["allocations"] == 7, report["totals"]
    return found[0]["totals"]


def test_exec(t):
    for bare, report, _ in crash(t, "exec", t.count(1, 50)):
        assert bare.code == 6, bare.code
        check_totals(images(report))


def test_exec_in_a_thread(t):
    """The thread takes over the process's id; the others are gone."""
    for bare, report, _ in crash(t, "exec_in_thread", t.count(2, 50)):
        assert bare.code == 6, bare.code
        check_totals(images(report))


def test_exec_in_a_thread_while_others_allocate(t):
    for bare, report, (n_allocated, n_released) in crash(t, "exec_under_way", t.count(2, 50)):
        assert bare.code == 6, bare.code
        check_totals(images(report), n_allocated, n_in_flight=3, n_more_frees=n_released)
