# SPDX-License-Identifier: MIT
"""Programs that others wrote, under load: no request fails, and what they compute is right."""

import re
import shutil
import socket
import subprocess
import time

from attach._target import Target, await_true, record
from harness.cases import skip

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


def test_redis(t):
    if not shutil.which("redis-benchmark"):
        skip("no redis")
    port = free_port()
    with Target(t, ["redis-server", "--port", str(port), "--save", ""], says_ready=False) as target:
        await_true(lambda: can_connect(port), "it does not listen")
        n = t.count(5000, 1000000)
        load = subprocess.Popen(["redis-benchmark", "-p", str(port), "-n", str(n), "-c", "10", "-q", "-t", "set,get,lpush"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(t.count(2, 60)):
            totals = record(t, target.pid, lambda: time.sleep(0.05))
            assert totals["lost_events"] == totals["unknown_frees"] == 0, totals
        said = load.communicate(timeout=300)[0].decode()
        assert load.returncode == 0 and "rror" not in said and len(re.findall("requests per second", said)) == 3, said
        totals = record(t, target.pid, lambda: time.sleep(0.05))  # idle now


def test_python(t):
    with Target(t, ["/usr/bin/python3", "-c", PYTHON], says_ready=False) as target:
        time.sleep(0.3)
        for _ in range(t.count(2, 60)):
            totals = record(t, target.pid, lambda: time.sleep(0.05))
            assert totals["lost_events"] == totals["unknown_frees"] == 0, totals
        target.process.stdin.close()  # that is its end
        target.process.stdin = None
        assert target.finish() == "ok\n"
