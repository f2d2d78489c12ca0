# SPDX-License-Identifier: MIT
"""Where the time went, in the page: what a browser shows is what the command line prints, in nanoseconds, by each metric, in all of
the recording and in a window; memory and time of one function stand beside each other (time_page.c)."""

import json
import re

from harness.cases import skip
from harness.page import View, browse

FUNCTIONS = ("spin_alone", "spin_and_allocate")


def told(t, trace, keys, *options):
    words = [word for key in ("from", "to", "by") if key in keys for word in (f"--{key}", keys[key])]
    r = t.silt.command("report", trace, "--json", "--process", "all", *words, *options)
    assert r.code == 0, r.errors
    return json.loads(r.text)


def values(table, title):
    """A column of a copied table. Code without a name may have the same one twice."""
    at = table[0].index(title)
    return sorted(int(row[at]) for row in table[1:] if int(row[at]))


def column(table, title):
    """By function."""
    at = table[0].index(title)
    return {row[0]: int(row[at]) for row in table[1:] if int(row[at])}


def test_times(t):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.context.helpers.build("time_page", ["time_page.c"])], ["-f", "--cpu"])
    if r.code == 125 and "perf_event_paranoid" in r.errors:
        skip("the kernel does not let us sample: " + r.errors.strip())
    assert r.code == 0, r.errors
    top = json.loads(t.silt.command("top", trace, "--json", "--frames", "1").text)
    # a busy machine may need longer for the program than the window is
    whole = told(t, trace, {"by": "cpu", "from": f"{max(top['at_s'] - top['window_s'], 0):.6f}s"}, "--tree")["nodes"][0]["total"]["value"]
    assert abs(top["cpus"] * top["window_s"] * 1e9 - whole) < 0.01 * whole, (top["cpus"], top["window_s"], whole)
    assert max(top["top"], key=lambda row: row["cpus"])["function"] == "spin_alone", top["top"][:4]
    with View(t, trace) as view:
        saw, _ = browse(t, "times", view.url, function="spin_and_allocate")
    assert re.search(r"live .*CPU .*blocked .*in ", saw["header"].replace("\n", " ")), saw["header"]
    assert [one["by"] for one in saw["seen"]] == ["cpu", "cpu", "blocked", "blocked"] and "from" in saw["seen"][1]["keys"], saw["seen"]
    wholes = []
    for one in saw["seen"]:
        groups = told(t, trace, one["keys"], "--group-by", "function", "--top", "1000000")["groups"]
        shown = values(one["sites"], "CPU" if one["by"] == "cpu" else "blocked")
        assert shown == sorted(g["self"]["value"] for g in groups if g["self"]["value"]), one["keys"]
        whole = told(t, trace, one["keys"], "--tree", "--min-share", "0.1")["nodes"][0]["total"]["value"]
        assert sum(shown) == whole, one["keys"]
        wholes.append(whole)
        assert re.match(r"[\d.]+ m?s (of CPU time|blocked)", one["flame"]), one["flame"]
        assert re.search(r"threads (on a CPU|blocked)", one["key"]), one["key"]
        assert all(re.fullmatch(r"[\d.]+ (ns|us|ms|s)", row[2]) for row in one["tree"]) and one["tree"], one["tree"][:3]
        assert one["selected"] is None or re.match(r"= [\d.]+ m?s, \d+ % of the (CPU time|time blocked)", one["selected"]), one["selected"]
    assert wholes[1] < wholes[0], "a window has less than all of it"
    cpu = column(saw["seen"][0]["sites"], "CPU")
    # three quarters and one quarter of it, by the program's own clock; a tenth is much more than 4 standard errors of 800 samples
    assert 0.65 < cpu["spin_alone"] / (cpu["spin_alone"] + cpu["spin_and_allocate"]) < 0.85, cpu
    assert values(saw["beside"], "CPU") == values(saw["seen"][0]["sites"], "CPU"), "time by function is the same beside memory"
    made = column(saw["beside"], "allocations")
    assert made == column(saw["seen"][0]["sites"], "allocations") and made["spin_and_allocate"] > 10 and "spin_alone" not in made, made
    head = saw["threads"][0]
    assert sum(int(row[head.index("CPU")]) for row in saw["threads"][1:]) == wholes[0], (saw["threads"], wholes)
    assert re.search(rf"It made {made['spin_and_allocate']:,} allocations, .* for each millisecond of CPU time", saw["detail"].replace("\n", " ")), saw["detail"]
    assert {row[0] for row in saw["both"]} >= set(FUNCTIONS), saw["both"]
    assert saw["tasks"]["view"] == "tasks" and "no reference graph" in saw["tasks"]["text"], saw["tasks"]
