# SPDX-License-Identifier: MIT
"""Profiles of sums: the figures of valgrind, gperftools and jemalloc are silt's, and every command takes their files."""

import glob
import gzip
import json
import os
import re

from harness.answer import parse
from harness.process import run

PROGRAM = """
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char pad[56]; };
void *kept[1000];
__attribute__((noinline)) void *small(int i) { return malloc(100 + i); }
__attribute__((noinline)) void *big(int i) { return malloc(100000 + i); }
int main(int argc, char **argv) {
        struct node *a = malloc(sizeof(*a));
        a->next = malloc(sizeof(*a));
        memset(a->next, 0, sizeof(*a));
        a = NULL;
        for (int i = 0; i < 1000; i++)
                kept[i] = i % 10 ? small(i) : big(i);
        for (int i = 0; i < 1000; i += argc > 1 ? 2 : 3) {
                free(kept[i]);
                kept[i] = NULL;
        }
        small(7);
#ifdef REALLOC
        for (int i = 1; i < 1000; i += 7)
                kept[i] = realloc(kept[i], i % 2 ? 50 : 90000);
#endif
        return 0;
}
"""


def build(t, *options):
    program = t.path("profiled")
    with open(program + ".c", "w") as f:
        f.write(PROGRAM)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program, *options])
    assert r.code == 0, r.errors
    return program


def totals(t, path):
    r = t.silt.command("report", "--json", path)
    assert r.code == 0, r.errors
    return parse(r.stdout)["totals"]


def numbers(text):
    return [int(x.replace(",", "")) for x in re.findall(r"\d[\d,]*", text)]


def line_of(text, words):
    return next(line for line in text.splitlines() if words in line).split("==")[-1]


def kept_whole(t, *paths):
    """Imported into a file, which is whole."""
    out = t.path("imported.silt")
    r = t.silt.command("import", "-f", *paths, "-o", out)
    assert r.code == 0, r.errors
    r = t.silt.command("verify", out)
    assert r.code == 0, r.errors
    return out


def test_dhat_is_as_it_sums_itself_up(t):
    out = t.path("dhat.out")
    r = run(["valgrind", "--tool=dhat", f"--dhat-out-file={out}", build(t)])
    assert r.code == 0, r.errors
    all_bytes, all_blocks = numbers(line_of(r.errors, "Total:"))
    peak_bytes, peak_blocks = numbers(line_of(r.errors, "At t-gmax:"))
    end_bytes, end_blocks = numbers(line_of(r.errors, "At t-end:"))
    got = totals(t, out)
    assert (got["bytes_allocated"], got["allocations"]) == (all_bytes, all_blocks), got
    assert (got["peak_live_bytes"], got["peak_live_blocks"]) == (peak_bytes, peak_blocks), got
    assert (got["end_live_bytes"], got["end_live_blocks"]) == (end_bytes, end_blocks), got
    assert got["peak_at_s"] is None and got["temporary_allocations"] is None, got
    assert totals(t, kept_whole(t, out)) == got


def dhat(points, **members):
    """A DHAT profile of one frame for each point: (tb, tbk, gb, gbk, eb, ebk)."""
    keys = ("tb", "tbk", "gb", "gbk", "eb", "ebk")
    rows = [dict(zip(keys, p), tl=9, mb=max(p[2], p[4]), mbk=max(p[3], p[5]), fs=[i + 1]) for i, p in enumerate(points)]
    return json.dumps({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "\u00b5s", "Mtu": "s",
                       "cmd": "app", "pid": 7, "te": 2000000, "tg": 1000000, **members, "pps": rows,
                       "ftbl": ["[root]"] + [f"0x{i + 1}0: f{i} (m.c:{i + 1})" for i in range(len(points))]})


KNOWN = ("allocations", "frees", "bytes_allocated", "peak_live_bytes", "peak_live_blocks", "end_live_bytes", "end_live_blocks", "peak_at_s")


def test_dhat_there_and_back(t):
    path, back = t.path("there.dhat"), t.path("back.dhat")
    for times in ({}, {"tu": "instrs", "Mtu": "Minstr"}):
        with open(path, "w") as f:
            f.write(dhat([(900, 9, 700, 7, 100, 1), (60, 6, 10, 1, 0, 0)], **times))
        r = t.silt.command("export", path, "--format", "dhat", "-o", back, "-f")
        assert r.code == 0 and "lifetimes are 0" in r.errors, r.errors
        got, again = totals(t, path), totals(t, back)
        assert [got[k] for k in KNOWN] == [15, 14, 960, 710, 8, 100, 1, None if times else 1.0], got
        assert [again[k] for k in KNOWN] == [got[k] for k in KNOWN], (got, again)
        assert "Lifetimes of blocks are left out" in " ".join(t.silt.command("report", path).text.split())
    with open(path, "w") as f:
        f.write("heap_v2/1\n  t*: 2: 200 [0: 0]\n@ 0x10\n  t*: 2: 200 [0: 0]\n\nMAPPED_LIBRARIES:\n")
    r = t.silt.command("export", path, "--format", "dhat", "-o", back, "-f")
    assert r.code == 2 and "has no sums of what was allocated" in r.errors and r.errors.count("\n") == 1, r.errors


def test_dhat_of_estimates(t):
    """Each figure is rounded for itself: bytes come without blocks. Counted figures that do are refused."""
    path = t.path("estimates.dhat")
    points = [(900, 7, 890, 7, 0, 0), (500, 5, 100, 1, 90, 1)]
    with open(path, "w") as f:
        f.write(dhat(points, sampleBytes=8192))
    got = totals(t, kept_whole(t, path))
    assert [got[k] for k in KNOWN[2:7]] == [1400, 990, 8, 90, 1] and got["allocations"] == 13, got
    words = " ".join(t.silt.command("report", path).text.split())
    assert "estimates from samples, one in 8.0 KiB" in words and "bytes without a block 1 time: one is counted" in words, words
    with open(path, "w") as f:
        f.write(dhat(points))
    r = t.silt.command("report", path)
    assert r.code == 2 and "estimates.dhat': the sums of a call path do not fit together" in r.errors, r.errors


def test_dhat_of_a_sampled_recording(t):
    trace, path = t.path("sampled.silt"), t.path("sampled.dhat")
    assert t.silt.command("run", "-q", "--sample", "1K", "-o", trace, "--", build(t)).code == 0
    r = t.silt.command("export", trace, "--format", "dhat", "-o", path)
    assert r.code == 0, r.errors
    mine, got = totals(t, trace), totals(t, path)
    assert [mine[k] for k in KNOWN[3:7]] == [got[k] for k in KNOWN[3:7]], (mine, got)


def test_memcheck_is_as_it_sums_itself_up(t):
    program, log, xml = build(t), t.path("memcheck.log"), t.path("memcheck.xml")
    full = ["valgrind", "--leak-check=full", "--show-leak-kinds=all"]
    assert run([*full, f"--log-file={log}", program]).code == 0
    assert run([*full, "--xml=yes", f"--xml-file={xml}", program]).code == 0
    with open(log) as f:
        text = f.read()
    end_bytes, end_blocks = numbers(line_of(text, "in use at exit:"))
    n_allocs, n_frees, n_bytes = numbers(line_of(text, "total heap usage:"))
    got = totals(t, log)
    assert (got["end_live_bytes"], got["end_live_blocks"]) == (end_bytes, end_blocks), got
    assert (got["allocations"], got["frees"], got["bytes_allocated"]) == (n_allocs, n_frees, n_bytes), got
    words = t.silt.command("report", log).text
    assert line_of(text, "definitely lost:").split("==")[-1].strip() in words and words.count("definitely lost:") == 1, words
    assert "definitely lost, as memcheck found at its exit" in " ".join(words.split()) and "Totals do not show" not in words, words
    assert "which has what was in use at exit by call path, but no peak" in " ".join(words.split()), words
    got = totals(t, xml)
    assert (got["end_live_bytes"], got["end_live_blocks"]) == (end_bytes, end_blocks), got
    assert got["allocations"] is None and got["bytes_allocated"] is None, got
    kept_whole(t, xml)
    # not asked for, blocks that are still reachable are in the summary alone: they are not 0, and not known from the XML
    part = ["valgrind", "--leak-check=full"]
    assert run([*part, f"--log-file={log}", program]).code == 0
    assert run([*part, "--xml=yes", f"--xml-file={xml}", program]).code == 0
    with open(log) as f:
        text = f.read()
    reachable, n_reachable = numbers(line_of(text, "still reachable:"))
    assert reachable > 0, text
    words = " ".join(t.silt.command("report", log).text.split())
    assert f"still reachable: {reachable:,} bytes in {n_reachable:,} block" in words, words
    words = " ".join(t.silt.command("report", xml).text.split())
    assert "still reachable are not in it: valgrind shows them with --show-leak-kinds=all" in words and "still reachable: 0" not in words, words
    # one moment, and not that of the peak
    assert got["peak_live_bytes"] is None and got["peak_live_blocks"] is None, got
    r = t.silt.command("check", log, "--max-peak", "1G")
    assert "could not be done" in r.text, r.text
    r = t.silt.command("report", log, "--by", "peak")
    assert r.code == 2 and "unknown" in r.errors, r.errors


def snapshot(number, label, nodes, unit="ms"):
    """One sum of an xtree: `nodes` are (bytes, frame) below the top."""
    total = sum(n for n, _ in nodes)
    rows = "".join(f" n0: {n} {frame}\n" for n, frame in nodes)
    return (f"#-----------\nsnapshot={number}\n#-----------\ntime=7\nmem_heap_B={total}\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
            f"heap_tree=detailed\nn{len(nodes)}: {total} {label} : words\n{rows}")


XTREE = "desc: xtree.produce_report\ncmd: ./app\ntime_unit: ms\n"
BIG, SMALL, FREER = "0x109175: big (m.c:3)", "0x109195: small (m.c:4)", "0x1091B5: main (m.c:9)"


def test_an_xtree_is_no_timeline(t):
    """Its snapshots are sums of one moment."""
    path = t.path("x.ms")
    sums = [("curB", [(700, BIG), (40, SMALL)]), ("curBk", [(7, BIG), (4, SMALL)])]
    full = [("totB", [(900, BIG), (60, SMALL)]), ("totBk", [(9, BIG), (6, SMALL)]), ("totFdB", [(220, FREER)]), ("totFdBk", [(4, FREER)])]
    for parts, allocated in ((sums, (None, None)), (sums + full, (15, 960))):
        with open(path, "w") as f:
            f.write(XTREE + "".join(snapshot(i, *part) for i, part in enumerate(parts)))
        got = totals(t, path)
        assert (got["end_live_blocks"], got["end_live_bytes"]) == (11, 740), got
        assert (got["allocations"], got["bytes_allocated"]) == allocated and got["peak_live_bytes"] is None, got
    with open(path, "w") as f:
        f.write(XTREE + snapshot(0, "RB", [(700, BIG)]))
    r = t.silt.command("report", path)
    assert r.code == 2 and "sums of 'RB : words' are unknown" in r.errors and r.errors.count("\n") == 1, r.errors


def test_an_xtree_is_as_valgrind_sums_it_up(t):
    for options in ((), ("-DREALLOC",)):
        program, path = build(t, *options), t.path("real.ms")
        r = run(["valgrind", "--xtree-memory=full", f"--xtree-memory-file={path}", program])
        assert r.code == 0, r.errors
        end_bytes, end_blocks = numbers(line_of(r.errors, "in use at exit:"))
        n_allocs, n_frees, n_bytes = numbers(line_of(r.errors, "total heap usage:"))
        got = totals(t, kept_whole(t, path))
        assert (got["end_live_bytes"], got["end_live_blocks"]) == (end_bytes, end_blocks), (got, r.errors)
        assert (got["allocations"], got["frees"], got["bytes_allocated"]) == (n_allocs, n_frees, n_bytes), (got, r.errors)


def test_gperftools_heap_is_as_pprof_tells_it(t):
    program = build(t, "-ltcmalloc")
    r = run([program], env={**os.environ, "HEAPPROFILE": t.path("hp"), "HEAP_PROFILE_ALLOCATION_INTERVAL": "2000000"})
    assert r.code == 0, r.errors
    dumps = sorted(glob.glob(t.path("hp.*.heap")))
    assert len(dumps) > 2
    live_blocks, live_bytes, n_allocs, n_bytes = numbers(open(dumps[-1]).readline())
    got = totals(t, dumps[-1])
    assert (got["end_live_bytes"], got["end_live_blocks"]) == (live_bytes, live_blocks), got
    assert (got["allocations"], got["bytes_allocated"]) == (n_allocs, n_bytes), got
    r = run(["google-pprof", "--text", "--alloc_objects", program, dumps[-1]])
    theirs = dict((m[1], int(m[0])) for m in re.findall(r"^ +(\d+) .* (big|small)$", r.text, re.M))
    r = t.silt.command("report", "--json", dumps[-1], "--group-by", "function", "--by", "count")
    ours = {row["function"]: row["self"]["allocations"] for row in parse(r.stdout)["groups"]}
    assert {k: ours[k] for k in theirs} == theirs and len(theirs) == 2, (ours, theirs)
    # one timeline of all
    timeline = totals(t, kept_whole(t, *dumps))
    assert timeline["allocations"] == n_allocs and timeline["end_live_bytes"] == live_bytes, timeline
    assert timeline["peak_live_bytes"] == max(numbers(open(d).readline())[1] for d in dumps), timeline


def test_gperftools_cuts_its_files(t):
    """At 1 MiB while it writes them: the head counts all, and what has no row has no call path."""
    path = t.path("cut.heap")
    for mark, row, end, words in (("heapprofile", "2: 200 [ 3: 300]", 9000, "200 B of the 8.8 KiB live that its head counts"),
                                  ("heap_v2/65536", "2: 200 [ 2: 200]", None, "and the rest is missing")):
        with open(path, "w") as f:
            f.write(f"heap profile: 90: 9000 [ 700: 80000] @ {mark}\n {row} @ 0x10 0x20\nMAPPED_LIBRARIES:\n")
        got = totals(t, path)
        said = " ".join(t.silt.command("report", path).text.split())
        assert words in said and "was cut when it was written" in said, said
        if end:
            assert (got["end_live_blocks"], got["end_live_bytes"], got["allocations"], got["bytes_allocated"]) == (90, end, 700, 80000), got
            r = t.silt.command("import", path, path, "-o", t.path("never.silt"))
            assert r.code == 2 and "import it alone" in r.errors and r.errors.count("\n") == 1, r.errors


def test_jemalloc_is_as_jeprof_tells_it(t):
    program = build(t)
    for name, sample in (("exact", 0), ("sampled", 12)):
        for words in ([], ["less"]):
            prefix = t.path(name + "".join(words))
            conf = f"prof:true,lg_prof_sample:{sample},prof_final:true,prof_prefix:{prefix}"
            r = run([program, *words], env={**os.environ, "MALLOC_CONF": conf, "LD_PRELOAD": "libjemalloc.so.2"})
            assert r.code == 0, r.errors
        (dump,), (less,) = glob.glob(t.path(name + ".*.heap")), glob.glob(t.path(name + "less.*.heap"))
        assert "was cut when it was written" not in " ".join(t.silt.command("report", dump).text.split()), "the head of samples is no sum of its rows"
        theirs = run(["jeprof", "--text", "--show_bytes", program, dump]).text
        got = totals(t, dump)
        # silt rounds the estimate of each call path, jeprof cuts off the sum's fraction
        fractions = got["sites"] if sample else 0
        assert abs(got["end_live_bytes"] - int(re.search(r"Total: (\d+) B", theirs)[1])) <= fractions, (got, theirs)
        assert got["allocations"] is None and got["frees"] is None and got["bytes_allocated"] is None, got
        (big,) = (int(x) for x in re.findall(r"^ +(\d+) .* big$", theirs, re.M))
        r = t.silt.command("report", "--json", dump, "--group-by", "function")
        ours = {row["function"]: row["self"]["value"] for row in parse(r.stdout)["groups"]}
        assert abs(ours["big"] - big) <= fractions, (ours, theirs)
        r = t.silt.command("diff", dump, less)
        assert r.text.startswith("NEW holds ") and "less than OLD" in r.text and "unknown         unknown" in r.text, r.text
        assert parse(t.silt.command("diff", "--json", dump, less).stdout)["metric"] == "end"
        # what was allocated is in some dumps alone: no sum of them tells the truth
        conf = f"prof:true,lg_prof_sample:{sample},prof_final:true,prof_accum:true,prof_prefix:{t.path(name + 'accum')}"
        assert run([program], env={**os.environ, "MALLOC_CONF": conf, "LD_PRELOAD": "libjemalloc.so.2"}).code == 0
        (accum,) = glob.glob(t.path(name + "accum.*.heap"))
        assert totals(t, accum)["allocations"] is not None
        r = t.silt.command("import", dump, accum, "-o", t.path("never.silt"))
        assert r.code == 2 and "one by one" in r.errors and not os.path.exists(t.path("never.silt")), r.errors
        # its names before it, as a server sends them
        raw = t.path("raw")
        with open(raw, "wb") as f:
            f.write(run(["jeprof", "--raw", program, dump]).stdout + open(dump, "rb").read())
        assert totals(t, raw)["end_live_bytes"] == got["end_live_bytes"]


def test_blocks_from_before_a_window(t):
    """Exported with a window, call paths may have more in use than they allocated in it: what is live is read back, and the rest is told."""
    trace = t.path("window.silt")
    assert t.silt.command("run", "-o", trace, build(t)).code == 0
    asked = ("--from", "@peak")
    mine = parse(t.silt.command("report", "--json", trace, *asked).stdout)["totals"]
    assert 0 < mine["end_live_blocks"] and mine["allocations"] < mine["end_live_blocks"], mine
    for name, *by in (("dhat",), ("jeprof", "--by", "end"), ("pprof",)):
        out = t.path("window." + name)
        r = t.silt.command("export", trace, "--format", name, *by, *asked, "-o", out)
        assert r.code == 0, r.errors
        got = totals(t, out)
        assert (got["end_live_bytes"], got["end_live_blocks"]) == (mine["end_live_bytes"], mine["end_live_blocks"]), (name, got, mine)
        words = " ".join(t.silt.command("report", out).text.split())
        assert "more in use than" in words and "count as the larger" in words, (name, words)


def test_every_command_takes_the_file(t):
    program, out, packed = build(t), t.path("dhat.out"), t.path("dhat.gz")
    assert run(["valgrind", "--tool=dhat", f"--dhat-out-file={out}", program]).code == 0
    with open(out, "rb") as f, gzip.open(packed, "wb") as to:
        to.write(f.read())
    trace = t.path("own.silt")
    assert t.silt.command("run", "-q", "-o", trace, "--", program).code == 0
    for words in (["report", packed], ["flame", packed, "-o", t.path("x.svg")], ["html", packed, "-o", t.path("x.html")],
                  ["source", packed, "big"], ["export", packed, "--format", "folded", "-o", t.path("x.folded")],
                  ["check", packed, "--max-peak", "1G"],
                  ["diff", packed, trace]):
        r = t.silt.command(*words)
        assert r.code in (0, 1) and "Traceback" not in r.errors, (words, r.code, r.errors)
    # the same program: the same bytes from the same function, whoever recorded it
    r = t.silt.command("diff", "--json", trace, packed, "--by", "end")
    assert r.code in (0, 1), r.errors
    r = t.silt.command("check", packed, "--max-peak", "1K")
    assert r.code == 1, (r.code, r.text)
    r = t.silt.command("leaks", packed)
    assert r.code == 2 and r.errors.count("\n") == 1, (r.code, r.errors)


def test_damaged_files_are_refused_in_one_line(t):
    path = t.path("bad")
    for text, words in (("heap_v2/1\n@ 0x1 zz\n", "line 2"), ("heap_v2/1\n t*: 1 [2\n", "has no counts"),
                        ("heap profile: 1: 2 [3: 4] @ heapprofile\n 1: x\n", "line 2"),
                        ('{"dhatFileVersion":2,"mode":"heap","pps":[{"tb":1,"tbk":1,"fs":[7]}],"ftbl":[]}', "frame 7 is not in its table"),
                        ('{"dhatFileVersion":2,"mode":"heap","pps":[{"tb":-1}]}', "byte"),
                        ('{"dhatFileVersion":3}', "version 3"),
                        ("==1== Memcheck\n==1== Command: x\n", "--leak-check=full"),
                        ("<valgrindoutput><protocoltool>memcheck</protocoltool><error></x>", "byte"),
                        # what is behind a NUL byte is not left out
                        ("heap_v2/1\n  t*: 2: 3000 [0: 0]\n@ 0x1 \0 0x2\n  t*: 2: 3000 [0: 0]\n", "line 3, byte"),
                        ("main;a 5\nmain;b\0 7\n", "a line has a NUL byte"),
                        # lines of an old Mac are not one line, nor one comment
                        ("main;a 5\rmain;b 7\r", "end with a carriage return alone"), ("main;a 5\n#main;b 7\rmain;c 8\n", "line 2, byte"),
                        ("", "is empty")):
        with open(path, "w") as f:
            f.write(text)
        r = t.silt.command("report", path)
        assert r.code == 2 and words in r.errors and r.errors.count("\n") == 1, (text, r.errors)
        out = t.path("never.silt")
        r = t.silt.command("import", path, "-o", out)
        assert r.code == 2 and not os.path.exists(out), (text, r.errors)
    r = t.silt.command("import", path, "-o", t.path("x.silt"), path)
    assert r.code == 2 and r.errors.count("\n") == 1, r.errors


def test_valgrinds_code_without_a_name_has_no_place(t):
    """Its addresses are those in memory: of a program that is position independent they are no offsets, and name nothing in its file."""
    with open(t.path("e.c"), "w") as f:
        f.write("#include <stdlib.h>\nint main(void) { return malloc(1) == 0; }\n")
    for name, flags in (("moved", ("-fPIE", "-pie")), ("fixed", ("-no-pie",))):
        assert run(["cc", "-s", *flags, "-o", t.path(name), t.path("e.c")]).code == 0
    head = "desc: --massif-out-file=x\ncmd: ./e\ntime_unit: i\n"
    massif = ("snapshot=0\ntime=0\nmem_heap_B=900\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn1: 900 (heap allocation functions) malloc\n"
              " n1: 900 0x401131: ??? (in {0})\n  n0: 900 0x401160: ??? (in {0})\n")
    dhat = ('{{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":false,"bkacc":false,"tu":"instrs","cmd":"./e","pid":7,"te":5,'
            '"pps":[{{"tb":900,"tbk":9,"fs":[0,1]}}],"ftbl":["0x401131: ??? (in {0})","0x401160: ??? (in {0})"]}}')
    log = ("==41== Memcheck, a memory error detector\n==41== Command: ./e\n==41== 900 bytes in 9 blocks are definitely lost in loss record 1 of 1\n"
           "==41==    at 0x401131: ??? (in {0})\n==41==    by 0x401160: ??? (in {0})\n==41== LEAK SUMMARY:\n==41==    definitely lost: 900 bytes in 9 blocks\n")
    moved = {f"(code without a name at 0x{address:X} in moved)" for address in (0x401160, 0x401131)}
    for text in (head + massif, dhat, log):
        for name in ("moved", "fixed"):
            with open(t.path("x"), "w") as f:
                f.write(text.format(t.path(name)))
            got, why = t.silt.report(t.path("x"))
            assert got, why
            frames = next(x for x in got["top"] if x["sites"])["sites"][0]["stack"]
            if name == "moved":
                assert {frame["function"] for frame in frames} == moved, frames
            else: # not position independent: the file may name it, or tell the offset
                assert {frame["offset"] for frame in frames} == {0x401132, 0x401161}, frames
    # silt's own export has offsets in the file
    with open(t.path("x"), "w") as f:
        f.write("desc: recorded by silt\ncmd: ./e\ntime_unit: i\n" + massif.format(t.path("moved")))
    frames = t.silt.report(t.path("x"))[0]["top"][0]["sites"][0]["stack"]
    assert {frame["offset"] for frame in frames} == {0x401132, 0x401161}, frames


def test_a_difference_tells_nothing_that_a_side_does_not_know(t):
    """Of call paths that only the other side has, too."""
    with open(t.path("x"), "w") as f:
        f.write("desc: --massif-out-file=x\ncmd: ./e\ntime_unit: i\nsnapshot=0\ntime=0\nmem_heap_B=900\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n"
                "n1: 900 (heap allocation functions) malloc\n n0: 900 0x10: f (a.c:1)\n")
    with open(t.path("y"), "w") as f:
        f.write("v 10400 3\nX ./e\nI 1000 10\ns 1 g\ni 10 0 1\nt 1 0\na 64 1\nc 0\n+ 0\nc 14\n")
    for pair, side in (("xy", "old"), ("yx", "new")):
        got = parse(t.silt.command("diff", "--json", "--by", "end", t.path(pair[0]), t.path(pair[1])).stdout)
        rows = {row["function"]: row for row in got["functions"]}
        assert set(rows) == {"f", "g"}, got
        for row in rows.values():
            told = {key: value for key, value in row[side].items() if value is not None}
            assert set(told) == {"value", "peak_live_bytes", "begin_live_bytes", "end_live_bytes"}, (pair, row)


LOG = """==41== Memcheck, a memory error detector
==41== Command: ./prog
==41== HEAP SUMMARY:
==41==     in use at exit: 8,072 bytes in 9 blocks
==41==   total heap usage: 20 allocs, 11 frees, 90,000 bytes allocated
==41== 5,000 (1,000 direct, 4,000 indirect) bytes in 2 blocks are definitely lost in loss record 2 of 3
==41==    at 0x48417B4: malloc (vg_replace_malloc.c:381)
==41==    by 0x109164: drop (a.c:5)
==41==    by 0x1091DD: main (a.c:7)
==41== 72 bytes in 1 blocks are possibly lost in loss record 1 of 3
==41==    at 0x48417B4: malloc (vg_replace_malloc.c:381)
==41==    by 0x109199: shift (a.c:9)
==41== LEAK SUMMARY:
==41==    definitely lost: 1,000 bytes in 2 blocks
==41==    indirectly lost: 4,000 bytes in 4 blocks
==41==      possibly lost: 72 bytes in 1 blocks
==41==    still reachable: 3,000 bytes in 2 blocks
==41==         suppressed: 0 bytes in 0 blocks
"""
XML = """<?xml version="1.0"?>
<valgrindoutput><protocolversion>4</protocolversion><protocoltool>memcheck</protocoltool><pid>41</pid>
<args><vargv><exe>valgrind</exe></vargv><argv><exe>./prog</exe></argv></args>
<error><unique>0x1</unique><tid>1</tid><kind>Leak_DefinitelyLost</kind>
<xwhat><text>5,000 (1,000 direct, 4,000 indirect) bytes in 2 blocks are definitely lost in loss record 2 of 3</text><leakedbytes>5000</leakedbytes><leakedblocks>2</leakedblocks></xwhat>
<stack><frame><ip>0x109164</ip><fn>drop</fn><file>a.c</file><line>5</line></frame></stack></error>
</valgrindoutput>
"""


def test_memchecks_classes_by_call_path(t):
    """`silt leaks`, the report and --max-leaked say what the log says; what it does not, is unknown."""
    log, xml = t.path("memcheck.log"), t.path("memcheck.xml")
    for path, text in ((log, LOG), (xml, XML)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        out = path + ".silt"
        assert t.silt.command("import", path, "-o", out).code == 0 and t.silt.command("verify", out).code == 0
        r = t.silt.command("leaks", "--json", path)
        assert r.code == 0, r.errors
        got = parse(r.stdout)
        assert got["by"] == "memcheck" and got["at_s"] is None, got
        assert got["definitely_lost"] == {"bytes": 1000, "blocks": 2}, got
        worst = got["records"][-1]
        assert (worst["class"], worst["bytes"], worst["blocks"], worst["indirect_bytes"], worst["indirect_blocks"]) == ("definite", 1000, 2, 4000, None), worst
        assert "drop" in [frame["function"] for frame in worst["stack"]], worst
        text = t.silt.command("leaks", path).text
        assert "5,000 (1,000 direct, 4,000 indirect) bytes in 2 blocks are definitely lost" in text and "as memcheck found at its exit" in " ".join(text.split()), text
        r = t.silt.command("check", path, "--max-leaked", "4999")
        assert r.code == 1 and "drop" in r.text, r.text + r.errors
        assert t.silt.command("check", path, "--max-leaked", "5000").code == 0
        if path == log:
            summary = LOG[LOG.index("LEAK SUMMARY"):].replace("==41== ", "")
            for line in summary.split("\n")[1:5]:
                assert line.strip() in text and line.strip() in t.silt.command("report", path).text, (line, text)
            assert got["still_reachable"] == {"bytes": 3000, "blocks": 2} and got["indirectly_lost"] == {"bytes": 4000, "blocks": 4}, got
        else:
            assert got["still_reachable"] is None and got["indirectly_lost"] is None and got["allocations"] is None, got
            assert "still reachable: unknown" in text and "at least 2 blocks" in " ".join(text.split()), text
    with open(t.path("s.supp"), "w", encoding="utf-8") as f:
        f.write("{\n one\n Memcheck:Leak\n ...\n fun:drop\n}\n")
    got = parse(t.silt.command("leaks", "--json", log, "--suppressions", t.path("s.supp")).stdout)
    assert got["definitely_lost"]["bytes"] == 0 and got["suppressed"]["bytes"] == 1000, got
