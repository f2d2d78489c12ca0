# SPDX-License-Identifier: MIT
"""Signals at 10 kHz to a thread that allocates only in its handlers: every one of its events is recorded."""

from harness.watch import told, whole


def storm(t, source):
    argv = [t.victim("handlers"), source, str(t.count(700, 5000))]
    for _ in range(t.count(1, 5)):
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"])
        assert r.code == 31 and not r.errors, f"status {r.code}: {r.errors}"
        truth, totals = told(r.stdout), whole(t, t.path("t.silt"))["totals"]
        n_tables = truth["threads"] - 1  # libc's, one for each thread but the first
        expected = {"allocations": truth["handled"] + n_tables, "frees": truth["frees"], "lost_events": 0,
                    "bytes_allocated": truth["bytes"] + n_tables * truth["table"], "threads": truth["threads"],
                    "unknown_frees": 0, "implicit_frees": 0}
        seen = {x: totals[x] for x in expected}
        assert seen == expected, f"{source}: {seen}, the program says {expected}"
        assert truth["handled"] > 300, f"only {truth['handled']} signals arrived"
    t.notes.append(f"{truth['handled']} handlers")


def test_timer_of_a_thread(t):
    storm(t, "timer")


def test_interval_timer(t):
    storm(t, "itimer")


def test_thread_that_sends(t):
    storm(t, "tgkill")
