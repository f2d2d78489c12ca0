# SPDX-License-Identifier: MIT
"""Children of a process that was attached to and has ended: those that did not run before it was gone are recorded, or told of."""

import signal

from attach._target import Attached, Target, build


def ended(t, late):
    with Target(t, [build(t, "heir.c"), late]) as target:
        silt = Attached(t, target.pid).await_recording()
        target.process.stdin.write(b"x")
        target.process.stdin.flush()
        target.process.wait()
        assert silt.end(None) == 0, silt.said
        silt.totals()
        return silt.report


def test_late(t):
    for late in ("0", "200"):
        report = ended(t, late)
        assert [p["totals"]["allocations"] for p in report["processes"]] == [0, 2000], report["processes"]


def test_told_to_end_when_the_process_is_gone(t):
    """One that was told so as its process ended does not wait for the children: no second signal comes."""
    with Target(t, [build(t, "heir.c"), "stay"]) as target:
        silt = Attached(t, target.pid).await_recording()
        silt.process.send_signal(signal.SIGSTOP)
        target.process.stdin.write(b"x")
        target.process.stdin.flush()
        assert target.process.stdout.readline() == b"worked\n"
        target.process.wait()
        silt.process.send_signal(signal.SIGTERM)
        silt.process.send_signal(signal.SIGCONT)
        assert silt.end(None) == 0, silt.said
        assert silt.totals("all")["allocations"] == 1000, silt.report["processes"]


def test_silent(t):
    """One that never allocates is waited for in vain, and told of."""
    report = ended(t, "never")
    assert len(report["processes"]) == 1, report["processes"]
    assert any("did not report" in note for note in report["notes"]), report["notes"]
