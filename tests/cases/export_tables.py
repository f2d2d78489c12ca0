# SPDX-License-Identifier: MIT
"""Exports that are tables and profiles: what comes out adds up to the figures of `silt report --json`."""

import csv
import json
import os
import re
import sqlite3

from harness.answer import parse
from harness.peers import peers
from harness.process import run

# The distribution's comes with its tools built; others build them first, each time.
GO = "/usr/bin/go" if os.path.exists("/usr/bin/go") else "go"

COUNTER = """
#include <stdlib.h>
static void *kept[3000];
static inline __attribute__((always_inline)) void *inner(int n) { return malloc(n); }
__attribute__((noinline)) static void *keep(int n) { return inner(n); }
__attribute__((noinline)) static void churn(int n) { free(inner(n)); }
int main(void) {
        for (int i = 0; i < 3000; i++) { kept[i] = keep(i % 300 + 1); if (i % 3 == 0) churn(i + 1); }
        for (int i = 0; i < 1500; i++) free(kept[i]);
        kept[2999] = realloc(kept[2999], 70000);
        return 0;
}
"""


def recorded(t):
    program = t.path("counter")
    with open(program + ".c", "w") as f:
        f.write(COUNTER)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    r = t.silt.record(t.path("t.silt"), [program], ["-f"])
    assert r.code == 0, r.errors
    return t.path("t.silt")


def totals(t, trace, *options):
    r = t.silt.command("report", "--json", trace, *options)
    assert r.code == 0, r.errors
    return parse(r.stdout)["totals"]


def export(t, trace, name, *options):
    out = t.path("out." + name)
    r = t.silt.command("export", trace, "--format", name, "-f", "-o", out, *options)
    assert r.code == 0, r.errors
    return out


def check_columns(rows, figures):
    for column, figure in (("allocations", "allocations"), ("allocated_bytes", "bytes_allocated"), ("frees", "frees"),
                           ("peak_bytes", "peak_live_bytes"), ("peak_blocks", "peak_live_blocks"),
                           ("end_bytes", "end_live_bytes"), ("end_blocks", "end_live_blocks"),
                           ("temporary", "temporary_allocations"), ("reallocations", "reallocations")):
        got = sum(int(row[column]) for row in rows)
        assert got == figures[figure], f"{column}: {got}, silt report has {figures[figure]}"


def test_a_cut_trace_says_so(t):
    trace = recorded(t)
    with open(trace, "rb") as f:
        whole = f.read()
    with open(trace, "wb") as f:
        f.write(whole[:len(whole) // 2])
    r = t.silt.command("export", trace, "--format", "csv", "-f", "-o", t.path("cut.csv"))
    assert r.code == 0 and "is incomplete, and so is what was written: " in r.errors, r.errors
    with open(trace, "wb") as f:
        f.write(whole)
    r = t.silt.command("export", trace, "--format", "csv", "-f", "-o", t.path("cut.csv"))
    assert r.code == 0 and "incomplete" not in r.errors, r.errors


def test_what_the_recording_lacks_is_said(t):
    """No format has a place for it: samples, another tool's silence, processes that were left out; also where the file goes to a pipe."""
    recorded(t)
    r = t.silt.record(t.path("s.silt"), [t.path("counter")], ["-f", "--sample", "4K"])
    assert r.code == 0, r.errors
    with open(t.path("1.heap"), "w") as f:
        f.write("heap_v2/1\n  t*: 2: 2000 [0: 0]\n@ 0x10 0x20\n  t*: 2: 2000 [0: 0]\n\nMAPPED_LIBRARIES:\n")
    for trace, words in (("t.silt", None), ("s.silt", "s.silt: All figures in the file are estimates from samples of one in 4.0 KiB."),
                         ("1.heap", "1.heap: Imported from a jemalloc heap profile, which has ")):
        for form, out in (("csv", "x"), ("folded", "-"), ("speedscope", "x"), ("pprof", "-")):
            r = t.silt.command("export", t.path(trace), "--format", form, "-f", "-o", out if out == "-" else t.path(out))
            said = [line for line in r.errors.splitlines() if "estimates" in line or "Imported" in line]
            assert r.code == 0 and len(said) == (words is not None) and (not words or words in said[0]), (trace, form, r.errors)


def test_a_filter_that_selects_nothing_is_told(t):
    """The file is as empty as that, and its reader does not say why."""
    trace = recorded(t)
    for name in ("csv", "heaptrack", "massif", "perfetto", "pprof", "sqlite"):
        for options, says in ((("--function", "nosuch"), "there are no blocks that the filter matches: try another filter"),
                              (("--size", "5000..6000", "--to", "60s"), "that the filter matches in this window: try another filter or window"),
                              (("--function", "keep"), None), ((), None)):
            r = t.silt.command("export", trace, "--format", name, "-f", "-o", t.path("out"), *options)
            assert r.code == 0 and (says in r.errors if says else "there are no" not in r.errors), (name, options, r.errors)
    r = t.silt.command("flame", trace, "--function", "nosuch", "-f", "-o", t.path("out.svg"))
    assert r.code == 0 and "0 frames): there is nothing to draw; the picture says why" in r.errors, r.errors
    with open(t.path("out.svg")) as f:
        assert "Nothing that the filter matches" in f.read()


def test_csv(t):
    trace = recorded(t)
    with open(export(t, trace, "csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    check_columns(rows, totals(t, trace))
    assert rows[0].keys() >= {"function", "file", "line", "module", "stack", "start_bytes", "freed_bytes"}
    assert any(row["function"] == "inner" and row["stack"].split(";")[-2:] == ["keep", "inner"] for row in rows), rows


def test_csv_names_with_a_semicolon(t):
    """Names do not part the stack: a ; in one is written as :, as in folded stacks."""
    with open(t.path("out.dhat"), "w", encoding="utf-8") as f:
        json.dump({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs", "Mtu": "Minstr",
                   "tuth": 500, "cmd": "a", "pid": 1, "tg": 1, "te": 2, "ftbl": ["[root]", "0x10: <[u8; 16] as Clone>::clone (a.rs:1)", "0x20: main (a.rs:9)"],
                   "pps": [{"tb": 16, "tbk": 1, "tl": 1, "mb": 16, "mbk": 1, "gb": 16, "gbk": 1, "eb": 16, "ebk": 1, "fs": [1, 2]}]}, f)
    with open(export(t, t.path("out.dhat"), "csv"), newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert [(row["function"], row["stack"]) for row in rows] == [("<[u8; 16] as Clone>::clone", "main;<[u8: 16] as Clone>::clone")], rows


def test_json_lines(t):
    trace = recorded(t)
    with open(export(t, trace, "json")) as f:
        lines = [json.loads(line) for line in f]
    kinds = [line["type"] for line in lines]
    assert kinds == sorted(kinds, key=("trace", "site", "event").index) and kinds.count("trace") == 1
    figures = totals(t, trace)
    check_columns([line for line in lines if line["type"] == "site"], figures)
    live, sites = {}, {line["site"] for line in lines if line["type"] == "site"}
    for event in (line for line in lines if line["type"] == "event"):
        assert event["site"] in sites, event
        if event["op"] == "realloc":
            assert live.pop(event["old_block"]) == event["old_bytes"], event
        if event["op"] == "free":
            assert live.pop(event["block"]) == event["bytes"], event
        else:
            live[event["block"]] = event["bytes"]
    assert (len(live), sum(live.values())) == (figures["end_live_blocks"], figures["end_live_bytes"])


def test_sqlite(t):
    trace = recorded(t)
    db = sqlite3.connect(export(t, trace, "sqlite"))
    db.row_factory = sqlite3.Row
    figures = totals(t, trace)
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    check_columns(db.execute("SELECT * FROM sites").fetchall(), figures)
    made = db.execute("SELECT count(*), sum(bytes) FROM events WHERE op <> 'free'").fetchone()
    assert tuple(made) == (figures["allocations"], figures["bytes_allocated"]), tuple(made)
    site = db.execute("SELECT stack FROM sites WHERE function = 'inner' ORDER BY end_bytes DESC LIMIT 1").fetchone()[0]
    path = [row[0] for row in db.execute("SELECT function FROM call_paths WHERE stack = ? ORDER BY level, depth", (site,))]
    assert "keep" in path and path.index("inner") < path.index("keep") < path.index("main"), path
    assert db.execute("SELECT sum(end_bytes) FROM functions").fetchone()[0] == figures["end_live_bytes"]


def test_speedscope(t):
    trace = recorded(t)
    with open(export(t, trace, "speedscope")) as f:
        got = json.load(f)
    figures = totals(t, trace)
    wanted = {"live at the peak": "peak_live_bytes", "live at the end": "end_live_bytes",
              "bytes allocated": "bytes_allocated", "allocations": "allocations",
              "temporary allocations": "temporary_allocations"}
    assert {p["name"] for p in got["profiles"]} == set(wanted)
    for p in got["profiles"]:
        assert sum(p["weights"]) == p["endValue"] == figures[wanted[p["name"]]], p["name"]
        assert len(p["weights"]) == len(p["samples"])
        assert all(0 <= i < len(got["shared"]["frames"]) for sample in p["samples"] for i in sample)
    names = [[got["shared"]["frames"][i]["name"] for i in sample] for sample in got["profiles"][0]["samples"]]
    assert any(path[-2:] == ["keep", "inner"] for path in names), names


def raw(path):
    """Types, sums and samples, as Go's own program reads them."""
    r = run([GO, "tool", "pprof", "-symbolize=none", "-raw", path])
    assert r.code == 0, r.errors
    lines = r.stdout.decode().split("\n")
    at = lines.index("Samples:")
    types = [x.split("/")[0] for x in lines[at + 1].split()]
    sums = dict.fromkeys(types, 0)
    for line in lines[at + 2:lines.index("Locations")]:
        m = re.match(r"^\s*((?:-?\d+\s+)*-?\d+): ", line)
        for name, value in zip(types, m[1].split() if m else []):
            sums[name] += int(value)
    return sums, r.stdout.decode()


def test_perfetto(t):
    """The profile adds up, the curves have the peak and the end, also if that is 0, and readers can turn the profile's clock into the trace's."""
    trace = recorded(t)
    folder = os.path.join(os.path.dirname(__file__), "../../src/export")
    for options in ((), ("--to", "@peak"), ("--function", "churn")):
        figures = totals(t, trace, *options)
        with open(export(t, trace, "perfetto", *options), "rb") as f:
            r = run(["protoc-c", "--decode=perfetto.Trace", "-I", folder, "perfetto.proto"], stdin=f.read())
        assert r.code == 0, r.errors
        packets = r.text.split("\npacket {")
        clocks = next(p for p in packets if "clock_snapshot {" in p)
        assert {"6", "4", "1"} == set(re.findall(r"clock_id: (\d+)", clocks)), clocks
        assert packets.index(clocks) == 0 and "primary_trace_clock: 6" in clocks, clocks

        def added(field):
            return sum(int(n) for n in re.findall(rf"^ *{field}: (\d+)$", r.text, re.M))

        assert added("self_allocated") == figures["bytes_allocated"] and added("alloc_count") == figures["allocations"], figures
        assert added("self_allocated") - added("self_freed") == figures["end_live_bytes"], figures
        assert added("alloc_count") - added("free_count") == figures["end_live_blocks"], figures
        live = [p for p in packets if "track_event {" in p and "track_uuid: 2" in p]
        values = [int(re.search(r"counter_value: (\d+)", p)[1]) for p in live]
        assert len(values) == 1000 and max(values) == figures["peak_live_bytes"] and 0 in values, (len(values), max(values), figures)
        assert not re.search(r"^ *\d+: ", r.text, re.M), "fields without a name"
        assert all("  timestamp: " in p for p in packets if "track_event {" in p or "profile_packet {" in p), "a packet without its time"
        # a list of numbers in one field, as proto3 writes it, is no list to Perfetto
        with open(t.path("out.perfetto"), "rb") as f:
            raw = run(["protoc-c", "--decode_raw"], stdin=f.read()).text
        stacks = re.findall(r"^  12 \{\n    7 \{\n((?:      .*\n)+)", raw, re.M)
        mappings = re.findall(r"^  12 \{\n    19 \{\n((?:      .*\n)+)", raw, re.M)
        assert stacks and all(re.fullmatch(r"      1: \d+\n(      2: \d+\n)+", x) for x in stacks), stacks
        assert mappings and all(re.search(r"^      7: \d+$", x, re.M) for x in mappings), mappings


def test_pprof(t):
    trace = recorded(t)
    for by in ("end", "peak"):
        sums, text = raw(export(t, trace, "pprof", "--by", by))
        figures = totals(t, trace)
        assert sums == {"alloc_objects": figures["allocations"], "alloc_space": figures["bytes_allocated"],
                        "inuse_objects": figures[f"{by}_live_blocks"], "inuse_space": figures[f"{by}_live_bytes"]}, sums
        assert re.search(r"inner \S*counter\.c.*\n\s+keep \S*counter\.c", text), text
        assert re.search(r"^1: 0x5\S+ \S*/counter [0-9a-f]{16,} ", text, re.M), text


DECODER = """
const { Profile } = require("pprof-format");
const p = Profile.decode(require("zlib").gunzipSync(require("fs").readFileSync(process.argv[2])));
const sums = {};
p.sampleType.forEach((type, i) => {
        sums[p.stringTable.strings[Number(type.type)]] = p.sample.reduce((sum, s) => sum + Number(s.value[i]), 0);
});
console.log(JSON.stringify(sums));
"""


def in_npm(t, path):
    script = os.path.join(peers(t), "decode.js")
    with open(script, "w") as f:
        f.write(DECODER)
    r = run(["node", script, path])
    assert r.code == 0, r.errors
    return json.loads(r.text)


def test_pprof_in_the_decoder_of_npm(t):
    trace = recorded(t)
    sums, figures = in_npm(t, export(t, trace, "pprof")), totals(t, trace)
    assert sums == {"alloc_objects": figures["allocations"], "alloc_space": figures["bytes_allocated"],
                                  "inuse_objects": figures["end_live_blocks"],
                                  "inuse_space": figures["end_live_bytes"]}, sums


def test_pprof_in_a_window(t):
    trace = recorded(t)
    sums, _ = raw(export(t, trace, "pprof", "--at", "@peak"))
    figures = totals(t, trace, "--at", "@peak")
    assert sums["inuse_space"] == figures["end_live_bytes"] and sums["alloc_space"] == figures["bytes_allocated"]


def test_pprof_there_and_back(t):
    trace = recorded(t)
    out = export(t, trace, "pprof")
    again = t.path("again.pb.gz")
    r = t.silt.command("export", out, "--format", "pprof", "-f", "-o", again)
    assert r.code == 0, r.errors
    first, second = top(out), top(again)
    assert first == second and first, (first, second)


def top(path):
    got = []
    for index in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"):
        r = run([GO, "tool", "pprof", "-symbolize=none", "-traces", f"-sample_index={index}", path])
        assert r.code == 0, r.errors
        traces = r.stdout.decode().split("-----------+")[1:]
        got.append(sorted(traces))
    return got


HIDDEN = """
#include <stdlib.h>
static void *kept[100];
__attribute__((noinline, visibility("default"))) int exported_before(int n) { return n * 7; }
__attribute__((noinline)) static void *hidden(int n) { void *p = malloc(n); kept[n % 100] = p; return p; }
int main(int argc, char **argv) { for (int i = 1; i < 100; i++) if (!hidden(1000 + exported_before(i))) return 1; return 0; }
"""


def test_a_guess_is_no_name(t):
    """What lies between exported functions has no name: the nearest, which the trace keeps as a guess, is told as a fact by no format."""
    program = t.path("hidden")
    with open(program + ".c", "w") as f:
        f.write(HIDDEN)
    trace = t.path("h.silt")
    for flags, guess in (((), ""), (("-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"), "exported_before")):
        r = run(["gcc", "-O1", "-fno-builtin", "-fno-toplevel-reorder", "-rdynamic", "-s", *flags, program + ".c", "-o", program])
        assert r.code == 0, r.errors
        assert t.silt.record(trace, [program], ["-f"]).code == 0
        stack = parse(t.silt.command("report", "--json", trace).stdout)["top"][0]["sites"][0]["stack"]
        assert (stack[0].get("function", ""), stack[0].get("guess", False)) == (guess, bool(guess)), stack
        check_no_guess(t, trace)


def check_no_guess(t, trace):
    for name in ("folded", "csv", "json", "speedscope", "firefox", "perf-script", "callgrind", "massif", "dhat", "sqlite", "heaptrack", "pprof", "perfetto"):
        path = export(t, trace, name)
        data = run([{"heaptrack": "zstdcat", "pprof": "zcat"}.get(name, "cat"), path]).stdout
        assert b"hidden" in data and b"exported_before" not in data, name
    rows = t.silt.command("sql", trace, "select function from frames union select function from sites union select function from call_paths", "--csv").text
    assert "exported_before" not in rows and "main" in rows, rows


def test_heaptrack_goes_by_the_name(t):
    """Its readers take a file for packed if its name says so, and so does silt."""
    trace = recorded(t)
    for name, is_packed in (("a.heaptrack.zst", True), ("a.heaptrack", False), ("a", False)):
        r = t.silt.command("export", trace, "--format", "heaptrack", "-f", "-o", t.path(name))
        assert r.code == 0, r.errors
        with open(t.path(name), "rb") as f:
            data = f.read()
        assert data.startswith(b"\x28\xb5\x2f\xfd") == is_packed and (b"\n+ " in data) == (not is_packed), data[:100]
        assert totals(t, t.path(name))["allocations"] == totals(t, trace)["allocations"]
    r = t.silt.command("export", trace, "--format", "heaptrack", "-o", t.path("a.gz"))
    assert r.code == 2 and ".zst" in r.errors and r.errors.count("\n") == 1 and not os.path.exists(t.path("a.gz")), r.errors
