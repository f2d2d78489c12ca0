# SPDX-License-Identifier: MIT
"""silt push with a real ClickHouse: figures are those of the report, each row counts once whatever happens to the sender or the
server, and servers that are not one cost a line and no snapshot."""

import concurrent.futures
import contextlib
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

from harness.chunks import cut_in_a_chunk
from harness.clickhouse import ClickHouse, free_ports
from harness.process import give_up, run

WAIT_S = 600
# It holds more each tenth of a second, for a few seconds, and then less.
GROWING = """
import time
kept = []
for i in range(25):
    kept.append([bytearray(50000 + 100 * k) for k in range(20)])
    time.sleep(0.1)
    if i % 7 == 6:
        del kept[0]
"""


def push(t, trace, url, *options, **kwargs):
    return t.silt.command("push", trace, "--to", url, "--every", "1s", "--spool", t.path("spool"), *options, **kwargs)


def recorded(t, name="t.silt", argv=("/usr/bin/python3", "-c", GROWING)):
    trace = t.path(name)
    r = t.silt.record(trace, list(argv))
    assert r.code == 0, r.errors
    return trace


def wait_for_recording(trace):
    """Until somebody writes it: whatever is in it as yet."""
    deadline = time.monotonic() + WAIT_S
    while not os.path.exists(trace) or os.path.getsize(trace) == 0:
        give_up(deadline, "no trace")
        time.sleep(0.02)


def batches(t):
    return sorted(n for n in os.listdir(t.path("spool")) if n.endswith(".batch"))


def totals_at(t, trace, ms=None):
    """Of the report, which is asked once for each moment of a trace that does not change."""
    key = (trace, ms)
    if key not in t.totals:
        report, why = t.silt.report(trace, "--process", "all", *(("--to", f"{ms}ms") if ms else ()))
        assert report, why
        t.totals[key] = report["totals"]
    return t.totals[key]


def check_figures(t, server, trace, database="silt"):
    """Every snapshot is what the report says of its moment; sites add up to it; periods add up to all."""
    rows = server.rows(f"""SELECT recording_ms, live_bytes, live_blocks, alloc_bytes, allocs, frees, is_last, sites
        FROM {database}.silt_snapshots FINAL ORDER BY recording_ms""")
    sites = {r[0]: r[1:] for r in server.rows(f"""SELECT recording_ms, sum(live_bytes), sum(live_blocks), sum(alloc_bytes), sum(allocs), count()
        FROM {database}.silt_sites FINAL GROUP BY recording_ms""")}
    assert len(rows) >= 3, rows
    sums = [0, 0, 0]
    for ms, live, blocks, alloc_bytes, allocs, frees, is_last, n_sites in rows:
        totals = totals_at(t, trace, None if is_last == "1" else ms)
        assert (int(live), int(blocks)) == (totals["end_live_bytes"], totals["end_live_blocks"]), (ms, live, blocks, totals)
        sums = [a + int(b) for a, b in zip(sums, (alloc_bytes, allocs, frees))]
        assert sums == [totals["bytes_allocated"], totals["allocations"], totals["frees"]], (ms, sums, totals)
        assert sites[ms] == [live, blocks, alloc_bytes, allocs, n_sites], (ms, sites[ms], live, blocks, alloc_bytes, allocs)
    assert [r[6] for r in rows] == ["0"] * (len(rows) - 1) + ["1"]
    assert server.number(f"""SELECT count() FROM {database}.silt_sites WHERE path NOT IN (SELECT path FROM {database}.silt_paths)""") == 0
    return len(rows)


SQLITE = ("sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000) "
          "select count(*) from (select i, hex(randomblob(50)) h from n order by h);")


def test_clickhouse(t):
    """All of it with one server, as starting one takes seconds; what it gets is recorded meanwhile."""
    t.totals = {}
    growing = ["/usr/bin/python3", "-c", GROWING]
    recordings = [subprocess.Popen(t.silt.run_argv(t.path(name), argv, options), stdout=subprocess.DEVNULL)
                  for name, argv, options in (("t.silt", growing, ()), ("samples.silt", growing, ("--sample", "64K")),
                                              ("sqlite.silt", list(SQLITE), ()))]
    t.running.extend(recordings)
    with ClickHouse(t) as server:
        assert [r.wait(WAIT_S) for r in recordings] == [0, 0, 0]
        labels_and_bounds(t, server)
        samples(t, server)
        the_same_twice(t, server)
        taken_otherwise(t, server)
        a_damaged_trace(t, server)
        a_server_that_lost_everything(t, server)
        what_was_lost(t, server)
        away_and_back(t, server)
        killed_in_between(t, server)


def labels_and_bounds(t, server):
    trace = t.path("sqlite.silt")
    r = push(t, trace, server.url("figures"), "--service", "shop", "--host", "web-1", "--label", "zone=eu", "--max-paths", "20")
    assert r.code == 0, r.errors
    said = server.rows("SELECT DISTINCT service, host, program, labels, length(build) FROM figures.silt_snapshots FINAL")
    assert [row[:2] for row in said] == [["shop", "web-1"]] and said[0][3] == "['zone=eu']" and int(said[0][4]) >= 16, said
    assert server.number("SELECT max(sites) FROM figures.silt_snapshots") == 21, "20 call paths, and all others as one"
    last = server.rows("SELECT live_bytes, alloc_bytes FROM figures.silt_snapshots FINAL WHERE is_last = 1")
    assert int(last[0][0]) == totals_at(t, trace)["end_live_bytes"]


def samples(t, server):
    """What is live is the report's estimate of that moment; what was allocated is near the count, and never told for another period."""
    trace = t.path("samples.silt")
    assert push(t, trace, server.url("samples")).code == 0
    rows = server.rows("""SELECT recording_ms, live_bytes, live_blocks, alloc_bytes, allocs, is_last, sample_bytes, round(error_bytes)
        FROM samples.silt_snapshots FINAL ORDER BY recording_ms""")
    sites = server.rows("""SELECT recording_ms, sum(live_bytes), sum(live_blocks), sum(alloc_bytes), sum(allocs), round(sqrt(sum(error_bytes * error_bytes)))
        FROM samples.silt_sites FINAL GROUP BY recording_ms ORDER BY recording_ms""")
    assert [r[:5] + r[7:] for r in rows] == sites, (rows, sites)
    for ms, live, blocks, _, _, is_last, sample_bytes, _ in rows:
        totals = totals_at(t, trace, None if is_last == "1" else ms)
        assert (int(live), int(blocks)) == (totals["end_live_bytes"], totals["end_live_blocks"]) and sample_bytes == "65536", (ms, live, totals)
    told = sum(int(r[3]) for r in rows)
    assert abs(told - totals["bytes_allocated"]) < 0.2 * told, (told, totals)


def the_same_twice(t, server):
    trace = t.path("t.silt")
    url = server.url("twice")
    assert push(t, trace, url).code == 0
    n = check_figures(t, server, trace, "twice")
    r = push(t, trace, url)
    assert r.code == 0 and "were sent before" in r.errors, r.errors
    r = push(t, trace, url, "--again", "--label", "zone=eu")
    assert r.code == 0 and f"{n} snapshots taken" in r.errors, r.errors
    assert server.number("SELECT count() FROM twice.silt_snapshots") == 2 * n, "they did arrive twice"
    assert check_figures(t, server, trace, "twice") == n
    assert server.number("SELECT count() FROM twice.silt_snapshots_once") == n
    server.ask("OPTIMIZE TABLE twice.silt_sites FINAL")
    assert check_figures(t, server, trace, "twice") == n
    assert server.number("SELECT max(is_damaged) FROM twice.silt_snapshots") == 0
    assert batches(t) == []


def aside(t, ending):
    return [n for n in os.listdir(t.path("spool")) if n.endswith(ending)]


def taken_otherwise(t, server):
    """At other moments, or with other call paths: they are not put beside what is there, nor when both wait in the spool."""
    trace = t.path("t.silt")
    for options in (("--every", "2s"), ("--max-paths", "3")):
        r = push(t, trace, server.url("twice"), "--again", *options)
        assert r.code == 1 and "figures would be doubled" in r.errors and len(r.errors.splitlines()) == 1, r.errors
        check_figures(t, server, trace, "twice")
        assert batches(t) == [] and aside(t, ".refused")
    for options in ((), ("--every", "2s")):
        assert push(t, trace, f"http://127.0.0.1:{free_ports(1)[0]}/?database=odds", "--again", "--flush", "1s", *options).code == 1
    r = push(t, trace, server.url("odds"))
    assert r.code == 1 and "not sent, as figures would be doubled" in r.errors, r.errors
    check_figures(t, server, trace, "odds")
    assert batches(t) == []


def a_damaged_trace(t, server):
    """That is said, each snapshot says so, and what follows in the whole file is sent when it turns up."""
    trace, cut = t.path("t.silt"), t.path("cut.silt")
    with open(trace, "rb") as f, open(cut, "wb") as to:
        to.write(cut_in_a_chunk(f.read(), 0.6))
    own = ("--spool", t.path("another spool"))
    r = push(t, cut, server.url("cut"), *own)
    assert r.code == 0 and "cut.silt' is incomplete" in r.errors and "marked as damaged" in r.errors, r.errors
    assert server.rows("SELECT DISTINCT is_damaged, is_last FROM cut.silt_snapshots") == [["1", "0"]]
    r = t.silt.command("fleet", "services", "--from", server.url("cut"))
    assert r.code == 0 and "Traces of 1 of 1 processes are damaged" in " ".join(r.text.split()), (r.text, r.errors)
    r = push(t, cut, server.url("cut"), *own)
    assert r.code == 0 and "incomplete" in r.errors and "were sent before" in r.errors, r.errors
    r = push(t, trace, server.url("cut"), *own)
    assert r.code == 0 and "incomplete" not in r.errors, r.errors
    totals = totals_at(t, trace)
    assert server.rows("""SELECT sum(alloc_bytes), sum(allocs), sum(frees), argMax(live_bytes, recording_ms), sum(is_last), argMax(is_damaged, recording_ms)
        FROM cut.silt_snapshots FINAL""") == [[str(totals[k]) for k in ("bytes_allocated", "allocations", "frees", "end_live_bytes")] + ["1", "0"]]


def a_server_that_lost_everything(t, server):
    """Or only what call paths are."""
    trace = t.path("t.silt")
    for loss in ("DROP DATABASE twice", "DROP TABLE twice.silt_paths"):
        server.ask(loss)
        if "TABLE" in loss:
            server.ask("CREATE TABLE twice.silt_paths (path FixedString(16), frames Array(String)) ENGINE = ReplacingMergeTree ORDER BY path")
        r = push(t, trace, server.url("twice"), "--again")
        assert r.code == 0, (loss, r.errors)
        check_figures(t, server, trace, "twice")
    assert server.rows("SELECT version, min_writer FROM twice.silt_schema FINAL") == [["1", "1"]]


def what_was_lost(t, server):
    """Files that made room are rows; one that nobody can read is set aside."""
    trace = t.path("t.silt")
    closed = free_ports(1)[0]
    r = push(t, trace, f"http://127.0.0.1:{closed}/?database=lost", "--again", "--flush", "1s")
    assert r.code == 1, r.errors
    names = batches(t)
    os.rename(os.path.join(t.path("spool"), names[0]), os.path.join(t.path("spool"), names[0].replace(".batch", ".dropped")))
    with open(os.path.join(t.path("spool"), names[1]), "r+b") as f:
        f.seek(60)
        f.write(b"x")
    r = push(t, trace, server.url("lost"), "--again")
    assert r.code == 0 and "set aside as *.damaged" in r.errors, r.errors
    assert server.rows("SELECT snapshots, why FROM lost.silt_losses FINAL") == [["1", "the spool was full"]]
    check_figures(t, server, trace, "lost")
    for name in os.listdir(t.path("spool")):
        os.unlink(os.path.join(t.path("spool"), name))


def away_and_back(t, server):
    """It is killed: what it did not get waits, and gets there."""
    trace = t.path("t.silt")
    server.kill()
    r = push(t, trace, server.url("away"), "--again", "--flush", "1s")
    n = len(batches(t))
    assert r.code == 1 and n >= 3, (n, r.errors)
    lines = r.errors.splitlines()
    assert len(lines) == 2 and "kept in" in lines[0] and f"{n} batches are left in the spool" in lines[1], r.errors
    server.start()
    r = push(t, trace, server.url("away"))
    assert r.code == 0 and batches(t) == [], r.errors
    check_figures(t, server, trace, "away")


def killed_in_between(t, server):
    """silt push is killed again and again while it follows; the last one goes on to the end."""
    trace = t.path("killed.silt")
    argv = [t.silt.path, "push", trace, "--to", server.url("killed"), "--every", "1s", "--spool", t.path("spool"), "-q"]
    recording = subprocess.Popen(t.silt.run_argv(trace, ["/usr/bin/python3", "-c", GROWING]))
    wait_for_recording(trace)
    n_killed = 0
    while recording.poll() is None:
        follower = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            follower.wait(t.chance.uniform(0.3, 1.2))
        if follower.poll() is None:
            follower.send_signal(signal.SIGKILL)
            follower.wait(WAIT_S)
            n_killed += 1
    assert n_killed >= 2
    r = run(argv)
    assert r.code == 0 and batches(t) == [], r.errors
    check_figures(t, server, trace, "killed")
    # what was followed has the call paths of the finished trace
    assert run([*argv, "--again", "--to", server.url("after")]).code == 0
    assert server.number("""SELECT count() FROM killed.silt_sites FINAL WHERE (recording_ms, path, live_bytes, alloc_bytes) NOT IN
        (SELECT recording_ms, path, live_bytes, alloc_bytes FROM after.silt_sites)""") == 0
    assert server.number("SELECT count() FROM killed.silt_sites FINAL") == server.number("SELECT count() FROM after.silt_sites")


# ---- servers that are none ---------------------------------------------------------------------------


class Peer:
    """Takes connections and does with each what `behave` does, until it is closed."""

    def __init__(self, behave, context=None):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.behave, self.context, self.held = behave, context, []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                c = self.socket.accept()[0]
            except OSError:
                return
            self.held.append(c)
            with contextlib.suppress(OSError, ssl.SSLError):
                if self.context:
                    c = self.context.wrap_socket(c, server_side=True)
                    self.held.append(c)
                self.behave(c)

    def close(self):
        self.socket.close()
        for c in self.held:
            c.close()


def answer(text, read=True):
    def behave(c):
        if read:
            c.recv(65536)
        c.sendall(text)
        c.close()
    return behave


def endless(c):
    c.recv(65536)
    c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    with contextlib.suppress(OSError):
        for _ in range(10000):
            c.sendall(b"1\t1\n" * 10000)
    c.close()


def http(status, body, *headers):
    head = "".join(h + "\r\n" for h in headers)
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def certificate(t):
    r = run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", t.path("key.pem"), "-out", t.path("cert.pem"), "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
    assert r.code == 0, r.errors
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(t.path("cert.pem"), t.path("key.pem"))
    return context


def forgetful(c):
    """Has the tables, says yes to inserts, and has nothing."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += c.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    n = int(re.search(rb"Content-Length: (\d+)", head).group(1))
    while len(body) < n:
        body += c.recv(65536)
    c.sendall(http("200 OK", b"1\t1\n" if b"silt_schema" in body else b""))
    c.close()


HOSTILE = (
    ("closed", None, "onnect"),
    ("garbage", answer(b"\x00\xff\x1b[31mnot http\r\n\r\n"), ""),
    ("hangs up", answer(b""), ""),
    ("half an answer", answer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), ""),
    ("a page", answer(http("200 OK", b"<html>hello</html>")), "not answer as ClickHouse"),
    ("says yes to all", answer(http("200 OK", b"")), "not answer as ClickHouse"),
    ("forgets all", forgetful, "does not have it"),
    ("sends on", answer(http("302 Found", b"", "Location: http://127.0.0.1:1/")), "another address"),
    ("500", answer(http("500 Internal Server Error", b"\x1b]0;title\x07oops\nsecond line")), "answers 500"),
    ("lacks tables for ever", answer(http("500 Internal Server Error", b"Code: 60. DB::Exception: Table silt.silt_schema doesn't exist\n")), "doesn't exist"),
    ("says no", answer(http("401 Unauthorized", b"")), "user or password"),
    ("too much", endless, "more than"),
    ("newer", answer(http("200 OK", b"99\t99\n")), "newer silt"),
)


def push_to_hostile(t, trace, name, behave, words):
    peer = Peer(behave) if behave else None
    port = peer.port if peer else free_ports(1)[0]
    spool = t.path("spool of " + name)
    try:
        r = t.silt.command("push", trace, "--to", f"http://user:sesame@127.0.0.1:{port}/", "--every", "1s", "--spool", spool, "--flush", "2s")
    finally:
        if peer:
            peer.close()
    lines = r.errors.splitlines()
    assert r.code == 1 and len(lines) == 2, (name, r.code, r.errors)
    assert all(line.startswith("silt: push: ") for line in lines) and words in lines[0] and words in lines[1], (name, r.errors)
    assert "sesame" not in r.errors and "\x1b" not in r.errors, (name, r.errors)
    assert len([n for n in os.listdir(spool) if n.endswith(".batch")]) >= 3, name


def test_hostile_servers(t):
    """Each costs one line; the snapshots are kept."""
    trace = recorded(t)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(push_to_hostile, t, trace, *hostile) for hostile in HOSTILE]:
            done.result()


def test_tls(t):
    """A certificate that nobody signed, one for another name, a server without TLS; --ca makes it good."""
    trace = recorded(t)
    context = certificate(t)
    plain, secret = Peer(answer(http("200 OK", b""))), Peer(answer(http("503 Later", b"")), context)
    try:
        for url, options, words in ((f"https://127.0.0.1:{plain.port}/", (), "may speak plain HTTP"), (f"https://localhost:{secret.port}/", (), "ertificate"),
                                    (f"https://127.0.0.1:{secret.port}/", ("--ca", t.path("cert.pem")), "127.0.0.1"),
                                    (f"https://localhost:{secret.port}/", ("--ca", t.path("cert.pem")), "answers 503")):
            r = push(t, trace, url, "--again", "--flush", "2s", *options)
            lines = r.errors.splitlines()
            assert r.code == 1 and len(lines) == 2 and words in lines[0], (url, r.errors)
            r = t.silt.command("fleet", "--from", url, *options, "services")  # who asks trusts the same
            assert r.code == 2 and r.errors.count("\n") == 1 and words in r.errors, (url, r.errors)
            assert ("--ca FILE" in r.errors) == ("503" not in words and "plain" not in words), r.errors
    finally:
        plain.close()
        secret.close()
    assert len(batches(t)) >= 3


def test_a_server_that_never_answers(t):
    """The end does not wait for it longer than --flush says, and a recording is followed all the same."""
    trace = t.path("t.silt")
    peer = Peer(lambda c: None)
    recording = subprocess.Popen(t.silt.run_argv(trace, ["/usr/bin/python3", "-c", GROWING]))
    wait_for_recording(trace)
    try:
        r = push(t, trace, f"http://127.0.0.1:{peer.port}/", "--flush", "500ms")
    finally:
        peer.close()
    assert recording.wait(WAIT_S) == 0
    assert r.code == 1 and "left in the spool" in r.errors, r.errors
    assert len(batches(t)) >= 3


def test_a_program_that_nobody_records(t):
    """silt attaches with samples, and leaves the program as it was."""
    program = subprocess.Popen(["/usr/bin/python3", "-c", GROWING.replace("range(25)", "range(100000)") + "print('end')"])
    t.running.append(program)
    try:
        argv = [t.silt.path, "push", str(program.pid), "--to", f"http://127.0.0.1:{free_ports(1)[0]}/", "--every", "1s", "--spool", t.path("spool"),
                "--flush", "100ms"]
        follower = subprocess.Popen(argv, stderr=subprocess.PIPE)
        t.running.append(follower)
        deadline = time.monotonic() + WAIT_S
        while not os.path.isdir(t.path("spool")) or len(batches(t)) < 2:
            give_up(deadline, "no snapshots")
            assert follower.poll() is None, follower.stderr.read()
            time.sleep(0.05)
        follower.send_signal(signal.SIGTERM)
        errors = follower.communicate(timeout=WAIT_S)[1].decode()
        assert follower.returncode == 1 and "left in the spool" in errors, errors
        assert program.poll() is None
    finally:
        program.kill()
        program.wait(WAIT_S)


def test_recordings_without_time(t):
    """Sums of another tool's, or events without a date: nothing is sent, and nothing is said to have been."""
    with open(t.path("m.out"), "w") as f:
        f.write("desc: (none)\ncmd: ./a\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=5\nmem_heap_B=100\nmem_heap_extra_B=0\n"
                "mem_stacks_B=0\nheap_tree=empty\n")
    with open(t.path("ltrace.out"), "w") as f:
        f.write('malloc(100) = 0x5000\nfree(0x5000) = <void>\n')
    for name, words in (("m.out", "sums of another tool's"), ("ltrace.out", "does not say when it was recorded")):
        r = push(t, t.path(name), f"http://127.0.0.1:{free_ports(1)[0]}/")
        assert r.code == 2 and words in r.errors and len(r.errors.splitlines()) == 1, (name, r.code, r.errors)
        assert not os.path.isdir(t.path("spool")) or not batches(t), name


def test_wrong_command_lines(t):
    for argv, words in ((["x.silt"], "no server given"), (["--to", "http://a"], "no process or trace"),
                        (["x.silt", "--to", "ftp://a"], "known scheme"), (["x.silt", "--to", "http://a", "--every", "1ms"], "one second"),
                        (["x.silt", "--to", "http://a", "--label", "a"], "K=V"), (["x.silt", "--to", "http://a", "--spool-size", "1"], "megabyte"),
                        (["x.silt", "--to", "https://a", "--ca", "no.pem"], "--ca: cannot read 'no.pem'"),
                        (["x.silt", "--to", "https://a", "--ca", "/"], "no certificates"),
                        (["x.silt", "y.silt", "--to", "http://a"], "more than one"), (["x.silt", "--to", "http://a"], "x.silt")):
        r = t.silt.command("push", *argv, "--spool", t.path("spool"))
        assert r.code == 2 and words in r.errors and len(r.errors.splitlines()) == 1, (argv, r.errors)
