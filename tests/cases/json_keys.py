# SPDX-License-Identifier: MIT
"""Each key occurs once in every object of every command's --json: readers keep the last, silently."""

import os
import re

from harness.answer import parse
from harness.process import run

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[6000];
static void leak(int i) { kept[i] = memset(malloc(4000), 1, 4000); }
int main(void) {
        for (int i = 0; i < 6000; i++) { leak(i); free(malloc(20)); if (i % 500 == 0) usleep(20000); }
        char *p = NULL;
        for (int i = 1; i < 3000; i++) p = realloc(p, 16 * i);
        free(malloc(200)); free((void *)kept[0]); kept[0] = NULL; memset(kept, 0, sizeof(kept));
        return fork() ? 0 : 1;
}
"""

GROUPS = ("site", "function", "module", "line", "crate", "component", "thread", "size", "process")


def test_each_key_occurs_once(t):
    program, a, b = t.path("program"), t.path("a.silt"), t.path("b.silt")
    with open(program + ".c", "w") as f:
        f.write(PROGRAM)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    for trace, options in ((a, ["--snapshot-every", "50ms", "--leaks"]), (b, ["--sample", "4K"])):
        r = t.silt.record(trace, [program], ["-f", *options])
        assert r.code == 0, r.errors
    questions = {
        "report": [[a], [b], [a, "--process", "all"], [a, "--blocks"], [a, "--tree"], [a, "--bottom-up"],
                   [a, "--callers", "leak"], [a, "--callees", "main"], [a, "--size", "100.."], [a, "--from", "100ms"],
                   [a, "--histogram", "size"], [a, "--histogram", "lifetime"], *([a, "--group-by", g] for g in GROUPS)],
        "source": [[a, "leak"]],
        "diff": [[a, b], [b, a]],
        "check": [[a, "--max-peak", "1M"], [a, "--max-peak", "1G", "--against", b]],
        "leaks": [[a], [a, "--show-reachable"]],
        "holders": [[a], [a, "--full"], [a, "--why", "leak"]],
        "tasks": [[a], [a, "--full"]],
        "lab": [["--memory", "512M", "-q", "-f", "-o", t.path("lab.silt"), "true"], ["--find-limit", "-q", "--runs", "1", "true"]],
        "whatif": [[a, "--estimate"], [a, "--allocator", "glibc"]],
        "bill": [[a], [a, "--at", "@peak", "--full"], [b]],
        "ask": [[a, "growing"], [a, "threads"], [b, "peak"], ["--list"]],
        "sql": [[a, "SELECT * FROM marks"], [b, "SELECT 1 AS x, 2 AS x"]],
        "top": [[a], [b]],
        "fleet": None,  # needs a server: tests/cases/fleet.py, which reads as strictly
        "snapshot": None,  # needs a program that runs: tests/cases/snapshots.py, which reads as strictly
    }
    told = run([t.silt.path, "--help"]).text
    commands = re.findall(r"^  ([a-z]+)  +[a-z]", told.split("commands:")[1].split("examples:")[0], re.M)
    assert {"run", "report", "doctor"} <= set(commands), told
    speaking = {c for c in commands if re.search(r"^ {1,8}--json\b", run([t.silt.path, c, "--help"]).text, re.M)}
    assert speaking == set(questions), f"commands with --json: {sorted(speaking)}"
    kinds = set()
    for command, asked in questions.items():
        for argv in asked or ():
            r = t.silt.command(command, "--json", *argv)
            assert r.code in (0, 1) and r.stdout, (command, argv, r.errors)
            try:
                got = parse(r.stdout)
            except AssertionError as e:
                raise AssertionError(f"silt {command} --json {' '.join(map(os.path.basename, argv))}: {e}") from None
            kinds |= {f["kind"] for f in got.get("findings", ())} if command == "report" else set()
    assert len(kinds) >= 2, f"too few findings to know what is in one: {kinds}"
