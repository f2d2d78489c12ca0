# SPDX-License-Identifier: MIT
"""Programs that leave the surroundings they were started in are recorded on, or the report says where silt lost them."""

import os
import re
import shutil

from harness.watch import alone, same, told, whole


def escape(t, *how, n_images=1):
    argv = [t.victim("escape"), *how]
    bare = alone(argv)
    assert bare.code == 19, f"alone: {bare.code}: {bare.errors}"
    for _ in range(t.count(1, 30)):
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"])
        same(bare, r.code, r.stdout, r.errors)
        assert not r.errors, r.errors
        report = whole(t, t.path("t.silt"))
        truth, totals = told(bare.stdout), report["totals"]
        seen = (totals["allocations"], totals["frees"], totals["lost_events"], totals["unknown_frees"])
        assert seen == (truth["allocations"], truth["frees"], 0, 0), f"{how}: {totals}"
    images = [p for p in report["processes"] if p["pid"] == report["pid"]]
    assert len(images) == n_images, images
    return report


def test_close_range(t):
    escape(t, "close_range")


def test_closefrom(t):
    escape(t, "closefrom")


def test_chroot_as_root(t):
    os.mkdir(t.path("root"))
    escape(t, "chroot", t.path("root"))


def test_capabilities_as_root(t):
    escape(t, "caps")


def test_namespaces_as_root(t):
    escape(t, "namespaces")


def test_pid_namespace_as_root(t):
    report = escape(t, "pid")
    children = [p for p in report["processes"] if p["pid"] != report["pid"]]
    assert len(children) == 1 and children[0]["totals"]["allocations"] == 6000, children


def test_user_as_root(t):
    escape(t, "user", "65534")


def test_becomes_itself(t):
    escape(t, "again", n_images=7)


def test_a_preload_whose_name_begins_like_the_runtime(t):
    """A list that has another file in it does not have the runtime."""
    runtime, other = t.path("lib.so"), t.path("lib.so.1")
    shutil.copy(t.silt.runtime or os.path.join(os.path.dirname(t.silt.path), "libsilt.so"), runtime)
    shutil.copy(t.victim("opener_lib", shared=True), other)
    script = ["sh", "-c", 'LD_PRELOAD=$1; export LD_PRELOAD; exec "$2" churn 90 10', "sh", other, t.helper()]
    r = t.silt.record(t.path("t.silt"), script, options=["--runtime", runtime])
    assert r.code == 0 and not r.errors, f"{r.code}: {r.errors}"
    images = [p["totals"]["allocations"] for p in whole(t, t.path("t.silt"))["processes"]]
    assert len(images) == 2 and images[1] == 100, images


def test_program_in_another_root_as_root(t):
    """The runtime's file is not there: the program runs as it would alone, without a word from the loader, and the
    report says that it was not followed."""
    root, crew = t.path("root"), t.victim("crew")
    with open(f"/proc/self/maps") as f:
        libraries = set(re.findall(r"(/\S*/(?:ld-linux\S*|libc\.so\.6|libc-2\S*))$", f.read(), re.M))
    for path in {os.path.realpath(p) for p in libraries}:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    for name in ("lib", "lib64"):  # where the kernel looks for the loader
        if os.path.islink("/" + name):
            os.makedirs(os.path.join(root, os.readlink("/" + name).lstrip("/")), exist_ok=True)
            os.symlink(os.readlink("/" + name).lstrip("/"), f"{root}/{name}")
    for path in libraries:
        if not os.path.exists(root + path):
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            os.symlink(os.path.realpath(path), root + path)
    loader = re.search(rb"/lib\S*/ld-linux[^\0]*", open(crew, "rb").read())[0].decode()
    if not os.path.exists(root + loader):
        os.makedirs(root + os.path.dirname(loader), exist_ok=True)
        shutil.copy(os.path.realpath(loader), root + loader)
    shutil.copy(crew, root + "/crew")
    argv = [t.victim("escape"), "root", root, "/crew"]
    bare = alone(argv)
    assert bare.code == 23, f"alone: {bare.code}: {bare.errors}"
    r = t.silt.record(t.path("t.silt"), argv)
    same(bare, r.code, r.stdout, r.errors)
    assert r.stderr == bare.stderr, f"words the program did not say: {r.errors}"
    whole(t, t.path("t.silt"))
    said = t.silt.command("report", t.path("t.silt")).text
    assert "1 process was not seen: /crew (it cannot read silt's library)" in said, said[:300]
