# SPDX-License-Identifier: MIT
"""silt doctor on programs of every kind: which allocator is inside, what can be hooked, and what to do where it cannot."""

import os
import re
import shutil
import subprocess

from harness.cases import skip
from harness.process import run

PLAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { char *p = malloc(100); snprintf(p, 100, "%s", argv[0]); puts(p); free(p); return argc == 0; }
"""

# What Rust's jemalloc crate does: the functions have another name, and nobody else calls them.
PREFIXED = """
#include <stddef.h>
void *own_malloc(size_t);
void own_free(void *);
void *own_mallocx(size_t, int);
void own_sdallocx(void *, size_t, int);
int main(void) { void *p = own_malloc(10); own_free(p); p = own_mallocx(10, 0); own_sdallocx(p, 10, 0); return 0; }
"""


def build(t, name, source, *flags, compiler="gcc"):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run([compiler, "-O2", "-fno-builtin", path + ".c", "-o", path, *flags])
    assert r.code == 0, r.errors
    return path


def archive(name):
    found = run(["gcc", "-print-file-name=" + name]).stdout.decode().strip()
    if not os.path.isabs(found):
        skip(f"no {name}")
    return found


JEMALLOC_NEEDS = ["-lpthread", "-lm", "-ldl", "-lstdc++"]


def lines(t, code, *argv):
    """What it says, by word: {"allocator": [(verdict, text), ...]}."""
    r = t.silt.command("doctor", *argv)
    assert r.code == code, f"{r.code}: {r.text}{r.errors}"
    sentence, *rest = r.text.splitlines()
    stops = [line for line in rest if line.startswith("stop")]
    notes = [line for line in rest if line.startswith("note")]
    refused = "cannot enter" in r.text or "does not start" in r.text
    assert (" cannot " in sentence) == refused and ("would miss" in sentence) == (bool(stops) and not refused), sentence
    assert sentence.endswith(": see stop below" if stops else ": see note below" if notes else argv[-1]), sentence
    said = {}
    for line in rest:
        verdict, what, text = line.split(None, 2)
        assert verdict in ("ok", "note", "stop"), line
        said.setdefault(what, []).append((verdict, text))
    return said


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-n", path]).text).group(1)


def test_hostile_names(t):
    """Names of files do not steer the terminal."""
    path = build(t, "a\x1b[31mb", PLAIN)
    r = t.silt.command("doctor", path)
    assert r.code == 0 and r"a\x1b[31mb" in r.text.splitlines()[0] and "\x1b" not in r.text + r.errors, r.text
    trace = path + ".silt"
    assert t.silt.record(trace, [path], ["-f"]).code == 0
    r = t.silt.command("verify", trace)
    assert r.code == 0 and r"a\x1b[31mb.silt: " in r.text and "\x1b" not in r.text, r.text
    folded = path + ".folded"
    for argv in (["flame", trace, "-o", path + ".svg"], ["export", trace, "--format", "folded", "-o", folded], ["import", folded, "-o", path + ".2.silt"],
                 ["whatif", trace, "-o", path + ".whatif.svg"], ["html", trace, "-o", path + ".html"]):
        r = t.silt.command(*argv)
        if "without the page" in r.errors:
            continue
        assert r.code == 0 and r"a\x1b[31mb." in r.errors and "\x1b" not in r.errors, (argv, r.errors)


def test_jemalloc_inside(t):
    program = build(t, "je", PLAIN, archive("libjemalloc.a"), *JEMALLOC_NEEDS)
    said = lines(t, 0, program)
    (verdict, text), = said["allocator"]
    assert verdict == "ok" and re.match(r"jemalloc 5\.\d+\.\d+ is linked into the program: silt will hook its \d+ functions", text), said


def test_jemalloc_inside_a_stripped_program(t):
    """What C names is exported, since libraries call it; what is jemalloc's alone is not, and that is said."""
    program = build(t, "je", PLAIN, archive("libjemalloc.a"), *JEMALLOC_NEEDS)
    assert run(["strip", program]).code == 0
    said = lines(t, 0, program)
    (verdict, text), = said["allocator"]
    assert verdict == "note" and re.match(r"jemalloc 5\.\d+\.\d+ is linked into", text) and "without symbols" in text, said
    assert build_id(program) in said["symbols"][0][1], said


def prefixed(t):
    names = [line.split()[-1] for line in run(["nm", "-g", "--defined-only", archive("libjemalloc.a")]).text.splitlines()
             if len(line.split()) == 3]
    own = t.path("libown.a")
    with open(t.path("names"), "w") as f:
        f.writelines(f"{name} own_{name.removeprefix('je_')}\n" for name in sorted(set(names))
                     if name.removeprefix("je_") in ("malloc", "calloc", "realloc", "free", "mallocx", "rallocx", "xallocx",
                                                     "sdallocx", "dallocx", "nallocx", "sallocx", "aligned_alloc",
                                                     "posix_memalign", "memalign", "valloc", "malloc_usable_size",
                                                     "mallctl"))
    r = run(["objcopy", "--redefine-syms=" + t.path("names"), archive("libjemalloc.a"), own])
    assert r.code == 0, r.errors
    return build(t, "prefixed", PREFIXED, own, *JEMALLOC_NEEDS)


def test_prefixed_jemalloc(t):
    program = prefixed(t)
    (verdict, text), = lines(t, 0, program)["allocator"][:1]
    assert verdict == "ok" and text.startswith("jemalloc 5."), text
    named = t.path("named")
    shutil.copy(program, named)
    assert run(["strip", program]).code == 0
    said = lines(t, 1, program)
    verdict, text = said["allocator"][0]
    assert verdict == "stop" and re.match(r"jemalloc 5\.\d+\.\d+ is linked into", text) and "will not see" in text, said
    assert build_id(program) in text and "--hook" in text, said
    assert "will not see" in t.silt.command("doctor", "-q", program).text


def test_gperftools_inside(t):
    program = build(t, "tc", PLAIN, archive("libtcmalloc_minimal.a"), "-lstdc++", "-lpthread", "-lm")
    said = lines(t, 0, program)["allocator"]
    assert any(re.match(r"gperftools 2\.\d+ is linked into", text) for _, text in said), said
    assert len({text.split(" is ")[0] for _, text in said}) == len(said), said


def test_mimalloc_says_its_version(t):
    """A stand-in with its names, and the function that returns the number."""
    stand_in = """
#include <stddef.h>
static char heap[1 << 20];
static size_t top;
#define NOINLINE __attribute__((noinline))
NOINLINE void *mi_malloc(size_t n) { void *p = heap + top; top += (n + 15) & ~15ul; return p; }
NOINLINE void *mi_heap_malloc(void *h, size_t n) { (void)h; return mi_malloc(n + 1); }
NOINLINE void mi_free(void *p) { __asm__ volatile("" ::"r"(p) : "memory"); }
NOINLINE int mi_version(void) { return 217; }
int main(void) { mi_free(mi_malloc(3)); mi_free(mi_heap_malloc(0, 3)); return mi_version() != 217; }
"""
    (verdict, text), = lines(t, 0, build(t, "mi", stand_in))["allocator"]
    assert verdict == "ok" and text.startswith("mimalloc 2.1.7 is linked into the program: silt will hook its 3 functions"), text


def test_malloc_of_its_own(t):
    own = """
#include <stddef.h>
static char heap[1 << 20];
static size_t top;
__attribute__((noinline)) void *malloc(size_t n) { void *p = heap + top; top += (n + 31) & ~15ul; return p; }
static size_t n_freed; /* a lone return and nothing behind it is too short to be hooked */
__attribute__((noinline)) void free(void *p) { n_freed += p != NULL; __asm__ volatile("" ::"r"(p) : "memory"); }
int main(void) { free(malloc(10)); return n_freed != 1; }
"""
    (verdict, text), = lines(t, 0, build(t, "own", own))["allocator"]
    assert verdict == "ok" and text.startswith("malloc of its own is linked into the program: silt will hook its 2 functions"), text


def test_shared_allocator(t):
    """Linked as a library: nothing is inside."""
    said = lines(t, 0, build(t, "shared", PLAIN, "-Wl,--no-as-needed", "-ljemalloc"))
    (verdict, text), = said["allocator"]
    assert verdict == "ok" and text.startswith("libjemalloc.so"), said


def test_nothing_inside(t):
    """silt knows what allocators say, and is none."""
    stripped = t.path("silt")
    assert run(["strip", t.silt.path, "-o", stripped]).code == 0
    for program in ("/bin/ls", t.silt.path, stripped):
        said = lines(t, 0, program)
        assert said["allocator"][0][1].startswith("none is linked into") and "heap" not in said, said


def test_static_glibc(t):
    said = lines(t, 1, build(t, "static", PLAIN, "-static"))
    assert "static" in said["program"][0][1] and "glibc and its malloc are linked into" in said["library"][0][1], said


def test_static_musl(t):
    if not shutil.which("musl-gcc"):
        skip("no musl-gcc")
    program = build(t, "musl", PLAIN, "-static", compiler="musl-gcc")
    for _ in range(2):
        said = lines(t, 1, program)
        assert "static" in said["program"][0][1] and said["library"][0][1].startswith("musl and its malloc are linked into"), said
        assert run(["strip", program]).code == 0


def test_musl_with_its_loader(t):
    """A library made for glibc would keep it from starting."""
    if not shutil.which("musl-gcc"):
        skip("no musl-gcc")
    program = build(t, "musl", PLAIN, compiler="musl-gcc")
    assert "musl" in lines(t, 1, program)["program"][0][1]
    r = t.silt.record(t.path("t.silt"), [program])
    assert r.code == 125 and "musl" in r.errors and not r.stdout, r.errors


def test_go(t):
    if not shutil.which("go"):
        skip("no go")
    program = t.path("program")
    with open(program + ".go", "w") as f:
        f.write("package main\nfunc main() { println(1) }\n")
    r = run(["go", "build", "-o", program, program + ".go"],
            env={**os.environ, "GOCACHE": t.path("cache"), "GO111MODULE": "off", "CGO_ENABLED": "0"})
    assert r.code == 0, r.errors
    said = lines(t, 1, program)
    assert "static" in said["program"][0][1] and said["heap"][0][1].startswith("this is a Go program"), said


def test_go_with_c(t):
    """Dynamically linked, as cgo makes it; a stand-in that has the section."""
    section = '__attribute__((section(".go.buildinfo"), used)) static char info[16] = "x";'
    said = lines(t, 0, build(t, "cgo", section + PLAIN))
    assert said["heap"][0][0] == "note" and "silt sees the C code it calls" in said["heap"][0][1], said


def test_go_everywhere(t):
    """run, attach, leaks and holders tell what doctor tells."""
    section = '__attribute__((section(".go.buildinfo"), used)) static char info[16] = "x";'
    code = ("#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic void *kept;\n"
            "int main(int n, char **v) { (void)v; kept = malloc(100); puts(\"ready\"); fflush(stdout); if (n > 1) pause(); return !kept; }\n")
    program = build(t, "cgo_live", section + "\n" + code)
    words = "is a Go program: silt sees the C code it calls, but not Go's garbage-collected heap"
    r = t.silt.command("run", "-o", t.path("t.silt"), program)
    assert r.code == 0 and f"silt: '{program}' {words}" in r.errors, r.errors
    static = build(t, "static_go", section + "\n" + code, "-static")
    r = t.silt.record(t.path("s.silt"), [static])
    assert r.code == 125 and "statically linked Go program" in r.errors and len(r.errors.splitlines()) == 1, r.errors
    for path, can_enter in ((program, True), (static, False)):
        process = subprocess.Popen([path, "stay"], stdout=subprocess.PIPE)
        t.running.append(process)
        assert process.stdout.readline() == b"ready\n"
        for command in (("leaks",), ("holders",), ("attach", "--duration", "50ms", "-f", "-o", t.path("a.silt"))):
            r = t.silt.command(*command, str(process.pid))
            assert "Go's garbage-collected heap" in " ".join((r.text + r.errors).split()) or not can_enter, (command, r.text, r.errors)
            assert can_enter or (r.code == 2 and "is a Go program" in r.errors and len(r.errors.splitlines()) == 1), (command, r.text, r.errors)
        process.kill()
        process.wait()
        process.stdout.close()


def test_python(t):
    python = shutil.which("python3", path="/usr/bin")
    if not python:
        skip("no python3")
    said = lines(t, 0, python)
    assert "PYTHONMALLOC=malloc" in said["heap"][0][1], said
    assert not any("--hook" in text for found in said.values() for _, text in found), said


def test_rustc(t):
    r = run(["rustc", "--print", "sysroot"])
    if r.code != 0:
        skip("no rustc")
    said = lines(t, 0, r.text.strip() + "/bin/rustc")
    assert said["allocator"][0][0] == "ok", said
