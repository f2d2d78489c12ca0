# SPDX-License-Identifier: MIT
"""silt fleet: questions to a real ClickHouse about hosts that are made up (src/fleet/testing/fleet_maker.c), through the spool and the
sender of silt push. What the answers must say is summed up by the maker, without SQL. The server is killed in the middle, and every
batch is sent twice. Then servers that are none."""

import csv
import io
import os
import re
import socket
import subprocess
import threading
import time

from harness.answer import parse
from harness.clickhouse import ClickHouse
from harness.page import View, browse, has_page
from harness.process import TimedOut, give_up

MAKE_S = 1800
OLD, NEW = "a" * 16, "b" * 16


class Fleet:
    """A server with the snapshots of many hosts, and the truth about them."""

    def __init__(self, t, server, hosts, days, every_s, sites, until=None, twice=True):
        self.t, self.server, self.days = t, server, days
        self.until = until or int(time.time())
        argv = [os.path.join(t.context.build_dir, "src/fleet/fleet_maker"), server.url(), t.path("spool"), hosts, days, every_s, sites, self.until]
        self.begin = time.monotonic()
        self.maker = subprocess.Popen([str(word) for word in argv] + (["twice"] if twice else []), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, start_new_session=True)
        t.running.append(self.maker)

    def wait_for(self, snapshots):
        """Until the server has so many."""
        deadline = time.monotonic() + MAKE_S
        while self.number("SELECT count() FROM system.tables WHERE database = 'silt' AND name = 'silt_snapshots'") == 0 \
                or self.number("SELECT uniqExact(run, recording_ms) FROM silt.silt_snapshots") < snapshots:
            assert self.maker.poll() is None, self.maker.communicate()
            give_up(deadline, f"the server does not get {snapshots} snapshots")
            time.sleep(0.05)

    def number(self, query):
        return self.server.number(query)

    def finish(self):
        try:
            said, errors = self.maker.communicate(timeout=MAKE_S)
        except subprocess.TimeoutExpired:
            raise TimedOut("the maker does not end") from None
        self.seconds = time.monotonic() - self.begin
        assert self.maker.returncode == 0, errors[-1000:]
        self.errors = errors
        self.truth = {name: float(value) if "." in value else int(value) if value.lstrip("-").isdigit() else value
                      for name, value in (line.split() for line in said.splitlines())}
        return self.truth

    def ask(self, *words):
        r = self.t.silt.command("fleet", "--from", self.server.url(), *words, "--json")
        assert r.code == 0, r.errors
        return parse(r.stdout)

    def text(self, *words):
        r = self.t.silt.command("fleet", "--from", self.server.url(), *words)
        assert r.code == 0, r.errors
        return r.text


def frames_of(answer, row):
    return next((p["frames"] for p in answer["paths"] if p["path"] == row["path"]), None)


def check_complete(fleet):
    """Every row once in the answers, and none that was not sent."""
    truth, number = fleet.truth, fleet.number
    assert number("SELECT count() FROM silt.silt_snapshots_once") == truth["snapshots"]
    assert number("SELECT count() FROM silt.silt_sites_once") == truth["rows"]
    assert number("SELECT sum(live_bytes) FROM silt.silt_snapshots_once") == truth["live_sum"]
    assert number("SELECT sum(live_bytes) FROM silt.silt_sites_once") == truth["live_sum"]
    assert number("SELECT sum(alloc_bytes) FROM silt.silt_sites_once") == truth["alloc_sum"]
    assert number("SELECT count() FROM silt.silt_losses_once") == 0
    assert number("SELECT uniqExact(path) FROM silt.silt_sites WHERE path NOT IN (SELECT path FROM silt.silt_paths)") == 0


def check_services(fleet):
    truth, answer = fleet.truth, fleet.ask("services")
    rows = {row["service"]: row for row in answer["rows"]}
    assert set(rows) == {"api", "cache", "worker"}
    for name, row in rows.items():
        assert row["live_bytes"] == truth[f"now_{name}"], row
        assert row["growth_bytes"] == truth[f"now_{name}"] - truth[f"before_{name}"], row
        assert (row["hosts_new"], row["hosts_gone"], row["builds"]) == (0, 0, 1), row
        assert any(v for v in row["history"]), row
    assert answer["rows"][0]["service"] == "api" and "api grew most" in answer["sentence"], answer["sentence"]
    assert answer["now_s"] == truth["last"] and not [d for d in answer["doubts"] if "sampled" not in d], answer["doubts"]


def check_grew(fleet):
    truth, answer = fleet.truth, fleet.ask("grew")
    first = answer["rows"][0]
    assert frames_of(answer, first) == ["api::allocate_7", "api::handle_1", "api::serve", "main"], first
    assert (first["service"], first["build"]) == ("api", NEW), first
    assert first["growth_bytes"] == truth["now_api_leak_site"] - truth["before_api_leak_site"], first
    assert first["hosts_grew"] == first["hosts"] == fleet.ask("services")["rows"][0]["hosts"], first
    assert "api::allocate_7" in answer["sentence"] and "(build bbbbbbbbbbbb)" in answer["sentence"], answer["sentence"]
    # all that a service has, added up, is its growth
    whole = fleet.ask("paths", "--service", "api", "--top", "10000")
    assert sum(row["live_bytes"] for row in whole["rows"]) == truth["now_api"]
    assert sum(row["growth_bytes"] for row in whole["rows"]) == truth["now_api"] - truth["before_api"]


def check_release(fleet):
    truth = fleet.truth
    answer = fleet.ask("release", "--service", "api", "--old", OLD, "--new", NEW, "--since", f"{fleet.days}d")
    first = answer["rows"][0]
    assert frames_of(answer, first)[0] == "api::allocate_7", first
    expected = truth["new_leak_mean"] - truth["old_leak_mean"]
    assert abs(first["change_bytes"] - expected) <= 1, (first, expected)
    whole = sum(row["change_bytes"] for row in fleet.ask("release", "--service", "api", "--old", OLD, "--new", NEW, "--since", f"{fleet.days}d",
                                                         "--top", "10000")["rows"])
    assert abs(whole - (truth["new_mean"] - truth["old_mean"])) <= len(answer["rows"]) + 100, (whole, truth)
    assert "holds" in answer["sentence"] and "more" in answer["sentence"] and "api::allocate_7" in answer["sentence"], answer["sentence"]
    assert f"{truth['new_processes']:,} and {truth['old_processes']:,} process" in answer["sentence"], answer["sentence"]
    # the same from builds as they are printed, in a time that saw only the end of the old one's processes
    short = fleet.ask("release", "--service", "api", "--old", OLD[:12], "--new", NEW[:12], "--since", f"{fleet.days - fleet.days * 2 // 3 + 1}d")
    assert abs(short["rows"][0]["change_bytes"] - expected) <= expected / 100 and " and 0 process" not in short["sentence"], (short["sentence"], expected)
    # a build beside itself at another time would be refused; one that is not there says so
    r = fleet.t.silt.command("fleet", "--from", fleet.server.url(), "release", "--service", "api", "--old", OLD, "--new", "cc", "--since", f"{fleet.days}d")
    assert r.code == 2 and "no snapshot of build 'cc'" in r.errors, r.errors


def check_hosts(fleet):
    answer = fleet.ask("hosts")
    assert [row["host"] for row in answer["rows"]] == [fleet.truth["outlier"]], answer["rows"]
    row = answer["rows"][0]
    assert frames_of(answer, row)[0] == "worker::allocate_3" and row["score"] > 5, row
    assert fleet.truth["outlier"] in answer["sentence"] and "worker::allocate_3" in answer["sentence"], answer["sentence"]
    assert sum(r["live_bytes"] for r in fleet.ask("paths", "--service", "worker", "--host", row["host"], "--top", "10000")["rows"]) == row["live_bytes"]


def check_builds(fleet):
    answer = fleet.ask("builds", "--service", "api", "--since", f"{fleet.days}d")
    assert [row["build"] for row in answer["rows"]] == [NEW, OLD], answer["rows"]
    assert [row["processes"] for row in answer["rows"]] == [fleet.truth["new_processes"], fleet.truth["old_processes"]], answer["rows"]


def check_csv(fleet):
    """The same rows as in JSON; what limits them is beside them."""
    for words in (["services"], ["grew", "--top", "3"], ["paths", "--service", "api"], ["hosts"], ["builds"]):
        answer = fleet.ask(*words)
        r = fleet.t.silt.command("fleet", "--from", fleet.server.url(), *words, "--csv")
        assert r.code == 0, r.errors
        rows = list(csv.DictReader(io.StringIO(r.text)))
        assert len(rows) == len(answer["rows"]), (words, rows)
        for told, row in zip(rows, answer["rows"]):
            for key, value in row.items():
                if key != "history":
                    same = told[key] == (value or "") if value is None or isinstance(value, str) else float(told[key]) == value
                    assert same, (words, key, told, row)
            if row.get("path"):
                assert told["path_frames"].split(";") == (frames_of(answer, row) or [""]), (told, row)
        assert all(doubt in r.errors for doubt in answer["doubts"]), (r.errors, answer["doubts"])
    r = fleet.t.silt.command("fleet", "--from", fleet.server.url(), "--csv", "sql", "SELECT 'a\"b,c\\nd' AS x, NULL AS y, '' AS z, 1 AS `n,m`")
    assert r.code == 0 and r.text == 'x,y,z,"n,m"\n"a""b,c\nd",,"",1\n', (r.text, r.errors)


def check_text(fleet):
    for words in (["services"], ["grew"], ["hosts"], ["builds"], ["paths", "--service", "api"]):
        said = fleet.text(*words)
        sentence = " ".join(said.split("\n\n")[0].split("\n")).split(" processes are sampled")[0]
        assert fleet.ask(*words)["sentence"].split(":")[0] in sentence, (said, words)
    rows = fleet.ask("sql", "SELECT service, uniqExact(host) AS n FROM silt_snapshots GROUP BY service ORDER BY service")
    assert rows["columns"] == ["service", "n"] and [row[0] for row in rows["rows"]] == ["api", "cache", "worker"], rows
    check_csv(fleet)
    # what writes is refused, and did nothing
    r = fleet.t.silt.command("fleet", "--from", fleet.server.url(), "sql", "DROP TABLE silt_sites")
    assert r.code == 2 and "readonly" in r.errors, r.errors
    assert fleet.number("SELECT count() FROM silt.silt_sites_once") == fleet.truth["rows"]


def check_quoting(fleet):
    for name in ("x' OR 1 OR '", "x\\", "\\'; DROP TABLE silt_sites; --", "\n", "\x01\x7f", "日本", "%s%n"):
        nobody = fleet.ask("paths", "--service", name)
        assert nobody["rows"] == [] and "'silt fleet builds' shows when the last were" in nobody["sentence"], nobody["sentence"]
        assert fleet.ask("services", "--service", name, "--host", name)["rows"] == []
    r = fleet.t.silt.command("fleet", "--from", fleet.server.url(), "services", "--service", "x" * 2000)
    assert r.code == 2 and "longer than" in r.errors, r.errors


def check_all(fleet):
    check_complete(fleet)
    check_services(fleet)
    check_grew(fleet)
    check_release(fleet)
    check_hosts(fleet)
    check_builds(fleet)
    check_text(fleet)
    check_quoting(fleet)


def test_questions(t):
    """Hosts and days: few in `make test`; 200 and 30 in `make soak`. The server loses its power in the middle."""
    hosts, days, every_s, sites = t.count((24, 6, 7200, 12), (200, 30, 3600, 40))
    with ClickHouse(t) as server:
        fleet = Fleet(t, server, hosts, days, every_s, sites)
        fleet.wait_for(hosts * days * 24 * 3600 // every_s // 2)
        server.kill()
        server.start()
        fleet.finish()
        assert fleet.truth["snapshots"] == hosts * days * 86400 // every_s
        check_all(fleet)
        sent = fleet.truth["rows"] * 2
        server.ask("OPTIMIZE TABLE silt.silt_sites FINAL", timeout_s=MAKE_S)
        size = server.number("SELECT sum(bytes) FROM system.parts WHERE active AND database = 'silt' AND table = 'silt_sites'")
        t.notes.append(f"{fleet.truth['rows']:,} rows of {hosts} hosts, each sent twice: {sent / fleet.seconds:,.0f} rows/s, {size / fleet.truth['rows']:.1f} bytes a row on disk")
        if has_page(t.silt):
            check_page(t, fleet)


def check_page(t, fleet):
    since = "7d" if fleet.days < 7 else "30d"  # both builds were seen in it
    with View(t, "--from", fleet.server.url(), command=("fleet", "view")) as view:
        saw, _ = browse(t, "fleet", view.url, since=since)
    assert saw["services"]["sentence"] == fleet.ask("services", "--top", "500")["sentence"], saw["services"]
    assert [row[0] for row in saw["services"]["rows"]][0] == "api", saw["services"]
    assert saw["grew"]["address"].startswith("grew?service=api"), saw["grew"]
    assert saw["grew"]["sentence"] == fleet.ask("grew", "--service", "api", "--top", "500")["sentence"]
    assert saw["path"]["frames"][0] == "api::allocate_7", saw["path"]
    assert saw["release"]["sentence"] == fleet.ask("release", "--service", "api", "--old", OLD, "--new", NEW, "--since", since)["sentence"], saw["release"]
    assert saw["hosts"]["rows"][0][0] == fleet.truth["outlier"], saw["hosts"]
    assert saw["paths"]["address"] == f"paths?since={since}&service=worker&host={fleet.truth['outlier']}", saw["paths"]
    assert saw["back"].startswith("hosts") and saw["wide"] <= 0, (saw["back"], saw["wide"])


# ---- servers that are none -------------------------------------------------------------------------


class Stranger:
    """Answers whoever connects with these bytes, and closes; None: never answers."""

    def __init__(self, reply, close=True):
        self.reply, self.close = reply, close
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.kept = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            self.kept.append(c)
            threading.Thread(target=self.answer, args=(c,), daemon=True).start()

    def answer(self, c):
        try:
            c.recv(65536)
            if self.reply is not None:
                c.sendall(self.reply)
                if self.close:
                    c.close()
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        for c in self.kept:
            c.close()


def whole(body, status="200 OK", headers=""):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


HOSTILE = {
    "garbage": b"\x00\xff\x16\x03garbage\r\n\r\n" * 50,
    "nothing": b"",
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n1\t2\t3\n",
    "text": whole(b"<html>It works!</html>"),
    "too few columns": whole(b"1\t2\n"),
    "too many columns": whole(b"1\t2\t3\t4\t5\n"),
    "no end of line": whole(b"1\t2\t3\t4"),
    "letters": whole(b"a\tb\tc\td\n"),
    "damaged escape": whole(b"1\t2\t3\t\\x\n"),
    "many rows": whole(b"1\t2\t3\t4\n" * 10000),
    "redirect": whole(b"", "302 Found", "Location: http://127.0.0.1:1/\r\n"),
    "error": whole(b"oops", "500 Internal Server Error"),
    "said": whole(b"Code: 241, e.displayText() = DB::Exception: Memory \x1b[2Jlimit, e.what() = DB::Exception\n", "500 Internal Server Error"),
    "no user": whole(b"Code: 193, e.displayText() = DB::Exception: Wrong password for user, e.what() = DB::Exception\n", "500 Internal Server Error"),
    "endless": b"HTTP/1.1 200 OK\r\n\r\n" + b"1\t2\t3\t4\n" * (9 << 20),
    "late error": whole(b"1\t2\t3\t4\nCode: 159, e.displayText() = DB::Exception: Timeout exceeded\n"),
}


# What to do, by the server's number of the error: asked by silt, and by a statement of the user's.
REFUSED = {
    47: ("check that it is ClickHouse", "correct the statement"),
    62: ("check that it is ClickHouse", "correct the statement"),
    193: ("does not accept the user or password", "does not accept the user or password"),
    202: ("ask again when it has less to do", "ask again when it has less to do"),
    241: ("ask about less (--service, --since)", "ask about less, such as fewer days"),
    1000: ("check that it is ClickHouse", "DB::Exception is the reason\n"),
}


def test_what_to_do(t):
    """Advice fits what went wrong: nobody corrects a statement because the server has no memory, nor gives a port where a file is no certificate."""
    for code, wanted in REFUSED.items():
        reply = whole(f"Code: {code}. DB::Exception: DB::Exception is the reason, e.what() = DB::Exception\n".encode(), "500 Internal Server Error")
        with Stranger(reply) as server:
            for words, said in zip((["services"], ["sql", "SELECT 1"]), wanted):
                r = t.silt.command("fleet", "--from", f"http://127.0.0.1:{server.port}/", *words)
                assert r.code == 2 and said in r.errors and r.errors.count("\n") == 1, (code, words, r.errors)
                assert ("correct the statement" in r.errors) == said.startswith("correct"), (code, words, r.errors)
    with open(t.path("no.pem"), "w", encoding="utf-8") as f:
        f.write("hello\n")
    with Stranger(b"") as server:
        r = t.silt.command("fleet", "--from", f"https://127.0.0.1:{server.port}/", "--ca", t.path("no.pem"), "services")
        assert r.code == 2 and r.errors.endswith("/no.pem' has no certificates to trust: give a PEM file by --ca\n"), r.errors
    for name, is_http in (("nothing", False), ("garbage", False), ("half", True)):
        with Stranger(HOSTILE[name]) as server:
            r = t.silt.command("fleet", "--from", f"http://127.0.0.1:{server.port}/", "services")
        assert r.code == 2 and ("usually 8123" in r.errors) != is_http and ("ask again, and see the log of the server" in r.errors) == is_http, (name, r.errors)


def test_strange_servers(t):
    """Each ends in one line and status 2, and nothing on stdout."""
    for name, reply in HOSTILE.items():
        with Stranger(reply) as server:
            r = t.silt.command("fleet", "--from", f"http://127.0.0.1:{server.port}/", "services", timeout_s=600)
        assert r.code == 2 and not r.stdout, (name, r.code, r.text)
        assert re.fullmatch(r"silt: [^\n\x00-\x1f\x7f]+\n", r.errors), (name, r.errors)
        assert re.search(r": (check|give|see|ask|look) [^:]*$|give that one$|@HOST$", r.errors), (name, r.errors)  # what to do
    with Stranger(None) as server:
        r = t.silt.command("fleet", "--from", f"http://127.0.0.1:{server.port}/", "services", "--max-time", "1s", timeout_s=600)
        assert r.code == 2 and r.errors.count("\n") == 1 and "--max-time" in r.errors, r.errors
    for url in ("http://127.0.0.1:1/", "clickhouse://no-such-host.invalid/", "ftp://x/", "", "clickhouse://", "pyroscope+http://127.0.0.1/", "x" * 5000):
        r = t.silt.command("fleet", "--from", url, "services", timeout_s=600, env={"SILT_FLEET": None})
        assert r.code == 2 and r.errors.count("\n") == 1 and r.errors.startswith("silt: "), (url[:80], r.errors)
    for statement in ("select 1 format JSON", "select 1 Format\nTSV settings max_threads = 1", "SELECT 1 FORMAT CSV ; -- all", "SELECT 1 /* */ FORMAT/**/Null"):
        r = t.silt.command("fleet", "--from", "http://127.0.0.1:1/", "sql", statement)
        assert r.code == 2 and re.fullmatch(r"silt: fleet: the statement has a FORMAT, .*: leave it out, and write --json or --csv\n", r.errors), (statement, r.errors)
    for statement in ("select 'a format JSON'", "select format from t", "select 1 as f -- format JSON", "select 1 order by format desc", "select format('{}', 1)"):
        r = t.silt.command("fleet", "--from", "http://127.0.0.1:1/", "sql", statement)
        assert r.code == 2 and "onnect" in r.errors, (statement, r.errors)


def test_real_program(t):
    """From a server without tables to what a program nobody here wrote holds, which is what the report says."""
    trace = t.path("a.silt")
    r = t.silt.record(trace, ["python3", "-c", "kept = [str(i) * 50 for i in range(20000)]"])
    assert r.code == 0, r.errors
    report, why = t.silt.report(trace, "--process", "all")
    assert report, why
    with ClickHouse(t) as server:
        r = t.silt.command("fleet", "--from", server.url(), "services")
        assert r.code == 2 and r.errors.count("\n") == 1 and "silt fleet init" in r.errors, r.errors
        r = t.silt.command("fleet", "--from", server.url(), "init")
        assert r.code == 0, r.errors
        r = t.silt.command("fleet", "--from", server.url(), "services")
        assert r.code == 0 and "no snapshots" in r.text, r.text + r.errors
        r = t.silt.command("push", trace, "--to", server.url(), "--spool", t.path("spool"), "--service", "py'thon", "--every", "1s", "-q")
        assert r.code == 0, r.errors
        ask = Fleet.ask
        self = type("Asked", (), {"t": t, "server": server})()
        services = ask(self, "services")
        live = report["totals"]["end_live_bytes"]
        row = services["rows"][0]
        assert (row["service"], row["live_bytes"], row["growth_bytes"], row["hosts_new"]) == ("py'thon", live, 0, 1), (row, live)
        paths = ask(self, "paths", "--service", "py'thon", "--top", "10000")
        assert sum(one["live_bytes"] for one in paths["rows"]) == live
        assert all(one["growth_bytes"] == 0 for one in paths["rows"])  # it was not there before
        assert ask(self, "grew")["rows"] == [] and ask(self, "hosts")["rows"] == []
