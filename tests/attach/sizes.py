# SPDX-License-Identifier: MIT
"""A C++ service that gives every sized delete its right size: however often it is attached to, it is accused of nothing."""

import time

from attach._target import Target, build, record

# that say the program made a mistake
ACCUSATIONS = ("wrong-size", "unknown-frees", "failed")


def test_clean_service(t):
    with Target(t, [build(t, "sizes.cc"), "2"]) as target:
        for i in range(t.count(12, 200)):
            options = ["--free-stacks"] if i % 4 == 3 else []
            totals = record(t, target.pid, lambda: time.sleep(0.15), options)
            assert totals["allocations"] > 0, totals
            for name in ("wrong_size_frees", "unknown_frees", "implicit_frees"):
                assert totals[name] == 0, f"attached {i + 1} times: {totals}"
            report, why = t.silt.report(t.path("t.silt"))
            assert report, why
            said = [f["text"] for f in report["findings"] if f["kind"] in ACCUSATIONS]
            assert not said, f"attached {i + 1} times: {said}"
