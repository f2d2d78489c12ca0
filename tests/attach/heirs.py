# SPDX-License-Identifier: MIT
"""Children of a process that was attached to and has ended: those that did not run before it was gone are recorded, or told of."""

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


def test_silent(t):
    """One that never allocates is waited for in vain, and told of."""
    report = ended(t, "never")
    assert len(report["processes"]) == 1, report["processes"]
    assert any("did not report" in note for note in report["notes"]), report["notes"]
