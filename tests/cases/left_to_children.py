# SPDX-License-Identifier: MIT
"""Blocks that outlive their process in a child: by call path they count on; where single blocks are asked for, the answer says that they do not."""

import json

from harness.process import run

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[100];
int main(void) {
        for (int i = 0; i < 100; i++)
                kept[i] = memset(malloc(1000), 1, 1000);
        if (fork() == 0) {
                usleep(300000);
                for (int i = 0; i < 30; i++)
                        free(kept[i]);
                _exit(kept[99] == NULL);
        }
        usleep(50000);
        return 0;
}
"""


def test_left_to_children(t):
    program, trace = t.path("program"), t.path("t.silt")
    with open(program + ".c", "w") as f:
        f.write(PROGRAM)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    assert t.silt.record(trace, [program], ["--wait"]).code == 0
    whole = json.loads(t.silt.command("report", trace, "--json", "--process", "all").stdout)["totals"]
    assert (whole["end_live_bytes"], whole["end_live_blocks"]) == (70000, 70), whole
    text = " ".join(t.silt.command("report", trace, "--size", "1000..1000", "--by", "end").text.split())
    assert "everything had been freed" not in text and "What a process left to its children" in text, text
    asked = t.silt.command("sql", trace, "--json", "SELECT count(*) FROM live")
    answer = json.loads(asked.stdout)
    assert answer["rows"] == [[70]] or "children" in answer["incomplete"], answer
