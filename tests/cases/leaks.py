# SPDX-License-Identifier: MIT
"""`silt leaks`: classes by call path, suppressions, and what is refused. What is lost by which shape: leak_shapes.py."""

import json
import os
import re
import shutil
import subprocess

from harness.answer import parse
from harness.process import kill_family

PROGRAM = """
#include <cstdlib>
#include <cstring>
void *volatile kept[4];
static void forget_stack(void) { char b[8192]; memset(b, 0, sizeof(b)); asm volatile("" :: "r"(b) : "memory"); }
struct list { list *next; char pad[56]; };
struct Cache { __attribute__((noinline)) static void fill(int n) { kept[0] = malloc(n); } };
extern "C" {
__attribute__((noinline)) void *grab(size_t n) { void *p = malloc(n); asm volatile("" : "+r"(p)); return p; }
__attribute__((noinline)) void lose(void) { memset(grab(100), 0, 100); }
__attribute__((noinline)) void lose_zeroed(void) { memset(calloc(10, 20), 0, 200); }
__attribute__((noinline)) void lose_chain(void) {
        list *a = (list *)malloc(sizeof(list));
        a->next = (list *)calloc(1, sizeof(list));
        asm volatile("" :: "r"(a) : "memory");
}
__attribute__((noinline)) void point_inside(void) { kept[1] = (char *)malloc(500) + 16; }
}
int main(void) {
        lose();
        lose();
        lose_zeroed();
        lose_chain();
        point_inside();
        Cache::fill(77);
        forget_stack();
        return 0;
}
"""
SUMS = {"definitely_lost": (464, 4), "indirectly_lost": (64, 1), "possibly_lost": (500, 1), "still_reachable": (77, 1), "suppressed": (0, 0)}


def build(t):
    source, program = t.path("lossy.cc"), t.path("lossy")
    with open(source, "w") as f:
        f.write(PROGRAM)
    subprocess.run(["g++", "-g", "-O1", "-fno-builtin", "-o", program, source], check=True)
    return program


def record(t):
    trace = t.path("lossy.silt")
    r = t.silt.record(trace, [build(t)], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    return trace


def suppressions(t, text, name="x.supp"):
    with open(t.path(name), "w") as f:
        f.write(text)
    return t.path(name)


def leaks(t, trace, *options):
    r = t.silt.command("leaks", trace, "--json", *options)
    assert r.code == 0, r.errors
    got = parse(r.stdout)
    assert got["schema"] == "silt.leaks/1", got
    return got


def sums(got, own):
    """Of the program's own blocks: what libraries keep is theirs to know."""
    of = {key: [0, 0] for key in SUMS}
    keys = {"definite": "definitely_lost", "indirect": "indirectly_lost", "possible": "possibly_lost", "reachable": "still_reachable"}
    for record_ in got["records"]:
        if any(f["module"] == own for f in record_["stack"]):
            of[keys[record_["class"]]][0] += record_["bytes"]
            of[keys[record_["class"]]][1] += record_["blocks"]
    of["suppressed"] = [got["suppressed"]["bytes"], got["suppressed"]["blocks"]]
    return {key: tuple(v) for key, v in of.items()}


def test_classes_and_words(t):
    trace = record(t)
    assert sums(leaks(t, trace), t.path("lossy")) == SUMS
    text = t.silt.command("leaks", trace).text
    assert re.match(r"lossy lost 528 B in 5 blocks: nothing points to them any more, after .*\.\s+The\s+most, ", text), text
    for line in ("HEAP SUMMARY:\n    in use at exit: ", "  total heap usage: ", "LEAK SUMMARY:\n   definitely lost: 464 bytes in 4 blocks\n"
                 "   indirectly lost: 64 bytes in 1 blocks\n     possibly lost: 500 bytes in 1 blocks\n   still reachable: ",
                 "\n        suppressed: 0 bytes in 0 blocks\n", "128 (64 direct, 64 indirect) bytes in 1 blocks are definitely lost in loss record "):
        assert line in text, (line, text)
    assert "Cache::fill" not in text and "Cache::fill" in t.silt.command("leaks", trace, "--show-reachable").text


def test_suppressions_of_both_kinds(t):
    trace, own = record(t), t.path("lossy")
    entry = "{{\n x\n Memcheck:Leak\n {}\n}}\n"
    for text, expected in (
            (entry.format("fun:malloc\n fun:grab\n fun:lose"), {"definitely_lost": (264, 2), "suppressed": (200, 2)}),
            (entry.format("fun:grab\n fun:lose_zeroed"), {}),
            (entry.format("match-leak-kinds: possible\n ...\n fun:main"), {"possibly_lost": (0, 0), "suppressed": (500, 1)}),
            (entry.format("match-leak-kinds: reachable\n fun:malloc\n fun:_ZN5Cache4fillEi"), {"still_reachable": (0, 0), "suppressed": (77, 1)}),
            (entry.format("match-leak-kinds: reachable\n fun:malloc\n fun:_ZN5Cache*"), {"still_reachable": (0, 0), "suppressed": (77, 1)}),
            (entry.format("match-leak-kinds: definite\n fun:malloc\n fun:lose_chain"), {"definitely_lost": (400, 3), "suppressed": (64, 1)}),
            ("# LSan\nleak:^lose_zeroed$\n", {"definitely_lost": (264, 3), "suppressed": (200, 1)}),
            ("leak:Cache::fill\n", {}),  # LSan knows no leak that is still reachable
            ("# nothing\n", {})):
        got = leaks(t, trace, "--suppressions", suppressions(t, text))
        assert sums(got, own) == {**SUMS, **expected}, (text, sums(got, own))
        assert sum(s["bytes"] for s in got["suppressions"]) == got["suppressed"]["bytes"], got["suppressions"]
    two = leaks(t, trace, "--suppressions", suppressions(t, "leak:lose_zeroed\n", "a"), "--suppressions", suppressions(t, "leak:point_inside\n", "b"))
    assert two["suppressed"] == {"bytes": 700, "blocks": 2}, two["suppressed"]
    text = t.silt.command("leaks", trace, "--suppressions", suppressions(t, "leak:lose\nleak:inside\n")).text
    assert re.sub(r"\s+", " ", text).startswith("lossy lost nothing but what is suppressed, 1.0 KiB in 6 blocks, after "), text
    text = t.silt.command("leaks", trace, "--suppressions", suppressions(t, entry.format("fun:_ZN?5Cache*"))).text
    assert "1 line of the suppression files names functions in a form" in re.sub(r"\s+", " ", text), text


def test_what_is_generated_suppresses_just_that(t):
    trace, own = record(t), t.path("lossy")
    r = t.silt.command("leaks", trace, "--gen-suppressions", "--show-reachable")
    assert r.code == 0 and r.text.startswith("# lossy lost 528 B in 5 blocks"), (r.errors, r.text)
    assert all(len(line.split()) < 2 or line.startswith(("# ", "   ")) for line in r.text.splitlines()), r.text
    entries = re.findall(r"\{\n.*?\n\}\n", r.text, re.S)
    mine = {}
    for name, key, size in (("lose", "definitely_lost", (200, 2)), ("lose_zeroed", "definitely_lost", (200, 1)), ("point_inside", "possibly_lost", (500, 1)),
                            ("Cache::fill(int)", "still_reachable", (77, 1))):
        fits = [e for e in entries if f"   fun:{name}\n" in e]
        assert len(fits) == 1, (name, fits)
        mine[name] = fits[0]
        got = sums(leaks(t, trace, "--suppressions", suppressions(t, fits[0])), own)
        assert got == {**SUMS, key: tuple(a - b for a, b in zip(SUMS[key], size)), "suppressed": size}, (name, got)
    everything = leaks(t, trace, "--suppressions", suppressions(t, r.text))
    assert everything["records"] == [], everything["records"]
    if shutil.which("valgrind"):
        file = suppressions(t, mine["lose"] + mine["lose_zeroed"])
        v = subprocess.run(["valgrind", "--leak-check=full", "--run-libc-freeres=no", "--suppressions=" + file, own], capture_output=True, text=True)
        assert "definitely lost: 64 bytes in 1 blocks" in v.stderr and "suppressed: 400 bytes in 3 blocks" in v.stderr, v.stderr


def test_what_a_program_becomes_by_exec_is_looked_at(t):
    """Wrappers replace themselves: what counts is what the program has become when it ends."""
    program, trace = build(t), t.path("wrapped.silt")
    r = t.silt.record(trace, ["sh", "-c", f"exec {program}"], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    assert sums(leaks(t, trace), program) == SUMS


HIDDEN = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile uintptr_t hidden[1000], more[100];
__attribute__((noinline)) static uintptr_t hide(void) { return (uintptr_t)malloc(64) ^ 0x5555000000000000; }
static void show(uintptr_t x) { free((void *)(x ^ 0x5555000000000000)); }
int main(void) {
        char c;
        for (int i = 0; i < 1000; i++)
                hidden[i] = hide();
        for (int i = 0; i < 100; i++)
                more[i] = hide();
        for (int i = 0; i < 50; i++)
                show(more[i]);
        puts("ready");
        fflush(stdout);
        while (read(0, &c, 1) > 0)
                ;
        for (int i = 0; i < 1000; i++)
                show(hidden[i]);
        return 0;
}
"""


def test_doubt_about_hidden_pointers(t):
    with open(t.path("hidden.c"), "w") as f:
        f.write(HIDDEN)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-o", t.path("hidden"), t.path("hidden.c")], check=True)
    trace = t.path("hidden.silt")
    p = subprocess.Popen(t.silt.run_argv(trace, [t.path("hidden")], ["-f"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.running.append(p)
    assert p.stdout.readline() == b"ready\n"
    r = t.silt.command("snapshot", trace, "--graph")
    assert r.code == 0, r.errors
    p.stdin.close()
    assert p.wait(60) == 0
    got = leaks(t, trace)
    # registers and what is left on the stack may still point to one or two
    lost = got["definitely_lost"]["blocks"]
    assert lost >= 1045, got
    doubtful = got["doubtful"]
    assert 995 <= doubtful["freed_later_blocks"] <= 1000, doubtful
    text = " ".join(t.silt.command("leaks", trace).text.split())
    assert re.search(r"Doubtful: (1,000|99\d) of these blocks were freed later", text) and "the program may have pointers that silt cannot see" in text, text[:800]


def test_refused(t):
    trace, plain = record(t), t.path("plain.silt")
    assert t.silt.record(plain, [t.path("lossy")], ["-f"]).code == 0
    for argv, why in (([], "no trace given"), ([plain], "graph"), ([t.path("none.silt")], "cannot open"),
                      ([trace, "--suppressions", t.path("none")], "cannot read"), ([trace, "--suppressions", "/"], "directory"),
                      ([trace, "--suppressions", suppressions(t, "hello\n", "hello")], "line 1"), ([trace, "--suppressions", suppressions(t, "{\nx\n")], "line 2"),
                      ([trace, "--suppressions", t.path("lossy")], "is not a suppression file")):
        r = t.silt.command("leaks", *argv)
        assert r.code == 2 and r.text == "" and why in r.errors, (argv, r.errors)
        assert r.errors.startswith("silt: ") and r.errors.count("\n") == 1, r.errors


def test_check_limits_what_is_lost(t):
    trace, plain = record(t), t.path("plain.silt")
    r = t.silt.command("check", trace, "--max-leaked", "0")
    assert r.code == 1 and r.text.startswith("The check failed: leaked 528 B, limit 0 B."), (r.code, r.text, r.errors)
    assert re.search(r"200 B\s+lose", r.text) and re.search(r"128 B\s+lose_chain", r.text), r.text
    got = parse(t.silt.command("check", trace, "--max-leaked", "0", "--json").stdout)["checks"][0]
    assert (got["check"], got["measured"], got["verdict"]) == ("leaked", 528, "failed"), got
    assert t.silt.command("check", trace, "--max-leaked", "528").code == 0
    assert t.silt.command("check", trace, "--max-leaked", "527").code == 1
    r = t.silt.command("check", trace, "--max-leaked", "0", "--max-peak", "1G", "--suppressions", suppressions(t, "leak:lose\n"))
    assert r.code == 0 and "Both checks hold" in r.text, (r.text, r.errors)
    assert t.silt.record(plain, [t.path("lossy")], ["-f"]).code == 0
    for argv, why in (([plain, "--max-leaked", "0"], "the trace has no reference graph"), ([trace, "--max-peak", "1G", "--suppressions", "x"], "add --max-leaked"),
                      ([trace, "--max-leaked", "0", "--function", "lose"], "leave out filters"), ([trace, "--max-leaked", "lots"], "not a size")):
        r = t.silt.command("check", *argv)
        assert r.code == 2 and r.text == "" and why in r.errors and r.errors.count("\n") == 1, (argv, r.errors)


def test_the_report_has_memchecks_summary(t):
    trace = record(t)
    report, text = t.silt.command("report", trace).text, t.silt.command("leaks", trace).text
    summary = re.search(r"LEAK SUMMARY:\n(.*\n)*?.*suppressed: .*\n", text)[0]
    assert summary in report and "reachability not examined" not in report, report
    heap = re.search(r"HEAP SUMMARY:\n.*\n.*\n", text)[0]
    assert heap in report, (heap, report)


WAITING = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *volatile kept[1000];
__attribute__((noinline)) void work(void) {
        void **a;
        for (int i = 0; i < 1000; i++)
                memset(kept[i] = malloc(104), 1, 104);
        for (int i = 0; i < 1000; i += 3) { /* some go to the thread's lists, some to the arena's */
                free((void *)kept[i]);
                kept[i] = NULL;
        }
        for (int i = 0; i < 50; i++)
                memset(malloc(504), 0, 504);
        a = malloc(312);
        memset(a, 0, 312);
        memset(a[3] = malloc(72), 0, 72);
        memset(malloc(1 << 20), 0, 100);
        kept[0] = malloc(2 << 20);
}
__attribute__((noinline)) void wipe(void) { char b[32768]; memset(b, 0, sizeof(b)); __asm__ volatile("" :: "r"(b) : "memory"); }
void *thread(void *x) {
        pthread_barrier_t *b = x;
        work();
        wipe();
        pthread_barrier_wait(b);
        for (;;) pause();
}
int main(int argc, char **argv) {
        pthread_barrier_t b;
        pthread_t t;
        if (argc > 1) {
                pthread_barrier_init(&b, NULL, 2);
                pthread_create(&t, NULL, thread, &b);
                pthread_barrier_wait(&b);
        } else
                work();
        wipe();
        if (write(1, "x", 1) < 0) return 1;
        for (;;) pause();
}
"""


class Waiting:
    """A program that has lost something and waits; nobody records it, unless argv says so."""

    def __init__(self, t, *words, before=()):
        source, program = t.path("waiting.c"), t.path("waiting")
        with open(source, "w") as f:
            f.write(WAITING)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-pthread", "-o", program, source], check=True)
        self.process = subprocess.Popen([*before, program, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        assert self.process.stdout.read(1) == b"x"

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        kill_family(self.process.pid)
        self.process.wait()


def test_a_process_that_nobody_records(t):
    for words in ((), ("thread",)):
        with Waiting(t, *words) as pid:
            r = t.silt.command("leaks", str(pid))
            assert r.code == 0, r.errors
            flat = re.sub(r"\s+", " ", r.text)
            assert flat.startswith(f"waiting ({pid}) is not being recorded, so these are the blocks of its malloc, without call paths: nothing points to "), flat
            for row in ("25,200 bytes in 50 blocks of 504 bytes are definitely lost", "312 bytes in 1 blocks of 312 bytes are definitely lost",
                        "72 bytes in 1 blocks of 72 bytes are indirectly lost", "1,052,656 bytes in 1 blocks of 1,052,656 bytes are definitely lost"):
                assert row in r.text, (words, row, r.text)
            got = parse(t.silt.command("leaks", str(pid), "--json").stdout)
            assert got["recorded"] is False and got["indirectly_lost"] == {"bytes": 72, "blocks": 1}, got
            assert got["definitely_lost"] == {"bytes": 25200 + 312 + 1052656, "blocks": 52}, got
            assert got["still_reachable"]["blocks"] in range(667, 672), got  # and what starting a thread takes
            assert got["unknown_blocks"] == 0 and got["unwalked_bytes"] == 0, got
            children = f"/proc/{pid}/task/{pid}/children"
            with open(children) as f:
                assert f.read() == ""
            r = t.silt.command("leaks", str(pid), "--suppressions", "/dev/null")
            assert r.code == 2 and "no call paths to suppress" in r.errors, r.errors
    r = t.silt.command("leaks", "999999")
    assert r.code == 2 and "no such process" in r.errors, r.errors


def test_a_process_that_is_recorded(t):
    trace = t.path("waiting.silt")
    with Waiting(t, before=(t.silt.path, "run", "-q", "-f", "-o", trace)) as silt:
        with open(f"/proc/{silt}/task/{silt}/children") as f:
            children = f.read().split()
        pid = [c for c in children if open(f"/proc/{c}/comm").read() == "waiting\n"][0]
        r = t.silt.command("leaks", pid)
        assert r.code == 0 and re.match(r"waiting lost 1\.0 MiB in 53 blocks", r.text), (r.errors, r.text)
        assert "in use at that moment: " in r.text and "definitely lost: 1,074,088 bytes in 52 blocks" in r.text, r.text
        assert "work" in r.text, r.text


def test_narrow_terminals(t):
    """No line is wider than the terminal, from 60 columns on: of leaks, and of holders, which leave columns out."""
    trace = record(t)
    for width in (60, 61, 65, 66, 70, 75, 76, 79):
        env = {**os.environ, "COLUMNS": str(width), "LC_ALL": "C.UTF-8"}
        for command in (("leaks", "--show-reachable"), ("holders",), ("holders", "--why", "fill|inside")):
            r = t.silt.command(command[0], trace, *command[1:], env=env)
            assert r.code == 0, r.errors
            wide = [line for line in r.text.splitlines() if len(line) > width]
            assert not wide, (width, command, wide)


SHORT = """
#include <cstdlib>
#include <cstring>
#include <unistd.h>
static char **cache;
extern "C" __attribute__((noinline)) char *load(void) { char *p = (char *)malloc(4096); memset(p, 1, 4096); return p; }
int main(int n, char **) {
        cache = (char **)calloc(20000, sizeof(char *));
        for (int i = 0; i < 12000; i++) {
                char *p = load();
                if (n > 1) cache[i] = p;
                if (i % 40 == 0) usleep(2000);
        }
        return cache[1] == (char *)1;
}
"""


def test_what_a_short_run_cannot_tell(t):
    """A leak and a cache that fills look the same for some seconds; nothing points to what leaked."""
    source, program, trace = t.path("short.cc"), t.path("short"), t.path("short.silt")
    with open(source, "w") as f:
        f.write(SHORT)
    subprocess.run(["g++", "-g", "-O1", "-fno-builtin", "-o", program, source], check=True)
    told = {}
    for name, argv, options in (("leak", [program], ["--leaks"]), ("cache", [program, "kept"], ["--leaks"]), ("unknown", [program], [])):
        assert t.silt.record(trace, argv, ["-f", *options]).code == 0
        told[name] = next(f for f in t.silt.report(trace)[0]["findings"] if f["kind"] in ("growing", "leak") and f["function"] == "load")
        rows = t.silt.command("sql", trace, "--json", "SELECT text FROM findings").text
        assert json.dumps(told[name]["text"])[1:-1] in rows, (told[name], rows)
    leak, cache, unknown = told["leak"], told["cache"], told["unknown"]
    assert leak["severity"] == "problem" and leak["text"].endswith("Nothing points to 46.9 MiB of it any more."), leak
    assert leak["evidence"]["lost_bytes"] == 12000 * 4096, leak
    for f in (cache, unknown):
        assert f["severity"] == "worth-knowing" and "too short to tell a leak from a cache that fills" in f["text"], f
