# SPDX-License-Identifier: MIT
"""Servers under load, and silt that comes and goes: what both sides say is checked, and how long the server stood still."""

import grp
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from attach._target import PATIENCE_S, Attached
from harness.process import kill_family

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_PAUSE_MS, LATE_TIMES = 50, 4


def is_root():
    return os.geteuid() == 0


def nobody():
    """Name of the user that servers become, and of its group."""
    user = pwd.getpwnam("nobody")
    return user.pw_name, grp.getgrgid(user.pw_gid).gr_name


def as_nobody(argv):
    """Some servers refuse to be root's."""
    if not is_root():
        return argv
    user, group = nobody()
    return ["setpriv", "--reuid", user, "--regid", group, "--clear-groups", *argv]


class Folder:
    """One that the server may write to, whoever it is, with a path short enough for sockets; the runtime lies in it, for a server that
    may not read where silt is built."""

    def __init__(self, t):
        self.t, self.path = t, tempfile.mkdtemp(prefix="silt-service.")
        self.runtime = self.file("libsilt.so")
        shutil.copy(t.silt.runtime or os.path.join(os.path.dirname(t.silt.path), "libsilt.so"), self.runtime)
        os.chmod(self.runtime, 0o755)
        if is_root():
            shutil.chown(self.path, *nobody())
        os.chmod(self.path, 0o755)

    def file(self, name):
        return os.path.join(self.path, name)

    def __enter__(self):
        return self

    def __exit__(self, kind, *ignored):
        if kind:
            shutil.copytree(self.path, self.t.path("service"), dirs_exist_ok=True, ignore=lambda folder, names: [
                n for n in names if not os.path.isfile(os.path.join(folder, n)) or n == "libsilt.so" or "data" in folder])
        shutil.rmtree(self.path, ignore_errors=True)


class Client:
    """One of _client.py."""

    def __init__(self, *argv):
        self.what = argv[0]
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "_client.py"), *map(str, argv)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True)

    def await_ready(self):
        line = self.process.stdout.readline().split()
        if line[:1] != ["ready"]:
            raise AssertionError(f"{self.what}: {line} {self.process.stderr.read()}")
        return line[1:]

    def check_alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.what}: {self.process.stderr.read()}")

    def finish(self):
        """Number of requests, all answered as they should be, and the longest time one took (ms)."""
        out, err = self.process.communicate("", timeout=PATIENCE_S)
        words = out.split()
        assert self.process.returncode == 0 and words[:1] == ["ok"], f"{self.what}: {self.process.returncode}: {out}{err}"
        return int(words[1]), float(words[2])

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        kill_family(self.process.pid)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.process.wait()


class Pauses:
    """How long the target stood still for each silt that came and went. With more to do than the machine can, everybody waits, threads that
    are to stop for a processor and those that have for them: all are told, but the middle one must not be too long."""

    def __init__(self):
        self.watch = Client("watch")
        self.all_ms = {"attach": [], "detach": []}
        self.late()

    def late(self):
        self.watch.process.stdin.write("\n")
        self.watch.process.stdin.flush()
        return float(self.watch.process.stdout.readline())

    def take(self, said):
        found = re.findall(r"were stopped for ([\d.]+) ms to (attach|detach)", said)
        assert [what for _, what in found] == ["attach", "detach"], said
        for ms, what in found:
            self.all_ms[what].append(float(ms))

    def note(self):
        """What there is to say, and the verdict."""
        late_ms, middle = self.late(), {what: statistics.median(ms) for what, ms in self.all_ms.items()}
        for what, ms in middle.items():
            assert ms <= MAX_PAUSE_MS + LATE_TIMES * late_ms, \
                f"{ms} ms to {what} in the middle, on a machine that was {late_ms} ms late: {self.all_ms}"
        told = ", ".join(f"{middle[what]:.1f} ms (at most {max(ms):.1f}, {sum(x > MAX_PAUSE_MS for x in ms)} over {MAX_PAUSE_MS}) to {what}"
                         for what, ms in self.all_ms.items())
        return f"{len(self.all_ms['attach'])} times: stood still for {told}; the machine was {late_ms} ms late"

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.watch.__exit__()


def come_and_go(t, pid, pauses, options=(), seconds=0.05):
    """One recording, of which nothing is lost."""
    silt = Attached(t, pid, options=options).await_recording()
    time.sleep(seconds)
    code = silt.end()
    assert code == 0, f"{code}: {silt.said}"
    assert "; 0 lost" in silt.said, silt.said
    pauses.take(silt.said)
    return silt


def look_into(t, pids, function, pauses, options=()):
    """Recordings, one of which soon has events of this function; all of them verify, and nothing is lost."""
    for i in range(20):
        silt = come_and_go(t, pids[i % len(pids)], pauses, options, seconds=0.1 * (i + 1))
        totals = silt.totals()
        assert totals["lost_events"] == totals["unknown_frees"] == 0, totals
        overhead = silt.report["overhead"]
        assert 0 < overhead["attach_pause_s"] < 100 and 0 <= overhead["detach_pause_s"] < 100, overhead
        report, why = t.silt.report(silt.trace, "--by", "count", "--top", "1000")
        assert report, why
        named = {frame["function"] for top in report["top"] for site in top["sites"] for frame in site["stack"]}
        if any(function in name for name in named):
            return
    raise AssertionError(f"no {function} in {sorted(named)}")
