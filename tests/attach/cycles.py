# SPDX-License-Identifier: MIT
"""Attaching to programs that run: what happens while silt is there is counted exactly, and the program is as it was afterwards."""

import contextlib
import os
import signal
import socket
import time

from attach._service import Pauses
from attach._target import Attached, Target, build, bytes_of_code, record
from harness.place import open_terminal

WAITS = ("read", "poll", "epoll", "epoll2", "select", "futex", "child", "semop", "message", "ring")
GO_ON = ("read", "poll", "select", "futex", "child")  # after a stop, some of them under another number
TIMES_SEEN = ("epoll-time", "receive-time")
TIMES_LATE = ("sleep-time", "select-time", "poll-time", "condition-time")


def count(t, **popen):
    return Target(t, [build(t, "count.c")], **popen)


def check(totals, **wanted):
    found = {name: totals[name] for name in wanted}
    assert found == wanted, f"{found}, wanted {wanted}"
    assert totals["lost_events"] == totals["unknown_frees"] == 0, totals


def test_exact(t):
    """Every form, of the C library and inside it; blocks that are older are known as such."""
    with count(t) as target:
        target.tell("make 1000")
        code = bytes_of_code(target.pid)

        def during():
            target.tell("make 500")
            target.tell("mixed 100")
            target.tell("drop 700")
            target.tell("old")

        totals = record(t, target.pid, during)
        check(totals, allocations=500 + 1000, frees=500 + 1000, reallocations=100, prior_frees=200 + 6,
              end_live_blocks=0, bytes_allocated=500 * 10 + 100 * (1 + 15 + 7 + 900 + 36 + 70 + 128 + 5000 + 24 + 30))
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        target.tell("mixed 100")
        totals = record(t, target.pid, lambda: target.tell("make 5"))
        check(totals, allocations=5, frees=0, end_live_blocks=5, prior_frees=0)
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        target.tell("drop 300")


def test_sampled(t):
    """Totals are exact, releases of older blocks among them; what is recorded next is recorded whole."""
    with count(t) as target:
        target.tell("make 1000")
        code = bytes_of_code(target.pid)

        def during():
            target.tell("make 20000")
            target.tell("mixed 100")
            target.tell("drop 700")
            target.tell("old")

        totals = record(t, target.pid, during, ["--sample", "64"])
        check(totals, allocations=20000 + 1000, frees=700 + 6 + 1000, reallocations=100,
              bytes_allocated=20000 * 10 + 100 * (1 + 15 + 7 + 900 + 36 + 70 + 128 + 5000 + 24 + 30))
        # 19,300 blocks of 10 bytes, one in 4.5 recorded: the standard error is 1.4 %
        assert abs(totals["end_live_blocks"] - 19300) < 0.1 * 19300, totals
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        totals = record(t, target.pid, lambda: target.tell("make 5"))
        check(totals, allocations=5, frees=0, end_live_blocks=5, prior_frees=0)


def test_again_and_again(t):
    """Nothing piles up: neither memory nor mappings."""
    with count(t) as target:
        def size():
            with open(f"/proc/{target.pid}/status") as f:
                status = dict(line.split(":", 1) for line in f)
            return int(status["VmSize"].split()[0]), int(status["VmRSS"].split()[0])

        sizes = []
        for _ in range(t.count(4, 60)):
            check(record(t, target.pid, lambda: target.tell("mixed 10")), allocations=100, frees=100)
            sizes.append(size())
        assert sizes[-1][0] <= sizes[2][0] and sizes[-1][1] <= sizes[2][1] + 400, sizes


def test_threads(t):
    """Threads that are made while silt is there, and those that were before."""
    with count(t) as target:
        target.tell("threads 3")
        totals = record(t, target.pid, lambda: target.tell("threads 20"))
        # the C library keeps one block for each new thread, unless it has a stack of an old one
        assert totals["frees"] >= 20 and totals["allocations"] >= 20 and totals["lost_events"] == 0, totals
        totals = record(t, target.pid, lambda: target.tell("make 7"))
        check(totals, allocations=7)


def test_children(t):
    with count(t) as target:
        silt = Attached(t, target.pid).await_recording()
        target.tell("fork 40")
        target.tell("make 2")
        assert silt.end() == 0, silt.said
        check(silt.totals(), allocations=2)
        check(silt.totals("all"), allocations=42)


def test_exec(t):
    """The recording ends with the program; the one it becomes is untouched, and can be attached to."""
    program = build(t, "count.c")
    with count(t) as target:
        silt = Attached(t, target.pid).await_recording()
        target.tell("make 30")
        target.process.stdin.write(f"exec {program}\n".encode())
        target.process.stdin.flush()
        assert target.process.stdout.readline().split() == [b"ready", str(target.pid).encode()]
        assert silt.end(None) == 0 and "replaced itself with 'count_c'" in silt.said, silt.said
        check(silt.totals(), allocations=30, end_live_blocks=30)
        said = " ".join(t.silt.command("report", silt.trace).text.split())
        assert "When it executed another program" in said and "replaced itself with 'count_c' after" in said, said
        target.tell("mixed 3")
        check(record(t, target.pid, lambda: target.tell("make 5")), allocations=5)


def test_libraries_opened_later(t):
    """Their calls of the C library's functions are seen like the program's."""
    library = t.context.attached.build("later.so", ["later.c"], shared=True)
    with count(t) as target:
        totals = record(t, target.pid, lambda: target.tell(f"open {library}"))
        # the loader allocates too, and keeps some of it
        assert totals["allocations"] >= 200 and totals["frees"] >= 200 and totals["lost_events"] == 0, totals


def test_duration(t):
    with count(t) as target:
        silt = Attached(t, target.pid, options=["--duration", "300ms"])
        assert silt.end(None) == 0, silt.said
        check(silt.totals(), allocations=0)
        said = " ".join(t.silt.command("report", silt.trace).text.split())
        assert said.startswith("count_c was recorded for "), said
        target.tell("mixed 3")


def test_target_ends(t):
    with count(t) as target:
        silt = Attached(t, target.pid).await_recording()
        target.tell("make 12")
        target.process.stdin.write(b"end\n")
        target.finish()
        assert silt.end(None) == 0, silt.said
        check(silt.totals(), allocations=12, end_live_blocks=12)


def test_recorder_dies(t):
    """The hooks are taken out; what was written until then can be read."""
    with count(t) as target:
        code = bytes_of_code(target.pid)
        silt = Attached(t, target.pid).await_recording()
        with open(f"/proc/{silt.process.pid}/task/{silt.process.pid}/children") as f:
            recorder = int(f.read().split()[0])
        os.kill(recorder, signal.SIGKILL)
        assert silt.end(None) == 0 and "died" in silt.said, silt.said
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        target.tell("mixed 100")
        check(record(t, target.pid, lambda: target.tell("mixed 10")), allocations=100)


def test_busy(t):
    """Threads that allocate and check what they have, a thousand signals a second."""
    with Target(t, [build(t, "busy.c"), str(t.count(8, 16))]) as target, Pauses() as pauses:
        code = bytes_of_code(target.pid)
        for _ in range(t.count(2, 300)):
            totals = record(t, target.pid, lambda: time.sleep(0.05), pauses=pauses)
            assert totals["lost_events"] == totals["unknown_frees"] == totals["implicit_frees"] == 0, totals
            assert totals["allocations"] > 0, totals
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        said = target.finish(signal.SIGTERM)
        assert said.startswith("ok "), said
        t.notes.append(pauses.note())


def test_handler_returns_into_entry(t):
    """A handler interrupted malloc behind its first instruction, and waits: nothing is written there until it has returned."""
    with Target(t, [build(t, "inside.c")], says_ready=False) as target:
        if os.uname().machine != "x86_64":
            assert target.process.stdout.readline() == b"whole\n"
            return
        assert target.process.stdout.readline() == f"ready {target.pid}\n".encode()
        code = bytes_of_code(target.pid)
        silt = Attached(t, target.pid)
        assert silt.end(None) != 0 and "inside a function to be hooked" in silt.said, silt.said
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        target.tell("go")
        check(record(t, target.pid, lambda: target.tell("count 12")), allocations=12, end_live_blocks=12)
        target.process.stdin.write(b"end\n")
        target.finish()


def test_restless(t):
    """Threads that go to sleep and wake up all the time, in calls that a stop makes fail: none of them does, and none ends early."""
    with Target(t, [build(t, "restless.c")]) as target:
        for _ in range(t.count(10, 300)):
            silt = Attached(t, target.pid, options=["--duration", "5ms", "--no-symbols"])
            assert silt.end(None) == 0, f"{silt.said} {target.process.poll()}"
        said = target.finish(signal.SIGTERM)
        assert said.startswith("ok "), said


def registers(t, *how):
    with Target(t, [build(t, "registers.c"), *how], says_ready=False) as target:
        if target.process.stdout.readline() == b"no tiles\n":
            return False
        target.tell("before")
        for _ in range(t.count(3, 100)):
            record(t, target.pid)
            target.tell("after")
        target.process.stdin.close()
        target.process.stdin = None
        target.finish()
    return True


def test_registers(t):
    """Code around a system call keeps values in any register: all of them are as they were, however long."""
    registers(t)


def test_registers_tiles(t):
    """Those of AMX too, where the machine has them."""
    if not registers(t, "tiles"):
        t.notes.append("this machine has no tiles")


def idle(t, how, **popen):
    target = Target(t, [build(t, "idle.c"), how], **popen)
    time.sleep(0.05)  # it waits soon
    return target


def test_idle(t):
    """A thread that waits in the kernel is stopped and waits on: no call fails, none returns early."""
    with Pauses() as pauses:
        for how in WAITS:
            with idle(t, how) as target:
                if how in GO_ON:
                    for stop in (signal.SIGSTOP, signal.SIGCONT):
                        os.kill(target.pid, stop)
                        time.sleep(0.02)
                for _ in range(t.count(2, 50)):
                    record(t, target.pid, pauses=pauses)
                target.process.stdin.write(b"x")
                target.process.stdin.flush()
                assert target.finish() == "ok\n", how
        t.notes.append(pauses.note())


def attach_soon_over(t, target):
    """On a slow machine it may be over before silt is there."""
    silt = Attached(t, target.pid, options=["--duration", "20ms"])
    code = silt.end(None)
    assert code == 0 or "has already ended" in silt.said or "no such process" in silt.said, silt.said


def test_idle_times(t):
    """Time-outs end when they would have: not before, and a call that is begun again does not get all of its time once more."""
    for _ in range(t.count(1, 10)):
        with contextlib.ExitStack() as stack:
            targets = {}
            for how in TIMES_SEEN:  # these must be seen to begin
                targets[how] = stack.enter_context(idle(t, how))
                attach_soon_over(t, targets[how])
            for how in TIMES_LATE:
                targets[how] = stack.enter_context(idle(t, how))
            time.sleep(1.7)
            for how in TIMES_LATE * 2:
                attach_soon_over(t, targets[how])
            for how, target in targets.items():
                assert target.finish() == "ok\n", how


def test_idle_accept(t):
    with idle(t, "accept") as target:
        for _ in range(t.count(1, 50)):
            record(t, target.pid)
        s = socket.socket(socket.AF_UNIX)
        name = f"\0idle-{target.pid}"
        s.connect(name + "\0" * (108 - len(name)))
        assert target.finish() == "ok\n"
        s.close()


def test_idle_signal(t):
    with idle(t, "signal") as target:
        for _ in range(t.count(1, 50)):
            record(t, target.pid)
        assert target.finish(signal.SIGUSR1) == "ok\n"


def test_idle_terminal(t):
    master, slave = open_terminal()
    with idle(t, "read", stdin=slave) as target:
        for _ in range(t.count(1, 50)):
            record(t, target.pid)
        os.write(master, b"x\n")
        assert target.finish() == "ok\n"
    os.close(slave)
    os.close(master)
