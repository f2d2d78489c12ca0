# SPDX-License-Identifier: MIT
"""Processes in other places: another root, mount, pid and network namespaces, another user."""

import os
import re
import shutil
import subprocess
import tempfile

from attach._target import Attached, Target, build, record
from harness.cases import skip
from harness.place import need_mounts

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
    need_mounts()
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


def test_runtime_out_of_reach(t):
    """Root's silt in a folder that is closed to others: the process is lent a copy."""
    need_root()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        binary = shutil.copy(build(t, "count.c"), folder)
        closed = os.path.join(folder, "closed")
        os.mkdir(closed, 0o700)
        runtime = shutil.copy(t.silt.runtime or os.path.join(os.path.dirname(t.silt.path), "libsilt.so"), closed)
        argv = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", binary]
        with Target(t, argv) as target:
            totals = record(t, target.pid, lambda: target.tell("mixed 10"), options=["--runtime", runtime])
            assert (totals["allocations"], totals["lost_events"]) == (100, 0), totals


def test_no_code_in_tmp(t):
    """Where code may not be mapped from /tmp, the copy goes elsewhere."""
    need_mounts()
    root = make_root(t, build(t, "count.c"))
    os.makedirs(root + "/var/tmp")
    argv = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs -o noexec none {root}/tmp && exec chroot {root} /program"]
    with Target(t, argv) as target:
        check(t, target, target.pid)
        assert os.listdir(root + "/var/tmp") == [], "something was left behind"
    os.rmdir(root + "/var/tmp")
    with Target(t, argv) as target:
        silt = Attached(t, target.pid)
        assert silt.end(None) == 2 and "takes a copy" in silt.said and silt.said.count("\n") == 1, silt.said
        target.tell("mixed 10")
