# SPDX-License-Identifier: MIT
"""Servers that others wrote, under load by clients that check every answer: none fails and none is lost, however often silt comes and goes."""

import contextlib
import glob
import os
import re
import shutil
import signal
import threading

from attach._service import Client, Folder, Pauses, as_nobody, come_and_go, is_root, look_into, nobody
from attach._target import Target, await_true
from harness.cases import skip
from harness.process import run
from harness.watch import children

NGINX = """
daemon off;
{user}
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
thread_pool few threads=2;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    gzip on; gzip_min_length 100; gzip_types *;
    server {{
        listen unix:{folder}/http;
        location /plain/ {{ alias {folder}/files/; sendfile on; }}
        location /pool/ {{ alias {folder}/files/; aio threads=few; }}
    }}
}}
"""


def test_nginx(t):
    """Its workers, which wait in epoll_wait or have threads that read, and its master, which waits for signals."""
    if not shutil.which("nginx"):
        skip("no nginx")
    with contextlib.ExitStack() as stack:
        folder, pauses = stack.enter_context(Folder(t)), stack.enter_context(Pauses())
        os.mkdir(folder.file("files"))
        for name, n in (("small", 300), ("middle", 20000), ("large", 1500000)):
            with open(folder.file("files/" + name), "wb") as f:
                f.write(t.chance.randbytes(n // 2) + bytes(n - n // 2))
        with open(folder.file("conf"), "w") as f:
            f.write(NGINX.format(folder=folder.path, user="user {} {};".format(*nobody()) if is_root() else ""))
        server = stack.enter_context(Target(t, ["nginx", "-e", folder.file("error.log"), "-p", folder.path, "-c", folder.file("conf")],
                                            says_ready=False))
        await_true(lambda: os.path.exists(folder.file("http")) and len(children(server.pid)) == 2, "it does not listen")
        load = stack.enter_context(Client("http", folder.file("http"), folder.file("files")))
        load.await_ready()
        processes = [*children(server.pid), server.pid]
        for i in range(t.count(3, 300)):
            come_and_go(t, processes[i % 3], pauses, ["--runtime", folder.runtime])
            load.check_alive()
        look_into(t, processes[:2], "ngx_", pauses, ["--runtime", folder.runtime])
        n, longest_ms = load.finish()
        assert children(server.pid) and set(children(server.pid)) == set(processes[:2]), "a worker was replaced"
        server.finish(signal.SIGQUIT)
        with open(folder.file("error.log")) as f:
            bad = [line for line in f if re.search(r"\[(warn|error|crit|alert|emerg)\]|exited on signal|Interrupted system call", line)]
        assert not bad, bad
        t.notes.append(f"{n} requests, the longest {longest_ms} ms; {pauses.note()}")


class Postgres:
    """A cluster of its own, that listens in a folder alone."""

    def __init__(self, t, folder, prefix=()):
        self.folder, self.data = folder, folder.file("data")
        bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        self.bin = bins[-1] if bins else os.path.dirname(shutil.which("initdb") or "")
        if not os.path.exists(os.path.join(self.bin, "pgbench")) and not shutil.which("pgbench"):
            skip("no postgres")
        self.tool(["initdb", "-D", self.data, "-A", "trust", "-U", "silt", "--no-sync", "--no-locale", "-E", "UTF8"])
        self.log = open(folder.file("log"), "wb")
        options = {"listen_addresses": "", "unix_socket_directories": folder.path, "fsync": "off", "shared_buffers": "16MB",
                   "log_min_messages": "info", "max_connections": "20"}
        self.server = Target(t, as_nobody([*prefix, os.path.join(self.bin, "postgres"), "-D", self.data,
                                           *(word for k, v in options.items() for word in ("-c", f"{k}={v}"))]),
                             says_ready=False, stderr=self.log, cwd=folder.path)
        self.pid = self.server.pid

    def tool(self, argv, **how):
        path = os.path.join(self.bin, argv[0])
        r = run(as_nobody([path if os.path.exists(path) else argv[0], *argv[1:]]), cwd=self.folder.path, **how)
        assert r.code == 0, f"{argv}: {r.code}: {r.text}{r.errors}"
        return r.text

    def ask(self, text):
        return self.tool(["psql", "-qAtX", "-h", self.folder.path, "-U", "silt", "-c", text, "postgres"]).strip()

    def bench(self, *options):
        return self.tool(["pgbench", "-h", self.folder.path, "-U", "silt", *options, "postgres"])

    def await_ready(self):
        probe = ["psql", "-qAtX", "-h", self.folder.path, "-U", "silt", "-c", "select 1", "postgres"]
        await_true(lambda: run(probe).code == 0, "it does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.server.__exit__()
        self.log.close()


class Transactions(threading.Thread):
    """Runs of pgbench, one after another, each with a connection for every transaction; none of them fails."""

    def __init__(self, postgres):
        super().__init__(daemon=True)
        self.postgres, self.over, self.n, self.error = postgres, threading.Event(), 0, None
        self.start()

    def run(self):
        try:
            while not self.over.is_set():
                said = self.postgres.bench("-n", "-C", "-c", "2", "-t", "10")
                assert "number of transactions actually processed: 20/20" in said and "failed transactions: 0 " in said, said
                self.n += 20
        except Exception as e:
            self.error = e

    def finish(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error


def test_postgres(t):
    """The server of one session, which is asked all the time, and the postmaster, which makes servers for others meanwhile."""
    with contextlib.ExitStack() as stack:
        folder, pauses = stack.enter_context(Folder(t)), stack.enter_context(Pauses())
        postgres = stack.enter_context(Postgres(t, folder))
        postgres.await_ready()
        postgres.bench("-i", "-q", "-n", "-I", "dtGp")
        session = stack.enter_context(Client("sql", folder.path))
        backend = int(session.await_ready()[0])
        transactions = Transactions(postgres)
        for i in range(t.count(3, 300)):
            come_and_go(t, (postgres.pid, backend)[i % 2], pauses, ["--runtime", folder.runtime])
            session.check_alive()
        look_into(t, [backend], "PostgresMain", pauses, ["--runtime", folder.runtime])
        transactions.finish()
        n, longest_ms = session.finish()
        sums = postgres.ask("select count(*), sum(delta), (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers),"
                            " (select sum(bbalance) from pgbench_branches) from pgbench_history").split("|")
        assert int(sums[0]) == transactions.n and len(set(sums[1:])) == 1, f"{sums} after {transactions.n} transactions"
        postgres.server.finish(signal.SIGTERM)  # which waits for sessions that are about to end
        with open(folder.file("log")) as f:
            bad = [line for line in f if re.search(r"PANIC|FATAL|ERROR|WARNING|terminated by|unexpected", line)]
        # asked before it listened
        bad = [line for line in bad if "the database system is starting up" not in line]
        assert not bad, bad
        t.notes.append(f"{n} questions, the longest {longest_ms} ms, {transactions.n} transactions and connections; {pauses.note()}")


def build_echo(t):
    """Without a network, from the crates that librust-tokio-dev installs."""
    if not glob.glob("/usr/share/cargo/registry/tokio-1*"):
        skip("librust-tokio-dev is not installed")
    out = os.path.join(t.context.attached.out_dir, "echo")
    shutil.copytree(os.path.join(t.context.attached.source_dir, "echo"), os.path.join(out, "project"), dirs_exist_ok=True)
    tools = {name: f"/usr/bin/{name}" if os.path.exists(f"/usr/bin/{name}") else name for name in ("cargo", "rustc")}
    where = {"CARGO_TARGET_DIR": os.path.join(out, "target"), "CARGO_HOME": os.path.join(out, "home"), "RUSTC": tools["rustc"]}
    r = run([tools["cargo"], "build", "--offline", "--config", 'source.crates-io.replace-with="debian"', "--config",
             'source.debian.directory="/usr/share/cargo/registry"'], cwd=os.path.join(out, "project"), env=where, timeout_s=600)
    assert r.code == 0, r.errors
    return os.path.join(out, "target", "debug", "echo")


def test_tokio(t):
    """Three workers that steal from each other, timers, tasks: whichever thread is taken, the others go on."""
    with contextlib.ExitStack() as stack:
        pauses = stack.enter_context(Pauses())
        server = stack.enter_context(Target(t, [build_echo(t)], says_ready=False))
        port = int(server.process.stdout.readline().split()[2])
        load = stack.enter_context(Client("echo", port))
        load.await_ready()
        for _ in range(t.count(2, 300)):
            come_and_go(t, server.pid, pauses)
            load.check_alive()
        look_into(t, [server.pid], "turn_around", pauses)
        n, longest_ms = load.finish()
        server.process.stdin.close()  # that is its end
        server.process.stdin = None
        said = server.finish()
        assert said == f"ok {n}\n", f"it answered {said}, {n} were asked"
        t.notes.append(f"{n} messages, the longest {longest_ms} ms; {pauses.note()}")
