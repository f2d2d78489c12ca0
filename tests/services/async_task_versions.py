# SPDX-License-Identifier: MIT
"""silt tasks on smol and async-std, whose tasks are async-task's: states, types and keepers of a program that knows them (async_tasks/)."""

import os
import re
import shutil
import time

from allocators.real import soak_alone
from cases.task_stories import need_samples
from cases.tasks import Program, ROOT, tasks
from harness.cases import skip
from harness.locks import Lock
from harness.process import run

VERSIONS = (("smol", "1.3.0"), ("smol", ""), ("async-std", "1.12.0"), ("async-std", ""))
NAMES = ("answer", "fetch", "session", "other")
LOCK = Lock(os.path.join(ROOT, "tests/services"))


def build(t, crate, version):
    if not shutil.which("cargo"):
        skip("no cargo")
    project = t.path("project")
    shutil.copytree(os.path.join(ROOT, "tests/services/async_tasks"), project)
    path = os.path.join(project, "Cargo.toml")
    with open(path) as f:
        text = f.read()
    if version:
        text = re.sub(rf'{crate} = {{ version = "\d"', f'{crate} = {{ version = "={version}"', text)
    with open(path, "w") as f:
        f.write(text)
    with LOCK:
        r = run(["cargo", "build", "-q", "-j2", "--release", "--features", "with_" + crate.replace("-", "_")], cwd=project,
                env={"CARGO_TARGET_DIR": os.path.join(t.context.work_dir, "async_tasks.target")}, timeout_s=3600)
        assert r.code == 0, r.errors
        shutil.copy(os.path.join(t.context.work_dir, "async_tasks.target/release/async_tasks"), t.path("async_tasks"))
    return t.path("async_tasks")


def look(t, program, yields):
    trace = t.path("hog.silt")
    with Program(t, t.silt.run_argv(trace, [program, "2", "2", "2", "2", str(yields)], ["-f", "--cpu"])):
        time.sleep(1.5)  # for samples
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
    return tasks(t, trace)


def hold_hog(t, program):
    """A task that never yields is the first finding; of one that does nobody says that it does not give way."""
    need_samples(t)
    for _ in range(10):  # a machine with much else to do may not let it run between the looks
        answer = look(t, program, 0)
        if "does not give way" in answer["sentence"]:
            break
    assert answer["sentence"].startswith("A task of async_tasks::hog does not give way: "), answer["sentence"]
    assert answer["findings"][0]["severity"] == "problem", answer["findings"]
    answer = look(t, program, 1)
    assert not [f for f in answer["findings"] if "does not give way" in f["text"]], answer["findings"]


def hold(t, crate, version):
    n = dict(zip(NAMES, (t.chance.randint(500, 2000) for _ in NAMES)))
    program = build(t, crate, version)
    hold_hog(t, program)
    with Program(t, t.silt.run_argv(t.path("t.silt"), [program, *map(str, n.values())], ["-f"])):
        for _ in range(20):  # the last one that finishes may still return
            r = t.silt.command("snapshot", t.path("t.silt"), "--graph")
            assert r.code == 0, r.errors
            answer = tasks(t, t.path("t.silt"))
            groups = {g["runs"]: g for g in answer["groups"]}
            if groups["async_tasks::answer"]["finished"] == n["answer"]:
                break
    for name in NAMES:
        g = groups["async_tasks::" + name]
        assert g["tasks"] == n[name] == g["finished" if name == "answer" else "waiting"], (name, n, g["tasks"], g["finished"], g["waiting"])
        assert not g["is_merged"] and g["with_handle"] == (n[name] if name in NAMES[:2] else 0), (name, g["with_handle"])
    for name in NAMES[:2]:
        kept = groups["async_tasks::" + name]["kept_by"]
        assert [k["tasks"] for k in kept] == [n[name]] and kept[0]["name"].startswith("memory of async_tasks::main"), kept
    assert not answer["unknown"], answer["unknown"]


def make_tests():
    for crate, version in VERSIONS:
        def test(t, crate=crate, version=version):
            hold(t, crate, version)
        globals()[f"test_{crate}_{version or 'newest'}".replace("-", "_").replace(".", "_")] = soak_alone(test)


make_tests()
