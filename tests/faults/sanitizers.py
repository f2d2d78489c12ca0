# SPDX-License-Identifier: MIT
"""Programs built with sanitizers, some of which replace malloc and insist on being the first library: they end as they do
alone, find what they find alone, and are counted."""

import os
import re
import shutil
import subprocess
import time

from harness.cases import skip
from harness.process import run
from harness.watch import alone, same, whole

FAULTS = ["rest", "over", "late", "twice", "mixed", "stray", "leak"]

KINDS = {
    "gcc address": ["g++", "-fsanitize=address"],
    "gcc address static": ["g++", "-fsanitize=address", "-static-libasan"],
    "clang address": ["clang++", "-fsanitize=address"],
    "clang address shared": ["clang++", "-fsanitize=address", "-shared-libsan"],
    "clang address fixed": ["clang++", "-fsanitize=address", "-fno-pie", "-no-pie"],
    "gcc leak": ["g++", "-fsanitize=leak"],
    "clang leak": ["clang++", "-fsanitize=leak"],
    "gcc thread": ["g++", "-fsanitize=thread"],
    "clang thread": ["clang++", "-fsanitize=thread"],
    "clang memory": ["clang++", "-fsanitize=memory"],
    "gcc undefined": ["g++", "-fsanitize=undefined"],
    "clang undefined shared": ["clang++", "-fsanitize=undefined", "-shared-libsan"],
}


def build(t, kind, source=None):
    """The program, or None where this machine cannot build or run it."""
    if t.context.runner:
        skip("the sanitizers are those of this machine")
    compiler, *flags = KINDS[kind]
    source = source or os.path.join(os.path.dirname(os.path.abspath(__file__)), "sanitized.cc")
    out = t.path(kind.replace(" ", "_"))
    if not shutil.which(compiler):
        return None
    if "-shared-libsan" in flags:
        folder = os.path.dirname(run([compiler, "-print-file-name=libclang_rt.asan-x86_64.so"]).text.strip())
        flags = [*flags, "-Wl,-rpath," + folder]
    if run([compiler, "-w", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-builtin", *flags, source, "-o", out, "-lpthread"]).code != 0:
        return None
    return out if run([out, "rest"]).code == 7 else None


def verdicts(text):
    """What a sanitizer found, without addresses, process ids and the calls in between."""
    return re.findall(r"^(?:==\d+==ERROR: (\w+: [\w-]+)|SUMMARY: (.*?)(?: \(|$)|((?:Direct|Indirect) leak of .*) allocated)", text, re.M)


def finds_the_same(t, program, what, env=None, via=()):
    """Addresses are not named unless env asks for it: that takes clang's longer than all the rest."""
    plain = {x + "_OPTIONS": "symbolize=0" for x in ("ASAN", "LSAN", "TSAN", "MSAN")}
    env = {**os.environ, **(env or plain)}
    bare = alone([*via, program, what], env=env)
    r = t.silt.record(t.path("t.silt"), [*via, program, what], ["-f", "--wait"], env=env)
    same(bare, r.code, r.stdout, r.errors)
    assert verdicts(r.errors) == verdicts(bare.errors), (program, what, r.errors, bare.errors)
    return r, whole(t, t.path("t.silt"))


def counted(t, program):
    """The 1,000 blocks that "work" allocates, and nothing else, make the difference to "rest"."""
    totals = {}
    for what in ("rest", "work"):
        r, report = finds_the_same(t, program, what)
        totals[what] = report["totals"]
        assert totals[what]["lost_events"] == totals[what]["unknown_frees"] == 0, totals
    more = [totals["work"][x] - totals["rest"][x] for x in ("allocations", "frees", "bytes_allocated")]
    assert more == [1000, 1000, 500500], (program, more)


def every(t, kinds, faults):
    seen = 0
    for kind in kinds:
        program = build(t, kind)
        if not program:
            t.notes.append(f"{kind}: cannot be built or run here")
            continue
        seen += 1
        counted(t, program)
        for fault in faults:
            finds_the_same(t, program, fault)
    if not seen:
        skip("no such sanitizer here")


def test_address(t):
    every(t, ["gcc address", "clang address shared"], FAULTS)


def test_address_inside_the_program(t):
    every(t, ["gcc address static", "clang address", "clang address fixed"], FAULTS)


def test_leak(t):
    every(t, ["gcc leak", "clang leak"], ["leak"])


def test_thread(t):
    every(t, ["gcc thread", "clang thread"], ["race"])


def test_memory(t):
    every(t, ["clang memory"], [])


def test_undefined(t):
    every(t, ["gcc undefined", "clang undefined shared"], [])


def test_a_leak_that_is_allowed_by_name(t):
    """What is suppressed is found by the names of callers, so the sanitizer must still see them."""
    with open(t.path("allowed"), "w") as f:
        f.write("leak:leak_here\n")
    env = {"LSAN_OPTIONS": f"suppressions={t.path('allowed')}:print_suppressions=0"}
    for kind in ("gcc address", "gcc address static", "clang address"):
        program = build(t, kind)
        if program and run([program, "leak"], env={**os.environ, **env}).code == 7:
            finds_the_same(t, program, "leak", env)


def test_as_a_child(t):
    """Of a shell, by posix_spawn, by fork and exec: counted as any child is."""
    plain = t.path("plain")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sanitized.cc")
    assert run(["g++", "-w", "-fno-builtin", source, "-o", plain]).code == 0
    for kind in ("gcc address", "clang address shared", "clang address", "gcc thread"):
        program = build(t, kind)
        if not program:
            continue
        for via in (["sh", "-c", '"$@"; exit $?', "sh"], [plain, "spawn"], [plain, "fork"]):
            r, report = finds_the_same(t, program, "work", via=via)
            child = [p for p in report["processes"] if p["command"][:1] == [program]]
            assert child and child[-1]["totals"]["allocations"] > 1000, (kind, via, report["processes"])
        finds_the_same(t, program, "late", via=["sh", "-c", '"$@"; exit $?', "sh"])


def test_where_the_sanitizer_is_preloaded(t):
    """A library built with it, in a program that is not: the user preloads it."""
    program = build(t, "gcc address")
    if not program:
        skip("no AddressSanitizer here")
    plain = t.path("plain")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sanitized.cc")
    assert run(["g++", "-w", "-fno-builtin", source, "-o", plain]).code == 0
    library = run(["gcc", "-print-file-name=libasan.so"]).text.strip()
    for fault in ("work", "twice", "leak"):
        finds_the_same(t, plain, fault, via=["env", "LD_PRELOAD=" + library])


def test_another_library_is_initialised_first(t):
    """silt starts before the sanitizer does where its constructor is the first. Of two libraries that ask for that the
    loader obeys one (before glibc 2.34 libpthread asked). The options of a third are heeded."""
    program = build(t, "gcc address")
    if not program:
        skip("no AddressSanitizer here")
    with open(t.path("eager.c"), "w") as f:
        f.write('__attribute__((constructor)) static void begin(void) {}\n'
                'const char *__asan_default_options(void) { return "exitcode=31"; }\n')
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sanitized.cc")
    for more in ([], ["-D__asan_default_options=other"]):
        assert run(["gcc", "-shared", "-fPIC", "-Wl,-z,initfirst", *more, t.path("eager.c"), "-o", t.path("libeager.so")]).code == 0
        out = t.path("eager")
        assert run(["g++", "-w", "-g", "-fsanitize=address", "-fno-builtin", source, "-o", out, "-Wl,--no-as-needed",
                    t.path("libeager.so"), "-Wl,-rpath," + t.dir]).code == 0
        for fault in ("work", "late"):
            finds_the_same(t, out, fault)


def test_attach(t):
    with open(t.path("busy.c"), "w") as f:
        f.write("""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile int is_over;
static void end(int sig) { is_over = sig; }
int main(int argc, char **argv) {
        signal(SIGTERM, end);
        while (argc == 1 && !is_over) { void *volatile p = malloc(64); free(p); usleep(500); }
        return 7;
}
""")
    for kind in ("gcc address", "clang address", "clang address shared", "gcc thread", "clang memory"):
        program = build(t, kind, t.path("busy.c"))
        if not program:
            continue
        p = subprocess.Popen([program], stderr=subprocess.PIPE)
        t.running.append(p)
        time.sleep(0.3)
        r = t.silt.command("attach", str(p.pid), "-q", "-f", "-o", t.path("t.silt"), "--duration", "300ms")
        assert r.code == 0 and p.poll() is None, (kind, r.errors)
        assert whole(t, t.path("t.silt"))["totals"]["allocations"] > 10, kind
        p.terminate()
        _, err = p.communicate(timeout=300)
        assert p.returncode == 7 and not err, (kind, p.returncode, err)


def test_doctor(t):
    for kind, name in (("gcc address", "AddressSanitizer"), ("gcc address static", "AddressSanitizer"), ("clang address", "AddressSanitizer"),
                       ("clang address shared", "AddressSanitizer"), ("gcc thread", "ThreadSanitizer"),
                       ("clang thread", "ThreadSanitizer"), ("clang memory", "MemorySanitizer"), ("gcc leak", "LeakSanitizer"),
                       ("clang leak", "LeakSanitizer"), ("gcc undefined", None)):
        program = build(t, kind)
        if not program:
            continue
        r = t.silt.command("doctor", program)
        told = re.findall(r"^note  sanitizer  (\w+) has its own malloc", r.text, re.M)
        assert r.code == 0 and told == ([name] if name else []), (kind, r.code, r.text)
