# SPDX-License-Identifier: MIT
"""silt kills itself at every labelled step of attaching and detaching (src/attach/kill_point.h): the process goes on, and can be attached to again."""

import glob
import os
import re
import signal
import time

from attach._target import Attached, Target, build, bytes_of_code, record
from attach.kills import end_others

needs_option = "signal_points"


def labels(t):
    found = set()
    for path in glob.glob(os.path.join(t.context.tests_dir, "../src/attach/*.c")):
        with open(path) as f:
            found |= set(re.findall(r'POINT\([^)]*?"([a-z/-]+)"', f.read()))
            f.seek(0)
            found |= set(re.findall(r'POINT\(is_back \? "([a-z/-]+)"', f.read()))
    assert len(found) > 12, found
    # those of copying a process are frozen.py's
    return sorted(label for label in found if not label.startswith("frozen/"))


def die_at(t, pid, label):
    """Some steps are those of detaching."""
    silt = Attached(t, pid, options=["--duration", "30ms"], env={"SILT_ATTACH_POINT": label})
    code = silt.end(None)
    end_others(pid)
    return code == -signal.SIGKILL


def test_busy(t):
    missed = []
    for label in labels(t):
        with Target(t, [build(t, "busy.c"), "3"]) as target:
            code = bytes_of_code(target.pid)
            for _ in range(t.count(1, 2)):  # the second finds the runtime there
                if not die_at(t, target.pid, label):
                    missed.append(label)
            totals = record(t, target.pid, lambda: time.sleep(0.03))
            assert totals["allocations"] > 0, (label, totals)
            assert bytes_of_code(target.pid) == code, f"{label}: its code is not what it was"
            said = target.finish(signal.SIGTERM)
            assert said.startswith("ok "), (label, said)
    # a thread that runs is let go before its last call; the others are those of opening the runtime
    assert len(missed) <= 5 * t.count(1, 2), missed


def test_in_the_place_of_another(t):
    """silt stays where it has seen which libraries are open, and the process goes on: opens another one at the same address, with the
    same bytes. That is not written to, or not for long, and the process never jumps to where nothing is any more."""
    libraries = [t.context.attached.build(f"late_{prefix}.so", ["late_library.c"], [f"-DPREFIX={prefix}_"], shared=True)
                 for prefix in ("one", "two", "three", "four")]
    with Target(t, [build(t, "swap.c"), *libraries]) as target:
        for _ in range(t.count(60, 2000)):
            silt = Attached(t, target.pid, options=["--duration", "10ms"],
                            env={"SILT_ATTACH_POINT": "entries/clear", "SILT_ATTACH_DELAY_MS": str(t.chance.randrange(1, 8))})
            code = silt.end(None)
            assert target.process.poll() is None, f"{silt.said}{target.last_words()}"
            assert code == 0, silt.said
        said = target.finish(signal.SIGTERM)
        assert int(said.split()[1]) > 100, said


def test_idle(t):
    for label in labels(t)[::t.count(5, 1)]:
        with Target(t, [build(t, "idle.c"), "read"]) as target:
            time.sleep(0.02)
            die_at(t, target.pid, label)
            record(t, target.pid)
            target.process.stdin.write(b"x")
            target.process.stdin.flush()
            assert target.finish() == "ok\n", label
