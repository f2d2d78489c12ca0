# SPDX-License-Identifier: MIT
"""Programs that are over in a moment: a leak beside blocks that are released is one, however short; a program that releases
nothing has built something, and nobody can say more."""

import os
import subprocess

LEAK = """
#include <stdlib.h>
static void *volatile last;
__attribute__((noinline)) void *take(void) { return malloc(SIZE); }
__attribute__((noinline)) void work(int i) { void *p = malloc(30 + i % 50); last = p; free(p); }
int main(void) {
        for (int i = 0; i < N; i++) { work(i); work(i + 1); if (i % EVERY == 0) { last = take(); if (IS_MENDED) free(last); } }
        return 0;
}
"""

TABLE = """
#include <stdlib.h>
static void *volatile last;
__attribute__((noinline)) void *entry(void) { return malloc(SIZE); }
int main(void) { for (int i = 0; i < N; i++) last = entry(); if (DOES_CRASH) abort(); return 0; }
"""


def record(t, source, **defines):
    program, trace = t.path("p"), t.path("t.silt")
    with open(program + ".c", "w") as f:
        f.write(source)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program, *(f"-D{k}={v}" for k, v in defines.items())], check=True)
    t.silt.record(trace, [program], ["-f"])
    got, why = t.silt.report(trace)
    assert got, why
    return got["findings"], t.silt.command("report", trace, env={**os.environ, "COLUMNS": "200"}).text


def test_a_leak_of_a_moment(t):
    for _ in range(t.count(4, 40)):
        size, n, every = t.chance.randint(50, 3000), t.chance.randint(400, 5000), t.chance.randint(1, 8)
        found, _ = record(t, LEAK, SIZE=size, N=n, EVERY=every, IS_MENDED=0)
        n_left = (n + every - 1) // every
        told = [(f["kind"], f["text"]) for f in found]
        assert found and found[0]["kind"] in ("leak", "growing") and "take" in found[0]["text"], (size, n, every, told)
        assert found[0]["bytes"] == n_left * size, (size, n, every, told)
        found, _ = record(t, LEAK, SIZE=size, N=n, EVERY=every, IS_MENDED=1)
        assert not [f for f in found if f["kind"] in ("leak", "growing", "left-at-end")], found


def test_not_a_table_that_is_built(t):
    for crash in (0, 1):
        size, n = t.chance.randint(100, 3000), t.chance.randint(500, 3000)
        found, text = record(t, TABLE, SIZE=size, N=n, DOES_CRASH=crash)
        assert not [f for f in found if f["kind"] in ("leak", "growing")], (size, n, found)
        assert found[-1]["kind"] == "left-at-end" and found[-1]["bytes"] == size * n, found
        assert "nothing to worry about" not in text and "This run does not show" in text, text
