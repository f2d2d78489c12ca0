# SPDX-License-Identifier: MIT
"""Memory that no hook saw is told; what blocks, thread stacks and mappings explain is not."""

import os
import shutil

from harness.cases import skip
from harness.process import run

FILL = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
        usleep(100000);
        for (int i = 0; i < 2000; i++) memset(malloc(50000), 1, 50000);
        usleep(300000);
        return argc > 1;
}
"""

STACKS = """
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *deep(void *p) { volatile char stack[100000]; memset((char *)stack, 1, sizeof(stack)); usleep(400000); return p; }
int main(void) {
        pthread_t threads[100];
        usleep(100000);
        memset(mmap(NULL, 90 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 90 << 20);
        for (int i = 0; i < 100; i++) pthread_create(&threads[i], NULL, deep, NULL);
        for (int i = 0; i < 100; i++) pthread_join(threads[i], NULL);
        return 0;
}
"""

SMALL = """
#include <stdlib.h>
#include <unistd.h>
int main(void) {
        usleep(100000);
        for (int i = 0; i < 3000000; i++) *(volatile char *)malloc(8) = 1;
        usleep(300000);
        return 0;
}
"""


def build(t, name, source, *flags):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run(["gcc", "-O1", "-fno-builtin", path + ".c", "-o", path, *flags, "-lpthread"])
    assert r.code == 0, r.errors
    return path


def unseen(t, argv, *options):
    r = t.silt.record(t.path("t.silt"), argv, ["-f", *options])
    assert r.code == 0, r.errors
    got, why = t.silt.report(t.path("t.silt"))
    assert got, why
    return [f for f in got["findings"] if f["kind"] == "unseen"]


def test_an_allocator_that_is_not_hooked(t):
    """100 MB through jemalloc inside the program: told without patches, and silent with them."""
    if not os.path.isabs(run(["gcc", "-print-file-name=libjemalloc.a"]).stdout.decode().strip()):
        skip("no libjemalloc.a")
    program = build(t, "fill", FILL, "-l:libjemalloc.a", "-lm", "-ldl", "-lstdc++")
    told, = unseen(t, [program], "--no-patch")
    assert 60e6 < told["bytes"] < 130e6 and "silt doctor " + os.path.realpath(program) in told["text"], told
    text = t.silt.command("report", t.path("t.silt")).text
    assert text.startswith("! Incomplete: silt did not see what jemalloc") and "--no-patch was given" in " ".join(text.split()), text
    assert "othing to worry" not in text, text
    assert unseen(t, [program]) == []


def test_what_is_explained_is_silent(t):
    for name, source in (("fill", FILL), ("stacks", STACKS), ("small", SMALL)):
        told = unseen(t, [build(t, name, source)])
        assert told == [], (name, told)


def test_ordinary_programs_are_silent(t):
    here = os.path.dirname(os.path.abspath(__file__))
    programs = [
        ["python3", "-c", "x = [str(i) * 3 for i in range(1000000)]; import time; time.sleep(0.3)"],
        ["perl", "-e", "my @x = map { 'x' x 50 . $_ } 1..500000; select(undef, undef, undef, 0.3)"],
        ["sort", "-S", "200M", "/usr/bin/python3"],
        ["xz", "-9", "-k", "-c", "/bin/bash"],
        ["gzip", "-c", "/bin/bash"],
        ["sqlite3", ":memory:", "create table t as with recursive c(x) as (select 1 union all select x + 1 from c "
         "limit 1000000) select x, hex(randomblob(20)) h from c; select count(*) from t;"],
        ["gcc", "-O2", "-c", "-x", "c", os.path.join(here, "crowd.c"), "-o", t.path("crowd.o")],
        ["git", "-C", here, "log", "--stat", "-n", "50"],
        ["awk", "BEGIN { for (i = 0; i < 1000000; i++) a[i] = i \"x\"; }"],
        ["find", "/usr/share/doc", "-name", "copyright"],
    ]
    for argv in programs:
        if not shutil.which(argv[0]):
            continue
        told = unseen(t, argv)
        assert told == [], (argv, told)
