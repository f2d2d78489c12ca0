# SPDX-License-Identifier: MIT
"""Entry patches on functions nobody here wrote: thousands of entries of libLLVM and libclang-cpp lead through thunks and back
while clang compiles, and the object files are the same byte for byte."""

import os
import random
import re
import shutil

from harness.process import run

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def sources(n):
    """Real files: this repository's own."""
    found = []
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        found += [os.path.join(folder, name) for name in names if name.endswith(".c")]
    found.sort()
    random.shuffle(found)
    wanted = []
    for path in found:
        r = run(["clang", "-fsyntax-only", "-w", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "src"), path])
        wanted += [path] if r.code == 0 else []
        if len(wanted) == n:
            break
    return wanted


def test_clang_through_thunks(t):
    clang = os.path.realpath(shutil.which("clang"))
    apply = t.path("apply.so")
    r = run(["gcc", "-O2", "-shared", "-fPIC", "-o", apply, os.path.join(HERE, "apply.c")])
    assert r.code == 0, r.errors
    fixed = ["setarch", "-R"]  # the same addresses every time
    r = run([*fixed, "env", "LD_PRELOAD=" + apply, "THUNK_MAPS=" + t.path("maps"), clang, "--version"])
    assert r.code == 0, r.errors
    with open(t.path("maps")) as f:
        maps = f.read()
    files = sorted(set(re.findall(r"/\S*(?:libLLVM-|libclang-cpp)\S*", maps)))
    assert len(files) == 2, files
    n, seed = 10000, random.randrange(1 << 32)
    r = run([os.path.join(os.path.dirname(t.silt.path), "src", "patch", "patch_thunks"), "aarch64" if os.uname().machine == "aarch64" else "x86_64",
             t.path("maps"), str(n), str(seed), t.path("plan"), *files])
    assert r.code == 0, r.errors
    n_patched, n_refused = map(int, re.search(r"(\d+) patched, (\d+) refused", r.text).groups())
    assert n_patched == n and n_refused < n / 100, r.text
    compile = ["-O2", "-w", "-g", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "src"), "-c"]
    for i, source in enumerate(sources(t.count(4, 20))):
        out = t.path("o.o")
        bare = run([*fixed, clang, *compile, source, "-o", out])
        with open(out, "rb") as f:
            want = f.read()
        os.remove(out)
        through = run([*fixed, "env", "LD_PRELOAD=" + apply, "THUNK_PLAN=" + t.path("plan"), clang, *compile, source, "-o", out])
        assert bare.code == through.code == 0, f"seed {seed}: {source}: {through.code}: {through.errors}"
        with open(out, "rb") as f:
            assert f.read() == want, f"seed {seed}: {source}: another object file"
    t.notes.append(f"{n_patched} entries patched, {n_refused} refused")
