# SPDX-License-Identifier: MIT
"""Copies of running programs (src/attach/frozen.h, by src/attach/testing/freeze.c): a program neither sees one nor waits for it."""

import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile

from attach._target import Target, await_true, build
from harness.cases import skip
from harness.process import run, stat_fields
from harness.watch import children

WAITS = ("read", "poll", "epoll", "epoll2", "select", "futex", "semop", "message", "ring", "receive-time", "epoll-time", "sleep-time",
         "select-time", "poll-time", "condition-time")


def tool(t):
    return os.path.join(os.path.dirname(t.silt.path), "src/attach/freeze")


def freeze(t, target, n, hold_ms=0):
    """How long the process stood still each time (ms)."""
    r = run([tool(t), str(target.pid), str(n), str(hold_ms)])
    assert r.code == 0, f"{r.code}: {r.text}{r.errors}{target.last_words()}"
    lines = r.text.splitlines()
    assert len(lines) == n, r.text
    return [int(line.split()[0]) / 1000 for line in lines]


def note(t, pauses):
    t.notes.append(f"{len(pauses)} copies; it stood still for {statistics.median(pauses):.1f} ms, at most {max(pauses):.1f}")


def check_clean(pid, n_files):
    assert not children(pid), "a copy or a zombie is left"
    assert len(os.listdir(f"/proc/{pid}/fd")) <= n_files, "descriptors are left"
    assert stat_fields(pid)[0] in b"SR", "it does not go on"


def test_busy(t):
    with Target(t, [build(t, "busy.c"), "8"]) as target:
        n_files = len(os.listdir(f"/proc/{target.pid}/fd"))
        note(t, freeze(t, target, t.count(20, 300)))
        check_clean(target.pid, n_files)
        assert target.finish(signal.SIGTERM).startswith("ok ")


def test_restless(t):
    """Threads that go to sleep and wake up all the time, in calls that a stop makes fail: none of them does, and none ends early."""
    with Target(t, [build(t, "restless.c")]) as target:
        note(t, freeze(t, target, t.count(20, 300)))
        said = target.finish(signal.SIGTERM)
        assert said.startswith("ok "), said


def test_idle(t):
    """Threads that wait, with a time-out and without: it ends when it should."""
    with contextlib.ExitStack() as stack:
        targets = {}
        for how in WAITS:
            targets[how] = stack.enter_context(Target(t, [build(t, "idle.c"), how]))
            freeze(t, targets[how], 1)
        for how, target in targets.items():
            if not how.endswith("-time"):
                target.process.stdin.write(b"x")
                target.process.stdin.flush()
            assert target.finish() == "ok\n", how


def test_registers(t):
    with Target(t, [build(t, "registers.c")], says_ready=False) as target:
        target.process.stdout.readline()
        target.tell("before")
        for _ in range(t.count(5, 100)):
            freeze(t, target, 1)
            target.tell("after")
        target.process.stdin.close()
        target.process.stdin = None
        target.finish()


def test_redis(t):
    """No request fails while it is copied again and again."""
    if not shutil.which("redis-benchmark"):
        skip("no redis")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        with Target(t, ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder, "--enable-debug-command", "yes"], says_ready=False) as server:
            await_true(lambda: os.path.exists(path), "it does not listen")
            run(["redis-cli", "-s", path, "debug", "populate", "100000"])
            n_files = len(os.listdir(f"/proc/{server.pid}/fd"))
            load = subprocess.Popen(["redis-benchmark", "-s", path, "-l", "-q", "-n", "20000", "-c", "20", "-t", "set,get,lpush,incr"],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
            note(t, freeze(t, server, t.count(20, 300)))
            assert load.poll() is None, load.stdout.read()
            load.kill()
            said = load.communicate()[0].decode(errors="replace")
            assert not re.search(r"(?i)error|refused|reset", said), said
            await_true(lambda: len(os.listdir(f"/proc/{server.pid}/fd")) <= n_files, "it keeps descriptors of clients that are gone")
            check_clean(server.pid, n_files)
            clients = run(["redis-cli", "-s", path, "info", "errorstats"]).text
            assert "errorstat_" not in clients, clients
            server.finish(signal.SIGTERM)
