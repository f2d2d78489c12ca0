# SPDX-License-Identifier: MIT
"""The server as its enemies see it, with answers that are made up (src/serve/testing): tokens, hosts, methods, bodies, crowds, slow
readers and writers, questions that nobody waits for any more."""

import json
import os
import re
import socket
import subprocess
import threading
import time

from harness.process import give_up, in_time
from harness.served import Served, is_complete, status_of

CSP = ("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def serve(t, *argv):
    return Served(t, [os.path.join(t.context.build_dir, "src", "serve", "serve_probe"), *argv], where="stdout")


def order(s, letter):
    s.process.stdin.write(letter)
    s.process.stdin.flush()


def finish(s):
    """It ends when its input does, and nothing was amiss (a sanitizer's complaint is an exit status)."""
    s.process.stdin.close()
    assert s.wait(30) == 0


def check_alive(s):
    r = s.get("/api/1/echo?alive", timeout_s=100)
    assert (r.status, r.body) == (200, b"alive\n"), (r.status, r.body[:100])


def test_token(t):
    s = serve(t)
    for path in ("/", "/page.js", "/api/1/echo", "/api/1/progress"):
        assert s.get(path, token=False).status == 401, path
        wrong = {"Authorization": "Bearer " + ("0" * 32)}
        assert s.get(path, wrong, token=False).status == 401, path
        assert s.get(path + "?token=" + "0" * 32, token=False).status == 401, path
    r = s.get("/?token=" + s.token, token=False)
    folder = r.headers["Location"]
    assert r.status == 303 and re.fullmatch("/s/[0-9a-f]{32}/", folder) and s.token not in folder and r.body == b"", folder
    assert r.headers["Set-Cookie"] == f"silt={s.token}; HttpOnly; SameSite=Strict; Path={folder}"
    cookie = {"Cookie": f"other=1; silt={s.token}"}
    for path in ("", "page.js", "api/1/echo"):
        assert s.get(folder + path, cookie, token=False).status == 200, path
        assert s.get("/" + path, cookie, token=False).status == 401, "the cookie is for its folder alone"
        assert s.get(folder + path, token=False).status == 401, "the folder is not the token"
        assert s.get(folder + path, {"Cookie": f"silt={s.token[:-1]}"}, token=False).status == 401
    assert s.get(folder + "?token=" + s.token, token=False).status == 401
    assert serve(t).get(folder, cookie, token=False).status == 401, "another server has another"
    assert s.get("/api/1/echo?token=" + s.token, token=False).status == 401, "the token is for the page's address alone"
    r = s.get("/api/1/echo", token=False)
    assert r.json["schema"] == "silt.error/1" and r.json["error"] and r.json["fix"]
    finish(s)


def test_headers(t):
    s = serve(t)
    for path, status in (("/", 200), ("/api/1/echo", 200), ("/api/1/wrong", 400), ("/nothing", 404)):
        r = s.get(path)
        assert r.status == status and r.headers["Content-Security-Policy"] == CSP, path
        assert r.headers["X-Content-Type-Options"] == "nosniff" and r.headers["Cache-Control"] == "no-store"
        assert r.headers["Referrer-Policy"] == "no-referrer" and r.headers["X-Frame-Options"] == "DENY"
        assert "Access-Control-Allow-Origin" not in r.headers
    assert s.get("/api/1/echo").headers["Silt-Version"] == "1"
    r = s.get("/api/1/wrong").json
    assert r == {"schema": "silt.error/1", "error": "'5x' is not a time", "key": "from", "fix": "write 5s"}, r
    assert s.get("/api/1/gone").status == 404 and s.get("/api/1/broken").status == 500
    finish(s)


def test_other_sites(t):
    """DNS rebinding sends another Host, other pages an Origin, browsers say where a request comes from."""
    s = serve(t)
    own = f"127.0.0.1:{s.port}"
    for host in ("evil.example", f"evil.example:{s.port}", "127.0.0.1", f"127.0.0.1:{s.port + 1}", f"{own}.evil.example", f"localhost.:{s.port}", ""):
        assert s.get("/api/1/echo", {"Host": host}).status == 403, host
        assert s.get("/?token=" + s.token, {"Host": host}, token=False).status == 403, host
    for host in (own, f"localhost:{s.port}", f"LocalHost:{s.port}", f"[::1]:{s.port}"):
        assert s.get("/api/1/echo", {"Host": host}).status == 200, host
    for origin in ("null", "http://evil.example", f"https://{own}", f"http://127.0.0.1:{s.port + 1}"):
        assert s.get("/api/1/echo", {"Origin": origin}).status == 403, origin
    assert s.get("/api/1/echo", {"Origin": f"http://{own}"}).status == 200
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert s.get("/api/1/echo", {"Sec-Fetch-Site": site}).status == status, site
    both = s.head("/api/1/echo", "Host: evil.example")
    assert status_of(s.send(both)) in (400, 403)
    none = f"GET /api/1/echo HTTP/1.1\r\nAuthorization: Bearer {s.token}\r\n\r\n".encode()
    assert status_of(s.send(none)) in (400, 403)
    finish(s)


def test_paths(t):
    s = serve(t)
    for path in ("/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/page.js/", "//page.js", "/page.js%00", "/./page.js",
                 "/api/1/../echo", "/api/1/%65cho", "/api/1/", "/api/2/echo", "/api", "/page.JS", "/etc/passwd", "/\\..\\x"):
        assert s.get(path).status == 404, path
    assert s.get("/page.js?anything").status == 200
    assert status_of(s.send(s.head("http://evil.example/api/1/echo"))) in (400, 404)
    assert status_of(s.send(s.head("*"))) == 400
    finish(s)


def test_methods_and_bodies(t):
    s = serve(t)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "get", "BREW"):
        r = s.get("/api/1/echo", method=method)
        assert r.status == 405 and r.headers["Allow"] == "GET, HEAD", f"{method}: {r.status}"
    r = s.get("/api/1/echo?x", method="HEAD")
    assert r.status == 200 and r.body == b"" and r.headers["Content-Length"] == "2"
    assert status_of(s.send(s.head("/api/1/echo", "Content-Length: 5") + b"hello")) == 413
    assert status_of(s.send(s.head("/api/1/echo", "Content-Length: 99999999999999"))) == 413
    assert status_of(s.send(s.head("/api/1/echo", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n")) == 413
    smuggled = s.head("/api/1/echo?first", "Content-Length: 200") + s.head("/api/1/echo?second")
    assert b"second" not in s.send(smuggled), "a body was taken for a request"
    check_alive(s)
    finish(s)


def test_requests_that_are_none(t):
    """Whatever comes: an error or the end of the connection, and the next is answered."""
    s = serve(t)
    long = "a" * 70000
    for data, statuses in ((s.head("/api/1/echo?" + long), (414,)), (s.head("/api/1/echo?" + long * 10), (414, 431, 413)),
                           (s.head("/api/1/echo", "X: " + long * 10), (431, 413)), (s.head("/api/1/echo?" + "a" * 60000), (200,)),
                           (b"GET\r\n\r\n", (400, None)), (b"\0" * 1000 + b"\r\n\r\n", (400, 403, 405, None)),
                           (b"GET / HTTP/9.9\r\n\r\n", (400, 403, 505, None)), (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", (400, 403, 405, None)),
                           (b"GET /\xff\xfe\x01 HTTP/1.1\r\nHost: x\r\n\r\n", (400, 403, None))):
        answer = s.send(data + b"\r\n\r\n", ends=len(data) < 10000)
        assert status_of(answer) in statuses, f"{data[:60]!r}: {answer[:100]!r}"
        check_alive(s)
    for _ in range(t.count(150, 5000)):
        data = bytearray(s.head("/api/1/echo?" + "x" * t.chance.randrange(50), "Cookie: a=b; c", "Origin: http://x", "Accept: */*"))
        for _ in range(t.chance.randrange(1, 6)):
            where = t.chance.randrange(len(data))
            if t.chance.random() < 0.3:
                del data[where:where + t.chance.randrange(20)]
            else:
                data[where:where] = bytes(t.chance.choices(b"\0\r\n :?%&=\xff/A", k=t.chance.randrange(1, 4)))
        with s.connect() as c:
            c.sendall(bytes(data))
    check_alive(s)
    finish(s)


test_requests_that_are_none.waits = True


def test_pipelining(t):
    s = serve(t)
    with s.connect() as c:
        c.sendall(b"".join(s.head(f"/api/1/echo?{i}") for i in range(20)))
        answer, deadline = b"", time.monotonic() + 30
        while answer.count(b"HTTP/1.1 200") < 20:
            give_up(deadline, answer[-200:])
            answer += c.recv(65536)
    bodies = [part.partition(b"\r\n\r\n")[2].split(b"\n")[0] for part in answer.split(b"HTTP/1.1 200")[1:]]
    assert bodies == [str(i).encode() for i in range(20)], bodies
    finish(s)


def test_a_client_that_goes_stops_its_question(t):
    s = serve(t)
    c = s.connect()
    c.sendall(s.head("/api/1/slow?ms=60000&id=mine"))
    s.wait_for(lambda p: p["state"] == "answering" and p["total"] == 60000, "mine")
    assert s.ask("progress?id=other")["state"] == "unknown"
    c.close()
    begin = time.monotonic()
    p = s.wait_for(lambda p: p["cancelled"] == 1)
    in_time(time.monotonic() - begin, 1, "until it was stopped")
    assert p["questions_answering"] == 0, p
    finish(s)


def test_what_is_known_of_an_answer_is_told_before_it(t):
    s = serve(t)
    for n, is_all in ((3, True), (100_000, False)):
        c = s.connect()
        c.sendall(s.head(f"/api/1/slow?ms=60000&parts={n}&id=mine{n}"))
        parts = s.wait_for(lambda p: p["total"] == 60000, f"mine{n}")["parts"]
        assert parts == [{"part": i} for i in range(len(parts))] and (len(parts) == n) == is_all, parts[-1]
        assert len(json.dumps(parts)) < 100_000, "bounded"
        c.close()
    assert s.wait_for(lambda p: p["cancelled"] == 2)["parts"] == []
    finish(s)


def test_four_at_once_and_sixteen_wait(t):
    s = serve(t)
    asked = []
    for i in range(20):
        c = s.connect()
        c.sendall(s.head(f"/api/1/slow?ms=60000&id={i}"))
        asked.append(c)
    s.wait_for(lambda p: p["questions_answering"] == 4 and p["questions_waiting"] == 16)
    r = s.get("/api/1/echo")
    assert r.status == 503 and r.json["schema"] == "silt.error/1", r.body
    assert s.get("/").status == 200, "the page itself needs no seat"
    assert s.ask("trace")["version"] == 1, "what is quick has a seat of its own"
    one = next(i for i in range(20) if s.ask(f"progress?id={i}")["state"] == "waiting")  # in which order they came nobody knows
    asked.pop(one).close()  # its place is free as soon as another wants it
    asked.append(s.connect())
    asked[-1].sendall(s.head("/api/1/slow?ms=60000"))
    s.wait_for(lambda p: p["cancelled"] == 1 and p["questions_waiting"] == 16)
    for c in asked:
        c.close()
    s.wait_for(lambda p: p["questions_answering"] == p["questions_waiting"] == 0 and p["cancelled"] == 21)
    check_alive(s)
    finish(s)


def test_a_thousand_connections(t):
    """Strangers without a token push each other out, and never a client."""
    s = serve(t)
    known = s.connect()
    known.sendall(s.head("/api/1/slow?ms=4000"))
    s.wait_for(lambda p: p["questions_answering"] == 1)  # until it is read it is a stranger like the others
    crowd = []
    for i in range(1000):
        crowd.append(s.connect())
        if i % 3 == 1:
            crowd[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        if i % 100 == 0:
            begin = time.monotonic()
            check_alive(s)
            in_time(time.monotonic() - begin, 5, f"a client among {i}")
    begin = time.monotonic()
    check_alive(s)
    in_time(time.monotonic() - begin, 5, "a client among 1000")
    n_open = len(os.listdir(f"/proc/{s.process.pid}/fd"))
    assert n_open < 200, f"{n_open} descriptors"
    known.settimeout(30)
    assert b"slept_ms" in known.recv(65536), "who had the token was pushed out"
    for c in crowd:
        c.close()
    finish(s)


def test_slow_writers(t):
    """A request that comes a byte at a time is not waited for, however often a byte comes."""
    s = serve(t)
    c = s.connect(1)
    begin, gone = time.monotonic(), False
    while not gone and time.monotonic() - begin < 40:
        try:
            c.sendall(b"G" if time.monotonic() - begin < 0.1 else b"E")
            gone = c.recv(100) == b""
        except socket.timeout:
            pass
        except ConnectionError:
            gone = True
        check_alive(s)
    assert gone, "it was still waited for"
    assert 8 < time.monotonic() - begin, "it was not waited for"
    finish(s)


test_slow_writers.waits = True


def test_slow_readers(t):
    """Ten that ask for 30 MiB and read nothing: others are answered, and it still ends at once."""
    s = serve(t)
    slow = []
    for _ in range(10):
        c = s.connect()
        c.sendall(s.head("/api/1/big?mib=30"))
        slow.append(c)
    s.wait_for(lambda p: p["answered"] >= 10)
    for _ in range(20):
        begin = time.monotonic()
        check_alive(s)
        in_time(time.monotonic() - begin, 3, "a client beside slow readers")
    r = s.get("/api/1/big?mib=30")
    assert len(r.body) == 30 << 20
    finish(s)


def test_readers_that_take_all_memory(t):
    """Answers that nobody reads are kept up to a bound; who reads is answered."""
    s = serve(t)
    slow = []
    for _ in range(40):
        c = s.connect()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.sendall(s.head("/api/1/big?mib=30"))
        slow.append(c)
        s.wait_for(lambda p: p["answered"] == len(slow))  # one after the other: else they would wait, and be refused for that
    check_alive(s)
    r = s.get("/api/1/big?mib=30")
    assert r.status == 503 and "nobody reads" in r.json["error"], (r.status, r.body[:100])
    with open(f"/proc/{s.process.pid}/status", encoding="ascii") as f:
        most_kib = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])
    assert most_kib < (512 + 4 * 64 + 200) << 10, f"{most_kib >> 10} MiB"
    for c in slow:
        c.close()
    deadline = time.monotonic() + 30
    while (r := s.get("/api/1/big?mib=30")).status == 503:
        give_up(deadline, "what nobody reads any more was kept")
        time.sleep(0.05)
    assert len(r.body) == 30 << 20
    finish(s)


def test_late(t):
    """What takes longer than a minute is given up, and said so."""
    s = serve(t)
    r = s.get("/api/1/slow?ms=90000")
    assert r.status == 504 and "60 s" in r.json["error"] and s.ask("progress")["late"] == 1, (r.status, r.body)
    finish(s)


test_late.repeats = 0
test_late.soak_repeats = 1


def test_news_are_waited_for(t):
    s = serve(t)
    begin = time.monotonic()
    assert s.ask("trace?since=0&wait=30")["version"] == 1, "that is known already"
    in_time(time.monotonic() - begin, 5, "what is known already")
    told = []
    waiting = [threading.Thread(target=lambda: told.append(s.ask("trace?since=1&wait=30")["version"])) for _ in range(10)]
    for w in waiting:
        w.start()
    time.sleep(1)
    assert not told, "told before there was anything"
    begin = time.monotonic()
    check_alive(s)  # who waits takes no seat
    order(s, b"g")
    for w in waiting:
        w.join(20)
    in_time(time.monotonic() - begin, 3, "news")
    assert told == [2] * 10, told
    with s.connect() as c:
        c.sendall(s.head("/api/1/trace?since=2&wait=30"))
        check_alive(s)  # what came before was read before
        order(s, b"e")
        begin, answer = time.monotonic(), b""
        while not is_complete(answer):
            answer += c.recv(65536)
        in_time(time.monotonic() - begin, 5, "the recording's end")
    assert status_of(answer) == 200 and b'"version": 2' in answer, answer
    begin = time.monotonic()
    assert s.ask("trace?since=2&wait=2")["version"] == 2
    assert time.monotonic() - begin > 1.5, "of a trace that does not grow nothing new is told before the time is over"
    assert s.get("/api/1/trace?since=2&wait=31").status == 400
    finish(s)


def test_it_ends_in_the_middle_of_everything(t):
    s = serve(t)
    asked = []
    for path in ["/api/1/slow?ms=60000"] * 8 + ["/api/1/trace?since=1&wait=30"] * 8 + ["/api/1/big?mib=20"] * 2:
        c = s.connect()
        c.sendall(s.head(path))
        asked.append(c)
    s.wait_for(lambda p: p["questions_answering"] == 4)
    begin = time.monotonic()
    finish(s)
    in_time(time.monotonic() - begin, 5, "the end")


def test_once(t):
    """It ends when the last page is closed, not before one was opened, and not between two questions."""
    s = serve(t, "--once")
    s.get("/", token=False)
    c = s.connect()
    c.sendall(s.head("/api/1/trace?since=1&wait=30"))
    time.sleep(18)
    assert s.process.poll() is None, "it ended although a page was open"
    c.close()
    begin = time.monotonic()
    assert s.wait(40) == 0
    assert time.monotonic() - begin > 10, "it ended at once"


test_once.waits = True


def test_addresses(t):
    for address in ("::1", "localhost"):
        if address == "::1" and not os.path.exists("/proc/net/if_inet6"):
            continue
        try:
            s = serve(t, address)
        except AssertionError:
            assert address == "::1", "cannot listen"
            continue  # a machine without IPv6 on loopback
        assert s.host == ("[::1]" if address == "::1" else "127.0.0.1"), s.host
        finish(s)
    r = subprocess.run([os.path.join(t.context.build_dir, "src", "serve", "serve_probe"), "example.com"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 1 and "'example.com' is not an address" in r.stderr, r.stderr
