# SPDX-License-Identifier: MIT
"""`silt report --json`: the shape of the contract, sites, windows and processes."""

import json
import os
import subprocess

from harness import expect
from harness.watch import await_report

NUMBER = (int, float)
SITE = {"bytes": int, "blocks": int, "allocations": int, "stack": list}
FRAME = {"function": str, "file": str, "line": int, "module": str, "inlined": bool}
TOTALS = {**dict.fromkeys(expect.TOTALS, int), "peak_at_s": NUMBER, "peak_rss_bytes": int}
SHAPE = {
    "schema": str, "command": list, "pid": int, "duration_s": NUMBER, "mode": str, "totals": dict,
    "quality": dict, "overhead": dict, "ended": str, "processes": list, "findings": list, "top": list,
}
QUALITY = {"complete_stacks_pct": NUMBER, "symbolized_frames_pct": NUMBER}
OVERHEAD = {"runtime_bytes": int, "trace_bytes": int, "bytes_per_event": NUMBER, "blocked_s": NUMBER}
PROCESS = {"pid": int, "parent": int, "command": list, "totals": dict}
FINDING = {"kind": str, "text": str, "bytes": int}
METRICS = ["peak", "end", "allocated", "count", "temporary", "growth", "mapped"]


def check_shape(where, shape, got):
    for key, kind in shape.items():
        assert key in got, f"{where}: no {key!r} in {sorted(got)}"
        assert isinstance(got[key], kind), f"{where}.{key}: {got[key]!r} is no {kind}"
        assert kind is bool or not isinstance(got[key], bool), f"{where}.{key}: {got[key]!r}"


def record(t, argv, trace="t.silt", options=()):
    r = t.silt.record(t.path(trace), argv, ["-f", *options])
    assert r.stderr == b"", r.errors
    return r


def report(t, *options, trace="t.silt"):
    got, why = t.silt.report(t.path(trace), *options)
    assert got, why
    return got


def check_sites(name, sites):
    for site in sites:
        check_shape(name, SITE, site)
        assert site["stack"], f"{name}: a site without a stack"
        for frame in site["stack"]:
            check_shape(f"{name}.stack", FRAME, frame)


def test_shape(t):
    record(t, [t.program("fork_tree")])
    for options in ([], ["--process", "all"], ["--from", "0s"], ["--by", "growth"]):
        got = report(t, *options)
        check_shape("report", SHAPE, got)
        assert got["schema"] == "silt.report/1" and got["mode"] == "exact"
        assert got["ended"] in ("exit", "signal", "oom", "recording-stopped", "unknown")
        check_shape("totals", TOTALS, got["totals"])
        check_shape("quality", QUALITY, got["quality"])
        check_shape("overhead", OVERHEAD, got["overhead"])
        for process in got["processes"]:
            check_shape("process", PROCESS, process)
            check_shape("process.totals", TOTALS, process["totals"])
        for finding in got["findings"]:
            check_shape("finding", FINDING, finding)
            assert finding["site"] is None or check_shape("finding.site", {"stack": list}, finding["site"]) is None
            assert finding["text"].strip() and "\n" not in finding["text"]
        for metric in got["top"]:
            check_sites("top " + metric["metric"], metric["sites"])
        assert got["command"] == [t.program("fork_tree")], got["command"]


def test_overhead_is_honest(t):
    record(t, [t.program("volume")])
    got = report(t)
    size = os.stat(t.path("t.silt")).st_size
    assert got["overhead"]["trace_bytes"] == size, f"{got['overhead']['trace_bytes']} is not the file's {size}"
    per_event = size / 3000000
    assert abs(got["overhead"]["bytes_per_event"] - per_event) < 0.02 * per_event + 0.01, got["overhead"]
    assert got["overhead"]["runtime_bytes"] > 0
    assert 4000000 < got["overhead"]["recorder_peak_bytes"] < 200000000, got["overhead"]
    assert 0.02 < got["overhead"]["recorder_cpu_s"] < 60, got["overhead"]
    assert got["totals"]["peak_rss_bytes"] > 4000000


def test_the_common_peak_is_the_sum_of_its_sites(t):
    """Of all processes together, some of which end while others go on: who counts is the same for total and sites."""
    for _ in range(t.count(6, 200)):
        record(t, [t.program("fork_tree")], options=["--wait", "--no-symbols"])
        got = report(t, "--process", "all", "--top", "1000")
        sites = next(m["sites"] for m in got["top"] if m["metric"] == "peak")
        for what, total in (("bytes", "peak_live_bytes"), ("blocks", "peak_live_blocks")):
            parts = sum(s[what] for s in sites)
            assert parts == got["totals"][total], f"{what} of the sites: {parts}, of all: {got['totals'][total]}"


def test_every_metric_is_listed_and_the_chosen_one_first(t):
    record(t, [t.program("basic")])
    got = report(t)
    assert got["top"][0]["metric"] == "peak", got["top"][0]["metric"]
    assert sorted(m["metric"] for m in got["top"]) == sorted(METRICS), [m["metric"] for m in got["top"]]
    for metric in METRICS:
        got = report(t, "--by", metric)
        assert got["top"][0]["metric"] == metric, f"--by {metric}: {got['top'][0]['metric']} is first"
        assert sorted(m["metric"] for m in got["top"]) == sorted(METRICS)
    r = t.silt.command("report", "--by", "colour", t.path("t.silt"))
    assert r.code == 2 and len(r.errors.splitlines()) == 1, r.errors


def by_metric(got):
    return {m["metric"]: m["sites"] for m in got["top"]}


def test_figures_of_sites(t):
    """basic.c: three sites with known figures for every metric."""
    record(t, [t.program("basic")])
    sites = by_metric(report(t))
    def figures(m):
        return sorted(((s["bytes"], s["blocks"], s["allocations"]) for s in sites[m] if s["bytes"]), reverse=True)
    assert figures("allocated") == [(10000, 10, 10), (5050, 100, 100), (77, 1, 1)] or \
        [f[0] for f in figures("allocated")] == [10000, 5050, 77], figures("allocated")
    assert [f[:2] for f in figures("peak")] == [(5050, 100), (77, 1)], figures("peak")
    assert [f[:2] for f in figures("end")] == [(3775, 50), (77, 1)], figures("end")
    assert sorted(s["allocations"] for s in sites["count"]) == [1, 10, 100], sites["count"]
    assert [s["allocations"] for s in sites["count"]] == [100, 10, 1], "count is not sorted"
    temporary = [s for s in sites["temporary"] if s["bytes"]]
    assert len(temporary) == 1 and temporary[0]["bytes"] == 10000, temporary
    for s in sites["allocated"]:
        assert s["stack"][0]["function"] == "main", s["stack"]
        assert s["stack"][0]["module"].endswith("basic"), s["stack"][0]


def test_sums_over_all_sites(t):
    record(t, [t.program("sites")])
    got = report(t, "--top", "5000")
    for metric in ("peak", "end", "allocated"):
        sites = by_metric(got)[metric]
        assert len(sites) == 4096 and sum(s["bytes"] for s in sites) == 61440, f"{metric}: {len(sites)}"
        depths = {len([f for f in s["stack"] if f["function"] == "down"]) for s in sites}
        assert depths == {13}, f"depths {depths}"


def test_top_limits(t):
    record(t, [t.program("sites")])
    assert all(len(m["sites"]) == 20 for m in report(t)["top"] if m["metric"] in ("peak", "allocated"))
    for n in (1, 7):
        got = report(t, "--top", str(n))
        assert all(len(m["sites"]) <= n for m in got["top"])
        assert len(by_metric(got)["peak"]) == n
    for bad in ("-1", "x", "1e3"):
        assert t.silt.command("report", "--top", bad, t.path("t.silt")).code == 2, bad


def test_sorted_largest_first(t):
    record(t, [t.program("containers")])
    for m in report(t, "--top", "1000")["top"]:
        key = {"count": "allocations", "temporary": "blocks"}.get(m["metric"], "bytes")
        values = [s[key] for s in m["sites"]]
        assert values == sorted(values, reverse=True), f"{m['metric']}: {values}"


def function_bytes(sites, function):
    return sum(s["bytes"] for s in sites if any(f["function"] == function for f in s["stack"]))


def test_windows(t):
    """The helper allocates 100 x 1,000 at once, after 1.5 s 200 x 10, and frees 50 of the first then."""
    record(t, [t.helper(), "phases"])
    whole, first, second = report(t), report(t, "--to", "700ms"), report(t, "--from", "700ms")
    late = report(t, "--from", "2200ms", "--to", "2500ms")
    assert whole["totals"]["allocations"] == 300, whole["totals"]
    assert first["totals"]["allocations"] == 100 and first["totals"]["bytes_allocated"] == 100000, first["totals"]
    assert second["totals"]["allocations"] == 200 and second["totals"]["bytes_allocated"] == 2000, second["totals"]
    assert first["totals"]["frees"] == 0 and second["totals"]["frees"] == 50
    assert late["totals"]["allocations"] == 0 and late["totals"]["frees"] == 0
    assert late["totals"]["end_live_bytes"] == 52000, late["totals"]["end_live_bytes"]
    assert first["totals"]["end_live_bytes"] == 100000
    growth = by_metric(second)["growth"]
    assert function_bytes(growth, "allocate_late") == 2000, growth
    assert function_bytes(growth, "allocate_early") == -50000, growth
    assert function_bytes(by_metric(first)["growth"], "allocate_early") == 100000
    for bad in (["--from", "yesterday"], ["--from", "2s", "--to", "1s"]):
        r = t.silt.command("report", *bad, t.path("t.silt"))
        assert r.code == 2 and len(r.errors.splitlines()) == 1, f"{bad}: {r.code} {r.errors}"


def test_one_process(t):
    record(t, [t.program("fork_inherit")])
    main = report(t)
    child = [p for p in main["processes"] if p["parent"] == main["pid"]][0]
    got = report(t, "--process", str(child["pid"]))
    assert got["totals"]["allocations"] == 2 and got["totals"]["end_live_bytes"] == 680, got["totals"]
    assert got["totals"] == child["totals"], "processes and --process differ"
    r = t.silt.command("report", "--process", "1", t.path("t.silt"))
    assert r.code == 2 and len(r.errors.splitlines()) == 1, f"{r.code} {r.errors}"


def test_resident_memory_is_each_processs_own(t):
    """The kernel tells a parent that waited the most that it or a child had."""
    record(t, ["/bin/sh", "-c", "perl -e '$x = \"a\" x 100000000'; true"])
    got = report(t)
    assert 0 < got["totals"]["peak_rss_bytes"] < 20e6, got["totals"]["peak_rss_bytes"]


def test_a_trace_still_being_written(t):
    process = subprocess.Popen(t.silt.run_argv(t.path("t.silt"), [t.helper(), "allocate", "3000"]),
                               stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        early = await_report(t, t.path("t.silt"), 100)
        later = await_report(t, t.path("t.silt"), early["totals"]["allocations"] + 100)
        assert process.poll() is None, "it was not being written any more"
        assert later["duration_s"] > early["duration_s"], f"{early['duration_s']} {later['duration_s']}"
        assert t.silt.command("report", t.path("t.silt")).code == 0
    finally:
        process.communicate()
    assert process.returncode == 17
    assert report(t)["totals"]["allocations"] >= 3000


def test_is_one_json_document_in_utf8(t):
    record(t, [t.helper(), "start", "ä \"quoted\" \\ \n tab\t", "\udcff\udcfe"])
    r = t.silt.command("report", "--json", t.path("t.silt"))
    assert r.code == 0, r.errors
    got = json.loads(r.stdout.decode("utf-8"))
    assert got["command"][2] == "ä \"quoted\" \\ \n tab\t", got["command"]
