# SPDX-License-Identifier: MIT
"""The programs that valgrind's memcheck is tested with, from Debian's source package. Most of them are wrong on purpose. They must end as
they do by themselves, and where memcheck lets them do so too, its count of allocations, releases and bytes must be silt's."""

import concurrent.futures
import glob
import os
import re
import shlex
import subprocess

from allocators._workshop import LOCK, Workshop
from harness.oracles import Memcheck
from harness.process import TimedOut
from suites._suite import Program, Suite, soak_alone

FIGURES = ("allocations", "frees", "bytes_allocated", "end_live_bytes", "end_live_blocks")
FLAGS = ["-g", "-O0", "-w", "-fno-stack-protector", "-pthread"]
EXTRA_FLAGS = {"atomic_incs": ["-O2"], "bug340392": ["-O3"], "wrap6": ["-O2"], "vcpu_bz2": ["-O2"], "vcpu_fbench": ["-O2"], "vcpu_fnfns": ["-O2"],
               "xml1": ["-D_GNU_SOURCE"], "overlap": ["-fno-builtin"], "memcmptest": ["-fno-builtin-memcmp"],
               "cxx17_aligned_new": ["-std=c++17"], "new_aligned_delete_default": ["-std=c++17"], "bug464969_d_demangle": []}


class Programs:
    def __init__(self, t, suite):
        workshop = Workshop(t.context)
        self.suite, self.tree, self.folder = suite, workshop.source("valgrind"), workshop.path("suite_memcheck")
        self.tests = os.path.join(self.tree, "memcheck/tests")
        os.makedirs(self.folder, exist_ok=True)
        with LOCK:
            if not os.path.exists(os.path.join(self.tree, "config.h")):
                workshop.run("sh", "./configure", cwd=self.tree)

    def build(self, name):
        out = os.path.join(self.folder, name)
        sources = [s for s in (os.path.join(self.tests, name + e) for e in (".c", ".cpp")) if os.path.exists(s)]
        if os.path.exists(out) or not sources:
            return out if sources else None
        compiler = "g++" if sources[0].endswith("pp") else "gcc"
        flags = [*FLAGS, *EXTRA_FLAGS.get(name, []), "-I" + self.tree, "-I" + os.path.join(self.tree, "include"),
                 "-I" + os.path.join(self.tree, "memcheck"), f"-DVGA_{'amd64' if os.uname().machine == 'x86_64' else 'arm64'}=1", "-DVGO_linux=1"]
        r = subprocess.run([compiler, *flags, sources[0], "-o", out, "-lm", "-ldl", "-lrt"], capture_output=True)
        return out if r.returncode == 0 else None

    def all(self):
        found = {}
        for path in sorted(glob.glob(os.path.join(self.tests, "*.vgtest"))):
            with open(path) as f:
                words = dict(m.groups() for m in (re.match(r"(\w+): *(.*)", line) for line in f) if m)
            name, arguments = words["prog"], words.get("args", "")
            key = f"{name} {arguments}".strip()
            if key in found:
                continue
            if "/" in name or name.startswith(("true", "sh")):
                self.suite.leave_out(key, "not one of its programs")
            elif re.search(r"[<>|`$]", arguments) or words.get("stdin"):
                self.suite.leave_out(key, "wants a shell")
            else:
                found[key] = (name, shlex.split(arguments))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            built = dict(zip(found, pool.map(lambda pair: self.build(pair[0]), found.values())))
        for key, (name, arguments) in found.items():
            if built[key]:
                yield Program(key, [built[key], *arguments], {"LD_LIBRARY_PATH": self.folder}, cwd=self.tests)
            else:
                self.suite.leave_out(key, "does not compile here by itself: other machines, libraries of its own, assembly")


class Counted(Suite):
    """Holds silt's figures against memcheck's too."""

    def __init__(self, t, name):
        super().__init__(t, name)
        self.n_equal, self.n_blocks, self.not_comparable = 0, 0, {}

    def measure(self, program, trace, verdict):
        report, why = self.t.silt.report(trace)
        if not report:
            verdict.said += " " + why
            return
        totals = report["totals"]
        if len(report["processes"]) > 1:
            self.not_comparable.setdefault("several processes", []).append(program.name)
            return
        try:
            r, counted = Memcheck().record(program.argv, program.env, cwd=program.cwd)
        except TimedOut:
            counted = []
        if not counted or r.code != verdict.code or r.stdout != verdict.stdout:
            self.not_comparable.setdefault("it does something else under memcheck", []).append(program.name)
            return
        if tells_of_blocks(program):
            self.not_comparable.setdefault("it tells memcheck of blocks of its own", []).append(program.name)
            return
        wrong = {n: f"{totals[n]:,} for {counted[0][n]:,}" for n in FIGURES if totals[n] != counted[0][n]}
        if wrong:
            self.different[program.name] = f"figures are not memcheck's: {wrong}"
        else:
            self.n_equal += 1
            self.n_blocks += totals["allocations"]

    def more_to_tell(self):
        told = [f"figures: {self.n_equal} programs have memcheck's exactly ({self.n_blocks:,} allocations)"]
        return told + [f"figures: {len(names)} not compared: {reason}: {', '.join(sorted(names))}" for reason, names in sorted(self.not_comparable.items())]


def tells_of_blocks(program):
    """By requests to valgrind, which memcheck counts as allocations."""
    for source in glob.glob(os.path.join(program.cwd, program.name.split()[0] + ".c*")):
        with open(source, errors="replace") as f:
            if re.search("MALLOCLIKE_BLOCK|MEMPOOL_ALLOC", f.read()):
                return True
    return False


@soak_alone
def test_programs(t):
    suite = Counted(t, "valgrind's memcheck")
    suite.run(list(Programs(t, suite).all()))
    assert suite.n > 100 and suite.n_equal > 50, (suite.n, suite.n_equal)
