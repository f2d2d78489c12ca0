# SPDX-License-Identifier: MIT
"""`silt export` to formats of viewers: the reader of each, where it is at hand, prints silt's own figures."""

import glob
import itertools
import json
import os
import re
import shutil
import subprocess

from harness.cases import skip
from harness.firefox_reader import FirefoxReader

SQL = "".join(f"insert into t values({i}, 'name {i} {'x' * (i % 97)}');\n" for i in range(1500)) + \
    "".join(f"select count(*) from t where b like '%{i}%' group by a%7;\n" for i in range(40))
JSON = "import json; x = [{'a': i, 'b': str(i) * 3} for i in range(4000)]; json.loads(json.dumps(x))"


def record(t, argv, trace="t.silt"):
    r = t.silt.record(t.path(trace), argv, ["-f"])
    assert r.stderr == b"", r.errors
    return t.path(trace)


def export(t, trace, kind, *options):
    out = t.path(f"out.{kind}" + (".zst" if kind == "heaptrack" else ""))
    r = t.silt.command("export", "-f", trace, "--format", kind, "-o", out, *options)
    assert r.code == 0, f"{kind}: {r.errors}"
    return out


def totals(t, trace, *options):
    got, why = t.silt.report(trace, *options)
    assert got, why
    return got["totals"]


def traces(t):
    """Programs with many blocks, with reallocations, with threads, and one whose figures are known."""
    sql = t.path("a.sql")
    with open(sql, "w", encoding="ascii") as f:
        f.write("create table t(a integer primary key, b text);\nbegin;\n" + SQL)
    yield "basic", [t.program("basic")]
    yield "threads", [t.program("threads")]
    if shutil.which("sqlite3"):
        yield "sqlite3", ["sqlite3", ":memory:", f".read {sql}"]
    if os.path.exists("/usr/bin/python3"):
        yield "python3", ["/usr/bin/python3", "-c", JSON]


def run(argv):
    r = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert r.returncode == 0, f"{argv[0]}: {r.returncode} {r.stderr[:500]}"
    return r


def need(tool):
    if not shutil.which(tool):
        skip(f"there is no {tool}")


def equal(name, what, theirs, ours):
    assert theirs == ours, f"{name}: {what}: the reader has {theirs}, silt {ours}"


# ---- heaptrack ------------------------------------------------------------------------------------


def heaptrack_sum(t, path, cost):
    """To the byte: heaptrack_print rounds what it prints."""
    folded = t.path("folded.txt")
    run(["heaptrack_print", "-f", path, "-F", folded, "--flamegraph-cost-type", cost, "--disable-builtin-suppressions",
         "-p", "0", "-a", "0", "-T", "0"])
    with open(folded, encoding="utf-8") as f:
        return sum(int(line.rsplit(" ", 1)[1]) for line in f if line.strip())


def check_heaptrack(t, name, trace, *options):
    out = export(t, trace, "heaptrack", *options)
    r = run(["heaptrack_print", "-f", out, "-p", "0", "-a", "0", "-T", "0"])
    assert r.stderr == "", f"{name}: {r.stderr[:300]}"
    check_numbers(name, out)
    ours = totals(t, trace, *options)
    equal(name, "allocations", int(re.search(r"calls to allocation functions: (\d+)", r.stdout)[1]), ours["allocations"])
    equal(name, "temporary", int(re.search(r"temporary memory allocations: (\d+)", r.stdout)[1]),
          ours["temporary_allocations"])
    for cost, key in (("peak", "peak_live_bytes"), ("leaked", "end_live_bytes")):
        equal(name, cost, heaptrack_sum(t, out, cost), ours[key])


def check_numbers(name, path):
    """heaptrack_gui crashes if numbers do not turn up in allocations in their order."""
    if not shutil.which("zstd"):
        return
    top = -1
    for line in run(["zstd", "-dc", path]).stdout.splitlines():
        if line[0] in "+-":
            number = int(line[2:], 16)
            assert number <= top + (line[0] == "+"), f"{name}: {line} behind {top:x}"
            top = max(top, number)


def test_heaptrack_counts_the_same(t):
    need("heaptrack_print")
    for name, argv in traces(t):
        trace = record(t, argv)
        if name == "threads":
            # blocks of several threads that are alive at the peak cannot all be followed by their releases
            out = export(t, trace, "heaptrack")
            equal(name, "peak", heaptrack_sum(t, out, "peak"), totals(t, trace)["peak_live_bytes"])
            equal(name, "allocations", heaptrack_sum(t, out, "allocations"), totals(t, trace)["allocations"])
            continue
        check_heaptrack(t, name, trace)
    if name == "python3":
        check_heaptrack(t, "python3, up to a moment", trace, "--to", "15ms")


def test_heaptrack_begins_with_what_was_there(t):
    """Blocks that a child inherits, and those from before a window, stand at the beginning."""
    need("heaptrack_print")
    trace = record(t, [t.program("fork_inherit")])
    got, why = t.silt.report(trace)
    assert got, why
    child = [p for p in got["processes"] if p["parent"] == got["pid"]][0]
    out = export(t, trace, "heaptrack", "--process", str(child["pid"]))
    equal("child", "peak", heaptrack_sum(t, out, "peak"), child["totals"]["peak_live_bytes"])
    equal("child", "end", heaptrack_sum(t, out, "leaked"), child["totals"]["end_live_bytes"])
    trace = record(t, [t.helper(), "phases"])
    out = export(t, trace, "heaptrack", "--from", "700ms")
    ours = totals(t, trace, "--from", "700ms")
    equal("window", "end", heaptrack_sum(t, out, "leaked"), ours["end_live_bytes"])
    equal("window", "peak", heaptrack_sum(t, out, "peak"), ours["peak_live_bytes"])
    equal("window", "allocations", heaptrack_sum(t, out, "allocations"), ours["allocations"] + 100)


# ---- massif ---------------------------------------------------------------------------------------


def test_massif_has_the_peak_and_the_end(t):
    need("ms_print")
    for name, argv in traces(t):
        trace = record(t, argv)
        out = export(t, trace, "massif")
        text = run(["ms_print", "--threshold=0", out]).stdout
        ours = totals(t, trace, "--process", "all")
        rows = re.findall(r"^ *\d+ +[\d.,]+ +([\d,]+) +[\d,]+ +0 +0$", text, re.M)
        live = [int(x.replace(",", "")) for x in rows]
        assert 60 <= len(live) <= 100, f"{name}: {len(live)} snapshots"
        equal(name, "peak", max(live), ours["peak_live_bytes"])
        equal(name, "end", live[-1], ours["end_live_bytes"])
        assert "(peak)" in text, text[:2000]
        peak = f"({ours['peak_live_bytes']:,}B) (heap allocation functions)"
        assert peak in text, f"{name}: no tree of {peak}"


# ---- dhat -----------------------------------------------------------------------------------------

# dh_view.js is written for a page: what it needs of one, and its own tree built from a file.
DH_VIEW = """
const fs = require("fs"), vm = require("vm");
const node = () => ({ childNodes: [], classList: { add() {} }, appendChild(x) { this.childNodes.push(x); }, style: {} });
const page = { document: { getElementById: node, createElement: node, createTextNode: node, body: node() }, console,
               window: {}, data: fs.readFileSync(process.argv[3], "utf8"), out: {} };
const code = fs.readFileSync(process.argv[2], "utf8") + `
gSelect = { childNodes: [], selectedIndex: 0 };
for (const d of gSelectData) gSelect.childNodes.push({});
gData = JSON.parse(data);
buildTree();
out.value = { tb: gRoot._totalBytes, tbk: gRoot._totalBlocks, gb: gRoot._atTGmaxBytes, gbk: gRoot._atTGmaxBlocks,
              eb: gRoot._atTEndBytes, ebk: gRoot._atTEndBlocks };`;
vm.runInNewContext(code, page);
console.log(JSON.stringify(page.out.value));
"""


def dh_view(t, path):
    script = [p for d in ("libexec", "lib", "lib64") for p in glob.glob(f"/usr/{d}/valgrind/dh_view.js")]
    if not script or not shutil.which("node"):
        return None
    with open(t.path("dh_view.cjs"), "w", encoding="utf-8") as f:
        f.write(DH_VIEW)
    return json.loads(run(["node", t.path("dh_view.cjs"), script[0], path]).stdout)


def test_dhat_adds_up(t):
    keys = {"tb": "bytes_allocated", "tbk": "allocations", "gb": "peak_live_bytes", "gbk": "peak_live_blocks",
            "eb": "end_live_bytes", "ebk": "end_live_blocks"}
    for name, argv in traces(t):
        trace = record(t, argv)
        out = export(t, trace, "dhat")
        with open(out, encoding="utf-8") as f:
            got = json.load(f)
        ours, view = totals(t, trace), dh_view(t, out)
        for key, figure in keys.items():
            equal(name, key, sum(p[key] for p in got["pps"]), ours[figure])
            if view:
                equal(name, f"{key} of dh_view", view[key], ours[figure])
        paths = [tuple(p["fs"]) for p in got["pps"]]
        assert len(set(paths)) == len(paths), f"{name}: a call path stands there twice"
        for p in got["pps"]:
            assert max(p["fs"]) < len(got["ftbl"]) and p["mb"] >= max(p["gb"], p["eb"]), p
            assert p["mb"] <= p["tb"] and 0 <= p["tl"] <= p["tbk"] * got["te"], p


# ---- callgrind ------------------------------------------------------------------------------------


def test_callgrind_adds_up(t):
    need("callgrind_annotate")
    keys = ("bytes_allocated", "allocations", "temporary_allocations", "peak_live_bytes", "peak_live_blocks",
            "end_live_bytes", "end_live_blocks")
    for name, argv in traces(t):
        trace = record(t, argv)
        r = run(["callgrind_annotate", "--auto=no", "--inclusive=yes", "--threshold=100", export(t, trace, "callgrind")])
        line = [x for x in r.stdout.splitlines() if "PROGRAM TOTALS" in x][0]
        got = [int(x.replace(",", "")) for x in re.findall(r"([\d,]+)(?: \([\d. ]+%\))? ", line)]
        ours = totals(t, trace, "--process", "all")
        equal(name, "totals", got, [ours[k] for k in keys])
        # no function has more than there is, however it recurses
        for x in re.findall(r"^ *([\d,]+) \([\d. ]+%\)", r.stdout, re.M):
            assert int(x.replace(",", "")) <= ours["bytes_allocated"], f"{name}: {x}"


# ---- jeprof, google-pprof ----------------------------------------------------------------------------


def heap_readers_count_the_same(t, form, reader):
    need(reader)
    kinds = {"inuse_space": "live_bytes", "inuse_objects": "live_blocks", "alloc_space": "bytes_allocated",
             "alloc_objects": "allocations"}
    trace = record(t, [t.program("basic")])
    for by in ("end", "peak"):
        out = export(t, trace, form, "--by", by)
        ours = totals(t, trace, "--process", "all")
        for option, figure in kinds.items():
            text = run([reader, "--text", "--show_bytes", f"--{option}", t.program("basic"), out]).stdout
            key = f"{by}_{figure}" if figure.startswith("live") else figure
            equal(by, option, int(re.search(r"Total: (\d+)", text)[1]), ours[key])
            assert re.search(r" main\b", text), text
    r = t.silt.command("export", "-f", trace, "--format", form, "--by", "temporary", "-o", t.path("x"))
    assert r.code == 2 and len(r.errors.splitlines()) == 1 and form in r.errors, r.errors


def test_jeprof_counts_the_same(t):
    heap_readers_count_the_same(t, "jeprof", "jeprof")


def test_google_pprof_counts_the_same(t):
    heap_readers_count_the_same(t, "gperftools", "google-pprof")


def test_jeprof_reads_the_form_of_gperftools(t):
    heap_readers_count_the_same(t, "gperftools", "jeprof")


# ---- perf script ----------------------------------------------------------------------------------


def test_perf_script_has_each_allocation(t):
    trace = record(t, [t.program("basic")])
    with open(export(t, trace, "perf-script"), encoding="utf-8") as f:
        text = f.read()
    heads = re.findall(r"^(\S+) (\d+)/(\d+) (\d+\.\d{6}): +(\d+) silt:malloc:\n((?:\t.*\n)+)\n", text, re.M)
    ours = totals(t, trace, "--process", "all")
    equal("basic", "allocations", len(heads), ours["allocations"])
    equal("basic", "bytes", sum(int(h[4]) for h in heads), ours["bytes_allocated"])
    assert all(re.search(r"^\t +[0-9a-f]+ main \(", h[5], re.M) for h in heads), heads[0]


# ---- the Firefox Profiler -------------------------------------------------------------------------


def check_columns(name, table):
    for key, column in table.items():
        if isinstance(column, list):
            assert len(column) == table["length"], f"{name}.{key}: {len(column)} of {table['length']}"


def test_firefox_is_whole(t):
    for name, argv in traces(t):
        trace = record(t, argv)
        with open(export(t, trace, "firefox"), encoding="utf-8") as f:
            got = json.load(f)
        thread, ours = got["threads"][0], totals(t, trace)
        for key in ("samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols",
                    "nativeAllocations"):
            check_columns(key, thread[key])
        events = thread["nativeAllocations"]
        live, n, total, peak = {}, 0, 0, 0
        for i in range(events["length"]):
            address, weight = events["memoryAddress"][i], events["weight"][i]
            if address in live:
                assert weight == -live.pop(address), f"{name}: {address}"
            else:
                live[address], n, total = weight, n + 1, total + weight
                assert events["stack"][i] < thread["stackTable"]["length"], i
        for level in itertools.accumulate(events["weight"]):
            peak = max(peak, level)
        equal(name, "allocations", n, ours["allocations"])
        equal(name, "bytes", total, ours["bytes_allocated"])
        equal(name, "peak", peak, ours["peak_live_bytes"])
        equal(name, "end", sum(live.values()), ours["end_live_bytes"])
        equal(name, "memory track", max(itertools.accumulate(got["counters"][0]["samples"]["count"])),
              ours["peak_live_bytes"])
        assert all(p is None or p < i for i, p in enumerate(thread["stackTable"]["prefix"])), name
        assert all(x < len(thread["stringArray"]) for x in thread["funcTable"]["name"]), name


def test_firefox_opens_in_its_own_reader(t):
    trace = record(t, [t.program("basic")])
    with FirefoxReader(t, export(t, trace, "firefox")) as reader:
        reader.ask("strategy", "native-retained-allocations")
        functions = reader.ask("thread", "functions")
        sums = [int(x.replace(",", "")) for x in re.findall(r"self: ([\d,]+)B", functions)]
        equal("basic", "retained", sum(sums), totals(t, trace)["end_live_bytes"])
