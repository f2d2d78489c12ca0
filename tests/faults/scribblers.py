# SPDX-License-Identifier: MIT
"""Programs that write over the memory they share with the recorder: it neither crashes, hangs nor grows without bound,
the trace verifies, and what was lost is said."""

import re
import resource

from harness.process import run
from harness.watch import whole

MEMORY_MAX = 1 << 30  # of address space; a quiet recording takes a third of it


def scribble(t, what, spoils_itself=False):
    """A program whose own writer works on scribbled positions may fall over them; silt may not."""
    for i in range(t.count(2, 25)):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        argv = [t.silt.path, "run", "-f", "-o", t.path("t.silt"), "--",
                t.victim("scribbler"), what, str(i + 1), str(t.count(300, 1000))]
        r = run(argv, timeout_s=600, preexec_fn=limit)
        assert "died" not in r.errors and "recorder:" not in r.errors, f"{what} {i}: {r.code}: {r.errors}"
        if r.code != 29 or r.stdout != b"wrong 0\n":
            assert spoils_itself and r.code in (135, 139), f"{what} {i}: status {r.code}: {r.text} {r.errors}"
        report = whole(t, t.path("t.silt"))
        text = t.silt.command("report", t.path("t.silt")).text
        if re.search(r"damaged", text):
            assert report["totals"]["lost_events"] > 0, f"{what} {i}: a ring was damaged and nothing lost: {text[-1000:]}"


def test_processes(t):
    scribble(t, "processes")


def test_chunks(t):
    scribble(t, "chunks")


def test_slots(t):
    scribble(t, "slots", spoils_itself=True)


def test_positions(t):
    scribble(t, "rewind", spoils_itself=True)


def test_header(t):
    scribble(t, "header", spoils_itself=True)


def test_everything(t):
    scribble(t, "all", spoils_itself=True)
