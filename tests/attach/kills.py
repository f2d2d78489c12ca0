# SPDX-License-Identifier: MIT
"""silt is killed while it attaches, records or detaches: the process goes on with what it had, and can be attached to again."""

import os
import random
import signal
import time

from attach._target import Attached, Target, await_true, build, bytes_of_code, record
from harness.process import stat_fields


def has_recorder(pid):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                if f"attach\0{pid}\0".encode() in f.read() and stat_fields(name)[0] != b"Z":
                    return True
        except OSError:
            pass
    return False


def end_others(pid):
    """The recorder of a silt that was killed ends by itself; only then is another let in."""
    await_true(lambda: not has_recorder(pid), "a recorder is left behind")


def kill_at(t, pid, delay_s, end_early):
    silt = Attached(t, pid)
    if end_early:
        silt.await_recording()
        silt.process.send_signal(signal.SIGINT)
    time.sleep(delay_s)
    silt.end(signal.SIGKILL)
    end_others(pid)


def test_busy(t):
    chance = random.Random(7)
    with Target(t, [build(t, "busy.c"), "4"]) as target:
        code = bytes_of_code(target.pid)
        for i in range(t.count(5, 200)):
            kill_at(t, target.pid, chance.uniform(0, 0.3 if i % 2 else 0.05), i % 2 == 0)
            assert stat_fields(target.pid)[0] in b"SR", "it does not go on"
        totals = record(t, target.pid, lambda: time.sleep(0.05))
        assert totals["allocations"] > 0 and totals["lost_events"] == 0, totals
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        assert target.finish(signal.SIGTERM).startswith("ok ")


def test_idle(t):
    chance = random.Random(8)
    # not epoll: a silt that dies within microseconds of the stop leaves an EINTR there (docs/attaching.md)
    for how in ("read", "poll", "futex"):
        with Target(t, [build(t, "idle.c"), how]) as target:
            for i in range(t.count(2, 60)):
                kill_at(t, target.pid, chance.uniform(0, 0.25), False)
            record(t, target.pid)
            target.process.stdin.write(b"x")
            target.process.stdin.flush()
            assert target.finish() == "ok\n", how


def test_entries_that_stayed(t):
    """They pass through, and the next silt uses them and takes them out."""
    with Target(t, [build(t, "count.c")]) as target:
        code = bytes_of_code(target.pid)
        silt = Attached(t, target.pid).await_recording()
        target.tell("make 10")
        silt.end(signal.SIGKILL)
        end_others(target.pid)
        assert bytes_of_code(target.pid) != code, "nothing was left behind: this test shows nothing"
        target.tell("mixed 1000")
        totals = record(t, target.pid, lambda: target.tell("mixed 10"))
        assert (totals["allocations"], totals["frees"], totals["lost_events"]) == (100, 100, 0), totals
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        target.tell("drop 10")
