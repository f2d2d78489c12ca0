# SPDX-License-Identifier: MIT
"""What goes wrong with tasks (task_stories/stories.rs): each is named by the first finding of silt tasks and of silt report."""

import os
import shutil
import subprocess

from cases.tasks import ROOT, Program, build_with_tokio, tasks
from harness.answer import parse
from harness.cases import skip
from harness.page import View, browse
from harness.process import run

PROJECT = "tests/cases/task_stories"


def place_of(mark):
    with open(os.path.join(ROOT, PROJECT, "stories.rs")) as f:
        return "stories.rs:" + str(1 + next(i for i, text in enumerate(f) if text.rstrip().endswith("// " + mark)))


def first_findings(t, trace, kind):
    """Text of the first finding, which is the same in both."""
    answer = tasks(t, trace)
    report = t.silt.command("report", trace, "--json")
    assert report.code == 0, report.errors
    told = parse(report.text)["findings"]
    assert answer["findings"] and answer["findings"][0]["kind"] == kind, answer
    assert told and (told[0]["kind"], told[0]["text"]) == (kind, answer["findings"][0]["text"]), told
    assert answer["sentence"].startswith(answer["findings"][0]["text"]), answer["sentence"]
    return answer["findings"][0], answer


def tell(t, program, story, n):
    trace = t.path(story + ".silt")
    with Program(t, t.silt.run_argv(trace, [program, story, str(n)], ["-f"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    return trace


def test_stories(t):
    program = build_with_tokio(t, PROJECT, "stories")
    n = t.chance.randint(2000, 4000)
    trace = tell(t, program, "joinset", n)
    found, answer = first_findings(t, trace, "kept-tasks")
    assert found["text"].startswith(f"{n:,} tasks spawned at {place_of('spawned here: joinset')} are finished and still held by a JoinSet"), found
    screen = t.silt.command("top", "--json", "--frames", "1", trace)
    assert screen.code == 0 and f": {n:,} tasks spawned at " in parse(screen.text)["tasks"], (screen.errors, screen.text[:800])

    n = t.chance.randint(300, 1000)
    found, answer = first_findings(t, tell(t, program, "handles", n), "kept-tasks")
    place = place_of("spawned here: handles")
    assert found["text"].startswith(f"{n:,} tasks spawned at {place} are finished and still held by memory of stories::handles"), found
    assert [k["tasks"] for k in answer["groups"][0]["kept_by"]] == [n], answer["groups"][0]["kept_by"]

    n = t.chance.randint(5000, 20000)
    found, _ = first_findings(t, tell(t, program, "channel", n), "full-channel")
    assert f"of 32) wait in a channel of tokio, sent at {place_of('sent here')}" in found["text"], found
    assert "the channel has no bound" in found["text"] and 300 * (n - 1) <= found["bytes"] <= 400 * n, found
    about = int(found["text"].split()[1].replace(",", ""))
    assert abs(about - n) <= 64, found  # the first block came with the channel, the last one is not full

    n = t.chance.randint(1500, 3000)
    found, answer = first_findings(t, tell(t, program, "select", n), "left-tasks")
    assert found["text"].startswith(f"{n:,} tasks spawned at {place_of('spawned here: select')} wait, nobody has a handle"), found
    assert "They had been awaited when their handles were dropped" in found["text"], found
    assert answer["groups"][0]["with_handle"] == 0 and answer["groups"][0]["runs"] == "stories::fetch", answer["groups"][0]


def test_full_channels(t):
    """With a bound: who sends waits. For many: who does not take keeps what all others have taken."""
    program = build_with_tokio(t, PROJECT, "stories")
    n = t.chance.randint(500, 2000)
    found, answer = first_findings(t, tell(t, program, "bounded", n), "stuck-tasks")
    assert found["text"].startswith(f"{n - 10:,} tasks spawned at {place_of('spawned here: bounded')} wait for room in a channel of tokio, made at {place_of('made here: bounded')}: "), found
    assert answer["groups"][0]["waits_for"] == [{"for": "room in a channel", "tasks": n - 10}], answer["groups"][0]

    n = t.chance.randint(2000, 5000)
    found, _ = first_findings(t, tell(t, program, "broadcast", n), "full-channel")
    assert f" messages wait in a broadcast channel of tokio, made at {place_of('made here: broadcast')}: " in found["text"], found
    assert n - 16 <= int(found["text"].split()[1].replace(",", "")) <= n, found  # a word on a stack may hold one as well
    assert 300 * n <= found["bytes"] <= 400 * 2 * n, found


def build_with_newer(t, version):
    """From the registry, so it is skipped where that cannot be reached."""
    project = os.path.join(t.context.work_dir, "stories_" + version)
    shutil.copytree(os.path.join(ROOT, PROJECT), project, dirs_exist_ok=True)
    manifest = os.path.join(project, "Cargo.toml")
    with open(manifest) as f:
        text = f.read().replace('version = "1"', f'version = "={version}"')
    with open(manifest, "w") as f:
        f.write(text)
    env = {"CARGO_TARGET_DIR": os.path.join(project, "target")}
    if not shutil.which("cargo") or run(["cargo", "fetch", "--quiet"], cwd=project, timeout_s=120, env=env).code != 0:
        skip(f"tokio {version} cannot be had from its registry")
    r = run(["cargo", "build", "--release", "--quiet"], cwd=project, timeout_s=900, env=env)
    if r.code != 0 and "requires rustc" in r.errors:
        skip("this rustc is too old: " + r.errors.strip())
    assert r.code == 0, r.text + r.errors
    return os.path.join(project, "target/release/stories")


def test_newer_tokio(t):
    """It forgets with the handle that a task was awaited: what it waits for tells requests from connections."""
    program = build_with_newer(t, "1.44.2")
    n = t.chance.randint(1200, 2000)
    found, _ = first_findings(t, tell(t, program, "select", n), "left-tasks")
    assert "They wait for timers, and none for a socket as the connections of a server do. If a select! or" in found["text"], found
    found, _ = first_findings(t, tell(t, program, "never", n), "left-tasks")
    assert f"{n:,} tasks spawned at {place_of('spawned here: never')} wait" in found["text"] and "they will never run again" in found["text"], found
    answer = tasks(t, tell(t, program, "requests", n))
    assert (answer["findings"][0]["kind"], answer["findings"][0]["severity"]) == ("left-tasks", "worth-knowing"), answer["findings"]
    assert {"for": "sockets that it connected", "tasks": n} in answer["groups"][0]["waits_for"], answer["groups"][0]
    answer = only_notes(t, tell(t, program, "connections", n), ["left-tasks"])
    assert "sockets that were accepted, as the connections of a server do, which is no fault." in answer["findings"][0]["text"], answer["findings"]


def test_story_without_lines(t):
    """Nothing but addresses tells the calls of one function apart."""
    program = t.path("without_lines")
    subprocess.run(["strip", "-g", "-o", program, build_with_tokio(t, PROJECT, "stories")], check=True)
    n = t.chance.randint(2000, 3000)
    found, _ = first_findings(t, tell(t, program, "two", n), "kept-tasks")
    assert found["severity"] != "note" and " are gone" not in found["text"], found


def only_notes(t, trace, kinds):
    """What is as it should be: no finding of silt tasks but notes, and none of the report."""
    answer = tasks(t, trace)
    assert {f["kind"]: f["severity"] for f in answer["findings"]} == dict.fromkeys(kinds, "note"), answer["findings"]
    report = t.silt.command("report", trace, "--json")
    assert report.code == 0, report.errors
    told = {f["kind"] for f in parse(report.text)["findings"]}
    assert not told & {"kept-tasks", "greedy-task", "full-channel", "left-tasks"}, told
    assert not answer["unknown"], answer["unknown"]
    return answer


def test_what_is_no_story(t):
    program = build_with_tokio(t, PROJECT, "stories")
    n = t.chance.randint(1200, 1500)
    answer = only_notes(t, tell(t, program, "serve", n), ["left-tasks"])  # channels that are empty, connections that wait
    assert answer["findings"][0]["text"].endswith("They wait for messages of channels, as is usual. Nobody ever awaited them."), answer["findings"]
    assert answer["groups"][0]["waits_for"] == [{"for": "messages of a channel", "tasks": n}], answer["groups"][0]
    assert answer["groups"][0]["waiting"] == n and answer["sentence"].startswith(f"{n + 1:,} tasks"), answer
    answer = only_notes(t, tell(t, program, "connections", n), ["left-tasks"])
    assert answer["findings"][0]["text"].endswith("They wait for sockets, as the connections of a server do. Nobody ever awaited them."), answer["findings"]
    answer = only_notes(t, tell(t, program, "alone", n), ["left-tasks"])
    assert answer["findings"][0]["text"].endswith("They wait for timers. Nobody ever awaited them."), answer["findings"]
    n = t.chance.randint(100, 300)
    answer = only_notes(t, tell(t, program, "emptied", n), ["kept-tasks"])
    assert f" {3 * n:,} others that were spawned there are gone." in answer["findings"][0]["text"], answer["findings"]


def run_with_samples(t, program, story, n, options):
    trace = t.path(story + ".silt")
    try:
        with Program(t, t.silt.run_argv(trace, [program, story, str(n)], ["-f", "--cpu", *options])):
            if not options:
                r = t.silt.command("snapshot", trace, "--graph")
                assert r.code == 0, r.errors
    except AssertionError:
        r = t.silt.command("cpu", "run", "-f", "-o", t.path("may.silt"), "true")
        if r.code == 125 and "perf_event_paranoid" in r.errors:
            skip("the kernel does not let us sample: " + r.errors.strip())
        raise
    return trace


def test_task_that_never_yields(t):
    program = build_with_tokio(t, PROJECT, "stories")
    found, _ = first_findings(t, run_with_samples(t, program, "busy", 2, ["--leaks"]), "greedy-task")
    assert found["text"].startswith("A thread spent ") and " of CPU time in a row in tasks of stories::greedy: " in found["text"], found
    assert found["severity"] == "worth-knowing", found


def look_at(t, program, story, more):
    trace = t.path(story + ".silt")
    with Program(t, t.silt.run_argv(trace, [program, story, "10", *more], ["-f", "--cpu"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    verified = t.silt.command("verify", trace)
    assert verified.code == 0, verified.text
    return [f for f in tasks(t, trace)["findings"] if f["kind"] == "greedy-task" and "does not give way" in f["text"]]


def check_hog(t, program, *more):
    """Its scheduler takes no turn between two looks; that of a task that yields each millisecond does."""
    found = []
    for _ in range(10):  # a machine with much else to do may not let it run between the looks
        found = found or look_at(t, program, "hogged", more)
    assert found and found[0]["severity"] == "problem" and found[0]["text"].startswith("A task of stories::hog does not give way: "), found
    assert ("only thread of its runtime" in found[0]["text"]) == bool(more), found
    found = look_at(t, program, "yielding", more)
    assert not found, found


def need_samples(t):
    r = t.silt.command("cpu", "run", "-f", "-o", t.path("may.silt"), "true")
    if r.code == 125 and "perf_event_paranoid" in r.errors:
        skip("the kernel does not let us sample: " + r.errors.strip())


def test_hog(t):
    need_samples(t)
    check_hog(t, build_with_tokio(t, PROJECT, "stories"))


def test_hog_of_one_thread(t):
    need_samples(t)
    check_hog(t, build_with_tokio(t, PROJECT, "stories"), "one")


def test_samples_alone(t):
    """Without a graph: what tasks took, and which recording tells the rest."""
    need_samples(t)
    trace, program = t.path("t.silt"), build_with_tokio(t, PROJECT, "stories")
    with Program(t, [t.silt.path, "cpu", "run", "-q", "-f", "-o", trace, program, "hogged", "10"]):
        pass
    answer = tasks(t, trace)
    assert answer["graph"] is None and answer["times"][0]["runs"] == "stories::hog", answer["times"]
    assert 0.15 <= answer["times"][0]["busy_s"] <= 10, answer["times"]
    began = [g["runs"] for g in answer["threads"]["groups"] if "tokio-runtime-w" in [n["name"] for n in g["names"]] and g["runs"]]
    assert began and all(name.startswith("tokio::") for name in began), began  # and not what they wait in or poll
    assert " of CPU time" in answer["sentence"] and "silt run --cpu --graph-every 10s" in answer["sentence"], answer["sentence"]
    with View(t, trace) as view:
        saw, _ = browse(t, "tasks", view.url)
    head, *rows = saw["tables"]["CPU time of tasks"]
    assert [(row[0], int(row[head.index("samples")])) for row in rows] == [(x["runs"], x["samples"]) for x in answer["times"]], (head, rows)


def test_tasks_that_give_way(t):
    """Nobody is accused, neither of them nor a call that may block; the copy of the program that the graph is made of is no process of it."""
    trace = run_with_samples(t, build_with_tokio(t, PROJECT, "stories"), "fair", 1500, [])
    answer = tasks(t, trace)
    for f in answer["findings"]:  # as many samples in a row as chance has it
        assert (f["kind"], f["severity"]) == ("greedy-task", "note") and " of stories::brief: " in f["text"], f
        assert "Samples do not tell one long poll from many short ones" in f["text"], f
    report, why = t.silt.report(trace)
    assert report, why
    assert "greedy-task" not in [f["kind"] for f in report["findings"]], report["findings"]
    assert len(report["processes"]) == 1, report["processes"]
