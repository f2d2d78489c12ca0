# SPDX-License-Identifier: MIT
"""`silt import` of recordings with single events: heaptrack, mtrace and ltrace as those programs write them, with their own figures;
memray and bytehound in files written here after their formats."""

import gzip
import os
import re
import shutil
import struct
import subprocess

from harness.answer import parse
from harness.cases import skip
from harness.served import Served

UNITS = {"B": 1, "K": 1000, "M": 10**6, "G": 10**9}
SQL = ("create table a(x,y); with recursive c(n) as (select 1 union all select n+1 from c where n<2000) insert into a select n, hex(randomblob(20)) from c;"
       "create index i on a(y); select count(*) from a")
PYTHON = "import json, threading\nd = [bytearray(i * 37 % 5000) for i in range(3000)]\ndel d[::2]\njson.dumps({str(i): i for i in range(500)})"


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def totals(t, path, trace="i.silt"):
    r = t.silt.command("import", "-f", path, "-o", t.path(trace))
    assert r.code == 0, r.errors
    assert t.silt.command("verify", t.path(trace)).code == 0, "silt verify"
    got, why = t.silt.report(t.path(trace))
    assert got, why
    direct, why = t.silt.report(path)
    assert direct and direct["totals"] == got["totals"], "read directly it is another"
    return got["totals"]


def refused(t, path, *words):
    r = t.silt.command("import", "-f", path, "-o", t.path("r.silt"))
    assert r.code == 2 and r.errors.count("\n") == 1, r.errors
    for word in words:
        assert word in r.errors, r.errors


def heaptrack(t, name, argv):
    """(raw recording, the same interpreted, how many temporary blocks the interpreter counted). Left to itself, heaptrack opens its window."""
    if not shutil.which("heaptrack"):
        skip("no heaptrack")
    subprocess.run(["heaptrack", "--raw", "-o", t.path(name), *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    raw = t.path(name) + ".raw.zst"
    plain = subprocess.run(["zstd", "-dcq", raw], capture_output=True).stdout
    interpret = shutil.which("heaptrack_interpret") or "/usr/lib/heaptrack/libexec/heaptrack_interpret"
    r = subprocess.run([interpret], input=plain, capture_output=True)
    temporary = int(re.search(r"temporary allocations: *\t?(\d+)", r.stderr.decode()).group(1))
    return raw, write(t.path(name), r.stdout), temporary


def heaptrack_says(path):
    text = subprocess.run(["heaptrack_print", "--disable-builtin-suppressions", "--disable-embedded-suppressions", path], capture_output=True, text=True, timeout=600).stdout

    def find(words):
        return re.search(words + r": ([0-9.]+)([BKMG]?)", text).groups()

    return find("calls to allocation functions"), find("temporary memory allocations"), find("peak heap memory consumption"), find("total memory leaked")


def same_size(told, size_bytes, what):
    """heaptrack_print has two digits behind the point."""
    number, unit = told
    assert abs(float(number) * UNITS[unit or "B"] - size_bytes) <= 0.0051 * UNITS[unit or "B"], f"{what}: heaptrack says {number}{unit}, silt {size_bytes}"


def same_as_heaptrack(path, got, n_temporary=None):
    calls, temporary, peak, leaked = heaptrack_says(path)
    assert int(calls[0]) == got["allocations"], (calls, got)
    same_size(peak, got["peak_live_bytes"], "peak")
    same_size(leaked, got["end_live_bytes"], "leaked")
    # silt also counts blocks that go after others did, if no allocation was in between
    n = int(temporary[0]) if n_temporary is None else n_temporary
    more = got["temporary_allocations"] - n
    assert -2 <= more <= max(5, got["allocations"] // 20), (n, got["temporary_allocations"])


def test_heaptrack(t):
    for name, argv in (("sql", ["sqlite3", ":memory:", SQL]), ("py", ["python3", "-c", PYTHON])):
        raw, path, n_temporary = heaptrack(t, name, argv)
        got, of_raw = totals(t, path), totals(t, raw)
        same_as_heaptrack(path, got)
        same_as_heaptrack(path, of_raw, n_temporary)
        assert got["threads"] is None, "who did what is not in the file"
        r = t.silt.command("sql", t.path("i.silt"), "SELECT count(foreign_frees) FROM threads", "--csv")
        assert r.text.split() == ["count(foreign_frees)", "0"], r.text
        for key in ("allocations", "frees", "bytes_allocated", "peak_live_bytes", "end_live_bytes", "end_live_blocks"):
            assert got[key] == of_raw[key], key
        with open(path, "rb") as f:
            assert totals(t, write(t.path("h.gz"), gzip.compress(f.read(), 1))) == got


def test_heaptrack_cut_and_packed(t):
    lines = b"v 10400 3\nX ./a\nI 1000 10\ns 2 fn\ni 10 0 1\nt 1 0\na 10 1\n" + b"+ 0\n" * 50 + b"- 0\n" * 20
    got = totals(t, write(t.path("whole"), lines))
    assert got["end_live_blocks"] == 30 and got["reallocations"] is None, got  # which heaptrack does not tell
    assert re.search(r"reallocations +unknown", t.silt.command("report", t.path("whole")).text)
    assert totals(t, write(t.path("cut"), lines[:-1]))["end_live_blocks"] == 31, "a line that is cut off counts for nothing"
    assert "cut off" in t.silt.command("report", t.path("i.silt")).stdout.decode()
    refused(t, write(t.path("bad"), lines + b"+ 7\n"), "line 78", "+ 7")
    refused(t, write(t.path("new"), b"v 20000 9\nX a\n"), "version 9")
    refused(t, write(t.path("bomb.gz"), gzip.compress(b"v 10400 3\nX a\n#" + b"a" * (40 << 20))), "16 MiB")
    # version 2 and version 1: strings without a length
    old = b"v 10100 2\nX a\ns fn(int, char)\ni 10 0 1\nt 1 0\na 10 1\n+ 0\n- 0\n+ 0\n"
    for text in (old, old.replace(b"v 10100 2", b"v 10200")):
        got = totals(t, write(t.path("old"), text))
        assert (got["allocations"], got["temporary_allocations"], got["end_live_bytes"]) == (2, 1, 16)


LOGGED = """#include <malloc.h>
#include <mcheck.h>
#include <stdlib.h>
int main(void) { mtrace(); void *a = malloc(100), *b = calloc(3, 50); a = realloc(a, 5000); b = realloc(b, 10); free(a);
    void *p = memalign(64, 300); free(p); for (int i = 0; i < 50; i++) free(malloc(i * 10)); return !b; }
"""
LOGGED_SUMS = {"allocations": 55, "frees": 54, "bytes_allocated": 100 + 150 + 5000 + 10 + 300 + 12250, "end_live_bytes": 10, "peak_live_bytes": 5150}


def build_logged(t):
    write(t.path("l.c"), LOGGED.encode())
    subprocess.run(["cc", "-g", "-O0", "-fno-builtin", "-no-pie", "-z", "lazy", "-o", t.path("l"), t.path("l.c")], check=True)
    return t.path("l")


def test_what_happens_at_the_end_is_told_by_findings_too(t):
    """The last line of a log is a free, at the very time at which the recording ends: findings count it as totals do."""
    lines = ["= Start"]
    for i in range(100):
        lines += [f"@ ./x:[0x1206] + {0x1000 + i * 0x1000:#x} 0xbb8"]
        lines += [f"@ ./x:[0x1300] - {0x1000 + i * 0x1000:#x}"] if i % 3 else []
    lines += ["@ ./x:[0x1206] + 0x900000 0xbb8", "@ ./x:[0x1300] - 0x900000"]
    path = write(t.path("end.log"), "\n".join(lines).encode() + b"\n")
    got = totals(t, path)
    assert (got["end_live_blocks"], got["end_live_bytes"]) == (34, 34 * 3000), got
    (leak,) = [x for x in t.silt.report(path)[0]["findings"] if x["kind"] == "leak"]
    assert (leak["evidence"]["blocks"], leak["bytes"], leak["evidence"]["frees"]) == (34, 34 * 3000, 67), leak


def expect_no_times(t, path, n):
    """Of n events in the file: nothing that takes times is told, and what the order tells is."""
    got, _ = t.silt.report(path)
    assert (got["has_times"], got["duration_s"], got["run_time_s"], got["lifetimes"], got["totals"]["peak_at_s"]) == (False, None, None, None, None), got
    assert got["sizes"] and not [x for x in got["findings"] if x["kind"] in ("growing", "short-peak")], got["findings"]
    text = t.silt.command("report", path).stdout.decode()
    assert f" of {n:,} (times are unknown)." in text and "How long blocks lived" not in text, text
    blocks = parse(t.silt.command("report", "--blocks", "--json", path).stdout)["blocks"]
    assert blocks[0]["at_s"] is None and blocks[0]["age_s"] is None and blocks[0]["event"] == 1, blocks[0]
    for options in (["--histogram", "lifetime"], ["--lifetime", "1s.."], ["--older-than", "1s"]):
        r = t.silt.command("report", *options, path)
        assert r.code != 0 and "has no times" in r.errors, (options, r.errors)
    r = t.silt.command("check", "--max-growth", "10K/s", path)
    assert "growth unknown (the trace has no times)" in r.stdout.decode(), r.stdout
    rows = parse(t.silt.command("sql", "--json", path, "SELECT count(*), count(lifetime_ns), sum(lifetime_ns > 0), min(time_ns) FROM allocations").stdout)["rows"]
    assert rows[0][1:] == [0, None, 10**9], rows
    top = parse(t.silt.command("top", "--json", "--frames", "1", path).stdout)
    assert top["allocations_per_s"] is None and top["growth_bytes_per_s"] is None and top["at_s"] is None, top
    for form in ("heaptrack", "firefox", "perf-script"):
        r = t.silt.command("export", "--format", form, "-o", t.path("no"), path)
        assert r.code != 0 and f"has no times, which {form} files carry" in r.errors, r.errors


def test_without_times_only_the_order_is_told(t):
    lines, live = ["= Start"], 0
    for i in range(400):
        lines += [f"@ ./x:[0x1206] + {0x1000 + i * 0x1000:#x} 0xbb8"]
        lines += [f"@ ./x:[0x1300] - {0x1000 + i * 0x1000:#x}"] if i % 3 else []
    expect_no_times(t, write(t.path("no.log"), "\n".join(lines).encode() + b"\n"), len(lines) - 1)
    calls = "".join(f"x->malloc({i + 1}) = {0x1000 + i * 4096:#x}\n" + (f"x->free({0x1000 + i * 4096:#x}) = <void>\n" if i % 3 else "") for i in range(400))
    expect_no_times(t, write(t.path("no.lt"), calls.encode()), calls.count("\n"))
    timed = "".join(f"{100 + i}.5 {line}\n" for i, line in enumerate(calls.splitlines()))
    got, _ = t.silt.report(write(t.path("timed.lt"), timed.encode()))
    assert got["has_times"] and got["duration_s"] > 600 and got["lifetimes"], got["duration_s"]


def test_questions_about_time_are_refused_where_there_is_none(t):
    """Recipes of ages and stretches of time say that they are unknown, neither a number nor 'none'; moments are numbers of events; nobody spawned threads."""
    calls = "".join(f"x->malloc({70000 + i}) = {0x1000 + i * 4096:#x}\n" + (f"x->free({0x1000 + i * 4096:#x}) = <void>\n" if i % 3 else "") for i in range(100))
    log = write(t.path("no.lt"), calls.encode())
    for recipe in ("ages", "lifetimes", "large-short", "large-old", "old", "after-peak", "busiest"):
        r = t.silt.command("ask", log, recipe)
        assert r.code == 2 and "does not tell" in r.errors and r.errors.count("\n") == 1 and not r.text, (recipe, r.text, r.errors)
    r = t.silt.command("ask", log, "biggest")
    n = calls.count("\n", 0, calls.index("malloc(70099)")) + 1
    assert f"at event {n}.\n" in r.text, r.text
    assert not re.search(r"\d (s|ms|us|ns|min|h)\b", r.text), r.text
    r = t.silt.command("ask", log, "marks", "--csv")
    assert r.text.splitlines()[1].split(",")[:3] == ["(start)", "(end)", ""], r.text
    r = t.silt.command("ask", log, "marks")
    assert r.code == 0 and not re.search(r"\d (s|ms|us|ns|min|h)\b", r.text), r.text
    for path in (log, write(t.path("no.log"), b"= Start\n@ ./x:[0x1206] + 0x1000 0x10\n")):
        r = t.silt.command("tasks", path)
        assert r.code == 2 and "thread" not in r.text + r.errors and r.errors.count("\n") == 1, (r.text, r.errors)


def test_what_a_program_writes_between_is_none_of_ltraces(t):
    """ltrace writes to standard error, as programs do: only its own lines decide on times, move time and name threads."""
    calls = "".join(f"12:00:{i:02}.000100 malloc({i}) = {0x1000 + i * 4096:#x}\n" for i in range(1, 11))
    clean, why = t.silt.report(write(t.path("clean.lt"), calls.encode()))
    lines = calls.splitlines(keepends=True)
    own = "Server starting\n--- ready (8 workers) ---\nlimit(7) = none\n", "5000.5 requests a second\n4711 threads\n13:00:00 <info> (5)\n"
    mixed, why = t.silt.report(write(t.path("mixed.lt"), (own[0] + lines[0] + own[1] + "".join(lines[1:])).encode()))
    assert mixed and mixed["has_times"] and mixed["duration_s"] == clean["duration_s"] and 9 <= clean["duration_s"] < 9.1, (mixed and mixed["duration_s"], clean["duration_s"], why)
    assert mixed["totals"] == clean["totals"], (mixed["totals"], clean["totals"])
    assert "has no times" not in t.silt.command("report", t.path("mixed.lt")).text
    untimed = "12:00:01 the program's own line\n" + re.sub(r"(?m)^\S+ ", "", calls)
    assert not t.silt.report(write(t.path("untimed.lt"), untimed.encode()))[0]["has_times"]


def test_each_trace_is_told_by_its_own_clock(t):
    """Of two traces that are open together one has times: whichever came last, each is told as if it were alone."""
    calls = [f"x->malloc({i + 1}) = {0x1000 + i * 4096:#x}" for i in range(40)]
    plain = write(t.path("plain.lt"), "".join(f"{line}\n" for line in calls).encode())
    timed = write(t.path("timed.lt"), "".join(f"12:00:{i:02}.5 {line}\n" for i, line in enumerate(calls)).encode())
    asked = "SELECT duration(max(time_ns)) FROM allocations"
    for of, other, last in ((timed, plain, "39 s"), (plain, timed, "event 40")):
        s = Served(t, [t.silt.path, "view", other, of, "--no-browser"])
        alone, _ = t.silt.report(of)
        got = s.ask("report")
        for key in ("has_times", "duration_s", "run_time_s", "headline"):
            assert got[key] == alone[key], (of, key, got[key], alone[key])
        block = s.ask("report?blocks")["blocks"][0]
        assert block == parse(t.silt.command("report", "--blocks", "--json", of).stdout)["blocks"][0], block
        s.end()
        r = t.silt.command("sql", of, "--other", other, "--csv", asked)
        assert r.text.splitlines()[1] == last, r.text


def test_mtrace(t):
    program = build_logged(t)
    env = {**os.environ, "MALLOC_TRACE": t.path("l.log"), "LD_PRELOAD": "libc_malloc_debug.so.0"}
    subprocess.run([program], env=env, check=True)
    if not os.path.exists(t.path("l.log")):
        skip("no libc_malloc_debug")
    got = totals(t, t.path("l.log"))
    assert {k: got[k] for k in LOGGED_SUMS} == LOGGED_SUMS, got
    assert got["reallocations"] == 2 and got["end_live_blocks"] == 1 and got["threads"] is None
    if shutil.which("mtrace"):
        left = subprocess.run(["mtrace", program, t.path("l.log")], capture_output=True, text=True).stdout
        assert [int(x, 16) for x in re.findall(r"^0x[0-9a-f]+ +(0x[0-9a-f]+)", left, re.M)] == [10], left
    assert "main" in t.silt.command("report", "--by", "end", t.path("i.silt")).stdout.decode()


def test_ltrace(t):
    if not shutil.which("ltrace"):
        skip("no ltrace")
    program = build_logged(t)
    for options in ([], ["-f", "-tt"], ["-r"], ["-i", "-ttt", "-T"]):
        log = t.path("lt.log")
        subprocess.run(["ltrace", *options, "-e", "malloc+calloc+realloc+memalign+free", "-o", log, program], timeout=600, capture_output=True)
        if not os.path.exists(log) or b"malloc" not in open(log, "rb").read():
            skip("ltrace cannot trace here")
        got = totals(t, log)
        assert {k: got[k] for k in LOGGED_SUMS} == LOGGED_SUMS, (options, got)


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def signed(n):
    return varint(n << 1 if n >= 0 else -n * 2 - 1)


def memray_file():
    head = b"memray\0" + struct.pack("<iiBBqqqq", 13, 0x030B07F0, 0, 0, 4, 2, 1700000000000, 1700000000500) + b"python a.py\0"
    head += struct.pack("<iQQBBB", 77, 0x7F00, 0, 1, 0, 0) + b"/lib\0" + b"\0" + b"\0"
    code = bytes([14]) + varint(1) + b"work\0a.py\0" + signed(10) + varint(1) + bytes([0x80 | 11 << 3 | 7, ]) + b""
    last = [0]

    def event(allocator, address, size=None):
        flags = allocator if allocator < 8 else 0
        out = bytes([128 | 15 << 3 | flags]) + signed((address >> 3) - last[0])
        last[0] = address >> 3
        return out + (bytes([allocator]) if not flags else b"") + (varint(size) if size is not None else b"")

    body = bytes([12]) + struct.pack("<Q", 0x7F00) + bytes([10]) + b"main\0" + code + bytes([64 | 1]) + varint(1) + signed(0)
    body += event(6, 0x1000, 100) + event(8, 0x2000, 200) + bytes([2]) + varint(1 << 20) + varint(20)
    body += event(5, 0x1000) + event(14, 0x10000, 8192) + event(15, 0x10000, 4096) + event(15, 0x11000, 4096) + bytes([16]) + event(6, 0x3000, 1)
    return head + body + bytes([1])


def test_memray(t):
    got = totals(t, write(t.path("m.bin"), memray_file()))
    want = {"allocations": 4, "frees": 2, "bytes_allocated": 8493, "peak_live_bytes": 8392, "end_live_bytes": 201, "peak_rss_bytes": 1 << 20, "threads": 1}
    assert {k: got[k] for k in want} == want, got
    report, _ = t.silt.report(t.path("i.silt"), "--by", "allocated")
    assert any(f["function"] == "work" and f["file"] == "a.py" and f["line"] == 11 for s in report["top"][0]["sites"] for f in s["stack"]), report["top"]
    refused(t, write(t.path("ancient.bin"), memray_file().replace(b"memray\0\x0d", b"memray\0\x08")), "version 8", "9 to 13", "record with memray 1.4 to 1.20")
    totals(t, write(t.path("cut.bin"), memray_file()[:-9]))


def memray_old_file(version, is_native=False):
    """As memray 1.4 (version 9) to 1.18 (11) write it; the same blocks as in memray_file."""
    head = b"memray\0" + struct.pack("<iB", version, is_native) + (b"\0" if version >= 10 else b"") + struct.pack("<qqqq", 4, 2, 1700000000000, 1700000000500) + b"python a.py\0"
    head += struct.pack("<iQQB", 77, 0x7F00, 0, 1) + (b"\0" if version >= 11 else b"")
    last = [0]

    def event(allocator, address, size=None):
        is_free = size is None
        out = bytes([allocator << 4 | (2 if is_native and not is_free else 1)]) + signed(address - last[0])
        last[0] = address
        return out + (b"" if is_free else varint(size) + (signed(0) if is_native else b""))

    body = bytes([12]) + struct.pack("<Q", 0x7F00) + bytes([10]) + b"main\0" + bytes([3]) + signed(5) + b"work\0a.py\0" + signed(11) + bytes([4]) + signed(0)
    body += event(1, 0x1000, 100) + event(3, 0x2000, 200) + bytes([11]) + varint(1 << 20) + varint(20)
    body += event(2, 0x1000) + event(10, 0x10000, 8192) + event(11, 0x10000, 4096) + event(11, 0x11000, 4096) + bytes([9]) + event(12, 0x3000, 1)
    return head + body + bytes([16])


def test_memray_of_old_versions(t):
    want = {"allocations": 4, "frees": 2, "bytes_allocated": 8493, "peak_live_bytes": 8392, "end_live_bytes": 201, "peak_rss_bytes": 1 << 20, "threads": 1}
    for version in (9, 10, 11):
        for is_native in (False, True):
            data = memray_old_file(version, is_native)
            got = totals(t, write(t.path("old.bin"), data))
            assert {k: got[k] for k in want} == want, (version, is_native, got)
            report, _ = t.silt.report(t.path("i.silt"), "--by", "allocated")
            assert any(f["function"] == "work" and f["file"] == "a.py" and f["line"] == 11 for s in report["top"][0]["sites"] for f in s["stack"]), report["top"]
            assert "cut off" not in t.silt.command("report", t.path("i.silt")).text
    totals(t, write(t.path("cut.bin"), memray_old_file(11)[:-9]))
    assert "cut off" in t.silt.command("report", t.path("i.silt")).text
    refused(t, write(t.path("bad.bin"), memray_old_file(11)[:-1] + bytes([13])), "13 is no kind of record")
    plain = memray_file().replace(b"\0\0" + b"/lib\0\0\0", b"\0\0", 1).replace(b"memray\0\x0d", b"memray\0\x0c")
    got = totals(t, write(t.path("v12.bin"), plain))
    assert {k: got[k] for k in want} == want, got


def lz4_block(packed):
    return b"\x01" + struct.pack("<I", len(packed)) + packed


def lz4_literals(data, match_bytes=0):
    """A sequence of LZ4: literals, and the start of a match behind them."""
    n, low = len(data), max(0, match_bytes - 4)
    assert n >= 15 and low < 15
    return bytes([15 << 4 | low]) + b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255]) + data


def lz4_stored(data):
    """A block of LZ4 that consists of literals alone."""
    return lz4_block(lz4_literals(data))


def lz4_ending_in_a_match(data):
    """As bytehound's own packer writes it: the last four bytes are those before them."""
    assert data[-4:] == data[-8:-4]
    return lz4_block(lz4_literals(data[:-4], 4) + struct.pack("<H", 4))


def counted(s):
    return struct.pack("<I", len(s)) + s


def bytehound_alloc(pointer, size, backtrace=1, thread=9):
    return struct.pack("<QQQIIIQ", pointer, size, backtrace, thread, 0, 0, 0)


def bytehound_header():
    return (struct.pack("<IQQQQQQI", 0, 5, 6, 1000, 1000, 1700000000, 5, 9) + counted(b"./a\0-x\0") + counted(b"/bin/a") + counted(b"amd64")
            + struct.pack("<QB", 1, 8))


def bytehound_file():
    data = bytehound_header()
    data += struct.pack("<IQI2Q", 5, 1, 2, 0x1234, 0x5678)
    data += struct.pack("<IQIIIQ", 13, 2, 9, 0xFFFFFFFF, 1, 0x99)
    data += struct.pack("<IQ", 1, 2000) + bytehound_alloc(0x10, 100)
    data += struct.pack("<IQQQ", 20, 9, 1, 3000) + bytehound_alloc(0x20, 200, 2)
    data += struct.pack("<IQQQQ", 21, 9, 1, 4000, 0x20) + bytehound_alloc(0x30, 400, 2)
    data += struct.pack("<IQQQI", 3, 5000, 0x10, 1, 9)
    data += struct.pack("<IQQQQQI", 22, 9, 1, 6000, 0x30, 1, 10)
    data += struct.pack("<IQ", 1, 7000) + bytehound_alloc(0x40, 7, 1, 10)
    return lz4_stored(data[:300]) + lz4_ending_in_a_match(data[300:])


def test_bytehound(t):
    got = totals(t, write(t.path("b.dat"), bytehound_file()))
    want = {"allocations": 4, "frees": 3, "reallocations": 1, "bytes_allocated": 707, "peak_live_bytes": 500, "end_live_bytes": 7, "unknown_frees": 0, "threads": 2}
    assert {k: got[k] for k in want} == want, got
    totals(t, write(t.path("cut.dat"), bytehound_file()[:-3]))
    refused(t, write(t.path("bad.dat"), bytehound_file() + b"\x07\0\0\0\0"), "block")


def test_bytehound_out_of_order(t):
    """What it took for short-lived at first is written behind what came later: the peak is at 1.2 ms, before all that stands before it."""
    data = bytehound_header() + struct.pack("<IQI2Q", 5, 1, 2, 0x1234, 0x5678)
    data += struct.pack("<IQQQ", 20, 9, 2, 3000) + bytehound_alloc(0x20, 100)
    data += struct.pack("<IQQQQQI", 22, 9, 1, 2900, 0x10, 1, 9)
    data += struct.pack("<IQQQ", 20, 9, 1, 2000) + bytehound_alloc(0x10, 300)
    data += struct.pack("<IQQQQ", 21, 9, 1, 2200, 0x10) + bytehound_alloc(0x10, 5000)
    got = totals(t, write(t.path("o.dat"), lz4_stored(data)))
    want = {"allocations": 3, "frees": 2, "reallocations": 1, "bytes_allocated": 5400, "peak_live_bytes": 5000, "peak_at_s": 0.0012, "end_live_bytes": 100,
            "unknown_frees": 0, "implicit_frees": 0, "threads": 1}
    assert {k: got[k] for k in want} == want, got


def code_of(path, function):
    """(address of the function's second byte in its file of code, and of that file's mapping of code begin, size, offset)"""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True).stdout
    address = int(re.search(rf"^([0-9a-f]+) T {function}$", symbols, re.M).group(1), 16)
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    offset, begin, size = (int(x, 16) for x in re.search(r"LOAD +(\S+) (\S+) \S+ +(\S+) \S+ R E", headers).groups())
    return address + 1, begin, size, offset


def test_bytehound_brings_its_modules(t):
    """The program is not on this machine, or another one is at its path: names come from the copy in the recording."""
    program = t.context.helpers.build("lines", ["lines.c"])
    address, begin, size, offset = code_of(program, "main")
    base = 0x7F0000000000
    with open(program, "rb") as f:
        code = f.read()
    for path in (b"/nowhere/far/away/lines", b"/bin/true", b"/../../../escaped"):
        maps = f"{base + begin:x}-{base + begin + size:x} r-xp {offset:08x} 08:01 7 {path.decode()}\n".encode()
        data = bytehound_header()
        for name, contents in ((b"/proc/self/maps", maps), (path, code), (b"/proc/uptime", b"1.0 2.0\n")):
            data += struct.pack("<IQ", 23, 1000) + counted(name) + struct.pack("<Q", len(contents)) + contents
        data += struct.pack("<IQIQ", 5, 1, 1, base + address)
        data += struct.pack("<IQ", 1, 2000) + bytehound_alloc(0x10, 100)
        report, why = t.silt.report(write(t.path("m.dat"), b"".join(lz4_stored(data[at:at + 300000]) for at in range(0, len(data), 300000))))
        assert report, why
        frames = report["top"][0]["sites"][0]["stack"]
        assert (frames[0]["function"] == "main") == (b".." not in path), frames
    left = [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("silt-files")]
    assert not left and not os.path.exists("/escaped"), left


def test_a_heaptrack_file_without_its_end_says_so(t):
    """heaptrack_interpret ends a file with counts. Where it was killed they are missing, and nothing else tells that events are."""
    whole = b"v 10400 2\nX ./a\nI 1000 10\ns fn\ni 10 0 1\nt 1 0\na 10 1\n+ 0\n- 0\nc 14\n"
    for end, is_said in ((b"", True), (b"# strings: 1\n# ips: 1\n", False)):
        words = " ".join(t.silt.command("report", write(t.path("x.heaptrack"), whole + end)).text.split())
        assert ("It lacks the end that heaptrack_interpret writes" in words) == is_said, words


def test_heaptracks_code_without_a_name_is_one_place(t):
    """Its addresses are those of one run: two runs of a program are the same, offsets that silt wrote stay, and what heaptrack_print leaves out is said."""
    def write(name, base):
        with open(t.path(name), "w", encoding="utf-8") as f:
            f.write("v 10400 3\nX ./prog\nI 1000 10\ns 10 /usr/lib/libx.so\ns 4 main\n"
                    f"i {base + 0xa57b9:x} 1\nt 1 0\ni {base + 0xa1111:x} 1\nt 2 1\ni 55{base >> 8 & 0xffff:04x}00 1 2\nt 3 2\n"
                    "i a57b9 1\nt 4 0\na 64 3\na 20 4\nc 0\n+ 0\n+ 0\n+ 1\nc 5\n")
        return t.path(name)
    old, new = write("a.heaptrack", 0x7fa3a1400000), write("b.heaptrack", 0x7fbd12600000)
    got = parse(t.silt.command("report", "--json", old).stdout)
    names = [frame["function"] for frame in got["top"][0]["sites"][0]["stack"]]
    assert names == ["main"] + ["(code without a name in libx.so)"] * 2, names
    text = t.silt.command("report", "--group-by", "module", old).text + t.silt.command("report", "--full", old).text
    assert "libx.so+0xa57ba" in text and "7fa3a1" not in text, text
    assert "heaptrack_print leaves it out of its leaks" in " ".join(t.silt.command("report", old).text.split())
    r = t.silt.command("diff", "--json", old, new)
    assert r.code == 0 and not [f for f in parse(r.stdout)["functions"] if f["status"] != "same"], r.text


def heaptrack_file(times_ms):
    """A thousand allocations at each of the times."""
    return ("v 10400 3\nX ./a\nI 1000 10\ns 3 ./a\ns 1 f\ni 10 1 2\nt 1 0\na 10 1\n"
            + "".join(f"c {time:x}\n" + "+ 0\n- 0\n" * 1000 for time in times_ms) + f"c {times_ms[-1] + 1:x}\n").encode()


def test_no_rate_is_told_of_a_few_steps_of_the_clock(t):
    """heaptrack looks at its clock every 10 ms: what took 1 ms may have taken 20. silt's own exports are of milliseconds."""
    for name, times_ms, rate in (("one", [1], ""), ("steps", [10, 20, 50], ""), ("long", [10, 20, 1999], "1,500"), ("fine", [1, 2, 3, 4, 99], "50,000")):
        path = write(t.path(name), heaptrack_file(times_ms))
        r = t.silt.command("report", path)
        assert r.code == 0, r.errors
        found = re.search(r"allocations, ([0-9,]+) per second", r.text)
        assert (found.group(1) if found else "") == rate, (name, r.text[:600])
        assert re.search(rf"per second +{rate or '-'}$", r.text, re.M), (name, r.text[:1500])
        limits = parse(t.silt.command("report", "--json", path).stdout)["limits"]
        assert [limit["count"] for limit in limits if limit["kind"] == "imported"] == [0], limits


def test_what_another_tool_does_not_tell_is_unknown_in_every_view(t):
    """No mappings, no pid, no failed calls, no lost events, no silt in the program: nowhere a 0, and nowhere a made-up number."""
    path = write(t.path("x.heaptrack"), b"v 10400 3\nX ./prog -p\nI 1000 10\ns 4 main\ni 10 0 1\nt 1 0\na 64 1\nc 0\n+ 0\n+ 0\n- 0\nR 3\nc 14\n")
    mapped = {"report": ["report", "--by", "mapped"], "flame": ["flame", "--by", "mapped", "-o", t.path("x.svg")], "diff": ["diff", "--by", "mapped", path],
              "top": ["top", "--batch", "--mapped"], "sql": ["sql"], "export": ["export", "--format", "folded", "--by", "mapped", "-o", t.path("x.folded")]}
    for name, args in mapped.items():
        r = t.silt.command(*args, path, *(["SELECT * FROM mappings"] if name == "sql" else []))
        assert r.code == 2 and r.errors.strip().count("\n") <= 1 and "mapped" in r.errors and ("imported" in r.errors or "another tool" in r.errors), (name, r.errors)
    got, _ = t.silt.report(path)
    unknown = ["failed_allocations", "prior_frees", "lost_events", "threads", "wrong_size_frees", "reallocations"]
    assert [name for name in unknown if got["totals"][name] is not None] == [], got["totals"]
    assert (got["pid"], got["mappings"], got["overhead"]["runtime_bytes"], got["overhead"]["blocked_s"]) == (None,) * 4, got
    assert got["processes"][0]["pid"] is None and got["quality"]["complete_stacks_pct"] is None, got
    top = parse(t.silt.command("top", "--json", path).stdout)
    assert (top["failed_allocations"], top["lost_events"], top["processes"][0]["pid"]) == (None,) * 3, top
    texts = [t.silt.command(*args).text for args in (["report", path], ["report", "--group-by", "process", path], ["report", "--process", "main", "--tree", path],
                                                     ["top", "--batch", path], ["whatif", "--allocator", "glibc", path])]
    for text in texts:
        for word in ("pid", "silt in the program", "events lost", "stacks complete", "2 threads", "0 reallocations"):
            assert word not in text, (word, text)
    assert "Process prog " in texts[1] and texts[3].startswith("prog is no longer recorded"), texts[1] + texts[3]
    series = t.silt.command("metrics", path).text
    assert 'silt_heap_live_bytes{program="prog",pid=""} 100\n' in series and "failed_allocations" not in series and "lost_events" not in series, series
    assert t.silt.command("sql", "--csv", path, "SELECT pid FROM processes").stdout.split() == [b"pid"], "NULL is nothing"
