# SPDX-License-Identifier: MIT
"""A ClickHouse server of the test's own: free ports, a folder of its own, ended with the test.

    with ClickHouse(t) as server:
        server.ask("SELECT 1")
        server.kill()               # kill -9, as a machine that loses its power
        server.start()              # the same data again
"""

import http.client
import itertools
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

from .cases import skip
from .process import TimedOut

START_S = 600
PORTS = range(10240, 32768)
asked = itertools.count()

# Small: a test's server shares two cores with everything else.
CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><log>{dir}/server.log</log><errorlog>{dir}/errors.log</errorlog><size>10M</size><count>1</count></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>{http}</http_port>
  <tcp_port>{tcp}</tcp_port>
  <interserver_http_port>{between}</interserver_http_port>
  <max_concurrent_queries>50</max_concurrent_queries>
  <uncompressed_cache_size>8388608</uncompressed_cache_size>
  <mark_cache_size>67108864</mark_cache_size>
  <path>{dir}/data/</path>
  <tmp_path>{dir}/tmp/</tmp_path>
  <user_files_path>{dir}/files/</user_files_path>
  <format_schema_path>{dir}/schemas/</format_schema_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <timezone>UTC</timezone>
  <mlock_executable>false</mlock_executable>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex>
  <profiles>
    <default><max_threads>2</max_threads><max_memory_usage>1500000000</max_memory_usage><log_queries>0</log_queries></default>
    <readonly><readonly>1</readonly></readonly>
  </profiles>
  <users>
    <default>
      <password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
    </default>
    <reader>
      <password>only to read</password><networks><ip>127.0.0.1</ip></networks><profile>readonly</profile><quota>default</quota>
    </reader>
  </users>
  <quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows>
    <read_rows>0</read_rows><execution_time>0</execution_time></interval></default></quotas>
</yandex>
"""


def find():
    return shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def free_ports(n):
    """Ports that nobody listens on: held together while they are drawn, so that they differ. Below those that connections get by themselves:
    while the server is down, one of these could take its port, even one that asks for the server itself."""
    held, begin = [], os.getpid() * 61 + next(asked) * 11  # others beside this one begin elsewhere
    try:
        for i in range(PORTS.stop - PORTS.start):
            s = socket.socket()
            try:
                s.bind(("127.0.0.1", PORTS[(begin + i) % len(PORTS)]))
                held.append(s)
            except OSError:
                s.close()
            if len(held) == n:
                break
        return [s.getsockname()[1] for s in held]
    finally:
        for s in held:
            s.close()


class ClickHouse:
    def __init__(self, t, name="clickhouse"):
        self.program = find()
        if not self.program:
            skip("clickhouse-server is not installed")
        self.t, self.dir, self.process = t, t.path(name), None
        for part in ("data", "tmp", "files", "schemas"):
            os.makedirs(os.path.join(self.dir, part), exist_ok=True)
        self.http, self.tcp, self.between = free_ports(3)
        for file_name, text in (("config.xml", CONFIG), ("users.xml", USERS)):
            with open(os.path.join(self.dir, file_name), "w", encoding="utf-8") as f:
                f.write(text.format(dir=self.dir, http=self.http, tcp=self.tcp, between=self.between)
                        if file_name == "config.xml" else text)
        self.start()

    def url(self, database="silt", scheme="clickhouse", user=""):
        return f"{scheme}://{user + '@' if user else ''}127.0.0.1:{self.http}/{database}" if scheme.startswith("clickhouse") else f"{scheme}://127.0.0.1:{self.http}/?database={database}"

    def start(self):
        """Starts it, again after kill or stop with the same ports and data, and waits until it answers."""
        with open(os.path.join(self.dir, "said"), "ab") as said:
            self.process = subprocess.Popen([self.program, "--config-file", os.path.join(self.dir, "config.xml")], cwd=self.dir,
                                            stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        self.t.running.append(self.process)
        deadline = time.monotonic() + START_S
        while True:
            assert self.process.poll() is None, f"clickhouse-server ended: {self.words()}"
            try:
                if self.ask("SELECT 1") == "1\n":
                    return
            except (OSError, http.client.HTTPException):
                pass
            if time.monotonic() > deadline:
                raise TimedOut(f"clickhouse-server does not answer: {self.words()}")
            time.sleep(0.05)

    def words(self):
        """The end of what it said."""
        text = ""
        for name in ("said", "errors.log"):
            try:
                with open(os.path.join(self.dir, name), encoding="utf-8", errors="replace") as f:
                    text += f.read()[-1000:]
            except OSError:
                pass
        return text

    def ask(self, query, timeout_s=600, data=b""):
        """The answer as text. What the server refuses fails the test."""
        c = http.client.HTTPConnection("127.0.0.1", self.http, timeout=timeout_s)
        try:
            c.request("POST", "/?query=" + urllib.parse.quote(query), body=data)
            r = c.getresponse()
            body = r.read().decode(errors="replace")
        finally:
            c.close()
        assert r.status == 200, f"{query}: {r.status} {body[:500]}"
        return body

    def rows(self, query):
        """Rows of texts."""
        return [line.split("\t") for line in self.ask(query).splitlines()]

    def number(self, query):
        return int(self.ask(query))

    def kill(self):
        """As a machine that loses its power."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def data_bytes(self):
        """What its tables take on disk."""
        return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(os.path.join(self.dir, "data", "data"))
                   for name in names)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill() if self.process.poll() is None else None
