# SPDX-License-Identifier: MIT
"""Very many processes and threads: exact figures, and memory that does not grow with their number."""

from harness.weight import MIB, record, weigh_alone


def check_kids(report, n, first):
    """Child i has i % 10 + 1 allocations; `first` are its figures beside that."""
    kids = [p for p in report["processes"] if p["pid"] != report["pid"]]
    assert len(kids) == n, f"{len(kids)} children, not {n}"
    assert all(p["parent"] == report["pid"] for p in kids), "a child has another parent"
    got = sorted(p["totals"]["allocations"] for p in kids)
    assert got == sorted(i % 10 + 1 for i in range(n)), f"allocations of the children: {got}"
    for p in kids:
        for name, value in first.items():
            assert p["totals"][name] == value, f"pid {p['pid']}: {name} is {p['totals'][name]}, not {value}"


def test_500_forked_children_at_once(t):
    """Each knows the 20,000 blocks it inherited, which cost the recorder one table and not 500."""
    n_runs, n, n_blocks = t.count(1, 20), 500, 20000
    for _ in range(n_runs):
        report, peak_bytes, _ = record(t, [t.victim("swarm"), "fork", str(n), str(n_blocks)])
        assert report["totals"]["allocations"] == n_blocks, report["totals"]
        check_kids(report, n, {"frees": 5, "unknown_frees": 0, "peak_live_blocks": n_blocks + 0})
        assert peak_bytes < 200 * MIB, f"the recorder had {peak_bytes / MIB:.0f} MiB"
    t.notes.append(f"{n_runs} runs, 0 failures, recorder {peak_bytes / MIB:.0f} MiB at most")


def test_500_spawned_programs_at_once(t):
    n_runs, n = t.count(1, 20), 500
    for _ in range(n_runs):
        report, peak_bytes, _ = record(t, [t.victim("swarm"), "spawn", str(n)])
        assert report["totals"]["allocations"] == 0, report["totals"]
        check_kids(report, n, {"frees": 0, "unknown_frees": 0})
        assert peak_bytes < 200 * MIB, f"the recorder had {peak_bytes / MIB:.0f} MiB"
    t.notes.append(f"{n_runs} runs, 0 failures, recorder {peak_bytes / MIB:.0f} MiB at most")


def check_threads(report, allocations, frees, threads):
    totals = report["totals"]
    got = (totals["allocations"], totals["frees"], totals["threads"], totals["unknown_frees"])
    assert got == (allocations, frees, threads, 0), f"{got}, not {(allocations, frees, threads, 0)}"


def test_2000_threads_at_once(t):
    n_runs, n = t.count(1, 20), 2000
    argv = [t.victim("swarm"), "threads", str(n)]
    bare_bytes = weigh_alone(argv)
    for _ in range(n_runs):
        report, peak_bytes, target_bytes = record(t, argv)
        check_threads(report, 4 * n, n, n + 1)
        more_bytes = target_bytes - bare_bytes
        assert more_bytes < 128 * MIB, f"silt took {more_bytes / MIB:.0f} MiB in the target"
    t.notes.append(f"{n_runs} runs, 0 failures, {more_bytes / MIB:.0f} MiB in the target, recorder {peak_bytes / MIB:.0f} MiB at most")


def test_thousands_of_short_threads(t):
    """More than there are places for threads in the shared memory; what one left is used by the next."""
    n_runs, n = t.count(1, 5), t.count(6000, 40000)
    argv = [t.victim("swarm"), "short", str(n)]
    bare_bytes = weigh_alone(argv)
    for _ in range(n_runs):
        report, peak_bytes, target_bytes = record(t, argv)
        check_threads(report, n + 8, n, n + 1)
        more_bytes = target_bytes - bare_bytes
        assert more_bytes < 32 * MIB, f"silt took {more_bytes / MIB:.0f} MiB in the target"
    t.notes.append(f"{n_runs} runs of {n}, 0 failures, {more_bytes / MIB:.0f} MiB in the target, recorder {peak_bytes / MIB:.0f} MiB at most")


def test_short_threads_in_locked_memory_as_root(t):
    """Pages of a thread that ended cannot be given back there; the next thread uses them all the same."""
    n = t.count(800, 8000)
    report, _, _ = record(t, [t.victim("swarm"), "short", str(n), "locked"])
    check_threads(report, n + 8, n, n + 1)
