# SPDX-License-Identifier: MIT
"""What kept a recording from seeing all opens the report, is in its JSON and in run's last words, and nobody is told not to worry."""

import os
import subprocess
import time

from harness.cases import skip
from harness.process import give_up, run

FILL = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *ALLOCATE(size_t);
int main(void) {
        usleep(50000);
        for (int i = 0; i < 1000; i++) memset(ALLOCATE(50000), 1, 50000);
        usleep(1500000); /* for the last look of a recorder that has to share the machine */
        return 0;
}
"""

# An allocator that nobody can know: memory from the kernel, without libc.
RAW = """
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static char *at, *end;
static void *take(size_t n) {
        if (at + n > end) {
                at = (char *)syscall(SYS_mmap, 0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                end = at + (4 << 20);
        }
        at += n;
        return at - n;
}
int main(void) {
        free(malloc(10));
        usleep(50000);
        for (int i = 0; i < 1000; i++) memset(take(50000), 1, 50000);
        for (int i = 0; i < 30; i++) { void *volatile p = malloc(100); free(p); usleep(10000); }
        return 0;
}
"""

PLUGIN = """
#include <stdlib.h>
#include <string.h>
void grow(void) { for (int i = 0; i < 1000; i++) memset(malloc(50000), 1, 50000); }
"""

OPENER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv) {
        void *h = dlmopen(LM_ID_NEWLM, argv[argc - 1], RTLD_NOW);
        if (!h) return 1;
        usleep(50000);
        ((void (*)(void))dlsym(h, "grow"))();
        usleep(300000);
        return 0;
}
"""

# The same bytes where they are seen: zeroed data of the program, stacks, mappings, the break.
SEEN = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char zeroed[60 << 20];
static void deep(int n) { volatile char stack[100000]; memset((char *)stack, 1, sizeof(stack)); if (n) deep(n - 1); }
static void *thread(void *p) { deep(70); usleep(300000); return p; }
int main(void) {
        pthread_t threads[8];
        usleep(50000);
        memset(zeroed, 1, sizeof(zeroed));
        memset(mmap(NULL, 60 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 60 << 20);
        for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, thread, NULL);
        for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
        char *p = malloc(100000);
        for (int i = 0; i < 40000; i++) { p = malloc(3000); memset(p, 1, 3000); if (i % 2) free(p); }
        if (!fork()) { usleep(200000); _exit(0); }
        usleep(300000);
        return 0;
}
"""

# A function of the program's own allocator that has no name: what it moves comes from nowhere.
HIDDEN = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
static char pool[1 << 22], *at = pool;
static struct free { struct free *next; } *unused[32];
static unsigned order(size_t n) { unsigned k = 5; while ((1ul << k) < n + 16) k++; return k; }
static void *get(size_t n) {
        unsigned k = order(n);
        char *p = (char *)unused[k];
        if (p) unused[k] = unused[k]->next; else { p = at; at += 1ul << k; }
        *(size_t *)p = k;
        return p + 16;
}
static void put(void *p) {
        struct free *f = (struct free *)((char *)p - 16);
        unsigned k = (unsigned)*(size_t *)f;
        f->next = unused[k]; unused[k] = f;
}
__attribute__((noinline)) void *malloc(size_t n) { return get(n); }
__attribute__((noinline)) void free(void *p) { if (p) put(p); }
__attribute__((noinline)) void *calloc(size_t a, size_t b) { return memset(get(a * b), 0, a * b); }
__attribute__((noinline)) void *realloc(void *p, size_t n) {
        void *q = get(n);
        if (p) { memcpy(q, p, n < 16 ? n : 16); put(p); }
        return q;
}
__attribute__((noinline)) void *regrow(void *p, size_t n) { void *q = get(n); memcpy(q, p, 16); put(p); __asm__ volatile("nop; nop; nop; nop"); return q; }
int main(void) {
        for (int i = 0; i < 50; i++) {
                char *p = malloc(20);
                p = regrow(p, 200);
                free(p);
                p = malloc(20);
                free(p);
        }
        return 0;
}
"""


def build(t, name, source, *flags, strip=True):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run(["gcc", "-O1", "-fno-builtin", path + ".c", "-o", path, *flags, "-lpthread"])
    assert r.code == 0, r.errors
    if strip:
        assert run(["strip", path]).code == 0
    return path


def archive(t, name, renamed):
    """Debian's static archive, its C functions under names of their own as programs carry them."""
    found = run(["gcc", f"-print-file-name=lib{name}.a"]).stdout.decode().strip()
    if not os.path.isabs(found):
        skip(f"no lib{name}.a")
    names = ("malloc", "free", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "valloc", "malloc_usable_size")
    path = t.path(f"lib{name}_own.a")
    r = run(["objcopy", *(f"--redefine-sym={n}=own_{n}" for n in names if renamed), found, path])
    assert r.code == 0, r.errors
    return path


def look(t, argv, *options):
    """What run says at its end, the report, its JSON."""
    r = run([t.silt.path, "run", "-f", "-o", t.path("t.silt"), *options, "--", *argv])
    assert r.code == 0, r.errors
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    text = t.silt.command("report", t.path("t.silt")).text
    return r.errors, " ".join(text.split()), got


def told(t, argv, kind, words, *options):
    errors, text, got = look(t, argv, *options)
    said = [x for x in got["limits"] if x["kind"] == kind]
    assert said and words in said[0]["text"], got["limits"]
    assert text.startswith("! Incomplete: ") and words in text, text[:600]
    assert "incomplete: " in errors and words in errors, errors
    assert "othing to worry about" not in text, text
    return said[0]


def test_allocators_without_names(t):
    for name, what in (("jemalloc", "jemalloc"), ("tcmalloc_minimal", "gperftools")):
        program = build(t, name, FILL, "-DALLOCATE=own_malloc", archive(t, name, True), "-lm", "-ldl", "-lstdc++")
        one = told(t, [program], "unhooked", what)
        assert 45e6 < one["bytes"] < 80e6, one
        assert "its functions have no symbols" in one["text"], one


def test_exported_functions_are_not_all(t):
    program = build(t, "mallocx", FILL.replace("ALLOCATE(size_t)", "mallocx(size_t, int)").replace("ALLOCATE(50000)", "mallocx(50000, 0)"),
                    archive(t, "jemalloc", False), "-lm", "-ldl", "-lstdc++")
    told(t, [program], "unhooked", "only its exported functions have symbols")


def test_no_patch(t):
    program = build(t, "own", FILL, "-DALLOCATE=malloc", archive(t, "jemalloc", False), "-lm", "-ldl", "-lstdc++", strip=False)
    told(t, [program], "unhooked", "--no-patch was given", "--no-patch")
    errors, text, got = look(t, [program])
    assert got["limits"] == [] and "incomplete" not in errors.lower() + text.lower(), (errors, got["limits"])


def test_memory_that_nothing_explains(t):
    one = told(t, [build(t, "raw", RAW)], "unseen", "silt did not see who allocated")
    assert 40e6 < one["bytes"] < 60e6, one


def while_it_runs(t, argv, is_told):
    """Of a recording whose program waits for a file, until it has told."""
    end = time.monotonic() + 120
    silt = subprocess.Popen([t.silt.path, "run", "-q", "-f", "-o", t.path("t.silt"), "--", *argv], cwd=t.path("."))
    t.running.append(silt)
    got = None
    while not got or not is_told(got):
        assert silt.poll() is None, "it ended"
        give_up(end, f"it is not told: {got and (got['headline'], got['limits'], got['notes'])}")
        time.sleep(0.1)
        if os.path.exists(t.path("t.silt")):
            got, _ = t.silt.report(t.path("t.silt"))
    assert got["ended"] in (None, "running", "unknown"), got["ended"]
    with open(t.path("stop"), "w"):
        pass
    assert silt.wait(timeout=600) == 0
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    return got


def test_told_while_it_runs(t):
    """A server may never end, and a recorder may die first."""
    forever = 'while (access("stop", F_OK)) usleep(10000);'
    got = while_it_runs(t, [build(t, "raw", RAW.replace("for (int i = 0; i < 30; i++)", "").replace("usleep(10000); }", "}" + forever))],
                        lambda x: any(y["kind"] == "unseen" and 38e6 < y["bytes"] < 60e6 for y in x["limits"]))
    assert [x["kind"] for x in got["limits"]] == ["unseen"], got["limits"]
    os.unlink(t.path("stop"))
    build(t, "plugin.so", PLUGIN, "-shared", "-fPIC")
    words = "opened libraries in a separate namespace"
    got = while_it_runs(t, [build(t, "opener", OPENER.replace("usleep(300000);", forever)), t.path("plugin.so")],
                        lambda x: any(words in y for y in x["notes"]))
    assert sum(words in x for x in got["notes"]) == 1, got["notes"]


def test_another_namespace(t):
    """A library that brings a libc of its own, whose malloc nobody stands before."""
    build(t, "plugin.so", PLUGIN, "-shared", "-fPIC")
    program = build(t, "opener", OPENER)
    told(t, [program, t.path("plugin.so")], "unseen", "silt did not see who allocated")


def test_attached(t):
    """What a process has from before is not held against the recording, what it takes later is."""
    program = build(t, "later", RAW.replace("int main(void) {", "int main(void) { memset(take(40000), 1, 40000); usleep(1500000);").replace("i < 30", "i < 150"))
    p = subprocess.Popen([program])
    try:
        r = run([t.silt.path, "attach", str(p.pid), "-f", "-o", t.path("a.silt")])
    finally:
        p.wait(timeout=600)
    assert r.code == 0 and "silt did not see who allocated" in r.errors, r.errors
    got, why = t.silt.report(t.path("a.silt"))
    assert got and [x["kind"] for x in got["limits"]] == ["unseen"], (why, got and got["limits"])


def test_what_is_explained_is_silent(t):
    errors, text, got = look(t, [build(t, "seen", SEEN)])
    assert got["limits"] == [] and "incomplete" not in errors.lower() + text.lower(), (errors, got["limits"])


def test_a_function_without_a_name(t):
    """As Chromium's Rust code, whose realloc goes past the exported one: told; exact once the function is named."""
    program = build(t, "hidden", HIDDEN, strip=False)
    symbols = run(["nm", program]).stdout.decode()
    regrow, = (line.split()[0] for line in symbols.splitlines() if line.endswith(" regrow"))
    run(["strip", program])
    one = told(t, [program], "unpaired", "some function is not hooked")
    assert one["count"] >= 50, one
    errors, _, got = look(t, [program], "--hook", f"realloc=0x{regrow}")
    assert got["totals"]["unknown_frees"] + got["totals"]["implicit_frees"] == 0 and got["limits"] == [], (got["limits"], errors)
    assert got["totals"]["reallocations"] == 50, got["totals"]
