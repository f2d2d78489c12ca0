# SPDX-License-Identifier: MIT
"""silt tasks, of a program whose tasks are in states that are known (tasks/tasks.rs), built with Debian's tokio."""

import glob
import os
import re
import shutil
import subprocess

from harness.answer import parse
from harness.cases import skip
from harness.locks import Lock
from harness.ninja import build_example
from harness.process import kill_family, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOCK = Lock(os.path.join(ROOT, "tests/cases"))
STATES = ("waiting", "ready", "running", "finished")
RUNS = {"kept": "finished", "listed": "finished", "waits": "waiting", "in_line": "ready"}


def build_with_tokio(t, folder, name):
    """Path of the program. With what examples/simulator is built of, whose crates are compiled once for all."""
    if not glob.glob("/usr/share/cargo/registry/tokio-1*"):
        skip("librust-tokio-dev is not installed")
    examples = os.path.dirname(build_example(t.silt.path, "simulator"))
    project = os.path.join(t.context.work_dir, "crate_" + name)
    tools = {name: f"/usr/bin/{name}" if os.path.exists(f"/usr/bin/{name}") else name for name in ("cargo", "rustc")}
    made = os.path.join(examples, "simulator.build")
    with LOCK:
        shutil.copytree(os.path.join(ROOT, folder), project, dirs_exist_ok=True)
        r = run([tools["cargo"], "build", "--release", "--offline", "--quiet", "--config", 'source.crates-io.replace-with="debian"', "--config",
                 'source.debian.directory="/usr/share/cargo/registry"'], cwd=project, timeout_s=900,
                env={"CARGO_TARGET_DIR": os.path.join(made, "target"), "CARGO_HOME": os.path.join(made, "home"), "RUSTC": tools["rustc"]})
        assert r.code == 0, r.text + r.errors
        shutil.copy(os.path.join(made, "target/release", name), t.path(name))
    return t.path(name)


def build(t):
    return build_with_tokio(t, "tests/cases/tasks", "tasks")


class Program:
    """Ready when all its tasks are where they shall be."""

    def __init__(self, t, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        t.running.append(self.process)
        assert self.process.stdout.readline() == b"ready\n", "the program has ended"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.process.stdin.close()
                assert self.process.wait(60) == 0
        finally:
            kill_family(self.process)


def tasks(t, who):
    r = t.silt.command("tasks", str(who), "--json")
    assert r.code == 0, r.errors
    answer = parse(r.text)
    assert answer["schema"] == "silt.tasks/1"
    return answer


def check(answer, wanted):
    """All states, by what the tasks run; sums are those of the groups."""
    groups = {g["runs"]: g for g in answer["groups"]}
    assert len(groups) == len(answer["groups"]), [g["runs"] for g in answer["groups"]]
    for name, n in wanted.items():
        g = groups["tasks::" + name]
        assert {s: g[s] for s in STATES} == {s: n if s == RUNS[name] else 0 for s in STATES}, g
        assert g["kind"] == "task" and g["runtime"] == "tokio" and g["tasks"] == n, g
    assert groups["tasks::hogs"]["running"] == 1, groups["tasks::hogs"]
    assert [(g["tasks"], g["running"]) for g in answer["groups"] if g["kind"] == "blocking"] == [(2, 2)], answer["groups"]
    assert groups["tasks::kept"]["with_handle"] == wanted["kept"] and groups["tasks::waits"]["with_handle"] == 0
    assert answer["tasks"] == sum(wanted.values()) + 3 and answer["runtime_tasks"] == 1, answer
    own = [g for g in answer["groups"] if g["kind"] != "runtime"]
    for key in ("tasks", "bytes", *STATES):
        assert sum(g[key] for g in own) == answer[key], key
    assert not answer["unknown"], answer["unknown"]
    return groups


def test_states(t):
    program, chance = build(t), t.chance
    wanted = {"kept": chance.randint(2000, 4000), "listed": chance.randint(100, 900), "waits": chance.randint(50, 500), "in_line": chance.randint(20, 200)}
    argv = [program, *(str(wanted[name]) for name in ("kept", "listed", "waits", "in_line"))]
    trace = t.path("t.silt")
    with Program(t, t.silt.run_argv(trace, argv, ["-f"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    groups = check(tasks(t, trace), wanted)
    kept, listed = groups["tasks::kept"], groups["tasks::listed"]
    line = 1 + next(i for i, text in enumerate(open(os.path.join(ROOT, "tests/cases/tasks/tasks.rs"))) if "set.spawn" in text)
    assert kept["spawned"] == f"spawned at tasks.rs:{line}", kept["spawned"]
    assert kept["kept_by"][0]["name"] == "a JoinSet" and kept["kept_by"][0]["tasks"] == wanted["kept"], kept["kept_by"]
    assert "JoinSet" not in listed["kept_by"][0]["name"] and listed["kept_by"][0]["tasks"] == wanted["listed"], listed["kept_by"]
    assert kept["finished_bytes"] == kept["bytes"] >= 800 * wanted["kept"] and kept["oldest_s"] >= kept["newest_s"] >= 0, kept
    said = f"{wanted['kept']:,} tasks spawned at tasks.rs:{line} are finished and still held by a JoinSet"
    text = " ".join(t.silt.command("tasks", trace).text.split())
    assert text.startswith(said), text[:300]
    report, why = t.silt.report(trace)
    assert report, why
    assert report["findings"][0]["kind"] == "kept-tasks" and report["findings"][0]["text"].startswith(said), report["findings"][0]
    assert report["findings"][0]["evidence"]["tasks"] == wanted["kept"], report["findings"][0]
    verified = t.silt.command("verify", trace)
    assert verified.code == 0, verified.text

    # nobody records it: the same by what they run, and nothing is said of where they were spawned
    with Program(t, argv) as p:
        answer = tasks(t, p.process.pid)
    groups = check(answer, wanted)
    assert not answer["recorded"] and groups["tasks::kept"]["spawned"] is None and groups["tasks::kept"]["oldest_s"] is None, answer["groups"]

    # without symbols nothing is told, and that is said
    r = run(["strip", "-s", program, "-o", t.path("stripped")])
    assert r.code == 0, r.errors
    with Program(t, [t.path("stripped"), *argv[1:]]) as p:
        answer = tasks(t, p.process.pid)
    assert answer["tasks"] == 0 and answer["nameless_blocks"] >= sum(wanted.values()), answer
    assert re.match(r"silt found no tasks: [\d,]+ blocks may be some, .*: symbols are missing\. Build the program without strip", answer["sentence"]), answer["sentence"]


def test_without_debug_information(t):
    """As cargo builds for release: states are told, types are not, which is said; the runtime's own is told by its call path."""
    trace, n_kept, n_waiting = t.path("t.silt"), t.chance.randint(60, 200), t.chance.randint(60, 200)
    r = run(["strip", "-g", build(t), "-o", t.path("nameless")])
    assert r.code == 0, r.errors
    argv = [t.path("nameless"), str(n_kept), "0", str(n_waiting), "5"]
    with Program(t, t.silt.run_argv(trace, argv, ["-f"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    answer = tasks(t, trace)
    n = n_kept + n_waiting + 5 + 3
    assert (answer["tasks"], answer["runtime_tasks"], answer["typeless_tasks"]) == (n, 1, n), answer
    told = [(g["kind"], g["tasks"], g["running"], g["type"]) for g in answer["groups"]]
    assert sorted(told) == sorted([("task", n_kept, 0, None), ("task", n_waiting, 0, None), ("task", 5, 0, None), ("task", 1, 1, None),
                                   ("blocking", 2, 2, None), ("runtime", 1, 1, None)]), told
    assert " What any of them runs is unknown: the program lacks debug information that tells types. 'debug = 1' " in answer["sentence"], answer["sentence"]
    text = t.silt.command("tasks", trace).text
    assert "tasks of tokio" not in text and "the runtime itself\n" in text, text
    with Program(t, argv) as p:
        answer = tasks(t, p.process.pid)
    assert answer["tasks"] == answer["typeless_tasks"] == n + 1 and answer["runtime_tasks"] == 0, answer
    assert "is unknown, and so which are the runtime's own: " in answer["sentence"], answer["sentence"]


def test_busy_time(t):
    """Of what runs for as long as it knows itself, and of what hardly runs."""
    trace, wanted = t.path("t.silt"), 0.3
    program = build(t)
    if run([t.silt.path, "cpu", "run", "-q", "-f", "-o", t.path("true.silt"), "true"]).code != 0:
        skip("CPU samples are forbidden here")
    with Program(t, t.silt.run_argv(trace, [program, "100", "0", "100", "5"], ["-f", "--cpu"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    groups = {g["runs"]: g for g in tasks(t, trace)["groups"]}
    busy = groups["tasks::hogs"]
    # a sample each millisecond, by a clock that may be late; the kernel's share of what the task called counts too
    assert wanted * 0.6 <= busy["busy_s"] <= wanted * 1.6, busy
    assert groups["tasks::kept"]["busy_s"] < wanted / 3 and groups["tasks::in_line"]["samples"] == 0, groups


def test_few_are_no_finding(t):
    trace = t.path("t.silt")
    with Program(t, t.silt.run_argv(trace, [build(t), "10", "0", "300", "5"], ["-f"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    answer = tasks(t, trace)
    assert not answer["findings"] and answer["tasks"] == 10 + 300 + 5 + 3, answer
    report, why = t.silt.report(trace)
    assert report, why
    assert not [f for f in report["findings"] if f["kind"] == "kept-tasks"], report["findings"]


def test_program_without_tasks(t):
    trace = t.path("t.silt")
    r = t.silt.record(trace, ["sort", "--version"], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    answer = tasks(t, trace)
    assert answer["tasks"] == 0 and not answer["groups"] and answer["sentence"].startswith("silt found no tasks"), answer
    r = t.silt.record(t.path("bare.silt"), ["true"], ["-f"])
    assert r.code == 0, r.errors
    r = t.silt.command("tasks", t.path("bare.silt"))
    assert r.code == 2 and "graph" in r.errors and r.errors.count("\n") == 1, r.errors


def merged_functions(t, options):
    """Compilers make one of functions that are the same: the type is that of the function that runs the task; where that is one of several types', silt says so."""
    if not shutil.which("rustc"):
        skip("there is no rustc")
    program, trace = t.path("merged"), t.path("t.silt")
    r = run(["rustc", "--edition", "2021", "--crate-name", "async_task", "-g", "-O", "-C", "codegen-units=1", *options, "-o", program,
             os.path.join(ROOT, "tests/cases/merged_tasks.rs")], timeout_s=300)
    assert r.code == 0, r.errors
    n = dict(zip(("fetch", "serve", "Left", "Right"), (t.chance.randint(10, 99) for _ in range(4))))
    names = [line for line in run(["nm", "-C", program]).text.splitlines() if "RawTask" in line and line.rstrip().endswith("schedule")]
    with Program(t, t.silt.run_argv(trace, [program, *map(str, n.values())], ["-f"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    answer = tasks(t, trace)
    told = sorted((g["tasks"], g["runs"], g["is_merged"]) for g in answer["groups"])
    t.notes.append(f"{len(names)} names of schedule, at {len({line.split()[0] for line in names})} addresses")
    assert answer["tasks"] == answer["waiting"] == sum(n.values()) and not answer["unknown"], answer
    for name in ("fetch", "serve"):
        assert (n[name], "async_task::" + name, False) in told, told
    twins = [row for row in told if row[1] not in ("async_task::fetch", "async_task::serve")]
    assert sum(row[0] for row in twins) == n["Left"] + n["Right"], told
    for tasks_n, runs, is_merged in twins:
        name = runs.removeprefix("async_task::").removesuffix(" or a type with the same code")
        assert name in ("Left", "Right") and is_merged == (runs != "async_task::" + name) and (is_merged or tasks_n == n[name]), told

    # of two types that share all their code one alone is there
    with Program(t, t.silt.run_argv(trace, [program, "5", "0", "0", "7"], ["-f"])):
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    told = {g["tasks"]: (g["runs"], g["is_merged"]) for g in tasks(t, trace)["groups"]}
    assert told[5] == ("async_task::fetch", False) and (told[7] == ("async_task::Right", False) or told[7][1]), told


def test_merged_functions(t):
    merged_functions(t, [])


def test_merged_functions_with_new_names(t):
    merged_functions(t, ["-C", "symbol-mangling-version=v0"])
