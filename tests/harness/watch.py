# SPDX-License-Identifier: MIT
"""Recordings that something is done to while they run, compared with the same program run alone."""

import os
import re
import signal
import subprocess
import threading
import time

from .process import TimedOut, give_up, kill_family, run, stat_fields


def told(output):
    """The `name value` lines of a program as a dictionary."""
    return {name.decode(): int(value) for name, value in re.findall(rb"^(\w+) (\d+)$", output, re.M)}


def children(pid):
    return [int(n) for n in os.listdir("/proc")
            if n.isdigit() and (stat_fields(n) or [b"", b"0"])[1] == str(pid).encode()]


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def await_joined(pid, patience_s=200):
    """Returns when the recorder has let the process in: it has the shared memory."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/maps") as f:
                if "memfd:silt" in f.read():
                    return
        except OSError:
            break
        time.sleep(0.002)
    raise TimedOut(f"process {pid} did not join its recording")


def await_file(path, patience_s=200):
    end = time.monotonic() + patience_s
    while not os.path.exists(path):
        give_up(end, f"no {path} after {patience_s} s")
        time.sleep(0.01)


def await_report(t, trace, n_allocations=0, patience_s=300):
    """The report of a trace that is being written, as soon as it has more than n_allocations."""
    end = time.monotonic() + patience_s
    while True:
        report, why = t.silt.report(trace)
        if report and report["totals"]["allocations"] > n_allocations:
            return report
        give_up(end, f"not more than {n_allocations} allocations after {patience_s} s: {why}")
        time.sleep(0.05)


def await_state(pid, states, patience_s=200):
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        fields = stat_fields(pid)
        if fields and fields[0] in states:
            return
        time.sleep(0.002)
    raise TimedOut(f"process {pid} is in state {fields and fields[0]}, not {states}")


class Recording:
    """silt run, started and left running."""

    def __init__(self, t, argv, options=(), trace="t.silt", prefix=(), **popen):
        self.t, self.trace = t, t.path(trace)
        self.begin = time.monotonic()
        full = [*prefix, *t.silt.run_argv(self.trace, argv, options)]
        self.process = subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, start_new_session=True, **popen)
        t.running.append(self.process)

    def child(self, is_wanted, patience_s=200):
        end = time.monotonic() + patience_s
        while time.monotonic() < end and self.process.poll() is None:
            for pid in children(self.process.pid):
                if is_wanted(comm(pid)):
                    return pid
            time.sleep(0.002)
        return None

    def recorder(self):
        return self.child(lambda name: name == "silt-recorder")

    def target(self):
        return self.child(lambda name: name and not name.startswith("silt"))

    def joined(self):
        """The target, as soon as it records."""
        pid = self.target()
        await_joined(pid)
        return pid

    def finish(self, timeout_s=600):
        """Status as a shell shows it, stdout, stderr."""
        try:
            out, err = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            kill_family(self.process.pid)
            raise TimedOut(f"silt did not end within {timeout_s} s") from None
        self.seconds = time.monotonic() - self.begin
        return self.process.returncode, out, err.decode(errors="replace")


def same(bare, status, out, err=""):
    """The program did what it does alone."""
    assert status == bare.code, f"status {status}, alone {bare.code}: {err[-500:]}"
    assert out == bare.stdout, f"output {out[-300:]!r}, alone {bare.stdout[-300:]!r}: {err[-500:]}"


def whole(t, trace, may_end_early=False):
    """The trace opens and verifies; its report. One whose recorder was killed has no index at its end (T17), or half a
    slice before the index that silt made afterwards; nothing else may be wrong with it."""
    v = t.silt.command("verify", trace)
    found = [x for x in v.text.splitlines() if x.startswith("T")]
    excused = may_end_early and len(found) == 1 and (found[0].startswith("T17 ") or "the last slice has no SLIC" in found[0])
    assert v.code == 0 or excused, f"verify: {v.code}: {v.errors}{v.text}"
    report, why = t.silt.report(trace)
    assert report, why
    return report


def n_events(totals):
    """Events that were recorded, or are known to be missing."""
    return sum(totals[x] for x in ("allocations", "frees", "unknown_frees", "lost_events"))


def one_line(err, *words):
    """silt said one thing, with these words in it."""
    lines = err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("silt: "), f"not one line of silt's: {err!r}"
    for word in words:
        assert word in lines[0], f"no {word!r} in {lines[0]!r}"


class Throttle(threading.Thread):
    """Lets a process run for run_s out of every of_s."""

    def __init__(self, pid, run_s, of_s):
        super().__init__(daemon=True)
        self.pid, self.run_s, self.of_s, self.over = pid, run_s, of_s, threading.Event()
        self.start()

    def run(self):
        try:
            while not self.over.is_set():
                os.kill(self.pid, signal.SIGSTOP)
                self.over.wait(self.of_s - self.run_s)
                os.kill(self.pid, signal.SIGCONT)
                time.sleep(self.run_s)
        except ProcessLookupError:
            pass

    def end(self):
        self.over.set()
        self.join()


def alone(argv, **kwargs):
    r = run(argv, **kwargs)
    assert r.code < 125 or r.code > 127, f"the program alone: {r.code}: {r.errors}"
    return r
