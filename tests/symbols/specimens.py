# SPDX-License-Identifier: MIT
"""Programs built in the many ways debug information comes in: compilers, versions of DWARF, split, packed, shared between
files, linked away, or absent. Each is made once."""

import glob
import json
import os
import shutil
import subprocess

from harness.locks import Lock
from symbols.elf import Elf

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "specimens")


class Specimen:
    """`path` is what silt reads. The other tools read `llvm` and `gnu`: the same file, or a twin with the same code whose
    debug information they understand. `tables` are the files with its symbols."""

    def __init__(self, name, path, llvm=None, gnu=None, tables=None):
        self.name, self.path = name, path
        self.llvm, self.gnu = llvm or path, gnu or path
        self.tables = tables or [path]

    def check_twins(self):
        mine = code_of(self.path)
        for twin in {self.llvm, self.gnu} - {self.path}:
            assert code_of(twin) == mine, f"{self.name}: {twin} has other code"


def code_of(path):
    e = Elf(path)
    return [(s.name, s.address, e.bytes_of(s)) for s in e.code()]


LOCK = Lock(SOURCES)  # two tests may want the same at once


class Workshop:
    """Makes specimens, each in a folder of its own under `folder`, again only when how it is made has changed."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, *argv, cwd=None):
        r = subprocess.run(argv, capture_output=True, text=True, cwd=cwd, timeout=500)
        assert r.returncode == 0, f"{' '.join(argv)}: {r.stderr[-2000:]}"
        return r.stdout

    def build(self, name, argv, sources, after=()):
        """Compiles `sources` to `name` and runs the commands `after` in its folder; returns the folder."""
        folder = os.path.join(self.folder, name)
        paths = [os.path.join(SOURCES, s) for s in sources]
        out = os.path.join(folder, name)
        commands = [[*argv, *paths, "-o", out], *after]
        recipe = json.dumps([commands, [os.stat(p).st_mtime for p in paths]])
        stamp = os.path.join(folder, "made")
        if os.path.exists(stamp) and open(stamp).read() == recipe:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for command in commands:
            self.run(*command, cwd=folder)
        with open(stamp, "w") as f:
            f.write(recipe)
        return folder

    def plain(self, name, argv, sources):
        return Specimen(name, os.path.join(self.build(name, argv, sources), name))

    def changed(self, name, argv, sources, after, **how):
        """Built, and changed by commands afterwards; `twin` is a copy made before."""
        after = [["cp", name, "twin"], *after]
        folder = self.build(name, argv, sources, after)
        twin = os.path.join(folder, "twin")
        files = {key: twin if value == "twin" else os.path.join(folder, value) for key, value in how.items()}
        tables = [os.path.join(folder, name), twin]
        return Specimen(name, os.path.join(folder, name), files.get("llvm"), files.get("gnu"), tables)


C, HEAVY, CRATE = ["parts.c"], ["heavy.cc"], ["crate.rs"]
OLD_RUSTC = "/usr/bin/rustc"  # Debian's, beside a newer one first in PATH

# Where one command is all: name, command, sources.
PLAIN = [
    ("gcc_dwarf5", ["gcc", "-O2", "-gdwarf-5"], C),
    ("gcc_dwarf4", ["gcc", "-O2", "-gdwarf-4"], C),
    ("gcc_o0", ["gcc", "-O0", "-g"], C),
    ("gcc_lines_only", ["gcc", "-O2", "-g1"], C),
    ("gcc_no_plt", ["gcc", "-O2", "-g", "-fno-plt", "-Wl,-z,now"], C),
    ("gcc_gc_sections", ["gcc", "-O2", "-g", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"], C),
    ("gcc_no_pie", ["gcc", "-O2", "-g", "-no-pie", "-fno-pie"], C),
    ("gcc_compressed", ["gcc", "-O2", "-g", "-gz=zlib"], C),
    ("gcc_types", ["g++", "-O2", "-g", "-fdebug-types-section"], HEAVY),
    ("gcc_lto", ["gcc", "-O2", "-g", "-flto", "-DWITH_MORE"], ["parts.c", "more.c"]),
    ("clang_dwarf5", ["clang", "-O2", "-gdwarf-5"], C),
    ("clang_dwarf4", ["clang", "-O2", "-gdwarf-4"], C),
    ("clang_lines_only", ["clang", "-O2", "-gline-tables-only"], C),
    ("clang_gc_sections", ["clang", "-O2", "-g", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--gc-sections"], C),
    ("clang_folded", ["clang", "-O2", "-g", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all"], C),
    ("clang_lto", ["clang", "-O2", "-g", "-flto", "-fuse-ld=lld", "-DWITH_MORE"], ["parts.c", "more.c"]),
    ("gcc_heavy_o3", ["g++", "-O3", "-gdwarf-5"], HEAVY),
    ("gcc_heavy_dwarf4", ["g++", "-O3", "-gdwarf-4"], HEAVY),
    ("gcc_heavy_lto", ["g++", "-O3", "-g", "-flto"], HEAVY),
    ("gcc_heavy_gc", ["g++", "-O3", "-g", "-ffunction-sections", "-Wl,--gc-sections"], HEAVY),
    ("clang_heavy_o3", ["clang++", "-std=c++17", "-O3", "-gdwarf-5"], HEAVY),
    ("clang_heavy_dwarf4", ["clang++", "-std=c++17", "-O3", "-gdwarf-4"], HEAVY),
    ("clang_heavy_folded", ["clang++", "-std=c++17", "-O3", "-g", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all"], HEAVY),
    ("clang_heavy_lto", ["clang++", "-std=c++17", "-O3", "-g", "-flto", "-fuse-ld=lld"], HEAVY),
    ("rust_debug1", ["rustc", "--edition", "2021", "-O", "-C", "debuginfo=1"], CRATE),
    ("rust_debug0", ["rustc", "--edition", "2021", "-O", "-C", "debuginfo=0"], CRATE),
    ("rust_debug2", ["rustc", "--edition", "2021", "-O", "-C", "debuginfo=2"], CRATE),
    ("rust_v0", ["rustc", "--edition", "2021", "-O", "-C", "debuginfo=2", "-C", "symbol-mangling-version=v0"], CRATE),
    ("rust_lto", ["rustc", "--edition", "2021", "-O", "-C", "debuginfo=1", "-C", "lto=fat", "-C", "codegen-units=1"], CRATE),
    ("rust_unoptimised", ["rustc", "--edition", "2021", "-g"], CRATE),
    ("rust_debian", [OLD_RUSTC, "--edition", "2021", "-O", "-C", "debuginfo=1"], CRATE),
    ("x86_64_gcc", ["x86_64-linux-gnu-gcc", "-O2", "-g"], C),
    ("x86_64_heavy", ["x86_64-linux-gnu-g++", "-O3", "-g"], HEAVY),
]

SPLIT_DEBUG = [["objcopy", "--only-keep-debug", "{0}", "{0}.debug"], ["strip", "-s", "{0}"],
               ["objcopy", "--add-gnu-debuglink={0}.debug", "{0}"]]


def of(name, commands):
    return [[word.format(name) for word in command] for command in commands]


def changed_specimens(w):
    """Those that need more than a compiler."""
    def add(name, argv, sources, after, **how):
        specimens[name] = lambda: w.changed(name, argv, sources, of(name, after), **how)

    specimens = {}
    gcc, heavy = ["gcc", "-O2", "-g"], ["g++", "-O3", "-g"]
    add("debuglink", gcc, C, SPLIT_DEBUG)
    add("debuglink_heavy", heavy, HEAVY, SPLIT_DEBUG)
    add("dwz", heavy, HEAVY, [["dwz", "{0}"]], llvm="twin")
    add("dwz_dwarf4", [*heavy, "-gdwarf-4"], HEAVY, [["dwz", "{0}"]], llvm="twin")
    add("dwz_shared", heavy, HEAVY, [["cp", "{0}", "second"], ["dwz", "-m", "shared.debug", "{0}", "second"]],
        llvm="twin", gnu="twin")
    add("dwz_split", heavy, HEAVY, [*SPLIT_DEBUG, ["cp", "{0}.debug", "second"],
                                    ["dwz", "-m", "shared.debug", "{0}.debug", "second"]], llvm="twin", gnu="twin")
    # Symbols gone, DWARF there: the functions are named by it alone.
    add("no_symbols", gcc, C, [["objcopy", "-w", "-N", "*", "{0}"]])
    add("no_symbols_heavy", heavy, HEAVY, [["objcopy", "-w", "-N", "*", "{0}"]])
    add("stripped", ["gcc", "-O2", "-shared", "-fPIC"], C, [["strip", "-s", "{0}"]])
    for compiler, cxx in (("gcc", "g++"), ("clang", "clang++")):
        for version in "4", "5":
            flags = ["-O2", f"-gdwarf-{version}", "-gsplit-dwarf"]
            # The object files' debug information stays where the compiler put it: beside the program, or packed.
            name = f"{compiler}_dwo{version}"
            specimens[name] = lambda name=name, argv=[compiler, *flags]: split(w, name, argv, C, False)
            name = f"{compiler}_dwp{version}"
            specimens[name] = lambda name=name, argv=[compiler, *flags]: split(w, name, argv, C, True)
            if name == "gcc_dwp5":
                continue  # llvm-dwp 14 does not come to an end with a large one
            name = f"{compiler}_dwp_heavy{version}"
            specimens[name] = lambda name=name, argv=[cxx, "-std=c++17", *flags]: split(w, name, argv, HEAVY, True)
    return specimens


def split(w, name, argv, sources, packed):
    """Split DWARF. The twin is built with everything in one file."""
    source = os.path.join(SOURCES, sources[0])
    plain = [x for x in argv if x != "-gsplit-dwarf"]
    after = [[*plain, source, "-o", "twin"]]
    if packed:
        after += [["llvm-dwp", "-e", name, "-o", name + ".dwp"], ["sh", "-c", "rm -f *.dwo"]]
    folder = w.build(name, argv, sources, after)
    twin = os.path.join(folder, "twin")
    return Specimen(name, os.path.join(folder, name), twin, twin)


def installed(build_dir):
    """Files of the system, and silt itself."""
    return {
        "libc": lambda: system_library("libc", "libc.so.6"),
        "loader": lambda: system_library("loader", "ld-linux-*.so.*"),
        "libm": lambda: system_library("libm", "libm.so.6"),
        "libstdcxx": lambda: system_library("libstdcxx", "libstdc++.so.6"),
        "silt": lambda: Specimen("silt", os.path.join(build_dir, "silt")),
        "runtime": lambda: Specimen("runtime", os.path.join(build_dir, "libsilt.so")),
    }


def system_library(name, pattern):
    machine = os.uname().machine
    path = os.path.realpath([*glob.glob(f"/lib/{machine}-linux-gnu/{pattern}"),
                             *glob.glob(f"/usr/lib/{machine}-linux-gnu/{pattern}")][0])
    debug = debug_file(path)
    return Specimen(name, path, tables=[path, debug] if os.path.exists(debug) else [path])


def debug_file(path):
    """Where Debian puts the debug information of a file."""
    e = Elf(path)
    build_id = e.bytes_of(e.by_name[".note.gnu.build-id"])[16:].hex()
    return f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


# ---- Debian's source packages ------------------------------------------------------------------------------------------

PACKAGES = {"zlib": ("gcc", "*.c", []), "re2": ("g++", "re2/*.cc util/[rs]*.cc", ["-I.", "-pthread"])}


def fetch_source(w, package):
    """The source of a package, patches apart, from where this machine has its packages. Needs the network, and no root."""
    folder = os.path.join(w.folder, "source_" + package)
    if not os.path.exists(os.path.join(folder, "tree")):
        os.makedirs(os.path.join(folder, "lists/partial"), exist_ok=True)
        places = w.run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages")
        with open(os.path.join(folder, "sources.list"), "w") as f:
            # the release itself: mirrors of its updates may lack sources
            f.writelines(f"deb-src {place}\n" for place in sorted(set(places.splitlines())) if "-" not in place.split()[1])
        apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={folder}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
               "-o", f"Dir::State::Lists={folder}/lists"]
        w.run(*apt, "update", cwd=folder)
        w.run(*apt, "source", "--download-only", package, cwd=folder)
        archive, = glob.glob(os.path.join(folder, "*.orig.tar.*"))
        os.makedirs(os.path.join(folder, "unpacked"), exist_ok=True)
        w.run("tar", "-xf", archive, "-C", "unpacked", "--strip-components=1", cwd=folder)
        os.rename(os.path.join(folder, "unpacked"), os.path.join(folder, "tree"))
    return os.path.join(folder, "tree")


def debian_packages(w):
    """Built with Debian's flags as libraries, the debug information moved to files of its own, what these have in common to
    a third: as Debian does it."""
    folder = os.path.join(w.folder, "packages")
    made = {name: os.path.join(folder, f"lib{name}.so") for name in PACKAGES}
    if not os.path.exists(os.path.join(folder, "made")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name, (compiler, pattern, flags) in PACKAGES.items():
            tree = fetch_source(w, name)
            variable = "CFLAGS" if compiler == "gcc" else "CXXFLAGS"
            sources = [os.path.relpath(s, tree) for p in pattern.split() for s in sorted(glob.glob(os.path.join(tree, p)))]
            usual = w.run("dpkg-buildflags", "--get", variable, cwd=tree).split()
            w.run(compiler, *usual, *flags, "-fPIC", "-shared", "-Wl,--build-id", *sources, "-o", made[name], cwd=tree)
            shutil.copy(made[name], made[name] + ".twin")
            for command in SPLIT_DEBUG:
                w.run(*[word.format(os.path.basename(made[name])) for word in command], cwd=folder)
        w.run("dwz", "-m", "shared.debug", *[os.path.basename(m) + ".debug" for m in made.values()], cwd=folder)
        with open(os.path.join(folder, "made"), "w"):
            pass
    return [Specimen("debian_" + name, path, path + ".twin", path + ".twin", [path, path + ".twin"])
            for name, path in made.items()]


def once_at_a_time(make):
    def locked():
        with LOCK:
            return make()
    return locked


def all_specimens(folder, build_dir):
    """Name → function that makes it."""
    w = Workshop(folder)
    specimens = {name: lambda n=name, a=argv, s=sources: w.plain(n, a, s) for name, argv, sources in PLAIN}
    specimens.update(changed_specimens(w))
    specimens.update(installed(build_dir))
    for i, name in enumerate(PACKAGES):
        specimens["debian_" + name] = lambda i=i: debian_packages(w)[i]
    return {name: once_at_a_time(make) for name, make in specimens.items()}
