# SPDX-License-Identifier: MIT
"""Builds what the tests of allocators run: drills with allocators linked in, the allocators themselves where Debian has no
archive of them, and redis with the jemalloc it brings along. Everything once, in BUILD/tests/allocators."""

import glob
import os
import shutil
import subprocess

from harness.locks import Lock

HERE = os.path.dirname(os.path.abspath(__file__))
C_FLAGS = ["-std=gnu17", "-O2", "-g", "-fno-builtin", "-pthread", "-Wall", "-Wextra", "-Werror"]
CXX_FLAGS = ["-std=c++17", "-O2", "-g", "-fno-builtin", "-fno-allocation-dce", "-pthread", "-Wall", "-Wextra", "-Werror"]
LIBRARIES = ["-lpthread", "-lm", "-ldl"]
LOCK = Lock(HERE)


class Workshop:
    def __init__(self, context):
        self.prefix = context.tools.prefix  # of the compilers
        self.folder = os.path.join(context.work_dir, "allocators" + ("." + self.prefix.split("-")[0] if self.prefix else ""))
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *argv, cwd=None, timeout=900):
        r = subprocess.run(argv, capture_output=True, text=True, cwd=cwd or self.folder, timeout=timeout)
        assert r.returncode == 0, f"{' '.join(argv)}: {(r.stdout + r.stderr)[-2000:]}"
        return r.stdout

    def make(self, name, commands, inputs):
        """Runs `commands` unless their product is newer than what it is made of, and made the same way."""
        out = self.path(name)
        recipe = repr(commands)
        with LOCK:
            try:
                with open(out + ".made") as f:
                    if f.read() == recipe and all(os.stat(i).st_mtime < os.stat(out).st_mtime for i in inputs):
                        return out
            except OSError:
                pass
            for command in commands:
                self.run(*command)
            with open(out + ".made", "w") as f:
                f.write(recipe)
        return out

    def object(self, source, *flags, name=None):
        path = os.path.join(HERE, source)
        compiler, base = ("g++", CXX_FLAGS) if source.endswith(".cc") else ("gcc", C_FLAGS)
        out = self.path((name or source) + ".o")
        return self.make(os.path.basename(out), [[self.prefix + compiler, *base, *flags, "-c", path, "-o", out]],
                         [path, os.path.join(HERE, "drill.h")])

    def drill(self, name, objects, *link, compiler="g++"):
        objects = [self.object("drill.c"), *objects]
        return self.make(name, [[self.prefix + compiler, *objects, *link, *LIBRARIES, "-o", self.path(name)]],
                         [*objects, *(x for x in link if x.startswith("/"))])

    # ---- allocators ------------------------------------------------------------------------------------------------

    def jemalloc(self):
        """Debian's archive; for the other machine from its source."""
        if self.prefix:
            return self.jemalloc_from_source("jemalloc_plain", "")
        return self.run("gcc", "-print-file-name=libjemalloc.a").strip()

    def gperftools(self):
        """The same, of the smallest of its libraries."""
        if not self.prefix:
            return self.run("gcc", "-print-file-name=libtcmalloc_minimal.a").strip()
        tree, folder = self.source("google-perftools"), self.path("built_gperftools")
        out = os.path.join(folder, "libtcmalloc_minimal.a")
        with LOCK:
            if not os.path.exists(out):
                shutil.rmtree(folder, ignore_errors=True)
                self.run("cmake", "-S", tree, "-B", folder, "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                         "-DCMAKE_SYSTEM_PROCESSOR=" + self.prefix.split("-")[0], f"-DCMAKE_C_COMPILER={self.prefix}gcc",
                         f"-DCMAKE_CXX_COMPILER={self.prefix}g++", "-Dgperftools_build_minimal=ON", "-DBUILD_TESTING=OFF")
                # its description of the static library leaves the malloc out
                names = ("central_freelist common internal_logging malloc_extension malloc_hook maybe_threads memfs_malloc page_heap sampler "
                         "span stack_trace_table static_vars symbolize system-alloc tcmalloc thread_cache base/spinlock "
                         "base/spinlock_internal base/sysinfo base/logging base/atomicops-internals-x86")
                parts = [os.path.join(tree, "src", name + ".cc") for name in names.split()]
                flags = ["-O2", "-g", "-fno-builtin", "-DNO_TCMALLOC_SAMPLES", "-DNO_HEAP_CHECK", "-DENABLE_ALIGNED_NEW_DELETE",
                         "-DENABLE_SIZED_DELETE", "-I.", "-I" + os.path.join(tree, "src"), "-c"]
                self.run(self.prefix + "g++", "-std=c++17", *flags, *parts, cwd=folder)
                parts.append(os.path.join(tree, "src/base/dynamic_annotations.c"))
                self.run(self.prefix + "gcc", *flags, parts[-1], cwd=folder)
                objects = [os.path.splitext(os.path.basename(part))[0] + ".o" for part in parts]
                self.run(self.prefix + "ar", "r", out, *objects, cwd=folder)
        return out

    def jemalloc_from_source(self, name="jemalloc_rjem_", prefix="_rjem_", *options):
        """For either machine, its names prefixed by its own configuration as Rust's crate does it."""
        tree, folder = self.source("jemalloc"), self.path("built_" + name)
        out = os.path.join(folder, "lib", "libjemalloc.a")
        with LOCK:
            if not os.path.exists(out):
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(folder)
                host = self.prefix.rstrip("-")
                # 57: qemu gives programs addresses that no x86_64 with 48 bits has
                machine = [f"--host={host}", f"CC={self.prefix}gcc", f"CXX={self.prefix}g++", "--with-lg-page=12", "--with-lg-vaddr=57"] if host else []
                names = [f"--with-jemalloc-prefix={prefix}"]
                names += [f"--with-private-namespace={prefix}", "--disable-cxx"] if prefix else []
                self.run(os.path.join(tree, "configure"), *machine, *names, *options, cwd=folder)
                self.run("make", "-j2", "lib/libjemalloc.a", cwd=folder)
        return out

    def jemalloc_with_profiler(self, prefix):
        return self.jemalloc_from_source("jemalloc_prof" + prefix, prefix, "--enable-prof")

    def prefixed_jemalloc(self, prefix):
        """All public names begin with `prefix`, as Rust's crate has it done by jemalloc's own configuration."""
        archive, name = self.jemalloc(), f"libjemalloc{prefix}.a"
        with LOCK:
            listing = subprocess.run([self.prefix + "nm", "-g", "--defined-only", archive], capture_output=True, text=True).stdout
            names = sorted({line.split()[2] for line in listing.splitlines() if len(line.split()) == 3})
            with open(self.path(name + ".names"), "w") as f:
                f.writelines(f"{n} {prefix}{n}\n" for n in names if not n.startswith(("je_", "_Z")))
        return self.make(name, [[self.prefix + "objcopy", f"--redefine-syms={self.path(name + '.names')}", archive, self.path(name)],
                                ["sh", "-c", f"{self.prefix}ar d {self.path(name)} jemalloc_cpp.o 2>/dev/null || true"]], [archive])

    def mimalloc(self):
        """From Debian's source: it has a shared library alone."""
        tree = self.source("mimalloc")
        return self.make("mimalloc.o", [[self.prefix + "gcc", "-O2", "-g", "-DNDEBUG", "-I" + os.path.join(tree, "include"), "-c",
                                         os.path.join(tree, "src/static.c"), "-o", self.path("mimalloc.o")]], [])

    def redis(self):
        """redis-server with the jemalloc in its own source."""
        tree = self.source("redis")
        out = os.path.join(tree, "src/redis-server")
        with LOCK:
            if not os.path.exists(out):
                self.run("make", "-j2", "MALLOC=jemalloc", "BUILD_TLS=no", "USE_SYSTEMD=no", "OPTIMIZATION=-O2", "redis-server",
                         cwd=tree, timeout=3000)
        return out

    def source(self, package):
        """The source of one of Debian's packages, patches apart. Needs the network, and no root."""
        folder = self.path("source_" + package)
        with LOCK:
            if not os.path.exists(os.path.join(folder, "tree")):
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(os.path.join(folder, "lists/partial"))
                os.makedirs(os.path.join(folder, "unpacked"))
                places = self.run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)",
                                  "Created-By: Packages")
                with open(os.path.join(folder, "sources.list"), "w") as f:
                    # the release itself: mirrors of its updates may lack sources
                    f.writelines(f"deb-src {p}\n" for p in sorted(set(places.splitlines())) if "-" not in p.split()[1])
                apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={folder}/sources.list", "-o",
                       "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={folder}/lists"]
                self.run(*apt, "update", cwd=folder)
                self.run(*apt, "source", "--download-only", package, cwd=folder)
                archive, = (f for f in glob.glob(os.path.join(folder, "*.orig.tar.*")) if not f.endswith(".asc"))
                self.run("tar", "-xf", archive, "-C", "unpacked", "--strip-components=1", cwd=folder)
                os.rename(os.path.join(folder, "unpacked"), os.path.join(folder, "tree"))
        return os.path.join(folder, "tree")

    # ---- programs --------------------------------------------------------------------------------------------------

    def words(self):
        """Has the C++ library in it. Few optimisations: what is looked at was compiled long ago."""
        source, out = os.path.join(HERE, "words.cc"), self.path("words")
        flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-static-libstdc++", "-static-libgcc"]
        return self.make("words", [[self.prefix + "g++", *flags, source, "-o", out]], [source])

    def zstd(self):
        """From Debian's source, its assembly too."""
        tree, out = self.source("libzstd"), self.path("zstd")
        parts = [f for folder in ("lib/common", "lib/compress", "lib/decompress", "lib/dictBuilder", "programs")
                 for f in sorted(glob.glob(os.path.join(tree, folder, "*.[cS]")))]
        flags = ["-O2", "-pthread", "-DZSTD_MULTITHREAD", "-DBACKTRACE_ENABLE=0", "-I" + os.path.join(tree, "lib"),
                 "-I" + os.path.join(tree, "lib/common")]
        return self.make("zstd", [[self.prefix + "gcc", *flags, *parts, "-o", out]], [])

    def service(self, kind):
        """The Rust program; kind: jemalloc, system or mimalloc."""
        source, name = os.path.join(HERE, "service.rs"), "service_" + kind
        argv = ["rustc", "--edition", "2021", "-O", "-g", source, "-o", self.path(name)]
        if kind == "jemalloc":
            archive = self.prefixed_jemalloc("_rjem_")
            return self.make(name, [[*argv, "-L", "native=" + self.folder, "-l", "static=jemalloc_rjem_"]], [source, archive])
        parts = [self.mimalloc(), "-lgcc", "-lc"] if kind == "mimalloc" else []
        link = [x for part in parts for x in ("-C", "link-arg=" + part)]
        return self.make(name, [[*argv, "--cfg", kind, *link]], [source])
