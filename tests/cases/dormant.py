# SPDX-License-Identifier: MIT
"""silt run --dormant: nothing of silt in the program until it is time, then all that follows."""

import json
import os
import signal
import subprocess
import time

from harness.process import kill_family, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 600


class Dormant:
    """moments.c, which says what it holds, under silt run --dormant."""

    def __init__(self, t, *options):
        self.t, self.trace = t, t.path("t.silt")
        program = t.path("moments")
        if not os.path.exists(program):
            r = run(["gcc", "-O1", "-g", "-pthread", "-I", os.path.join(ROOT, "include"), os.path.join(ROOT, "tests/cases/moments.c"), "-o", program])
            assert r.code == 0, r.errors
        self.process = subprocess.Popen([t.silt.path, "run", "--dormant", *options, "-f", "-o", self.trace, "--", program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.said = self.process.stderr.readline().decode()
        self.pid = int(self.said.split()[2])
        self.hear()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the program has ended"
        return tuple(map(int, line.split()))

    def tell(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        return self.hear()

    def woken(self):
        """Waits for it: silt says so."""
        line = self.process.stderr.readline().decode()
        assert line.startswith(f"silt: recording process {self.pid} ") and "Ctrl-C" not in line, line

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        errors = self.process.stderr.read().decode()
        assert self.process.wait(timeout=PATIENCE_S) == 0, (self.process.returncode, errors)
        return errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            kill_family(self.process.pid)
        for f in (self.process.stdin, self.process.stdout, self.process.stderr):
            f.close()
        self.process.wait()


def nothing_of_silt(pid):
    with open(f"/proc/{pid}/maps") as f:
        assert "silt" not in "".join(line for line in f if "libsilt" in line or "memfd:silt" in line), "the runtime is inside"
    with open(f"/proc/{pid}/environ", "rb") as f:
        environ = f.read()
    assert b"libsilt" not in environ and b"SILT_RENDEZVOUS" not in environ, environ


def check(t, trace, blocks, size):
    got, why = t.silt.report(trace)
    assert got, why
    v = t.silt.command("verify", trace)
    assert v.code == 0, v.text + v.errors
    totals = got["totals"]
    assert (totals["allocations"], totals["end_live_blocks"], totals["end_live_bytes"]) == (blocks, blocks, blocks * size), totals
    assert totals["lost_events"] == 0, totals
    return got


def test_after(t):
    """Asleep it is the bare program; then every allocation counts, releases of older blocks as such."""
    with Dormant(t, "--start-after", "500ms") as d:
        assert "starts 500 ms after it started, or with 'silt attach" in d.said, d.said
        d.tell("+100 1000")
        nothing_of_silt(d.pid)
        assert not os.path.exists(d.trace), "a trace of nothing"
        d.woken()
        d.tell("-10")
        d.tell("+70 500")
        r = t.silt.command("snapshot", str(d.pid), "--json", "--name", "now")
        assert r.code == 0 and json.loads(r.stdout)["live_blocks"] == 70, r.text + r.errors
        errors = d.end()
    assert f"next:  silt report {d.trace}" in errors, errors
    got = check(t, d.trace, 70, 500)
    assert got["totals"]["prior_frees"] == 10, got["totals"]
    assert any(n.startswith("recording started ") and "after the program" in n for n in got["notes"]), got["notes"]


def test_sampled(t):
    """Woken with --sample: totals are exact, the rest an estimate."""
    with Dormant(t, "--start-after", "300ms", "--sample", "1K") as d:
        d.tell("+100 1000")
        d.woken()
        d.tell("+3000 500")
        d.end()
    got, why = t.silt.report(d.trace)
    assert got, why
    assert got["mode"] == "sampled" and got["totals"]["allocations"] == 3000, (got["mode"], got["totals"])
    # about 1,200 of 3,000 blocks are chosen: the standard error is 2 %
    assert abs(got["totals"]["end_live_blocks"] - 3000) < 600, got["totals"]


def test_for_production(t):
    """Woken by its memory, within a budget, a size and a time: what is exact stays so, and the program goes on."""
    options = ("--start-above", "30M", "--budget", "2%", "--sample", "4K", "--max-size", "1M", "--duration", "1500ms", "--snapshot-every", "200ms")
    with Dormant(t, *options) as d:
        nothing_of_silt(d.pid)
        d.tell("+40 1000000")
        d.woken()
        d.tell("-5")
        d.tell("+30000 500")
        while "trace: " not in d.process.stderr.readline().decode():
            pass
        assert d.tell("+10 10")[1] == 30045, "it does not go on"
        d.end()
    got, why = t.silt.report(d.trace)
    assert got, why
    totals = got["totals"]
    assert (got["mode"], totals["allocations"], totals["frees"], totals["bytes_allocated"]) == ("sampled", 30000, 5, 15000000), totals
    # one in 4 KiB to begin with, of 15,000,000 bytes: the standard error is 1.6 %, and more once the budget has made samples rarer
    assert abs(totals["end_live_bytes"] - 15000000) < 6000000 and totals["lost_events"] == 0, totals
    assert got["sampling"]["cost_pct"] >= 0 and got["snapshots"][0]["name"] == "auto-1", got["sampling"]
    assert any("when it had " in n for n in got["notes"]), got["notes"]
    assert os.path.getsize(d.trace) <= 1 << 20 and t.silt.command("verify", d.trace).code == 0


def test_above(t):
    with Dormant(t, "--start-above", "30M") as d:
        assert "starts when it has more than 30.0 MiB resident" in d.said, d.said
        d.tell("+10 1000000")
        time.sleep(0.6)  # it is looked at, and is not enough
        nothing_of_silt(d.pid)
        d.tell("+30 1000000")
        d.woken()
        d.tell("+3 2000")
        d.end()
    got = check(t, d.trace, 3, 2000)
    assert any("when it had " in n for n in got["notes"]), got["notes"]


def test_for_a_while(t):
    """--duration counts from the waking; the program goes on without silt."""
    with Dormant(t, "--start-after", "100ms", "--duration", "300ms") as d:
        d.woken()
        while "trace: " not in d.process.stderr.readline().decode():
            pass
        assert d.tell("+10 10") == (100, 10)
        d.end()
    assert t.silt.report(d.trace)[0]["totals"]["allocations"] == 0


def test_by_hand(t):
    """Whenever somebody attaches; the sleeping silt goes on waiting for the program."""
    with Dormant(t) as d:
        assert "recording starts with 'silt attach" in d.said, d.said
        r = t.silt.command("attach", str(d.pid), "--duration", "200ms", "--snapshot-every", "50ms", "-o", t.path("by_hand.silt"))
        assert r.code == 0, r.errors
        assert t.silt.report(t.path("by_hand.silt"))[0]["snapshots"][0]["name"] == "auto-1"
        assert d.tell("+10 10") == (100, 10)
        errors = d.end()
    assert "ended before recording started" in errors, errors
    assert os.path.exists(t.path("by_hand.silt")) and not os.path.exists(d.trace)


def test_signals(t):
    """Those to silt are the program's, asleep and awake."""
    for options in ([], ["--start-after", "50ms"]):
        with Dormant(t, *options) as d:
            if options:
                d.woken()
            os.kill(d.process.pid, signal.SIGTERM)
            assert d.process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM, d.process.returncode
        if options:
            assert t.silt.report(d.trace)[0]["totals"]["lost_events"] == 0


def test_statuses(t):
    silt = lambda *argv: run([t.silt.path, "run", *argv])
    assert silt("--dormant", "sh", "-c", "exit 7").code == 7
    assert silt("--dormant", "sh", "-c", "kill -9 $$").code == 137
    assert silt("--dormant", t.path("nothing")).code == 127
    r = silt("--dormant", "-q", "--start-after", "1h", "true")
    assert r.code == 0 and not r.errors and not r.stdout, r.errors
    with open(t.path("there"), "w"):
        pass
    for argv, says in ((["--dormant", "-o", t.path("there"), "true"], "already exists"), (["--start-after", "1s", "true"], "add --dormant"),
                       (["--start-above", "1M", "true"], "add --dormant"), (["--dormant", "--wait", "true"], "--wait"),
                       (["--dormant", "--no-patch", "true"], "--no-patch"), (["--dormant", "--start-after", "0", "true"], "--start-after")):
        r = silt(*argv)
        assert r.code == 125 and says in r.errors and r.errors.count("\n") == 1, (argv, r.code, r.errors)
