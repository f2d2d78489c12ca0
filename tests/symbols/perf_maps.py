# SPDX-License-Identifier: MIT
"""Code made at run time is named by /tmp/perf-PID.map, when the file can be trusted."""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "Made:at_run_time file.js:7"


def record(t, how, *more, size=12345):
    """Frames of the 12345-byte block, innermost first; the pids that wrote maps are cleaned up."""
    program = t.path("jitter")
    if not os.path.exists(program):
        subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-o", program, os.path.join(HERE, "jitter.c")],
                       check=True)
    trace = t.path(how + ".silt")
    r = t.silt.record(trace, [program, how, *more], options=["-f"])
    pids = [int(p) for p in r.stdout.split()]
    assert r.code == 0 and pids, (r.code, r.errors)
    for pid in pids:
        try:
            os.unlink(f"/tmp/perf-{pid}.map")
        except FileNotFoundError:
            pass
    return trace, frames_of(t, trace, size)


def frames_of(t, trace, size):
    report, problem = t.silt.report(trace, "--by", "allocated", "--top", "50")
    assert report, problem
    for site in report["top"][0]["sites"]:
        if site["bytes"] == size:
            return site["stack"]
    raise AssertionError(f"no block of {size} bytes")


def functions(frames):
    return [f["function"] for f in frames]


def test_a_map_names_it(t):
    for how in ("own", "late", "noise"):
        _, frames = record(t, how)
        assert frames[0]["function"] == NAME, (how, frames)
        assert frames[0]["module"] == "" and frames[0]["line"] == 0, frames
        assert "main" in functions(frames), frames


def test_made_code_that_calls_made_code(t):
    """It is in no file and has no tables; its frame pointers lead through it to main."""
    for n in (1, 2, 20, 100):
        _, frames = record(t, "chain", str(n), size=3 * 12345)
        names = [f"Made:link_{i}" for i in reversed(range(n))]
        assert functions(frames)[:n] == names, (n, frames)
        assert functions(frames)[-1] == "_start" and "main" in functions(frames), (n, frames)


def test_made_code_without_frame_pointers(t):
    """Nothing leads through it: the stack is cut, not made up, and the program runs on."""
    trace, frames = record(t, "wild", "20", size=3 * 12345)
    assert functions(frames)[0] == "Made:link_19", frames
    assert not any(f.startswith("Made:") for f in functions(frames)[1:]), frames
    report, problem = t.silt.report(trace)
    assert report and report["quality"]["complete_stacks_pct"] < 100, (problem, report)


def test_without_a_map_it_has_none(t):
    _, frames = record(t, "none")
    assert frames[0]["function"] != NAME and frames[0]["module"] == "", frames


def test_processes_that_disagree(t):
    """One address, two names: neither is sure."""
    _, frames = record(t, "fork")
    assert frames[0]["function"] in ("", NAME), frames


def test_names_stay_when_the_map_is_gone(t):
    trace, frames = record(t, "own")
    assert frames[0]["function"] == NAME, frames
    r = t.silt.command("symbolize", "--no-cache", trace)
    assert r.code == 0, r.errors
    frames = frames_of(t, trace, 12345)
    assert frames[0]["function"] == NAME, frames


def test_another_users_map_is_not_read(t):
    """In /tmp anybody can put a file with any name. (As root, who alone can make one that is another's.)"""
    if os.getuid() != 0:
        return
    _, frames = record(t, "strange")
    assert frames[0]["function"] != NAME and frames[0]["module"] == "", frames
