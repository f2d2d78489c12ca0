# SPDX-License-Identifier: MIT
"""glibc's own tests of malloc and of threads, from Debian's source package, each compiled against the system's library."""

import concurrent.futures
import glob
import os
import re
import subprocess

from allocators._workshop import Workshop
from suites._suite import Program, Suite, soak_alone

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-w", "-pthread", "-include", "limits.h", "-DTIMEOUTFACTOR=1", "-DTEST_NO_MALLOPT"]
LIBRARIES = ["-lrt", "-ldl", "-lm"]

# Folders and headers of its source that hide none of the system's.
SHOWN = ("support", "malloc", "nptl", "sysdeps", "posix", "test-skeleton.c", "include/array_length.h", "include/libc-diag.h",
         "include/libc-pointer-arith.h", "include/intprops.h", "sysdeps/generic/tst-stack-align.h")
STACKINFO = "#include <elf.h>\n#define _STACK_GROWS_DOWN 1\n#define DEFAULT_STACK_PERMS (PF_R | PF_W)\n"

STATIC = "a static program, which is not seen"
INSIDE = "compiles only inside glibc's build"


class Glibc:
    """Its support library, and its tests as programs, all in one folder."""

    def __init__(self, t):
        workshop = Workshop(t.context)
        self.tree = workshop.source("glibc")
        self.folder = workshop.path("suite_glibc")
        self.include, self.support = os.path.join(self.folder, "include"), os.path.join(self.folder, "libsupport.a")
        os.makedirs(self.include, exist_ok=True)
        for shown in SHOWN:
            link = os.path.join(self.include, os.path.basename(shown))
            if not os.path.lexists(link):
                os.symlink(os.path.join(self.tree, shown), link)
        for name, text in (("stackinfo.h", STACKINFO), ("config.h", "")):
            with open(os.path.join(self.include, name), "w") as f:
                f.write(text)
        self.flags = [*FLAGS, "-I" + self.include, "-I" + os.path.join(self.include, "support"),
                      "-iquote", os.path.join(self.tree, "sysdeps/pthread"), "-iquote", os.path.join(self.tree, "nptl"),
                      "-iquote", os.path.join(self.tree, "sysdeps/unix/sysv/linux"), "-I" + self.folder]
        if not os.path.exists(self.support):
            self.build_support()

    def compile(self, out, *words):
        """What it said, or None."""
        if os.path.exists(out):
            return None
        r = subprocess.run(["gcc", *self.flags, *words, "-o", out], capture_output=True, text=True)
        return r.stderr if r.returncode else None

    def build_support(self):
        objects = os.path.join(self.folder, "support_objects")
        os.makedirs(objects, exist_ok=True)
        sources = [s for s in glob.glob(os.path.join(self.tree, "support/*.c"))
                   if not re.match(r"(tst-|README|links-dso|test-run|test-driver|.*-container|support_paths\.c)", os.path.basename(s))]
        built = []
        for source in [*sources, os.path.join(HERE, "glibc_shim.c")]:
            out = os.path.join(objects, os.path.basename(source) + ".o")
            if self.compile(out, "-c", source) is None:
                built.append(out)
        assert len(built) > 150, f"{len(built)} of {len(sources)} sources of glibc's support folder were built"
        subprocess.run(["ar", "rcs", self.support, *built], check=True)

    def build(self, source, out_name=None, *link):
        name = os.path.basename(source)[:-2]
        flags = ["-fexceptions"] if re.match(r"tst-(cancel|cleanup|once)x", name) else []
        flags += ["-fno-exceptions", "-fno-asynchronous-unwind-tables"] if re.match(r"tst-oncey", name) else []
        flags += ["-fno-builtin"] if re.match(r"tst-cleanupx?2", name) else []
        flags += ["-std=" + name.rpartition("-")[2]] if name.startswith("tst-initializers1-") else []
        flags += EXTRA_LINK.get(name, [])
        extra = [os.path.join(os.path.dirname(source), e) for e in EXTRA_SOURCES.get(name, [])]
        extra += [os.path.join(self.folder, m) for m in EXTRA_MODULES.get(name, [])]
        out = os.path.join(self.folder, out_name or name)
        return out, self.compile(out, *flags, source, *extra, self.support, *link, *LIBRARIES, "-Wl,-rpath,$ORIGIN")

    def build_modules(self, sources):
        for source in sources:
            out = os.path.join(self.folder, os.path.basename(source)[:-2] + ".so")
            if not os.path.exists(out):  # one that needs glibc's inside is missed by its test, which is left out then
                self.compile(out, "-shared", "-fPIC", "-Wl,-soname," + os.path.basename(out), "-Wl,-rpath,$ORIGIN", source)

    def sources(self, *folders):
        found = [s for folder in folders for s in sorted(glob.glob(os.path.join(self.tree, folder, "tst-*.c")))]
        modules = [s for s in found if re.search(r"mod[0-9a-z]?\.c$", s)]
        return [s for s in found if s not in modules], modules


EXTRA_SOURCES = {"tst-interpose-nothread": ["tst-interpose-aux-nothread.c"], "tst-interpose-thread": ["tst-interpose-aux-thread.c"]}
EXTRA_MODULES = {"tst-fini1": ["tst-fini1mod.so"], "tst-_res1": ["tst-_res1mod1.so", "tst-_res1mod2.so"],
                 "tst-audit-threads": ["tst-audit-threads-mod2.so"], "tst-tls5": ["tst-tls5mod.so"],
                 "tst-compat-forwarder": ["tst-compat-forwarder-mod.so"]}
EXTRA_LINK = {name: ["-rdynamic"] for name in ("tst-atfork2", "tst-atfork3", "tst-atfork4", "tst-create1", "tst-tls3")}
EXTRA_LINK["tst-execstack"] = ["-Wl,-z,noexecstack"]

PARTS = r"tst-(interpose-(skeleton|aux)|cancel4-common|cancel-self-cleanup|skeleton-|cleanupx?4aux|pt-align)"


def arguments(name, program):
    """As its Makefiles have it."""
    if name in ("tst-cancel7", "tst-cancelx7"):
        return ["--command", "exec " + program]
    if name == "tst-exec4":
        return [program]
    if name == "tst-umask1":
        return ["tst-umask1.temp"]
    return []


def programs_of(glibc, suite, *folders):
    sources, modules = glibc.sources(*folders)
    glibc.build_modules(modules)
    wanted = []
    for source in sources:
        name = os.path.basename(source)[:-2]
        if re.search(PARTS, name):
            continue
        if "static" in name:
            suite.leave_out(name, STATIC)
        else:
            wanted.append((name, source))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        built = list(pool.map(lambda pair: glibc.build(pair[1]), wanted))
    for (name, source), (out, error) in zip(wanted, built):
        if error:
            suite.leave_out(name, INSIDE)
        else:
            yield name, source, out


@soak_alone
def test_nptl(t):
    glibc, suite = Glibc(t), Suite(t, "glibc's nptl")
    programs = []
    for name, _, out in programs_of(glibc, suite, "nptl", "sysdeps/pthread"):
        env = {"TIMEOUTFACTOR": "20"}
        programs.append(Program(name, [out, *arguments(name, out)], env, files=["Makefile"]))  # which some of them read
    suite.run(programs, jobs=6)  # most of them wait
    assert suite.n > 250, suite.n


def environments(name):
    """malloc's tests run in several: as they are, with its checks, and with huge pages."""
    debug = subprocess.run(["gcc", "-print-file-name=libc_malloc_debug.so.0"], capture_output=True, text=True).stdout.strip()
    check = {"MALLOC_CHECK_": "3", "LD_PRELOAD": debug}
    if name in ("tst-malloc-check", "tst-malloc-usable"):
        return {"": check}
    if name == "tst-malloc-usable-tunables":
        return {"": {"GLIBC_TUNABLES": "glibc.malloc.check=3", "LD_PRELOAD": debug}}
    if name == "tst-mxfast":
        return {"": {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}}
    if name == "tst-mtrace":
        return {"": {}, " traced": {"MALLOC_TRACE": "/dev/stdout", "LD_PRELOAD": debug}}
    found = {"": {}, " hugetlb1": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, " hugetlb2": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=2"}}
    if name != "tst-safe-linking":
        found[" checked"] = check
    return found


# What silt changes in what they print, and docs/patching.md and docs/overhead.md say.
KNOWN = {
    "tst-malloc-tcache-leak": (rb"\d+", "figures of the heap: the loader's table of a thread is 16 bytes longer"),
    "tst-malloc_info": (rb"\d+", "figures of the heap: the loader's table of a thread is 16 bytes longer"),
    "tst-mtrace traced": (rb"^@ \S+", "the caller's address: mtrace sees silt's"),
}


@soak_alone
def test_malloc(t):
    glibc, suite = Glibc(t), Suite(t, "glibc's malloc")
    programs = []
    for name, _, out in programs_of(glibc, suite, "malloc"):
        for tag, env in environments(name).items():
            known = KNOWN.get(name + tag) or KNOWN.get(name)
            programs.append(Program(name + tag, [out], {"TIMEOUTFACTOR": "20", **env}, known=known))
    suite.run(programs)
    assert suite.n > 100, suite.n
