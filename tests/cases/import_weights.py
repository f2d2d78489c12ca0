# SPDX-License-Identifier: MIT
"""Files of other tools that know less than blocks and times: their own programs' figures are silt's, and nothing is invented."""

import math
import os
import re

from harness.answer import parse
from harness.massif import massif_file
from harness.process import run
from harness.served import Served

HEAP = """
#include <stdlib.h>
#include <string.h>
static char *kept[1300];
__attribute__((noinline)) static char *big(int n) { return memset(malloc(n), 1, n); }
__attribute__((noinline)) static char *small(int n) { return malloc(n); }
int main(void) {
        for (int i = 0; i < 1000; i++) { kept[i] = big(5000); if (i % 3 == 0) kept[1000] = small(40); }
        for (int i = 0; i < 500; i++) free(kept[i]);
        for (int i = 0; i < 300; i++) kept[1000 + i] = big(3000);
        return 0;
}
"""

BUSY = """
static volatile double x;
__attribute__((noinline)) static void hot(void) { for (int i = 0; i < 3000000; i++) x += i * 0.5; }
__attribute__((noinline)) static void warm(void) { for (int i = 0; i < 1000000; i++) x += i * 0.5; }
int main(void) { for (int i = 0; i < 40; i++) { hot(); warm(); } return 0; }
"""

# What a source without blocks does not know, in `totals`.
NO_BLOCKS = ("allocations", "frees", "peak_live_blocks", "end_live_blocks", "reallocations", "temporary_allocations", "threads")


def build(t, name, text, *options):
    program = t.path(name)
    with open(program + ".c", "w") as f:
        f.write(text)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", program + ".c", "-o", program, *options])
    assert r.code == 0, r.errors
    return program


def report(t, path, *options):
    r = t.silt.command("report", "--json", path, *options)
    assert r.code == 0, r.errors
    return parse(r.stdout)


def verified(t, path):
    """Imported into a file, which is whole."""
    out = t.path("imported.silt")
    r = t.silt.command("import", "-f", path, "-o", out)
    assert r.code == 0, r.errors
    r = t.silt.command("verify", out)
    assert r.code == 0, r.errors
    return out


def by_function(t, path):
    """What was measured in each function itself."""
    r = t.silt.command("report", "--json", path, "--group-by", "function", "--top", "1000")
    assert r.code == 0, r.errors
    answer = parse(r.stdout)
    rows = answer["groups"] if "groups" in answer else answer["rows"]
    return {row["function"]: row["self"]["value"] for row in rows if row["self"]["value"]}


def snapshots_of(path):
    """ms_print's table: number, time, total, useful heap."""
    r = run(["ms_print", path])
    assert r.code == 0, r.errors
    rows = re.findall(r"^ +(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$", r.text, re.M)
    return [[int(x.replace(",", "")) for x in row] for row in rows], int(re.search(r"(\d+) \(peak\)", r.text)[1])


def test_massif_is_as_ms_print_tells_it(t):
    program, out = build(t, "heap", HEAP), t.path("massif.out")
    for unit in ("ms", "i"):
        r = run(["valgrind", "--tool=massif", f"--time-unit={unit}", f"--massif-out-file={out}", program])
        assert r.code == 0, r.errors
        rows, peak = snapshots_of(out)
        got = report(t, out)
        totals = got["totals"]
        at_peak = next(r for r in rows if r[0] == peak)
        assert totals["peak_live_bytes"] == at_peak[3], (totals, at_peak)
        assert totals["end_live_bytes"] == rows[-1][3], (totals, rows[-1])
        assert [k for k in NO_BLOCKS if totals[k] is not None] == [], totals
        assert totals["bytes_allocated"] is None and got["unit"] == "bytes", got
        top = got["top"][0]["sites"]
        assert sum(s["bytes"] for s in top) == at_peak[3] and top[0]["blocks"] is None, top
        assert top[0]["stack"][0]["function"] == "big" and top[0]["bytes"] == 5000000, top[0]
        assert got["has_times"] == (unit == "ms") and (totals["peak_at_s"] is None) == (unit == "i"), totals
        if unit == "ms":
            assert round(totals["peak_at_s"] * 1000) == at_peak[1], (totals, at_peak)
        text = t.silt.command("report", out)
        assert text.code == 0 and not re.search(r"\d blocks?\b|\d allocations?\b", text.text), text.text
        assert unit == "ms" or not re.search(r"\d (ms|s)\b", text.text), text.text
        verified(t, out)
        r = t.silt.command("report", out, "--by", "count")
        assert r.code == 2 and len(r.errors.strip().splitlines()) == 1, r.errors


def test_massif_above_the_peak_it_tells(t):
    """massif takes call paths of a peak only before a free: what is above by more than its inaccuracy is the peak all the same, and so is the end."""
    taken, cut = "took no call paths of its highest snapshot", "and counts as high as that"
    for last, inaccuracy, peak, end, words in ((3000, "", 5000, 3000, None), (5000, "", 5000, 5000, None), (5040, "", 5000, 5000, cut),
                                               (6000, "", 6000, 6000, taken), (6000, "--peak-inaccuracy=20.0", 5000, 5000, cut)):
        text = massif_file([(0, 0, "empty"), (10, 5000, "peak", "0x401000: make (work.c:5)"), (20, 1000, "empty"), (30, last, "empty")], "./work")
        with open(t.path("massif.out"), "w") as f:
            f.write(text.replace("desc: (none)", f"desc: {inaccuracy or '(none)'}"))
        got = report(t, t.path("massif.out"))
        assert (got["totals"]["peak_live_bytes"], got["totals"]["end_live_bytes"]) == (peak, end), (last, inaccuracy, got["totals"])
        function = got["top"][0]["sites"][0]["stack"][0]["function"]
        assert function == ("(a snapshot without call paths)" if words == taken else "make"), (last, function)
        said = " ".join(t.silt.command("report", t.path("massif.out")).text.split())
        assert [w for w in (taken, cut) if w in said] == ([words] if words else []), said


def test_what_was_resident_has_no_kinds(t):
    """heaptrack tells how much was resident, with its own part and the files': nobody says that it was anonymous."""
    with open(t.path("x.heaptrack"), "w") as f:
        f.write("v 10400 2\nX ./server\nI 1000 8000\ns 4 main\ni 10 0 1\nt 1 0\na 100000 1\n+ 0\nc 64\nR 4000\nc c8\n")
    text = " ".join(t.silt.command("bill", t.path("x.heaptrack")).text.split())
    assert text == ("The trace was made by another tool, and does not say what resident memory was made of. "
                    "At its highest sample 64.0 MiB were resident."), text
    sampled = parse(t.silt.command("bill", t.path("x.heaptrack"), "--json").stdout)["sampled"]
    assert sampled == {"resident_bytes": 64 << 20, "anon_bytes": None, "file_bytes": None, "shmem_bytes": None}, sampled
    resident = report(t, t.path("x.heaptrack"))["resident"]
    assert resident["peak_bytes"] == 64 << 20 and [resident[k] for k in ("anon_bytes", "file_bytes", "shmem_bytes")] == [None] * 3, resident
    words = " ".join(t.silt.command("report", t.path("x.heaptrack")).text.split())
    assert "about 63.0 MiB in no block (code, libraries, stacks, variables, memory the allocator keeps, the tool's own)" in words, words
    rows = parse(t.silt.command("sql", "--json", t.path("x.heaptrack"), "SELECT part, bytes FROM memory").stdout)["rows"]
    assert rows == [["resident", 64 << 20]], rows


def test_massif_of_pages_says_so(t):
    program, out = build(t, "heap", HEAP), t.path("pages.out")
    for options, is_said in ((["--pages-as-heap=yes"], True), ([], False)):
        assert run(["valgrind", "--tool=massif", *options, f"--massif-out-file={out}", program]).code == 0
        words = " ".join(t.silt.command("report", out).text.split())
        assert ("Figures are pages that were mapped" in words) == is_said, words
        assert "is that of the last snapshot" in words, words


def test_folded_stacks_add_up(t):
    path = t.path("stacks.folded")
    with open(path, "w") as f:
        f.write("main;serve;parse 1204\nmain;serve 3\nmain;serve 4\nmain;idle 0\nother 89\n")
    got = report(t, path)
    assert got["headline"] == "the program: 1,300 units in 3 call paths.", got["headline"]
    assert got["unit"] == "units" and got["duration_s"] is None and got["totals"]["allocations"] is None, got
    assert by_function(t, path) == {"parse": 1204, "serve": 7, "other": 89}
    back = t.silt.command("export", verified(t, path), "--format", "folded", "-o", t.path("back.folded"))
    assert back.code == 0, back.errors
    with open(t.path("back.folded")) as f:
        assert sorted(f.read().split("\n")) == sorted(["main;serve;parse 1204", "main;serve 7", "other 89", ""])
    text = t.silt.command("report", path)
    assert not re.search(r"\bB\b|KiB|live|allocat|blocks|\d s\b", text.text.split("Recording")[0]), text.text
    flame = t.silt.command("flame", path, "-o", t.path("x.svg"))
    assert flame.code == 0, flame.errors
    with open(t.path("x.svg")) as f:
        assert "1,300 units in total" in f.read()


def test_folded_weights_may_have_decimals(t):
    """They are read as fine as the finest of them; of large ones what fits."""
    def total(text):
        path = t.path("decimals.folded")
        with open(path, "w") as f:
            f.write(text)
        r = t.silt.command("report", path)
        assert r.code == 0, r.errors
        return " ".join(r.text.split())
    words = total("main;b 2\nmain;a 10.50\nmain;c 0.25\n")
    assert "1,275 units in 3 call paths" in words and "Its weights have decimals: figures are 100 times as large" in words, words
    assert "12 units in 2 call paths" in total("main;b 2\nmain;a 10.0\n")
    words = total("main;a 1000000000000.123456789123\n")
    assert "figures are 100,000 times as large" in words and "100,000,000,000,012,345 units" in words, words
    for text in ("main 1.5.2\n", "main 1e5\n", "main 2\nmain 1.x\n"):
        with open(t.path("odd.folded"), "w") as f:
            f.write(text)
        r = t.silt.command("report", t.path("odd.folded"))
        assert r.code == 2 and r.errors.count("\n") == 1, r.errors


def test_cpu_profile_is_as_google_pprof_tells_it(t):
    program = build(t, "busy", BUSY, "-Wl,--no-as-needed", "-lprofiler")
    path = t.path("cpu.prof")
    r = run([program], env={**os.environ, "CPUPROFILE": path, "CPUPROFILE_FREQUENCY": "500"})
    assert r.code == 0, r.errors
    r = run(["google-pprof", "--text", program, path])
    assert r.code == 0, r.errors
    told = {name: int(n) for n, name in re.findall(r"^ +(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% (\S+)", r.text, re.M)}
    total = int(re.search(r"Total: (\d+) samples", r.text)[1])
    got = report(t, path)
    assert got["unit"] == "samples" and got["totals"]["peak_live_bytes"] == total, (got["totals"], r.text)
    mine = by_function(t, path)
    assert mine["hot"] == told["hot"] and mine["warm"] == told["warm"], (mine, told)
    verified(t, path)
    # behind its symbols: nothing in the file says what its counts are
    raw = t.path("raw.prof")
    with open(raw, "wb") as f:
        f.write(run(["google-pprof", "--raw", program, path]).stdout)
    got = report(t, raw)
    assert got["unit"] == "units" and got["totals"]["peak_live_bytes"] == total, got["totals"]
    named = by_function(t, raw)
    assert named["hot"] == mine["hot"] and named["warm"] == mine["warm"], (mine, named)
    assert "It does not say what its counts are" in " ".join(t.silt.command("report", raw).text.split())
    verified(t, raw)
    # nor allocations
    stripped = build(t, "stripped", BUSY, "-g0", "-s", "-Wl,--no-as-needed", "-lprofiler")
    assert run([stripped], env={**os.environ, "CPUPROFILE": t.path("stripped.prof"), "CPUPROFILE_FREQUENCY": "500"}).code == 0
    words = " ".join(t.silt.command("report", t.path("stripped.prof")).text.split())
    assert "of samples come from code without source lines" in words and "allocations" not in words, words
    # samples are no bytes
    with open(t.path("a.folded"), "w") as f:
        f.write("main 3\n")
    r = t.silt.command("diff", path, t.path("a.folded"))
    assert r.code == 2 and "cannot compare" in r.errors and len(r.errors.strip().splitlines()) == 1, r.errors
    r = t.silt.command("diff", path, path)
    assert r.code == 0 and f"{total:,} samples" in r.text, r.text


INSTRUMENTS = """<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name="time-profile"><col><mnemonic>time</mnemonic></col></schema>
<row><sample-time id="1" fmt="00:00.1">123456789</sample-time><thread id="2" fmt="Main"><tid id="3">7</tid></thread><weight id="8" fmt="1.00 ms">1000000</weight><tagged-backtrace id="9"><backtrace id="10"><frame id="11" name="hot" addr="0x1005"><binary id="12" name="app" path="/x/app"/></frame><frame id="13" name="main" addr="0x1080"><binary ref="12"/></frame></backtrace></tagged-backtrace></row>
<row><sample-time id="4">133456789</sample-time><thread ref="2"/><weight ref="8"/><tagged-backtrace ref="9"/></row>
<row><sample-time id="5">143456789</sample-time><weight id="20" fmt="2.00 ms">2000000</weight><backtrace id="21"><frame id="22" name="warm" addr="0x1105"><binary ref="12"/></frame><frame ref="13"/></backtrace></row>
<row><sample-time id="6">153456789</sample-time><weight ref="20"/><backtrace ref="21"/></row>
<row><sample-time id="7">163456789</sample-time><weight ref="8"/><backtrace id="30"><frame id="31" name="0x9999" addr="0x9999"/></backtrace></row>
</node></trace-query-result>
"""


def test_instruments_export_after_its_form(t):
    """No program of this machine writes such files: this one has the form of xctrace's, with its references."""
    path = t.path("profile.xml")
    with open(path, "w") as f:
        f.write(INSTRUMENTS)
    got = report(t, path)
    assert got["unit"] == "time" and got["totals"]["peak_live_bytes"] == 7000000, got["totals"]
    assert got["headline"] == "the program: 7 ms in 3 call paths.", got["headline"]
    mine = by_function(t, path)
    assert mine.pop("hot") == 2000000 and mine.pop("warm") == 4000000 and list(mine.values()) == [1000000], mine
    verified(t, path)


def test_dumps_without_times_are_numbered(t):
    for n, name in ((200, "1.heap"), (900, "2.heap")):
        with open(t.path(name), "w") as f:
            f.write(f"heap_v2/1\n  t*: 2: {n} [0: 0]\n@ 0x10 0x20\n  t*: 2: {n} [0: 0]\n\nMAPPED_LIBRARIES:\n")
    out = t.path("both.silt")
    r = t.silt.command("import", t.path("1.heap"), t.path("2.heap"), "-o", out)
    assert r.code == 0, r.errors
    text = t.silt.command("report", out).text
    assert "peaked at 900 B at moment 2 of 2" in text and not re.search(r"\d m?s\b|per second +\d", text), text
    one = t.silt.command("report", t.path("1.heap")).text
    assert "held 200 B in 2 blocks." in one and "by moment" not in one and "over time" not in one, one
    got = report(t, out)
    assert got["duration_s"] is None and got["run_time_s"] is None and got["totals"]["peak_at_s"] is None, got
    r = t.silt.command("diff", "--per-second", "--by", "growth", t.path("1.heap"), t.path("2.heap"))
    assert r.code == 2 and "no times" in r.errors, r.errors
    r = t.silt.command("check", out, "--max-growth", "1K/s")
    assert "growth unknown (the trace has no times)" in r.text, r.text


def dump(t, name, text):
    with open(t.path(name), "w") as f:
        f.write(text)
    return t.path(name)


def jemalloc_dump(t, name, rate, live, all_of_them):
    sums = f"{live[0]}: {live[1]} [{all_of_them[0]}: {all_of_them[1]}]"
    return dump(t, name, f"heap_v2/{rate}\n  t*: {sums}\n@ 0x10 0x20\n  t*: {sums}\n\nMAPPED_LIBRARIES:\n")


def test_estimates_of_dumps_may_fall(t):
    """Samples are scaled by the mean size of a call path: what it allocated falls when a large block comes. What is live stays as each dump says."""
    dumps = [jemalloc_dump(t, "a.1.heap", 16384, (3, 300), (4, 400)), jemalloc_dump(t, "a.2.heap", 16384, (1, 100), (5, 200400)),
             jemalloc_dump(t, "a.3.heap", 16384, (2, 200100), (6, 200500))]
    out = t.path("all.silt")
    r = t.silt.command("import", *dumps, "-o", out)
    assert r.code == 0, r.errors
    assert t.silt.command("verify", out).code == 0
    alone = [report(t, d)["totals"] for d in dumps]
    assert alone[1]["allocations"] < alone[0]["allocations"] - 1, alone
    for n, one in enumerate(alone, 1):
        got = report(t, out, "--to", str(n))["totals"]
        assert {k: got[k] for k in ("end_live_bytes", "end_live_blocks")} == {k: one[k] for k in ("end_live_bytes", "end_live_blocks")}, (n, got, one)
    words = " ".join(t.silt.command("report", out).text.split())
    assert "Estimates of what call paths allocated or freed fell" in words and "the larger counts" in words, words


def test_sums_that_shrink_are_refused_by_name(t):
    """Counted, not estimated: the order is wrong, or it is another program."""
    for rate, live, all_of_them in ((1, (3, 300), (900, 90000)), (16384, (3, 300), (9000, 90000000))):
        dumps = [jemalloc_dump(t, "b.1.heap", rate, live, all_of_them), jemalloc_dump(t, "b.2.heap", rate, (1, 100), (2, 200))]
        r = t.silt.command("import", *dumps, "-o", t.path("never.silt"))
        assert r.code == 2 and "b.2.heap': a call path allocated or freed less than in the file before" in r.errors, r.errors
        assert r.errors.count("\n") == 1, r.errors


def test_tcmalloc_does_not_say_what_it_freed(t):
    """Its samples are those of live blocks, written twice."""
    def heap(name, n, size):
        return dump(t, name, f"heap profile: {n}: {size} [{n}: {size}] @ heap_v2/65536\n {n}: {size} [{n}: {size}] @ 0x10 0x20\nMAPPED_LIBRARIES:\n")

    dumps = [heap("tc.0.heap", 9, 900000), heap("tc.1.heap", 4, 400000)]
    out = t.path("both.silt")
    r = t.silt.command("import", *dumps, "-o", out)
    assert r.code == 0, r.errors
    got, (first, second) = report(t, out)["totals"], [report(t, d)["totals"] for d in dumps]
    assert got["peak_live_bytes"] == first["end_live_bytes"] and got["end_live_bytes"] == second["end_live_bytes"], got
    assert got["allocations"] is None and got["bytes_allocated"] is None, got


def test_dumps_are_read_in_the_order_of_their_numbers(t):
    """As a shell gives them, .10 before .2."""
    dumps = [jemalloc_dump(t, f"app.{n}.heap", 1, (n, 100 * n), (0, 0)) for n in (1, 10, 2)]
    out = t.path("app.silt")
    r = t.silt.command("import", *dumps, "-o", out)
    assert r.code == 0 and f"in the order of their numbers, from '{dumps[0]}' to '{dumps[1]}'" in r.errors, r.errors
    assert report(t, out)["totals"]["end_live_bytes"] == 1000
    r = t.silt.command("import", dumps[0], dumps[2], "-o", out, "-f")
    assert r.code == 0 and "order" not in r.errors, r.errors
    words = [jemalloc_dump(t, name, 1, (n, 100 * n), (0, 0)) for name, n in (("before.heap", 3), ("after.heap", 2))]
    r = t.silt.command("import", *words, "-o", out, "-f")
    assert r.code == 0 and report(t, out)["totals"]["end_live_bytes"] == 200, r.errors


def test_fractions_of_go_are_cut_off(t):
    """As Go scales its own profiles, and pprof those in text."""
    def scaled(n, size):
        by = 1 / (1 - math.exp(-(size / n) / 524288))
        return int(n * by), int(size * by)

    path = dump(t, "go.txt", "heap profile: 3: 2600 [5: 4300] @ heap/1048576\n3: 2600 [5: 4300] @ 0x10 0x20\n")
    got = report(t, path)["totals"]
    assert (got["end_live_blocks"], got["end_live_bytes"]) == scaled(3, 2600), got
    assert (got["allocations"], got["bytes_allocated"]) == scaled(5, 4300), got
def test_top_and_metrics_tell_only_what_is_known(t):
    """Of sums growth and rates are unknown, of one dump the peak, of massif's profile blocks; units that are not bytes are refused."""
    dump, massif, folded = t.path("1.heap"), t.path("massif.out"), t.path("stacks.folded")
    with open(dump, "w") as f:
        f.write("heap_v2/1\n  t*: 2: 2000 [0: 0]\n@ 0x10 0x20\n  t*: 2: 2000 [0: 0]\n\nMAPPED_LIBRARIES:\n")
    with open(massif, "w") as f:
        f.write("desc: (none)\ncmd: ./prog\ntime_unit: ms\n")
        for n, size, tree in ((0, 100, "empty"), (1, 3000, "peak"), (2, 500, "empty")):
            f.write(f"#-----------\nsnapshot={n}\n#-----------\ntime={n * 10}\nmem_heap_B={size}\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree={tree}\n")
            f.write("n1: 3000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n0: 3000 0x10: hold (a.c:1)\n" if tree == "peak" else "")
    with open(folded, "w") as f:
        f.write("main;work 1000\n")
    for path, live, peak, blocks in ((dump, 2000, None, 2), (massif, 500, 3000, None)):
        text = t.silt.command("top", "--batch", path).text
        assert "growth and rates are unknown" in text.replace("\n", " ") and "/s in" not in text and "pid" not in text, text
        assert ("peak unknown" in text) == (peak is None) and not re.search(r"[+]\d", text), text
        got = parse(t.silt.command("top", "--json", path).stdout)
        assert (got["live_bytes"], got["peak_live_bytes"], got["live_blocks"]) == (live, peak, blocks), got
        unknown = ("allocations", "bytes_allocated", "failed_allocations", "allocations_per_s", "bytes_allocated_per_s", "growth_bytes_per_s")
        assert all(got[key] is None for key in unknown), got
        assert all(row["growth_bytes"] is None and row["allocations_per_s"] is None for row in got["top"]), got
        assert (got["at_s"] is None) == (path == dump), got
        told = dict(re.findall(r"^(silt_\w+)\{[^}]*\} (\S+)$", t.silt.command("metrics", path).text, re.M))
        assert told["silt_heap_live_bytes"] == str(live), told
        assert told.get("silt_heap_peak_bytes") == (peak and str(peak)) and told.get("silt_heap_live_blocks") == (blocks and str(blocks)), told
        assert not [name for name in told if re.search("alloca(tions|ted)|frees|growth|lost", name)], told
        assert ("silt_recording_time_seconds" in told) == (path == massif), told
    for command in (("top", "--batch"), ("metrics",), ("push", "--to", "http://127.0.0.1:1/")):
        r = t.silt.command(*command, folded)
        assert r.code == 2 and r.errors.count("\n") == 1 and "is not a profile of memory" in r.errors and not r.text, r


def test_profiles_of_goroutines_are_refused_by_name(t):
    r = t.silt.command("report", dump(t, "goroutines.txt", "goroutine profile: total 1\n1 @ 0x10 0x20\n#\t0x10\tmain.f+0x1\t/m.go:4\n"))
    assert r.code == 2 and "a profile of Go in text" in r.errors and r.errors.count("\n") == 1, r.errors


def test_ltrace_says_what_it_does_not_show(t):
    log = "server->malloc(100) = 0x38e0e2a0\n"
    for more, is_said in (('server->strdup("abc") = 0x38e0e310\n', True), ("server->strlen(0x38e0e310) = 3\n", False)):
        words = " ".join(t.silt.command("report", dump(t, "lt.log", log + more)).text.split())
        assert ("Blocks of strdup and other functions that allocate inside the C library are missing" in words) == is_said, words


def test_ltrace_without_call_sites_is_not_judged(t):
    """One call path for all that the program allocates: of no block is told what became of it. With -i addresses are call paths."""
    lines = [f"server->malloc({100 + i % 7}) = 0x{0x1000 + i * 0x100:x}" for i in range(3000)]
    lines += [f"server->free(0x{0x1000 + i * 0x100:x}) = <void>" for i in range(2000)]
    for head, is_judged in (("", False), ("[0x401136] ", True)):
        path = dump(t, "lt.log", "".join(head + line + "\n" for line in lines))
        words = " ".join(t.silt.command("report", path).text.split())
        assert ("It names no call sites, only files of code: record with ltrace -i." in words) != is_judged, words
        assert ("The source names no call sites, so it is unknown whether it leaks." in words) != is_judged, words
        assert ("LEAK SUMMARY" in words) == is_judged and ("startup memory" in words or "in caches" in words) == is_judged, words
        assert "server peaked at" in words and "the program" not in words, words
        assert ("(code without a name at 0x401136 in server)" in words) == is_judged, words


def test_samples_are_where_they_were_taken(t):
    """Of samples nothing is folded away: who requested memory is not asked, and what the C library did is no work of its caller."""
    script = dump(t, "faults.txt", "busy 7/7 1.000000:          3 page-faults: \n\t   7f10 memset+0x20 (/lib/libc.so.6)\n\t   401136 fill+0x20 (/usr/bin/busy)\n\n")
    (row,) = [r for r in report(t, script, "--group-by", "function")["groups"] if r["self"]["value"]]
    assert row["function"] == "memset", row


def test_no_advice_that_another_tools_file_cannot_follow(t):
    """What needs a recording of silt's own says so; times that nobody knows are no window and no duration."""
    folded = dump(t, "a.folded", "main;serve 3\n")
    heap = dump(t, "a.heap", "heap profile: 3: 2600 [5: 4300] @ heapprofile\n3: 2600 [5: 4300] @ 0x10 0x20\n")
    log = dump(t, "m.log", "= Start\n@ ./x:[0x1206] + 0x1000 0xbb8\n@ ./x:[0x1206] - 0x1000\n")
    script = dump(t, "perf.txt", "busy 7/7 1.000000:     250000 cpu-clock:u: \n\t   401136 hot+0x20 (/usr/bin/busy)\n\n")
    for path in (folded, heap, log):
        for words in (("tasks", path), ("holders", path), ("heap", path, "-o", t.path("never.svg"))):
            r = t.silt.command(*words)
            assert r.code == 2 and "made by another tool" in r.errors and "snapshot" not in r.errors, (words, r.errors)
        for command in ("verify", "symbolize"):
            r = t.silt.command(command, path)
            assert r.code == 2 and "not a silt trace: make a trace of it with 'silt import'" in r.errors, (command, r.errors)
    for path in (folded, heap):
        for option in ("--from", "--to"):
            r = t.silt.command("report", path, option, "500ms")
            assert r.code == 2 and f"{option}: the file has one sum for each call path, and no times" in r.errors, r.errors
    r = t.silt.command("whatif", folded)
    assert r.code == 2 and "is not a profile of memory" in r.errors, r.errors
    r = t.silt.command("whatif", script)
    assert r.code == 2 and "has samples of time and no allocations" in r.errors, r.errors
    words = " ".join(t.silt.command("whatif", heap).text.split())
    assert "Nothing to replay: the file has totals and no single allocations" in words and "All of the 2.5 KiB live was allocated by 0x10." in words, words
    words = " ".join(t.silt.command("whatif", log).text.split())
    assert "1 allocations and 1 frees, replayed as fast as it goes: the times are unknown." in words, words
    r = t.silt.command("whatif", "--paced", log)
    assert r.code == 2 and "has no times" in r.errors, r.errors
    assert "has no times" not in t.silt.command("top", "--batch", script).text


def test_dumps_are_of_the_program_that_is_mapped_first(t):
    maps = "MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 7 /opt/app/server\n7f00000-7f10000 r-xp 00000000 08:01 8 /lib/libc.so.6\n"
    for name, head in (("a.heap", "heap profile: 3: 2600 [5: 4300] @ heapprofile\n3: 2600 [5: 4300] @ 0x401000\n"),
                       ("b.heap", "heap_v2/1\n  t*: 3: 2600 [5: 4300]\n@ 0x401000\n  t*: 3: 2600 [5: 4300]\n\n")):
        got = report(t, dump(t, name, head + maps))
        assert got["headline"].startswith("server held"), got["headline"]


def test_dhat_without_lifetimes_knows_nothing_live(t):
    """`bklt` is false: sums of what was allocated, and no word on what was freed."""
    path = t.path("totals.dhat")
    with open(path, "w") as f:
        f.write('{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":false,"bkacc":false,"cmd":"app","pid":7,"te":5,'
                '"pps":[{"tb":900,"tbk":9,"fs":[1]},{"tb":60,"tbk":6,"fs":[2]}],"ftbl":["[root]","0x10: f (m.c:1)","0x20: g (m.c:2)"]}')
    got = report(t, path)
    assert got["headline"] == "app allocated 960 B in 15 allocations. What was live is unknown.", got["headline"]
    totals = got["totals"]
    assert (totals["allocations"], totals["bytes_allocated"]) == (15, 960), totals
    assert [totals[k] for k in ("frees", "peak_live_bytes", "end_live_bytes", "peak_live_blocks", "end_live_blocks")] == [None] * 5, totals
    assert got["top"][0]["metric"] == "allocated" and got["findings"] == [], got
    for line in t.silt.command("report", verified(t, path)).text.splitlines():
        assert not re.search(r"(peak live|at the end|frees) +\d", line), line
    for metric in ("peak", "end", "growth"):
        r = t.silt.command("report", path, "--by", metric)
        assert r.code == 2 and "what was live is unknown: choose allocated" in r.errors, r.errors
    r = t.silt.command("sql", "--csv", path, "SELECT allocated_bytes, freed_bytes, end_bytes, peak_bytes FROM sites ORDER BY 1")
    assert r.text.split() == ["allocated_bytes,freed_bytes,end_bytes,peak_bytes", "60,,,", "900,,,"], r.text
    r = t.silt.command("check", path, "--max-peak", "1K", "--max-end", "1K", "--max-allocated", "1K", "--json")
    assert [x["verdict"] for x in parse(r.stdout)["checks"]] == ["unknown", "unknown", "ok"], r.text
    r = t.silt.command("metrics", path)
    assert r.code == 0 and "_allocated_bytes_total" in r.text and "live_bytes{" not in r.text and "silt_own_" not in r.text, r.text
    r = t.silt.command("export", path, "--format", "massif", "-o", t.path("never"))
    assert r.code == 2 and "has no sums of what was live" in r.errors and r.errors.count("\n") == 1, r.errors


def test_a_page_is_told_only_what_is_known(t):
    """What nobody measured is no metric, no column and no 0; what a file of garbage could have been is told."""
    folded = dump(t, "a.folded", "main;serve 3\n")
    script = dump(t, "perf.txt", "busy 7/7 1.000000:     250000 cpu-clock:u: \n\t   401136 hot+0x20 (/usr/bin/busy)\n\n")
    waits = dump(t, "waits.txt", "busy 7/7 1.000000:     250000 offcpu-time: \n\t   401136 hot+0x20 (/usr/bin/busy)\n\n")
    log = dump(t, "m.log", "= Start\n@ ./x:[0x1206] + 0x1000 0xbb8\n")
    for path, metrics, has_threads, has_waits in ((folded, ["peak"], False, None), (script, ["cpu"], True, False), (waits, ["cpu", "blocked"], True, True),
                                                  (log, ["peak", "end", "allocated", "count", "temporary", "growth"], False, None)):
        s = Served(t, [t.silt.path, "view", path, "--no-browser"])
        trace, threads = s.ask("trace"), s.ask("threads")
        assert (trace["metrics"], trace["has_threads"], trace["imported"]) == (metrics, has_threads, True), trace
        assert threads["mappings"] is None, threads
        if has_waits is not None:
            assert all(("blocked_s" in x, "cpu_s" in x) == (has_waits, True) for x in threads["threads"] + threads["processes"]), threads
        s.end()
    r = t.silt.command("report", dump(t, "garbage", "no format\n\1\2"))
    assert r.code == 2 and "'silt import --help' lists them" in r.errors and r.errors.count("\n") == 1, r.errors
    text = t.silt.command("import", "--help").text
    assert "formats (silt-import(1)" in text and "heaptrack" in text and "memray" in text, text


def test_call_paths_that_weigh_the_same_are_bounded(t):
    """Of many alike only some are looked at one by one: what is told, and what all others have, adds up, and --top still tells as many."""
    n = 12000
    with open(t.path("alike.folded"), "w") as f:
        f.write("main;heavy 100\n")
        f.writelines(f"main;f{i} 7\n" for i in range(n))
    trace = verified(t, t.path("alike.folded"))
    for options, least in (([], 5), (["--top", "5000"], 5000)):
        text = t.silt.command("report", *options, trace).text
        told = [int(x.replace(",", "")) for x in re.findall(r"^ *([\d,]+) units .* (?:f\d+|heavy)$", text, re.M)]
        (rest,) = re.findall(r"^ *([\d,]+) units [^\n]*… ([\d,]+) more call paths", text, re.M)
        rest = [int(x.replace(",", "")) for x in rest]
        assert len(told) >= least and max(told) == 100, text[:3000]
        assert sum(told) + rest[0] == 100 + 7 * n and len(told) + rest[1] == n + 1, (sum(told), len(told), rest)
