# SPDX-License-Identifier: MIT
"""Ten real programs run briefly: no `growing` and no `leak` beyond what is true.

What is true is measured without silt, by the preloaded oracle (tests/oracle) on the same command and on one with half the work:

  growing N bytes is true where half the work has a peak that is lower by N / 3 at least
  leak N bytes is true where half the work leaves N / 3 bytes less at the end, or memcheck calls so much lost

Memory that a program builds once, whatever it does then, passes neither. Of each program it is said below what to expect:
`steady` ones have their work in a loop over the same things, and any alarm about them is false without a measurement."""

import os
import re
import shutil
import socket
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from harness import oracles
from harness.cases import skip
from harness.process import run

ENV = {"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat", "HOME": "/nonexistent",
       "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000", "GIT_AUTHOR_NAME": "a",
       "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "PYTHONDONTWRITEBYTECODE": "1",
       "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "MAKEFLAGS": None, "http_proxy": None, "HTTP_PROXY": None}

SQL_TABLES = """create table t(id integer primary key, name text, n real);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000)
  insert into t select x, 'name ' || (x * 7919 % 5000), x / 3.0 from c;
create index by_name on t(name);"""
SQL_WORK = """select count(*), sum(n), group_concat(distinct substr(name, 6, 1)) from t where name > 'name 5';
select max(name) from (select name from t order by n desc limit 500);
update t set n = n + 1 where id % 7 = 3;
"""
PERL = """for my $round (1..ROUNDS) { my %h; for my $i (1..2000) { push @{$h{$i % 97}}, "value $i" x 3 }
my $s = ''; for my $k (sort keys %h) { $s .= join(',', map { s/value/v/r } grep { /7/ } @{$h{$k}}) } die unless length($s) }"""
PYTHON = """import json, re
for _ in range(ROUNDS):
    data = [{'id': i, 'name': 'n%d' % (i * 7919 % 500), 'tags': ['t%d' % (i % k + 1) for k in range(1, 5)]} for i in range(500)]
    text = json.dumps(data)
    assert len(json.loads(text)) == 500 and re.findall(r'"n\\d+7"', text)
"""
C_FUNCTION = """static int work_%d(const int *v, int n) { int s = %d; for (int i = 0; i < n; i++) { if (v[i] %% 3 == 1) s += v[i] * i; else s ^= v[n - i - 1]; }
  switch (s & 7) { case 1: return s * 2; case 2: return -s; case 5: return s / 3; default: return s + %d; } }
"""


def write(t, name, text):
    with open(t.path(name), "w") as f:
        f.write(text)
    return t.path(name)


def need(tool):
    path = "/usr/bin/" + tool
    if not os.path.exists(path):
        skip(f"{tool} is not installed")
    return path


# ---- what is true -------------------------------------------------------------------------------


def measured(t, argv, stdin):
    """Figures of the main process by the oracle."""
    oracle = oracles.PreloadOracle(os.path.join(t.context.tests_dir, "oracle"), t.dir)
    env = {k: v for k, v in ENV.items() if v is not None}
    r, processes = oracle.record(argv, env, stdin=stdin, cwd=t.dir)
    assert processes, f"{argv[0]} under the oracle: {r.code}: {r.errors[-300:]}"
    first = min(p["pid"] for p in processes)
    return max((p for p in processes if p["pid"] == first), key=lambda p: p["image"])


def definitely_lost(t, argv, stdin):
    """Bytes that memcheck finds no pointer to."""
    r = run(["valgrind", "--leak-check=full", "--undef-value-errors=no", "--trace-children=no", *argv], env=ENV, stdin=stdin, cwd=t.dir,
            timeout_s=300)
    lost = re.findall(r"(?:definitely|indirectly) lost: ([\d,]+) bytes", r.errors)
    return sum(int(x.replace(",", "")) for x in lost)


def check(t, command, is_steady, stdin=lambda work: b""):
    """command(work) is the command line with so much work."""
    trace = t.path("real.silt")
    r = t.silt.record(trace, command(2), ["-f"], env=ENV, stdin=stdin(2), cwd=t.dir)
    assert r.code == 0, f"{command(2)[0]}: {r.code}: {r.errors[-300:]}"
    report, why = t.silt.report(trace)
    assert report, why
    alarms = [f for f in report["findings"] if f["kind"] in ("growing", "leak")]
    t.notes.append(f"{report['duration_s']:.2f} s, {report['totals']['allocations']:,} allocations; "
                   f"{report['totals']['end_live_bytes']:,} bytes left at the end")
    for alarm in alarms:
        t.notes.append(f"{alarm['kind']}: {alarm['text']}")
    if not alarms:
        return
    assert not is_steady, f"false: {alarms[0]['kind']}: {alarms[0]['text']}"
    half, whole = (measured(t, command(work), stdin(work)) for work in (1, 2))
    for alarm in alarms:
        figure = "peak_live_bytes" if alarm["kind"] == "growing" else "end_live_bytes"
        more = whole[figure] - half[figure]
        is_true = more >= alarm["bytes"] / 3
        if not is_true and alarm["kind"] == "leak":
            is_true = definitely_lost(t, command(2), stdin(2)) >= alarm["bytes"] / 3
        assert is_true, f"false: {alarm['text']}\nhalf the work has a {figure} lower by {more:,} only"


# ---- programs -----------------------------------------------------------------------------------


def test_sqlite3(t):
    """The same queries and updates again and again; closing the data base releases everything."""
    tool = need("sqlite3")
    assert run([tool, t.path("db"), SQL_TABLES]).code == 0
    check(t, lambda work: [tool, t.path("db")], True, lambda work: (SQL_WORK * (25 * work)).encode())


def make_repository(t, n_commits):
    folder = t.path("repository")
    shutil.rmtree(folder, ignore_errors=True)
    git = ["/usr/bin/git", "-C", folder]
    assert run(["/usr/bin/git", "init", "-q", "-b", "main", folder], env=ENV).code == 0
    stream = []
    for i in range(n_commits):
        content = "".join(f"line {k * (i + 3) % 101} of {i % 5}\n" for k in range(300))
        stream.append(f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + i} +0000\ndata 9\nchange {i % 10}\n"
                      f"M 100644 inline file{i % 5}\ndata {len(content)}\n{content}\n")
    assert run([*git, "fast-import", "--quiet"], env=ENV, stdin="".join(stream).encode()).code == 0
    return folder


def test_git(t):
    """Keeps every commit it has walked to the end: with more of them it needs more, and never gives it back."""
    git = need("git")
    folder = make_repository(t, 800)
    check(t, lambda work: [git, "-C", folder, "log", "-p", "--stat", f"-n{200 * work}"], False)


def test_gcc(t):
    """The compiler itself: the larger the file, the more it keeps to the end; the operating system takes it back."""
    cc1 = run(["gcc", "-print-prog-name=cc1"]).text.strip()

    def command(work):
        functions = "".join(C_FUNCTION % (i, i, i) for i in range(25 * work))
        calls = " + ".join(f"work_{i}(v, n)" for i in range(25 * work))
        source = write(t, f"source{work}.c", functions + f"int all(const int *v, int n) {{ return {calls}; }}\n")
        return [cc1, "-quiet", "-O1", "-frandom-seed=0", "-o", t.path("out.s"), source]

    check(t, command, False)


def test_perl(t):
    """Rounds that build and drop the same tables; the interpreter's arenas stay at the level of the first."""
    perl = need("perl")
    check(t, lambda work: [perl, write(t, "work.pl", PERL.replace("ROUNDS", str(30 * work)))], True)


def test_python3(t):
    """Rounds that build and drop the same objects; what is left at the end are modules and interned names."""
    python = need("python3")
    check(t, lambda work: [python, "-I", write(t, "work.py", PYTHON.replace("ROUNDS", str(30 * work)))], True)


def test_python3_on_malloc(t):
    """The same with every object in a block of its own."""
    python = need("python3")
    check(t, lambda work: ["/usr/bin/env", "PYTHONMALLOC=malloc", python, "-S",
                           write(t, "work.py", PYTHON.replace("ROUNDS", str(8 * work)))], True)


def test_redis(t):
    """A server with a fixed set of keys, asked for a second."""
    redis, cli = need("redis-server"), need("redis-cli")
    socket_path = t.path("redis.sock")
    commands = "".join(f"set key{i % 500} {'v' * (i % 90)}\nget key{i % 333}\nlpush l{i % 20} {i}\nltrim l{i % 20} 0 30\n" for i in range(4000))

    def ask():
        for _ in range(500):
            if run([cli, "-s", socket_path, "ping"]).text.strip() == "PONG":
                break
        run([cli, "-s", socket_path], stdin=commands.encode())
        run([cli, "-s", socket_path, "shutdown", "nosave"])

    client = threading.Thread(target=ask)
    client.start()
    try:
        check(t, lambda work: [redis, "--port", "0", "--unixsocket", socket_path, "--save", "", "--dir", t.dir], True)
    finally:
        client.join()


def test_sort(t):
    """One buffer for the lines, made at the start."""
    lines = write(t, "lines", "".join(f"{i * 7919 % 100003} line\n" for i in range(100_000)))
    sort = need("sort")
    check(t, lambda work: [sort, *([lines] * (2 * work)), "-o", t.path("sorted")], True)


def make_files(t, name, n):
    folder = t.path(name)
    os.makedirs(folder)
    for i in range(n):
        os.makedirs(f"{folder}/{i % 17}", exist_ok=True)
        with open(f"{folder}/{i % 17}/{i}", "w") as f:
            f.write("content\n" * (i % 300))
    return folder


def test_tar(t):
    """One file after the other through the same buffer. Given several names, it also remembers every file it has stored."""
    tar = "/usr/bin/tar"
    folders = [make_files(t, name, 800) for name in ("tree/one", "tree/two")]
    check(t, lambda work: [tar, "-cf", t.path("out.tar"), t.path("tree") if work == 2 else folders[0]], True)
    check(t, lambda work: [tar, "-cf", t.path("out.tar"), *folders[:work]], False)


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass


def test_curl(t):
    """The same small file over one connection to loopback; every transfer is taken down."""
    curl = need("curl")
    write(t, "page", "hello\n" * 500)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=t.dir))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/page?[1-20]"
        check(t, lambda work: [curl, "-s", "--noproxy", "*", "-o", "/dev/null", url], True)
    finally:
        server.shutdown()
        server.server_close()


def test_make(t):
    """Reads its rules at the start, then runs one command after the other; what it keeps of a target is small."""
    make = need("make")
    rules = "".join(f"t{i}: t{i - 1}\n\t@test -n '$@'\n" for i in range(1, 120))
    write(t, "Makefile", "t0:\n\t@true\n" + rules)
    check(t, lambda work: [make, "-s", "-C", t.dir, "t119"], True)
