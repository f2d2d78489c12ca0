# SPDX-License-Identifier: MIT
"""What silt keeps resident inside the program: at most 4 MiB with one thread, 64 MiB with a thousand."""

from harness.process import run

MIB = 1 << 20
# The report counts what is mapped and commonly touched, and chunks of rings once they are full: not the code and
# static data of libsilt.so, nor the second to fourth page of a chunk in use.
REPORT_SLACK_BYTES = MIB
REPORT_SLACK = 0.3


def measure(t, n_threads, n_calls):
    """(bytes that silt adds to what is resident, the report's overhead.runtime_bytes)"""
    crowd = t.context.helpers.build("crowd", ["crowd.c"], link=["-pthread"])
    argv = [crowd, str(n_threads), str(n_calls)]
    bare = run(argv)
    assert bare.code == 0, bare.errors
    trace = t.path(f"{n_threads}-{n_calls}.silt")
    recorded = t.silt.record(trace, argv)
    assert recorded.code == 0, recorded.errors
    report, problem = t.silt.report(trace)
    assert report, problem
    totals = report["totals"]
    assert totals["threads"] == n_threads, totals["threads"]
    assert totals["allocations"] + totals["lost_events"] >= 2 * n_threads * n_calls, totals
    added = int(recorded.stdout) - int(bare.stdout)
    t.notes.append(f"{n_threads} threads, {n_calls} calls each: {added / MIB:.2f} MiB resident, "
                   f"{report['overhead']['runtime_bytes'] / MIB:.2f} MiB reported")
    return added, report["overhead"]["runtime_bytes"]


def check(t, n_threads, n_calls, limit_bytes):
    added, reported = measure(t, n_threads, n_calls)
    assert 0 < added <= limit_bytes, f"{added:,} bytes resident, {limit_bytes:,} allowed"
    assert abs(reported - added) <= REPORT_SLACK * added + REPORT_SLACK_BYTES, \
        f"{added:,} bytes resident, the report says {reported:,}"


def test_doctor_states_the_bounds(t):
    said = t.silt.command("doctor").text
    assert "4 MiB in a program with one thread" in said and "64 MiB with 1,000" in said, said


def test_one_quiet_thread(t):
    check(t, 1, 1, 4 * MIB)


def test_one_busy_thread(t):
    check(t, 1, t.count(100000, 1000000), 4 * MIB)


def test_a_thousand_quiet_threads(t):
    check(t, 1000, 1, 64 * MIB)


def test_a_thousand_busy_threads(t):
    check(t, 1000, t.count(200, 2000), 64 * MIB)
