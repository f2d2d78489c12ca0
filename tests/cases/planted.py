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
from cases.tasks import build_with_tokio
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
    # each entry has a node and two texts
    assert top["tree_blocks"] == 3 * 5000, top
    assert top["retained_bytes"] == sum(96 + len(f"the price of article number {i}") + 1 + 301 for i in range(5000)), top


def test_cache_in_rust(t):
    if not shutil.which("rustc"):
        skip("there is no rustc")
    trace = of_exit(t, "planted.rs")
    said = sentence(t, trace)
    assert re.match(r"static planted\w*::CATALOGUE(\+\d+)? → 1 hash table allocated by planted\w*::look_up \(planted\.rs:\d+\) via ", said), said
    assert re.search(r"→ 5,000 blocks allocated by planted\w*::look_up", said) and "300 B each" in said, said
    top = next(g for g in held(t, trace) if g.get("name", "").endswith("::CATALOGUE"))
    assert top["tree_blocks"] == 2 * 5000 + 1, top
    r = t.silt.command("leaks", trace, "--json")  # such a table has pointers into its middle alone
    lost = parse(r.text)
    assert lost["possibly_lost"]["blocks"] < 10 and lost["still_reachable"]["blocks"] > 10000, r.text[:1000]
    assert re.search(r"hashtable +: [\d,]+ bytes in 1 blocks", t.silt.command("leaks", trace).text)


NODE, ENTRY, TASK, SET, KEPT, N_KEPT = 16, 32, 40, 16, 400, 3000
OWNERS = {
    # where: (what the first sentence begins with, the place's name, what it retains)
    "variable": ("static static_list → 3,000 blocks allocated by make_list", "static static_list", N_KEPT * (NODE + KEPT)),
    "registry": ("static static_registry → 1 block allocated by main", "static static_registry", N_KEPT * (8 + NODE + KEPT)),
    "two": (tuple(f"static {a}_of_two and static {b}_of_two → 3,000 blocks allocated by make_list" for a, b in (("one", "other"), ("other", "one"))), None, N_KEPT * (NODE + KEPT)),
    "service": ("static static_service → 1 block allocated by main", "static static_service", 64 + N_KEPT * (NODE + KEPT)),
    "worker": ("thread worker, frame of work_on_list → 3,000 blocks allocated by make_list", "thread worker", N_KEPT * (NODE + KEPT)),
    "thread-local": ("thread-local data of thread worker → 3,000 blocks allocated by make_list", "thread-local data of thread worker", N_KEPT * (NODE + KEPT)),
    "mapping": ("the mapping at 0x", None, N_KEPT * (NODE + KEPT)),
    "behind": ("the mapping at 0x", None, N_KEPT * (NODE + KEPT)),
    "frame": ("the main thread, frame of serve_list → 3,000 blocks allocated by make_list", "the main thread", N_KEPT * (NODE + KEPT)),
    "set": ("the main thread, frame of serve_set → 1 block allocated by spawn_all", "the main thread", SET + N_KEPT * (ENTRY + TASK + KEPT)),
}


def check_owner(t, where):
    said, name, retained = OWNERS[where]
    trace = t.path("t.silt")
    program = t.context.helpers.build("planted_owners", ["planted_owners.c"], flags=["-O1", "-pthread"])
    with Recorded(t, [program, where], trace, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        assert p.process.stdout.readline() == b"ready\n", "the program has ended"
        r = t.silt.command("snapshot", trace, "--graph")
        assert r.code == 0, r.errors
        p.process.stdin.close()
        assert p.process.wait(PATIENCE_S) == 0
    text = sentence(t, trace)
    assert text.startswith(said), text
    groups = held(t, trace)
    tops = [i for i, g in enumerate(groups) if g["parent"] == 0 and (g.get("name") == name if name else g["retained_bytes"] > 10**6)]
    assert len(tops) == 1, tops
    # a thread has a buffer and the like as well
    below = [g["retained_bytes"] for g in groups if g["parent"] == tops[0]]
    assert retained in [groups[tops[0]]["retained_bytes"], *below], (groups[tops[0]], below, retained)
    return text


def test_list_in_a_variable(t):
    check_owner(t, "variable")


def test_table_in_a_variable(t):
    check_owner(t, "registry")


def test_list_that_two_variables_have(t):
    check_owner(t, "two")


def test_list_of_an_object(t):
    check_owner(t, "service")


def test_list_in_a_frame_of_a_thread(t):
    check_owner(t, "worker")


def test_list_in_thread_local_data(t):
    check_owner(t, "thread-local")


def test_list_in_a_mapping(t):
    check_owner(t, "mapping")


def test_list_in_a_mapping_behind_a_library(t):
    """It is no variable of the library, although the kernel tells of one mapping."""
    check_owner(t, "behind")


def test_list_in_a_frame(t):
    check_owner(t, "frame")


def test_set_of_tasks_in_a_frame(t):
    """A runtime's list of all tasks, and its queue with tasks that left it, lead to the same blocks: they do not own the set."""
    text = check_owner(t, "set")
    assert "Also pointing into it, without owning it: thread-local data of thread worker." in text, text


class Recorded:
    """A server under silt run, until it is told to end."""

    def __init__(self, t, argv, trace, stdin=None, stdout=subprocess.DEVNULL):
        self.process = subprocess.Popen(t.silt.run_argv(trace, argv, ["-f"]), stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True)

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


def test_array_in_bash(t):
    if not shutil.which("bash"):
        skip("no bash")
    trace = t.path("t.silt")
    script = 'for ((i = 0; i < 20000; i++)); do a[i]="element number $i"; done; exec 2>&-'
    assert t.silt.record(trace, [shutil.which("bash"), "-c", script], ["-f", "--leaks"]).code == 0
    said = sentence(t, trace)
    assert said.startswith("static ") and "shell_variables" in said.split("→")[0] and "allocated by array_create_element" in said, said
    r = t.silt.command("holders", trace)
    # the names are whole; a line has room for no more
    assert any(re.search(r"static shell_variables(,| and) static \w+.*:", line) for line in r.text.splitlines()), r.text
    r = t.silt.command("holders", trace, "--full")
    assert r.code == 0 and "…" not in r.text.split("\n\n")[1], r.text


def test_join_set(t):
    """Of tokio: what it has spawned is its own, not of the queues of the threads that ran it."""
    program = build_with_tokio(t, "tests/cases/join_set", "join_set")
    for mode in ("waiting", "done"):
        trace = t.path(mode + ".silt")
        assert t.silt.record(trace, [program, mode], ["-f", "--leaks"]).code == 0
        said = sentence(t, trace)
        assert re.match(r"the main thread, frame of .* → 1 block allocated by join_set::main .* via tokio::task::join_set::JoinSet::new", said), said
        assert "JoinSet::spawn" in said, said
        bodies = [g for g in held(t, trace) if any("fetch" in f["function"] for f in g.get("stack", []))]
        assert sum(g["bytes"] for g in bodies) == 3000 * 10240, bodies


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
