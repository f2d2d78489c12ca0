# SPDX-License-Identifier: MIT
"""Where a process may keep its blocks: nothing there is lost, and `silt check` says so."""

import subprocess

from harness.answer import parse

N_BLOCKS, BLOCK_BYTES = 100, 100
LIBRARY = """#include <stdlib.h>
static void *blocks[50];
__attribute__((constructor)) static void take(void) { for (int i = 0; i < 50; i++) blocks[i] = malloc(100); }
__attribute__((destructor)) static void give(void) { for (int i = 0; i < 50; i++) { free(blocks[i]); blocks[i] = NULL; } }
"""


def classes(t, *argv):
    trace = t.path("t.silt")
    r = t.silt.record(trace, argv, ["-f", "--leaks"])
    assert r.code == 0, (argv, r.code, r.errors)
    r = t.silt.command("check", trace, "--max-leaked", "0")
    assert r.code == 0, (argv, r.text)
    r = t.silt.command("leaks", trace, "--json")
    assert r.code == 0, (argv, r.errors)
    got = parse(r.stdout)
    for name in ("definitely_lost", "indirectly_lost"):
        assert got[name]["blocks"] == 0, (argv, name, got[name])
    return got


def test_nothing_is_lost(t):
    """In variables of the first thread of a program that links the C library alone; in data of a thread; in memory beside a block that has a
    mapping of its own; in memory that children do not get."""
    program = t.context.helpers.build("leak_roots", ["leak_roots.c"])
    for mode in ("thread_local", "below_256k", "below_1m", "above_256k", "above_1m", "dontfork"):
        got = classes(t, program, mode)
        assert got["still_reachable"]["blocks"] >= N_BLOCKS, (mode, got["still_reachable"])
    assert classes(t, program, "specific")["still_reachable"]["bytes"] >= BLOCK_BYTES


def test_after_the_destructors_of_libraries(t):
    """What they free is not there any more when silt looks at the end."""
    program = t.context.helpers.build("leak_roots", ["leak_roots.c"])
    with open(t.path("library.c"), "w") as f:
        f.write(LIBRARY)
    library = t.context.helpers.build("leak_roots_library.so", [t.path("library.c")], shared=True)
    got = classes(t, program, "destructor", library)
    assert got["still_reachable"]["blocks"] + got["possibly_lost"]["blocks"] < 20, got["still_reachable"]


def test_nothing_is_lost_on_its_way(t):
    """A program that loses nothing, whose threads are inside malloc and free nearly always, and that nobody records."""
    program = t.context.helpers.build("in_transit", ["in_transit.c"])
    with subprocess.Popen([program, "4"], stdout=subprocess.PIPE, start_new_session=True) as process:
        t.running.append(process)
        assert process.stdout.readline().startswith(b"ready")
        n_left_out = 0
        for i in range(t.count(20, 500)):
            r = t.silt.command("leaks", str(process.pid), "--json")
            assert r.code == 0, r.errors
            got = parse(r.stdout)
            lost = [got[name]["blocks"] for name in ("definitely_lost", "indirectly_lost")]
            assert lost == [0, 0], f"{lost} at look {i}"
            n_left_out += got["left_out"]["blocks"] > 0
        process.terminate()
        assert process.wait(60) == 0
    t.notes.append(f"blocks were on their way in {n_left_out} graphs")
