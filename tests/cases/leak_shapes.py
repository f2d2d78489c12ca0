# SPDX-License-Identifier: MIT
"""Classes of `silt leaks` beside memcheck's: each mode of leak_shapes.cc under both. docs/leaks.md has the rules and the differences."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from harness.answer import parse

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = ("definitely lost", "indirectly lost", "possibly lost", "still reachable")

# Where silt and memcheck differ by rule: what memcheck has more of, as (bytes, blocks) of each class, or None: bytes differ, blocks do
# not; or "by address": a block of the C library's is possibly lost or still reachable.
DIFFERENCES = {
    # The C library keeps the stack of an ended thread for the next one: it is memory that can be written, and silt cannot tell whose it was.
    "stack_of_ended": ((96, 1), (0, 0), (0, 0), (-96, -1)),
    # putenv copies the list of all variables, and each tool adds some of its own.
    "in_environment": None,
    # The loader keeps a table aligned inside a block of its own: whether it points to the first byte, its address decides.
    "in_open_library": "by address",
    "in_closed_library": "by address",
}


def build(t):
    program, library, source = t.path("leak_shapes"), t.path("slot.so"), t.path("slot.c")
    subprocess.run(["g++", "-g", "-O1", "-fno-builtin", "-pthread", "-o", program, os.path.join(HERE, "leak_shapes.cc")], check=True)
    with open(source, "w") as f:
        f.write("void *slot[16];\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    modes = subprocess.run([program, "modes"], capture_output=True, text=True, check=True).stdout.split()
    assert len(modes) >= 40 and len(set(modes)) == len(modes), modes
    return program, library, modes


def by_memcheck(program, library, mode):
    r = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--leak-check-heuristics=all", "--run-libc-freeres=no",
                        "--run-cxx-freeres=no", program, mode, library], capture_output=True, text=True)
    found = [re.search(c + r": ([\d,]+) bytes in ([\d,]+) blocks", r.stderr) for c in CLASSES]
    assert r.returncode == 0 and ("no leaks are possible" in r.stderr or all(found)), (mode, r.stderr)
    return [tuple(int(x.replace(",", "")) for x in f.groups()) if f else (0, 0) for f in found]


def by_silt(t, program, library, mode):
    trace = t.path(mode + ".silt")
    r = t.silt.record(trace, [program, mode, library], ["-f", "--leaks"])
    assert r.code == 0, (mode, r.errors)
    r = t.silt.command("leaks", trace, "--json")
    assert r.code == 0, (mode, r.errors)
    got = parse(r.stdout)
    os.remove(trace)
    return [(got[c.replace(" ", "_")]["bytes"], got[c.replace(" ", "_")]["blocks"]) for c in CLASSES]


def compare(t, program, library, mode):
    """None, or what is wrong."""
    ours, theirs = by_silt(t, program, library, mode), by_memcheck(program, library, mode)
    more = tuple((b[0] - a[0], b[1] - a[1]) for a, b in zip(ours, theirs))
    if mode not in DIFFERENCES:
        return None if ours == theirs else f"{mode}: silt {ours}, memcheck {theirs}"
    expected = DIFFERENCES[mode]
    if expected == "by address":
        is_same = more[:2] == ((0, 0), (0, 0)) and (more[2][0] + more[3][0], more[2][1] + more[3][1]) == (0, 0) and abs(more[2][1]) <= 1
        return None if is_same else f"{mode}: silt {ours}, memcheck {theirs}"
    if expected is None:
        return None if all(blocks == 0 for _, blocks in more) else f"{mode}: silt {ours}, memcheck {theirs}"
    return None if more == expected else f"{mode}: differs otherwise than the table says: silt {ours}, memcheck {theirs}"


def test_classes_are_memchecks(t):
    if not shutil.which("valgrind"):
        return
    program, library, modes = build(t)
    with ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(lambda mode: compare(t, program, library, mode), modes) if w]
    assert not wrong, "\n".join(wrong)


def test_the_differences_are_documented(t):
    with open(os.path.join(HERE, "../../docs/leaks.md")) as f:
        text = f.read()
    for mode in DIFFERENCES:
        assert f"`{mode}`" in text, mode
