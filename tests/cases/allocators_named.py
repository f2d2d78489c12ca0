# SPDX-License-Identifier: MIT
"""Which allocator made what: one inside the program beside the C library's, in the process and its children."""

import os
import re

from harness.cases import skip
from harness.process import run

# Its own allocator by jemalloc's names, and malloc through the loader.
TWO = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static char heap[64 << 20];
static size_t top;
NOINLINE static void *carve(size_t n) { void *p = heap + top; top += (n + 15) & ~15ul; return p; }
NOINLINE void *own_mallocx(size_t n, int flags) { (void)flags; return carve(n); }
NOINLINE void *own_rallocx(void *p, size_t n, int flags) { (void)p, (void)flags; return carve(n); }
NOINLINE void own_dallocx(void *p, int flags) { (void)flags; __asm__ volatile("" ::"r"(p) : "memory"); }
NOINLINE void own_sdallocx(void *p, size_t n, int flags) { (void)n, (void)flags; __asm__ volatile("" ::"r"(p) : "memory"); }

static void work(int n_own, int n_c) {
        for (int i = 0; i < n_own; i++) own_dallocx(own_rallocx(own_mallocx(100, 0), 300, 0), 0);
        for (int i = 0; i < n_c; i++) free(malloc(1000));
}

int main(int argc, char **argv) {
        work(atoi(argv[1]), atoi(argv[2]));
        if (argc > 3 && fork() == 0) {
                work(atoi(argv[3]), atoi(argv[4]));
                _exit(0);
        }
        wait(NULL);
        return 0;
}
"""


def build(t, name, source, *flags):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run(["gcc", "-O1", "-fno-builtin", path + ".c", "-o", path, *flags])
    assert r.code == 0, r.errors
    return path


def shares(t, argv, *options):
    r = t.silt.record(t.path("t.silt"), argv, ["-f", *options])
    assert r.code == 0, r.errors
    got, why = t.silt.report(t.path("t.silt"), "--process", "all")
    assert got, why
    return {a["name"]: a for a in got["allocators"]}, got


def test_shares_of_two_allocators(t):
    """Reallocations count as allocations, as in the totals."""
    program = build(t, "two", TWO)
    got, report = shares(t, [program, "300", "200"])
    assert got["jemalloc"]["allocations"] == 600 and got["jemalloc"]["bytes"] == 300 * 400, got
    assert got["jemalloc"]["module"] == os.path.realpath(program), got
    assert got["glibc"]["allocations"] == 200 and got["glibc"]["bytes"] == 200_000, got
    assert sum(a["allocations"] for a in got.values()) == report["totals"]["allocations"]
    assert sum(a["bytes"] for a in got.values()) == report["totals"]["bytes_allocated"]
    text = t.silt.command("report", t.path("t.silt")).text
    line = re.search(r"jemalloc in two: 75\.0 % of the allocations and 37\.5 % of the bytes; glibc in libc",
                     " ".join(text.split()))
    assert line, text
    r = t.silt.command("verify", t.path("t.silt"))
    assert r.code == 0, r.text


def test_children_name_them_too(t):
    got, report = shares(t, [build(t, "two", TWO), "10", "20", "30", "40"])
    assert got["jemalloc"]["allocations"] == 80 and got["glibc"]["allocations"] == 60, got
    assert sum(a["bytes"] for a in got.values()) == report["totals"]["bytes_allocated"]
    one, why = t.silt.report(t.path("t.silt"))
    assert one, why
    assert {a["name"]: a["allocations"] for a in one["allocators"]} == {"jemalloc": 20, "glibc": 20}, one["allocators"]


def test_one_allocator_needs_no_name(t):
    """Nothing is said where everything goes through the loader, or patching is off."""
    assert shares(t, [build(t, "two", TWO), "0", "20"])[0] == {}
    assert shares(t, [build(t, "two", TWO), "30", "20"], "--no-patch")[0] == {}


def test_jemalloc_has_its_version(t):
    if not os.path.isabs(run(["gcc", "-print-file-name=libjemalloc.a"]).stdout.decode().strip()):
        skip("no libjemalloc.a")
    program = build(t, "je", "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 50; i++) free(malloc(10)); }",
                    "-l:libjemalloc.a", "-lpthread", "-lm", "-ldl", "-lstdc++")
    got, report = shares(t, [program])
    assert re.fullmatch(r"5\.\d+\.\d+", got["jemalloc"]["version"]), got
    assert got["jemalloc"]["allocations"] == report["totals"]["allocations"] and len(got) == 1, got


# All that a library must have to take malloc over, from memory of its own.
OWN = """
#include <stddef.h>
#include <string.h>
static char heap[64 << 20];
static size_t top;
void *malloc(size_t n) {
        size_t at = __atomic_fetch_add(&top, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED) + 16;
        if (at + n > sizeof(heap)) return NULL;
        *(size_t *)(heap + at - 8) = n;
        return heap + at;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t each) { return malloc(n * each); }
void *realloc(void *p, size_t n) {
        size_t was = p ? ((size_t *)p)[-1] : 0;
        char *to = malloc(n);
        if (to && p) memcpy(to, p, was < n ? was : n);
        return to;
}
"""


def test_a_preloaded_one_is_named(t):
    """Who has malloc is what the runtime found, not whose file is mapped."""
    library = build(t, "libown.so", OWN, "-shared", "-fPIC")
    program = build(t, "plain", "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 50; i++) free(malloc(10)); }")
    for options in ((), ("--no-patch",)):
        r = t.silt.record(t.path("t.silt"), [program], ["-f", *options], env={**os.environ, "LD_PRELOAD": library})
        assert r.code == 0, r.errors
        report, why = t.silt.report(t.path("t.silt"))
        assert report, why
        [one] = report["allocators"]
        assert (one["name"], os.path.basename(one["module"]), one["allocations"]) == ("malloc", "libown.so", 50), one
        r = t.silt.command("verify", t.path("t.silt"))
        assert r.code == 0, r.text
