# SPDX-License-Identifier: MIT
"""Processes in other places: another root, mount, pid and network namespaces, another user."""

import os
import re
import shutil
import subprocess
import tempfile

from attach._target import Target, build, record
from harness.cases import skip

NOBODY = 65534


def libraries(binary):
    said = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+)", said)


def make_root(t, binary):
    root = t.path("root")
    for path in libraries(binary):
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    for name in ("tmp", "proc"):
        os.makedirs(os.path.join(root, name))
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    shutil.copy(binary, root + "/program")
    return root


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(x) for x in f.read().split()]


def innermost(pid):
    while child_of(pid):
        pid = child_of(pid)[0]
    return pid


def check(t, target, pid):
    for _ in range(2):
        totals = record(t, pid, lambda: target.tell("mixed 10"))
        assert (totals["allocations"], totals["frees"], totals["lost_events"]) == (100, 100, 0), totals


def need_root():
    if os.getuid() != 0 or not shutil.which("unshare"):
        skip("needs root and unshare")


def test_another_root(t):
    need_root()
    root = make_root(t, build(t, "count.c"))
    with Target(t, ["chroot", root, "/program"]) as target:
        check(t, target, target.pid)
        assert os.listdir(root + "/tmp") == [], "something was left behind"


def test_namespaces(t):
    """A container: nothing but the kernel is shared."""
    need_root()
    root = make_root(t, build(t, "count.c"))
    argv = ["unshare", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts", "chroot", root, "/program"]
    with Target(t, argv) as target:
        check(t, target, innermost(target.pid))
        assert os.listdir(root + "/tmp") == [], "something was left behind"


def test_another_user(t):
    need_root()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        binary = shutil.copy(build(t, "count.c"), folder)
        argv = ["unshare", "--net", "setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", binary]
        with Target(t, argv) as target:
            check(t, target, target.pid)
