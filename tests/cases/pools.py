# SPDX-License-Identifier: MIT
"""include/silt/silt.h: blocks of pools, releases by range, marks and names; and nothing of it without silt."""

import os
import re
import shutil

from harness.cases import skip
from harness.process import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(ROOT, "tests/cases/pools.c")
N, BYTES = 100, 48


def for_machine(t, compiler):
    """The command for the machine that is tested: gcc has one for each, clang is told."""
    prefix = t.context.tools.prefix
    return [compiler, *(["--target=" + prefix.rstrip("-")] if prefix else [])] if "clang" in compiler else [prefix + compiler]


def native(test):
    test.native_alone = "the same code as on this one"
    return test


def build(t, name, compiler, *flags):
    path = t.path(name)
    r = run([*for_machine(t, compiler), "-g", "-pthread", "-I", os.path.join(ROOT, "include"), *flags, SOURCE, "-o", path])
    assert r.code == 0 and not r.errors, r.errors
    return path


def record(t, argv, *options):
    r = t.silt.record(t.path("t.silt"), argv, ["-f", *options])
    assert r.code == 0, r.errors
    v = t.silt.command("verify", t.path("t.silt"))
    assert v.code == 0, v.text + v.errors
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    return got


def of(got, function):
    """Figures of the sites below a function: allocations, blocks and bytes at the end."""
    def add(metric, key):
        sites = next(top["sites"] for top in got["top"] if top["metric"] == metric)
        return sum(s[key] for s in sites if any(f["function"].split("(")[0] == function for f in s["stack"]))
    return add("count", "allocations"), add("end", "blocks"), add("end", "bytes")


def check(got, n_rounds, n_threads):
    totals = got["totals"]
    pools = of(got, "fill")
    assert pools == (N * n_rounds * n_threads, (N - 1) * n_threads, (N - 1) * BYTES * n_threads), pools
    assert totals["unknown_frees"] == totals["lost_events"] == totals["implicit_frees"] == 0, totals
    assert {f"pool-{i}" for i in range(n_threads)} <= {x["name"] for x in got["threads"]}, got["threads"]
    texts = [m["text"] for m in got["marks"]]
    assert texts[:2] == ["begin", "warm-up done"], texts
    assert got["marks"][0]["at_s"] <= got["marks"][1]["at_s"] <= got["duration_s"], got["marks"]
    assert got["notes"] == [], got["notes"]


def test_c(t):
    n = t.count(50, 2000)
    program = build(t, "c", "gcc", "-O2", "-std=gnu99", "-pedantic", "-Wall", "-Wextra", "-Werror")
    check(record(t, [program, str(n), "1"]), n, 1)
    check(record(t, [program, str(n), "8"], "--no-patch"), n, 8)
    check(record(t, [program, str(n), "2"], "--free-stacks"), n, 2)


def test_no_pie(t):
    """Linkers settle what nobody defines in such programs: the address must be one that the loader fills in."""
    ways = [["gcc", "-O2"], ["gcc", "-O0"], ["gcc", "-O2", "-fuse-ld=gold"], ["gcc", "-O2", "-flto"]]
    ways += [["clang", "-O2"]] if shutil.which("clang") else []
    for compiler, *flags in ways:
        program = build(t, "no_pie", compiler, "-fno-pie", "-no-pie", *flags)
        check(record(t, [program, "5", "2"]), 5, 2)


def test_intel_syntax(t):
    if (t.context.tools.prefix or os.uname().machine).split("-")[0] != "x86_64":
        return
    check(record(t, [build(t, "intel", "gcc", "-O2", "-masm=intel"), "5", "2"]), 5, 2)


@native
def test_standards(t):
    """The header alone, as strict as compilers are."""
    source = t.path("header.c")
    with open(source, "w") as f:
        f.write("#include <silt/silt.h>\nint main(void) { silt_alloc(0, 1); silt_free(0); silt_free_range(0, 0); "
                "silt_mark(\"a\"); silt_thread_name(\"b\"); return 0; }\n")
    strict = ["-I", os.path.join(ROOT, "include"), "-pedantic-errors", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror",
              "-fsyntax-only", source]
    for compiler in ("gcc", "clang"):
        for language in ("c99", "c11", "c17", "gnu2x", "c++98", "c++11", "c++17", "c++20"):
            for off in ([], ["-DSILT_OFF"]):
                kind = "c++" if "++" in language else "c"
                r = run([compiler, "-x", kind, "-std=" + language, *off, *strict])
                assert r.code == 0 and not r.errors, (compiler, language, r.errors)


@native
def test_text(t):
    program = build(t, "c", "gcc", "-O2")
    record(t, [program, "10", "1"])
    text = t.silt.command("report", t.path("t.silt")).text
    assert "warm-up done (" in text and "mark " not in text, text
    assert "work → fill → arena_take  pools.c:30  via silt_alloc" in text, text
    assert re.search(r"^ +\d+ +pool-0 ", text, re.M), text


def test_cxx(t):
    for compiler in ("g++", "clang++"):
        if not shutil.which(compiler):
            continue
        program = build(t, "cc", compiler, "-x", "c++", "-O1", "-std=c++11", "-Wall", "-Wextra", "-Werror")
        check(record(t, [program, "20", "4"]), 20, 4)


@native
def test_clang(t):
    if not shutil.which("clang"):
        skip("there is no clang")
    for flags in (["-O0"], ["-O2", "-fno-pie", "-no-pie"]):
        program = build(t, "clang", "clang", *flags)
        check(record(t, [program, "20", "2"]), 20, 2)


@native
def test_fork(t):
    program = build(t, "fork", "gcc", "-O2")
    got = record(t, [program, "5", "1", "fork"])
    check(got, 5, 1)
    parent, child = got["processes"]
    # what the arena held is gone from the child alone
    held = [process["totals"]["end_live_blocks"] for process in (parent, child)]
    assert held[0] - held[1] == N - 1 == child["totals"]["frees"], held
    assert [m["text"] for m in got["marks"]][2:] == ["in the child"], got["marks"]
    assert got["marks"][2]["pid"] == child["pid"], got["marks"]


def test_without_silt(t):
    """Bare, static, switched off: it runs, and nothing is left undefined that must be there."""
    launcher = t.context.runner.split() if t.context.runner else []
    for name, flags in (("bare", []), ("static", ["-static"]), ("off", ["-DSILT_OFF"]), ("nopie", ["-fno-pie", "-no-pie"])):
        program = build(t, name, "gcc", "-O2", *flags)
        r = run([*launcher, program, "5", "2", "fork"])
        assert r.code == 0 and r.errors == "", (name, r.code, r.errors)
    symbols = run(["nm", t.path("off")]).text
    assert "silt_api" not in symbols, symbols
    symbols = [line.split() for line in run(["nm", "-D", t.path("bare")]).text.splitlines() if "silt_api" in line]
    assert symbols and all(s[0] == "w" for s in symbols), symbols


@native
def test_examples(t):
    """Per request, in C++ a vector that doubles 8 times, a copy of it and its memory; in Rust 100 blocks of 40 bytes."""
    include = os.path.join(ROOT, "include")
    program = t.path("arena")
    r = run(["g++", "-O2", "-g", "-I", include, os.path.join(ROOT, "examples/arena.cc"), "-o", program])
    assert r.code == 0, r.errors
    got = record(t, [program, "50"])
    assert of(got, "serve") == (500, 0, 0), got["top"]
    assert got["totals"]["unknown_frees"] == got["totals"]["implicit_frees"] == 0, got["totals"]
    assert [m["text"] for m in got["marks"]] == ["warm-up done"], got["marks"]
    if not shutil.which("rustc"):
        return
    program = t.path("arena_rs")
    r = run(["rustc", "--edition", "2021", "-O", "-g", os.path.join(ROOT, "examples/arena.rs"), "-o", program])
    assert r.code == 0 and "warning" not in r.errors, r.errors
    assert run([program, "5"]).text == "20000 bytes\n"
    got = record(t, [program, "50"])
    assert of(got, "arena::serve") == (5000, 100, 4000), got["top"]
    assert got["totals"]["unknown_frees"] == got["totals"]["implicit_frees"] == 0, got["totals"]
