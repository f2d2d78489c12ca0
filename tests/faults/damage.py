# SPDX-License-Identifier: MIT
"""A real trace, cut off, flipped and overwritten, through the command line. Every cut, bit and number of small traces is
tried in src/report/report_hostile_test.c; here it is the programs themselves, their exit statuses and what they print."""

import json

from harness.process import run

MAX_BYTES = 200 << 20  # of memory: the files are small, and a length taken at its word would cost more
COMMANDS = (["report"], ["report", "--json"], ["report", "--blocks"], ["verify"])


def record(t):
    """Processes, threads, reallocs, mappings: and its report."""
    trace = t.path("whole.silt")
    r = t.silt.record(trace, [t.program("fork_tree")])
    assert r.code == 0, r.errors
    report, trouble = t.silt.report(trace)
    assert report, trouble
    with open(trace, "rb") as f:
        return f.read(), report


def ask(t, data, what):
    """All commands on such a file; the JSON report, or None when it is refused."""
    path, report = t.path("bad.silt"), None
    with open(path, "wb") as f:
        f.write(data)
    for command in COMMANDS:
        r = run(["prlimit", f"--data={MAX_BYTES}", t.silt.path, *command, path], timeout_s=600)
        fine = (0, 1, 2) if command == ["verify"] else (0, 2)
        assert r.code in fine, f"{what}: {command}: status {r.code}: {r.errors[-300:]}"
        if r.code == 2:
            lines = r.errors.splitlines()
            assert len(lines) == 1 and lines[0].startswith("silt: ") and not r.stdout, f"{what}: {command}: {r.errors!r}"
        elif command != ["verify"]:
            assert not r.errors, f"{what}: {command}: {r.errors!r}"
        if command == ["report", "--json"] and r.code == 0:
            report = json.loads(r.stdout)
    return report


def test_cut_off(t):
    data, whole = record(t)
    chance = t.chance
    lengths = sorted(chance.sample(range(len(data)), t.count(25, 400)))
    last = 0
    for length in [*lengths, len(data)]:
        report = ask(t, data[:length], f"{length} of {len(data)} bytes")
        n = report["totals"]["allocations"] if report else 0
        assert last <= n <= whole["totals"]["allocations"], f"{length} bytes: {n} allocations, fewer bytes had {last}"
        last = n
    assert last == whole["totals"]["allocations"], f"{last} of {whole['totals']['allocations']} in the whole file"


def test_flipped(t):
    data, _ = record(t)
    chance = t.chance
    for _ in range(t.count(25, 1000)):
        bad, bit = bytearray(data), chance.randrange(8 * len(data))
        bad[bit // 8] ^= 1 << bit % 8
        ask(t, bad, f"bit {bit}")


def test_overwritten(t):
    """Runs of hostile bytes anywhere: large lengths, zeros, text, a piece of the file itself."""
    data, _ = record(t)
    chance = t.chance
    for _ in range(t.count(25, 1000)):
        bad = bytearray(data)
        at, n = chance.randrange(len(data)), chance.choice((1, 4, 8, 100, 5000))
        other = chance.randrange(len(data))
        filler = chance.choice((b"\xff" * n, bytes(n), b"A" * n, data[other:other + n], chance.randbytes(n)))
        bad[at:at + n] = filler
        ask(t, bad, f"{n} bytes at {at}")
