# SPDX-License-Identifier: MIT
"""Heaps that are released whole: jemalloc's arenas (reset, destroy), mimalloc's heaps, by 8 threads, against the program's own
count and what the allocator says is in them."""

import os

from allocators._workshop import HERE, Workshop
from allocators.exact import NEVER, native, needs_sources, record

FIGURES = ("allocations", "frees", "reallocations", "bytes_allocated", "end_live_bytes", "end_live_blocks")
OPERATIONS = (300_000, 30_000_000)


def build(w, name, source, *link, flags=()):
    path = os.path.join(HERE, source)
    out = w.path(name)
    return w.make(name, [[w.prefix + "gcc", "-std=gnu17", "-O2", "-g", "-fno-builtin", "-pthread", "-Wall", "-Wextra", "-Werror",
                          *flags, path, *link, "-lpthread", "-lm", "-ldl", "-o", out]],
                  [path, os.path.join(HERE, "bulk.h"), *(x for x in link if x.startswith("/"))])


def told_and_got(t, program, *words):
    n = t.count(*OPERATIONS) // (20 if t.context.runner else 1)
    _, base = record(t, [program, "0", "8", *words])
    want, report = record(t, [program, str(n), "8", *words])
    assert want["wrong"] == 0 and want["in_bulk"] > n / 200, want
    return want, {name: report["totals"][name] - base["totals"][name] for name in FIGURES}, report


def hold(t, program, heap_bytes=None):
    """heap_bytes: bounds of what one heap's own record takes, where that is a block too: 0 where the compiler put the calls inline."""
    want, got, report = told_and_got(t, program)
    totals = report["totals"]
    assert not [note for note in report["notes"] if "caches" in note], report["notes"]
    if heap_bytes:
        heaps, gone = want["heaps"], want["heaps_gone"]
        own_bytes = (got["bytes_allocated"] - want["bytes_allocated"]) / heaps
        assert own_bytes == int(own_bytes) and heap_bytes[0] <= own_bytes <= heap_bytes[1], own_bytes
        if not own_bytes:
            heaps = gone = 0
        for name, n_more in (("allocations", heaps), ("frees", gone), ("bytes_allocated", heaps * own_bytes),
                             ("end_live_blocks", heaps - gone), ("end_live_bytes", (heaps - gone) * own_bytes)):
            want[name] += n_more
    wrong = {name: f"{got[name]} for {want[name]}" for name in FIGURES if got[name] != want[name]}
    assert not wrong, f"silt says: {wrong}"
    assert all(totals[name] == 0 for name in NEVER), totals
    check = t.silt.command("verify", t.path("t.silt"))
    assert check.code == 0, check.text + check.errors
    t.notes.append(f"{want['in_bulk']:,} of {want['frees']:,} releases by {want['heaps']:,} heaps, exactly")


@native
def test_jemalloc(t):
    w = Workshop(t.context)
    hold(t, build(w, "bulk_jemalloc", "bulk_jemalloc.c", w.jemalloc()))


@native
def test_jemalloc_cached(t):
    """silt does not ask jemalloc which arena a block of a cache is in: nearly all are right, and the report says that some may not be."""
    w = Workshop(t.context)
    want, got, report = told_and_got(t, build(w, "bulk_jemalloc", "bulk_jemalloc.c", w.jemalloc()), "cached")
    for name in ("allocations", "bytes_allocated"):
        assert got[name] == want[name], f"{name}: {got[name]} for {want[name]}"
    for name in ("frees", "end_live_bytes", "end_live_blocks"):
        assert abs(got[name] - want[name]) <= 0.1 * want[name], f"{name}: {got[name]} for {want[name]}"
    assert [note for note in report["notes"] if "thread caches" in note], report["notes"]


@native
def test_jemalloc_as_rust_has_it(t):
    w = Workshop(t.context)
    hold(t, build(w, "bulk_rjem", "bulk_jemalloc.c", w.prefixed_jemalloc("_rjem_"), flags=["-DPREFIX=_rjem_"]))


def test_stand_in_for_jemalloc(t):
    """For either machine; what a destroyed arena had is everybody's at once."""
    w = Workshop(t.context)
    own = w.object("jemalloc_stand_in.c", "-ftls-model=initial-exec")
    hold(t, build(w, "bulk_stand_in", "bulk_jemalloc.c", own, flags=["-DPREFIX=stand_"]))


def test_long_functions(t):
    """As a debug build has them: each of 230 KB."""
    w = Workshop(t.context)
    own = w.object("jemalloc_stand_in.c", "-ftls-model=initial-exec", "-DLONG_BODY", name="stand_in_long")
    hold(t, build(w, "bulk_long", "bulk_jemalloc.c", own, flags=["-DPREFIX=stand_"]))


@needs_sources
def test_jemalloc_from_source(t):
    """For either machine."""
    w = Workshop(t.context)
    hold(t, build(w, "bulk_from_source", "bulk_jemalloc.c", w.jemalloc_from_source(), flags=["-DPREFIX=_rjem_"]))


@native
def test_mimalloc_as_a_library(t):
    w = Workshop(t.context)
    hold(t, build(w, "bulk_mimalloc_so", "bulk_mimalloc.c", "-lmimalloc"), heap_bytes=(500, 20000))


@needs_sources
def test_mimalloc(t):
    w = Workshop(t.context)
    hold(t, build(w, "bulk_mimalloc", "bulk_mimalloc.c", w.mimalloc()), heap_bytes=(0, 20000))


@native
def test_extent_hooks_that_lock(t):
    """jemalloc's own locks are not taken where a program's hooks may be waiting inside of them."""
    w = Workshop(t.context)
    path = os.path.join(HERE, "bulk_hooks.c")
    program = w.make("bulk_hooks", [["gcc", "-O2", "-g", "-pthread", path, w.jemalloc(), "-lm", "-ldl", "-lpthread", "-o", w.path("bulk_hooks")]],
                     [path])
    n = t.count(300, 20_000)
    want, report = record(t, [program, str(n)])
    assert want["in_bulk"] == 4 * n, want
    assert report["totals"]["end_live_bytes"] < 1 << 20, report["totals"]
