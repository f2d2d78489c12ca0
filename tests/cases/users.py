# SPDX-License-Identifier: MIT
"""silt works for an ordinary user."""

import os
import shutil
import tempfile

from harness.process import run


def as_nobody(folder, argv, **kwargs):
    """Runs argv as nobody when this is root, else as who we are."""
    prefix = []
    if os.getuid() == 0:
        prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]
    return run([*prefix, *argv], cwd=folder, **kwargs)


def open_folder(t):
    """A copy of silt and some programs where everybody may read them."""
    folder = tempfile.mkdtemp(prefix="silt-user.", dir="/tmp")
    os.chmod(folder, 0o777)
    build = t.context.build_dir
    for path in (os.path.join(build, "silt"), os.path.join(build, "libsilt.so"), t.program("fork_inherit"),
                 t.program("close_all"), t.helper()):
        shutil.copy(path, folder)
        os.chmod(os.path.join(folder, os.path.basename(path)), 0o755)
    return folder


def test_an_ordinary_user_records_and_reports(t):
    folder = open_folder(t)
    try:
        for program, allocations in (("fork_inherit", 10), ("close_all", 1001)):
            r = as_nobody(folder, ["./silt", "run", "-q", "-o", program + ".silt", "--", "./" + program])
            assert r.code == 0, f"{program}: {r.code}: {r.errors}"
            r = as_nobody(folder, ["./silt", "report", "--json", program + ".silt"])
            assert r.code == 0, r.errors
            import json
            report = json.loads(r.stdout)
            assert report["totals"]["allocations"] == allocations, report["totals"]
            assert len(report["processes"]) > 1, report["processes"]
            assert as_nobody(folder, ["./silt", "verify", program + ".silt"]).code == 0
    finally:
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written(t):
    folder = open_folder(t)
    try:
        os.chmod(folder, 0o755)
        if os.getuid() != 0:
            os.chmod(folder, 0o555)
        r = as_nobody(folder, ["./silt", "run", "./helper", "status", "3"])
        assert r.code == 125, f"{r.code}: {r.errors}"
        assert len(r.errors.splitlines()) == 1 and r.errors.startswith("silt: "), r.errors
    finally:
        os.chmod(folder, 0o777)
        shutil.rmtree(folder)


def test_no_home_no_environment(t):
    """An empty environment, as under a service manager."""
    r = run(["env", "-i", *t.silt.run_argv(t.path("t.silt"), [t.helper(), "status", "4"])])
    assert r.code == 4, f"{r.code}: {r.errors}"
    assert t.silt.report(t.path("t.silt"))[0]
