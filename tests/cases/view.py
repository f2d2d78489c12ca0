# SPDX-License-Identifier: MIT
"""silt view as its users and their scripts meet it: the page, the API, the command line, and recordings that are still being written."""

import concurrent.futures as futures
import os
import signal
import socket
import stat
import subprocess
import time

from harness.cases import skip
from harness.process import find_by_argument, give_up, in_time
from harness.served import Served, needs_page

ANSWERS = ("trace", "report", "timeline", "flame", "table", "heat", "threads", "report?tree", "report?group-by=function", "report?histogram=size",
           "source?what=main", "found?search=main", "diff?old-to=@peak&from=@peak", "sql-schema", "sql?sql=SELECT+*+FROM+sites", "sql?sql=SELECT+*+FROM+threads&process=main")


def record(t, name="t.silt", program="basic", argv=()):
    r = t.silt.record(t.path(name), [t.program(program), *argv])
    assert r.code == 0, r.errors
    return t.path(name)


def view(t, *argv, **how):
    return Served(t, [t.silt.path, "view", *argv], **how)


def own_of(answer):
    """What each box has that is not of the boxes below it."""
    own = list(answer["value"])
    for i, parent in enumerate(answer["parent"]):
        if parent >= 0:
            own[parent] -= answer["value"][i]
    return own


def test_flame_boxes(t):
    """By line each place has what the report says of it; crates and modules too, of the columns that name them; marks are told."""
    needs_page(t)
    trace = record(t, program="containers")
    s = view(t, trace, "--no-browser")
    for by in ("allocated", "end", "count"):
        lines, functions = s.ask(f"flame?lines=1&min-share=0&by={by}"), s.ask(f"flame?min-share=0&by={by}&full=1")
        assert lines["value"][0] == functions["value"][0]
        own = {}
        for i, value in enumerate(own_of(lines)):
            _, gap, place = lines["names"][lines["name"][i]].rpartition("  ")
            if value and lines["kind"][i] == 1 and gap:
                own[place] = own.get(place, 0) + value
        want = {}
        for group in t.silt.report(trace, "--process", "all", "--by", by, "--group-by", "line", "--top", "1000000")[0]["groups"]:
            if group.get("line") and group["self"]["value"]:
                place = f"{os.path.basename(group['file'])}:{group['line']}"
                want[place] = want.get(place, 0) + group["self"]["value"]
        assert own == want and (want or by == "end"), (by, own, want)
        assert all(0 <= m < 16 for m in functions["marks"]) and any(m & 8 for m in functions["marks"]), "machinery is marked where all is drawn"
        paths = {functions["names"][i] for i, kind in zip(functions["object"], functions["kind"]) if kind == 1}
        assert by == "end" or any(path.endswith("/containers") for path in paths), paths
    s.end()


def test_answers(t):
    """The page and each answer, and what the command line says of the same."""
    needs_page(t)
    trace = record(t, program="containers")
    s = view(t, trace, "--no-browser")
    page = s.get("/?token=" + s.token, token=False)
    cookie = {"Cookie": page.headers["Set-Cookie"].split(";")[0]}
    folder = page.headers["Location"]
    assert s.get(folder, cookie, token=False).body.startswith(b"<!doctype html>")
    assert s.get(folder + "page.js", cookie, token=False).headers["Content-Type"].startswith("text/javascript")
    assert s.get(folder + "page.css", cookie, token=False).headers["Content-Type"].startswith("text/css")
    assert s.get(folder + "api/1/trace", cookie, token=False).json == s.ask("trace")
    for question in ANSWERS:
        answer = s.ask(question)
        assert answer["schema"].startswith("silt."), question
    report, why = t.silt.report(trace, "--process", "all", "--by", "end")
    assert report, why
    assert s.ask("report?by=end")["totals"] == report["totals"]
    for question, status, key in (("report?from=x", 400, "from"), ("nothing", 404, None), ("source?what=zzz", 404, None), ("report?process=99999999", 400, "process")):
        r = s.get("/api/1/" + question)
        assert r.status in (status, 404) and r.json["schema"] == "silt.error/1" and r.json["error"], (question, r.status, r.body)
        assert "\n" not in r.json["error"] and (not key or r.json["key"] == key), r.json
    assert s.end() == 0


def test_many_at_once(t):
    """All answers from many clients at once are those that one gets alone."""
    s = view(t, record(t, program="fork_tree"), "--no-browser")
    alone = {question: s.ask(question) for question in ANSWERS}
    with futures.ThreadPoolExecutor(8) as pool:
        asked = [(q, pool.submit(s.ask, q)) for _ in range(t.count(3, 50)) for q in ANSWERS]
        for question, answer in asked:
            assert answer.result() == alone[question], question
    assert s.end() == 0


def test_first_state(t):
    trace = record(t)
    s = view(t, trace, "--no-browser", "--by", "growth", "--from", "1ms", "--function", "^a b", "--group-by", "module")
    assert s.fragment.startswith("#sites?"), s.fragment
    keys = s.fragment.partition("?")[2].split("&")
    assert sorted(keys) == sorted(["by=growth", "from=1ms", "function=%5Ea%20b", "group-by=module"]), keys
    s.end()
    s = view(t, trace, "--no-browser", "--callers", "main")
    assert s.fragment == "#tree?callers=main", s.fragment
    s.end()
    s = view(t, trace, "--no-browser")
    assert s.fragment == "", s.fragment
    s.end()
    s = view(t, trace, record(t, "new.silt"), "--no-browser")
    assert s.fragment == "#compare?against=1", s.fragment
    both = s.ask("trace")
    assert both["file"].endswith("new.silt") and both["old"]["file"].endswith("t.silt"), both
    assert s.ask("diff?against=1")["schema"] == "silt.diff/1"
    s.end()


def test_refusals(t):
    trace = record(t)
    for argv in ([], [t.path("none.silt")], [trace, "--port", "70000"], [trace, "--port", "x"], [trace, "--listen", "example.com"],
                 [trace, "--from", "x"], [trace, "--by", "colour"], [trace, trace, trace], [trace, "--tree", "--group-by", "size"], [trace, "--listen", "192.0.2.1"]):
        r = t.silt.command("view", "--no-browser", *argv, timeout_s=300)
        assert r.code == 2 and r.stdout == b"" and len(r.errors.splitlines()) == 1 and r.errors.startswith("silt: "), f"{argv}: {r.code} {r.errors}"
    begin = time.monotonic()
    assert t.silt.command("view", "--no-browser", "--wait", "1s", t.path("none.silt")).code == 2
    assert time.monotonic() - begin > 0.9, "it did not wait"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        r = t.silt.command("view", "--no-browser", "--port", str(taken.getsockname()[1]), trace)
        assert r.code == 2 and "another program" in r.errors and len(r.errors.splitlines()) == 1, r.errors
        free = taken.getsockname()[1]
    s = view(t, trace, "--no-browser", "--port", str(free))
    assert s.port == free
    s.end()


def test_signals_end_it(t):
    trace = record(t)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        s = view(t, trace, "--no-browser")
        c = s.connect()
        c.sendall(s.head("/api/1/trace?since=1&wait=30"))
        s.ask("trace")
        begin = time.monotonic()
        s.process.send_signal(number)
        assert s.wait(20) == 0, number
        in_time(time.monotonic() - begin, 5, f"the end after signal {number}")


def browser(t, body):
    path = t.path("browser")
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n" + body)
    os.chmod(path, stat.S_IRWXU)
    return path


def test_browser(t):
    """It is given an address that works once, because others may see its command line; the one printed works on."""
    needs_page(t)
    trace, seen = record(t), t.path("seen")
    s = view(t, trace, "--from", "1ms", env={"BROWSER": browser(t, f"echo \"$1\" >{seen}.new; mv {seen}.new {seen}\n")})
    deadline = time.monotonic() + 20
    while not os.path.exists(seen):
        give_up(deadline, "no browser was started")
        time.sleep(0.02)
    with open(seen, encoding="ascii") as f:
        address = f.read().strip()
    assert s.token not in address and address.endswith("#overview?from=1ms"), address
    path = address.partition(str(s.port))[2].partition("#")[0]
    r = s.get(path, token=False)
    assert r.status == 303 and s.token in r.headers["Set-Cookie"], r.status
    assert s.get(path, token=False).status == 401, "it worked twice"
    for _ in range(2):
        assert s.get("/?token=" + s.token, token=False).status == 303
    s.end()
    os.unlink(seen)
    s = view(t, trace, "--no-browser", env={"BROWSER": browser(t, f"touch {seen}\n")})
    s.ask("trace")
    s.end()
    assert not os.path.exists(seen)
    s = view(t, trace, env={"BROWSER": "/no/such/browser", "PATH": "/nowhere"})
    s.read_until("cannot start a browser")
    s.ask("trace")
    s.end()


def test_ssh(t):
    trace, seen = record(t), t.path("seen")
    s = view(t, trace, env={"SSH_CONNECTION": "192.0.2.7 51234 198.51.100.4 22", "USER": "ada", "BROWSER": browser(t, f"touch {seen}\n")})
    s.read_until(f"ssh -N -L {s.port}:127.0.0.1:{s.port} ada@198.51.100.4")
    s.read_until("Ctrl-C")
    s.end()
    assert not os.path.exists(seen), "a browser was opened on a machine nobody looks at"


def test_listen_warns(t):
    s = view(t, record(t), "--no-browser", "--listen", "0.0.0.0")
    assert "whoever has it can read the trace" in s.said, s.said
    assert s.get("/", {"Host": f"192.0.2.1:{s.port}"}).status == 200
    assert s.get("/", {"Host": f"evil.example:{s.port}"}).status == 403
    s.end()


# ---- recordings that are being written --------------------------------------------------------------------------------


def follow(s, until, patience_s=600):
    """Asks as the page does, until until(trace) holds; all that was told."""
    told, since, deadline = [], 0, time.monotonic() + patience_s
    while not told or not until(told[-1]):
        give_up(deadline, f"it did not come to that: {told[-1:]}")
        told.append(s.ask(f"trace?since={since}&wait=5"))
        assert told[-1]["version"] >= since, told[-1]["version"]
        since = told[-1]["version"]
    return told


def touch(path):
    with open(path, "wb"):
        pass


def test_a_recording_that_grows(t):
    trace, go = t.path("t.silt"), t.path("go")
    recording = subprocess.Popen(t.silt.run_argv(trace, [t.helper(), "allocate-until", go]), stdout=subprocess.DEVNULL)
    t.running.append(recording)
    s = view(t, trace, "--no-browser", "--wait", "30s")
    first = follow(s, lambda x: x["growing"])[-1]
    told = follow(s, lambda x: x["growing"] and x["version"] >= first["version"] + 3 and x["events"] > first["events"])
    touch(go)
    told += follow(s, lambda x: not x["growing"])
    assert all(x["events"] <= y["events"] for x, y in zip(told, told[1:])), [x["events"] for x in told]
    assert recording.wait(60) == 17
    follow(s, lambda x: x["ended"] == "exit" and not x["growing"])
    deadline, (report, why) = time.monotonic() + 30, t.silt.report(trace, "--process", "all")
    assert report, why
    while (now := s.ask("report"))["totals"] != report["totals"] or now["quality"] != report["quality"]:
        give_up(deadline, f"the end is not that of the trace: {now['totals']} {report['totals']}")
        time.sleep(0.1)
    assert s.end() == 0


def test_a_program_that_is_killed(t):
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [t.helper(), "allocate", "60000"]), stdout=subprocess.DEVNULL)
    t.running.append(recording)
    s = view(t, trace, "--no-browser", "--wait", "30s")
    pid = follow(s, lambda x: x["events"] > 100)[-1]["pid"]
    os.kill(pid, signal.SIGKILL)
    end = follow(s, lambda x: not x["growing"])[-1]
    assert recording.wait(60) == 128 + signal.SIGKILL
    assert follow(s, lambda x: x["ended"] == "signal")[-1]["events"] >= end["events"]
    assert s.end() == 0


def test_a_recorder_that_is_killed(t):
    """What it had written stays to be asked, and the page is told that nothing more comes."""
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [t.helper(), "allocate", "60000"]), stdout=subprocess.DEVNULL)
    t.running.append(recording)
    s = view(t, trace, "--no-browser", "--wait", "30s")
    before = follow(s, lambda x: x["events"] > 100)[-1]
    with open("/proc/locks", encoding="ascii") as f:
        inode = os.stat(trace).st_ino
        recorder = [int(line.split()[4]) for line in f if "FLOCK" in line and line.split()[5].endswith(f":{inode}")]
    assert recorder, "nobody has the trace locked"
    os.kill(recorder[0], signal.SIGKILL)
    end = follow(s, lambda x: not x["growing"])[-1]
    assert end["events"] >= before["events"] and end["version"] > before["version"], end
    assert s.ask("report")["totals"]["allocations"] > 0
    os.kill(before["pid"], signal.SIGKILL)  # it goes on without its recorder
    recording.wait(60)
    assert s.end() == 0


def test_a_trace_that_is_cut(t):
    """Cut, emptied, deleted while it is served: an answer or an error, and it goes on."""
    trace = record(t, program="containers")
    s = view(t, trace, "--no-browser")
    assert s.get("/api/1/trace").status == 200
    for n_bytes in (os.path.getsize(trace) // 2, 5000, 300, 0):
        os.truncate(trace, n_bytes)
        s.get("/api/1/trace?since=999&wait=2")  # it looks once a second
        for question in ("trace", "report", "flame", "timeline"):
            r = s.get("/api/1/" + question)
            assert r.status in (200, 404, 500) and r.json["schema"].startswith("silt."), (n_bytes, question, r.status, r.body[:200])
    os.unlink(trace)
    assert s.get("/api/1/trace?since=999&wait=2").json["schema"].startswith("silt.")
    assert s.end() == 0


test_a_trace_that_is_cut.waits = True


def test_run_view(t):
    """The page comes while the program runs, stays when it has ended, and silt returns the program's status after Ctrl-C."""
    needs_page(t)
    out, go = t.path("out"), t.path("go")
    with open(out, "wb") as f:
        s = Served(t, [t.silt.path, "run", "--view", "-o", t.path("t.silt"), "--", "sh", "-c", f"{t.helper()} allocate-until {go}; echo done; exit 7"],
                   stdout=f)
        follow(s, lambda x: x["growing"] and x["events"] > 10)
        touch(go)
        follow(s, lambda x: not x["growing"])
        s.read_until("silt: next:")
        s.ask("report")
        assert s.process.poll() is None, "it did not wait for Ctrl-C"
        s.process.send_signal(signal.SIGINT)
        assert s.wait(20) == 7
    with open(out, "rb") as f:
        lines = f.read().decode().splitlines()
    assert lines[-1] == "done" and len(lines) == 2 and lines[0].startswith("ready "), f"the program's output is its own: {lines}"
    assert not find_by_argument(t.path("t.silt")), "a server was left"


def test_attach_view(t):
    """The first Ctrl-C ends the recording, the second the page; the process goes on."""
    needs_page(t)
    target = subprocess.Popen([t.helper(), "allocate", "60000"], stdout=subprocess.PIPE)
    t.running.append(target)
    target.stdout.readline()
    s = Served(t, [t.silt.path, "attach", "--view", "-o", t.path("t.silt"), str(target.pid)])
    follow(s, lambda x: x["growing"] and x["events"] > 10)
    s.process.send_signal(signal.SIGINT)
    s.read_until("silt: next:")
    follow(s, lambda x: not x["growing"])
    assert s.process.poll() is None and target.poll() is None
    s.process.send_signal(signal.SIGINT)
    assert s.wait(20) == 0
    assert target.poll() is None, "the process did not survive"
    target.kill()
    target.wait()


def test_any_port(t):
    """--port 0 is any that is free, for two at once."""
    needs_page(t)
    trace = record(t)
    one, two = view(t, trace, "--no-browser", "--port", "0"), view(t, trace, "--no-browser", "--port", "0")
    assert one.port != two.port and 0 not in (one.port, two.port), (one.port, two.port)
    one.end()
    two.end()


def test_without_the_page(t):
    """A silt that was built without it says how to get it: instead of a browser, and in place of the page."""
    missing = "this silt was built without the page: install nodejs and npm, then run 'meson configure build -Dweb=true' and 'make'"
    r = t.silt.command("view", "/nonexistent")
    if "without the page" not in r.errors:
        skip("this silt has the page")
    assert r.code == 2 and missing in r.errors and len(r.errors.splitlines()) == 1, r.errors
    s = view(t, record(t), "--no-browser")
    r = s.get("/?token=" + s.token)
    if r.status in (302, 303, 307):
        r = s.get(r.headers["Location"], headers={"Cookie": r.headers["Set-Cookie"].partition(";")[0]})
    assert r.status == 200 and missing.encode() in r.body, (r.status, r.body)
    s.end()
