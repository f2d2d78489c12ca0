# SPDX-License-Identifier: MIT
"""silt beside what an allocator has of its own: its configuration in the environment, its profiler."""

import re

from allocators._workshop import Workshop
from allocators.exact import hold, native, needs_sources, record, told
from harness.process import run


def drill(w, name, archive, *prefix):
    own = [w.object(s, *prefix, name=f"{name}_{s}") for s in ("jemalloc.c", "profile.c")]
    return w.drill(name, own, archive, compiler="gcc")


@native
def test_configuration(t):
    """What the environment says reaches the allocator as it would without silt, and the program sees it unchanged."""
    w = Workshop(t.context)
    program = drill(w, "drill_configured", w.jemalloc())
    argv = ["env", "MALLOC_CONF=narenas:3,dirty_decay_ms:1234", program, "20000", "1"]
    bare = run(argv)
    assert bare.code == 0, bare.errors
    want = told(bare.text)
    assert (want["opt.narenas"], want["opt.dirty_decay_ms"]) == (3, 1234) and want["configuration"], want
    assert record(t, argv)[0] == want
    assert record(t, argv, "--no-patch")[0] == want


def profile(path):
    """Objects and bytes alive in jemalloc's own profile, in all and by call path, smallest first."""
    with open(path) as f:
        lines = [tuple(map(int, m)) for m in re.findall(r"^ *t\*: (\d+): (\d+) \[", f.read(), re.M)]
    return lines[0], sorted(lines[1:])


def beside_the_profiler(t, name, conf, archive, *prefix):
    """Every allocation is in jemalloc's profile: one thread does the same with silt and without."""
    program = drill(Workshop(t.context), name, archive, *prefix)
    argv = ["env", f"{conf}=prof:true,lg_prof_sample:0", "DRILL_PROFILE=" + t.path("profile"), program]
    one = [*argv, str(t.count(20_000, 1_000_000)), "1"]
    bare = run(one, timeout_s=900)
    assert bare.code == 0 and told(bare.text)["opt.prof"] == 1, bare.text
    alone = profile(t.path("profile"))
    figures, report = record(t, one)
    assert figures == told(bare.text), (figures, bare.text)
    beside = profile(t.path("profile"))
    assert alone[0] == beside[0] and alone[0][0] >= figures["end_live_blocks"], (alone[0], beside[0])
    assert alone[1] == beside[1], "by call path"
    _, base = record(t, [*argv, "0", "8"])
    figures, report = record(t, [*argv, str(t.count(100_000, 10_000_000)), "8"])
    hold(figures, report, base["totals"])
    t.notes.append(f"jemalloc's profile: {beside[0][0]:,} objects, {beside[0][1]:,} bytes on {len(beside[1])} call paths, the same "
                   f"without silt; {figures['allocations']:,} allocations, exactly")


@needs_sources
def test_profiler(t):
    beside_the_profiler(t, "drill_profiled", "MALLOC_CONF", Workshop(t.context).jemalloc_with_profiler(""))


@needs_sources
def test_profiler_as_rust_has_it(t):
    beside_the_profiler(t, "drill_profiled_rjem", "_RJEM_MALLOC_CONF", Workshop(t.context).jemalloc_with_profiler("_rjem_"),
                        "-DPREFIX=_rjem_")
