# SPDX-License-Identifier: MIT
"""jemalloc's own tests, from Debian's source package: units, which have a jemalloc of their own inside under other names, and integration
tests, which link its library."""

import glob
import os
import shutil
import subprocess

from allocators._workshop import LOCK, Workshop
from suites._suite import Program, Suite, soak_alone


def built(t):
    """The folder in which it was built, with its profiler, which many of its tests are about."""
    workshop = Workshop(t.context)
    tree, folder = workshop.source("jemalloc"), workshop.path("suite_jemalloc")
    with LOCK:
        if not os.path.exists(os.path.join(folder, ".complete")):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            workshop.run(os.path.join(tree, "configure"), "--enable-prof", cwd=folder)
            workshop.run("make", "-j2", "tests_unit", "tests_integration", cwd=folder, timeout=3600)
            open(os.path.join(folder, ".complete"), "w").close()
    return tree, folder


def configuration(tree, name):
    """What the test's own script has for MALLOC_CONF."""
    script = os.path.join(tree, name + ".sh")
    if not os.path.exists(script):
        return ""
    r = subprocess.run(["sh", "-c", '. "$1"; printf %s "$MALLOC_CONF"', "sh", script], capture_output=True, text=True,
                       env={**os.environ, "MALLOC_CONF": "", "enable_fill": "1", "enable_prof": "1"})
    return r.stdout


def programs(tree, folder, kind, tag="", more=""):
    for source in sorted([*glob.glob(os.path.join(tree, "test", kind, "*.c")), *glob.glob(os.path.join(tree, "test", kind, "cpp", "*.cpp"))]):
        name = os.path.splitext(os.path.relpath(source, tree))[0]
        program = os.path.join(folder, name)
        if os.path.exists(program):
            conf = ",".join(x for x in (configuration(tree, name), more) if x)
            yield Program(os.path.relpath(name, "test") + tag, [program, tree + "/", folder + "/"],
                          {"MALLOC_CONF": conf, "LD_LIBRARY_PATH": os.path.join(folder, "lib")})


@soak_alone
def test_unit(t):
    tree, folder = built(t)
    suite = Suite(t, "jemalloc's units")
    suite.run(list(programs(tree, folder, "unit")))
    assert suite.n > 80, suite.n


@soak_alone
def test_integration(t):
    """As they are, with pages given back at once, and profiled, as its `make check` does."""
    tree, folder = built(t)
    suite = Suite(t, "jemalloc's integration")
    suite.run([*programs(tree, folder, "integration"),
               *programs(tree, folder, "integration", " decay", "dirty_decay_ms:0,muzzy_decay_ms:0"),
               *programs(tree, folder, "integration", " prof", "prof:true,prof_active:true"),
               *programs(tree, folder, "integration", " prof inactive", "prof:true,prof_active:false")])
    assert suite.n > 40, suite.n
