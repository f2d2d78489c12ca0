# SPDX-License-Identifier: MIT
"""silt tasks and what shows the same, of programs whose GLib main loops have sources that are known (main_loop.c, gio_service.c): Debian's libraries export a few
names, and have no types."""

import ctypes.util
import os

from cases.threads_spawned import start
from harness.answer import parse
from harness.cases import skip
from harness.page import View, browse
from harness.process import kill_family

HERE = os.path.dirname(os.path.abspath(__file__))
STATES = ("waiting", "ready", "running", "unattached", "removed")


def line_of(mark, name="main_loop.c"):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if f"/* {mark} */" in line)


def program(t):
    if not ctypes.util.find_library("glib-2.0"):
        skip("GLib is not installed")
    return t.context.helpers.build("main_loop", ["main_loop.c"], flags=["-g"], link=["-l:libglib-2.0.so.0"])


def check_screen(t, trace, answer):
    """silt top's rows are those of silt tasks."""
    r = t.silt.command("top", "--json", "--frames", "1", trace)
    assert r.code == 0, r.errors
    shown = parse(r.text)
    rows = [(g["added"], *(g[key] for key in ("sources", *STATES, "same_data", "bytes"))) for g in shown["source_groups"]]
    assert rows == [(g["added"], *(g[key] for key in ("sources", *STATES, "same_data", "bytes"))) for g in answer["sources"]["groups"]][: len(rows)] and rows, rows
    assert len(rows) == len(answer["sources"]["groups"]) and shown["task_groups"] == [], shown
    assert shown["tasks"].endswith(answer["sentence"]), shown["tasks"]
    text = " ".join(t.silt.command("top", "--batch", "--tasks", "--frames", "1", trace).text.split())
    for g, what in zip(answer["sources"]["groups"][:10], shown["source_groups"]):
        wanted = f"{g['sources'] - g['removed']:,} {g['removed']:,} "
        assert wanted in text and what["what"] + (f", {g['added']}" if g["added"] else "") in text, (wanted, what, text)


def check_page(t, trace, answer):
    """The page, and the same in one file."""
    r = t.silt.command("html", trace, "-f", "-o", t.path("t.html"))
    assert r.code == 0, r.errors
    with View(t, trace) as view:
        check_shown(browse(t, "tasks", view.url)[0], answer)
    check_shown(browse(t, "tasks", "file://" + t.path("t.html"), isFile=True, offline=True)[0], answer)


def check_shown(saw, answer):
    assert " ".join(saw["sentence"].split()) == " ".join(answer["sentence"].split()), saw["sentence"]
    assert list(saw["tables"]) == ["Sources of GLib"], saw["tables"]
    head, *rows = saw["tables"]["Sources of GLib"]
    shown = sorted((row[head.index("added at")], int(row[head.index("sources")]), int(row[head.index("bytes")])) for row in rows)
    assert shown == sorted((g["added"] or "", g["sources"], g["bytes"]) for g in answer["sources"]["groups"]), shown
    assert min(saw["heights"]) > 200, saw["heights"]


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
    check_screen(t, trace, answer)
    check_page(t, trace, answer)

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


def test_file_is_bounded(t):
    """Of more groups than a page in one file has, the largest are in it, and it says how many are not."""
    if not ctypes.util.find_library("glib-2.0"):
        skip("GLib is not installed")
    trace = recorded(t, [t.context.helpers.build("many_sources", ["many_sources.c"], flags=["-g"], link=["-l:libglib-2.0.so.0"])])
    answer = told_of(t, trace)
    assert answer["sources"]["groups_in_all"] == 250, answer["sources"]["groups_in_all"]
    r = t.silt.command("html", trace, "-f", "-o", t.path("t.html"))
    assert r.code == 0, r.errors
    saw, _ = browse(t, "tasks", "file://" + t.path("t.html"), isFile=True, offline=True)
    head, *rows = saw["tables"]["Sources of GLib"]
    sources = [int(row[head.index("sources")]) for row in rows]
    assert len(rows) == 200 and max(sources) == 900, (len(rows), sources)
    assert "50 smaller ones are not in this file: silt view FILE has them." in saw["text"], saw["text"][-600:]
    assert " ".join(saw["sentence"].split()) == " ".join(answer["sentence"].split()), saw["sentence"]


def test_gio_alone(t):
    """No table has a name that is exported: the library that it is in tells whose sources they are, and the call path who had them added."""
    if not ctypes.util.find_library("gio-2.0"):
        skip("GIO is not installed")
    path = t.context.helpers.build("gio_service", ["gio_service.c"], flags=["-g", "-pthread"], link=["-l:libgio-2.0.so.0", "-l:libgobject-2.0.so.0", "-l:libglib-2.0.so.0"])
    n = t.chance.randint(60, 100)  # with one callback and one task, which is as it should be
    trace = recorded(t, [path, str(n)])
    answer = told_of(t, trace)
    ours = [g for g in answer["sources"]["groups"] if g["added"] == f"added at gio_service.c:{line_of('listens', 'gio_service.c')}"]
    assert sum(g["sources"] for g in ours) >= n and n in [g["waiting"] for g in ours], answer["sources"]
    assert all(g["kind"] is None and g["table"].startswith("libgio-2.0.so") for g in ours), ours
    assert answer["sources"]["doubtful_blocks"] == 0 and not answer["findings"], answer
    assert f"{answer['sources']['sources']:,} source" in answer["sentence"], answer["sentence"]
    check_screen(t, trace, answer)
