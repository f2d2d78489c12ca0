# SPDX-License-Identifier: MIT
"""Time and memory of one recording (`silt run --cpu`): every view has the same sums, each figure its own unit, and what the program does is
what the findings say: a hot function, a lock that another holds, and an allocator that is called much."""

import re

from cases.cpu import needs_samples
from harness.answer import parse
from harness.process import run

# One thread holds the lock while it works, by its own clock; the other has said before that it will ask for it.
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#define APART __attribute__((noinline, noclone))
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static volatile unsigned long sink;
static long cpu_ms(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
APART void find_route(long ms) { long end = cpu_ms() + ms; while (cpu_ms() < end) for (int i = 0; i < 20000; i++) sink += i; }
APART void parse_rows(void) { for (int i = 0; i < 300000; i++) { char *p = malloc(40 + i % 100); p[0] = 1; sink += p[0]; free(p); } sink++; }
APART void serve(void) { pthread_mutex_lock(&lock); pthread_barrier_wait(&held); find_route(400); pthread_mutex_unlock(&lock); parse_rows(); }
APART void wait_turn(void) { pthread_mutex_lock(&lock); sink++; pthread_mutex_unlock(&lock); sink++; }
static void *second(void *a) { pthread_barrier_wait(&held); wait_turn(); return a; }
int main(void) {
        pthread_t t;
        pthread_barrier_init(&held, NULL, 2);
        pthread_create(&t, NULL, second, NULL);
        serve();
        return pthread_join(t, NULL);
}
"""
N_ALLOCATIONS = 300000
BYTES = re.compile(r"\d (?:[KMG]i)?B\b|\bbytes\b")


def build(t, name, *flags):
    program = t.path(name)
    with open(program + ".c", "w") as f:
        f.write(PROGRAM)
    r = run(["gcc", *flags, "-O1", "-fno-builtin", "-pthread", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    return program


def record(t):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [build(t, "program", "-g")], ["-f", "--cpu"])
    needs_samples(r)
    assert r.code == 0, r.errors
    return trace


def told(t, *argv):
    r = t.silt.command(*argv, "--json")
    assert r.code == 0, (argv, r.errors)
    return parse(r.stdout)


def text(t, *argv):
    r = t.silt.command(*argv)
    assert r.code == 0, (argv, r.errors)
    return r.text


def check_sums(t, trace, metric):
    report = told(t, "report", trace, "--by", metric, "--top", "100000")
    whole = report["time"][metric + "_ns"]
    top = report["top"][0]
    assert top["metric"] == metric and top["unit"] == "nanoseconds" and whole > 0, top
    sums = {"top": sum(s["time_ns"] for s in top["sites"])}
    assert all(s["bytes"] == 0 and s["blocks"] is None for s in top["sites"]), top
    for by in ("site", "function", "component", "thread", "process") if metric == "cpu" else ("line", "thread"):
        groups = told(t, "report", trace, "--by", metric, "--group-by", by, "--top", "100000")
        sums[by] = sum(g["self"]["time_ns"] for g in groups["groups"])
        rows = [*groups["groups"], groups["rest"]]
        sums[by + " over time"] = sum(sum(g.get("time_ns", [])) for g in rows)
        assert not any("live_bytes" in g for g in rows), groups
    for shape in ("--tree", "--bottom-up"):
        sums[shape] = told(t, "report", trace, "--by", metric, shape)["nodes"][0]["total"]["value"]
    rows = told(t, "sql", trace, f"SELECT sum(weight_ns) FROM ticks WHERE state = '{metric}'")
    sums["sql"] = rows["rows"][0][0]
    rows = told(t, "sql", trace, f"SELECT sum(weight_ns) FROM ticks WHERE state = '{metric}' AND time_ns < 100000000")
    rest = told(t, "sql", trace, f"SELECT sum(weight_ns) FROM ticks WHERE state = '{metric}' AND time_ns >= 100000000")
    sums["sql in two parts"] = sum(x["rows"][0][0] or 0 for x in (rows, rest))
    sums["threads"] = sum(x[metric + "_ns"] for x in report["time"]["threads"])
    if metric == "cpu":
        sums["parts"] = sum(report["time"]["spent_on"].values())
    assert set(sums.values()) == {whole}, (metric, whole, sums)
    same = told(t, "diff", trace, trace, "--by", metric)
    assert metric in str(same["metric"]), same["metric"]
    return report


def test_views_of_both(t):
    trace = record(t)
    report = check_sums(t, trace, "cpu")
    check_sums(t, trace, "blocked")
    found = {f["kind"]: f for f in report["findings"] if "time_ns" in f}
    assert {"hot-function", "lock-waiting"} <= set(found), found
    assert all(f["bytes"] == 0 and not BYTES.search(f["text"]) for f in found.values()), found
    assert found["hot-function"]["function"] == "find_route" and "called by serve" in found["hot-function"]["text"], found["hot-function"]
    assert found["lock-waiting"]["function"] == "wait_turn" and "pthread_mutex_lock" in found["lock-waiting"]["text"], found["lock-waiting"]
    # it asked before the other began to work, which took 400 ms of CPU time at least
    assert found["lock-waiting"]["time_ns"] >= 300_000_000, found["lock-waiting"]
    assert "find_route" in report["headline"] and "of CPU time" in report["headline"], report["headline"]
    functions = {f["function"]: f for f in report["time"]["functions"]}
    assert report["time"]["functions"][0]["function"] == "find_route"
    assert all(f["allocations"] == N_ALLOCATIONS for name, f in functions.items() if name in ("serve", "parse_rows")), functions
    assert told(t, "report", trace)["totals"]["allocations"] >= N_ALLOCATIONS
    both = told(t, "ask", trace, "both", "--top", "1000")
    rows = {row[both["columns"].index("function")]: row[both["columns"].index("allocations")] for row in both["rows"]}
    assert rows["serve"] == N_ALLOCATIONS and rows["find_route"] == 0, rows
    assert told(t, "ask", trace, "hot")["rows"][0][0] == "find_route" and told(t, "ask", trace, "blocked")["rows"]
    words_and_units(t, trace)


def words_and_units(t, trace):
    for argv in (["report", trace, "--by", "cpu", "--group-by", "function"], ["report", trace, "--by", "cpu", "--tree"],
                 ["report", trace, "--by", "blocked", "--bottom-up"], ["report", trace, "--by", "cpu", "--callers", "find_route"],
                 ["source", trace, "find_route", "--by", "cpu"], ["diff", trace, trace, "--by", "cpu"], ["ask", trace, "hot"],
                 ["report", trace, "--by", "cpu", "--group-by", "thread"]):
        said = text(t, *argv)
        assert not BYTES.search(said) and not re.search(r"\b(?:allocations?|blocks?)\b", said), (argv, said)
        assert re.search(r"\d (?:ms|s)\b", said), (argv, said)
    said = text(t, "report", trace, "--by", "cpu")
    assert "CPU time, by function" in said and "Blocked, by who waits" in said and "HEAP SUMMARY" not in said, said
    said = text(t, "report", trace)
    assert "of CPU time" in said and "peak live" in said and "HEAP SUMMARY" in said and "CPU time, by function" in said, said
    out = t.path("f.svg")
    assert t.silt.command("flame", trace, "--by", "cpu", "-o", out).code == 0
    with open(out, encoding="utf-8") as f:
        picture = f.read()
    assert "Threads on a CPU over time: at most " in picture and "memory" not in picture, picture[-2000:]
    assert "find_route" in picture and "sample" in picture and not re.search(r"\d (?:[KMG]i)?B\b", picture), picture[:2000]
    # what has no size and no life is not asked for it
    for argv in (["--size", "1K.."], ["--group-by", "size"], ["--blocks"], ["--histogram", "size"]):
        r = t.silt.command("report", trace, "--by", "cpu", *argv)
        assert r.code == 2 and r.errors.count("\n") == 1 and r.stdout == b"", (argv, r.code, r.errors, r.text[:300])


def test_time_alone(t):
    """Without lines and without allocations: a function is one, what was not recorded is not 0, and a limit is a limit."""
    both, trace = record(t), t.path("alone.silt")
    r = t.silt.command("cpu", "run", "-f", "-o", trace, "--", build(t, "plain"))
    assert r.code == 0, r.errors
    report = check_sums(t, trace, "cpu")
    check_sums(t, trace, "blocked")
    functions = {f["function"]: f["cpu_self_ns"] for f in report["time"]["functions"]}
    first = report["top"][0]["sites"][0]
    assert first["stack"][0]["function"] == "find_route" and first["time_ns"] == functions["find_route"], (first, functions)
    said = text(t, "report", trace)
    assert "+0x" not in said and "of the time went to code without source lines" in " ".join(said.split()), said
    # waits are measured and no samples: whoever is above a limit by a millisecond is above it
    blocked = report["time"]["blocked_ns"]
    for limit, code in ((blocked - 1_000_000, 1), (blocked + 1_000_000, 0)):
        r = t.silt.command("check", trace, "--max-blocked", f"{limit}ns")
        assert r.code == code, (limit, r.code, r.text)
    assert not any("standard_error" in s for s in told(t, "report", trace, "--by", "blocked")["top"][0]["sites"])
    for argv in (["report", trace, "--blocks"], ["report", trace, "--histogram", "size"], ["ask", trace, "both"], ["ask", trace, "biggest"],
                 ["sql", trace, "SELECT * FROM sites"], ["sql", trace, "SELECT * FROM timeline"]):
        r = t.silt.command(*argv)
        assert r.code == 2 and "no allocations" in r.errors and r.stdout == b"", (argv, r.code, r.errors, r.text[:300])
    figures = told(t, "sql", trace, "SELECT peak_bytes, end_bytes, allocations FROM processes UNION ALL SELECT allocations, frees, NULL FROM threads")
    assert all(value is None for row in figures["rows"] for value in row), figures["rows"]
    assert "waits" in text(t, "report", trace, "--by", "blocked", "--group-by", "thread")
    for old, new in ((both, trace), (trace, both)):
        r = t.silt.command("check", new, "--against", old, "--strict")
        assert r.code == 2 and "could not be done" in r.text, (r.code, r.text)
        for metric in ([], ["--by", "peak"]):
            r = t.silt.command("diff", old, new, *metric)
            assert r.code == 2 and "--by cpu" in r.errors, (r.code, r.errors)
        assert t.silt.command("diff", old, new, "--by", "cpu").code in (0, 1)


def test_without_samples(t):
    trace = t.path("plain.silt")
    assert t.silt.record(trace, ["true"], ["-f"]).code == 0
    for argv in (["report", trace, "--by", "cpu"], ["flame", trace, "--by", "blocked", "-o", t.path("x.svg")], ["ask", trace, "hot"],
                 ["sql", trace, "SELECT * FROM ticks"]):
        r = t.silt.command(*argv)
        assert r.code == 2 and r.errors.count("\n") == 1 and "silt cpu run" in r.errors, (argv, r.code, r.errors)
    assert told(t, "report", trace)["time"] is None
