# SPDX-License-Identifier: MIT
"""The target is stopped and continued: by kill, by a shell's job control, by silt's own stop. It goes on as alone."""

import os
import re
import signal
import subprocess
import time

from harness.place import fork_terminal
from harness.process import TimedOut, is_readable, kill_family
from harness.watch import await_state, whole

N_ROUNDS = 400


def check_counts(t, trace, n_rounds=N_ROUNDS):
    report = whole(t, trace)
    totals = report["totals"]
    assert (totals["allocations"], totals["frees"], totals["lost_events"]) == (n_rounds, n_rounds, 0), totals
    assert totals["bytes_allocated"] == 10 * n_rounds and report["ended"] == "exit", report["ended"]
    return report


def start(argv, **popen):
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
    line = process.stdout.readline().split()
    assert line[:1] == [b"ready"], f"it did not start: {line} {process.stderr.read()!r}"
    return process, int(line[1])


def finish(process):
    try:
        out, err = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        kill_family(process.pid)
        raise TimedOut("it did not end") from None
    return process.returncode, out, err


def await_going_on(pid, patience_s=200):
    """It runs, and has seen that it was continued: a SIGCONT that is still pending is lost in the next stop."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        with open(f"/proc/{pid}/status") as f:
            status = dict(line.split(":", 1) for line in f if ":" in line)
        pending = int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)
        if status["State"].split()[0] not in "Tt" and not pending & 1 << signal.SIGCONT - 1:
            return
        time.sleep(0.002)
    raise AssertionError(f"process {pid} does not go on: {status['State']}")


def stop_and_continue(argv, times, signal_no=signal.SIGSTOP, to_silt=False):
    """In a group of its own that is not orphaned: the kernel stops no orphaned one by SIGTSTP."""
    process, pid = start(argv, preexec_fn=lambda: os.setpgid(0, 0))
    to = process.pid if to_silt else pid
    for _ in range(times):
        time.sleep(0.02)
        os.kill(to, signal_no)
        await_state(pid, (b"T",))
        time.sleep(0.05)
        os.kill(to, signal.SIGCONT)
        await_going_on(pid)
    return finish(process)


def test_the_target_by_sigstop(t):
    """silt waits; nothing is lost, and the target sees each SIGCONT once."""
    n_runs = t.count(1, 20)
    argv = [t.victim("pauser"), str(N_ROUNDS)]
    bare = stop_and_continue(argv, 3)
    assert bare == (17, b"continued 3\nrounds 400\n", b""), bare
    for _ in range(n_runs):
        got = stop_and_continue(t.silt.run_argv(t.path("t.silt"), argv, ["-f"]), 3)
        assert got == bare, f"{got}, alone {bare}"
        check_counts(t, t.path("t.silt"))
    t.notes.append(f"{n_runs} runs of 3 stops, 0 failures")


def test_silt_by_sigtstp(t):
    """`kill -TSTP` and `kill -CONT` of silt stop and continue the target."""
    n_runs = t.count(1, 20)
    argv = [t.victim("pauser"), str(N_ROUNDS)]
    for _ in range(n_runs):
        got = stop_and_continue(t.silt.run_argv(t.path("t.silt"), argv, ["-f"]), 3, signal.SIGTSTP, to_silt=True)
        assert got == (17, b"continued 3\nrounds 400\n", b""), got
        check_counts(t, t.path("t.silt"))
    t.notes.append(f"{n_runs} runs of 3 stops, 0 failures")


def test_stopped_and_continued_at_once(t):
    """Whatever comes first, both go on."""
    n_runs = t.count(3, 50)
    for _ in range(n_runs):
        process, _ = start(t.silt.run_argv(t.path("t.silt"), [t.victim("pauser"), "100"], ["-f"]),
                           preexec_fn=lambda: os.setpgid(0, 0))
        for _ in range(5):
            os.kill(process.pid, signal.SIGTSTP)
            time.sleep(t.chance.random() * 0.002)
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.01)
        status, out, err = finish(process)
        assert status == 17 and out.endswith(b"rounds 100\n") and err == b"", f"{status} {out!r} {err!r}"
        check_counts(t, t.path("t.silt"), 100)
    t.notes.append(f"{n_runs} runs of 5 stops, 0 failures")


def test_sigtstp_in_an_orphaned_group(t):
    """Nobody there could continue it: the kernel lets the program run on, and silt must do so too."""
    n_runs = t.count(1, 20)
    argv = [t.victim("pauser"), "100"]
    for under_silt in [False] + [True] * n_runs:
        process, _ = start(t.silt.run_argv(t.path("t.silt"), argv, ["-f"]) if under_silt else argv, start_new_session=True)
        os.kill(process.pid, signal.SIGTSTP)
        got = finish(process)
        assert got == (17, b"continued 0\nrounds 100\n", b""), got
    check_counts(t, t.path("t.silt"), 100)
    t.notes.append(f"{n_runs} runs, 0 failures")


class Shell:
    """bash with job control on a terminal of its own."""

    def __init__(self):
        self.output = b""
        self.pid, self.fd = fork_terminal()
        if self.pid == 0:
            os.environ["PS1"] = "$ "
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.type("stty -echo")
        self.type("echo at-$((40+2))")
        self.read_until(rb"at-42")

    def type(self, line):
        os.write(self.fd, line.encode() + b"\n")

    def read_until(self, pattern, timeout_s=300):
        """Reads on until pattern comes after all that was found before; the match."""
        end = time.monotonic() + timeout_s
        while not (found := re.search(pattern, self.output)):
            left = end - time.monotonic()
            if left <= 0 or not is_readable(self.fd, left):
                raise AssertionError(f"no {pattern!r} in {self.output!r}")
            try:
                self.output += os.read(self.fd, 65536)
            except OSError:
                raise AssertionError(f"the shell ended without {pattern!r}: {self.output!r}") from None
        self.output = self.output[found.end():]
        return found

    def close(self):
        kill_family(self.pid)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def under_a_shell(command):
    """^Z, fg, ^Z, bg: what the program said at its end, and its status."""
    shell = Shell()
    try:
        shell.type(command)
        pid = int(shell.read_until(rb"ready (\d+)")[1])
        for go_on in ("fg", "bg"):
            time.sleep(0.05)
            os.write(shell.fd, b"\x1a")
            shell.read_until(rb"Stopped")
            await_state(pid, (b"T",))
            shell.type(go_on)
            await_going_on(pid)
        shell.type("wait %1; echo status-$?-")
        n_continued = int(shell.read_until(rb"continued (\d+)")[1])
        shell.read_until(rb"rounds 400")
        return n_continued, int(shell.read_until(rb"status-(\d+)-")[1])
    finally:
        shell.close()


def test_job_control(t):
    """^Z stops program and silt, the shell sees it, and fg and bg continue both."""
    n_runs = t.count(2, 20)
    bare = under_a_shell(f"{t.victim('pauser')} {N_ROUNDS}")
    assert bare == (2, 17), bare
    for _ in range(n_runs):
        argv = t.silt.run_argv(t.path("t.silt"), [t.victim("pauser"), str(N_ROUNDS)], ["-f"])
        got = under_a_shell(" ".join(argv))
        assert got == bare, f"(continued, status) {got}, alone {bare}"
        check_counts(t, t.path("t.silt"))
    t.notes.append(f"{n_runs} runs of 2 stops, 0 failures")
