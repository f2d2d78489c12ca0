# SPDX-License-Identifier: MIT
"""`silt diff`: one source built in many ways is the same program; one site changed by known bytes is all that is told."""

import os
import re
import shutil
import subprocess

from harness.answer import parse
from harness.cases import skip

# One call path each for: a plain function, two instances of a template, two lambdas, a method through a virtual call, a
# static function that one caller may have inlined, a function whose last call may become a jump, a helper that calls itself.
CXX = """
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>
namespace {
struct Store { void *at[20000]; int n; };
}
static Store store;
static void keep(void *p) { store.at[store.n++] = p; }
namespace shop {
template <class T> struct Cache {
        __attribute__((noinline)) void insert(T key) { keep(std::malloc(CACHE_BYTES + sizeof(T))); (void)key; }
};
struct Plugin { virtual void load(unsigned n) = 0; virtual ~Plugin() = default; };
struct Fonts : Plugin { void load(unsigned n) override; };
void Fonts::load(unsigned n) { for (unsigned i = 0; i < n; i++) keep(std::malloc(FONT_BYTES)); }
static void *helper(std::size_t n) { void *p = std::malloc(n); std::memset(p, 1, n); return p; }
__attribute__((noinline)) void *jump(std::size_t n) { return helper(n); }
__attribute__((noinline)) void walk(int depth) { if (depth) { walk(depth - 1); asm volatile("" ::: "memory"); } else keep(std::malloc(WALK_BYTES)); }
void visit(const std::function<void(int)> &f) { for (int i = 0; i < N; i++) f(i); }
#ifdef EXTRA_BYTES
__attribute__((noinline)) void extra() { keep(std::malloc(EXTRA_BYTES)); }
#endif
void run() {
        Cache<int> ints;
        Cache<long> longs;
        auto first = [](int i) { keep(std::malloc(LAMBDA_BYTES + i % 2)); };
        auto second = [&](int) { keep(new char[70]); };
        for (int i = 0; i < N; i++) {
                ints.insert(i);
                longs.insert(i);
                walk(i % 9);
                keep(jump(JUMP_BYTES));
                std::free(std::malloc(24));
        }
        visit(first);
        visit(second);
        std::vector<std::string> names;
        for (int i = 0; i < N; i++)
                names.push_back(std::string(60, 'x'));
        keep(new std::vector<std::string>(names));
#ifdef EXTRA_BYTES
        extra();
#endif
}
}
int main() {
        std::unique_ptr<shop::Plugin> plugin(new shop::Fonts);
        plugin->load(N);
        shop::run();
        return store.n == 0;
}
"""

SIZES = {"CACHE_BYTES": 100, "FONT_BYTES": 300, "WALK_BYTES": 80, "JUMP_BYTES": 120, "LAMBDA_BYTES": 90}
# which function each size belongs to
ASKERS = {"CACHE_BYTES": "Cache<", "FONT_BYTES": "Fonts::load", "WALK_BYTES": "walk", "JUMP_BYTES": "helper|jump|run", "LAMBDA_BYTES": r"lambda|\$_"}

BUILDS = {
    "gcc O0": ["g++", "-O0", "-g"],
    "gcc O2": ["g++", "-O2", "-g"],
    "gcc O3, no debug information": ["g++", "-O3"],
    "gcc Os": ["g++", "-Os", "-g"],
    "clang O0": ["clang++", "-O0", "-g"],
    "clang O2": ["clang++", "-O2", "-g"],
    "clang O2, no debug information": ["clang++", "-O2"],
}


def build(t, name, text, compiler, defines, extra=()):
    """In a folder of its own, so that paths differ too."""
    if not shutil.which(compiler[0]):
        skip(f"{compiler[0]} is not installed")
    folder = t.path("build " + name)
    os.makedirs(folder)
    ending = ".rs" if compiler[0] == "rustc" else ".cc"
    source, out = os.path.join(folder, "shop" + ending), os.path.join(folder, "shop-" + re.sub(r"\W", "", name))
    with open(source, "w") as f:
        f.write(text)
    cxx = [] if ending == ".rs" else ["-std=c++17", "-fno-builtin-malloc", "-fno-builtin-free"]
    argv = [*compiler, *cxx, *[f"-D{k}={v}" for k, v in defines.items()], *extra, "-o", out, source]
    if compiler[0] == "g++":
        argv.insert(1, "-fno-allocation-dce")
    r = subprocess.run(argv, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return out


def record(t, program, trace, argv=()):
    r = t.silt.record(t.path(trace), [program, *argv], ["-f"])
    assert r.code == 0, r.errors
    return t.path(trace)


def diff(t, old, new, *options, code=None):
    r = t.silt.command("diff", old, new, "--json", *options)
    assert r.code in (0, 1) and r.stderr == b"", r.errors
    got = parse(r.text)
    assert got["schema"] == "silt.diff/1" and got["found"] == (r.code == 1), got["text"]
    assert code is None or r.code == code, got["text"]
    return got


def told(got):
    return [(f["status"], f["function"], f["change"]) for f in got["functions"] if f["of_note"]]


def test_builds_of_one_source_are_the_same(t):
    n = t.chance.randint(150, 300)
    traces = {}
    for i, (name, compiler) in enumerate(BUILDS.items()):
        if not shutil.which(compiler[0]):
            continue
        moved = "// a line\n" * t.chance.randint(0, 40) + CXX
        traces[name] = record(t, build(t, name, moved, compiler, {**SIZES, "N": n}), f"{i}.silt")
    first = list(traces)[0]
    pairs = [(a, b) for a in traces for b in traces if a < b]
    for a, b in t.chance.sample(pairs, t.count(8, len(pairs))):
        for metric in ("peak", "end", "allocated", "count"):
            got = diff(t, traces[a], traces[b], "--by", metric)
            assert not got["found"], f"{a} / {b} by {metric}: {got['text']} {told(got)}"
            assert not [s for s in got["sites"] if s["of_note"]], f"{a} / {b}"
    t.notes.append(f"{len(traces)} builds, the first {first}")


def test_one_changed_size_is_all_that_is_told(t):
    n, more = t.chance.randint(200, 300), t.chance.randint(40, 90)
    compilers = [c for c in BUILDS.values() if shutil.which(c[0])]
    old = record(t, build(t, "old", CXX, compilers[1], {**SIZES, "N": n}), "old.silt")
    for i, key in enumerate(SIZES):
        compiler = compilers[i % len(compilers)]
        changed = {**SIZES, "N": n, key: SIZES[key] + more}
        new = record(t, build(t, f"new {i}", "\n\n\n" + CXX, compiler, changed), "new.silt")
        expected = n * more * (2 if key == "CACHE_BYTES" else 1)
        got = diff(t, old, new, code=1)
        assert got["change"] == expected and got["totals"]["peak_live_bytes"]["change"] == expected, f"{key}: {got['text']}"
        rows = told(got)
        assert len(rows) == (2 if key == "CACHE_BYTES" else 1), f"{key} {compiler}: {rows}"
        assert sum(change for _, _, change in rows) == expected, f"{key} {compiler}: {rows}"
        assert all(status == "grown" and re.search(ASKERS[key], name) for status, name, _ in rows), f"{key} {compiler}: {rows}"
        back = diff(t, new, old, code=1)
        assert back["change"] == -expected and [s for s, _, _ in told(back)] == ["shrunk"] * len(rows), told(back)
        diff(t, old, new, "--by", "count", code=0)


def test_new_and_gone(t):
    n, extra = 200, t.chance.randint(30_000, 60_000)
    old = record(t, build(t, "old", CXX, ["g++", "-O2", "-g"], {**SIZES, "N": n}), "old.silt")
    new = record(t, build(t, "new", CXX, ["g++", "-O2", "-g"], {**SIZES, "N": n, "EXTRA_BYTES": extra}), "new.silt")
    got = diff(t, old, new, code=1)
    assert told(got) == [("new", "shop::extra()", extra)], told(got)
    assert got["sites"][0]["status"] == "new" and got["sites"][0]["stack"][0]["function"] == "shop::extra()"
    assert "shop::extra is new with" in got["text"], got["text"]
    assert told(diff(t, new, old, code=1)) == [("gone", "shop::extra()", -extra)]
    # what is below the limit is not of note, and a limit of nothing tells everything
    diff(t, old, new, "--min-change", "50%", code=0)
    diff(t, old, new, "--min-change", str(extra + 1), code=0)
    diff(t, old, new, "--min-change", str(extra), code=1)
    diff(t, old, old, "--min-change", "0", code=0)
    # filters hold for both
    diff(t, old, new, "--not-function", "extra", code=0)
    assert diff(t, old, new, "--function", "extra", code=1)["totals"]["peak_live_bytes"]["new"] == extra


RUST = """
use std::collections::HashMap;
#[inline(never)] fn fill<T: Clone>(v: &mut Vec<Vec<T>>, x: T, n: usize) { for _ in 0..n { v.push(vec![x.clone(); FILL]); } }
#[inline(never)] fn index(n: usize) -> HashMap<usize, String> { (0..n).map(|i| (i, "y".repeat(REPEAT + i % 3))).collect() }
fn main() {
    let (mut a, mut b): (Vec<Vec<u8>>, Vec<Vec<u64>>) = (Vec::new(), Vec::new());
    fill(&mut a, 1u8, 400);
    fill(&mut b, 2u64, 200);
    let boxed: Vec<Box<dyn Fn(usize) -> Vec<u8>>> = vec![Box::new(|n| vec![0u8; n]), Box::new(|n| vec![1u8; n * 2])];
    let c: Vec<Vec<u8>> = (0..500).map(|i| boxed[i % 2](100)).collect();
    let m = index(300);
    std::process::exit(if a.len() + b.len() + c.len() + m.len() == 0 { 1 } else { 0 });
}
"""


def test_rust_built_twice(t):
    """Hashes, manglings and optimisation differ."""
    text = RUST.replace("FILL", "64").replace("REPEAT", "90")
    ways = [["-C", "metadata=one"], ["-C", "metadata=two", "-O"], ["-C", "symbol-mangling-version=v0", "-O"],
            ["-C", "metadata=three", "-C", "codegen-units=1", "-C", "opt-level=3"]]
    traces = []
    for i, way in enumerate(ways):
        program = build(t, f"r{i}", "\n" * i + text, ["rustc", "--edition", "2021", "-g"], {}, way)
        traces.append(record(t, program, f"{i}.silt"))
    for i, old in enumerate(traces):
        for new in traces[i + 1:]:
            for metric in ("peak", "allocated", "count"):
                got = diff(t, old, new, "--by", metric)
                assert not got["found"], f"{ways[i]} by {metric}: {got['text']} {told(got)}"
    grown = build(t, "grown", RUST.replace("FILL", "64").replace("REPEAT", "190"), ["rustc", "--edition", "2021", "-g"], {}, ["-O"])
    got = diff(t, traces[1], record(t, grown, "grown.silt"), code=1)
    rows = told(got)
    assert got["change"] == 300 * 100 and len(rows) == 1 and rows[0][2] == 30_000 and "index" in rows[0][1], rows


def test_the_same_run_twice_says_nothing(t):
    """What really is the same each time: silt adds no difference."""
    sql = """create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000)
    insert into t select x, hex(x * 7919) from c; create index i on t(b); select count(*) from t;"""
    programs = {"threads": [t.program("threads")], "containers": [t.program("containers")], "fork_tree": [t.program("fork_tree")],
                "sqlite": ["sqlite3", ":memory:", sql], "sort": ["sort", "--parallel=4", "/etc/services"]}
    for name, argv in programs.items():
        if not shutil.which(argv[0]) or not os.path.exists("/etc/services") and name == "sort":
            continue
        for i in range(2):
            t.silt.record(t.path(f"{name}.{i}.silt"), argv, ["-f", "--wait"])
        for metric in ("end", "allocated", "count"):
            diff(t, t.path(f"{name}.0.silt"), t.path(f"{name}.1.silt"), "--by", metric, code=0)
        diff(t, t.path(f"{name}.0.silt"), t.path(f"{name}.0.silt"), "--process", "all", "--min-change", "0", code=0)


RACY = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *lost[4000];
static int n_lost;
__attribute__((noinline)) char *ask(unsigned n) { char *p = malloc(n); p[0] = 1; return p; }
__attribute__((noinline)) char *parse(unsigned n) { return ask(n) + (n == 7); }
__attribute__((noinline)) char *respond(unsigned n) { char *p = malloc(n); p[0] = 1; return p; }
__attribute__((noinline)) char *render(unsigned n) { char *p = malloc(n); p[0] = 1; return p; }
static void *work(void *a) {
        unsigned s = (unsigned)(long)a * 7919 + 1;
        for (int i = 0; i < 200; i++) {
                s = s * 1103515245 + 12345;
                unsigned k = (s >> 16) % 5;
                char *x = parse(10000 + k * 20000);
                usleep(500);
                char *y = respond(20000 + (s >> 20) % 7 * 20000);
                usleep(300 + (s >> 18) % 700);
                char *z = render(5000 + k * 9000);
                usleep(200);
                free(x);
                free(z);
                if (LEAK && i % LEAK == 0)
                        lost[__atomic_fetch_add(&n_lost, 1, __ATOMIC_RELAXED)] = y;
                else
                        free(y);
        }
        return NULL;
}
int main(void) {
        pthread_t t[8];
        for (long i = 0; i < 8; i++)
                pthread_create(&t[i], NULL, work, (void *)i);
        for (int i = 0; i < 8; i++)
                pthread_join(t[i], NULL);
        return 0;
}
"""


def test_racing_threads_are_chance(t):
    """The peak is another one each time; a leak is told all the same."""
    programs = {}
    for leak in (0, 20):
        source, programs[leak] = t.path(f"racy{leak}.c"), t.path(f"racy{leak}")
        with open(source, "w") as f:
            f.write(RACY)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-pthread", f"-DLEAK={leak}", "-o", programs[leak], source], check=True)
    n = t.count(4, 12)
    for _ in range(3):  # one run in which the machine stood still is part of half the pairs of four
        traces = [record(t, programs[0], f"{i}.silt") for i in range(n)]
        pairs = [(a, b) for a in traces for b in traces if a < b]
        found = [got["text"] for got in (diff(t, a, b) for a, b in pairs) if got["found"]]
        codes = [t.silt.command("check", b, "--against", a, "--fail-above", "0%").code for a, b in pairs]
        if len(found) * 5 <= len(pairs) and codes.count(1) * 5 <= len(pairs):
            break
    assert len(found) * 5 <= len(pairs), f"{len(found)} of {len(pairs)}: {found}"
    got = diff(t, traces[0], record(t, programs[20], "leak.silt"), code=1)
    assert told(got)[0][:2] == ("grown", "respond"), told(got)
    strict = [t.silt.command("check", b, "--against", a, "--fail-above", "0%", "--strict").code for a, b in pairs]
    assert codes.count(1) * 5 <= len(pairs) and strict.count(1) >= codes.count(1), (codes, strict)
    assert strict.count(1) > codes.count(1) or n < 12, (codes, strict)  # of four runs all may be alike
    r = t.silt.command("check", t.path("leak.silt"), "--against", traces[0])
    assert r.code == 1 and "respond" in r.text, r.text
    got = diff(t, traces[0], traces[1], "--full")
    t.notes.append(f"{len(pairs)} pairs, {len(found)} of note {found[:2]}; {sum(f['flutters'] for f in got['functions'])} functions flutter in the first")


PHASES = """
#include <stdlib.h>
#include <time.h>
static void *kept[4000];
__attribute__((noinline)) void warm(void) { for (int i = 0; i < 1000; i++) kept[i] = malloc(100); }
__attribute__((noinline)) void work(void) { for (int i = 1000; i < 3000; i++) kept[i] = malloc(50); }
static void pause_ms(int ms) { struct timespec t = {0, ms * 1000000l}; nanosleep(&t, NULL); }
int main(void) { warm(); pause_ms(600); work(); pause_ms(600); return kept[5] == NULL; }
"""


def test_windows_of_one_trace(t):
    path = t.path("phases.c")
    with open(path, "w") as f:
        f.write(PHASES)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-o", t.path("phases"), path], check=True)
    trace = record(t, t.path("phases"), "p.silt")
    for old, new, options in ((trace + "@400ms", "@1000ms", []), (trace, "--at", ["400ms", "--at", "1000ms"])):
        r = t.silt.command("diff", "--json", old, new, *options)
        got = parse(r.text)
        assert r.code == 1 and got["metric"] == "end", r.errors
        assert told(got) == [("new", "work", 100_000)], told(got)
        assert got["totals"]["end_live_bytes"] == {"old": 100_000, "new": 200_000, "change": 100_000, "change_pct": 100.0}
    got = diff(t, trace + "@..500ms", "@500ms..", "--by", "allocated", code=1)
    assert got["change"] == 0 and sorted(told(got)) == [("new", "work", 100_000), ("shrunk", "warm", -100_000)], told(got)
    got = diff(t, trace + "@..500ms", "@500ms..", "--per-second", code=1)
    assert got["metric"] == "allocated" and got["per_second"] and abs(got["change"]) > 1000


def test_call_paths_are_those_of_the_report(t):
    old = record(t, build(t, "old", CXX, ["g++", "-O2", "-g"], {**SIZES, "N": 50}), "old.silt")
    new = record(t, build(t, "new", CXX, ["g++", "-O0", "-g"], {**SIZES, "N": 50, "FONT_BYTES": 900}), "new.silt")
    paths = parse(t.silt.command("diff", "--json", old, new).text)["totals"]["call_paths"]
    for side, trace in (("old", old), ("new", new)):
        assert paths[side] == t.silt.report(trace)[0]["totals"]["sites"], (side, paths)


def test_text(t):
    old = record(t, build(t, "old", CXX, ["g++", "-O2", "-g"], {**SIZES, "N": 250}), "old.silt")
    new = record(t, build(t, "new", CXX, ["g++", "-O2", "-g"], {**SIZES, "N": 250, "FONT_BYTES": 900}), "new.silt")
    for columns in (60, 80, 120, 200):
        for locale in ("C.UTF-8", "C"):
            env = {**os.environ, "COLUMNS": str(columns), "LC_ALL": locale}
            for options in ([], ["--by", "count"], ["--full"], ["--by", "allocated", "--per-second"]):
                r = t.silt.command("diff", old, new, *options, env=env)
                assert r.code in (0, 1) and r.stderr == b"" and "\033" not in r.text, r.errors
                lines = r.text.splitlines()
                too_long = [x for x in lines if len(x) > columns and "--full" not in options]
                assert not too_long, f"{columns}: {too_long}"
                assert not [x for x in lines if x != x.rstrip()], lines
                assert locale != "C" or r.text.isascii()
    r = t.silt.command("diff", old, new, env={**os.environ, "COLUMNS": "200"})
    first = r.text.splitlines()[0]
    assert re.match(r"NEW peaks at [\d.]+ KiB, 146\.5 KiB more than OLD \(\+\d+ %\); shop::Fonts::load alone grew by 146\.5 KiB\.$", first), first


def test_what_a_side_lacks_comes_first(t):
    whole = record(t, "sh", "whole.silt", ["-c", "true"])
    cut = t.path("cut.silt")
    with open(whole, "rb") as f, open(cut, "wb") as out:
        out.write(f.read()[:-40])
    for old, new, side in ((whole, cut, "NEW"), (cut, whole, "OLD")):
        text = t.silt.command("diff", old, new).text
        assert text.startswith(f"! {side}: ") and "\nOLD: " in text, text[:300]
    assert not t.silt.command("diff", whole, whole).text.startswith("!")


def test_refused(t):
    trace = record(t, t.program("basic"), "t.silt")
    for argv, why in (([trace, t.path("none.silt")], "cannot open"), ([trace, __file__], "not a"),
                      ([trace, trace, "--from", "1h"], "only"), ([trace + "@2h", "@3h"], "only"),
                      ([trace, trace, "--process", "nobody"], "'nobody': no such process: use all, main, or one of "),
                      ([trace, trace, "--process", "1"], "'1': no such process"),
                      ([trace, trace, "--per-second", "--by", "peak"], "not a rate"), ([trace], "one trace given"),
                      ([trace, trace, "--alive-at", "2h"], "")):
        r = t.silt.command("diff", *argv)
        assert r.code == 2 and r.text == "" and why in r.errors, (argv, r.errors)
        assert r.errors.startswith("silt: ") and r.errors.count("\n") == 1, r.errors
    r = t.silt.command("diff", "--help")
    assert r.code == 0 and "examples:" in r.text


def test_processes(t):
    trace = record(t, t.program("fork_tree"), "t.silt")
    name = os.path.basename(t.program("fork_tree"))
    pid = parse(t.silt.command("report", "--json", trace).text)["processes"][1]["pid"]
    for who in ("main", "all", str(pid), f"{pid},main", f"main,{pid}", f"{pid}.1"):
        r = t.silt.command("diff", trace, trace, "--process", who)
        assert r.code in (0, 1) and r.stderr == b"", (who, r.errors)
    got = diff(t, trace, trace, "--process", f"{pid},main")
    assert got["old"]["pid"] == pid
    assert diff(t, trace, trace)["old"]["pid"] is None  # all of them
    r = t.silt.command("diff", trace, trace, "--process", f"{pid},{name}")
    assert r.code == 2 and f"'{name}': 7 processes have this name: give the pid of one: " in r.errors, r.errors
