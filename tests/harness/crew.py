# SPDX-License-Identifier: MIT
"""Runs tests at once, each in a process of its own: with its own session, folder for temporary files and last resort, and whatever it started
is ended with it. No test sees what another changed in Python, in the environment or among open files."""

import ctypes
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from . import cases
from .process import TimedOut, kill_family
from .toolchain import BuildError

PR_SET_CHILD_SUBREAPER = 36
LAST_RESORT_S = 900
# Ends that a program does not choose.
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT, signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS}


def be_reaper():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Outcome:
    """Of one run of one test."""

    def __init__(self, failures=(), notes=(), skip=None):
        self.failures, self.notes, self.skip, self.left = list(failures), list(notes), skip, []


# ---- inside the test's own process ---------------------------------------------------------------------------------------------

started = []


def remember_what_is_started():
    """So that a test that finds a pipe broken can say who died."""
    plain = subprocess.Popen.__init__

    def init(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        started.append(self)

    subprocess.Popen.__init__ = init


def kernel_lines(pid):
    """What the kernel says of a process that crashed: where."""
    try:
        r = subprocess.run(["dmesg"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "".join("\n" + line for line in r.stdout.splitlines() if re.search(rf"\[{pid}\]", line))


def crashes():
    found = []
    for process in started:
        code = process.poll()
        if code is not None and -code in CRASHES:
            name = " ".join(map(str, process.args if isinstance(process.args, (list, tuple)) else [process.args]))
            found.append(f"killed by {signal.Signals(-code).name}: {name}{kernel_lines(process.pid)}")
    return found


def run_here(test):
    try:
        return Outcome(*test.run())
    except cases.Skip as skip:
        return Outcome(skip=str(skip))
    except (BuildError, TimedOut, subprocess.TimeoutExpired) as e:
        return Outcome([str(e), *crashes(), *getattr(e, "draws", [])])
    except Exception as e:
        return Outcome([traceback.format_exc(), *crashes(), *getattr(e, "draws", [])])


def be_test(test, folder, result_fd):
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    remember_what_is_started()
    outcome = run_here(test)
    sys.stdout.flush()
    with os.fdopen(result_fd, "w") as f:
        json.dump([outcome.failures, outcome.notes, outcome.skip], f)


def in_child(function, *args):
    """fork, and function(*args) there; nothing of this program's own end happens in it."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        function(*args)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def be_guardian(test, folder, result_fd, log_fd):
    """The test's parent, to which comes what loses its own parent, as to init; all of it ends with the test."""
    os.setsid()
    be_reaper()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    own = in_child(be_test, test, folder, result_fd)
    os.close(result_fd)
    pid = status = 0
    while pid != own:
        pid, status = os.wait()
    kill_family(os.getpid(), with_leader=False)
    if status:
        print(f"the process of the test ended with {'signal %d' % (status & 127) if status & 127 else 'status %d' % (status >> 8)}", flush=True)


# ---- outside of it ---------------------------------------------------------------------------------------------------------------


class Run:
    """A test that is running."""

    def __init__(self, job, scratch):
        self.job = job
        self.folder = tempfile.mkdtemp(prefix="t", dir=scratch)
        os.chmod(self.folder, 0o755)  # some tests are other users
        self.log_path = self.folder + ".log"
        self.begin_s = time.monotonic()
        self.last_s = self.begin_s + getattr(job.test, "timeout_s", 0) + LAST_RESORT_S
        self.said = b""
        sys.stdout.flush()
        sys.stderr.flush()
        self.fd, result_fd = os.pipe()
        log_fd = os.open(self.log_path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        self.pid = in_child(be_guardian, job.test, self.folder, result_fd, log_fd)
        os.close(result_fd)
        os.close(log_fd)

    def read(self):
        """False: that was all."""
        part = os.read(self.fd, 1 << 16)
        self.said += part
        return bool(part)

    def end(self):
        is_late = time.monotonic() > self.last_s
        if is_late:
            kill_family(self.pid)
        os.close(self.fd)
        os.waitpid(self.pid, 0)
        left = sorted(os.listdir(self.folder))
        with open(self.log_path, errors="replace") as f:
            log = f.read()[-2000:].strip()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.unlink(self.log_path)
        try:
            outcome = Outcome(*json.loads(self.said))
        except (ValueError, TypeError):
            outcome = Outcome([f"no end after {time.monotonic() - self.begin_s:.0f} s" if is_late else "no result"])
        if outcome.failures and log:
            outcome.failures.append("printed meanwhile: " + log)
        outcome.left = left
        return outcome


class Job:
    """A test, to be run until it has failed or passed so often."""

    def __init__(self, test, repeats):
        self.test, self.repeats, self.n_done = test, repeats, 0
        self.waits = getattr(test, "waits", False)
        self.seconds = 0.0


def end_orphans(running):
    """What a test left that was killed itself."""
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children") as f:
            children = {int(pid) for pid in f.read().split()}
    except OSError:
        return
    for pid in children - {run.pid for run in running}:
        kill_family(pid)
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass


def run_all(jobs, scratch, n_at_once, on_end):
    """on_end(job, outcome) once for each, in the order they end. Tests that wait have a lane of their own: they take time, and no processor that
    others would need."""
    be_reaper()
    busy, waiting = [j for j in jobs if not j.waits], [j for j in jobs if j.waits]
    running = {}
    poll = select.poll()

    def start(job):
        job.test.n_run = job.n_done
        run = Run(job, scratch)
        running[run.fd] = run
        poll.register(run.fd, select.POLLIN | select.POLLHUP)

    try:
        while busy or waiting or running:
            while busy and sum(not r.job.waits for r in running.values()) < n_at_once:
                start(busy.pop(0))
            if waiting and not any(r.job.waits for r in running.values()):
                start(waiting.pop(0))
            ready = {fd for fd, _ in poll.poll(1000)}
            late = {fd for fd, r in running.items() if time.monotonic() > r.last_s}
            for fd in ready | late:
                run = running[fd]
                if fd not in late and run.read():
                    continue
                poll.unregister(fd)
                del running[fd]
                outcome = run.end()
                end_orphans(running.values())
                job = run.job
                job.n_done += 1
                job.seconds += time.monotonic() - run.begin_s
                if job.n_done < job.repeats and not outcome.failures and outcome.skip is None:
                    start(job)
                else:
                    on_end(job, outcome)
    finally:
        for run in running.values():
            kill_family(run.pid)
