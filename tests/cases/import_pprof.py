# SPDX-License-Identifier: MIT
"""pprof's profiles: what Go writes, silt's totals are those of `go tool pprof`."""

import gzip
import os

from cases.export_tables import GO, raw, totals
from harness.answer import parse
from harness.process import run

PROGRAM = """
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

func grow(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 64+i%5000))
	}
}

func write(name string) {
	f, _ := os.Create(name)
	runtime.GC()
	pprof.WriteHeapProfile(f)
	f.Close()
	f, _ = os.Create(name + ".txt")
	pprof.Lookup("heap").WriteTo(f, 1)
	f.Close()
}

func main() {
	if len(os.Args) > 2 {
		runtime.MemProfileRate = 1
	}
	grow(5000)
	write(os.Args[1] + "/1.pb.gz")
	grow(5000)
	kept = kept[9000:]
	write(os.Args[1] + "/2.pb.gz")
}
"""


def go_profiles(t, *options):
    folder = t.path("go")
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/main.go", "w") as f:
        f.write(PROGRAM)
    r = run([GO, "build", "-p", "1", "-o", folder + "/program", folder + "/main.go"],
            env={**os.environ, "GOCACHE": t.path("gocache"), "GO111MODULE": "off"})
    assert r.code == 0, r.errors
    r = run([folder + "/program", folder, *options])
    assert r.code == 0, r.errors
    return [folder + "/1.pb.gz", folder + "/2.pb.gz"]


def check(t, path):
    sums, _ = raw(path)
    got = totals(t, path)
    assert sums == {"alloc_objects": got["allocations"], "alloc_space": got["bytes_allocated"],
                    "inuse_objects": got["end_live_blocks"], "inuse_space": got["end_live_bytes"]}, (sums, got)


def check_text(t, path):
    """The same as text (debug=1), with its names."""
    sums, _ = raw(path)
    got = totals(t, path)
    for kind, objects, space in (("alloc_", "allocations", "bytes_allocated"), ("inuse_", "end_live_blocks", "end_live_bytes")):
        if "objects" in sums:  # pprof has one pair where nothing was freed
            kind = ""
        assert (got[objects], got[space]) == (sums[kind + "objects"], sums[kind + "space"]), (kind, sums, got)
    r = t.silt.command("report", "--json", path, "--group-by", "function")
    (row,) = [row for row in parse(r.stdout)["groups"] if row["function"] == "main.grow"]
    assert 0 < row["self"]["value"] <= got["end_live_bytes"], (row, got)
    binary = parse(t.silt.command("report", "--json", path.removesuffix(".txt"), "--group-by", "function").stdout)["groups"]
    assert row["self"]["value"] == next(r["self"]["value"] for r in binary if r["function"] == "main.grow"), (row, binary)


def test_go_heap_profiles(t):
    for options in ((), ("exact",)):
        paths = go_profiles(t, *options)
        for path in paths:
            check(t, path)
            check_text(t, path + ".txt")
        plain = t.path("plain.pb")
        with gzip.open(paths[0]) as f, open(plain, "wb") as out:
            out.write(f.read())
        check(t, plain)
        out = t.path("both.silt")
        r = t.silt.command("import", *paths, "-o", out, "-f")
        assert r.code == 0, r.errors
        assert t.silt.command("verify", out).code == 0
        assert totals(t, out)["end_live_bytes"] == raw(paths[1])[0]["inuse_space"]


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    return varint(number << 3 | 2) + varint(len(value)) + value


def profile(values, types=(("inuse_objects", "count"), ("inuse_space", "bytes")), default="", label="", time_s=0):
    """A profile with one function, `f`, and these samples."""
    texts = [b"", b"f", b"f.c", default.encode(), label.encode()]
    out = (field(14, 3) if default else b"") + (field(9, time_s * 10**9) if time_s else b"")
    labels = field(3, field(1, 4) + field(3, 7)) if label else b""
    for pair in types:
        numbers = []
        for text in pair:
            texts.append(text.encode())
            numbers.append(len(texts) - 1)
        out += field(1, field(1, numbers[0]) + field(2, numbers[1]))
    for sample in values:
        out += field(2, field(1, varint(1)) + field(2, b"".join(varint(v & (1 << 64) - 1) for v in sample)) + labels)
    out += field(4, field(1, 1) + field(4, field(1, 1) + field(2, 7))) + field(5, field(1, 1) + field(2, 1) + field(4, 2))
    return out + b"".join(field(6, text) for text in texts)


def written(t, data, name="made.pb"):
    with open(t.path(name), "wb") as f:
        f.write(data)
    return t.path(name)


def test_only_what_is_in_use(t):
    got = totals(t, written(t, profile([(3, 300), (1, 50)])))
    assert (got["end_live_blocks"], got["end_live_bytes"]) == (4, 350), got


def test_profiles_are_in_the_order_they_were_taken(t):
    paths = [written(t, profile([(3, 300 + i)], time_s=1700000000 + 10 * i), f"{name}.pb") for i, name in enumerate(("a", "b", "c"))]
    out = t.path("all.silt")
    r = t.silt.command("import", *paths, "-o", out)
    assert r.code == 0 and totals(t, out)["end_live_bytes"] == 302, r.errors
    r = t.silt.command("import", paths[0], paths[2], paths[1], "-o", out, "-f")
    assert r.code == 2 and "b.pb' was taken before the file before it" in r.errors and r.errors.count("\n") == 1, r.errors


def test_samples_and_their_time_are_kept_together(t):
    types = (("samples", "count"), ("cpu", "nanoseconds"))
    path = written(t, profile([(2, 20000000), (3, 22000000)], types=types))
    for _ in range(2):
        r = t.silt.command("report", path)
        assert r.code == 0 and "42 ms in 1 call path, 5 samples." in r.text and "It also has" not in r.text, r.text
        got = parse(t.silt.command("report", "--json", path).stdout)
        assert got["totals"]["samples"] == 5 and got["totals"]["allocations"] is None, got["totals"]
        r = t.silt.command("export", path, "--format", "pprof", "-f", "-o", t.path("again.pb.gz"))
        assert r.code == 0, r.errors
        path = t.path("again.pb.gz")
        assert raw(path)[0] == {"samples": 5, "time": 42000000}, raw(path)[0]


def test_units_are_scaled(t):
    for unit, value in (("megabytes", 3 << 20), ("MB", 3 << 20), ("kilobytes", 3 << 10), ("bytes", 3)):
        got = totals(t, written(t, profile([(3,)], types=(("inuse_space", unit),))))
        assert got["end_live_bytes"] == value, (unit, got)
    for unit, words in (("milliseconds", "3 ms"), ("seconds", "3 s"), ("minutes", "3 min"), ("us", "3 us"), ("ticks", "3 units")):
        r = t.silt.command("report", written(t, profile([(3,)], types=(("cpu", unit),))))
        assert f"the program: {words}" in r.text, (unit, r.text)
    r = t.silt.command("report", written(t, profile([(1 << 62,)], types=(("cpu", "seconds"),))))
    assert r.code == 2 and "add up to too much" in r.errors and r.errors.count("\n") == 1, r.errors


def test_the_default_sample_type_is_obeyed(t):
    types = (("cpu", "microseconds"), ("wall", "microseconds"))
    for default, words, other in (("cpu", "10 us", "wall"), ("wall", "17 us", "cpu"), ("", "17 us", "cpu"), ("none", "17 us", "cpu")):
        text = " ".join(t.silt.command("report", written(t, profile([(10, 17)], types, default, "thread"))).text.split())
        assert f"the program: {words} in" in text and f"It also has {other}, which" in text, (default, text)
        assert "Labels of its samples are left out: thread" in text, text


def test_a_sample_type_is_chosen(t):
    path = written(t, profile([(2, 20000000)], types=(("contentions", "count"), ("delay", "nanoseconds"))))
    for name, words in (("contentions", "2 units in"), ("delay", "20 ms in")):
        out = t.path("chosen.silt")
        r = t.silt.command("import", path, "--sample-type", name, "-o", out, "-f")
        assert r.code == 0, r.errors
        assert words in t.silt.command("report", out).text, name
    r = t.silt.command("import", path, "--sample-type", "inuse", "-o", t.path("never.silt"))
    assert r.code == 2 and "choose one of contentions, delay" in r.errors and r.errors.count("\n") == 1, r.errors
    with open(t.path("x.folded"), "w") as f:
        f.write("main 3\n")
    r = t.silt.command("import", t.path("x.folded"), "--sample-type", "delay", "-o", t.path("never.silt"))
    assert r.code == 2 and "leave out --sample-type" in r.errors, r.errors


def test_refused(t):
    good = profile([(3, 300)])
    for data, word in ((profile([(3, -300)]), "below 0"), (profile([(3, 300, 4)]), "values"),
                       (good[:-1], "cut off"), (good.replace(field(1, varint(1)), field(1, varint(9))), "not there")):
        r = t.silt.command("report", written(t, data))
        assert r.code == 2 and word in r.errors and r.errors.count("\n") <= 1, (word, r.errors)
