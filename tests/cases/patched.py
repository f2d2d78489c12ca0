# SPDX-License-Identifier: MIT
"""Allocators linked into the program: exact counts through entry patches, and none without them."""

import os

from harness.process import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

JEMALLOC = """
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void *take(size_t n) { return malloc(n); }

int main(int argc, char **argv) {
        int n = atoi(argv[1]);
        void **blocks = calloc((size_t)n, sizeof(void *));
        void *one;
        size_t sum = 0;

        for (int i = 0; i < n; i++) blocks[i] = take(100 + (size_t)i % 50);
        for (int i = 0; i < n; i++) blocks[i] = realloc(blocks[i], 400);
        for (int i = 0; i < n; i += 2) free(blocks[i]);
        one = mallocx(5000, 0), one = rallocx(one, 9000, 0), sdallocx(one, 9000, 0);
        if (posix_memalign(&one, 64, 777)) return 1;
        dallocx(one, 0);
        one = aligned_alloc(128, 1280), sum = xallocx(one, 1300, 0, 0), free(one);
        fprintf(stderr, "%zu\\n", sum);
        return 0;
}
"""


def build(t, name, source, *flags):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run([t.context.tools.prefix + "gcc", "-O2", "-g", "-fno-builtin", path + ".c", "-o", path, *flags])
    assert r.code == 0, r.errors
    return path


def record(t, argv, *options):
    r = t.silt.record(t.path("t.silt"), argv, ["-f", *options])
    assert r.code == 0, r.errors
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    return got, r


def native(test):
    test.native_alone = "needs what is there for this machine alone"
    return test


STATIC_JEMALLOC = ["-l:libjemalloc.a", "-lpthread", "-lm", "-ldl", "-lstdc++"]


@native
def test_jemalloc_linked_in(t):
    """1 calloc, n malloc, n realloc, mallocx, rallocx, posix_memalign, aligned_alloc, and xallocx in place."""
    n = 2000
    program = build(t, "je", JEMALLOC, *STATIC_JEMALLOC)
    got, r = record(t, [program, str(n)])
    totals = got["totals"]
    in_place = int(r.errors) >= 1300
    assert totals["allocations"] == 2 * n + 5 + in_place, totals
    assert totals["reallocations"] == n + 1 + in_place, totals
    assert totals["end_live_blocks"] == n // 2 + 1 and totals["end_live_bytes"] == n // 2 * 400 + n * 8, totals
    assert totals["unknown_frees"] == 0 and totals["lost_events"] == 0, totals
    assert got["quality"]["complete_stacks_pct"] == 100, got["quality"]
    functions = {f["function"] for f in got["top"][0]["sites"][0]["stack"]}
    assert "main" in functions, functions
    got, _ = record(t, [program, str(n)], "--no-patch")
    assert got["totals"]["allocations"] == 0, got["totals"]


OWN = """
#include <stdint.h>
#include <string.h>
#include <stddef.h>
#include <unistd.h>

static char heap[16 << 20];
static size_t top;
#define NOINLINE __attribute__((noinline))

NOINLINE static void *carve(size_t n) {
        size_t *p = (size_t *)(heap + top);

        top += (n + 31) & ~(size_t)15;
        *p = n;
        return p + 2;
}
NOINLINE void *malloc(size_t n) { return carve(n); }
NOINLINE void free(void *p) { __asm__ volatile("" ::"r"(p) : "memory"); }
NOINLINE void *calloc(size_t a, size_t b) { return carve(a * b); }
NOINLINE void *realloc(void *p, size_t n) { (void)p; return carve(n); }

/* The compiler has seen malloc: what it does not touch is kept in registers over the calls. */
int main(void) {
        uint64_t a = 1, b = 2, c = 3, d = 5, e = 7;

        for (int i = 0; i < 1000; i++) {
                char *p = malloc(10);

                p[0] = (char)i;
                a += b ^ (uint64_t)p[0], b += c + a, c ^= d * b, d += e ^ c, e += a ^ d;
                free(p);
        }
        a ^= b ^ c ^ d ^ e;
        for (int i = 0; i < 16; i++) {
                char digit = "0123456789abcdef"[a >> (60 - 4 * i) & 15];

                if (write(1, &digit, 1) != 1) return 1;
        }
        return 0;
}
"""


def test_malloc_of_the_program_itself(t):
    """A malloc of one instruction in the same file as its caller: every register it leaves alone must stay."""
    program = build(t, "own", OWN)
    bare = run([*(t.context.runner or "").split(), program])
    r = t.silt.record(t.path("t.silt"), [program], ["-f"])
    assert r.code == 0 and r.stdout == bare.stdout and len(r.stdout) == 16, (r.stdout, bare.stdout)
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    totals = got["totals"]
    assert totals["allocations"] == totals["frees"] == 1000 and totals["temporary_allocations"] == 1000, totals


GUARDED = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

static char heap[16 << 20];
static size_t top;
#define GUARDED __attribute__((noinline, section(".text.guarded")))

GUARDED static void *carve(size_t n) {
        size_t *p = (size_t *)(heap + top);

        top += (n + 31) & ~(size_t)15;
        *p = n;
        __asm__ volatile("" ::: "memory");
        return p + 2;
}
/* With a frame: paciasp at the entry. */
GUARDED void *malloc(size_t n) { void *p = carve(n); __asm__ volatile("" : "+r"(p)); return p; }
GUARDED void *realloc(void *p, size_t n) { (void)p; void *q = carve(n); __asm__ volatile("" : "+r"(q)); return q; }
/* Without: bti c. */
GUARDED void *calloc(size_t a, size_t b) { return carve(a * b); }
GUARDED void free(void *p) { __asm__ volatile("" ::"r"(p) : "memory"); }
__attribute__((section(".text.guarded"), aligned(4096), used)) void behind(void) {}

int main(void) {
        void *(*volatile take)(size_t) = malloc;
        void *(*volatile clear)(size_t, size_t) = calloc;
        void (*volatile give)(void *) = free;

        /* PROT_BTI: from now on an indirect call must find a landing pad there */
        if (mprotect((void *)((uintptr_t)malloc & ~(uintptr_t)4095), 4096, PROT_READ | PROT_EXEC | 0x10)) return 1;
        for (int i = 0; i < 1000; i++) { give(take(10)); give(clear(2, 5)); give(malloc(3)); }
        return 0;
}
"""


@native
def test_signed_and_guarded_entries(t):
    """Pointer authentication and branch targets, on a processor that has both."""
    if os.uname().machine != "aarch64":
        return  # the compiler for it is only there on aarch64
    program = build(t, "guarded", GUARDED, "-mbranch-protection=standard", "-Wl,-z,max-page-size=4096")
    emulator = "qemu-aarch64 -cpu max"
    assert run([*emulator.split(), program]).code == 0
    got, _ = record(t, [program], "--launcher", emulator)
    assert got["totals"]["allocations"] == got["totals"]["frees"] == 3000, got["totals"]


WIDE = """
#include <arm_sve.h>
#include <stddef.h>
#include <unistd.h>

static char heap[1 << 20];
static size_t top;
#define NOINLINE __attribute__((noinline))
NOINLINE void *malloc(size_t n) { void *p = heap + top; top += (n + 31) & ~15ul; return p; }
NOINLINE void free(void *p) { __asm__ volatile("" ::"r"(p) : "memory"); }

/* malloc uses no vectors: the compiler keeps them where they are. */
NOINLINE static svfloat64_t work(svfloat64_t a, int n) {
        for (int i = 0; i < n; i++) {
                double *p = malloc(64);

                *p = i;
                a = svmla_x(svptrue_b64(), a, a, svdup_f64(*p));
                free(p);
        }
        return a;
}

int main(void) {
        double all[32] = {0};

        for (int i = 0; i < 32; i++) all[i] = 1.0 + i / 32.0;
        svst1(svptrue_b64(), all, work(svld1(svptrue_b64(), all), 20));
        return write(1, all, sizeof(all)) != sizeof(all);
}
"""

VECTORS = [os.path.join(ROOT, p) for p in ("tests/cases/vectors.c", "src/hook/patched_enter.S", "src/hook/patched_vectors.c")]


def test_vectors(t):
    """Calls into libc leave registers alone that are longer than those all processors have."""
    machine = t.context.tools.prefix.split("-")[0] or os.uname().machine
    flags = ["-march=armv8.2-a+sve"] if machine == "aarch64" else ["-mavx2"]
    program = t.path("vectors")
    r = run([t.context.tools.prefix + "gcc", "-O1", "-Wall", "-Wextra", "-Werror", *flags, "-I", os.path.join(ROOT, "src"), *VECTORS,
             "-o", program])
    assert r.code == 0, r.errors
    emulator, *rest = (t.context.runner or "qemu-" + machine).split()
    r = run([emulator, "-cpu", "max", *rest, program])
    assert r.code == 0, (r.code, r.errors)


@native
def test_vectors_of_the_program(t):
    if os.uname().machine != "aarch64":
        return  # SVE alone: what libc uses of AVX keeps the rest
    program, emulator = build(t, "wide", WIDE, "-march=armv8.2-a+sve"), "qemu-aarch64 -cpu max"
    bare = run([*emulator.split(), program])
    assert bare.code == 0 and len(bare.stdout) == 256, bare.errors
    r = t.silt.record(t.path("t.silt"), [program], ["-f", "--launcher", emulator])
    assert r.code == 0 and r.stdout == bare.stdout, r.errors


PLUGIN = """
#include <stddef.h>
static char heap[1 << 20];
static size_t top;
#define HIDDEN __attribute__((noinline, visibility("hidden")))
HIDDEN void *own_mallocx(size_t n, int flags) { void *p = heap + top; (void)flags, top += (n + 15) & ~15ul; return p; }
HIDDEN void *own_rallocx(void *p, size_t n, int flags) { (void)p; return own_mallocx(n, flags); }
HIDDEN void own_dallocx(void *p, int flags) { (void)flags; __asm__ volatile("" ::"r"(p) : "memory"); }
HIDDEN void own_sdallocx(void *p, size_t n, int flags) { (void)n, (void)flags; __asm__ volatile("" ::"r"(p) : "memory"); }
void *plugin_take(size_t n) { void *p = own_mallocx(n, 0); __asm__ volatile("" : "+r"(p)); return p; }
void plugin_give(void *p) { p ? own_sdallocx(p, 1, 0) : own_dallocx(own_rallocx(p, 1, 0), 0); }
"""

OPENER = """
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv) {
        for (int k = 0; k < atoi(argv[2]); k++) {
                void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *blocks[100];
                void *(*take)(size_t) = (void *(*)(size_t))dlsym(plugin, "plugin_take");
                void (*give)(void *) = (void (*)(void *))dlsym(plugin, "plugin_give");

                for (int i = 0; i < 100; i++) blocks[i] = take(1000 + (size_t)i);
                for (int i = 0; i < 100; i++) give(blocks[i]);
                dlclose(plugin);
                for (int i = 0; i < 50; i++) dlclose(dlopen(argv[3], RTLD_NOW));
        }
        return argc != 4;
}
"""


def test_an_allocator_in_a_library_opened_later(t):
    """Known by a name like jemalloc's; opened and closed, at the same address or another, and others between."""
    plugin = build(t, "plugin.so", PLUGIN, "-shared", "-fPIC")
    other = build(t, "other.so", "int other;", "-shared", "-fPIC")
    got, _ = record(t, [build(t, "opener", OPENER, "-ldl"), plugin, "5", other])
    group, why = t.silt.report(t.path("t.silt"), "--group-by", "function", "--by", "count")
    assert group, why
    taken = [g["self"]["allocations"] for g in group["groups"] if g["function"] == "plugin_take"]
    assert taken == [500], [(g["function"], g["self"]["allocations"]) for g in group["groups"]]
    assert got["totals"]["unknown_frees"] == 0, got["totals"]


NAMESPACE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
int main(int argc, char **argv) {
        void *library = argc > 2 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW) : dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
        void *(*take)(size_t) = (void *(*)(size_t))dlsym(library, "take");
        dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD); /* the loader tells of a change that is none */
        for (int i = 0; i < 1000; i++) take(10);
        return 0;
}
"""


def test_a_namespace_of_its_own_is_told(t):
    """What is opened with dlmopen has a C library of its own: not recorded, and said; what is opened otherwise is recorded."""
    library = build(t, "library.so", "#include <stdlib.h>\nvoid *take(size_t n) { return malloc(n); }\n", "-shared", "-fPIC")
    program = build(t, "namespace", NAMESPACE)
    for args, is_told in (([], False), (["apart"], True)):
        got, _ = record(t, [program, library, *args])
        told = [note for note in got["notes"] if "namespace" in note]
        assert len(told) == is_told, got["notes"]
        assert (got["totals"]["allocations"] >= 1000) == (not is_told), got["totals"]


OWN_OVER_LIBC = """
#include <dlfcn.h>
#include <stdlib.h>
void *__libc_malloc(size_t n);
void __libc_free(void *p);
static volatile int n_calls;
__attribute__((noinline)) static void *inner(size_t n) { void *p = __libc_malloc(n + 16); n_calls++; return p; }
__attribute__((noinline)) static void inner_free(void *p) { n_calls++; __libc_free(p); n_calls++; }
__attribute__((noipa)) void *malloc(size_t n) { void *p = inner(n); n_calls++; return p; }
__attribute__((noipa)) void free(void *p) { inner_free(p); n_calls++; }
int main(int argc, char **argv) {
        if (argc > 2) dlopen(argv[2], RTLD_NOW);
        for (int i = 0; i < atoi(argv[1]); i++) free(malloc(50));
        return 0;
}
"""


def test_own_malloc_over_libcs_in_a_program_that_opens_libraries(t):
    """The program's malloc calls that of libc past all hooks, by way of one more function: that is no call of its own."""
    program = build(t, "over", OWN_OVER_LIBC)
    (base, _), (got, _) = record(t, [program, "0"]), record(t, [program, "1000"])
    more = {name: got["totals"][name] - base["totals"][name] for name in ("allocations", "frees", "bytes_allocated", "unknown_frees")}
    assert more == {"allocations": 1000, "frees": 1000, "bytes_allocated": 50000, "unknown_frees": 0}, more
