# SPDX-License-Identifier: MIT
"""glibc's libc_malloc_debug.so, preloaded by the user: its functions have the one version that programs ask libc for, and nothing but
that. What it traces and what it finds is the same under silt, and silt counts what it sees."""

import os

from harness.process import run

LIBRARY = "libc_malloc_debug.so.0"


def program(t):
    return t.context.helpers.build("malloc_debug", ["malloc_debug.c"], flags=["-Wno-deprecated-declarations", "-Wno-array-bounds", "-Wno-use-after-free"])


def both(t, what, env=None):
    """(bare, recorded, totals)"""
    env = {**os.environ, "LD_PRELOAD": LIBRARY, **(env or {})}
    argv, trace = [program(t), what], t.path("t.silt")
    bare = run(argv, env={**env, "MALLOC_TRACE": t.path("bare.txt")})
    recorded = t.silt.record(trace, argv, ["-f"], env={**env, "MALLOC_TRACE": t.path("recorded.txt")})
    report, why = t.silt.report(trace)
    assert report, why
    return bare, recorded, report["totals"]


def traced(path):
    """What happened, with what size: addresses and callers are another matter."""
    with open(path) as f:
        lines = [line.split() for line in f]
    return [tuple(w[2:3] + w[4:]) if w[0] == "@" else w[0] for w in lines]


def test_trace(t):
    bare, recorded, totals = both(t, "trace")
    assert (bare.code, recorded.code) == (0, 0), (bare, recorded)
    want, got = traced(t.path("bare.txt")), traced(t.path("recorded.txt"))
    assert len(want) > 30 and want == got, (want, got)
    # mtrace itself allocates a buffer and opens a file
    assert totals["reallocations"] == 1 and totals["unknown_frees"] == 0, totals
    assert 20 <= totals["allocations"] <= 30 and 15 <= totals["frees"] <= 25, totals


def test_mcheck(t):
    bare, recorded, _ = both(t, "mcheck")
    assert (bare.code, bare.text) == (3, "mcheck: behind the block\n"), bare
    assert (recorded.code, recorded.text) == (3, bare.text), recorded


def test_malloc_check(t):
    bare, recorded, _ = both(t, "check", {"GLIBC_TUNABLES": "glibc.malloc.check=3"})
    assert bare.code == 128 + 6 and "invalid pointer" in bare.errors, bare
    assert recorded.code == 128 + 6 and "invalid pointer" in recorded.errors, recorded
