# SPDX-License-Identifier: MIT
"""Drills: all functions of allocators that are linked into the program, from 8 threads, against the program's own count. What
starting the threads takes is known from a run without operations. 100 million operations in `make soak`."""

from allocators._workshop import Workshop
from harness.process import run

FIGURES = ("allocations", "frees", "reallocations", "failed_allocations", "bytes_allocated", "end_live_bytes", "end_live_blocks")
EXCEPTION_BYTES = 136  # what libstdc++ asks malloc for when it throws bad_alloc
NEVER = ("lost_events", "unknown_frees", "prior_frees", "implicit_frees")
OPERATIONS = (1_000_000, 100_000_000)


def told(text):
    return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in text.splitlines())}


def record(t, argv, *options):
    trace = t.path("t.silt")
    r = t.silt.record(trace, argv, ["-f", *options], timeout_s=3000)
    assert r.code == 0 and not r.errors, f"{argv}: exit status {r.code}: {r.errors[-500:]}"
    report, why = t.silt.report(trace)
    assert report, why
    return told(r.text), report


def hold(told_figures, report, base):
    """The report against what the program told."""
    totals, want = report["totals"], dict(told_figures)
    want["allocations"] += want["throws"]
    want["frees"] += want["throws"]
    want["bytes_allocated"] += want["throws"] * EXCEPTION_BYTES
    assert want["damaged"] == 0, "blocks were damaged"
    got = {name: totals[name] - base[name] for name in FIGURES}
    wrong = {name: f"{got[name]} for {want[name]}" for name in FIGURES if got[name] != want[name]}
    assert not wrong, f"silt says: {wrong}"
    assert all(totals[name] == 0 for name in NEVER), totals
    assert not [f for f in report["findings"] if f["kind"] == "wrong-size"], report["findings"]


def drill(t, program, operations=OPERATIONS, words=()):
    """Records `program` and holds the report against what it tells; returns that."""
    n = t.count(*operations)
    n = n // 20 if t.context.runner else n
    _, base = record(t, [program, "0", "8"])
    figures, report = record(t, [program, str(n), "8", *words])
    hold(figures, report, base["totals"])
    if not t.context.is_tiny and (t.context.walks_handlers or not words):
        # a handler may interrupt moved instructions, which have no unwind tables
        assert report["quality"]["complete_stacks_pct"] >= (99.9 if words else 100), report["quality"]
    t.notes.append(f"{figures['allocations']:,} allocations and {figures['frees']:,} releases, exactly")
    return figures


def same_output(t, program):
    """One thread does the same whether it is watched or not, block for block."""
    launcher = t.context.runner.split() if t.context.runner else []
    bare = run([*launcher, program, "50000", "1"])
    watched, report = record(t, [program, "50000", "1"])
    assert bare.code == 0 and told(bare.text) == watched, (bare.text, watched)
    without, _ = record(t, [program, "50000", "1"], "--no-patch")
    assert without == watched, (without, watched)


def is_unseen(t, program):
    """Without patches nothing of it is seen: what starting the threads takes, as in a run without operations."""
    _, base = record(t, [program, "0", "8"], "--no-patch")
    _, report = record(t, [program, "100000", "8"], "--no-patch")
    assert report["totals"]["allocations"] == base["totals"]["allocations"] <= 20, report["totals"]


def native(test):
    test.native_alone = "Debian has no such archive for that machine"
    return test


def built_elsewhere(test):
    """Debian has the archive for this machine; for the other it is built from source, in `make soak`."""
    test.from_source_elsewhere = True
    return native(test)


def needs_sources(test):
    """Fetches a source package: not in `make test`, which works without a network."""
    test.repeats, test.soak_repeats = 0, 1
    return test


@built_elsewhere
def test_jemalloc(t):
    """As the program's malloc, in C++: Debian's archive has operator new in it."""
    w = Workshop(t.context)
    objects = [w.object("jemalloc.c"), w.object("c.c"), w.object("new.cc")]
    program = w.drill("drill_jemalloc", objects, w.jemalloc())
    drill(t, program)
    same_output(t, program)


@built_elsewhere
def test_jemalloc_and_a_static_cxx_library(t):
    w = Workshop(t.context)
    objects = [w.object("jemalloc.c"), w.object("c.c"), w.object("new.cc")]
    program = w.drill("drill_jemalloc_static", objects, "-static-libstdc++", "-static-libgcc", w.jemalloc())
    drill(t, program)


def prefixed(t, prefix):
    w = Workshop(t.context)
    archive = w.prefixed_jemalloc(prefix)
    own = w.object("jemalloc.c", f"-DPREFIX={prefix}", name="jemalloc" + prefix)
    program = w.drill("drill" + prefix, [own], archive, compiler="gcc")
    drill(t, program)
    same_output(t, program)
    is_unseen(t, program)


@built_elsewhere
def test_jemalloc_as_rust_has_it(t):
    prefixed(t, "_rjem_")


@built_elsewhere
def test_jemalloc_with_its_usual_prefix(t):
    prefixed(t, "je_")


@built_elsewhere
def test_gperftools(t):
    w = Workshop(t.context)
    objects = [w.object("gperftools.c"), w.object("c.c"), w.object("new.cc")]
    program = w.drill("drill_gperftools", objects, w.gperftools())
    drill(t, program)
    same_output(t, program)


@native
def test_mimalloc_as_a_library(t):
    w = Workshop(t.context)
    program = w.drill("drill_mimalloc_so", [w.object("mimalloc.c")], "-lmimalloc", compiler="gcc")
    drill(t, program)
    same_output(t, program)
    is_unseen(t, program)


@needs_sources
def test_mimalloc(t):
    """Built from Debian's source package."""
    w = Workshop(t.context)
    program = w.drill("drill_mimalloc", [w.object("mimalloc.c"), w.mimalloc()], compiler="gcc")
    drill(t, program)
    same_output(t, program)
    is_unseen(t, program)


@needs_sources
def test_jemalloc_from_source(t):
    """With its sized and aligned functions under Rust's prefix, for either machine."""
    w = Workshop(t.context)
    archive = w.jemalloc_from_source()
    own = w.object("jemalloc.c", "-DPREFIX=_rjem_", name="jemalloc_rjem_")
    program = w.drill("drill_from_source", [own], archive, compiler="gcc")
    drill(t, program)
    same_output(t, program)


def test_malloc_of_the_program(t):
    """Defined in the program and exported, its functions calling each other; C++ on top of it."""
    w = Workshop(t.context)
    objects = [w.object("own.c"), w.object("c.c"), w.object("new.cc", "-DNOTHROW_THROWS", name="new_throws")]
    program = w.drill("drill_own", objects, "-rdynamic")
    drill(t, program)
    same_output(t, program)


def test_malloc_of_the_program_and_a_static_cxx_library(t):
    """operator new is inside, and calls malloc directly."""
    w = Workshop(t.context)
    objects = [w.object("own.c"), w.object("c.c"), w.object("new.cc", "-DNOTHROW_THROWS", name="new_throws")]
    program = w.drill("drill_own_static", objects, "-rdynamic", "-static-libstdc++", "-static-libgcc")
    drill(t, program)
    same_output(t, program)


def test_stand_in_for_tcmalloc(t):
    """Google's tcmalloc is no package of Debian's: a stand-in that has its names."""
    w = Workshop(t.context)
    program = w.drill("drill_tcmalloc", [w.object("tcmalloc.c"), w.object("tcmalloc_stand_in.c")], compiler="gcc")
    drill(t, program)
    same_output(t, program)


def test_stand_in_for_snmalloc(t):
    """Nor is snmalloc."""
    w = Workshop(t.context)
    program = w.drill("drill_snmalloc", [w.object("snmalloc.c"), w.object("snmalloc_stand_in.c")], compiler="gcc")
    drill(t, program)
    same_output(t, program)


def stand_ins(w):
    return [w.object(s) for s in ("tcmalloc.c", "tcmalloc_stand_in.c", "snmalloc.c", "snmalloc_stand_in.c")]


def test_several_and_signals(t):
    """Four allocators in one program (five in `make soak`), and a handler that allocates in the midst of any."""
    w = Workshop(t.context)
    if t.context.runner:
        objects = [*stand_ins(w), w.object("own.c"), w.object("c.c")]
        program = w.drill("drill_several", objects, "-rdynamic", compiler="gcc")
    else:
        archive = w.prefixed_jemalloc("_rjem_")
        objects = [*stand_ins(w), w.object("jemalloc.c", "-DPREFIX=_rjem_", name="jemalloc_rjem_"),
                   w.object("gperftools.c"), w.object("c.c"), w.object("new.cc")]
        if t.context.is_soak:  # needs the network
            objects += [w.object("mimalloc.c"), w.mimalloc()]
        program = w.drill("drill_several", objects, archive, w.gperftools())
    drill(t, program)
    figures = drill(t, program, words=["signals"])
    assert figures["signals"] > 0, figures
    t.notes.append(f"{figures['signals']} signals")
