# SPDX-License-Identifier: MIT
"""Leaks and holders where malloc is jemalloc or mimalloc, recorded or not: every block, and none that a thread's cache has."""

import json
import os
import re
import shutil
import subprocess
import time

from allocators._workshop import Workshop
from harness.answer import parse
from harness.cases import skip
from harness.process import give_up, kill_family, run

# What libraries and threads have beside it: buffers, tables of thread-local data, an emergency pool.
N_OTHERS = 40


GROWING = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char body[88]; };
static struct table { struct node *heads[64]; } *table;
__attribute__((noinline)) void keep(int i) {
        struct node *n = calloc(1, sizeof(*n));
        n->next = table->heads[i % 64];
        table->heads[i % 64] = n;
}
__attribute__((noinline)) void lose(void) { void *volatile p = calloc(1, 200); p = NULL; }
__attribute__((noinline)) void scrub(void) { volatile char b[8192]; memset((char *)b, 0, sizeof(b)); }
static void grow(int n) {
        for (int i = 0; i < n; i++) {
                keep(i);
                if (i % 50 == 0)
                        lose();
        }
        scrub();
}
int main(void) {
        char line[16];
        table = calloc(1, sizeof(*table));
        grow(1000);
        puts("ready");
        fflush(stdout);
        if (!fgets(line, sizeof(line), stdin))
                return 1;
        grow(2000);
        puts("done");
        fflush(stdout);
        return !fgets(line, sizeof(line), stdin);
}
"""


def build(t, kind):
    """je: Debian's jemalloc; je_inside: a part of the program, under other names and without symbols; mi: Debian's mimalloc; libc: neither."""
    flags, link = ["-DPREFIX=", "-DUSABLE_NAME=malloc_usable_size", "-fno-builtin"], ["-lpthread"]
    if kind == "je_inside":
        archive = Workshop(t.context).prefixed_jemalloc("_rjem_")
        flags, link = ["-DPREFIX=_rjem_", "-DUSABLE_NAME=malloc_usable_size", "-s"], [archive, "-lm", "-ldl", "-lpthread"]
    elif kind != "libc":
        link = ["-Wl,--no-as-needed", {"je": "-ljemalloc", "mi": "-lmimalloc"}[kind], "-lpthread"]
    return t.context.helpers.build("other_heaps_" + kind, ["other_heaps.c"], flags=flags, link=link)


def start(t, argv):
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    t.running.append(process)
    words = process.stdout.readline().split()
    assert words[:1] == ["ready"], words
    return process, [int(w) for w in words[1:]]


def leaks(t, who):
    r = t.silt.command("leaks", str(who), "--json")
    assert r.code == 0, r.errors
    return parse(r.stdout)


def check(kind, got, n_threads, kept_blocks, kept_bytes, lost_blocks, lost_bytes):
    """What a thread did last may have left an address into a block on its stack, which is possibly lost then."""
    def sum_of(field, *classes):
        return sum(got[c][field] for c in classes)
    lost = ("definitely_lost", "indirectly_lost")
    found = ("possibly_lost", "still_reachable")
    n_stale = lost_blocks - sum_of("blocks", *lost)
    stale_bytes = lost_bytes - sum_of("bytes", *lost)
    assert 0 <= n_stale <= n_threads and stale_bytes <= sum_of("bytes", "possibly_lost"), (kind, got, lost_blocks, lost_bytes)
    assert n_stale or not stale_bytes, (kind, got, lost_bytes)
    assert 0 <= sum_of("blocks", *found) - n_stale - kept_blocks <= N_OTHERS, (kind, got, kept_blocks)
    assert 0 <= sum_of("bytes", *found) - stale_bytes - kept_bytes <= 1 << 20, (kind, got, kept_bytes)


def test_not_recorded(t):
    for kind in ("libc", "je", "je_inside", "mi"):
        for n_threads in (1, 3):
            process, known = start(t, [build(t, kind), str(n_threads)])
            try:
                for _ in range(t.count(1, 20)):
                    check(kind, leaks(t, process.pid), n_threads, *known)
            finally:
                kill_family(process.pid)


def test_recorded(t):
    """Sizes are those requested then, and blocks those of the recording: what is lost is what it was."""
    for kind in ("je", "mi"):
        trace = t.path(kind + ".silt")
        process, known = start(t, t.silt.run_argv(trace, [build(t, kind), "2"]))
        try:
            r = t.silt.command("snapshot", str(process.pid), "--graph")
            assert r.code == 0, r.errors
        finally:
            kill_family(process.pid)
        got = leaks(t, trace)
        n_lost = got["definitely_lost"]["blocks"] + got["indirectly_lost"]["blocks"]
        assert known[2] - 2 <= n_lost <= known[2], (kind, got["definitely_lost"], got["indirectly_lost"], known)


def test_what_a_recording_did_not_see(t):
    """Functions without symbols cannot be hooked: an answer from what is left of the heap says so first."""
    trace = t.path("t.silt")
    process, _ = start(t, t.silt.run_argv(trace, [build(t, "je_inside"), "1"]))
    try:
        r = t.silt.command("snapshot", str(process.pid), "--graph")
        assert r.code == 0, r.errors
        run(["pkill", "-TERM", "-P", str(process.pid), "other_heaps"])
        process.wait(30)
    finally:
        kill_family(process.pid)
    said = "Incomplete: silt did not see what jemalloc"
    for command in ("leaks", "holders"):
        text = " ".join(t.silt.command(command, trace).text.split())
        assert text.startswith(said) and "Of what silt saw: " in text, text
    assert leaks(t, trace)["incomplete"].startswith(said)


def test_what_was_there_before_an_attach(t):
    """New blocks that hang from old ones are held; what is lost is lost, old or new. Every 50th round loses one, and keeps 50 in a table that is older."""
    with open(t.path("x.c"), "w") as f:
        f.write(GROWING)
    for lib in ([], ["-ljemalloc"], ["-lmimalloc"]):
        subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", t.path("x"), t.path("x.c"), "-Wl,--no-as-needed", *lib], check=True)
        target = subprocess.Popen([t.path("x")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        t.running.append(target)
        assert target.stdout.readline() == "ready\n"
        silt = subprocess.Popen([t.silt.path, "attach", "-f", "-o", t.path("t.silt"), str(target.pid)], stderr=subprocess.PIPE, text=True)
        t.running.append(silt)
        assert "recording process" in silt.stderr.readline()
        target.stdin.write("go\n")
        target.stdin.flush()
        assert target.stdout.readline() == "done\n"
        got = leaks(t, target.pid)
        kill_family(target.pid)
        silt.wait(30)
        lost = [r for r in got["records"] if r["class"] in ("definite", "indirect")]
        new = sum(r["blocks"] for r in lost if any(f["function"] == "lose" for f in r.get("stack", [])))
        old = sum(r["blocks"] for r in lost if not r.get("stack"))
        # the last ones may be on the stack still
        assert 39 <= new <= 40 and 18 <= old <= 20, (lib, new, old, lost)
        assert sum(r["blocks"] for r in lost) == new + old, lost
        text = " ".join(t.silt.command("holders", t.path("t.silt")).text.split())
        assert "static table" in text and re.search(r" 2,000 \d+ B [\d.]+ \ws keep ", text), text


def test_a_sampled_recording(t):
    """Most blocks are not in it: they come from the allocator, so that the classes are those of all blocks."""
    for kind in ("libc", "je", "mi"):
        process, known = start(t, t.silt.run_argv(t.path("t.silt"), [build(t, kind), "2"], ["-f", "--sample", "16K"]))
        try:
            r = t.silt.command("snapshot", str(process.pid), "--graph")
            assert r.code == 0, r.errors
        finally:
            kill_family(process.pid)
        got = leaks(t, t.path("t.silt"))
        n_lost = got["definitely_lost"]["blocks"] + got["indirectly_lost"]["blocks"]
        assert known[2] - 2 <= n_lost <= known[2], (kind, got["definitely_lost"], got["indirectly_lost"], known)
        n_all = sum(got[c]["blocks"] for c in ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable"))
        assert 0 <= n_all - known[0] - known[2] <= N_OTHERS, (kind, got, known)
        text = " ".join(t.silt.command("leaks", t.path("t.silt")).text.split())
        assert "allocated without being sampled: without call paths" in text, text


def test_an_allocator_that_silt_cannot_read(t):
    """What is not seen is said: a list of the C library's few blocks would be no answer."""
    source, library = t.path("x.c"), t.path("libtcmalloc.so.4")
    with open(source, "w") as f:
        f.write("int silt_test_nothing;\n")
    subprocess.run(["gcc", "-shared", "-o", library, source], check=True)
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, "LD_PRELOAD": library})
    t.running.append(process)
    time.sleep(0.3)
    try:
        for command in ("leaks", "holders"):
            r = t.silt.command(command, str(process.pid))
            assert r.code != 0 and "allocates with tcmalloc, whose blocks silt cannot list" in r.errors, r.errors
            assert len(r.errors.splitlines()) == 1 and not r.text, r
    finally:
        kill_family(process.pid)


POOL = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
/* The queues of a mimalloc's heap, since 3.0: first and last page, how many there are, bytes of their blocks. */
volatile uint64_t queues[75][4] = {{0, 0, 0, 8}, {0, 0, 0, 8}};
void *volatile kept[20];
int main(int argc, char **argv) {
        uint64_t words = 1, step = 1;
        char *pool = mmap(NULL, 24 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char line[16];
        for (int i = 2; i < 75; i++) {
                if (words >= 8 * step)
                        step *= 2;
                words += step;
                queues[i][3] = 8 * words;
        }
        memset(pool, 1, (size_t)atoi(argv[1]) << 20);
        for (int i = 0; i < 20; i++)
                memset(kept[i] = malloc(atoi(argv[2])), 1, atoi(argv[2]));
        if (argc > 3)
                queues[3][0] = queues[3][1] = (uint64_t)pool;
        puts("ready");
        fflush(stdout);
        return !fgets(line, sizeof(line), stdin);
}
"""


def pool(t, *argv):
    with open(t.path("pool.c"), "w") as f:
        f.write(POOL)
    subprocess.run(["gcc", "-O1", "-o", t.path("pool"), t.path("pool.c")], check=True)
    process = subprocess.Popen([t.path("pool"), *(str(a) for a in argv)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.running.append(process)
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_mimalloc_that_silt_does_not_know(t):
    """Known by the queues of its heap, under whatever name it was built: refused in one line. One that nobody uses is none."""
    process = pool(t, 20, 1000, "used")
    for command in ("leaks", "holders"):
        r = t.silt.command(command, str(process.pid))
        assert r.code != 0 and "allocates with a mimalloc of a version unknown to silt" in r.errors, r.errors
        assert len(r.errors.splitlines()) == 1 and not r.text, r
    kill_family(process.pid)
    process = pool(t, 0, 1000)
    assert t.silt.command("leaks", str(process.pid)).code == 0
    kill_family(process.pid)


def test_memory_that_no_block_explains(t):
    """20 blocks beside 20 MiB that the program divides itself: the first words say so. Not where blocks are most of it."""
    for size, is_most in ((1000, True), (3 << 20, False)):
        process = pool(t, 20, size)
        for command in ("leaks", "holders"):
            text = " ".join(t.silt.command(command, str(process.pid)).text.split())
            got = parse(t.silt.command(command, str(process.pid), "--json").text)
            begins = re.match(r"Incomplete: 20\.\d MiB of the 20\.\d MiB that pool has resident as its own memory are in no block that silt knows", text)
            assert bool(begins) == is_most and bool(got["incomplete"]) == is_most, (size, text, got["incomplete"])
            if is_most or command == "leaks":
                assert 19 << 20 < got["unexplained_bytes"] < 21 << 20, got["unexplained_bytes"]
        kill_family(process.pid)


def fill_redis(t, server):
    socket = t.path("redis")
    process = subprocess.Popen([server, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", t.dir, "--enable-debug-command", "yes"],
                               stdout=subprocess.DEVNULL)
    t.running.append(process)
    end = time.monotonic() + 60
    while run(["redis-cli", "-s", socket, "ping"]).text.strip() != "PONG":
        give_up(end, "redis-server does not answer")
        time.sleep(0.1)
    assert run(["redis-cli", "-s", socket, "debug", "populate", str(t.count(20_000, 500_000)), "key", "100"]).code == 0
    return process, socket


def redis(t, server):
    """The blocks add up to what its jemalloc says, but for its caches; all are held, most by `server`."""
    process, socket = fill_redis(t, server)
    try:
        got = leaks(t, process.pid)
        info = run(["redis-cli", "-s", socket, "info", "memory"]).text
        r = t.silt.command("holders", str(process.pid), "--json")
        assert r.code == 0, r.errors
    finally:
        kill_family(process.pid)
    allocated = int(dict(line.split(":", 1) for line in info.split() if ":" in line)["allocator_allocated"])
    total = sum(got[c]["bytes"] for c in ("definitely_lost", "indirectly_lost", "possibly_lost", "still_reachable"))
    assert 0.9 * allocated < total < 1.02 * allocated, (got, allocated)
    assert got["definitely_lost"]["bytes"] + got["indirectly_lost"]["bytes"] < 0.001 * total, got
    sentence = json.loads(r.text)["sentence"]
    assert "server" in sentence, sentence
    t.notes.append(sentence)


def test_redis(t):
    server = shutil.which("redis-server")
    if not server:
        skip("redis is not installed")
    redis(t, server)


def test_older_jemalloc(t):
    """5.2.1, of redis's own source."""
    redis(t, Workshop(t.context).redis())


test_older_jemalloc.repeats, test_older_jemalloc.soak_repeats = 0, 1
