# SPDX-License-Identifier: MIT
"""`silt report` as text."""

import os
import pty
import re
import subprocess


def record(t, name):
    r = t.silt.record(t.path("t.silt"), [t.program(name)], ["-f"])
    assert r.code == 0, r.errors


def text(t, *options, **kwargs):
    r = t.silt.command("report", *options, t.path("t.silt"), **kwargs)
    assert r.code == 0 and r.stderr == b"", r.errors
    return r.text


def on_terminal(argv, env):
    """What argv prints when stdout is a terminal."""
    master, slave = pty.openpty()
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


def test_help_is_the_manual(t):
    out = t.silt.command("report", "--help").text
    for option in ("--json", "--top", "--by", "--from", "--to", "--process", "--blocks"):
        assert option in out, option
