# SPDX-License-Identifier: MIT
"""`silt report` by group, as trees and as histograms: sums, known programs, and how it looks."""

import os
import re

from harness.process import run

METRICS = {"peak": "peak_live_bytes", "end": "end_live_bytes", "allocated": "bytes_allocated", "count": "allocations",
           "temporary": "temporary_allocations", "growth": "end_live_bytes"}
GROUPS = ["site", "function", "module", "line", "crate", "component", "thread", "size", "process"]
TREES = [["--tree"], ["--bottom-up"], ["--tree", "--depth", "2"], ["--tree", "--min-share", "20"], ["--tree", "--full"]]


def record(t, name, trace="t.silt"):
    r = t.silt.record(t.path(trace), [t.program(name)], ["-f"])
    assert r.code == 0, r.errors


def report(t, *options, trace="t.silt"):
    got, why = t.silt.report(t.path(trace), *options)
    assert got, why
    return got


def text(t, *options, columns=80, locale="C.UTF-8"):
    env = {**os.environ, "COLUMNS": str(columns), "LC_ALL": locale}
    r = t.silt.command("report", *options, t.path("t.silt"), env=env)
    assert r.code == 0 and r.stderr == b"", r.errors
    return r.text


def test_groups_add_up(t):
    for program in ("basic", "fork_tree", "realloc_chain"):
        record(t, program)
        for process in ([], ["--process", "all"]):
            totals = report(t, *process)["totals"]
            for by in GROUPS:
                metric = list(METRICS)[GROUPS.index(by) % len(METRICS)]
                if process and metric == "peak":
                    metric = "end"  # a recorder learns late that a process has ended: the peak of all together is not so exact
                got = report(t, "--group-by", by, "--by", metric, "--top", "100000", *process)
                assert got["schema"] == "silt.groups/1" and got["group_by"] == by and got["exact"], got
                assert got["totals"]["value"] == totals[METRICS[metric]], f"{program} {by}: {got['totals']}"
                sums = sum(g["self"]["value"] for g in got["groups"])
                assert sums == totals[METRICS[metric]], f"{program} by {by} ({metric}): {sums}, not {totals[METRICS[metric]]}"
                values = [g["self"]["value"] for g in got["groups"]]
                assert values == sorted(values, reverse=True), f"{program} by {by}: {values}"


def test_history_adds_up(t):
    record(t, "realloc_chain")
    for by in ("function", "size", "thread"):
        for top in ("1", "100"):
            got = report(t, "--group-by", by, "--top", top)
            rows = [g["live_bytes"] for g in got["groups"] if "live_bytes" in g] + [got["rest"]["live_bytes"]]
            assert len(got["at_s"]) == len(rows[0]) == 100 and got["at_s"] == sorted(got["at_s"])
            assert sum(row[-1] for row in rows) == got["totals"]["end_live_bytes"], [row[-1] for row in rows]


def test_a_function_that_calls_itself_counts_once(t):
    """sites.c: 4,096 paths of 13 calls of down, 61,440 bytes."""
    record(t, "sites")
    functions = {g["function"]: g for g in report(t, "--group-by", "function")["groups"]}
    assert functions["down"]["self"]["value"] == functions["down"]["total"]["value"] == 61440, functions["down"]
    assert functions["main"]["self"]["value"] == 0 and functions["main"]["total"]["value"] == 61440, functions["main"]
    assert functions["down"]["self"]["allocations"] == 3 * 4096
    assert functions["down"]["call_paths"] == 4096


def check_tree(got, totals):
    nodes = got["nodes"]
    children = {}
    for i, n in enumerate(nodes):
        assert n["id"] == i and (n["parent"] is None) == (i == 0) and (i == 0 or n["parent"] < i)
        if i:
            children.setdefault(n["parent"], []).append(n)
    for n in nodes:
        for key in n["total"]:
            parts = n["self"][key] if "self" in n else 0
            parts += sum(c["total"][key] for c in children.get(n["id"], []))
            assert n["total"][key] == parts, f"{key} of {n}: the parts have {parts}"
    if totals:
        assert nodes[0]["total"]["value"] == totals, nodes[0]
    return children


def test_trees_add_up(t):
    for program in ("sites", "fork_tree", "containers"):
        record(t, program)
        for options in TREES:
            for metric, process in (("peak", []), ("count", ["--process", "all"])):
                totals = report(t, *process)["totals"][METRICS[metric]]
                got = report(t, *options, "--by", metric, *process)
                assert got["schema"] == "silt.tree/1", got["schema"]
                check_tree(got, totals)
                if "--min-share" in options:
                    assert all(n["total"]["value"] * 5 >= totals for n in got["nodes"] if "function" in n)


def names(got, node):
    """The functions from a node on, as long as there is one child."""
    children = check_tree(got, None)
    found = []
    while len(children.get(node, [])) == 1:
        found.append(children[node][0].get("function", "rest"))
        node = children[node][0]["id"]
    return found


def test_shape_of_trees(t):
    record(t, "sites")
    top_down = names(report(t, "--tree"), 0)
    assert top_down == ["main"] + 13 * ["down"], top_down
    assert names(report(t, "--bottom-up"), 0) == top_down[::-1]
    assert names(report(t, "--callees", "main"), 0) == top_down
    assert names(report(t, "--callers", "down"), 0) == ["down", "main"], "not from the outermost call on"
    assert names(report(t, "--callees", "^do.n$"), 0) == 13 * ["down"]
    assert names(report(t, "--tree", "--depth", "3"), 0) == ["main", "down", "down", "rest"]


def test_histograms(t):
    """basic.c: blocks of 1 to 100, 77 and ten of 1,000 bytes."""
    record(t, "basic")
    got = report(t, "--histogram", "size")
    assert got["schema"] == "silt.histogram/1" and got["blocks"] == 111 and got["bytes"] == 15127, got
    buckets = {b["max_bytes"]: b["blocks"] for b in got["buckets"]}
    assert buckets == {8: 8, 16: 8, 32: 16, 48: 16, 64: 16, 80: 17, 96: 16, 112: 4, 1024: 10}, buckets
    totals = report(t)["totals"]
    for options in ([], ["--full"], ["--from", "0s", "--to", "1h"]):
        got = report(t, "--histogram", "lifetime", *options)
        assert got["blocks"] == totals["frees"] == sum(b["blocks"] for b in got["buckets"]), got
        assert ("bytes" in got) == ("--full" in options)


def test_at(t):
    """What is live at a moment is the end of a window that ends there."""
    record(t, "idle_threads")
    whole = report(t)
    at = f"{whole['duration_s'] * 500:.0f}ms"
    got = report(t, "--group-by", "function", "--at", at)
    assert got["metric"] == "end" and abs(got["window"]["to_s"] - whole["duration_s"] / 2) < 0.002, got["window"]
    assert got["totals"]["value"] == report(t, "--to", at)["totals"]["end_live_bytes"]


def test_looks(t):
    """A sentence first; nothing wider than the terminal, no blanks at the end, plain characters where nothing else can be shown."""
    record(t, "containers")
    views = [["--group-by", g] for g in GROUPS] + TREES[:-1] + [["--histogram", "size"], ["--histogram", "lifetime"], ["--callees", "main"]]
    for view in views:
        for columns in (60, 80, 160):
            for locale in ("C.UTF-8", "C"):
                out = text(t, *view, columns=columns, locale=locale)
                where = f"{view} at {columns} in {locale}"
                first = out.split("\n\n")[0]
                assert re.search(r"\d", first) and first.endswith("."), f"{where}: {first!r}"
                assert "\x1b" not in out
                if locale == "C":
                    out.encode("ascii")
                for line in out.splitlines():
                    assert line == line.rstrip(), f"{where}: blanks at the end of {line!r}"
                    assert len(line) <= columns, f"{where}: {len(line)} cells: {line!r}"


def test_refusals(t):
    record(t, "basic")
    wrong = [["--group-by", "colour"], ["--histogram", "colour"], ["--tree", "--group-by", "line"], ["--callers", "no_such_function"],
             ["--callees", "("], ["--tree", "--depth", "0"], ["--tree", "--min-share", "101"], ["--tree", "--min-share", "x"],
             ["--at", "1ms", "--to", "2ms"], ["--tree", "--bottom-up"], ["--depth", "3"], ["--min-share", "2", "--histogram", "size"],
             ["--from", "100h"], ["--at", "100h"], ["--alive-at", "100h"], ["--freed-before", "100h"], ["--allocated", "100h.."],
             ["--blocks", "--alive-at", "100h"], ["--tree", "--alive-at", "100h"], ["--thread", "1,,2"], ["--size", "100..10"]]
    for options in wrong:
        r = t.silt.command("report", *options, t.path("t.silt"))
        assert r.code == 2 and r.stdout == b"" and len(r.errors.splitlines()) == 1, f"{options}: {r.code} {r.errors}"
        assert r.errors.startswith("silt: ") and r.errors.count(":") >= 3, r.errors
    for rules, says in (("no/such.rules", ": check the path"), (t.dir, ": name a file of rules"), ("/bin/ls", ": correct the rule, or leave")):
        r = t.silt.command("report", "--rules", rules, t.path("t.silt"))
        assert r.code == 2 and len(r.errors.splitlines()) == 1 and says in r.errors, (rules, r.errors)
    for options in (["--to", "100h"], ["--allocated", "..100h"], ["--at", "0.1ms", "--from", "0"], ["--thread", "a,2"]):
        r = t.silt.command("report", *options, t.path("t.silt"))
        assert r.code == 0, f"{options}: {r.code} {r.errors}"


def test_against_brute_force(t):
    """Every group, node, column and bucket of recorded traces, held against plain sums over events."""
    traces = []
    for program in ("fork_inherit", "realloc_chain", "fork_tree", "many_threads")[:t.count(3, 4)]:
        record(t, program, program + ".silt")
        traces.append(t.path(program + ".silt"))
    for test in ("group_test", "history_test"):
        path = os.path.join(t.context.build_dir, "src/query", test)
        r = run([path, *traces])
        assert r.code == 0 and "as expected" in r.text, f"{test}: {r.text[-500:]}{r.errors[-500:]}"


def test_cut_before_its_first_figures(t):
    """Where nothing is known, no view says that there was nothing."""
    record(t, "basic")
    with open(t.path("t.silt"), "rb") as f:
        whole = f.read()
    n_blank = 0
    for n_bytes in range(100, len(whole), 100):
        with open(t.path("cut.silt"), "wb") as f:
            f.write(whole[:n_bytes])
        if t.silt.command("report", t.path("cut.silt")).code:
            continue
        report = t.silt.command("report", t.path("cut.silt")).text
        if "nothing of what it did is in the trace" not in " ".join(report.split()):
            break
        n_blank += 1
        assert "Totals" not in report and "0 B" not in report and "HEAP SUMMARY" not in report, report
        for command in (["report", "--tree"], ["report", "--by", "count", "--group-by", "function"], ["whatif"], ["flame", "-f", "-o", t.path("f.svg")]):
            r = t.silt.command(*command, t.path("cut.silt"))
            said = open(t.path("f.svg")).read() if command[0] == "flame" else r.text
            assert r.code == 0 and "Nothing of what the program did is in the trace" in " ".join(said.split()), (command, n_bytes, r.code, said[:600])
    assert n_blank, "no cut lay between the start and the first figures"
