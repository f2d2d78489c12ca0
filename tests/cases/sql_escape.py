# SPDX-License-Identifier: MIT
"""`silt sql` with statements of somebody who wants more than an answer: a file, the machine's memory, its time. Each is refused or ends at a limit,
with one line and status 2, and no file is opened for writing."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from harness.cases import skip
from harness.process import TimedOut
from harness.sql_bombs import BOMBS

READ_ONLY = "a trace is read-only: only SELECT is allowed"
REFUSED = {
    "PRAGMA journal_mode": "PRAGMA is not for questions about a trace",
    "PRAGMA temp_store_directory = '/tmp'": "PRAGMA is not for",
    "SELECT * FROM pragma_database_list": READ_ONLY,
    "SELECT count(*) FROM pragma_table_info('sites')": READ_ONLY,
    "ATTACH 'evil' AS evil": "a second one is given with --other FILE",
    "ATTACH 'file:evil?mode=rwc' AS evil": "a second one is given with --other FILE",
    "DETACH main": "ATTACH is not for",
    "VACUUM INTO 'evil'": READ_ONLY,
    "VACUUM": READ_ONLY,
    "REINDEX": READ_ONLY,
    "ANALYZE": READ_ONLY,
    "BEGIN": READ_ONLY,
    "SAVEPOINT x": READ_ONLY,
    "CREATE TABLE x(a)": READ_ONLY,
    "CREATE TEMP TABLE x(a)": READ_ONLY,
    "CREATE TEMP VIEW x AS SELECT 1": READ_ONLY,
    "CREATE TEMP TRIGGER x INSTEAD OF INSERT ON sites BEGIN SELECT 1; END": "cannot create triggers",
    "CREATE VIRTUAL TABLE x USING fts5(a)": READ_ONLY,
    "CREATE VIRTUAL TABLE temp.x USING fts3(a)": READ_ONLY,
    "CREATE VIRTUAL TABLE x USING silt_main_sites": READ_ONLY,
    "INSERT INTO marks VALUES (1, 2, 3, 4)": READ_ONLY,
    "UPDATE sites SET stack = 1": "may not be modified",
    "DELETE FROM sites": "may not be modified",
    "DROP TABLE sites": READ_ONLY,
    "ALTER TABLE sites RENAME TO x": READ_ONLY,
    "DELETE FROM sqlite_schema": "may not be modified",
    "SELECT load_extension('evil')": "load_extension() is not for questions about a trace",
    "SELECT writefile('evil', 'x')": "no such function: writefile",
    "SELECT readfile('/etc/passwd')": "no such function: readfile",
    "SELECT edit('x')": "no such function: edit",
    "SELECT fts3_tokenizer('simple', x'00')": "fts3_tokenizer() is not for",
    "SELECT sqlite_log(1, 'x')": "sqlite_log() is not for",
    "SELECT randomblob(10)": "randomblob() is not for",
    "SELECT sqlite_compileoption_get(1)": "sqlite_compileoption_get() is not for",
    "SELECT 'a' MATCH 'b'": "match() is not for",
    "SELECT rtreecheck('sites')": "rtreecheck() is not for",
    "SELECT * FROM dbstat": "no such table: dbstat",
    "SELECT * FROM sqlite_stmt": "no such table: sqlite_stmt",
    "SELECT * FROM fts5vocab": "no such table",
    "SELECT * FROM generate_series(1, 3)": "no such table",
    "SELECT * FROM sqlite_temp_schema": "is not a table of a trace",
    "SELECT count(*) FROM silt_main_sites": READ_ONLY,
    "EXPLAIN SELECT * FROM sites": "EXPLAIN QUERY PLAN says how a statement is answered",
    "EXPLAIN VACUUM INTO 'evil'": READ_ONLY,
    "SELECT 1; ATTACH 'evil' AS evil; SELECT 2": "a second one is given",
    "SELECT zeroblob(1048577)": "a value is larger than 1.0 MiB",
    "SELECT printf('%.*c', 1000000000, 'x')": "a value is larger than 1.0 MiB",
    "SELECT format('%2000000s', 'x')": "a value is larger than 1.0 MiB",
    "SELECT 'a": "the text that begins with 'a has no end",
}
ALLOWED = {
    "WITH c AS (SELECT 1) SELECT count(*) FROM c": "1",
    "WITH sites AS (SELECT 2 AS x) SELECT x FROM sites": "2",
    "SELECT value FROM json_each('[3]')": "3",
    "SELECT count(*) FROM json_tree('[3]')": "2",
    "SELECT 'aBc' LIKE 'A%' AND 'abc' GLOB 'a[^x]*' AND instr('abc', 'c') = 3": "1",
    "SELECT replace('aXa', 'X', 'YY') || trim('  x ') || rtrim('yzz', 'z')": "aYYaxy",
    "SELECT printf('%d %s %,d|%5.1f|%-4s|%%', 7, 'a', 1234567, 2.25, 'b') || typeof(printf('')) || format('%s', x'41')": "\"7 a 1,234,567|  2.3|b   |%nullA\"",
    "SELECT name FROM sqlite_schema WHERE name = 'sites'": "sites",
    "SELECT sum(n) OVER () FROM (SELECT 1 AS n UNION ALL SELECT 2) LIMIT 1": "3",
}


def recorded(t):
    r = t.silt.record(t.path("t.silt"), ["ls", "/"], ["-f"])
    assert r.code == 0, r.errors
    return t.path("t.silt")


def ask(t, trace, statement, *options, seconds=60):
    """What it printed, said, and the status; asked on standard input, because of its length."""
    try:
        r = subprocess.run([t.silt.path, "sql", "--csv", *options, trace, "-"], input=statement.encode("utf-8", "surrogateescape"),
                           capture_output=True, timeout=seconds, cwd=t.dir)
    except subprocess.TimeoutExpired as e:
        raise TimedOut(f"no end: {statement[:200]}") from e
    return r.stdout.decode("utf-8", "replace"), r.stderr.decode("utf-8", "replace"), r.returncode


def ask_and_count(t, trace, statement, *options):
    """The same, and the seconds of the processor that it took."""
    with open(t.path("statement.sql"), "wb") as f:
        f.write(statement.encode("utf-8", "surrogateescape"))
    with open(t.path("statement.sql"), "rb") as asked, open(t.path("out"), "w+b") as out, open(t.path("said"), "w+b") as said:
        p = subprocess.Popen([t.silt.path, "sql", "--csv", *options, trace, "-"], stdin=asked, stdout=out, stderr=said, cwd=t.dir)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said.seek(0)
        return out.read().decode("utf-8", "replace"), said.read().decode("utf-8", "replace"), p.returncode, usage.ru_utime + usage.ru_stime


def check_refusal(statement, said, status):
    assert status == 2 and said.startswith("silt: ") and said.count("\n") == 1 and len(said) < 1000, (status, said[:300], statement[:200])


def test_refused(t):
    trace = recorded(t)
    before = sorted(os.listdir(t.dir))
    for statement, words in REFUSED.items():
        _, said, status = ask(t, trace, statement)
        check_refusal(statement, said, status)
        assert words in said, (said, statement)
    assert sorted(os.listdir(t.dir)) == before, "a statement made a file"


def test_allowed(t):
    trace = recorded(t)
    for statement, wanted in ALLOWED.items():
        out, said, status = ask(t, trace, statement)
        assert (out.split("\r\n")[1], said, status) == (wanted, "", 0), (statement, out, said)


def test_nothing_is_written(t):
    if not shutil.which("strace"):
        skip("no strace")
    trace = recorded(t)
    statement = "SELECT a.path, b.path, count(*) FROM sites a, sites b GROUP BY 1, 2 ORDER BY 3 LIMIT 1"
    r = subprocess.run(["strace", "-f", "-o", t.path("calls"), "-e", "trace=openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat",
                        t.silt.path, "sql", trace, statement], capture_output=True, timeout=600)
    assert r.returncode == 0, r.stderr
    with open(t.path("calls")) as f:
        calls = [line for line in f if re.search(r"O_WRONLY|O_RDWR|O_CREAT|unlink|rename|mkdir|creat\(", line) and "/dev/" not in line]
    assert not calls, calls


def test_bombs(t):
    trace = recorded(t)
    for name, statement in BOMBS.items():
        start = time.monotonic()
        # what it may use is counted in time of the processor: the machine may be busy
        out, said, status, used_s = ask_and_count(t, trace, statement, "--max-time", "500ms", "--max-memory", "64M")
        if status:
            check_refusal(statement, said, status)
        else:
            assert not said and out, (name, said)
        assert used_s < 3, f"{name}: {used_s:.1f} s of the processor, {time.monotonic() - start:.1f} s in all; {said}"


def test_memory_is_bounded(t):
    trace = recorded(t)
    fat = "WITH RECURSIVE c(n, x) AS (SELECT 1, zeroblob(1000) UNION ALL SELECT n + 1, x FROM c) SELECT n, x FROM c ORDER BY -n"
    # started by a small process: the kernel begins a child's figure at the size of whoever started it
    starter = ("import os, resource, subprocess, sys; status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); "
               "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    p = subprocess.run([sys.executable, "-S", "-c", starter, t.silt.path, "sql", "--max-memory", "50M", trace, fat], capture_output=True)
    said = p.stderr.decode()
    status, used_kb = map(int, p.stdout.split())
    check_refusal(fat, said, status)
    assert "needs more than 50.0 MiB of memory: --max-memory allows more" in said, said
    assert used_kb < 120 << 10, f"{used_kb} kB"


def test_interrupt(t):
    trace = recorded(t)
    for statement in ("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c", BOMBS["LIKE, one long word"]):
        p = subprocess.Popen([t.silt.path, "sql", trace, statement], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.running.append(p)
        # until it computes, however busy the machine is
        deadline = time.monotonic() + 60
        while sum(map(int, open(f"/proc/{p.pid}/stat").read().rsplit(")", 1)[1].split()[11:13])) < 20:
            if time.monotonic() > deadline:
                raise TimedOut("it does not begin")
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        try:
            _, said = p.communicate(timeout=600)
        except subprocess.TimeoutExpired as e:
            raise TimedOut("no end after Ctrl-C") from e
        assert p.returncode in (2, -signal.SIGINT) and said.decode() == "silt: the statement was stopped\n", (p.returncode, said)


def test_odd_bytes(t):
    trace = recorded(t)
    for statement in ("SELECT '\udcff\udcfe' AS x", "\udcff", "SELECT 'a\x1b[31m'", "SELECT \x1b[31m", "SELECT 1 AS \"a\nb\"", "\ufeffSELECT 1", "SELECT '\ud7ff'", ";;;", "", "--"):
        _, said, status = ask(t, trace, statement)
        assert status in (0, 2) and "\x1b" not in said and said.count("\n") <= 1, (statement, said, status)
    out, said, status = ask(t, trace, "SELECT 1\0; SELECT 2")
    assert status in (0, 2) and said.count("\n") <= 1, (out, said)
