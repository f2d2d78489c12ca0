# SPDX-License-Identifier: MIT
"""Bills of programs and allocators that nobody here wrote: each stands still with data while its recorder looks. Parts add up to the byte, what nobody
accounts for is small, the sum is the kernel's, and the program prints what it prints alone."""

import glob
import hashlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import threading
import time

from harness.cases import skip
from harness.process import run
from harness.watch import children, comm

MAX_REMAINDER_PCT, MAX_AWAY_PCT = 3, 2

PYTHON = """
import sys
kept = {i: str(i) * (i % 40) for i in range(150000)}
gone = [bytearray(i % 3000) for i in range(6000)]
del gone[::2]
print("ready", flush=True)
sys.stdin.readline()
print(len(kept), sum(map(len, gone)))
"""

NODE = """
const kept = [], buffers = [];
for (let i = 0; i < 200000; i++) kept.push({ id: i, name: "n" + i });
for (let i = 0; i < 200; i++) buffers.push(Buffer.alloc(65536, i));
console.log("ready");
process.stdin.once("data", () => { console.log(kept.length, buffers.length); process.exit(0); });
"""

PERL = """
$| = 1; my %kept = map { $_ => "x" x ($_ % 50) } 1 .. 150000; my @lists = map { [ 1 .. 20 ] } 1 .. 20000;
print "ready\\n"; my $line = <STDIN>; print scalar(keys %kept), " ", scalar(@lists), "\\n";
"""

PHP = """
$kept = []; for ($i = 0; $i < 300000; $i++) $kept[] = "n" . $i;
$turned = array_map(fn($x) => strrev($x), $kept); sort($turned);
echo "ready\\n"; $line = fgets(STDIN); echo count($kept), " ", $turned[0], "\\n";
"""

LUAJIT = """
local kept, sum = {}, 0
for i = 1, 300000 do kept[i] = { i, tostring(i) } end
for k = 1, 20 do for i = 1, #kept do sum = sum + kept[i][1] % k end end
io.write("ready\\n") io.flush() io.read() print(#kept, sum)
"""

SQLITE = """create table t (a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000) insert into t select i, hex(i * 7919) || 'abcdefghijklmnop' from n;
create index t_b on t (b); delete from t where a % 3 = 0; select 'ready';
"""

HUGE = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define BYTES (32ul << 20)
int main(void) {
        char *p = aligned_alloc(2ul << 20, BYTES), *q, c;
        madvise(p, BYTES, MADV_HUGEPAGE);
        memset(p, 1, BYTES);
        q = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(q, BYTES, MADV_HUGEPAGE);
        memset(q, 1, BYTES / 2);
        if (write(1, "ready\\n", 6) != 6 || read(0, &c, 1) < 0) return 1;
        return p[5] + q[5] != 2;
}
"""


def status_bytes(pid, key):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(key + ":"))


def checked(t, name, trace_or_pid, rss_bytes, *options):
    r = t.silt.command("bill", str(trace_or_pid), "--json", *options)
    assert r.code == 0, r.errors
    bill = json.loads(r.text)
    parts = {p["part"]: p["bytes"] for p in bill["parts"]}
    rss, rest = bill["resident_bytes"], parts.get("remainder", 0)
    away = 100 * (rss - rss_bytes) / rss_bytes if rss_bytes else 0
    mib = {k: f"{v / 2**20:.1f}" for k, v in parts.items() if v >= 2**18}
    t.notes.append(f"{name}: {rss / 2**20:.1f} MiB, {away:+.2f} % of the kernel's, remainder {100 * rest / rss:.2f} %: {mib}")
    assert sum(parts.values()) == rss, (name, parts, rss)
    assert abs(rest) * 100 <= rss * MAX_REMAINDER_PCT, (name, parts, bill["parts"][-1])
    assert abs(away) <= MAX_AWAY_PCT, (name, rss, rss_bytes)
    assert bill["blocks_are_known"] and bill["sizes_are_as_asked"], name
    return bill, parts


class Held:
    """A program under silt that has said "ready", or let somebody wait for it."""

    def __init__(self, t, name, argv, env=None, say=b"", prefix=(), is_heard=True):
        self.t, self.name, self.trace = t, name, t.path(name + ".silt")
        self.process = subprocess.Popen([*prefix, *t.silt.run_argv(self.trace, argv, ["-f"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, **(env or {})})
        t.running.append(self.process)
        self.process.stdin.write(say)
        self.process.stdin.flush()
        self.out = b""
        while is_heard and b"ready" not in self.out:
            line = self.process.stdout.readline()
            assert line, f"{name} ended: {self.out[-300:]}"
            self.out += line

    def pid(self):
        return next(pid for pid in children(self.process.pid) if not (comm(pid) or "silt").startswith("silt"))

    def bill(self):
        pid = self.pid()
        return checked(self.t, self.name, pid, status_bytes(pid, "VmRSS"))

    def end(self, say):
        self.out += self.process.communicate(say, timeout=600)[0]
        assert self.process.returncode == 0, (self.name, self.process.returncode)
        return self.out


def held(t, name, argv, env=None, say=b"", last=b"go\n"):
    """One bill of a program that says "ready", and its output beside that without silt."""
    if not shutil.which(argv[0]):
        skip(f"no {argv[0]}")
    alone = run(argv, stdin=say + last, env={**os.environ, **(env or {})})
    assert alone.code == 0, alone.errors
    program = Held(t, name, argv, env, say)
    bill = program.bill()
    assert program.end(last) == alone.stdout, (name, alone.stdout[-300:], program.out[-300:])
    return bill


def preloaded(t, library):
    found = glob.glob(f"/usr/lib/*-linux-gnu/{library}")
    if not found:
        skip(f"no {library}")
    return held(t, library.split(".")[0], ["/usr/bin/python3", "-c", PYTHON], {"LD_PRELOAD": found[0], "PYTHONMALLOC": "malloc"})


def soak_alone(test):
    test.repeats, test.soak_repeats = 0, 1
    return test


def test_python(t):
    held(t, "python3", ["/usr/bin/python3", "-c", PYTHON])


def test_threads(t):
    program = t.context.helpers.build("fragmentation_shapes", ["fragmentation_shapes.c"], link=["-pthread"])
    alone = run([program, "arenas"], stdin=b"\n")
    asked = Held(t, "threads", [program, "arenas"], is_heard=False)
    asked.out += asked.process.stdout.readline()
    _, parts = asked.bill()
    assert parts["stacks"] > 0, parts
    assert asked.end(b"\n") == alone.stdout


def test_huge_pages(t):
    with open("/sys/kernel/mm/transparent_hugepage/enabled") as f:
        if "[never]" in f.read():
            skip("no transparent huge pages")
    path = t.path("huge")
    with open(path + ".c", "w") as f:
        f.write(HUGE)
    r = run(["gcc", "-O1", "-g", path + ".c", "-o", path])
    assert r.code == 0, r.errors
    program = Held(t, "huge", [path])
    with open(f"/proc/{program.pid()}/smaps_rollup") as f:
        huge = next(int(line.split()[1]) << 10 for line in f if line.startswith("AnonHugePages:"))
    bill, parts = program.bill()
    assert bill["huge_page_bytes"] == huge, (bill["huge_page_bytes"], huge)
    assert parts["live"] == 32 << 20, parts
    assert abs(parts["mapped"] - (16 << 20)) <= 4096, parts
    program.end(b"\n")


def test_sqlite(t):
    held(t, "sqlite3", ["sqlite3", ":memory:"], say=SQLITE.encode(), last=b"select count(*), max(b) from t;\n.quit\n")


def test_jemalloc(t):
    preloaded(t, "libjemalloc.so.2")


@soak_alone
def test_mimalloc(t):
    preloaded(t, "libmimalloc.so.2")


@soak_alone
def test_tcmalloc(t):
    preloaded(t, "libtcmalloc_minimal.so.4")


@soak_alone
def test_node(t):
    held(t, "node", ["node", "-e", NODE])


@soak_alone
def test_perl(t):
    held(t, "perl", ["perl", "-e", PERL])


@soak_alone
def test_php(t):
    """Its own heap is chunks of mappings; arrays that grow are mappings that come and go."""
    held(t, "php", ["php", "-n", "-r", PHP])


@soak_alone
def test_luajit(t):
    held(t, "luajit", ["luajit", "-e", LUAJIT])


@soak_alone
def test_curl(t):
    """Of a page that ends when its bill is there."""
    if not shutil.which("curl"):
        skip("no curl")
    may_end = threading.Event()

    def answer(listener):
        while True:
            try:
                s = listener.accept()[0]
            except OSError:  # the test is over
                return
            with s:
                s.recv(4096)
                s.sendall(b"HTTP/1.0 200 OK\r\n\r\nready\n")
                may_end.wait(60)
                s.sendall(b"x" * 100000)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        argv = ["curl", "-q", "-s", "-N", "--noproxy", "*", f"http://127.0.0.1:{listener.getsockname()[1]}/"]
        program = Held(t, "curl", argv)
        try:
            program.bill()
        finally:
            may_end.set()
        assert program.end(b"") == b"ready\n" + b"x" * 100000
        listener.shutdown(socket.SHUT_RDWR)


@soak_alone
def test_redis(t):
    if not shutil.which("redis-server"):
        skip("no redis-server")
    door = t.path("s")
    program = Held(t, "redis-server", ["redis-server", "--port", "0", "--save", "", "--unixsocket", door], is_heard=False)
    end = time.monotonic() + 20
    while not os.path.exists(door):
        assert time.monotonic() < end, "redis-server does not listen"
        time.sleep(0.02)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(door)
        replies = s.makefile("rb")
        for first in range(0, 60000, 1000):
            s.sendall(b"".join(b"SET key:%d %s\r\n" % (i, b"v" * (i % 300 + 1)) for i in range(first, first + 1000)))
            assert all(replies.readline() == b"+OK\r\n" for _ in range(1000))
        program.bill()
        s.sendall(b"DBSIZE\r\n")
        assert replies.readline() == b":60000\r\n"
        s.sendall(b"SHUTDOWN NOSAVE\r\n")
    program.end(b"")


@soak_alone
def test_postgres(t):
    """One backend with shared buffers; it refuses to be root's."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found or os.geteuid() != 0:
        skip("no postgres, or not root")
    user, folder = pwd.getpwnam("nobody"), t.path("pg")
    os.makedirs(folder)
    os.chown(folder, user.pw_uid, user.pw_gid)
    os.chmod(os.path.dirname(folder), 0o777)
    as_other = ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
    made = run([*as_other, os.path.join(os.path.dirname(found[-1]), "initdb"), "-D", folder, "-U", "silt", "-A", "trust", "--no-sync"])
    assert made.code == 0, made.errors
    argv = [found[-1], "--single", "-D", folder, "-c", "shared_buffers=64MB", "-c", "fsync=off", "postgres"]
    say = b"create table t as select i, md5(i::text) m from generate_series(1, 200000) i\nselect count(*), 'ready' from t\n"
    program = Held(t, "postgres", argv, say=say, prefix=as_other)
    _, parts = program.bill()
    assert parts["shared_memory"] > 16 << 20, parts
    last = max(hashlib.md5(str(i).encode()).hexdigest() for i in range(1, 200001))
    assert last.encode() in program.end(b"select max(m) from t\n") and b"200000" in program.out, program.out[-500:]


@soak_alone
def test_postgres_server(t):
    """Three backends that sort among nine processes: the highest sum has their memory, or its first sentence says what it lacks."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found or os.geteuid() != 0 or not shutil.which("psql"):
        skip("no postgres, or not root")
    user, folder = pwd.getpwnam("nobody"), t.path("pg")
    os.makedirs(folder)
    os.chown(folder, user.pw_uid, user.pw_gid)
    os.chmod(os.path.dirname(folder), 0o777)
    as_other = ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
    made = run([*as_other, os.path.join(os.path.dirname(found[-1]), "initdb"), "-D", folder, "-U", "silt", "-A", "trust", "--no-sync"])
    assert made.code == 0, made.errors
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "shared_buffers": "128MB", "work_mem": "128MB", "fsync": "off",
                "max_parallel_workers_per_gather": 0}
    argv = [found[-1], "-D", folder, *(word for k, v in settings.items() for word in ("-c", f"{k}={v}"))]
    trace = t.path("server.silt")
    server = subprocess.Popen([*as_other, *t.silt.run_argv(trace, argv, ["-f"])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    t.running.append(server)
    psql = ["psql", "-q", "-X", "-h", "127.0.0.1", "-p", str(port), "-U", "silt", "postgres"]
    for _ in range(300):
        if run([*psql, "-c", "select 1"]).code == 0:
            break
        time.sleep(0.1)
    assert run([*psql, "-c", "create table t as select i, md5(i::text) m from generate_series(1, 400000) i"]).code == 0
    query = "select count(*) from (select m, count(*) from t group by m order by m desc offset 10) x"
    clients = [subprocess.Popen([*psql, "-c", query, "-c", "select pg_sleep(3)"], stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [c.wait(300) for c in clients] == [0, 0, 0]
    with open(os.path.join(folder, "postmaster.pid"), encoding="ascii") as f:
        os.kill(int(f.readline()), 2)
    assert server.wait(120) == 0
    bill, parts = checked(t, "postgres with backends", trace, 0)
    whole = t.silt.report(trace, "--process", "all")[0]["totals"]["peak_live_bytes"]
    t.notes.append(f"{len(bill['processes'])} processes, {bill['unlooked']['processes']} without a look; live {parts['live'] / 2**20:.1f} of {whole / 2**20:.1f} MiB at the peak")
    assert parts["live"] >= whole / 2 or bill["missed"] or "did not look at" in bill["text"], (bill["text"], whole)
    assert parts["live"] >= whole / 4, (bill["text"], whole)


@soak_alone
def test_compiler(t):
    """To its end: the moment with most memory is one of those looked at, and no more than the kernel's largest figure."""
    found = run(["g++", "-print-prog-name=cc1plus"]).stdout.decode().strip()
    if not os.path.isabs(found):
        skip("no g++")
    source, trace = t.path("work.cc"), t.path("cc.silt")
    with open(source, "w") as f:
        f.write("#include <regex>\n#include <map>\nint main(int n, char **v) { return std::regex_match(v[0], std::regex(\"a+\")) + n; }\n")
    multiarch = run(["g++", "-print-multiarch"]).stdout.decode().strip()
    argv = [found, "-quiet", "-O1", "-imultiarch", multiarch, "-D_GNU_SOURCE", source, "-o", "-"]
    alone, r = run(argv), t.silt.record(trace, argv, ["-f"])
    assert r.code == alone.code == 0 and r.stdout == alone.stdout, r.errors
    bill, parts = checked(t, "cc1plus", trace, 0)
    highest = t.silt.report(trace)[0]["resident"]["peak_bytes"]
    t.notes.append(f"cc1plus: {100 * bill['resident_bytes'] / highest:.1f} % of the largest figure")
    assert 0.75 * highest <= bill["resident_bytes"] <= 1.02 * highest, (bill["resident_bytes"], highest)
    lines = next(p["lines"] for p in bill["parts"] if p["part"] == "mapped")
    assert lines[0]["function"].startswith("ggc_") and lines[0]["bytes"] >= 0.8 * parts["mapped"], lines[:3]
