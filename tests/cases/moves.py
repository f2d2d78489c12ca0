# SPDX-License-Identifier: MIT
"""Releases by other threads and growth, of programs whose figures are known (moves.c, moves.cc, moves.rs), through
src/query/moves_by_path_test.c, which also holds every answer against the trace's events."""

import json
import os
import shutil
import signal

from harness.cases import skip
from harness.process import run

FIELDS = ("n_foreign_frees", "foreign_bytes", "n_grown", "copied_bytes", "grown_bytes", "n_shrunk")
NOTHING = dict.fromkeys(FIELDS, 0)


def grown(sizes, times=1):
    """Every size replaced by the next."""
    return {"n_grown": (len(sizes) - 1) * times, "copied_bytes": sum(sizes[:-1]) * times, "grown_bytes": sum(sizes[1:]) * times}


def moves_of(t, trace):
    tool = os.path.join(t.context.build_dir, "src/query/moves_by_path_test")
    if not os.path.exists(tool):
        skip("this build has no unit tests")
    r = run([tool, trace], timeout_s=600)
    assert r.code == 0, r.text[-1000:] + r.errors[-1000:]
    return [json.loads(line) for line in r.text.splitlines() if line.startswith("{")]


def figures(rows, function):
    """What the sites below a function add up to."""
    mine = [row for row in rows if any(frame.split("::")[-1].split("(")[0] == function for frame in row["frames"])]
    return {field: sum(row[field] for row in mine) for field in FIELDS}


def check(rows, expected):
    for function, want in expected.items():
        got = figures(rows, function)
        assert got == {**NOTHING, **want}, f"{function}: {got}, not {want}"


def expected_of_c(n, has_child):
    doubled = [16 << i for i in range(10)]
    both = [grown([(32 << i) + k for i in range(8)], n) for k in (0, 1)]
    return {
        "doubling": grown([64 << i for i in range(11)], n),
        "creeping": grown(list(range(64, 6465, 64)), n),
        "by_hand": grown(doubled, n + has_child),
        "exchanged": {"n_grown": 10 * n, "copied_bytes": 500 * n, "grown_bytes": 1000 * n, "n_shrunk": 9 * n},
        "queued": {},
        "shrinking": {},
        "gone": {},
        "in_turn": {key: both[0][key] + both[1][key] for key in both[0]},
        "hand_over": {"n_foreign_frees": 30 * (n + has_child), "foreign_bytes": 48 * 30 * (n + has_child)},
        "take": grown([48, 68], n + has_child),
        "leave": {},
    }


def record(t, name, argv, options=(), code=0):
    trace = t.path(name + ".silt")
    r = t.silt.record(trace, argv, options)
    assert r.code == code, f"{r.code}: {r.errors}"
    v = t.silt.command("verify", trace)
    assert v.code == 0, v.text + v.errors
    return trace


def program(t, source):
    return t.context.helpers.build(source.replace(".", "_"), [source])


def test_c(t):
    rows = moves_of(t, record(t, "c", [program(t, "moves.c"), "3"]))
    check(rows, expected_of_c(3, 1))
    assert 0 < sum(row["in_place_bytes"] for row in rows if "creeping" in row["frames"]), rows


def test_killed(t):
    """What was done before the kill is there."""
    rows = moves_of(t, record(t, "killed", [program(t, "moves.c"), "2", "killed"], code=128 + signal.SIGKILL))
    check(rows, expected_of_c(2, 0))


def test_bounded(t):
    """Sums stay when events are dropped and slices merged."""
    n = t.count(12000, 40000)
    trace = record(t, "bounded", [program(t, "moves.c"), str(n)], ["--max-size", "1M"])
    assert os.path.getsize(trace) <= 1 << 20
    assert "without events" in t.silt.command("verify", trace).text
    check(moves_of(t, trace), expected_of_c(n, 1))


def test_cxx(t):
    rows = moves_of(t, record(t, "cxx", [program(t, "moves.cc")]))
    check(rows, {
        "vector_of_int": grown([4 << i for i in range(11)]),
        "string_of_chars": grown([(15 << i) + 1 for i in range(1, 8)]),
        "vector_of_strings": grown([32 << i for i in range(5)]),
        "vector_of_emplaced": {},
        "vector_of_copied": {},
        "vector_reserved": {},
    })


def test_rust(t):
    if not shutil.which("rustc"):
        skip("there is no rustc")
    rows = moves_of(t, record(t, "rust", [program(t, "moves.rs")]))
    check(rows, {
        "vec_of_u64": grown([32 << i for i in range(9)]),
        "string_of_chars": grown([8 << i for i in range(8)]),
        "boxes": {"n_foreign_frees": 51, "foreign_bytes": 50 * 40 + 50 * 8},
    })


def test_recorded_traces_against_brute_force(t):
    """Random windows of programs with threads, forks and realloc."""
    for name in ("threads", "cross_free", "realloc_chain", "fork_tree", "fork_inherit", "reuse_storm")[:t.count(4, 6)]:
        trace = t.path(name + ".silt")
        t.silt.record(trace, [t.program(name)], ["--wait"])
        moves_of(t, trace)
