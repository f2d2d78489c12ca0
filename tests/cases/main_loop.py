# SPDX-License-Identifier: MIT
"""silt tasks, of a program whose GLib main loop has sources that are known (main_loop.c): Debian's library exports a few names, and has no types."""

import ctypes.util
import os

from cases.threads_spawned import start
from harness.answer import parse
from harness.cases import skip
from harness.process import kill_family

HERE = os.path.dirname(os.path.abspath(__file__))
STATES = ("waiting", "ready", "running", "unattached", "removed")


def line_of(mark):
    with open(os.path.join(HERE, "main_loop.c"), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if f"/* {mark} */" in line)


def program(t):
    if not ctypes.util.find_library("glib-2.0"):
        skip("GLib is not installed")
    return t.context.helpers.build("main_loop", ["main_loop.c"], flags=["-g"], link=["-l:libglib-2.0.so.0"])


def told_of(t, who):
    r = t.silt.command("tasks", str(who), "--json")
    assert r.code == 0, r.errors
    return parse(r.text)


def recorded(t, argv):
    """A recording with a graph, taken when all sources are there."""
    trace = t.path("t.silt")
    p = start(t, t.silt.run_argv(trace, argv, ["-f"]))
    try:
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
        p.stdin.close()
        assert p.wait(60) == 0
    finally:
        kill_family(p)
    return trace


def check(answer, wanted):
    """All groups with a callback, by it: kind, state and number; and the sums."""
    s = answer["sources"]
    got = {g["calls"]: (g["kind"] or g["table"], {state: g[state] for state in STATES if g[state]}) for g in s["groups"] if g["calls"]}
    assert got == wanted, got
    for key in ("sources", "bytes", *STATES):
        assert sum(g[key] for g in s["groups"]) == s[key], (key, s)
    assert s["doubtful_blocks"] == 0, s
    return {g["calls"]: g for g in s["groups"]}


def test_sources(t):
    path, n = program(t), {name: t.chance.randint(60, 900) for name in ("sessions", "same", "removed", "idle", "ended")}
    argv = [path, *(str(n[name]) for name in ("sessions", "same", "removed", "idle", "ended"))]
    wanted = {
        "on_session": ("timeout", {"waiting": n["sessions"]}), "on_tick": ("timeout", {"waiting": n["same"]}), "on_idle": ("idle call", {"waiting": n["idle"]}),
        "on_own": ("own_funcs", {"waiting": 1}), "on_signal": ("signal watch", {"waiting": 1}), "on_input": ("descriptor watch", {"waiting": 1}),
        "on_start": ("timeout", {"running": 1}),
    }
    trace = recorded(t, argv)
    answer = told_of(t, trace)
    groups = check(answer, wanted)
    for calls, mark in (("on_session", "sessions"), ("on_tick", "the leak")):
        assert groups[calls]["added"] == f"added at main_loop.c:{line_of(mark)}", groups[calls]["added"]
    assert (groups["on_session"]["gone"], groups["on_tick"]["gone"]) == (n["ended"], 0), groups
    assert (groups["on_session"]["same_data"], groups["on_tick"]["same_data"]) == (0, n["same"] - 1), groups
    bare = {g["added"]: g for g in answer["sources"]["groups"] if not g["calls"]}
    assert bare[f"added at main_loop.c:{line_of('removed')}"]["removed"] == n["removed"] and answer["sources"]["unattached"] == 1, bare
    found = {f["kind"]: f["text"] for f in answer["findings"]}
    assert set(found) == {"left-sources", "kept-sources"}, found
    assert found["left-sources"].startswith(
        f"{n['same']} timeouts that call on_tick, added at main_loop.c:{line_of('the leak')}, are in main loops, {n['same'] - 1} of them with the same data"), found
    assert found["kept-sources"].startswith(f"{n['removed']} timeouts, added at main_loop.c:{line_of('removed')}, are removed"), found
    assert answer["sentence"].startswith(found["left-sources"]) and f"{answer['sources']['sources']:,} sources of GLib" in answer["sentence"], answer["sentence"]
    report, why = t.silt.report(trace)
    assert report, why
    assert "left-sources" in [f["kind"] for f in report["findings"]], report["findings"]

    # nobody records it: the same but for where they were added
    p = start(t, argv)
    try:
        answer = told_of(t, p.pid)
    finally:
        kill_family(p)
    groups = check(answer, wanted)
    assert {g["added"] for g in groups.values()} == {None} and groups["on_tick"]["gone"] is None, groups
    assert answer["findings"][0]["kind"] == "left-sources", answer["findings"]


def test_used_sources_are_no_finding(t):
    answer = told_of(t, recorded(t, [program(t), "900", "20", "10", "500", "5000"]))
    assert not answer["findings"] and answer["sources"]["sources"] >= 1430, answer["findings"]
