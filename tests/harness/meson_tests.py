# SPDX-License-Identifier: MIT
"""The unit tests and gates that Meson knows, as tests of this runner: one list, one environment, one verdict."""

import json
import os

from .process import run

# What Meson itself would draw anew for each run.
PERTURB = "165"
LAST_RESORT = 10  # times what Meson gives a test that has the machine to itself


class UnitTest:
    repeats = soak_repeats = 1

    def __init__(self, entry, build_dir):
        self.name = "unit/" + entry["name"]
        self.argv, self.env = entry["cmd"], entry["env"]
        self.dir = entry["workdir"] or build_dir
        self.timeout_s = LAST_RESORT * entry["timeout"]
        self.priority = entry["priority"]

    def run(self):
        r = run(self.argv, timeout_s=self.timeout_s, cwd=self.dir, env={**self.env, "MALLOC_PERTURB_": PERTURB})
        if r.code == 0:
            return [], []
        return [f"exit status {r.code}: {' '.join(self.argv)}\n{(r.text + r.errors)[-4000:]}"], []


def load(build_dir):
    """Those of a build directory, the longest first."""
    path = os.path.join(build_dir, "meson-info", "intro-tests.json")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        tests = [UnitTest(entry, build_dir) for entry in json.load(f)]
    return sorted(tests, key=lambda test: -test.priority)
