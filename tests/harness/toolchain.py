# SPDX-License-Identifier: MIT
"""Builds the programs of tests/programs, native or for another machine, each once and only when it changed."""

import os
import shutil
import subprocess

from .locks import Lock

C_FLAGS = ["-std=gnu17", "-O2", "-g", "-fno-builtin", "-pthread", "-Wall", "-Wextra", "-Werror"]
CXX_FLAGS = ["-std=c++17", "-O2", "-g", "-fno-builtin", "-fno-allocation-dce", "-pthread", "-Wall", "-Wextra", "-Werror"]
RUST_FLAGS = ["--edition", "2021", "-O", "-g"]


class BuildError(Exception):
    pass


class Toolchain:
    """Compilers for one machine; `prefix` is that of the cross compiler, '' for the native one."""

    def __init__(self, source_dir, out_dir, prefix=""):
        self.source_dir, self.out_dir, self.prefix = source_dir, out_dir, prefix
        self.shared = [s for s in ("truth.h", "truth.rs", "shape.h", "shape.rs") if os.path.exists(os.path.join(source_dir, s))]
        os.makedirs(out_dir, exist_ok=True)

    def can_build(self, source):
        return not (source.endswith(".rs") and self.prefix)

    def command(self, sources, flags, link, out):
        paths = [os.path.join(self.source_dir, s) for s in sources]
        if sources[0].endswith(".rs"):
            return ["rustc", *RUST_FLAGS, *flags, "-o", out, *paths]
        cxx = sources[0].endswith(".cc")
        base = CXX_FLAGS if cxx else C_FLAGS
        libraries = [os.path.join(self.out_dir, x) if x.endswith(".so") and not x.startswith("-") else x for x in link]
        return [self.prefix + ("g++" if cxx else "gcc"), *base, *flags, "-o", out, *paths, *libraries,
                "-Wl,-rpath,$ORIGIN"]

    def build(self, name, sources, flags=(), link=(), shared=False):
        """Returns the path of the product `name`."""
        out = os.path.join(self.out_dir, name)
        with Lock(out + ".lock"):
            if shared:
                flags = ["-shared", "-fPIC", *flags]
            argv = self.command(sources, list(flags), list(link), out)
            if self.is_fresh(out, argv, sources):
                return out
            if not shutil.which(argv[0]):
                raise BuildError(f"{argv[0]} is not installed")
            r = subprocess.run(argv, capture_output=True, text=True)
            if r.returncode:
                raise BuildError(" ".join(argv) + "\n" + r.stdout + r.stderr)
            with open(out + ".built", "w") as f:
                f.write(repr(argv))
            return out

    def is_fresh(self, out, argv, sources):
        try:
            with open(out + ".built") as f:
                if f.read() != repr(argv):
                    return False
            built = os.stat(out).st_mtime
        except OSError:
            return False
        return all(os.stat(os.path.join(self.source_dir, s)).st_mtime < built for s in [*sources, *self.shared])
