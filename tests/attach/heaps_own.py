# SPDX-License-Identifier: MIT
"""The arenas of a jemalloc and the segments of a mimalloc, this machine's and the other's: as they are in memory."""

import os

from allocators._workshop import Workshop
from harness.process import run


def read_itself(t, name, archive, *flags):
    """To the byte what its jemalloc says, or what it knows to be alive."""
    source = os.path.relpath(os.path.join(t.context.tests_dir, "..", "src"), t.context.attached.source_dir)
    own = [name + ".c", "layouts.c", "memory.c", *(["jemalloc_tables.c", "jemalloc_pages.c"] if name == "jemalloc" else [])]
    parts = [f"{source}/attach/{part}" for part in own]
    flags = [*flags, "-I", os.path.join(t.context.tests_dir, "..", "src"), "-I", os.path.join(t.context.build_dir, "src"), "-D_GNU_SOURCE", "-DOWN", "-Wno-missing-field-initializers"]
    program = t.context.attached.build(f"heaps_own_{name}", ["heaps.c", *parts], flags=flags, link=[archive, "-lm", "-ldl", "-lpthread"])
    for n_threads in ("0", "4"):
        r = run([*(t.context.runner or "").split(), program, n_threads])
        assert r.code == 0 and r.text.startswith("ok ") and int(r.text.split()[1]) >= 1, (r.code, r.text, r.errors)


def test_jemalloc(t):
    read_itself(t, "jemalloc", Workshop(t.context).prefixed_jemalloc("_rjem_"), "-DPREFIX=_rjem_")


def test_mimalloc(t):
    read_itself(t, "mimalloc", Workshop(t.context).mimalloc(), "-DPREFIX=mi_", "-DMIMALLOC")


for test in (test_jemalloc, test_mimalloc):
    test.native_alone = "built from its source"
    test.from_source_elsewhere = True
test_mimalloc.repeats, test_mimalloc.soak_repeats = 0, 1
