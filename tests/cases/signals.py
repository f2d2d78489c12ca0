# SPDX-License-Identifier: MIT
"""Signals, terminals, kills: the program gets what was meant for it, once, and the trace is whole."""

import os
import signal
import subprocess
import time

from harness.place import fork_terminal
from harness.process import TimedOut, is_readable, kill_family
from harness.watch import children, comm


def start(t, argv, options=(), trace="t.silt"):
    return subprocess.Popen(t.silt.run_argv(t.path(trace), argv, options), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)


def wait_ready(process):
    """The helper's first line is `ready PID`."""
    line = process.stdout.readline().split()
    assert line[:1] == [b"ready"], f"the helper did not start: {line} {process.stderr.read()!r}"
    return int(line[1])


def finish(process, timeout_s=600):
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        kill_family(process.pid)
        raise TimedOut("silt did not end") from None
    return process.returncode, out.decode(), err.decode()


def check_whole(t, ended, trace="t.silt"):
    v = t.silt.command("verify", t.path(trace))
    assert v.code == 0, f"verify: {v.code}: {v.errors}{v.text}"
    report, why = t.silt.report(t.path(trace))
    assert report, why
    assert report["ended"] == ended, f"ended is {report['ended']}, not {ended}"
    assert report["totals"]["lost_events"] == 0
    return report


def test_signals_sent_to_silt_are_passed_on(t):
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        process = start(t, [t.helper(), "signals"], ["-f"])
        wait_ready(process)
        process.send_signal(sig)
        status, out, err = finish(process)
        assert status == 40 + sig, f"{sig.name}: status {status}: {out} {err}"
        assert out.split("\n")[0] == f"signal {int(sig)} times 1", f"{sig.name}: {out!r}"
        check_whole(t, "exit")


def send_and_count(t, sig, send):
    """What the program saw of a signal that `send` sends: (status, output)."""
    process = start(t, [t.helper(), "signals"], ["-f"])
    target = wait_ready(process)
    send(process.pid, target, sig)
    status, out, err = finish(process)
    assert err == "", err
    check_whole(t, "exit")
    return status, out


def to_group(silt, target, sig):
    os.killpg(silt, sig)


def one_by_one(silt, target, sig):
    """As a service manager does it: to every process of the service."""
    family = [silt, *children(silt)]
    for pid in family:
        os.kill(pid, sig)


def test_signals_to_the_whole_group_reach_the_program_once(t):
    n_runs = t.count(1, 20)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGWINCH):
        for _ in range(n_runs):
            for send in (to_group, one_by_one):
                got = send_and_count(t, sig, send)
                assert got == (40 + sig, f"signal {int(sig)} times 1\n"), f"{sig.name} {send.__name__}: {got}"


def test_signals_to_the_group_and_to_silt_in_turn(t):
    """Each is told apart from the one before."""
    def in_turn(silt, target, sig):
        for send in (os.killpg, os.kill, os.killpg, os.kill, os.kill, os.killpg):
            send(silt, sig)
            time.sleep(0.12)  # the program counts deliveries: one must not come before the last was handled
    got = send_and_count(t, signal.SIGTERM, in_turn)
    assert got == (40 + signal.SIGTERM, "signal 15 times 6\n"), got


def test_signals_to_the_group_of_a_program_that_left_it(t):
    """setsid: only silt got the signal, and passes it on."""
    process = start(t, ["sh", "-c", "exec setsid -w \"$@\"", "sh", t.helper(), "signals"])
    target = wait_ready(process)
    assert os.getpgid(target) != process.pid, "it did not leave the group"
    os.killpg(process.pid, signal.SIGTERM)
    status, out, err = finish(process)
    assert (status, out) == (40 + signal.SIGTERM, "signal 15 times 1\n"), f"{status} {out} {err}"


def test_a_fatal_signal_sent_to_silt_ends_the_target(t):
    process = start(t, [t.helper(), "allocate"])
    wait_ready(process)
    process.send_signal(signal.SIGTERM)
    status, _, _ = finish(process)
    assert status == 128 + signal.SIGTERM, status
    check_whole(t, "signal")


def test_sigkill_of_the_target(t):
    process = start(t, [t.helper(), "allocate"])
    pid = wait_ready(process)
    time.sleep(0.3)
    os.kill(pid, signal.SIGKILL)
    status, _, _ = finish(process)
    assert status == 137, status
    report = check_whole(t, "signal")
    totals = report["totals"]
    assert totals["allocations"] > 20 and 0 <= totals["allocations"] - totals["frees"] <= 1, totals


def recorder_of(process):
    found = [pid for pid in children(process.pid) if comm(pid) == "silt-recorder"]
    return found[0] if found else None


def test_death_of_the_recorder_leaves_the_target_running(t):
    process = start(t, [t.helper(), "allocate", "3000"])
    target = wait_ready(process)
    time.sleep(1.2) # several slices are written
    recorder = recorder_of(process)
    assert recorder, "no recorder process found"
    os.kill(recorder, signal.SIGKILL)
    status, out, err = finish(process)
    assert "done" in out, f"the target did not reach its end: {status} {out!r} {err!r}"
    assert status == 17, f"status {status}: {err}"
    report, why = t.silt.report(t.path("t.silt"))
    assert report, f"what was written until then cannot be read: {why}"
    v = t.silt.command("verify", t.path("t.silt"))
    assert "the recording stopped early" in v.text or "recorder died" in v.text, f"{v.code}: {v.text}"
    assert report["totals"]["allocations"] > 300, report["totals"]


def test_death_of_silt_leaves_the_target_running(t):
    process = start(t, [t.helper(), "allocate", "1500"])
    wait_ready(process)
    process.kill()
    out = process.stdout.read()
    process.wait()
    assert b"done" in out, "the target did not reach its end"


class Terminal:
    """silt in the foreground of a terminal of its own, as under a shell."""

    def __init__(self, argv, env=None):
        self.output = b""
        self.pid, self.fd = fork_terminal()
        if self.pid == 0:
            os.environ.update(env or {})
            os.execv(argv[0], argv)

    def read_until(self, word, timeout_s=300):
        end = time.monotonic() + timeout_s
        while word not in self.output:
            left = end - time.monotonic()
            if left <= 0 or not is_readable(self.fd, left):
                raise AssertionError(f"no {word!r} in {self.output!r}")
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                raise AssertionError(f"ended without {word!r}: {self.output!r}")
            self.output += data

    def write(self, data):
        os.write(self.fd, data)

    def finish(self, timeout_s=600):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if is_readable(self.fd, 0.1):
                try:
                    self.output += os.read(self.fd, 65536)
                except OSError:
                    break
        else:
            kill_family(self.pid)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_ctrl_c_reaches_the_program_once(t):
    terminal = Terminal(t.silt.run_argv(t.path("t.silt"), [t.helper(), "signals"]))
    terminal.read_until(b"ready")
    terminal.write(b"\x03")
    status = terminal.finish()
    assert status == 40 + signal.SIGINT, f"{status}: {terminal.output!r}"
    assert b"signal 2 times 1" in terminal.output, terminal.output
    check_whole(t, "exit")


def test_ctrl_c_that_kills_leaves_a_whole_trace(t):
    terminal = Terminal(t.silt.run_argv(t.path("t.silt"), [t.helper(), "allocate"]))
    terminal.read_until(b"ready")
    time.sleep(0.1)
    terminal.write(b"\x03")
    status = terminal.finish()
    assert status == 130, f"{status}: {terminal.output!r}"
    check_whole(t, "signal")


def test_ctrl_backslash_reaches_the_program_once(t):
    terminal = Terminal(t.silt.run_argv(t.path("t.silt"), [t.helper(), "signals"]))
    terminal.read_until(b"ready")
    terminal.write(b"\x1c")
    status = terminal.finish()
    assert status == 40 + signal.SIGQUIT and b"signal 3 times 1" in terminal.output, f"{status}: {terminal.output!r}"


def test_the_terminal_is_the_programs(t):
    terminal = Terminal(t.silt.run_argv(t.path("t.silt"), [t.helper(), "terminal"]))
    terminal.read_until(b"foreground")
    terminal.write(b"line\n")
    status = terminal.finish()
    assert status == 0, f"{status}: {terminal.output!r}"
    assert b"foreground 1" in terminal.output and b"read 5" in terminal.output, terminal.output


def test_hangup_of_the_terminal(t):
    """The terminal closes: the program gets SIGHUP, the trace is whole."""
    terminal = Terminal(t.silt.run_argv(t.path("t.silt"), [t.helper(), "allocate"]))
    terminal.read_until(b"ready")
    time.sleep(0.1)
    os.close(terminal.fd)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        pid, _ = os.waitpid(terminal.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.05)
    else:
        kill_family(terminal.pid)
        raise AssertionError("silt or the target outlived its terminal")
    for _ in range(100): # the recorder may need a moment more than silt, which the hangup ended too
        if t.silt.command("verify", t.path("t.silt")).code == 0 and t.silt.report(t.path("t.silt"))[0]["ended"] == "signal":
            break
        time.sleep(0.05)
    check_whole(t, "signal")
