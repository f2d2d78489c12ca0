# SPDX-License-Identifier: MIT
"""Signals that arrive while silt has a thread that waits: the handler runs once, and the call ends, or goes on, as it would have."""

import os
import signal
import subprocess
import time

from attach._target import PATIENCE_S, Attached, Target, build
from harness.process import TimedOut

WINDOW_S = 0.006  # for which a thread that makes silt's calls holds signals back, about


def is_traced(pid):
    with open(f"/proc/{pid}/status") as f:
        return "TracerPid:\t0\n" not in f.read()


def strike(t, how, delay_s):
    with Target(t, [build(t, "idle.c"), how]) as target:
        time.sleep(0.02)
        silt = Attached(t, target.pid, options=["--duration", "10ms"])
        end = time.monotonic() + 10
        while not is_traced(target.pid) and time.monotonic() < end and silt.process.poll() is None:
            pass
        time.sleep(delay_s)
        os.kill(target.pid, signal.SIGUSR1)
        if how == "handled-restart":
            time.sleep(0.1)
            target.process.stdin.write(b"x")
            target.process.stdin.flush()
        try:  # its stdin stays open: the end of that would wake it too
            target.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise TimedOut(f"{how}: its call goes on, though a handler ran") from None
        assert target.finish() == "ok\n", how
        silt.end(None)
        assert silt.process.returncode == 0 or "ended" in silt.said or "no such process" in silt.said, silt.said


def test_while_entering(t):
    chance = t.chance
    for how in ("handled-pause", "handled-epoll", "handled-read", "handled-restart"):
        for _ in range(t.count(2, 40)):
            strike(t, how, chance.uniform(0, WINDOW_S))
