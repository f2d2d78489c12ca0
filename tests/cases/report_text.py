# SPDX-License-Identifier: MIT
"""`silt report` as text."""

import fcntl
import json
import os
import re
import shlex
import struct
import subprocess
import termios

from harness.forest import entries
from harness.place import open_terminal

WIDTHS = (60, 80, 100, 120, 200, 240)
MEMCHECK = ("in use at ", "total heap usage: ")  # these lines stay whole, so that they can be searched for


def record(t, name):
    r = t.silt.record(t.path("t.silt"), [t.program(name)], ["-f"])
    assert r.code == 0, r.errors


def text(t, *options, **kwargs):
    r = t.silt.command("report", *options, t.path("t.silt"), **kwargs)
    assert r.code == 0 and r.stderr == b"", r.errors
    return r.text


def on_terminal(argv, env, columns=0):
    """What argv prints when stdout is a terminal."""
    master, slave = open_terminal()
    if columns:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(argv, stdout=slave, stderr=subprocess.DEVNULL, env={**os.environ, **env})
    os.close(slave)
    out = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    os.close(master)
    assert process.wait() == 0
    return out


def test_memcheck_users_find_their_summary(t):
    record(t, "basic")
    lines = [line for line in text(t).splitlines() if line.strip()]
    tail = "\n".join(lines[-8:]).replace(",", "")
    assert "HEAP SUMMARY" in tail, tail
    assert re.search(r"in use at exit: 3852 bytes in 51 blocks", tail), tail
    assert re.search(r"total heap usage: 111 allocs 60 frees 15127 bytes allocated", tail), tail
    assert "reachability not examined" in tail, tail
    parts = [int(n) for n in re.findall(r"^    (?:growing or left|startup memory|in steady).*: (\d+) bytes$", tail, re.M)]
    assert len(parts) == 3 and sum(parts) == 3852, tail


def test_no_colours_where_nobody_sees_them(t):
    record(t, "basic")
    assert "\x1b" not in text(t)
    argv = [t.silt.path, "report", t.path("t.silt")]
    plain = on_terminal(argv, {"NO_COLOR": "1", "TERM": "xterm-256color"})
    assert b"\x1b[" not in plain, "colours in spite of NO_COLOR"
    assert plain.strip(), "nothing on a terminal"


def test_blocks(t):
    """One line per allocation, in time order."""
    record(t, "basic")
    out = text(t, "--blocks")
    assert len(out.splitlines()) >= 111, f"{len(out.splitlines())} lines for 111 allocations"
    assert "main" in out


def test_says_what_matters(t):
    record(t, "fork_tree")
    out = text(t)
    assert "process" in out.lower() and "thread" in out.lower(), out
    record(t, "sites")
    out = text(t)
    assert "down" in out and "sites.c" in out, "no function names"
    for line in out.splitlines():
        assert line == line.rstrip(), f"blanks at the end of {line!r}"


def widest(out):
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in out.splitlines() if not any(word in line for word in MEMCHECK)]
    return max(lines, key=len)


def test_no_line_is_wider_than_asked_for(t):
    for program in ("containers", "fork_tree", "many_threads", "mappings", "lookalikes"):
        record(t, program)
        for width in WIDTHS:
            for view in ([], ["--tree"], ["--bottom-up"], ["--group-by", "function"], ["--histogram", "size"], ["--blocks"]):
                line = widest(text(t, *view, env={"COLUMNS": str(width), "LC_ALL": "C.UTF-8"}))
                assert len(line) <= width, f"{program} {view}: {len(line)} cells of {width}: {line}"


def test_ascii_where_nothing_else_can_be_shown(t):
    record(t, "fork_tree")
    text(t, env={"LC_ALL": "C"}).encode("ascii")


def test_width_of_the_terminal(t):
    record(t, "containers")
    for width in (72, 132):
        env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        argv = ["env", "-u", "COLUMNS", "LC_ALL=C.UTF-8", t.silt.path, "report", t.path("t.silt")]
        out = on_terminal(argv, env, width).decode().replace("\r", "")
        assert width - 4 <= len(widest(out)) <= width, f"{len(widest(out))} cells of {width}"


def test_parts_stand_in_their_order(t):
    record(t, "fork_tree")
    out = text(t)
    parts = ["fork_tree (pid ", "Totals", "Live bytes over time", "by call path (", "Sizes of blocks", "How long blocks",
             "Processes (7)", "Recording", "HEAP SUMMARY:"]
    at = [out.index(part) for part in parts]
    assert at == sorted(at), list(zip(parts, at))


def number(figure):
    return int(figure.replace(",", ""))


def check_sums(rows, whole, least):
    """Entries of a tree: those side by side add up to what is above them, but for rests too small to be told."""
    assert sum(number(e.figures[0]) for e in rows if e.depth == 0) == whole, [e.text for e in rows]
    for i, row in enumerate(rows):
        below = []
        for other in rows[i + 1:]:
            if other.depth <= row.depth:
                break
            if other.depth == row.depth + 1:
                below.append(number(other.figures[0]))
        if below:
            missing = number(row.figures[0]) - sum(below)
            assert 0 <= missing <= least, f"{missing} of {row.figures[0]} below {row.text}"


def test_trees_of_call_paths_add_up(t):
    """Counts are printed in full, so that they can be added up."""
    for program in ("sites", "containers", "lookalikes"):
        record(t, program)
        answer, problem = t.silt.report(t.path("t.silt"))
        assert answer, problem
        whole = answer["totals"]["allocations"]
        for options in ([], ["--top", "3"], ["--top", "1000"]):
            rows = entries(text(t, "--by", "count", *options, env={"COLUMNS": "120", "LC_ALL": "C.UTF-8"}))
            assert rows, program
            check_sums(rows, whole, whole / 200)
            n = sum(row.is_leaf for row in rows)
            assert n <= int((options + ["20"])[-1] if options else 20), n


def test_processes_hang_below_their_parents(t):
    record(t, "fork_tree")
    answer, problem = t.silt.report(t.path("t.silt"))
    assert answer, problem
    parents = {p["pid"]: p["parent"] for p in answer["processes"]}
    rows = text(t, "--full", env={"LC_ALL": "C"})
    rows = rows[rows.index("Processes ("):].split("\n\n")[0].splitlines()
    column = rows[1].index("command")
    above = []
    assert rows.pop().strip() == "Peak and end of each with the blocks it inherited.", rows
    for row in rows[2:]:
        pid, depth = int(row.split()[0]), (len(row) - column - len(row[column:].lstrip("|+` "))) // 2
        assert parents[pid] == (above[depth - 1] if depth else 0), row
        above = above[:depth] + [pid]
    assert len(rows) - 2 == len(parents) == 7, rows


def test_sizes_are_those_of_the_histogram(t):
    record(t, "sites")
    out = text(t, env={"COLUMNS": "100", "LC_ALL": "C.UTF-8"})
    table = out[out.index("Sizes of blocks"):].split("\n\n")[0]
    shares = [float(share) for share in re.findall(r"^ +\d+ [KMG]?i?B +([\d.]+) %", table, re.M)]
    assert shares and abs(sum(shares) - 100) < 0.3, table
    answer, problem = t.silt.report(t.path("t.silt"))
    assert answer, problem
    assert answer["sizes"]["blocks"] == answer["totals"]["allocations"]
    assert answer["lifetimes"]["blocks"] == answer["totals"]["frees"]


def test_a_program_without_allocations(t):
    r = t.silt.record(t.path("t.silt"), ["/bin/true"], ["-f"])
    assert r.code == 0, r.errors
    out = text(t)
    assert out.startswith("true ran for ") and "made no allocations" in out.split("\n\n")[0], out
    assert "by call path" not in out and "Sizes of" not in out


def test_closed_stdout_is_no_crash(t):
    record(t, "sites")
    r = subprocess.run(f"'{t.silt.path}' report --top 4000 '{t.path('t.silt')}' | head -1", shell=True, capture_output=True)
    assert b"Segmentation" not in r.stderr and b"Abort" not in r.stderr, r.stderr


def test_headline_has_one_clock(t):
    """The peak cannot come after the end."""
    record(t, "basic")
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    headline = text(t).split("\n\n")[0].replace("\n", " ")
    times = [float(n) * units[unit] for n, unit in re.findall(r"(?:ran for|after) ([\d.]+) (ns|us|ms|s)\b", headline)]
    assert len(times) == 2 and times[1] <= times[0] * 1.01, headline


def test_leak_summary_adds_up(t):
    """To what is left, whatever it is told as; and it is there when something is left."""
    for name in ("sites", "basic", "fork_tree"):
        record(t, name)
        out = text(t)
        in_use = int(re.search(r"in use at .*: ([\d,]+) bytes?", out)[1].replace(",", ""))
        parts = out.partition("LEAK SUMMARY:")[2]
        sizes = [int(n.replace(",", "")) for n in re.findall(r": ([\d,]+) bytes?", parts)]
        assert sum(sizes) == in_use and len(sizes) == (3 if in_use else 0), out


def test_next_commands_can_be_typed(t):
    """Whatever the file is called; and they look at what the report is about."""
    path = t.path("it's a.silt")
    t.silt.record(path, [t.program("sites")], ["-f"])
    answer = json.loads(t.silt.command("report", "--json", "--process", "all", "--to", "60s", path).text)
    commands = [f["next"] for f in answer["findings"] if f["next"]]
    assert commands
    for command in commands:
        words = shlex.split(command)
        assert words[:3] == ["silt", "report", path] and words[3:7] == ["--process", "all", "--to", "60s"], command
        assert t.silt.command(*words[1:]).code == 0, command


def test_help_is_the_manual(t):
    out = t.silt.command("report", "--help").text
    for option in ("--json", "--top", "--by", "--from", "--to", "--process", "--blocks"):
        assert option in out, option
