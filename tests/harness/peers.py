# SPDX-License-Identifier: MIT
"""Readers of other projects from npm: tests/peers/package.json, installed into the build directory when the first test asks."""

import fcntl
import os
import shutil

from harness.cases import skip
from harness.process import run

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers")


def peers(t):
    """The folder that has node_modules."""
    folder = os.path.join(os.path.abspath(t.context.build_dir), "tests-peers")
    done = os.path.join(folder, "installed")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(done):
            for name in ("package.json", "package-lock.json"):
                shutil.copy(os.path.join(HERE, name), folder)
            r = run(["npm", "ci", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"], timeout_s=120)
            if r.code != 0:
                skip("npm cannot install the peers: it does not reach its registry")
            with open(done, "w"):
                pass
    return folder
