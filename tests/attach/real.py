# SPDX-License-Identifier: MIT
"""Programs that others wrote, under load: no request fails, and what they compute is right."""

import contextlib
import re
import shutil
import signal
import socket
import threading
import time

from attach._service import Client, Pauses
from attach._target import Attached, Target, await_true, record
from harness.cases import skip
from harness.process import run

PYTHON = """
import json, sys, threading, time
end = threading.Event()
def work():
    while not end.is_set():
        data = [{"a": i, "b": [1, 2, 3] * 10} for i in range(100)]
        assert json.loads(json.dumps(data)) == data
        time.sleep(0.0005)
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
sys.stdin.read()
end.set()
for t in threads: t.join()
print("ok")
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def can_connect(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Load(threading.Thread):
    """Runs of redis-benchmark, one after another, until the end; no request of them fails."""

    def __init__(self, port, n_each):
        super().__init__(daemon=True)
        self.argv = ["redis-benchmark", "-p", str(port), "-n", str(n_each), "-c", "10", "-q", "-t", "set,get,lpush,lpop"]
        self.over, self.n, self.n_each, self.error = threading.Event(), 0, n_each, None
        self.start()

    def run(self):
        try:
            while not self.over.is_set():
                r = run(self.argv)
                said = r.text + r.errors
                assert r.code == 0 and "rror" not in said and len(re.findall("requests per second", said)) == 4, said
                self.n += 4 * self.n_each
        except Exception as e:
            self.error = e

    def finish(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error


def test_redis(t):
    if not shutil.which("redis-benchmark"):
        skip("no redis")
    port = free_port()
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(Target(t, ["redis-server", "--port", str(port), "--save", ""], says_ready=False))
        pauses = stack.enter_context(Pauses())
        await_true(lambda: can_connect(port), "it does not listen")
        load = Load(port, t.count(2000, 5000))
        checks = stack.enter_context(Client("redis", port))
        checks.await_ready()
        for _ in range(t.count(2, 300)):
            totals = record(t, target.pid, lambda: time.sleep(0.05), pauses=pauses)
            assert totals["lost_events"] == totals["unknown_frees"] == 0, totals
            checks.check_alive()
        load.finish()
        n, longest_ms = checks.finish()
        silt = Attached(t, target.pid).await_recording()  # idle now
        assert silt.end() == 0 and silt.totals(), silt.said
        assert silt.report["command"] == ["redis-server", f"*:{port}"], silt.report["command"]  # the title it gave itself
        target.finish(signal.SIGTERM)
        t.notes.append(f"{load.n} requests, {n} answers compared, the longest took {longest_ms} ms; {pauses.note()}")


def test_python(t):
    with Target(t, ["/usr/bin/python3", "-c", PYTHON], says_ready=False) as target, Pauses() as pauses:
        time.sleep(0.3)
        for _ in range(t.count(2, 300)):
            totals = record(t, target.pid, lambda: time.sleep(0.05), pauses=pauses)
            assert totals["lost_events"] == totals["unknown_frees"] == 0, totals
        target.process.stdin.close()  # that is its end
        target.process.stdin = None
        assert target.finish() == "ok\n"
        t.notes.append(pauses.note())
