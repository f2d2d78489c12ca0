# SPDX-License-Identifier: MIT
"""Clients that look at every byte of every answer, and a clock that says how late the machine is. A process of its own:

  _client.py http SOCKET FOLDER     files of FOLDER, plain and packed, over one connection and over many
  _client.py echo PORT              messages that come back reversed
  _client.py redis PORT             values that are what was stored last
  _client.py sql FOLDER             a session of psql, whose server's pid is said first; what was asked for is computed here too
  _client.py watch                  for every line on stdin: how long some work of a millisecond waited for a processor, at most since the last (ms)

They end with their stdin. Clients say "ready", then "ok REQUESTS LONGEST_MS"; anything wrong is an exception."""

import gzip
import hashlib
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time

N_THREADS, REQUESTS_PER_CONNECTION = 3, 40
CHANCE = random.Random(os.environ.get("SILT_SEED", "1"))


class Wrong(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Wrong(what)


def read_exactly(stream, n):
    data = stream.read(n)
    check(len(data) == n, f"the connection ended after {len(data)} of {n} bytes")
    return data


class Http:
    """Requests to nginx. Big files, so that the server waits for room in its socket; packed ones allocate."""

    def __init__(self, path, folder):
        self.path = path
        self.files = {name: open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))}

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        return s, s.makefile("rb")

    def ask(self, connection, draw):
        s, answer = connection
        name, packed = draw.choice(list(self.files)), draw.random() < 0.4
        s.sendall(f"GET /{draw.choice(('plain', 'pool'))}/{name} HTTP/1.1\r\nHost: x\r\n"
                  f"{'Accept-Encoding: gzip' + chr(13) + chr(10) if packed else ''}\r\n".encode())
        status = answer.readline()
        check(status == b"HTTP/1.1 200 OK\r\n", f"{name}: {status!r}")
        fields = {}
        while (line := answer.readline()) not in (b"\r\n", b""):
            key, value = line.decode().split(":", 1)
            fields[key.lower()] = value.strip()
        body = b""
        if fields.get("transfer-encoding") == "chunked":
            while (n := int(answer.readline(), 16)) > 0:
                body += read_exactly(answer, n)
                read_exactly(answer, 2)
            read_exactly(answer, 2)
        else:
            body = read_exactly(answer, int(fields["content-length"]))
        if fields.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        check(body == self.files[name], f"{name}: {len(body)} bytes are not what they should be")


class Echo:
    def __init__(self, port):
        self.port = int(port)

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s, s.makefile("rb")

    def ask(self, connection, draw):
        s, answer = connection
        body = draw.randbytes(draw.choice((1, 7, 64, 700, 70000)))
        s.sendall(struct.pack(">I", len(body)) + body)
        n = struct.unpack(">I", read_exactly(answer, 4))[0]
        check(n == len(body), f"{n} bytes for {len(body)}")
        check(read_exactly(answer, n) == body[::-1], "other bytes")


class Redis:
    """Every connection has keys of its own, all of them known; a new one begins with none."""

    def __init__(self, port):
        self.port, self.n, self.lock = int(port), 0, threading.Lock()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.n += 1
            return s, s.makefile("rb"), self.n, {}

    def command(self, s, answer, *words):
        s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        line = answer.readline()
        if not line.startswith(b"$") or line == b"$-1\r\n":
            return line
        return read_exactly(answer, int(line[1:]) + 2)[:-2]

    def ask(self, connection, draw):
        s, answer, number, known = connection
        key, value = b"check-%d-%d" % (number, draw.randrange(20)), draw.randbytes(draw.choice((3, 100, 5000, 100000)))
        found = self.command(s, answer, b"GET", key)
        check(found == known.get(key, b"$-1\r\n"), f"{key!r}: {len(found)} bytes are not what was stored")
        found = self.command(s, answer, b"SET", key, value, b"EX", b"60")
        check(found == b"+OK\r\n", f"{key!r}: {found!r}")
        known[key] = value


class Load:
    """Threads that ask and check until they are told to end."""

    def __init__(self, kind):
        self.kind, self.over, self.lock = kind, threading.Event(), threading.Lock()
        self.n, self.longest_s, self.error = 0, 0.0, None

    def work(self, seed):
        draw, connection = random.Random(seed), None
        try:
            while not self.over.is_set():
                begin = time.monotonic()
                if not connection:
                    connection, left = self.kind.connect(), REQUESTS_PER_CONNECTION
                self.kind.ask(connection, draw)
                took_s = time.monotonic() - begin
                with self.lock:
                    self.n, self.longest_s = self.n + 1, max(self.longest_s, took_s)
                left -= 1
                if not left:
                    connection[1].close()
                    connection[0].close()
                    connection = None
                self.over.wait(0.0005)  # the server, and the machine, have others too
        except Exception as e:
            self.error = e
            self.over.set()

    def run(self):
        threads = [threading.Thread(target=self.work, args=(CHANCE.random(),)) for _ in range(N_THREADS)]
        for thread in threads:
            thread.start()
        print("ready", flush=True)
        while not self.over.is_set() and not select.select([sys.stdin], [], [], 0.05)[0]:
            pass
        self.over.set()
        for thread in threads:
            thread.join()
        if self.error:
            raise self.error
        print("ok", self.n, f"{self.longest_s * 1e3:.1f}", flush=True)


def sql(folder):
    psql = subprocess.Popen(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "silt", "postgres"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(text):
        psql.stdin.write(text + ";\n")
        psql.stdin.flush()
        return psql.stdout.readline().rstrip("\n")

    n, longest_s = 0, 0.0
    print("ready", int(ask("select pg_backend_pid()")), flush=True)
    while not select.select([sys.stdin], [], [], 0.0005)[0]:
        word, times, begin = f"{CHANCE.random()}", CHANCE.randrange(1, 5000), time.monotonic()
        wanted = f"{n}|{hashlib.md5((word * times).encode()).hexdigest()}|{times * (times + 1) // 2}"
        found = ask(f"select {n}, md5(repeat('{word}', {times})), (select sum(x) from generate_series(1, {times}) x)")
        check(found == wanted, f"{found!r}, not {wanted!r}")
        n, longest_s = n + 1, max(longest_s, time.monotonic() - begin)
    psql.stdin.close()
    check(psql.wait() == 0, f"psql: {psql.returncode}")
    print("ok", n, f"{longest_s * 1e3:.1f}", flush=True)


def watch():
    latest_s = 0.0
    while True:
        begin, cpu = time.monotonic(), time.thread_time()
        asked = select.select([sys.stdin], [], [], 0.01)[0]
        slept_s = 0 if asked else 0.01
        while time.thread_time() < cpu + 0.001:
            pass
        latest_s = max(latest_s, time.monotonic() - begin - slept_s - 0.001)
        if asked:
            if not sys.stdin.readline():
                return
            print(f"{latest_s * 1e3:.1f}", flush=True)
            latest_s = 0.0


def main():
    what, *rest = sys.argv[1:]
    if what == "http":
        Load(Http(*rest)).run()
    elif what == "echo":
        Load(Echo(*rest)).run()
    elif what == "redis":
        Load(Redis(*rest)).run()
    elif what == "sql":
        sql(*rest)
    else:
        watch()


if __name__ == "__main__":
    main()
