# SPDX-License-Identifier: MIT
"""The arenas of this machine's C library, and of the other's: as they are in memory."""

import os

from harness.process import run


def test_own(t):
    """To the byte what mallinfo2 says."""
    source = os.path.relpath(os.path.join(t.context.tests_dir, "..", "src"), t.context.attached.source_dir)
    include = os.path.join(t.context.tests_dir, "..", "src")
    parts = [f"{source}/{name}" for name in ("attach/arenas.c", "attach/memory.c", "base/vec.c")]
    program = t.context.attached.build("arenas_c", ["arenas.c", *parts],
                                       flags=["-I", include, "-D_GNU_SOURCE", "-Wno-missing-field-initializers"])
    r = run([*(t.context.runner or "").split(), program])
    assert r.code == 0 and r.text == f"ok {r.text.split()[-1]}\n" and int(r.text.split()[-1]) >= 2, (r.code, r.text, r.errors)
