# SPDX-License-Identifier: MIT
"""Programs that nobody here wrote, exported to every format with a reader at hand: the reader's figures are silt's. The tables of
docs/formats.md, "Compared", are this test's: it writes them to formats.md in the build directory. The table of readers must be that of docs."""

import csv
import json
import os
import re
import shutil
import sqlite3

from cases.export_tables import in_npm, raw
from cases.export_viewers import JSON, SQL, dh_view, export, heaptrack_sum, run
from harness.firefox_reader import FirefoxReader

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

CC = """
#include <map>
#include <string>
#include <vector>
template <int N> struct Box { std::map<std::string, std::vector<int>> held; int get() { return Box<N - 1>().get() + (int)held.size(); } };
template <> struct Box<0> { int get() { return 0; } };
int main() { return Box<40>().get(); }
"""

RUST = """
use std::collections::HashMap;
fn main() {
    let mut kept: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..20000u64 { kept.entry(format!("key {}", i % 700)).or_default().push(i); }
    let joined: Vec<String> = kept.iter().map(|(k, v)| format!("{} {}", k, v.len())).collect();
    println!("{}", joined.len());
}
"""


def programs(t):
    sql, cc, rust = t.path("a.sql"), t.path("a.cc"), t.path("a.rs")
    for path, text in ((sql, "create table t(a integer primary key, b text);\nbegin;\n" + SQL), (cc, CC), (rust, RUST)):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
    yield "sqlite3, 1,500 rows and 40 questions", ["sqlite3", ":memory:", f".read {sql}"]
    yield "python3, JSON there and back", ["/usr/bin/python3", "-c", JSON]
    if shutil.which("rustc"):
        run(["rustc", "-g", "-O", rust, "-o", t.path("rust")])
        yield "Rust, a hash map of vectors", [t.path("rust")]
    compiler = run(["g++", "-print-prog-name=cc1plus"]).stdout.strip()
    if os.path.exists(compiler):
        yield "cc1plus, templates of maps", [compiler, "-quiet", "-imultiarch", run(["g++", "-print-multiarch"]).stdout.strip(), "-D_GNU_SOURCE", cc, "-o", t.path("a.s")]
    if shutil.which("redis-server") and shutil.which("redis-cli"):
        port = str(20000 + os.getpid() % 20000)
        script = f"redis-server --port {port} --save '' --daemonize no & for i in $(seq 100); do redis-cli -p {port} ping >/dev/null 2>&1 && break; sleep 0.05; done; " \
                 f"(for i in $(seq 3000); do echo set key:$i value:$i; echo hset hash:$((i % 50)) f$i $i; done) | redis-cli -p {port} >/dev/null; redis-cli -p {port} shutdown nosave; wait"
        yield "redis-server, 6,000 commands", ["/bin/sh", "-c", script]


def process_of(got, name):
    """The one of several that is meant: redis-server and no redis-cli. Programs of one file differ by what they are called."""
    named = [p for p in got["processes"] if p["command"] and os.path.basename(p["command"][0]).startswith(name)]
    return max(named, key=lambda p: p["totals"]["allocations"], default=None)


# ---- what each reader says: [allocations, bytes, temporary, peak bytes, peak blocks, end bytes, end blocks], None: it does not ----------


def by_heaptrack(t, trace, options):
    out = export(t, trace, "heaptrack", *options)
    text = run(["heaptrack_print", "-f", out, "-p", "0", "-a", "0", "-T", "0"]).stdout
    return [int(re.search(r"calls to allocation functions: (\d+)", text)[1]), None,
            int(re.search(r"temporary memory allocations: (\d+)", text)[1]), heaptrack_sum(t, out, "peak"), None,
            heaptrack_sum(t, out, "leaked"), None]


def by_massif(t, trace, options):
    text = run(["ms_print", "--threshold=0", export(t, trace, "massif", *options)]).stdout
    live = [int(x.replace(",", "")) for x in re.findall(r"^ *\d+ +[\d.,]+ +([\d,]+) +[\d,]+ +0 +0$", text, re.M)]
    return [None, None, None, max(live), None, live[-1], None]


def by_dhat(t, trace, options):
    view = dh_view(t, export(t, trace, "dhat", *options))
    return view and [view["tbk"], view["tb"], None, view["gb"], view["gbk"], view["eb"], view["ebk"]]


def by_callgrind(t, trace, options):
    text = run(["callgrind_annotate", "--auto=no", "--threshold=100", export(t, trace, "callgrind", *options)]).stdout
    line = [x for x in text.splitlines() if "PROGRAM TOTALS" in x][0]
    got = [int(x.replace(",", "")) for x in re.findall(r"([\d,]+)(?: \([\d. ]+%\))? ", line)]
    return [got[1], got[0], *got[2:]]


def heap_profile(t, trace, options, form, reader):
    out = export(t, trace, form, "--by", "end", *options)

    def ask(what):
        text = run([reader, "--text", "--show_bytes", f"--{what}", "/bin/true", out]).stdout
        return int(re.search(r"Total: (\d+)", text)[1]) if text.strip() else 0  # of nothing it says nothing
    return [ask("alloc_objects"), ask("alloc_space"), None, None, None, ask("inuse_space"), ask("inuse_objects")]


def by_jeprof(t, trace, options):
    return heap_profile(t, trace, options, "jeprof", "jeprof")


def by_google_pprof(t, trace, options):
    return heap_profile(t, trace, options, "gperftools", "google-pprof")


def of_pprof(sums):
    return [sums["alloc_objects"], sums["alloc_space"], None, None, None, sums["inuse_space"], sums["inuse_objects"]]


def by_pprof(t, trace, options):
    return of_pprof(raw(export(t, trace, "pprof", *options))[0])


def by_npm(t, trace, options):
    return of_pprof(in_npm(t, export(t, trace, "pprof", *options)))


def by_firefox(t, trace, options):
    """What its command line says of each function itself, added up."""
    with FirefoxReader(t, export(t, trace, "firefox", *options)) as reader:
        def ask(what):
            reader.ask("strategy", what)
            return sum(f["selfSamples"] for f in json.loads(reader.ask("thread", "functions", "--json", "--limit", "0"))["functions"])
        return [None, ask("native-allocations"), None, None, None, ask("native-retained-allocations"), None]


def by_speedscope(t, trace, options):
    with open(export(t, trace, "speedscope", *options), encoding="utf-8") as f:
        sums = {p["name"]: sum(p["weights"]) for p in json.load(f)["profiles"]}
    return [sums["allocations"], sums["bytes allocated"], sums["temporary allocations"], sums["live at the peak"], None,
            sums.get("live at the end", 0), None]


def by_csv(t, trace, options):
    with open(export(t, trace, "csv", *options), newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    return [sum(int(row[k]) for row in rows) for k in ("allocations", "allocated_bytes", "temporary", "peak_bytes", "peak_blocks", "end_bytes", "end_blocks")]


def by_sqlite(t, trace, options):
    with sqlite3.connect(export(t, trace, "sqlite", *options)) as db:
        return list(db.execute("select sum(allocations), sum(allocated_bytes), sum(temporary), sum(peak_bytes), sum(peak_blocks), "
                               "sum(end_bytes), sum(end_blocks) from sites").fetchone())


FIGURES = {"allocations": "allocations", "bytes_allocated": "bytes allocated", "temporary_allocations": "temporary", "peak_live_bytes": "peak",
           "peak_live_blocks": "peak blocks", "end_live_bytes": "end", "end_live_blocks": "end blocks"}
ALLOCATED = ("allocations", "bytes allocated")
# What asks it, the format that it reads, the figures that it has.
READERS = {
    "heaptrack_print": (by_heaptrack, "heaptrack", ("allocations", "temporary", "peak", "end")),
    "ms_print": (by_massif, "massif", ("peak", "end")),
    "dh_view": (by_dhat, "dhat", (*ALLOCATED, "peak", "peak blocks", "end", "end blocks")),
    "callgrind_annotate": (by_callgrind, "callgrind", tuple(FIGURES.values())),
    "jeprof": (by_jeprof, "jeprof", (*ALLOCATED, "end", "end blocks")),
    "google-pprof": (by_google_pprof, "gperftools", (*ALLOCATED, "end", "end blocks")),
    "go tool pprof": (by_pprof, "pprof", (*ALLOCATED, "end", "end blocks")),
    "pprof-format": (by_npm, "pprof", (*ALLOCATED, "end", "end blocks")),
    "profiler-cli": (by_firefox, "firefox", ("bytes allocated", "end")),
    "speedscope's file": (by_speedscope, "speedscope", (*ALLOCATED, "temporary", "peak", "end")),
    "csv": (by_csv, "csv", tuple(FIGURES.values())),
    "sqlite3": (by_sqlite, "sqlite", tuple(FIGURES.values())),
}
PROGRAMS = ("sqlite3", "python3", "Rust", "cc1plus", "redis-server")
SOAK_ALONE = {("jeprof", "cc1plus"), ("google-pprof", "cc1plus")}  # a minute of Perl each
IN_SOAK = "equal, in the soak"


def readers_table(equal):
    """`equal`: pairs of reader and program whose figures are silt's."""
    def cell(reader, program):
        return IN_SOAK if (reader, program) in SOAK_ALONE else "equal" if (reader, program) in equal else "not compared"
    rows = [["reader", "format", "figures", *PROGRAMS], ["---"] * (3 + len(PROGRAMS))]
    for reader, (_, form, figures) in READERS.items():
        rows.append([reader, f"`{form}`", "all" if len(figures) == len(FIGURES) else ", ".join(figures), *(cell(reader, p) for p in PROGRAMS)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def table_of_docs():
    with open(os.path.join(SOURCE, "docs", "formats.md"), encoding="utf-8") as f:
        text = f.read()
    return text.split("<!-- readers: begin -->\n")[1].split("<!-- readers: end -->")[0]


def test_docs_name_every_reader_and_its_figures(t):
    assert table_of_docs() == readers_table({(r, p) for r in READERS for p in PROGRAMS})


def test_readers_have_silts_figures(t):
    rows, n, equal, recorded = [], 0, set(), set()
    for name, argv in programs(t):
        program = name.split(",")[0]
        recorded.add(program)
        trace = t.path("t.silt")
        r = t.silt.record(trace, argv, ["-f"])
        assert r.code == 0, (name, r.errors)
        got, why = t.silt.report(trace)
        assert got, why
        process = process_of(got, program) if len(got["processes"]) > 1 else None
        options = ["--process", f"{process['pid']}.{process['image']}"] if process else []
        ours = [(process or got)["totals"][k] for k in FIGURES]
        for reader, (ask, _, figures) in READERS.items():
            if (reader, program) in SOAK_ALONE and not t.context.is_soak:
                continue
            theirs = ask(t, trace, options)
            if theirs is None:
                continue
            assert tuple(f for f, a in zip(FIGURES.values(), theirs) if a is not None) == figures, (reader, theirs)
            for figure, a, b in zip(FIGURES, theirs, ours):
                assert a is None or a == b, f"{name}: {figure}: {reader} has {a}, silt {b}"
                n += a is not None
            equal.add((reader, program))
        rows.append(f"| {name} | {ours[0]:,} | {ours[2]:,} | {ours[3]:,} | {ours[5]:,} |")
    with open(os.path.join(t.context.build_dir, "formats.md"), "w", encoding="utf-8") as f:
        f.write("| program | allocations | temporary | peak, bytes | end, bytes |\n| --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n\n" + readers_table(equal))
    t.notes.append(f"{len(rows)} programs, {n} figures of {len(READERS)} readers")
    missing = {(r, p) for r in READERS for p in PROGRAMS} - equal - SOAK_ALONE
    if missing:
        t.notes.append("not here: " + ", ".join(sorted(f"{r} of {p}" for r, p in missing)))
    else:
        assert recorded == set(PROGRAMS) and table_of_docs() == readers_table(equal)
