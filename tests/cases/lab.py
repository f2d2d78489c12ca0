# SPDX-License-Identifier: MIT
"""silt lab: limits that hold, figures that are the kernel's, and nothing left behind whichever way it ends."""

import glob
import json
import os
import signal
import subprocess
import time

from harness.cgroup import MemoryGroup, limited, own_group
from harness.process import TimedOut, run

GROW = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
        for (long i = 0; i < atol(argv[1]); i++) {
                char *p = malloc(1 << 20);
                if (!p) { puts("no memory"); return 3; }
                memset(p, 1, 1 << 20);
        }
        puts("done");
        fflush(stdout);
        if (argc > 2) sleep(atoi(argv[2]));
        return 0;
}
"""

# Leaves a process behind that does not end by itself.
DAEMON = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
        if (argc > 1) signal(SIGTERM, SIG_IGN);
        if (fork()) return 0;
        setsid();
        close(0); close(1); close(2);
        for (;;) pause();
}
"""


def build(t, name, source):
    path = t.path(name)
    if not os.path.exists(path):
        with open(path + ".c", "w") as f:
            f.write(source)
        r = run(["gcc", "-g", "-O1", "-fno-builtin", path + ".c", "-o", path])
        assert r.code == 0, r.errors
    return path


def groups(pid):
    """Those that the silt with this pid made."""
    found = set()
    for controller in ("memory", "cpu"):
        parent, _ = own_group(controller)
        if parent:
            found |= set(glob.glob(f"{parent}/silt-lab-{pid}-*"))
    return found


def wait_until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimedOut(what)
        time.sleep(0.01)


def lab(t, *argv, **how):
    limited(t, MemoryGroup, 1 << 30)
    told = t.path("pid")
    r = run(["sh", "-c", f"echo $$ >{told}; exec \"$@\"", "sh", t.silt.path, "lab", *argv], **how)
    with open(told) as f:
        left = groups(int(f.read()))
    assert not left, f"left behind: {left}"
    return r


def answer(r):
    return json.loads(r.text.strip().splitlines()[-1])


def test_survives(t):
    r = lab(t, "--memory", "64M", "--json", "-o", t.path("a.silt"), build(t, "grow", GROW), "40")
    got = answer(r)
    assert r.code == 0 and r.text.startswith("done\n"), (r.text, r.errors)
    assert got["schema"] == "silt.lab/1" and got["survived"] and got["exit_status"] == 0, got
    assert got["limited_by"] in ("cgroup v1", "cgroup v2") and got["memory_limit_bytes"] == 64 << 20, got
    assert 40 << 20 <= got["group_peak_bytes"] <= 45 << 20 and got["peak_rss_bytes"] >= 40 << 20, got
    assert "silt: it survived with 64.0 MiB" in r.errors and got["group"] in r.errors, r.errors
    assert r.errors.splitlines()[-1].startswith("silt: next:  silt report "), r.errors
    report, why = t.silt.report(t.path("a.silt"))
    assert not why and report["totals"]["allocations"] >= 40 and report["totals"]["lost_events"] == 0, why


def test_is_killed(t):
    r = lab(t, "--memory", "64M", "--swap", "0", "--json", "-o", t.path("a.silt"), build(t, "grow", GROW), "100")
    got = answer(r)
    assert r.code == 137 and not got["survived"] and got["signal"] == 9 and got["oom_kills"] >= 1, (r.code, got)
    assert got["swap_limit_bytes"] == 0, got
    assert got["group_peak_bytes"] == got["memory_limit_bytes"] + got["own_bytes"], got
    assert "silt: the kernel killed it at its limit of 64.0 MiB" in r.errors, r.errors
    assert "silt lab --find-limit -- " in r.errors, r.errors
    report, why = t.silt.report(t.path("a.silt"))
    assert not why and report["ended"] == "oom" and report["totals"]["lost_events"] == 0, (why, report["ended"])
    assert 60 << 20 <= report["totals"]["end_live_bytes"] <= 66 << 20, report["totals"]
    assert " allows 65.0 MiB (1.0 MiB of it for silt) and had " in report["post_mortem"]["text"], report["post_mortem"]["text"]


def test_silt_is_outside(t):
    """What the recorder holds, here of 200,000 live blocks, does not count: the program has what was given."""
    source = """
#include <stdlib.h>
#include <string.h>
static void *kept[200000];
int main(void) {
        for (int i = 0; i < 200000; i++) kept[i] = memset(malloc(64), 1, 64);
        return 0;
}
"""
    program = build(t, "many", source)
    plain = answer(lab(t, "--memory", "512M", "--json", "-q", "-o", t.path("a.silt"), program))
    free = json.loads(lab(t, "--find-limit", "--runs", "1", "--json", "-q", program).text)
    extra = plain["group_peak_bytes"] - free["without_limit"]["group_peak_bytes"]
    assert extra <= plain["own_bytes"], f"silt took {extra} bytes of the group, {plain['own_bytes']} are added"
    tight = lab(t, "--memory", str(free["limit_bytes"] + (256 << 10)), "-q", "-o", t.path("b.silt"), program)
    assert tight.code == 0, "recorded, it does not survive with what it needs alone"


def by_hand(t, program, args, low, high, step):
    """The smallest limit that survives, with groups of our own."""
    while high - low > step:
        middle = (low + high) // 2 // 4096 * 4096
        group = limited(t, MemoryGroup, middle)
        with group:
            r = subprocess.run([program, *args], preexec_fn=group.enter, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            survived = r.returncode == 0 and group.n_kills() == 0
        low, high = (low, middle) if survived else (middle, high)
    return high


def test_find_limit(t):
    grow = build(t, "grow", GROW)
    for mib in (20, 70):
        r = lab(t, "--find-limit", "--json", grow, str(mib))
        got = answer(r)
        truth = by_hand(t, grow, [str(mib)], 4096, (mib + 20) << 20, 32 << 10)
        assert r.code == 0 and got["schema"] == "silt.lab-limit/1", got
        t.notes.append(f"{mib} MiB: a limit of {got['limit_bytes']:,} bytes, {truth:,} by hand, {100 * (got['limit_bytes'] / truth - 1):+.2f} %")
        assert abs(got["limit_bytes"] - truth) <= truth / 100, (got, truth)
        assert got["survived_runs"] == 3 and got["failed_why"] == "oom-kill", got
        assert got["failed_limit_bytes"] < got["limit_bytes"], got
        told = [line for line in r.errors.splitlines() if "MiB: " in line]
        assert got["steps"] == len(told) >= 3, r.errors
    r = lab(t, "--find-limit", "--runs", "2", grow, "20")
    first = r.text.splitlines()[0]
    assert first.startswith("It survives 2 of 2 runs with 2") and first.endswith("the kernel killed it."), r.text
    assert r.errors.splitlines()[-1].startswith("silt: to see what it holds when the limit is too low: silt lab --memory "), r.errors


def test_find_limit_wants_the_same_status(t):
    """A program that handles the lack of memory itself ends with another status: that is no survival. One that fails
    without a limit has a status too."""
    r = lab(t, "--find-limit", "--json", "--runs", "1", build(t, "grow", GROW), "20", env={"SILT_LAB_MAKER": "rlimit"})
    got = answer(r)
    assert got["limited_by"] == "RLIMIT_DATA" and got["failed_why"] in ("status", "oom-kill"), got
    assert 20 << 20 <= got["limit_bytes"] <= 22 << 20, got
    r = lab(t, "--find-limit", "--json", "--runs", "1", "sh", "-c", f"{t.path('grow')} 20; exit 7")
    got = answer(r)
    assert got["without_limit"]["exit_status"] == 7 and 20 << 20 <= got["limit_bytes"] <= 25 << 20, got


def test_last_resort(t):
    r = lab(t, "--memory", "64M", "-o", t.path("a.silt"), build(t, "grow", GROW), "100", env={"SILT_LAB_MAKER": "rlimit"})
    assert r.code == 3 and r.text == "no memory\n", (r.code, r.text)
    assert "RLIMIT_DATA" in r.errors and "not resident memory" in r.errors, r.errors


def test_daemons_are_ended(t):
    for args in ([], ["stubborn"]):
        r = lab(t, "--memory", "64M", "-f", "-o", t.path("a.silt"), build(t, "daemon", DAEMON), *args)
        assert r.code == 0 and "it left 1 process running, which silt ended" in r.errors, r.errors


def start(t, *argv):
    limited(t, MemoryGroup, 1 << 30)
    p = subprocess.Popen([t.silt.path, "lab", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         start_new_session=True)
    t.running.append(p)
    return p


def test_signals(t):
    """Signals to silt end the program, and the group goes."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        p = start(t, "--memory", "64M", "--cpu", "1", "-f", "-o", t.path("a.silt"), build(t, "grow", GROW), "5", "60")
        assert p.stdout.readline() == b"done\n"
        assert len(groups(p.pid)) == 2
        p.send_signal(number)
        p.communicate(timeout=600)
        assert p.returncode == 128 + number, p.returncode
        assert not groups(p.pid), groups(p.pid)


def test_silt_is_killed(t):
    """The program goes on within its limit; when it has ended the group goes too, with nobody's help."""
    p = start(t, "--memory", "64M", "-f", "-o", t.path("a.silt"), build(t, "grow", GROW), "5", "60")
    assert p.stdout.readline() == b"done\n"
    (group,) = groups(p.pid)
    with open(group + "/cgroup.procs") as f:
        pids = [int(line) for line in f]
    assert len(pids) == 1, pids
    os.kill(p.pid, signal.SIGKILL)
    p.wait()
    os.kill(pids[0], 0)
    assert os.path.isdir(group)
    os.kill(pids[0], signal.SIGKILL)
    wait_until(lambda: not os.path.exists(group), "the keeper did not remove the group")


def test_search_is_killed(t):
    """Trials are silt's own: they end with it."""
    p = start(t, "--find-limit", "-q", build(t, "grow", GROW), "5", "60")
    wait_until(lambda: any(open(g + "/cgroup.procs").read() for g in groups(p.pid)), "no trial")
    os.kill(p.pid, signal.SIGKILL)
    p.communicate()
    wait_until(lambda: not groups(p.pid), "the keeper did not remove the group")


def test_cpu(t):
    """Half a processor: as much wall-clock time again as CPU time, at least."""
    source = "#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC * 4 / 10); return 0; }\n"
    r = lab(t, "--cpu", "0.5", "-q", "-o", t.path("a.silt"), build(t, "spin", source))
    report, why = t.silt.report(t.path("a.silt"))
    assert r.code == 0 and not why, why
    assert report["duration_s"] >= 0.6, report["duration_s"]


def test_pressure(t):
    """Above the mark it is slowed down, not killed."""
    grow = build(t, "grow", GROW)
    r = lab(t, "--memory", "64M", "--pressure", "--json", "-o", t.path("a.silt"), grow, "160", timeout_s=300)
    got = answer(r)
    assert r.code == 0 and r.text.startswith("done\n") and got["survived"], (r.code, r.errors)
    assert got["throttled_above_bytes"] == 64 << 20 and got["memory_limit_bytes"] is None, got
    assert got["group_peak_bytes"] >= 150 << 20, got
    assert "throttled above 64.0 MiB" in r.errors, r.errors


def test_refusals(t):
    for argv, word in ((["true"], "no limit given"), (["--memory", "1K", "true"], "at least 64K"),
                       (["--memory", "1M"], "no program given"), (["--memory", "1M", "--dormant", "true"], "--dormant"),
                       (["--swap", "0", "--cpu", "1", "true"], "--swap"), (["--find-limit", "--pressure", "true"], "--pressure"),
                       (["--memory", "1M", "--runs", "2", "true"], "--find-limit"), (["--cpu", "x", "true"], "--cpu"),
                       (["--find-limit", "--timeout", "0", "true"], "--timeout")):
        r = t.silt.command("lab", *argv)
        assert r.code == 125 and word in r.errors and r.errors.count("\n") == 1, (argv, r.code, r.errors)
    r = lab(t, "--memory", "64M", "/nonexistent/program")
    assert r.code == 127 and r.errors.count("\n") == 1, (r.code, r.errors)
    r = lab(t, "--find-limit", "/nonexistent/program")
    assert r.code == 2 and r.errors.count("\n") == 1, (r.code, r.errors)
    r = t.silt.command("lab", "--memory", "64M", "true", env={"SILT_LAB_MAKER": "cgroup3"})
    assert r.code == 125 and r.errors.count("\n") == 1, (r.code, r.errors)


def test_emulated_version_2(t):
    """A tree of plain files: what is written into which file, and what is read from them."""
    root = t.path("cgroup")
    os.mkdir(root)
    for name, text in (("cgroup.controllers", "cpu memory\n"), ("cgroup.subtree_control", "cpu memory\n")):
        with open(os.path.join(root, name), "w") as f:
            f.write(text)
    r = t.silt.command("lab", "--memory", "64M", "--json", "-o", t.path("a.silt"), build(t, "grow", GROW), "2",
                       env={"SILT_CGROUP_ROOT": root})
    got = answer(r)
    assert r.code == 0 and got["limited_by"] == "cgroup v2" and got["group"].startswith(root), (got, r.errors)
    assert got["group_peak_bytes"] is None and got["oom_kills"] is None and got["survived"] is None, got
    assert not glob.glob(root + "/silt-lab-*"), "left behind"
