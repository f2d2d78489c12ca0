# SPDX-License-Identifier: MIT
"""Memory that somebody forgot to let go, planted in programs that others wrote and in small ones: the first sentence of `silt holders` names who holds it and
who allocated it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

from attach._service import Folder, as_nobody
from attach._target import PATIENCE_S, await_true
from attach.services import Postgres
from harness.answer import parse
from harness.cases import skip
from harness.process import kill_family


def sentence(t, trace):
    r = t.silt.command("holders", trace)
    assert r.code == 0, r.errors
    return " ".join(r.text.split("\n\n")[0].split())


def held(t, trace):
    r = t.silt.command("holders", trace, "--json", "--full")
    assert r.code == 0, r.errors
    return parse(r.text)["holders"]


def of_exit(t, source):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.context.helpers.build(source.replace(".", "_"), [source])], ["-f", "--leaks"])
    assert r.code == 0, r.errors
    return trace


def test_cache_in_cxx(t):
    trace = of_exit(t, "planted.cc")
    said = sentence(t, trace)
    assert re.match(r"static shop::catalogue → 15,000 blocks allocated by shop::Catalogue::look_up \(planted\.cc:\d+\) via std::map<string, string>::", said), said
    top = next(g for g in held(t, trace) if g.get("name") == "static shop::catalogue")
    assert top["tree_blocks"] == 3 * 5000, top  # each entry has a node and two texts


def test_cache_in_rust(t):
    if not shutil.which("rustc"):
        skip("there is no rustc")
    trace = of_exit(t, "planted.rs")
    said = sentence(t, trace)
    assert re.match(r"static planted\w*::CATALOGUE(\+\d+)? → 1 hash table allocated by planted\w*::look_up \(planted\.rs:\d+\) via ", said), said
    assert re.search(r"→ 5,000 blocks allocated by planted\w*::look_up", said) and "300 B each" in said, said
    top = next(g for g in held(t, trace) if g.get("name", "").endswith("::CATALOGUE"))
    assert top["tree_blocks"] == 2 * 5000 + 1, top


class Recorded:
    """A server under silt run, until it is told to end."""

    def __init__(self, t, argv, trace):
        self.process = subprocess.Popen(t.silt.run_argv(trace, argv, ["-f"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        kill_family(self.process.pid)
        self.process.wait()


def listens(path):
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


def ask_redis(path, commands):
    """All at once; every answer is a number."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words) for words in commands))
        with s.makefile("rb") as answers:
            for _ in commands:
                line = answers.readline()
                assert line.startswith(b":"), line


def test_key_in_redis(t):
    """One key with very many fields, among 1,000 with few."""
    if not shutil.which("redis-server"):
        skip("no redis")
    n, batch, trace = t.count(20000, 1000000), 5000, t.path("t.silt")
    with Folder(t) as folder:
        path = folder.file("socket")
        with Recorded(t, ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder.path], trace) as server:
            await_true(lambda: listens(path), "it does not listen")
            ask_redis(path, [[b"HSET", b"user:%d" % i, b"name", b"x" * 100] for i in range(1000)])
            for at in range(0, n, batch):
                ask_redis(path, [[b"HSET", b"sessions", b"session:%09d" % i, b"value:%025d" % i] for i in range(at, at + batch)])
            begin = time.monotonic()
            r = t.silt.command("snapshot", trace, "--graph")
            assert r.code == 0, r.errors
            t.notes.append(f"{n} fields: {r.text.splitlines()[0]}; the graph took {time.monotonic() - begin:.1f} s")
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(PATIENCE_S)
    said = sentence(t, trace)
    t.notes.append(said)
    # an entry of the table, its key and its value each; the table itself is one block, from which all of them hang
    assert said.startswith("static server") and "allocated by _dictExpand" in said and "allocated by dictAddRaw" in said, said
    number = re.search(r"→ ([\d,]+) blocks allocated by dictAddRaw", said)
    assert number and n * 0.99 < int(number[1].replace(",", "")) < n + 1500, said
    # the table, or, while it grows, what has both
    assert re.search(r"hang from one block of [\d.]+ \w+ allocated by (_dictExpand|dictCreate)", said), said
    r = t.silt.command("holders", trace, "--why", "hashTypeSet")
    assert r.code == 0 and "static server" in r.text, r.text + r.errors


def test_cursor_in_postgres(t):
    """One that is declared WITH HOLD and never closed keeps its rows when the transaction is over."""
    n = t.count(40000, 400000)
    with Folder(t) as folder:
        for name in ("silt", "libsilt.so"):
            shutil.copy(os.path.join(os.path.dirname(t.silt.path), name), folder.path)
            os.chmod(folder.file(name), 0o755)
        trace = folder.file("t.silt")
        with Postgres(t, folder, prefix=[folder.file("silt"), "run", "-q", "-f", "-o", trace, "--"]) as postgres:
            postgres.await_ready()
            session = subprocess.Popen(as_nobody([os.path.join(postgres.bin, "psql"), "-qAtX", "-h", folder.path, "-U", "silt", "postgres"]),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=folder.path)
            session.stdin.write("set work_mem = '1GB'; begin; declare forgotten cursor with hold for select i, repeat('x', 200) "
                                f"from generate_series(1, {n}) i; commit; select pg_backend_pid();\n")
            backend = int(session.stdout.readline())
            r = t.silt.command("snapshot", str(backend), "--graph")
            assert r.code == 0, r.errors
            session.stdin.close()
            assert session.wait(PATIENCE_S) == 0
            session.stdout.close()
            with open(folder.file("data/postmaster.pid")) as f:
                os.kill(int(f.readline()), signal.SIGINT)
            postgres.server.process.wait(PATIENCE_S)
        said = sentence(t, trace)
    t.notes.append(said)
    assert re.search(r"1 block allocated by PortalCreateHoldStore → \d+ blocks allocated by heap_form_minimal_tuple", said), said
