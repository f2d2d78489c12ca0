# SPDX-License-Identifier: MIT
"""Blocks that jemalloc makes many of at once (experimental.batch_alloc): each is counted, once."""

import os

from allocators._workshop import HERE, Workshop
from allocators.exact import native, record

FIGURES = ("allocations", "frees", "bytes_allocated")


def hold(t, prefix, archive, *options, conf="", figures=FIGURES):
    w = Workshop(t.context)
    path = os.path.join(HERE, "batch.c")
    name = "batch" + (prefix or "_plain") + ("_conf" if conf else "")
    defined = ([f"-DPREFIX={prefix}"] if prefix else []) + ([f'-DCONF="{conf}"'] if conf else [])
    program = w.make(name, [["gcc", "-std=gnu17", "-O2", "-g", "-fno-builtin", "-pthread", "-Wall", "-Wextra", "-Werror", *defined, path,
                             archive, "-lpthread", "-lm", "-ldl", "-lstdc++", "-o", w.path(name)]], [path, archive])
    n = t.count(200, 20_000)
    _, base = record(t, [program, "0"], *options)
    want, report = record(t, [program, str(n)], *options)
    totals = report["totals"]
    got = {name: totals[name] - base["totals"][name] for name in figures}
    assert got == {name: want[name] for name in figures}, f"silt says {got}, it is {want}"
    if not options:
        assert totals["end_live_blocks"] - base["totals"]["end_live_blocks"] == 10, totals
        assert totals["end_live_bytes"] - base["totals"]["end_live_bytes"] == 770, totals
        assert totals["unknown_frees"] == totals["implicit_frees"] == totals["lost_events"] == 0, totals
    t.notes.append(f"{want['allocations']:,} blocks, exactly")


@native
def test_jemalloc_as_rust_has_it(t):
    hold(t, "_rjem_", Workshop(t.context).prefixed_jemalloc("_rjem_"))


@native
def test_jemalloc(t):
    hold(t, "", Workshop(t.context).jemalloc())


@native
def test_profiled(t):
    """Blocks that its profiler chooses are asked for one by one, inside."""
    hold(t, "", Workshop(t.context).jemalloc(), conf="prof:true,lg_prof_sample:12")


@native
def test_sampled(t):
    """Arenas that are reset are not followed there, and said to be; what is made is counted."""
    hold(t, "", Workshop(t.context).jemalloc(), "--sample", "64K", figures=("allocations", "bytes_allocated"))
