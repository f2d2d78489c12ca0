# SPDX-License-Identifier: MIT
"""silt tasks, of coroutines of C++ (coroutine_frames.cc) as GCC and clang make them."""

import os
import re
import shutil

from attach._target import Attached, Target
from harness.answer import parse
from harness.cases import skip
from harness.process import run

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "coroutine_frames.cc")


def line_of(mark):
    with open(SOURCE) as f:
        return 1 + next(i for i, text in enumerate(f) if text.rstrip().endswith("// " + mark))


def build(t, compiler, level, source=SOURCE):
    if not shutil.which(compiler):
        skip(f"there is no {compiler}")
    program = t.path(f"{compiler}{level}")
    r = run([compiler, "-std=c++20", "-g", level, source, "-o", program])
    if r.code != 0 and "coroutine" in r.errors:
        skip(f"{compiler} knows no coroutines")
    assert r.code == 0, r.errors
    return program


def check(t, compiler, level):
    program, trace = build(t, compiler, level), t.path(f"{compiler}{level}.silt")
    n_suspended, n_ended = t.chance.randint(20, 300), t.chance.randint(300, 900)
    r = t.silt.record(trace, [program, str(n_suspended), str(n_ended)], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    r = t.silt.command("tasks", trace, "--json")
    assert r.code == 0, r.errors
    answer = parse(r.text)
    assert (answer["tasks"], answer["waiting"], answer["finished"]) == (n_suspended + n_ended, n_suspended, n_ended), answer
    groups = {g["runs"]: g for g in answer["groups"]}
    assert sorted(groups) == ["app::request", "app::session"], sorted(groups)
    for name, mark in (("app::session", "sessions"), ("app::request", "requests")):
        g = groups[name]
        assert g["kind"] == "coroutine" and g["spawned"] == f"spawned at coroutine_frames.cc:{line_of(mark)}", g
        assert "kept" in g["kept_by"][0]["name"] or "push_back" in g["kept_by"][0]["name"], g["kept_by"]
    assert groups["app::session"]["bytes"] >= 400 * n_suspended, groups["app::session"]
    r = t.silt.command("top", "--json", trace)
    assert r.code == 0, r.errors
    shown = parse(r.text)
    assert {g["runs"]: g["tasks"] for g in shown["task_groups"]} == {name: g["tasks"] for name, g in groups.items()}, shown["task_groups"]
    assert shown["tasks"].endswith(answer["sentence"]), shown["tasks"]


def test_gcc(t):
    check(t, "g++", "-O0")
    check(t, "g++", "-O2")


def check_lost(t, compiler, level):
    """Coroutines that nobody can resume are the first sentence, one that awaits another among them; those of a list and generators are none."""
    program, trace = build(t, compiler, level, SOURCE.replace("coroutine_frames", "coroutines_lost")), t.path(f"{compiler}{level}.silt")
    n = {"lost": t.chance.randint(700, 900), "pairs": t.chance.randint(60, 200), "waiting": t.chance.randint(300, 600)}
    r = t.silt.record(trace, [program, *map(str, n.values())], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    r = t.silt.command("tasks", trace, "--json")
    assert r.code == 0, r.errors
    answer = parse(r.text)
    groups = {g["runs"]: g for g in answer["groups"]}
    assert {name: g["tasks"] for name, g in groups.items()} == {
        "app::lost": n["lost"], "app::inner": n["pairs"], "app::outer": n["pairs"], "app::waits": n["waiting"], "app::numbers": n["waiting"]}, answer["groups"]
    # a register or the stack may still have the last one
    assert all(0 <= n[key] - groups[name]["lost"] <= 1 for name, key in (("app::lost", "lost"), ("app::inner", "pairs"), ("app::outer", "pairs"))), groups
    assert groups["app::waits"]["lost"] == groups["app::numbers"]["lost"] == 0, groups
    assert {f["kind"] for f in answer["findings"]} == {"lost-tasks"} and len(answer["findings"]) == 3, answer["findings"]
    assert re.match(rf"{groups['app::lost']['lost']} tasks spawned at coroutines_lost\.cc:\d+ wait, and nothing in the program's memory leads to them: ", answer["sentence"]), answer["sentence"]


def test_lost(t):
    for compiler in ("g++", "clang++"):
        for level in ("-O0", "-O2"):
            check_lost(t, compiler, level)


def test_a_damaged_graph(t):
    """Nobody says then that there are no tasks."""
    program, trace = build(t, "g++", "-O0"), t.path("t.silt")
    r = t.silt.record(trace, [program, "50", "400"], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    with open(trace, "rb") as f:
        data = bytearray(f.read())
    data[data.index(b"\xf5sltGRPH") + 200] ^= 1
    with open(trace, "wb") as f:
        f.write(data)
    for words, said in ((["top", "--batch", "--tasks"], r"Tasks are unknown: chunk GRPH at offset \d+: its checksum is wrong\."),
                        (["top", "--batch"], r".* A part of the trace cannot be read: chunk GRPH at offset \d+: its checksum is wrong\."),
                        (["report"], r"! Incomplete: chunk GRPH at offset \d+: its checksum is wrong\.")):
        r = t.silt.command(*words, trace)
        assert r.code == 0 and re.match(said, " ".join(r.text.split())), (words, r.text[:400], r.errors)
    frame = parse(t.silt.command("top", "--json", trace).text)
    assert frame["tasks"] is None and frame["task_groups"] is None, frame
    r = t.silt.command("tasks", trace)
    assert r.code == 2 and re.fullmatch(r"silt: chunk GRPH at offset \d+: its checksum is wrong\n", r.errors), r.errors


def test_clang(t):
    check(t, "clang++", "-O0")
    check(t, "clang++", "-O2")


def test_a_program_that_allocates_no_more(t):
    """Attached to, it sends not one event, and no call path has led through its modules."""
    with Target(t, [build(t, "g++", "-O2"), "40", "60", "wait"]) as target:
        silt = Attached(t, target.pid).await_recording()
        r = t.silt.command("snapshot", silt.trace, "--graph")
        assert r.code == 0, r.errors
        assert silt.end() == 0, silt.said
        assert silt.totals()["allocations"] == 0, silt.totals()
    r = t.silt.command("tasks", silt.trace, "--json")
    assert r.code == 0, r.errors
    answer = parse(r.text)
    assert (answer["waiting"], answer["finished"], answer["nameless_blocks"]) == (40, 60, 0), answer
    assert sorted(g["runs"] for g in answer["groups"]) == ["app::request", "app::session"], answer["groups"]
    r = t.silt.command("holders", silt.trace, "--json")
    assert r.code == 0, r.errors
    names = [g["name"] for g in parse(r.text)["holders"] if "name" in g]
    assert "static kept" in names and "static others" in names, names
