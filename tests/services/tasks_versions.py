# SPDX-License-Identifier: MIT
"""silt tasks on versions of tokio that lay out their tasks differently, and on the newest there is: the states that the program of
tests/cases/tasks knows, recorded and not."""

import os
import re
import shutil

from allocators.real import soak_alone
from cases.tasks import Program, ROOT, check, tasks
from harness.cases import skip
from harness.locks import Lock
from harness.process import run

# the oldest and the newest of each layout that builds with today's compiler; "": the newest of the registry
VERSIONS = (("1.0.3", True), ("1.12.0", True), ("1.13.1", True), ("1.20.6", True), ("1.21.2", False), ("1.32.1", False), ("1.43.4", False), ("", False))
LOCK = Lock(os.path.join(ROOT, "tests/services"))


def build(t, version, without_set):
    if not shutil.which("cargo"):
        skip("no cargo")
    project = t.path("project")
    shutil.copytree(os.path.join(ROOT, "tests/cases/tasks"), project)
    path = os.path.join(project, "Cargo.toml")
    with open(path) as f:
        text = f.read().replace('version = "1", features', f'version = "{"=" + version if version else "1"}", features')
    with open(path, "w") as f:
        f.write(text)
    with LOCK:
        r = run(["cargo", "build", "-q", "-j2", "--release", *(["--features", "without_set"] if without_set else [])], cwd=project,
                env={"CARGO_TARGET_DIR": os.path.join(t.context.work_dir, "tasks.target")}, timeout_s=3600)
        assert r.code == 0, r.errors
        shutil.copy(os.path.join(t.context.work_dir, "tasks.target/release/tasks"), t.path("tasks"))
    with open(os.path.join(project, "Cargo.lock")) as f:
        t.notes.append("tokio " + re.search(r'name = "tokio"\nversion = "(.*)"', f.read())[1])
    return t.path("tasks")


def hold(t, version, without_set):
    chance = t.chance
    wanted = {"kept": chance.randint(500, 4000), "listed": chance.randint(100, 900), "waits": chance.randint(50, 500), "in_line": chance.randint(20, 200)}
    argv = [build(t, version, without_set), *(str(wanted[name]) for name in ("kept", "listed", "waits", "in_line"))]
    with Program(t, t.silt.run_argv(t.path("t.silt"), argv, ["-f"])):
        r = t.silt.command("snapshot", t.path("t.silt"), "--graph")
        assert r.code == 0, r.errors
    groups = check(tasks(t, t.path("t.silt")), wanted)
    if not without_set:
        assert groups["tasks::kept"]["kept_by"][0]["name"] == "a JoinSet", groups["tasks::kept"]["kept_by"]
    with Program(t, argv) as p:
        check(tasks(t, p.process.pid), wanted)


def make_tests():
    for version, without_set in VERSIONS:
        def test(t, version=version, without_set=without_set):
            hold(t, version, without_set)
        globals()[f"test_tokio_{version.replace('.', '_') or 'newest'}"] = soak_alone(test)


make_tests()
