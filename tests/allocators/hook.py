# SPDX-License-Identifier: MIT
"""--hook: functions given by address or name, in programs and libraries that were stripped."""

import os
import subprocess

from allocators._workshop import C_FLAGS, HERE, Workshop
from allocators.bulk import FIGURES
from allocators.exact import NEVER, record

ROLES = {"alloc": "stand_malloc", "calloc": "stand_calloc", "realloc": "stand_realloc", "memalign": "stand_aligned_alloc",
         "posix_memalign": "stand_posix_memalign", "free": "stand_free"}
OPERATIONS = (200_000, 20_000_000)


def addresses(w, path):
    """Of all functions, as nm prints them."""
    lines = (line.split() for line in w.run(w.prefix + "nm", path).splitlines())
    return {line[2]: int(line[0], 16) for line in lines if len(line) == 3 and line[1] in "tT"}


def build(w, name, *flags, source="hook_own.c", inputs=()):
    """The program and a stripped copy of it."""
    path, out = os.path.join(HERE, source), w.path(name)
    made = w.make(name, [[w.prefix + "gcc", *C_FLAGS, path, *flags, "-lpthread", "-o", out],
                         [w.prefix + "strip", "-o", out + ".stripped", out]],
                  [path, os.path.join(HERE, "bulk.h"), *inputs])
    return made, made + ".stripped"


def program(w, *flags, name="hook_own"):
    own = w.object("jemalloc_stand_in.c", "-ftls-model=initial-exec", "-fvisibility=hidden", "-DEXPORT=__attribute__((noinline))",
                   name="stand_in_hidden")
    return build(w, name, own, *flags, inputs=[own])


def hold(t, argv_program, hooks):
    n = t.count(*OPERATIONS) // (20 if t.context.runner else 1)
    options = [word for hook in hooks for word in ("--hook", hook)]
    _, base = record(t, [argv_program, "0", "8"], *options)
    want, report = record(t, [argv_program, str(n), "8"], *options)
    totals = report["totals"]
    got = {name: totals[name] - base["totals"][name] for name in FIGURES}
    wrong = {name: f"{got[name]} for {want[name]}" for name in FIGURES if got[name] != want[name]}
    assert want["wrong"] == 0 and not wrong, f"silt says: {wrong}"
    assert all(totals[name] == 0 for name in NEVER), totals
    t.notes.append(f"{want['allocations']:,} allocations of a stripped program, exactly")


def test_stripped_program(t):
    w = Workshop(t.context)
    whole, stripped = program(w)
    at = addresses(w, whole)
    hooks = [f"{role}={at[name]:#x}" for role, name in ROLES.items()]
    _, bare = record(t, [stripped, "10000", "2"])
    assert bare["totals"]["allocations"] < 20, "something is seen without --hook"
    hold(t, stripped, hooks)


def test_fixed_address(t):
    """Not position-independent, and without unwind tables: nothing tells where functions end."""
    w = Workshop(t.context)
    own = w.object("jemalloc_stand_in.c", "-fno-pie", "-fno-asynchronous-unwind-tables", "-fvisibility=hidden",
                   "-DEXPORT=__attribute__((noinline))", name="stand_in_bare")
    whole, stripped = build(w, "hook_fixed", own, "-no-pie", "-fno-pie", "-fno-asynchronous-unwind-tables", inputs=[own])
    at = addresses(w, whole)
    hold(t, stripped, [f"{role}={at[name]:#x}" for role, name in ROLES.items()])


def test_names(t):
    """Where there are names, they will do."""
    w = Workshop(t.context)
    whole, _ = program(w)
    hold(t, whole, [f"{role}={name}" for role, name in ROLES.items()])


def test_stripped_library(t):
    w = Workshop(t.context)
    source = os.path.join(HERE, "jemalloc_stand_in.c")
    out = w.path("libhooked.so")
    library = w.make("libhooked.so", [[w.prefix + "gcc", *C_FLAGS, "-shared", "-fPIC", "-ftls-model=initial-exec", source, "-o", out],
                                      ["cp", out, out + ".whole"], [w.prefix + "strip", out]], [source])
    _, stripped = build(w, "hook_library", library, "-Wl,-rpath," + w.folder, inputs=[library])
    at = addresses(w, library + ".whole")
    hold(t, stripped, [f"{role}={library}:{at[name]:#x}" for role, name in ROLES.items()])


def libc(w):
    said = subprocess.run([w.prefix + "gcc", "-print-file-name=libc.so.6"], capture_output=True, text=True, check=True)
    return said.stdout.strip()


def test_refused(t):
    """In one line, before anything runs."""
    w = Workshop(t.context)
    whole, stripped = program(w)
    at = addresses(w, whole)
    begin, unfit = at["stand_malloc"], at["unfit"]
    cases = (
        ([f"take={begin:#x}"], "not a role"), (["alloc"], "write ROLE=ADDRESS"), (["alloc="], "write ROLE=ADDRESS"),
        (["alloc=0x"], "not an address"), (["alloc=0xzz"], "not an address"), (["alloc=0x1" + "0" * 20], "not an address"),
        (["alloc=0x10"], "no code"), (["alloc=0xfffffffffffffff0"], "no code"), (["alloc=stand_malloc"], "no function has this name"),
        ([f"alloc={begin + 8:#x}"], "in the middle"), ([f"alloc={begin + 1:#x}"], "begins"), ([f"alloc={unfit:#x}"], "cannot be hooked"),
        ([f"alloc={begin:#x}", f"free={begin:#x}"], "given twice"), ([f"alloc=/nowhere/lib.so:{begin:#x}"], "cannot read"),
        ([f"alloc={HERE}/hook.py:{begin:#x}"], "cannot read"), ([f"alloc={libc(w)}:malloc"], "already hooks the allocators of 'libc.so.6'"),
    )
    for hooks, why in cases:
        options = [word for hook in hooks for word in ("--hook", hook)]
        r = t.silt.record(t.path("no.silt"), [stripped, "10", "1"], options)
        assert r.code == 125 and not r.text and r.errors.count("\n") == 1 and r.errors.startswith("silt: --hook: "), (hooks, r)
        assert why in r.errors, (hooks, why, r.errors)


def test_library_opened_thousands_of_times(t):
    """At ever new addresses: what it had before is taken back. 10 blocks each time, of which one is left."""
    w = Workshop(t.context)
    library_source, source = os.path.join(HERE, "jemalloc_stand_in.c"), os.path.join(HERE, "hook_reopen.c")
    library = w.make("libreopened.so", [[w.prefix + "gcc", *C_FLAGS, "-shared", "-fPIC", library_source, "-o",
                                         w.path("libreopened.so")]], [library_source])
    program = w.make("hook_reopen", [[w.prefix + "gcc", *C_FLAGS, source, "-ldl", "-o", w.path("hook_reopen")]], [source])
    n = t.count(400, 10_000) // (4 if t.context.runner else 1)
    trace = t.path("t.silt")
    r = t.silt.record(trace, [program, library, str(n)], ["-f"], timeout_s=900)
    assert r.code == 0 and not r.errors, r.errors
    assert int(r.text) > n * 0.8, f"only {r.text.strip()} addresses"
    report, why = t.silt.report(trace)
    assert report, why
    totals = report["totals"]
    seen = {a["name"]: a["allocations"] for a in report["allocators"]}
    assert seen["jemalloc"] == 10 * n, (seen, totals)
    assert totals["unknown_frees"] == 0 and totals["lost_events"] == 0, totals
    t.notes.append(f"{int(r.text):,} addresses")
