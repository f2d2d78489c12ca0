# SPDX-License-Identifier: MIT
"""A program that runs, and silt that attaches to it."""

import os
import signal
import subprocess
import time

from harness.process import TimedOut, give_up, kill_family

PATIENCE_S = 600


def build(t, name):
    return t.context.attached.build(name.replace(".", "_"), [name])


def bytes_of_code(pid):
    """All code of the process but the runtime's and what it put beside: must be the same after as before."""
    found = {}
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            words = line.split(maxsplit=5)
            path = words[5].strip() if len(words) > 5 else ""
            if "x" not in words[1] or not path.startswith("/") or "libsilt.so" in path:
                continue
            begin, end = (int(x, 16) for x in words[0].split("-"))
            memory.seek(begin)
            found[words[0] + path] = memory.read(end - begin)
    return found


class Target:
    """A program of this folder, or any other, that says "ready PID" when it is."""

    def __init__(self, t, argv, says_ready=True, **popen):
        popen.setdefault("stdin", subprocess.PIPE)
        self.t = t
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True, **popen)
        self.pid = self.process.pid
        if says_ready:
            line = self.process.stdout.readline().split()
            assert line[:1] == [b"ready"], f"it did not start: {line}"

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        kill_family(self.process.pid)
        self.process.stdout.close()
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer == b"done\n", answer

    def last_words(self):
        """How it ended and what it said, for whoever found that it is gone."""
        try:
            status = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "\nit is still there"
        return f"\nit ended with {status} and said {self.process.stdout.read()!r}"

    def finish(self, end=None):
        """What it says at its end."""
        if end:
            os.kill(self.pid, end)
        try:
            out = self.process.communicate(timeout=PATIENCE_S)[0]
        except subprocess.TimeoutExpired:
            raise TimedOut("it did not end") from None
        assert self.process.returncode == 0, f"{self.process.returncode}: {out!r}"
        return out.decode()


class Attached:
    """silt attach, until it is ended."""

    def __init__(self, t, pid, trace=None, options=(), env=None):
        self.t, self.trace = t, trace or t.path("t.silt")
        runtime = ["--runtime", t.silt.runtime] if t.silt.runtime else []
        self.process = subprocess.Popen([t.silt.path, "attach", str(pid), "-f", "-o", self.trace, *runtime, *options],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0, start_new_session=True,
                                        env={**os.environ, **(env or {})})
        self.said = ""

    def await_recording(self):
        for line in self.process.stderr:
            self.said += line.decode(errors="replace")
            if b"recording process" in line:
                return self
        raise AssertionError(f"it does not record: {self.said}")

    def end(self, how=signal.SIGINT):
        if how:
            self.process.send_signal(how)
        try:
            self.said += self.process.communicate(timeout=PATIENCE_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            kill_family(self.process.pid)
            raise TimedOut(f"silt does not end: {self.said}") from None
        return self.process.returncode

    def totals(self, process=None):
        report, why = self.t.silt.report(self.trace, *(["--process", str(process)] if process else []))
        assert report, why
        verified = self.t.silt.command("verify", self.trace)
        assert verified.code == 0, verified.text
        self.report = report
        return report["totals"]


def record(t, pid, during=None, options=(), pauses=None):
    """One recording, ended by Ctrl-C. Its totals."""
    silt = Attached(t, pid, options=options).await_recording()
    if during:
        during()
    code = silt.end()
    assert code == 0, f"{code}: {silt.said}"
    if pauses:
        pauses.take(silt.said)
    return silt.totals()


def await_true(fn, what, patience_s=300):
    end = time.monotonic() + patience_s
    while not fn():
        give_up(end, what)
        time.sleep(0.005)
