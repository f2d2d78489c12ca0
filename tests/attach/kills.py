# SPDX-License-Identifier: MIT
"""silt is killed while it attaches, records or detaches: the process goes on with what it had, and can be attached to again."""

import os
import signal
import socket
import time

from attach._target import Attached, Target, await_true, build, bytes_of_code, record
from harness.place import open_terminal
from harness.process import kill_family, stat_fields


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


def kill_at(t, pid, delay_s, end_early, with_hand):
    """silt alone, or with the process that stops threads for it."""
    silt = Attached(t, pid)
    if end_early:
        silt.await_recording()
        silt.process.send_signal(signal.SIGINT)
    time.sleep(delay_s)
    if with_hand:
        kill_family(silt.process.pid)
    silt.end(signal.SIGKILL)
    end_others(pid)


def test_busy(t):
    chance = t.chance
    with Target(t, [build(t, "busy.c"), "4"]) as target:
        code = bytes_of_code(target.pid)
        for i in range(t.count(5, 200)):
            kill_at(t, target.pid, chance.uniform(0, 0.3 if i % 2 else 0.05), i % 2 == 0, i % 3 == 0)
            assert stat_fields(target.pid)[0] in b"SR", "it does not go on"
        totals = record(t, target.pid, lambda: time.sleep(0.05))
        assert totals["allocations"] > 0 and totals["lost_events"] == 0, totals
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        assert target.finish(signal.SIGTERM).startswith("ok ")


def wake(target, how):
    """Ends what it waits for."""
    if how == "accept":
        s = socket.socket(socket.AF_UNIX)
        name = f"\0idle-{target.pid}"
        s.connect(name + "\0" * (108 - len(name)))
        return s
    if not how.endswith("-time"):
        target.process.stdin.write(b"x")
        target.process.stdin.flush()
    return None


def check_idle(t, how, kill, n):
    """Kills silt n times while the program waits in `how`, which then ends as if there had been no silt."""
    with Target(t, [build(t, "idle.c"), how]) as target:
        time.sleep(0.02)
        for _ in range(n):
            kill(target)
        if not how.endswith("-time"):
            record(t, target.pid)
        end = wake(target, how)
        assert target.finish() == "ok\n", how
        if end:
            end.close()


def test_idle(t):
    chance = t.chance
    for how in ("read", "poll", "futex", "accept", "epoll", "select"):
        # an epoll_wait that was stopped fails if the one who stopped it dies within microseconds (docs/attaching.md)
        check_idle(t, how, lambda target, how=how: kill_at(t, target.pid, chance.uniform(0, 0.15), False,
                                                           how != "epoll" and chance.random() < 0.5), t.count(1, 60))


def test_idle_terminal(t):
    chance = t.chance
    master, slave = open_terminal()
    with Target(t, [build(t, "idle.c"), "read"], stdin=slave) as target:
        time.sleep(0.02)
        for _ in range(t.count(1, 60)):
            kill_at(t, target.pid, chance.uniform(0, 0.15), False, chance.random() < 0.5)
        record(t, target.pid)
        os.write(master, b"x\n")
        assert target.finish() == "ok\n"
    os.close(slave)
    os.close(master)


def sudden(t, target, who, **when):
    library = t.context.attached.build("sudden.so", ["sudden.c"], shared=True)
    silt = Attached(t, target.pid, options=["--duration", "10ms"],
                    env={"LD_PRELOAD": library, "SUDDEN_WHO": who, **{f"SUDDEN_{k.upper()}": str(v) for k, v in when.items()}})
    code = silt.end(None)
    if who == "silt":
        assert code in ([-signal.SIGKILL] if "step" in when else [-signal.SIGKILL, 0]), (code, silt.said)
    elif "step" in when:
        assert code == 2 and silt.said.count("\n") == 1 and "was killed: try again" in silt.said, (code, silt.said)
    end_others(target.pid)


def test_silt_at_a_stop(t):
    """Right after a thread was stopped, at each call that silt makes then: its stopper comes to the end of what it does."""
    for how in ("epoll", "receive-time")[:t.count(1, 2)]:
        for step in range(0, t.count(6, 20), t.count(2, 1)):
            check_idle(t, how, lambda target, step=step: sudden(t, target, "silt", step=step), 1)


def test_hand_at_a_stop(t):
    """The same for the stopper itself; where the kernel ends a call for nothing but a stop, as soon as it had the time to put that right."""
    for how, first in (("epoll", 4), ("read", 0), ("futex", 2), ("poll", 0), ("accept", 0))[:t.count(3, 5)]:
        for step in range(first, first + t.count(1, 20)):
            check_idle(t, how, lambda target, step=step: sudden(t, target, "stopper", step=step), 1)


def test_microseconds(t):
    chance = t.chance
    for how in ("epoll", "poll", "read", "futex", "accept", "select", "child")[:t.count(2, 7)]:
        for who in ("silt", "stopper"):
            if (how, who) != ("epoll", "stopper"):
                check_idle(t, how, lambda target, who=who: sudden(t, target, who, ns=chance.randrange(400000)), t.count(1, 200))


def test_all_at_once(t):
    """Of that silt nobody is left to say that it is over."""
    with Target(t, [build(t, "count.c")]) as target:
        code = bytes_of_code(target.pid)
        for _ in range(2):
            silt = Attached(t, target.pid).await_recording()
            target.tell("mixed 10")
            kill_family(silt.process.pid)
            silt.end(None)
            end_others(target.pid)
            target.tell("mixed 1000")
        totals = record(t, target.pid, lambda: target.tell("mixed 10"))
        assert (totals["allocations"], totals["frees"], totals["lost_events"]) == (100, 100, 0), totals
        assert bytes_of_code(target.pid) == code, "its code is not what it was"


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
