# SPDX-License-Identifier: MIT
"""Running a command with a time limit after which nothing of it is left alive."""

import os
import select
import signal
import subprocess
import time


class TimedOut(Exception):
    """Something did not come to its end, or to a state, in time."""


def give_up(deadline, text):
    """For loops that wait: raises once the deadline has passed."""
    if time.monotonic() > deadline:
        raise TimedOut(text)


def in_time(seconds, most_s, text):
    """What took so long may take at most so long."""
    if seconds > most_s:
        raise TimedOut(f"{text}: {seconds:.1f} s, not at most {most_s:.1f}")


class Result:
    def __init__(self, argv, status, stdout, stderr, seconds):
        self.argv, self.status, self.seconds = argv, status, seconds
        self.stdout, self.stderr = stdout, stderr

    @property
    def code(self):
        """The exit status as a shell shows it."""
        return 128 - self.status if self.status < 0 else self.status

    @property
    def text(self):
        return self.stdout.decode(errors="replace")

    @property
    def errors(self):
        return self.stderr.decode(errors="replace")


def stat_fields(pid):
    """Fields of /proc/PID/stat after the name: state, ppid, pgrp, session, ..."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()
    except OSError:
        return None


def kill_family(leader, with_leader=True):
    """Kills everything in the session of `leader` and all its descendants, wherever they went; `leader` too, or all but that."""
    for _ in range(5):
        parents, doomed = {}, set()
        for name in os.listdir("/proc"):
            fields = stat_fields(name) if name.isdigit() else None
            if fields and fields[0] != b"Z":
                parents[int(name)] = int(fields[1])
                if int(fields[3]) == leader:
                    doomed.add(int(name))
        doomed.add(leader)
        grown = True
        while grown:
            new = {pid for pid, parent in parents.items() if parent in doomed and pid not in doomed}
            doomed |= new
            grown = bool(new)
        alive = [pid for pid in doomed if pid in parents and (with_leader or pid != leader)]
        if not alive:
            return
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.01)


def find_by_argument(word):
    """Processes that have `word` as one of their arguments."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                if os.fsencode(word) in f.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def outlived(word, patience_s):
    """Whether a process with that argument is still there after patience_s; ends it then."""
    deadline = time.monotonic() + patience_s
    while find_by_argument(word):
        if time.monotonic() > deadline:
            for pid in find_by_argument(word):
                os.kill(pid, signal.SIGKILL)
            return True
        time.sleep(0.02)
    return False


def run(argv, timeout_s=600, stdin=b"", env=None, cwd=None, **popen):
    """Runs argv in a session of its own; kills the whole family when the time is over."""
    full_env = dict(os.environ)
    for key, value in (env or {}).items():
        if value is None:
            full_env.pop(key, None)
        else:
            full_env[key] = value
    begin = time.monotonic()
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=full_env, cwd=cwd, start_new_session=True, **popen)
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        kill_family(child.pid)
        try:
            stdout, stderr = child.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            stdout, stderr = b"", b""
        raise TimedOut(f"no end after {timeout_s} s: {' '.join(map(str, argv))}\n"
                       f"  stdout: {stdout[-500:]!r}\n  stderr: {stderr[-500:]!r}") from None
    return Result(argv, child.returncode, stdout, stderr, time.monotonic() - begin)


def is_readable(stream, timeout_s):
    """By poll: select knows no descriptor above 1,023, and tests beside may have a thousand open."""
    p = select.poll()
    p.register(stream, select.POLLIN)
    return bool(p.poll(max(0, timeout_s) * 1000))
