# SPDX-License-Identifier: MIT
"""The function that most time was spent in is the program's, not a library's that is inlined into it: of samples that are written here."""

import json

ADD, NEXT, SORT = "core::num::<impl u64>::wrapping_add", "<core::ops::range::Range<A> as core::iter::range::RangeIteratorImpl>::spec_next", "std::__unguarded_partition<long*>"


def reported(t, paths):
    """paths: how many samples of a millisecond each, and names from the innermost outwards; those with a '+' are inlined into the next. "?" is
    code in no file, each time at another place, and "@" the kernel's."""
    path, at_s = t.path("perf.script"), 100.0
    with open(path, "w", encoding="utf-8") as f:
        for n, names in paths:
            for _ in range(n):
                at_s += 0.001
                f.write(f"app 7/7 [000] {at_s:.6f}: 1000000 cpu-clock:\n")
                for name in names:
                    if name == "?":
                        f.write(f"\t    7f00{t.chance.randrange(1 << 24) * 16:08x} [unknown] ([anon])\n")
                        continue
                    if name.startswith("@"):
                        f.write(f"\tffffffff81000000 {name[1:]}+0x4 ([kernel.kallsyms])\n")
                        continue
                    f.write(f"\t            1000 {name[1:]} (inlined)\n" if name.startswith("+") else f"\t            1000 {name}+0x4 (/opt/app)\n")
                f.write("\n")
    r = t.silt.command("report", path, "--json")
    assert r.code == 0, r.errors
    return json.loads(r.text)


def told(t, paths):
    report = reported(t, paths)
    return report["headline"], next(f for f in report["findings"] if f["kind"] == "hot-function")


def test_inlined_from_a_library(t):
    headline, found = told(t, [(60, ["+" + ADD, "app::crunch", "app::main"]), (25, ["app::crunch", "app::main"]), (15, ["app::rest", "app::main"])])
    assert found["function"] == "app::crunch" and found["time_ns"] == 85_000_000, found
    assert found["text"].startswith("app::crunch took 85 ms of the 100 ms of CPU time itself (85 %), 60 ms of it in u64::wrapping_add, inlined, called by app::main."), found["text"]
    assert "85 % of it in app::crunch (most of that in u64::wrapping_add, inlined), called by app::main" in headline, headline
    assert found["evidence"]["inlined_ns"] == 60_000_000, found["evidence"]


def test_inlined_from_the_program(t):
    """What is the program's own stays what it is."""
    headline, found = told(t, [(80, ["+app::mix", "app::crunch", "app::main"]), (20, ["app::crunch", "app::main"])])
    assert found["function"] == "app::mix" and "80 % of it in app::mix, inlined into app::crunch" in headline, (found, headline)


def test_function_of_a_library(t):
    """A function that is a library's, with code of its own: it is told, and of who called it the program's."""
    headline, found = told(t, [(70, [NEXT, "<core::ops::range::Range<A> as core::iter::traits::iterator::Iterator>::next", "app::crunch", "app::main"]),
                               (30, ["app::crunch", "app::main"])])
    assert "spec_next" in found["function"] and "called by app::crunch" in found["text"] and "called by app::crunch" in headline, (found, headline)


def test_small_part_is_not_told(t):
    headline, found = told(t, [(20, ["+" + SORT, "solve", "main"]), (80, ["solve", "main"])])
    assert found["function"] == "solve" and found["time_ns"] == 100_000_000 and "inlined" not in headline + found["text"], (found, headline)


def test_code_without_names(t):
    """What a JIT compiler made is one, and how to have its names is said."""
    headline, found = told(t, [(45, ["?", "enter", "main"]), (30, ["work", "main"]), (25, ["rest", "main"])])
    assert found["function"] == "" and found["time_ns"] == 45_000_000 and found["site"] is None, found
    assert found["text"].startswith("Code that was made while the program ran, by a JIT compiler, took 45 ms of the 100 ms of CPU time itself (45 %), called by enter."), found["text"]
    assert "45 % of it in code made while it ran, which has no names, called by enter" in headline, headline


def test_calls_of_nobody(t):
    """In execve, and at its end, a process has no stack: the call is told, and nobody who made it; calls are not mixed."""
    entry = "@entry_SYSCALL_64_after_hwframe"
    report = reported(t, [(35, ["@unmap_vmas", "@__x64_sys_execve", entry]), (25, ["@free_pgtables", "@__x64_sys_exit_group", entry]), (40, ["work", "main"])])
    assert "60 % of it in system calls, most of it in execve." in report["headline"], report["headline"]
    found = next(f for f in report["findings"] if f["kind"] == "system-calls")
    assert found["text"] == "System calls took 60 ms of the 100 ms of CPU time (60 %) in the kernel, 35 ms of it in execve." and found["function"] == "", found
