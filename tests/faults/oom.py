# SPDX-License-Identifier: MIT
"""The kernel kills because memory ran out: the report says so, and says who held the memory.

With silt inside the limited group, as in a container, the kernel kills the larger of target and recorder. silt asks
for no other choice: a recorder that could not be killed would let the target die for silt's memory."""

import os
import re
import struct

from harness.cgroup import MemoryGroup, limited
from harness.process import outlived, run
from harness.watch import whole

MIB = 1 << 20


def kernel_tells_how_others_ended():
    """Of processes that are not silt's children: surely since 6.15, before that only if silt asks before their parent."""
    return tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2]) >= (6, 15)


def tally(t):
    with open(t.path("tally"), "rb") as f:
        return struct.unpack("<3Q", f.read(24))


def until_watched(t, group):
    """Shell that waits until the recorder has seen that a process is in the group."""
    return f"while ! grep -q {os.path.basename(group.path)} {t.path('log')} 2>/dev/null; do sleep 0.01; done"


def drop(*paths):
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)


def site_bytes(report, function):
    """Bytes live at the end that `function` allocated."""
    sites = next(top for top in report["top"] if top["metric"] == "end")["sites"]
    return sum(site["bytes"] for site in sites if any(f["function"] == function for f in site["stack"]))


def check_post_mortem(t, trace, block_bytes):
    report = whole(t, trace)
    pid, n_hoard, n_trickle = tally(t)
    assert report["pid"] == pid, f"pid {report['pid']}, not {pid}"
    assert report["ended"] == "oom", f"ended: {report['ended']}"
    totals = report["totals"]
    assert totals["lost_events"] == 0, totals
    report, why = t.silt.report(trace, "--by", "end")
    assert report, why
    for name, n in (("hoard", n_hoard), ("trickle", n_trickle)):
        got = site_bytes(report, name)
        assert n * block_bytes <= got <= (n + 1) * block_bytes, f"{name}: {n} blocks of {block_bytes}, recorded {got} bytes"
    r = t.silt.command("report", trace)
    assert r.code == 0, r.errors
    text = " ".join(r.text.split())
    assert re.search(r"the kernel killed (it|pid \d+|the last of them \(pid \d+\)) because memory ran out", text), text[:600]
    assert 0 <= text.find("hoard") < text.find("trickle"), f"hoard does not come first: {text[:3000]}"
    return totals["end_live_bytes"]


def test_a_target_in_a_group_of_its_own(t):
    """Only the program is limited: it enters the group itself, after silt began to watch it."""
    n_runs = t.count(2, 30)
    with limited(t, MemoryGroup, 96 * MIB) as group:
        script = ["sh", "-c", f"echo $$ >{group.door}; {until_watched(t, group)}; exec \"$@\"", "sh", t.victim("leak"), t.path("tally"), "1000"]
        for _ in range(n_runs):
            drop(t.path("tally"), t.path("log"))
            r = t.silt.record(t.path("t.silt"), script, options=["-f", "--log", t.path("log")])
            assert (r.code, r.stdout, r.stderr) == (137, b"", b""), f"{r.code} {r.text} {r.errors}"
            held = check_post_mortem(t, t.path("t.silt"), 1000)
            assert held > 60 * MIB, f"only {held} bytes were held"
        n_kills = group.n_kills()
        assert n_kills == n_runs, f"{n_kills} kills by the kernel in {n_runs} runs"
    t.notes.append(f"{n_runs} runs, 0 failures; cgroup version {group.version}")


def test_a_child_in_a_group_of_its_own(t):
    """The program goes on after the kernel killed its child. Children that others kill, or that exit, are told apart."""
    n_runs = t.count(1, 20)
    leak = f"{t.victim('leak')} {t.path('tally')} 1000"
    with limited(t, MemoryGroup, 96 * MIB) as group:
        script = (f"(echo $(exec sh -c 'echo $PPID') >{group.door}; {until_watched(t, group)}; exec {leak}); echo $?; "
                  "sh -c 'kill -9 $$'; echo $?; sh -c 'exit 3'; echo $?")
        for _ in range(n_runs):
            drop(t.path("tally"), t.path("log"))
            r = t.silt.record(t.path("t.silt"), ["sh", "-c", script], options=["-f", "--log", t.path("log")])
            assert (r.code, r.text.split()) == (0, ["137", "137", "3"]), f"{r.code} {r.text} {r.errors}"
            report = whole(t, t.path("t.silt"))
            pid = tally(t)[0]
            assert report["pid"] != pid and report["ended"] == "exit", report["ended"]
            ended = [(p["ended"], p.get("status")) for p in report["processes"]
                     if p["pid"] == pid and os.path.basename(p["command"][0]) == "leak"]
            if not kernel_tells_how_others_ended():
                continue
            assert ended == [("oom", 9)], f"the killed child is listed as {ended}"
            others = [(p["ended"], p.get("status")) for p in report["processes"] if "-c" in p["command"][1:2] and p["command"][2] != script]
            assert ("signal", 9) in others and ("exit", 3) in others, f"the other children are listed as {others}"
        assert group.n_kills() == n_runs, f"{group.n_kills()} kills by the kernel in {n_runs} runs"
    t.notes.append(f"{n_runs} runs, 0 failures; cgroup version {group.version}")


def test_silt_in_the_same_group(t):
    """All of silt in the limited group. With large blocks the target is the larger, and dies as it would alone."""
    n_runs = t.count(2, 30)
    for i in range(n_runs):
        with limited(t, MemoryGroup, 256 * MIB) as group:
            block_bytes = (1000, 5000, 100000)[i % 3]
            drop(t.path("tally"))
            r = t.silt.record(t.path("t.silt"), [t.victim("leak"), t.path("tally"), str(block_bytes)], options=["-f"],
                              preexec_fn=group.enter)
            assert (r.code, r.stdout, r.stderr) == (137, b"", b""), f"{r.code} {r.text} {r.errors}"
            held = check_post_mortem(t, t.path("t.silt"), block_bytes)
            assert held > 120 * MIB, f"only {held} bytes were held"
            assert group.n_kills() == 1, f"{group.n_kills()} kills by the kernel"
    t.notes.append(f"{n_runs} runs, 0 failures; the kernel chose the target each time")


def test_silt_in_the_same_group_with_small_blocks(t):
    """Small blocks cost the recorder more than the target: either may be killed, and the trace can be read."""
    n_runs, n_target = t.count(1, 30), 0
    for _ in range(n_runs):
        with limited(t, MemoryGroup, 128 * MIB) as group:
            drop(t.path("tally"))
            trace = t.path("t.silt")
            r = t.silt.record(trace, [t.victim("leak"), t.path("tally"), "8"], options=["-f"], preexec_fn=group.enter)
            assert r.code == 137, f"{r.code} {r.text} {r.errors}"
            assert not outlived(trace, 20), "the recorder still ran 20 s later"
            if not r.stderr:
                n_target += 1
                check_post_mortem(t, trace, 8)
                continue
            assert r.errors.count("\n") == 1 and "recorder" in r.errors and "memory" in r.errors, r.errors
            report = whole(t, trace, may_end_early=True)
            _, n_hoard, n_trickle = tally(t)
            recorded = report["totals"]["allocations"]
            assert 300000 < recorded <= n_hoard + n_trickle + 1, f"{recorded} of {n_hoard + n_trickle}"
            text = t.silt.command("report", trace)
            assert text.code == 0 and "hoard" in text.text, text.errors
    t.notes.append(f"{n_runs} runs, 0 failures; the kernel chose the target {n_target} times, the recorder {n_runs - n_target}")


def test_a_target_near_the_limit_of_its_group(t):
    """A group with room for the program but not for all of silt beside it: what silt takes counts there, so the kernel may
    kill the recorder, the target, or one after the other. Whatever it does is said, and the trace can be read."""
    n_runs, n_recorder, n_target = t.count(1, 10), 0, 0
    argv = [t.victim("leak"), t.path("tally"), "24", "40"]
    with limited(t, MemoryGroup, 110 * MIB) as group:
        drop(t.path("tally"))
        bare = run(argv, preexec_fn=group.enter)
        assert bare.code == 5, f"alone it does not fit: {bare.code}"
        for _ in range(n_runs):
            drop(t.path("tally"))
            trace, n_kills = t.path("t.silt"), group.n_kills()
            r = t.silt.record(trace, argv, options=["-f"], preexec_fn=group.enter)
            killed = group.n_kills() - n_kills
            assert r.code == 5 or (r.code == 137 and killed), f"{r.code} {r.errors}"
            assert not outlived(trace, 20)
            n_recorder += bool(r.stderr)
            n_target += r.code == 137
            assert killed >= bool(r.stderr) + (r.code == 137), f"{killed} kills: {r.code} {r.errors}"
            report, why = t.silt.report(trace)
            assert report, why
            assert not r.stderr or ("recorder" in r.errors and r.errors.count("\n") == 1), r.errors
    t.notes.append(f"{n_runs} runs, 0 failures; the recorder was killed in {n_recorder}, the target in {n_target}")
