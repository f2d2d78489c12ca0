# SPDX-License-Identifier: MIT
"""`silt sql` against SQLite itself: statements drawn at random are asked of a trace and of the file that `silt export --format sqlite` makes of it, and
the answers are equal. Several kinds of traces, because each has answers of its own."""

import csv
import io
import os
import shutil
import subprocess

from harness.cases import skip
from harness.process import run
from harness.sql_truth import Draw, Truth

BATCH = 20

# Threads that free what others allocated, blocks that move, and blocks that stay.
THREADS = """
#include <pthread.h>
#include <stdlib.h>
static void *kept[200];
static inline __attribute__((always_inline)) void *inner(int n) { return malloc(n); }
__attribute__((noinline)) static void *keep(int n) { return inner(n); }
__attribute__((noinline)) static void churn(int n) { free(inner(n)); }
static void *work(void *p) {
        void **mine = p;
        for (int i = 0; i < 40; i++) {
                churn(i);
                mine[i % 25] = realloc(mine[i % 25], 10 + i * 7 % 90);
                if (i % 10 == 0) { free(mine[(i + 5) % 25]); mine[(i + 5) % 25] = NULL; }
        }
        return NULL;
}
int main(void) {
        pthread_t threads[4];
        for (int i = 0; i < 100; i++) { kept[i] = keep(i % 30 + 1); if (i % 3 == 0) churn(i + 1); }
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, &kept[i * 50]);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < 200; i += 3) { free(kept[i]); kept[i] = NULL; }
        return 0;
}
"""
SQL = "create table a(x); with recursive c(n) as (select 1 union all select n + 1 from c where n < 60) insert into a select hex(n) from c; select count(*) from a;"


def recorded(t, argv, *options, name="t.silt"):
    r = t.silt.record(t.path(name), argv, ["-f", *options])
    assert r.code == 0, r.errors
    return t.path(name)


def threads_program(t):
    program = t.path("threads")
    with open(program + ".c", "w") as f:
        f.write(THREADS)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program, "-lpthread"])
    assert r.code == 0, r.errors
    return program


def truth_of(t, trace, **what):
    r = t.silt.command("export", trace, "--format", "sqlite", "-f", "-o", t.path("t.sqlite"))
    assert r.code == 0, r.errors
    return Truth(t.path("t.sqlite"), **what)


def ask(t, trace, statements):
    """The rows of each, in no order: one text a row, `answer` the name of the only column."""
    r = subprocess.run([t.silt.path, "sql", "--csv", trace, "-"], input=";\n".join(statements).encode("utf-8", "surrogateescape"), capture_output=True)
    answers = []
    for row in csv.reader(io.StringIO(r.stdout.decode("utf-8", "surrogateescape"), newline="")):
        if row == ["answer"]:
            answers.append([])
        elif row:
            answers[-1].append(row[0])
    told = r.stderr.decode("utf-8", "replace")
    assert r.returncode == 0 and len(answers) == len(statements), "\n".join([told, "asked one of:", *statements[max(len(answers) - 1, 0):][:2]])
    return [sorted(rows) for rows in answers]


def compare(t, trace, n, **what):
    truth = truth_of(t, trace, **what)
    draw = Draw(truth, t.chance)
    n_asked = n_told = 0
    while n_asked < n:
        here, wanted = [], []
        while len(here) < min(BATCH, n - n_asked):
            statement, there = draw.statement()
            rows = truth.answer(there)
            if rows is not None:
                here.append(statement)
                wanted.append(rows)
        for statement, got, want in zip(here, ask(t, trace, here), wanted):
            assert got == want, (f"{statement}\n{len(got)} rows, {len(want)} wanted; "
                                 f"too many: {[x for x in got if x not in want][:3]}, missing: {[x for x in want if x not in got][:3]}")
            n_told += bool(want) and want != ["[0]"]
        n_asked += len(here)
    assert n_told >= n // 4, f"only {n_told} of {n} statements had an answer to compare"
    t.notes.append(f"{n} statements, {n_told} with an answer")


def test_threads(t):
    compare(t, recorded(t, [threads_program(t)]), t.count(120, 800))


def test_addresses_and_free_stacks(t):
    compare(t, recorded(t, [threads_program(t)], "--addresses", "--free-stacks"), t.count(40, 200))


def test_real_program(t):
    program = shutil.which("sqlite3") or skip("no sqlite3")
    compare(t, recorded(t, [program, ":memory:", SQL]), t.count(60, 400))


def test_several_processes(t):
    # what is alive where a process has ended is told by rules of its own (docs/query.md)
    program = threads_program(t)
    compare(t, recorded(t, ["sh", "-c", f"{program}; ls / >/dev/null; (ls /; ls /tmp) | cat >/dev/null; {program}"]), t.count(50, 300), has_live=False)


def test_samples(t):
    compare(t, recorded(t, [threads_program(t)], "--sample", "64"), t.count(40, 150))


def test_cut_off(t):
    # long enough to have events before the cut
    script = 'my %x; for my $k (1 .. 5) { $x{"$k $_"} = "a" x $_ for 1 .. 40; delete $x{"$k $_"} for 1 .. 30; select undef, undef, undef, 0.3 }'
    trace = recorded(t, [shutil.which("perl") or skip("no perl"), "-e", script])
    os.truncate(trace, os.path.getsize(trace) * 9 // 10)
    compare(t, trace, t.count(40, 150), has_live=False)
