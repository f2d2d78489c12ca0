# SPDX-License-Identifier: MIT
"""Entry patches on functions nobody here wrote: thousands of entries lead through thunks and back while a program works, and its
results are the same byte for byte. clang with libLLVM and libclang-cpp; all of a static C++ library, on both machines; and, built
from Debian's source, zstd."""

import os
import re
import shutil

from allocators._workshop import Workshop
from harness.process import run

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def sources(t, n):
    """Real files: this repository's own."""
    found = []
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        found += [os.path.join(folder, name) for name in names if name.endswith(".c")]
    found.sort()
    t.chance.shuffle(found)
    wanted = []
    for path in found:
        r = run(["clang", "-fsyntax-only", "-w", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "src"), path])
        wanted += [path] if r.code == 0 else []
        if len(wanted) == n:
            break
    return wanted


class Thunks:
    """Runs programs with some of their functions' entries patched; addresses are the same every time."""

    def __init__(self, t):
        self.t, self.apply, self.plan = t, t.path("apply.so"), t.path("plan")
        self.machine = t.context.tools.prefix.split("-")[0] or os.uname().machine
        r = run([t.context.tools.prefix + "gcc", "-O2", "-shared", "-fPIC", "-o", self.apply, os.path.join(HERE, "apply.c")])
        assert r.code == 0, r.errors

    def run(self, argv, **env):
        words = [f"{name}={value}" for name, value in ({"LD_PRELOAD": self.apply, **env} if env else {}).items()]
        if self.t.context.runner:
            emulator, *options = self.t.context.runner.split()
            launcher = [emulator, *options, *(x for word in words for x in ("-E", word))]
        else:
            launcher = ["env", *words]
        return run(["setarch", "-R", *launcher, *argv])

    def bare(self, argv):
        return self.run(argv)

    def through(self, argv):
        return self.run(argv, THUNK_PLAN=self.plan)

    def draw(self, argv, pattern, n, seed=None):
        """Plans for `n` functions of the files that match; returns how many are patched and how many could not be."""
        r = self.run(argv, THUNK_MAPS=self.t.path("maps"))
        assert r.code == 0, r.errors
        with open(self.t.path("maps")) as f:
            files = sorted(set(re.findall(rf"/\S*(?:{pattern})\S*", f.read())))
        tool = os.path.join(os.path.dirname(self.t.silt.path), "src", "patch", "patch_thunks")
        r = run([tool, self.machine, self.t.path("maps"), str(n), str(seed or 1), self.plan, *files])
        assert r.code == 0, r.errors
        n_patched, n_refused = map(int, re.search(r"(\d+) patched, (\d+) refused", r.text).groups())
        self.t.notes.append(f"{n_patched:,} entries patched, {n_refused:,} refused")
        return len(files), n_patched, n_refused


def native(test):
    test.native_alone = "there is no clang for that machine here"
    return test


@native
def test_clang(t):
    clang, thunks = os.path.realpath(shutil.which("clang")), Thunks(t)
    n, seed = 10000, t.chance.randrange(1, 1 << 32)
    n_files, n_patched, n_refused = thunks.draw([clang, "--version"], "libLLVM-|libclang-cpp", n, seed)
    assert n_files == 2 and n_patched == n and n_refused < n / 20, (n_files, n_patched, n_refused)
    compile = ["-O2", "-w", "-g", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "src"), "-c"]
    for source in sources(t, t.count(4, 20)):
        out = t.path("o.o")
        bare = thunks.bare([clang, *compile, source, "-o", out])
        with open(out, "rb") as f:
            want = f.read()
        os.remove(out)
        through = thunks.through([clang, *compile, source, "-o", out])
        assert bare.code == through.code == 0, f"seed {seed}: {source}: {through.code}: {through.errors}"
        with open(out, "rb") as f:
            assert f.read() == want, f"seed {seed}: {source}: another object file"


def every_function(t, program, n_expected):
    """All functions of a program at once; all but the shortest can be patched."""
    thunks = Thunks(t)
    _, n_patched, n_refused = thunks.draw([program], os.path.basename(program), 20000)
    assert n_patched > n_expected and n_refused < n_patched / 10, (n_patched, n_refused)
    return thunks


def test_cxx_library(t):
    """Its functions as they were compiled for Debian; exceptions pass through patched functions too."""
    if not t.context.runner and not t.context.is_soak:
        return  # clang has more of the kind
    program = Workshop(t.context).words()
    thunks = every_function(t, program, 3000)
    argv = [program, str(t.count(1, 50))]
    bare, through = thunks.bare(argv), thunks.through(argv)
    assert bare.code == through.code == 0, f"{through.code}: {through.errors}"
    assert len(bare.stdout) > 20000 and bare.stdout == through.stdout, "another output"


def test_zstd(t):
    program = Workshop(t.context).zstd()
    thunks = every_function(t, program, 700)
    text = t.path("text")
    with open(text, "wb") as f:
        for path in sources(t, 40):
            with open(path, "rb") as source:
                f.write(source.read())
    for level in ("-1", "-5", "-9", "-14", "-19", "--ultra -22 --long=27"):
        bare = thunks.bare([program, *level.split(), "-T2", "-k", "-q", "-c", text])
        through = thunks.through([program, *level.split(), "-T2", "-k", "-q", "-c", text])
        assert bare.code == through.code == 0, f"{level}: {through.code}: {through.errors}"
        assert 1000 < len(bare.stdout) == len(through.stdout) and bare.stdout == through.stdout, f"{level}: another output"
        with open(t.path("packed"), "wb") as f:
            f.write(through.stdout)
        back = thunks.through([program, "-d", "-q", "-c", "--long=27", t.path("packed")])
        with open(text, "rb") as f:
            assert back.code == 0 and back.stdout == f.read(), f"{level}: {back.code}: {back.errors}"


test_zstd.repeats, test_zstd.soak_repeats = 0, 1  # fetches a source package
