# SPDX-License-Identifier: MIT
"""A server under test, and clients of it: well-behaved ones, and sockets for the others."""

import http.client
import json
import os
import re
import socket
import subprocess
import time

from .cases import skip
from .process import TimedOut, give_up, is_readable

ADDRESS = re.compile(r"http://(\S+):(\d+)/\?token=([0-9a-f]{32})(#\S*)?")


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def needs_page(t):
    """Skips the test where silt was built without the page."""
    r = t.silt.command("html", t.path("none.silt"), "-o", t.path("none.html"))
    if "without the page" in r.errors:
        skip("this build has no page")


class Served:
    """Starts argv, which prints its address on the stream named by `where`, and ends it when the test does."""

    def __init__(self, t, argv, where="stderr", env=None, **popen):
        no_screen = {"DISPLAY": None, "WAYLAND_DISPLAY": None, "BROWSER": None, "SSH_CONNECTION": None, **(env or {})}
        full = {k: v for k, v in {**os.environ, **no_screen}.items() if v is not None}
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, env=full, start_new_session=True,
                                        **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, where: subprocess.PIPE, **popen})
        t.running.append(self.process)
        self.stream = getattr(self.process, where)
        self.said = ""
        found = self.read_until(ADDRESS)
        self.host, self.port, self.token, self.fragment = found[1], int(found[2]), found[3], found[4] or ""
        self.bearer = {"Authorization": "Bearer " + self.token}

    def read_until(self, pattern, patience_s=600):
        deadline = time.monotonic() + patience_s
        while not (found := re.search(pattern, self.said)):
            give_up(deadline, f"'{pattern}' was not said: {self.said[-500:]}")
            if is_readable(self.stream, 0.2):
                more = os.read(self.stream.fileno(), 4096)
                assert more, f"it ended: {self.said[-500:]}"
                self.said += more.decode(errors="replace")
        return found

    def connect(self, timeout_s=300):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout_s)

    def get(self, path, headers=None, method="GET", timeout_s=900, token=True):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            c.request(method, path, headers={**(self.bearer if token else {}), **(headers or {})})
            r = c.getresponse()
            return Reply(r.status, r.headers, r.read())
        finally:
            c.close()

    def ask(self, question, **how):
        r = self.get("/api/1/" + question, **how)
        assert r.status == 200, f"{question}: {r.status} {r.body[:300]}"
        return r.json

    def head(self, path, *headers, method="GET"):
        """The bytes of a request that is let in."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}", *headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def send(self, data, patience_s=300, ends=False):
        """Sends bytes, maybe with their end, and reads until the server closes, or answered with a body that is complete."""
        with self.connect() as s:
            deadline, answer = time.monotonic() + patience_s, b""
            try:
                s.sendall(data)
                if ends:
                    s.shutdown(socket.SHUT_WR)
                while not is_complete(answer):
                    give_up(deadline, f"no answer to {data[:80]!r}: {answer[:200]!r}")
                    more = s.recv(65536)
                    if not more:
                        break
                    answer += more
            except ConnectionError:
                pass
            except socket.timeout:
                raise TimedOut(f"no answer to {data[:80]!r}") from None
            return answer

    def wait_for(self, what, id=None, patience_s=300):
        """Asks until what(progress), of the question id if one is named, holds."""
        deadline = time.monotonic() + patience_s
        while not what(p := self.ask(f"progress?id={id}" if id else "progress")):
            give_up(deadline, f"it did not come to that: {p}")
            time.sleep(0.02)
        return p

    def end(self, patience_s=200):
        """As Ctrl-C would. Returns the exit status."""
        self.process.terminate()
        return self.wait(patience_s)

    def wait(self, patience_s):
        try:
            return self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise TimedOut(f"it did not end within {patience_s} s") from None


def is_complete(answer):
    head, blank, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(blank and length and len(body) >= int(length[1]))


def status_of(answer):
    found = re.match(rb"HTTP/1\.[01] (\d+)", answer)
    return int(found[1]) if found else None
