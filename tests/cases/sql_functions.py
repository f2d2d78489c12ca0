# SPDX-License-Identifier: MIT
"""Functions of SQL: has_frame selects what --function does, stack_text is what the report shows, percentiles are those of Python."""

import math
import os
import statistics

from harness.answer import parse

PYTHON = ["/usr/bin/python3", "-I", "-c", "import json, re; x = [json.dumps({'a': i}) for i in range(500)]; re.compile('a(b|c)*d')"]
PATTERNS = ["^PyObject_", "malloc", "^_?PyEval_.*", "json", "x|^main$", "(?i)pydict", "^$", "0x", "ob.*New$"]


def record(t, argv, name="t.silt", options=()):
    trace = t.path(name)
    r = t.silt.record(trace, argv, ["-f", *options])
    assert os.path.exists(trace), r.errors
    return trace


def ask(t, trace, statement):
    r = t.silt.command("sql", trace, statement, "--json")
    assert r.code == 0, r.errors
    return parse(r.text)["rows"]


def check_patterns(t, trace, patterns):
    n_selected = 0
    for pattern in patterns:
        r = t.silt.command("report", trace, "--json", "--process", "all", "--function", pattern)
        assert r.code == 0, r.errors
        totals = parse(r.text)["totals"]
        rows = ask(t, trace, f"SELECT total(allocations), total(allocated_bytes), total(end_bytes) FROM sites WHERE has_frame(stack, '{pattern}')")
        expected = [totals["allocations"], totals["bytes_allocated"], totals["end_live_bytes"]]
        assert rows[0] == expected, (pattern, rows, expected)
        n_selected += rows[0][0] > 0
    return n_selected


def test_has_frame_is_the_filter(t):
    trace = record(t, PYTHON)
    assert check_patterns(t, trace, PATTERNS) >= 3
    everything = ask(t, trace, "SELECT count(*) FROM sites")[0][0]
    both = ask(t, trace, "SELECT total(has_frame(stack, 'malloc')), total(NOT has_frame(stack, 'malloc')) FROM sites")[0]
    assert sum(both) == everything


def test_has_frame_of_several_processes(t):
    trace = record(t, [t.program("fork_tree")], "tree.silt", ("--wait",))
    assert check_patterns(t, trace, ["main", "fork|malloc", "nothing_like_it"]) >= 1


def test_has_frame_finds_every_function(t):
    """Those too that were inlined, where the trace has names for sure."""
    trace = record(t, [t.context.helpers.build("holders_cc", ["holders.cc"])], "names.silt")
    rows = ask(t, trace, "SELECT count(*), total(is_inlined), total(NOT has_frame(stack, '^' || function || '$')) FROM "
                         "(SELECT DISTINCT stack, function, is_inlined FROM call_paths WHERE module LIKE '%holders_cc' AND function REGEXP '^[a-z_]+$')")[0]
    assert rows[0] > 3 and rows[2] == 0, rows


def test_stack_text(t):
    trace = record(t, [t.program("temporary")], "temporary.silt")
    rows = ask(t, trace, "SELECT stack, path, stack_text(stack, ' < '), stack_text(stack) FROM sites WHERE stack > 0")
    assert rows
    for _, path, row, lines in rows:
        assert path == row
        names = [line.strip().removeprefix("↑ ").split("  ")[0] for line in lines.split("\n")]
        assert len(names) == len(row.split(" < ")), (lines, row)
    r = t.silt.command("report", trace, "--full")
    assert r.code == 0


def test_slow_patterns_are_errors(t):
    trace = record(t, ["/bin/true"], "true.silt")
    for statement in ("SELECT ('a' || hex(zeroblob(20)) || 'b') REGEXP '^(([0a]+)+)+$'", "SELECT has_frame(0, '(')"):
        r = t.silt.command("sql", trace, statement)
        assert r.code == 2 and "pattern" in r.errors and len(r.errors.strip().split("\n")) == 1, (r.text, r.errors)


def test_percentiles_are_those_of_python(t):
    trace = record(t, PYTHON)
    values = sorted(r[0] for r in ask(t, trace, "SELECT bytes FROM allocations"))
    assert len(values) > 1000
    found = ask(t, trace, "SELECT median(bytes), stddev(bytes), " + ", ".join(f"percentile(bytes, {p})" for p in range(1, 100)) + " FROM allocations")[0]
    assert found[0] == statistics.median(values)
    assert math.isclose(found[1], statistics.stdev(values), rel_tol=1e-9)
    for ours, theirs in zip(found[2:], statistics.quantiles(values, n=100, method="inclusive")):
        assert math.isclose(ours, theirs, rel_tol=1e-9), (ours, theirs)
    by_thread = ask(t, trace, "SELECT stack, median(lifetime_ns), count(lifetime_ns) FROM allocations GROUP BY stack")
    for stack, middle, n in by_thread[:20]:
        lifetimes = [r[0] for r in ask(t, trace, f"SELECT lifetime_ns FROM allocations WHERE stack = {stack} AND lifetime_ns IS NOT NULL")]
        assert len(lifetimes) == n and middle == (statistics.median(lifetimes) if n else None), (stack, middle)


def test_classes_are_those_of_the_report(t):
    trace = record(t, PYTHON)

    def told(what):
        r = t.silt.command("report", trace, "--json", "--process", "all", "--histogram", what)
        assert r.code == 0, r.errors
        return [b for b in parse(r.text)["buckets"] if b["blocks"]]

    sizes = ask(t, trace, "SELECT size_class(bytes), count(*), sum(bytes) FROM allocations GROUP BY 1 ORDER BY 1")
    assert sizes == [[b["min_bytes"], b["blocks"], b["bytes"]] for b in told("size")]
    # the recorder's clock is finer than that of events: few stand in the class beside
    lifetimes = dict(ask(t, trace, "SELECT lifetime_class(lifetime_ns), count(*) FROM allocations WHERE freed_ns IS NOT NULL GROUP BY 1"))
    expected = {round(b["from_s"] * 1e9): b["blocks"] for b in told("lifetime")}
    n = sum(expected.values())
    assert sum(lifetimes.values()) == n and set(lifetimes) <= {0} | {1000 * 4**i for i in range(1, 12)}, (lifetimes, expected)
    assert sum(abs(lifetimes.get(k, 0) - expected.get(k, 0)) for k in {*lifetimes, *expected}) <= n / 50 + 10, (lifetimes, expected)
    lines = ask(t, trace, "SELECT histogram(bytes, 'bytes') FROM allocations")[0][0].split("\n")
    counts = [int(line[line.index("B  ") + 3:].split()[0].replace(",", "")) for line in lines]
    assert sum(counts) == sum(row[1] for row in sizes), lines
