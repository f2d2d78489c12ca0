# SPDX-License-Identifier: MIT
"""diff, check and leaks of files that other tools wrote: what a source does not know is not compared, and a refusal names what works."""

import itertools

from harness.answer import parse
from harness.massif import massif_file
from harness.process import run

PROGRAM = """
#include <stdlib.h>
#include <string.h>
static char *kept[3000];
__attribute__((noinline)) static char *make(int n) { return memset(malloc(n), 1, n); }
int main(int argc, char **argv) {
        int n = atoi(argv[argc - 1]);
        for (int i = 0; i < n; i++) kept[i] = make(1000);
        for (int i = 0; i < 100; i++) free(make(10));
        return 0;
}
"""

GO = """heap profile: 2: 3000 [5: 9000] @ heap/1
2: 3000 [5: 9000] @ 0x401000 0x402000
#\t0x400fff\tmain.keep+0x1f\t/src/main.go:7
#\t0x401fff\tmain.main+0x2f\t/src/main.go:12
"""

# A microsecond later or earlier, the time that the process began.
PERF = """work 41/41 1.001000:    1000000 cpu-clock:
\t401000 hot+0x10 (/opt/work)
\t402000 main+0x20 (/opt/work)

work 41/41 1.002000:    1000000 cpu-clock:
\t401000 hot+0x10 (/opt/work)
\t402000 main+0x20 (/opt/work)

"""

MASSIF = massif_file([(0, 0, "empty"), (100, 5000, "peak", "0x401000: make (work.c:5)"), (200, 4000, "detailed", "0x401000: make (work.c:5)")],
                     "./work", unit="i")

MEMCHECK = """==41== Memcheck, a memory error detector
==41== Command: ./work
==41==
==41== HEAP SUMMARY:
==41==     in use at exit: 3,000 bytes in 3 blocks
==41==   total heap usage: 10 allocs, 7 frees, 10,000 bytes allocated
==41==
==41== 3,000 bytes in 3 blocks are definitely lost in loss record 1 of 1
==41==    at 0x4840: malloc (vg_replace_malloc.c:381)
==41==    by 0x1091: make (work.c:5)
==41==    by 0x1092: main (work.c:9)
==41==
==41== LEAK SUMMARY:
==41==    definitely lost: 3,000 bytes in 3 blocks
==41==    indirectly lost: 0 bytes in 0 blocks
==41==      possibly lost: 0 bytes in 0 blocks
==41==    still reachable: 0 bytes in 0 blocks
==41==         suppressed: 0 bytes in 0 blocks
==41==
==41== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
"""

# What each knows: memory or something else, its peak, what was allocated and in how many calls, times, single blocks.
KNOWN = {
    "own.silt": ("memory", "peak", "allocated", "count", "times", "blocks"),
    "heaptrack.zst": ("memory", "peak", "allocated", "count", "times", "blocks"),
    "dhat.json": ("memory", "peak", "allocated", "count", "times"),
    "massif.out": ("memory", "peak"),
    "old.heap": ("memory", "allocated", "count"),
    "go.heap": ("memory", "allocated", "count"),
    "memcheck.log": ("memory", "allocated", "count"),
    "perf.txt": ("samples of time",),
    "cpu.pb.gz": ("sums of time",),
    "a.folded": ("weights of an unknown unit",),
}


def make_all(t):
    program = t.path("work")
    with open(program + ".c", "w", encoding="ascii") as f:
        f.write(PROGRAM)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    for name, text in (("go.heap", GO), ("perf.txt", PERF), ("massif.out", MASSIF), ("memcheck.log", MEMCHECK), ("a.folded", "main;make 1200\n")):
        with open(t.path(name), "w", encoding="ascii") as f:
            f.write(text)
    for name, n in (("own.silt", "1000"), ("new.silt", "2000")):
        r = t.silt.record(t.path(name), [program, n])
        assert r.code == 0, r.errors
    for source, form, name in (("own.silt", "jeprof", "old.heap"), ("new.silt", "jeprof", "new.heap"), ("own.silt", "dhat", "dhat.json"),
                               ("own.silt", "heaptrack", "heaptrack.zst"), ("perf.txt", "pprof", "cpu.pb.gz")):
        r = t.silt.command("export", t.path(source), "--format", form, "-o", t.path(name))
        assert r.code == 0, (name, r.errors)


def words_of(r):
    return " ".join(r.text.split())


def refusal(r):
    assert r.code == 2 and not r.text and len(r.errors.strip().splitlines()) == 1, (r.code, r.text, r.errors)
    return r.errors.strip()


def check_pair(t, old, new, refusals):
    known = set(KNOWN[old]) & set(KNOWN[new])
    r = t.silt.command("diff", t.path(old), t.path(new))
    if KNOWN[old][0] != KNOWN[new][0]:
        why = refusal(r)
        assert "--by" not in why and KNOWN[old][0] in why and KNOWN[new][0] in why, why
        assert ("export" if {KNOWN[old][0], KNOWN[new][0]} == {"samples of time", "sums of time"} else "one of its kind") in why, why
        return
    assert r.code in (0, 1), (old, new, r.errors)
    got = parse(t.silt.command("diff", t.path(old), t.path(new), "--json").stdout)
    for side, name in (("old", old), ("new", new)):
        has_times = "times" in KNOWN[name] or KNOWN[name][0] == "samples of time"
        assert (got[side]["window"]["to_s"] is not None) == has_times or KNOWN[name][0] == "sums of time", (name, got[side])
    if KNOWN[old][0] != "memory":
        return
    text = words_of(r)
    for key, what in (("peak_live_bytes", "peak"), ("bytes_allocated", "allocated"), ("allocations", "count"), ("duration_s", "times"), ("temporary_allocations", "blocks")):
        total = got["totals"][key]
        for side, name in (("old", old), ("new", new)):
            assert (total[side] is not None) == (what in KNOWN[name]), (old, new, key, total)
        assert (total["change"] is not None) == (what in known), (old, new, key, total)
    assert got["metric"] == ("peak" if "peak" in known else "end"), (old, new, got["metric"])
    assert ("not know the peak, so what was live at the end is compared" in text) == ("peak" not in known), text
    assert "as long as" not in text and ("temporary allocations (" in text) <= ("blocks" in known), text
    for metric, what in (("peak", "peak"), ("allocated", "allocated"), ("count", "count"), ("temporary", "blocks")):
        r = t.silt.command("diff", t.path(old), t.path(new), "--by", metric)
        if what in known:
            assert r.code in (0, 1), (old, new, metric, r.errors)
            continue
        why = refusal(r)
        # what it advises works
        if why in refusals:
            continue
        refusals.add(why)
        advised = why.split("choose ")[1].replace(",", " ").replace(" or ", " ").split()
        assert advised and metric not in advised, why
        for m in advised:
            a = next(n for n in (old, new) if n in why)
            assert t.silt.command("report", t.path(a), "--by", m).code == 0, (a, m)


def test_every_pair_is_compared_by_what_both_know(t):
    make_all(t)
    pairs, refusals = list(itertools.combinations_with_replacement(KNOWN, 2)), set()
    for i, (old, new) in enumerate(pairs):
        check_pair(t, *((old, new) if i % 2 else (new, old)), refusals)
    t.notes.append(f"{len(pairs)} pairs")


def test_nothing_is_said_of_commands_and_rates_that_dumps_lack(t):
    make_all(t)
    old, new = t.path("old.heap"), t.path("new.heap")
    r = t.silt.command("diff", old, new)
    text = words_of(r)
    assert r.code == 1 and "NEW holds 1.9 MiB, 976.6 KiB more than OLD (+100 %); make alone grew by 976.6 KiB." in text, text
    assert "OLD: old.heap (work). NEW: new.heap (the same program)." in text and "the same command" not in text, text
    # flows are known, and no length excuses them
    assert "Besides: bytes allocated (+100 %, --by allocated), allocations (+91 %, --by count)." in text, text
    assert "no rates are known" in refusal(t.silt.command("diff", old, new, "--by", "allocated", "--per-second"))
    why = refusal(t.silt.command("diff", old, new, "--by", "mapped"))
    assert "what the program mapped itself is unknown" in why, why
    why = refusal(t.silt.command("diff", t.path("a.folded"), t.path("a.folded"), "--by", "count"))
    assert why.endswith("leave --by out"), why
    assert t.silt.command("diff", t.path("perf.txt"), t.path("perf.txt"), "--by", "cpu").code == 0
    why = refusal(t.silt.command("diff", t.path("perf.txt"), t.path("perf.txt"), "--by", "blocked"))
    assert "has no samples of time blocked: use --by cpu" in why, why
    # the way that the refusal of two kinds of time names
    assert t.silt.command("diff", t.path("cpu.pb.gz"), t.path("cpu.pb.gz")).code == 0


def test_check_of_what_imports_know(t):
    make_all(t)
    old, new = t.path("old.heap"), t.path("new.heap")
    r = t.silt.command("check", new, "--against", old)
    assert r.code == 1 and "live at the end 1.9 MiB, +100 % from base 976.6 KiB." in words_of(r), r.text + r.errors
    assert t.silt.command("check", old, "--against", new).code == 0
    assert refusal(t.silt.command("check", new, "--against", old, "--by", "peak")).endswith("choose end")
    r = t.silt.command("check", new, "--against", old, "--by", "allocated", "--by", "count", "--json")
    got = parse(r.stdout)
    assert [(c["unit"], c["remark"]) for c in got["checks"]] == [("bytes", ""), ("count", "")], got
    assert got["window"] == {"from_s": None, "to_s": None}, got
    # weights are no bytes
    r = t.silt.command("check", t.path("a.folded"), "--against", t.path("a.folded"))
    assert r.code == 0 and "weight 1,200 units, base 1,200 units (0 %)" in words_of(r), r.text
    r = t.silt.command("check", t.path("cpu.pb.gz"), "--against", t.path("cpu.pb.gz"))
    assert r.code == 0 and "time 2 ms, base 2 ms (0 %)" in words_of(r), r.text
    r = t.silt.command("check", t.path("cpu.pb.gz"), "--max-cpu", "1s", "--strict")
    assert r.code == 2 and "sums of time and does not say of which: use --against" in words_of(r), r.text
    assert "compare each with one of its kind" in refusal(t.silt.command("check", t.path("a.folded"), "--against", old))


def test_leaks_of_a_file_without_a_graph(t):
    make_all(t)
    for name in KNOWN:
        path = t.path(name)
        if name == "memcheck.log":
            assert "3,000 bytes in 3 blocks" in t.silt.command("leaks", path).text
            continue
        why = refusal(t.silt.command("leaks", path))
        assert ("take one with 'silt snapshot PID --graph'" if name == "own.silt" else "a log of memcheck") in why, why
        if KNOWN[name][0] == "memory":
            assert refusal(t.silt.command("check", path, "--max-leaked", "0")) == why
