# SPDX-License-Identifier: MIT
"""Servers that others wrote, under load by clients that check every answer, while silt takes graphs of them again and again (snapshot --graph): no request
fails, and no child, zombie or descriptor is left."""

import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess

from attach._service import Client
from attach._target import Attached, Target, await_true, build
from attach.real import can_connect, free_port
from attach.services import build_echo
from harness.answer import parse
from harness.cases import skip
from harness.process import kill_family, run
from harness.watch import children


def files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def take_graphs(t, pid, n, clients):
    """How long it stood still for each (ms)."""
    silt, pauses = Attached(t, pid).await_recording(), []
    for i in range(n):
        # a thread that is stopped inside jemalloc leaves sums that do not agree: silt says so, and another moment does
        for k in range(8):
            r = run([t.silt.path, "snapshot", str(pid), "--graph", "--json", "--name", f"graph {i}.{k}"])
            if r.code == 0 or "inside it: try again" not in r.errors:
                break
        assert r.code == 0, (r.errors, silt.process.poll(), silt.said)
        pauses.append(parse(r.text)["pause_s"] * 1000)
        # a copy that is held is no child of anybody's; one that ended is gone
        assert not children(pid), "a copy or a zombie is left"
        for client in clients:
            client.check_alive()
    assert silt.end() == 0, silt.said
    verified = t.silt.command("verify", silt.trace)
    assert verified.code == 0, verified.text
    r = t.silt.command("holders", silt.trace)
    assert r.code == 0 and r.text, r.errors
    return pauses


class Benchmark:
    """redis-benchmark, again and again; no request of it fails."""

    def __init__(self, t, port, n_each):
        self.n_each = n_each
        self.process = subprocess.Popen(["redis-benchmark", "-p", str(port), "-l", "-n", str(n_each), "-c", "10", "-q", "-t", "set,get,lpush,lpop"],
                                        stdout=open(t.path("benchmark"), "wb"), stderr=subprocess.STDOUT, start_new_session=True)
        self.said = t.path("benchmark")
        t.running.append(self.process)

    def check_alive(self):
        assert self.process.poll() is None, "redis-benchmark has ended"

    def finish(self):
        """How many requests there were at least."""
        self.check_alive()
        kill_family(self.process.pid)
        self.process.wait()
        with open(self.said, errors="replace") as f:
            said = f.read()
        assert not re.search(r"(?i)error|refused|reset|closed", said), said[-1000:]
        return said.count("requests per second") * self.n_each


def note(t, pauses, rest):
    t.notes.append(f"{len(pauses)} graphs; it stood still for {statistics.median(pauses):.1f} ms, at most {max(pauses):.1f}; {rest}")


def test_nothing_recorded(t):
    """A process that has allocated nothing since silt came."""
    with Target(t, [build(t, "odd.c")]) as target:
        take_graphs(t, target.pid, 3, [])
        assert target.finish(signal.SIGTERM) == "ok\n"


def test_redis(t):
    if not shutil.which("redis-benchmark"):
        skip("no redis")
    port = free_port()
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(Target(t, ["redis-server", "--port", str(port), "--save", ""], says_ready=False))
        await_true(lambda: can_connect(port), "it does not listen")
        before = files(target.pid)
        load = Benchmark(t, port, t.count(1000, 5000))
        checks = stack.enter_context(Client("redis", port))
        checks.await_ready()
        pauses = take_graphs(t, target.pid, t.count(5, 300), [checks, load])
        n_requests = load.finish()
        n, longest_ms = checks.finish()
        await_true(lambda: files(target.pid) <= before, "descriptors are left")
        target.finish(signal.SIGTERM)
        note(t, pauses, f"{n_requests} requests, {n} answers compared, the longest took {longest_ms} ms")


def test_tokio(t):
    """Three workers that steal from each other, timers, tasks."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Target(t, [build_echo(t)], says_ready=False))
        port = int(server.process.stdout.readline().split()[2])
        before = files(server.pid)
        load = stack.enter_context(Client("echo", port))
        load.await_ready()
        pauses = take_graphs(t, server.pid, t.count(5, 300), [load])
        n, longest_ms = load.finish()
        await_true(lambda: files(server.pid) <= before, "descriptors are left")
        server.process.stdin.close()  # that is its end
        server.process.stdin = None
        said = server.finish()
        assert said == f"ok {n}\n", f"it answered {said}, {n} were asked"
        note(t, pauses, f"{n} messages, the longest took {longest_ms} ms")
