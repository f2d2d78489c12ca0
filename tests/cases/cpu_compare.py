# SPDX-License-Identifier: MIT
"""Two recordings of time compared: what moved from one function to another is told, the whole is no matter of chance, and a limit on growth
is held against the figure."""

from cases.cpu import needs_samples
from harness.answer import parse
from harness.process import run

# The same outer functions; the work is done by the one or in the other, for so many milliseconds of the thread's own clock.
PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define APART __attribute__((noinline, noclone))
static volatile unsigned long sink;
static long now_ms(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
#define SPIN(ms) for (long end = now_ms() + (ms); now_ms() < end;) for (int i = 0; i < 200000; i++) sink += i
APART void find_route(long ms) { SPIN(ms); sink++; }
APART void serve(const char *who, long ms) { if (strcmp(who, "itself") == 0) { SPIN(ms); } else { find_route(ms); } sink++; }
int main(int n, char **argv) { (void)n; serve(argv[1], atol(argv[2])); return 0; }
"""


def record(t, program, who, ms):
    trace = t.path(f"{who}{ms}.silt")
    r = t.silt.command("cpu", "run", "-f", "-o", trace, "--", program, who, str(ms))
    needs_samples(r)
    assert r.code == 0, r.errors
    return trace


def test_compare(t):
    program = t.path("program")
    with open(program + ".c", "w") as f:
        f.write(PROGRAM)
    r = run(["gcc", "-g", "-O1", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    old, new = record(t, program, "itself", 400), record(t, program, "helper", 350)

    r = t.silt.command("diff", old, new, "--json")
    assert r.code == 1, (r.code, r.errors)
    status = {f["function"]: f["status"] for f in parse(r.stdout)["functions"] if f["of_note"]}
    assert status["serve"] == "gone" and status["find_route"] == "new", status
    said = " ".join(t.silt.command("diff", old, new).text.split())
    assert "less than OLD" in said and "chance" not in said.split("OLD:")[0], said
    assert "serve" in said and "was serve" not in said, said

    # 14 % more: far from a clock's error of a period for each thread
    r = t.silt.command("check", old, "--against", new, "--by", "cpu")
    assert r.code == 1 and "CPU time" in r.text, (r.code, r.text)
    r = t.silt.command("check", new, "--against", old, "--by", "cpu")
    assert r.code == 0 and "holds" in r.text, (r.code, r.text)

    same = " ".join(t.silt.command("diff", old, old).text.split())
    assert same.startswith("No difference") and "as OLD does." in same, same
