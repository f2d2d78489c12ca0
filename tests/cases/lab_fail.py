# SPDX-License-Identifier: MIT
"""Allocations that are made to fail: real programs do what they do without silt, and silt says what that was."""

import os
import re

from harness.cases import skip
from harness.process import run

HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAMS = {
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); insert into t select value, hex(value) from "
                "generate_series(1, 300); select count(*), sum(a), max(b) from t where a % 3 = 1;"],
    "python3": ["/usr/bin/python3", "-I", "-S", "-c", "x = {str(i): list(range(i % 90)) for i in range(900)}; print(len(x), sum(map(len, x.values())))"],
    "git": ["git", "diff", "--no-index", "--stat", "{a}", "{b}"],
    "jq": ["jq", "-n", "[range(300) | {a: ., b: (tostring * 3)}] | map(select(.a % 3 == 1) | .b) | length"],
    "redis": ["redis-cli", "-p", "1", "ping"],
    "perl": ["perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1 .. 300; print join(',', map { length $h{$_} } sort keys %h), qq(\\n);"],
}
LAST = {"sqlite3": 900, "python3": 2500, "git": 250, "jq": 900, "redis": 60, "perl": 900}


def shim(t):
    path = t.path("fail_shim.so")
    r = run(["gcc", "-O1", "-fPIC", "-shared", "-fno-builtin", "-w", os.path.join(HERE, "fail_shim.c"), "-o", path, "-ldl"])
    assert r.code == 0, r.errors
    return path


def end_of(r):
    """What the program did; addresses in messages differ from run to run."""
    words = re.sub(r"\n?silt: .*", "", r.errors)
    return r.code, r.stdout, re.sub(r"0x[0-9a-f]+|==?\d+==?", "", words)


def compare(t, name, numbers):
    a, b = t.path("a.txt"), t.path("b.txt")
    for path, step in ((a, 1), (b, 2)):
        with open(path, "w") as f:
            f.writelines(f"line {i}\n" for i in range(0, 400, step))
    argv = [word.format(a=a, b=b) if word in ("{a}", "{b}") else word for word in PROGRAMS[name]]
    if run(["sh", "-c", f"command -v {argv[0]}"]).code:
        skip(f"{argv[0]} is not installed")
    library, wrong, handled, killed = shim(t), [], 0, 0
    env = {"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "HOME": t.dir, "GIT_PAGER": "cat", "LC_ALL": "C"}
    plain = run(argv, env=env, cwd=t.dir)
    for nth in numbers:
        truth = run(argv, env={**env, "LD_PRELOAD": library, "FAIL_SHIM_NTH": str(nth), "SILT_RENDEZVOUS": "x" * 40}, cwd=t.dir)
        got = run([t.silt.path, "run", "-q", "-f", "--no-symbols", "-o", t.path("a.silt"), "--fail-nth", str(nth), "--", *argv],
                  env={**env, "FAIL_SHIM_NTH": str(nth)}, cwd=t.dir)
        code = truth.code if truth.code >= 0 else 128 - truth.code
        if end_of(got) != (code, *end_of(truth)[1:]):
            wrong.append(f"{name}, allocation {nth}: {end_of(got)} under silt, {end_of(truth)} without")
        handled += end_of(truth) != end_of(plain)
        killed += code > 128
    assert not wrong, f"{len(wrong)} of {len(numbers)} differ: " + "\n".join(wrong[:3])
    t.notes.append(f"{len(numbers)} allocations made to fail: {handled} changed what {name} did, {killed} of them ended it by a signal")
    return handled


def numbers_of(t, name, few, many):
    """The first 200 one by one in the long run; what fails there is most often what programs begin with."""
    return sorted({t.chance.randint(1, LAST[name]) for _ in range(t.count(few, many))} | set(range(1, t.count(3, 200) + 1)))


def of_program(name):
    def test(t):
        if t.silt.launcher:
            skip("the shim is for this machine")
        handled = compare(t, name, numbers_of(t, name, 8, 60))
        assert handled, f"no failure changed what {name} does: too few, or none was made"
    test.soak_repeats = 1
    return test


test_sqlite3 = of_program("sqlite3")
test_python3 = of_program("python3")
test_git = of_program("git")
test_jq = of_program("jq")
test_redis = of_program("redis")
test_perl = of_program("perl")

CAREFUL = """
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *need(size_t n) {
        void *p = malloc(n);
        if (!p) { printf("need %zu: %s\\n", n, strerror(errno)); exit(7); }
        return p;
}
__attribute__((noinline)) void *maybe(size_t n) { void *p = realloc(NULL, n); if (!p) printf("no %zu\\n", n); return p; }
int main(int argc, char **argv) {
        setvbuf(stdout, NULL, _IONBF, 0);
        for (int i = 1; i <= 10; i++) { free(need(i * 100)); free(maybe(i * 1000)); }
        if (argc > 1) *(volatile char *)malloc(1 << 20) = 1;
        puts("end");
        return 0;
}
"""

THROWS = """
#include <cstdio>
#include <cstdlib>
#include <new>
static int n_handled;
static void handler() { n_handled++; if (n_handled > 1) std::set_new_handler(nullptr); }
int main(int argc, char **argv) {
        std::setvbuf(stdout, nullptr, _IONBF, 0);
        if (argc > 1) std::set_new_handler(handler);
        for (int i = 1; i <= 6; i++) {
                try {
                        delete[] new char[i * 10];
                } catch (const std::bad_alloc &e) { std::printf("caught %d\\n", i); }
                char *p = new (std::nothrow) char[i * 20];
                if (!p) std::printf("none %d\\n", i);
                delete[] p;
                delete new (std::align_val_t(64)) char;
        }
        std::printf("handled %d\\n", n_handled);
}
"""


def build(t, name, source, compiler="gcc"):
    path = t.path(name)
    with open(path + (".cc" if compiler == "g++" else ".c"), "w") as f:
        f.write(source)
    r = run([compiler, "-g", "-O1", "-fno-builtin", f.name, "-o", path])
    assert r.code == 0, r.errors
    return path


def fail(t, program, *options, code=0):
    trace = t.path("a.silt")
    r = run([t.silt.path, "run", "-f", "-o", trace, *options[:-1], "--", program, *options[-1]])
    assert r.code == code, (r.code, r.text, r.errors)
    report, why = t.silt.report(trace)
    assert not why, why
    return r, report


def test_words_and_counts(t):
    careful = build(t, "careful", CAREFUL)
    r, report = fail(t, careful, "--fail-nth", "5", [], code=7)
    assert r.text == "need 300: Cannot allocate memory\n", r.text
    assert "silt: made to fail: allocation 5, 300 B, in need" in r.errors, r.errors
    assert "after that it made no allocations, and it exited with status 7" in r.errors, r.errors
    assert report["totals"]["failed_allocations"] == 1, report["totals"]
    first = report["findings"][0]
    assert first["kind"] == "failed" and first["site"]["stack"][0]["function"] == "need", first
    assert first["text"] == "silt made allocation 5 fail, as requested: 300 B requested by need. After that it made no more allocations, and exited with status 7.", first
    r, report = fail(t, careful, "--fail-nth", "6", [])
    assert r.text == "no 3000\nend\n" and "in maybe" in r.errors and "it made 14 more allocations" in r.errors, (r.text, r.errors)
    assert report["totals"]["failed_allocations"] == 1 and report["totals"]["lost_events"] == 0, report["totals"]
    r, report = fail(t, careful, "--fail-above", "5000", [])
    assert r.text.count("no ") == 5 and report["totals"]["failed_allocations"] == 5, r.text
    assert report["findings"][0]["text"].startswith("silt made 5 allocations fail, the first of them allocation "), report["findings"][0]
    r, report = fail(t, careful, "--fail-nth", "21", ["crash"], code=139)
    assert "made no more allocations, and was ended by signal 11 (SEGV)." in report["findings"][0]["text"], report["findings"][0]
    assert "after that it made no allocations, and signal 11 (Segmentation fault) ended it" in r.errors, r.errors
    r, report = fail(t, careful, "--fail-nth", "1000", [])
    assert "no allocation was made to fail" in r.errors and report["totals"]["failed_allocations"] == 0, r.errors


def test_seeds(t):
    careful = build(t, "careful", CAREFUL.replace("exit(7)", "return malloc(1)"))
    told = {}
    for seed in ("1", "1", "2", "3"):
        r, report = fail(t, careful, "--fail-rate", "30%", "--fail-seed", seed, [])
        assert told.setdefault(seed, r.text) == r.text, "the same seed chose others"
    assert len(set(told.values())) > 1, told


def test_cxx(t):
    """bad_alloc, nothrow and the new handler, recorded and sampled: as without silt."""
    program, library = build(t, "throws", THROWS, "g++"), shim(t)
    for args in ([], ["handler"]):
        for nth in range(1, 20):
            truth = run([program, *args], env={"LD_PRELOAD": library, "FAIL_SHIM_NTH": str(nth)})
            for mode in ([], ["--sample", "1K"], ["--sample", "64M"]):
                r = run([t.silt.path, "run", "-q", "-f", "--no-symbols", "-o", t.path("a.silt"), *mode, "--fail-nth", str(nth), "--", program, *args])
                assert (r.code, r.text) == (truth.code, truth.text), (args, nth, mode, r.text, truth.text, r.errors)


def test_children(t):
    careful = build(t, "careful", CAREFUL)
    argv = ["sh", "-c", f"{careful}; {careful}"]
    plain = run([t.silt.path, "run", "-q", "-f", "-o", t.path("a.silt"), "--fail-above", "9999", "--", *argv])
    assert plain.text == "end\nend\n", plain.text
    both = run([t.silt.path, "run", "-q", "-f", "-o", t.path("a.silt"), "--fail-above", "9999", "--fail-children", "--", *argv])
    assert both.text == "no 10000\nend\nno 10000\nend\n", both.text


def test_lab_takes_them(t):
    careful = build(t, "careful", CAREFUL)
    r = run([t.silt.path, "lab", "-f", "-o", t.path("a.silt"), "--fail-nth", "5", "--", careful])
    assert r.code == 7 and "made to fail: allocation 5" in r.errors, r.errors
    r = run([t.silt.path, "run", "--fail-seed", "3", "--", careful])
    assert r.code == 125 and "--fail-seed" in r.errors and r.errors.count("\n") == 1, r.errors
