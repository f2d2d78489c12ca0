# SPDX-License-Identifier: MIT
"""Snapshots that memory itself brings about: thresholds of resident memory, peaks, pressure."""

import subprocess
import time

from harness.answer import parse
from harness.cgroup import MemoryGroup, limited
from harness.process import give_up, kill_family, run

MIB = 1 << 20
PATIENCE_S = 600
# one block at a time, of so many MiB, all of it touched
PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
        char *block = NULL;
        long mib;
        setvbuf(stdout, NULL, _IONBF, 0);
        puts("ready");
        while (scanf("%ld", &mib) == 1) {
                free(block);
                block = malloc((size_t)mib << 20);
                memset(block, 1, (size_t)mib << 20);
                puts("done");
        }
        return 0;
}
"""


class Grower:
    def __init__(self, t, *options, attach=False, door=None):
        self.t, self.trace = t, t.path("t.silt")
        source = t.path("grower.c")
        with open(source, "w") as f:
            f.write(PROGRAM)
        r = run(["gcc", "-O1", "-g", "-fno-builtin", source, "-o", t.path("grower")])
        assert r.code == 0, r.errors
        program = [t.path("grower")]
        if door:
            program = ["sh", "-c", f"echo $$ >{door}; exec {program[0]}"]
        argv = program if attach else t.silt.run_argv(self.trace, program, ["-f", *options])
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        t.running.append(self.process)
        assert self.process.stdout.readline() == "ready\n"

    def hold(self, mib):
        self.process.stdin.write(f"{mib}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def names(self):
        r = self.t.silt.command("report", self.trace, "--json")
        return [s["name"] for s in parse(r.text)["snapshots"]] if r.code == 0 else []

    def await_name(self, name):
        end = time.monotonic() + PATIENCE_S
        while name not in self.names():
            give_up(end, f"no snapshot {name}: {self.names()}")
            time.sleep(0.1)

    def end(self, silt=None):
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE_S) == 0
        self.process.stdout.close()
        if silt:
            silt.communicate(timeout=PATIENCE_S)
            assert silt.returncode == 0
        assert self.t.silt.command("verify", self.trace).code == 0

    def live_at(self, name):
        got, why = self.t.silt.report(self.trace, "--at", "@" + name)
        assert got, why
        return got["totals"]["end_live_bytes"]


def test_thresholds(t):
    """Each once, on the way up; at the moment the program holds what made it so."""
    p = Grower(t, "--snapshot-rss", "20M,60M", "--snapshot-rss", "900M")
    p.hold(10)
    p.hold(30)
    p.await_name("rss-20M")
    p.hold(1)
    p.hold(31)
    p.hold(80)
    p.await_name("rss-60M")
    p.end()
    assert p.names() == ["rss-20M", "rss-60M"], p.names()
    assert 30 * MIB <= p.live_at("rss-20M") < 31 * MIB and 80 * MIB <= p.live_at("rss-60M") < 81 * MIB


def test_attached(t):
    """What was passed before silt came is not reached any more."""
    p = Grower(t, attach=True)
    p.hold(30)
    silt = subprocess.Popen([t.silt.path, "attach", str(p.process.pid), "-f", "-o", p.trace, "--snapshot-rss", "20M,60M"], stderr=subprocess.PIPE)
    t.running.append(silt)
    assert b"recording process" in silt.stderr.readline()
    p.hold(35)
    p.hold(80)
    p.await_name("rss-60M")
    p.end(silt)
    assert p.names() == ["rss-60M"], p.names()


def test_peaks(t):
    """Only what is clearly higher than all before; kept exact in a bounded trace."""
    p = Grower(t, "--snapshot-peak", "--max-size", "1M")
    p.hold(10)
    p.await_name("peak-1")
    p.hold(5)
    p.hold(20)
    p.await_name("peak-2")
    p.hold(20)
    p.hold(40)
    p.await_name("peak-3")
    p.end()
    assert p.names() == ["peak-1", "peak-2", "peak-3"], p.names()
    assert [p.live_at(f"peak-{i}") // MIB for i in (1, 2, 3)] == [10, 20, 40]


def test_pressure(t):
    """Near the limit of a cgroup, before the kernel kills anybody; percentages are of that limit."""
    with limited(t, MemoryGroup, 128 * MIB) as group:
        p = Grower(t, "--snapshot-pressure", "--snapshot-rss", "50%", door=group.door)
        try:
            p.hold(50)
            p.hold(80)
            p.await_name("rss-50%")
            assert "pressure-1" not in p.names(), p.names()
            p.hold(124)
            p.await_name("pressure-1")
            p.end()
        finally:
            kill_family(p.process.pid)
        assert 80 * MIB <= p.live_at("rss-50%") < 81 * MIB and p.live_at("pressure-1") >= 124 * MIB
        assert group.n_kills() == 0


def test_refused(t):
    for value, why in (("", "not a threshold"), ("1G,1G", "twice"), ("101%", "out of range"), ("x", "x")):
        r = t.silt.command("run", "--snapshot-rss", value, "true")
        assert r.code == 125 and r.errors.count("\n") == 1 and why in r.errors, (value, r.errors)
