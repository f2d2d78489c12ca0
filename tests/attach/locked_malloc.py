# SPDX-License-Identifier: MIT
"""A program whose only thread is nearly always inside its allocator, with the lock held: silt enters it between two calls, or not at all."""

import signal

from attach._target import PATIENCE_S, Attached, Target

SOURCE = ["locked_malloc.c"]
FLAGS = ["-O2", "-fno-builtin"]


def attach_and_go_on(t, program, n_times):
    with Target(t, [program]) as target:
        for _ in range(n_times):
            silt = Attached(t, target.pid, options=["--duration", "20ms"])
            assert silt.end(None) == 0, silt.said
        target.process.send_signal(signal.SIGTERM)
        out = target.process.communicate(timeout=PATIENCE_S)[0]
        assert target.process.returncode == 0 and out.startswith(b"ok ") and int(out.split()[1]) > 0, (target.process.returncode, out)


def test_library(t):
    build = t.context.attached.build
    library = build("locked_malloc.so", SOURCE, flags=[*FLAGS, "-DLIBRARY", "-fPIC", "-shared", "-s"])
    attach_and_go_on(t, build("locked_malloc_user", SOURCE, flags=[*FLAGS, "-DPROGRAM"], link=[library]), t.count(2, 100))


def test_inside(t):
    """Without symbols nobody knows where the allocator is: silt waits until the thread sleeps."""
    attach_and_go_on(t, t.context.attached.build("locked_malloc", SOURCE, flags=[*FLAGS, "-DLIBRARY", "-DPROGRAM", "-s"]), t.count(2, 100))
