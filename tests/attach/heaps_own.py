# SPDX-License-Identifier: MIT
"""The arenas of a jemalloc, this machine's and the other's: as they are in memory."""

import os

from allocators._workshop import Workshop
from harness.process import run


def test_own(t):
    """A program that reads itself: to the byte what its jemalloc says."""
    source = os.path.relpath(os.path.join(t.context.tests_dir, "..", "src"), t.context.attached.source_dir)
    parts = [f"{source}/attach/{name}" for name in ("jemalloc.c", "memory.c")]
    flags = ["-I", os.path.join(t.context.tests_dir, "..", "src"), "-D_GNU_SOURCE", "-DPREFIX=_rjem_", "-DOWN", "-Wno-missing-field-initializers"]
    archive = Workshop(t.context).prefixed_jemalloc("_rjem_")
    program = t.context.attached.build("heaps_own", ["heaps.c", *parts], flags=flags, link=[archive, "-lm", "-ldl", "-lpthread"])
    for n_threads in ("0", "4"):
        r = run([*(t.context.runner or "").split(), program, n_threads])
        assert r.code == 0 and r.text.startswith("ok ") and int(r.text.split()[1]) >= 1, (r.code, r.text, r.errors)


test_own.native_alone = "jemalloc is built from its source"
test_own.from_source_elsewhere = True
