# SPDX-License-Identifier: MIT
"""silt snapshot, and @N wherever times are given: against a program that says what it holds."""

import os
import signal
import subprocess
import threading
import time

from harness.answer import parse
from harness.process import kill_family, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(ROOT, "tests/cases/moments.c")
OTHER = 61234


class Program:
    """moments.c under silt, command by command."""

    def __init__(self, t, options=(), threads=0, trace="t.silt"):
        self.t, self.trace = t, t.path(trace)
        program = t.path("moments")
        if not os.path.exists(program):
            r = run(["gcc", "-O1", "-g", "-pthread", "-I", os.path.join(ROOT, "include"), SOURCE, "-o", program])
            assert r.code == 0, r.errors
        self.process = subprocess.Popen(t.silt.run_argv(self.trace, [program, str(threads)], ["-f", *options]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.held = self.hear()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the program has ended"
        return tuple(map(int, line.split()))

    def tell(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        self.held = self.hear()

    def pid(self):
        """Of the program itself: the child of silt that is not silt's."""
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", "rb") as f:
                        fields = f.read()
                    if fields.split(b"(")[1].startswith(b"moments)") and int(fields.rpartition(b")")[2].split()[1]) == self.process.pid:
                        return int(name)
                except (OSError, IndexError):
                    pass
        raise AssertionError("where is the program?")

    def recorder(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
            for pid in f.read().split():
                with open(f"/proc/{pid}/comm") as comm:
                    if comm.read() == "silt-recorder\n":
                        return int(pid)
        raise AssertionError("where is the recorder?")

    def snapshot(self, *options, who=None):
        r = self.t.silt.command("snapshot", str(who or self.trace), "--json", *options)
        assert r.code == 0, r.errors
        got = parse(r.stdout)
        assert got["schema"] == "silt.snapshot/1", got
        return got

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        assert self.process.wait(timeout=600) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            kill_family(self.process.pid)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def live(t, trace, *options):
    got, why = t.silt.report(trace, *options)
    assert got, why
    return got["totals"]["end_live_bytes"], got["totals"]["end_live_blocks"]


def one_line(errors):
    assert errors.startswith("silt: ") and errors.count("\n") == 1 and errors.isprintable() is False, errors
    assert all(c >= " " or c == "\n" for c in errors), repr(errors)


def refused(t, *argv, says):
    r = t.silt.command("snapshot", *argv)
    assert r.code == 2 and not r.stdout, (argv, r.code, r.text, r.errors)
    one_line(r.errors)
    assert says in r.errors, r.errors


def test_exact(t):
    """What is live at @N, and at a mark, is what the program holds; from everywhere a snapshot can be asked for."""
    draw = t.chance
    with Program(t) as p:
        expected = {}
        who = [None, p.pid(), p.process.pid, p.recorder()]
        for i in range(t.count(12, 200)):
            if p.held[1] and draw.random() < 0.4:
                p.tell(f"-{draw.randint(1, p.held[1])}")
            else:
                p.tell(f"+{draw.randint(1, 300)} {draw.randint(1, 2000)}")
            if draw.random() < 0.3:
                p.tell(f"mark m{i}")
                expected[f"m{i}"] = p.held
                continue
            name = ["--name", f"n {i}"] if draw.random() < 0.5 else []
            got = p.snapshot(*name, who=draw.choice(who))
            assert (got["live_bytes"], got["live_blocks"]) == p.held, (got, p.held)
            assert got["trace"] == os.path.realpath(p.trace), got
            expected[got["name"]] = p.held
        # while it is being written
        name = draw.choice([n for n in expected if not n.startswith("m")])
        assert live(t, p.trace, "--at", "@" + name) == expected[name]
        p.end()
    for name, held in expected.items():
        assert live(t, p.trace, "--at", "@" + name) == held, (name, held)
    v = t.silt.command("verify", p.trace)
    assert v.code == 0, v.text + v.errors
    got, _ = t.silt.report(p.trace)
    names = [s["name"] for s in got["snapshots"]]
    assert set(names) | {m["text"] for m in got["marks"]} == set(expected) and got["notes"] == [], got
    assert [s["at_s"] for s in got["snapshots"]] == sorted(s["at_s"] for s in got["snapshots"])


def test_busy(t):
    """Threads that allocate and release all the while add nothing, or a block each, to what is held (and a block that pthread_create
    keeps for each); the same from history and from events."""
    with Program(t, threads=3) as p:
        taken, kept = [], set()
        for i in range(t.count(4, 40)):
            p.tell(f"+{i} 5000")
            got = p.snapshot()
            over = got["live_blocks"] - p.held[1] - 3
            kept.add(got["live_bytes"] - p.held[0] - 64 * over)
            assert 0 <= over <= 3 and len(kept) == 1, (got, p.held, kept)
            taken.append(got)
        p.end()
    told = lambda got: (got["live_bytes"], got["live_blocks"])
    for got in taken:
        assert live(t, p.trace, "--at", "@" + got["name"]) == told(got), got
    by_events = live(t, p.trace, "--alive-at", "@2", "--to", "@2")
    assert by_events == told(taken[1]), (by_events, taken[1])


def test_every_command(t):
    """@N is a time for every option that takes one."""
    with Program(t) as p:
        p.tell("+100 1000")
        p.snapshot("--name", "a")
        p.tell("+10 700")
        p.snapshot("--name", "b c")
        p.tell("-50")
        p.tell("mark warm")
        p.tell("mark warm")
        p.end()
    report = lambda *options: t.silt.report(p.trace, *options)[0]["totals"]
    assert report("--from", "@a", "--to", "@b c")["allocations"] == 10
    assert report("--from", "@b c")["frees"] == 50
    assert report("--allocated", "@a..@b c")["allocations"] == 10
    assert report("--allocated", "..@a")["allocations"] == 100
    assert report("--freed-before", "@b c")["allocations"] == 0
    assert report("--alive-at", "@a")["allocations"] == 100
    r = t.silt.command("diff", "--json", p.trace, "--at", "@a", "--at", "@b c")
    assert r.code == 1 and parse(r.stdout)["totals"]["end_live_bytes"]["change"] == 7000, r.text[:800] + r.errors
    for windows in (["@@a", "@@b c"], ["@..@a", "@@a..@b c"]):
        r = t.silt.command("diff", p.trace + windows[0], windows[1])
        assert r.code == 1 and not r.errors, r.errors
    assert t.silt.command("check", p.trace, "--max-allocations", "10", "--from", "@a", "--to", "@b c").code == 0
    assert t.silt.command("check", p.trace, "--max-allocations", "9", "--from", "@a", "--to", "@b c").code == 1
    r = t.silt.command("source", p.trace, "hold", "--json", "--by", "count", "--from", "@a", "--to", "@b c")
    assert r.code == 0 and parse(r.stdout)["totals"]["allocations"] == 10, r.text[:800] + r.errors
    r = t.silt.command("flame", p.trace, "-o", t.path("f.svg"), "--by", "count", "--from", "@a", "--to", "@b c")
    assert r.code == 0, r.errors
    with open(t.path("f.svg")) as f:
        assert "10 allocations" in f.read()
    text = t.silt.command("report", p.trace).text
    assert "@a (" in text and "@b c (" in text and "snapshot:" not in text, text
    # of equal names the first, and that is said
    r = t.silt.command("report", "--json", p.trace, "--at", "@warm")
    assert r.code == 0 and "@warm: 2 moments have this name: using the first" in r.errors, r.errors
    one_line(r.errors)
    for argv in (["report", p.trace, "--at", "@wram"], ["report", p.trace, "--alive-at", "@wram"],
                 ["flame", p.trace, "-o", "-", "--from", "@wram"], ["source", p.trace, "hold", "--to", "@wram"],
                 ["diff", p.trace, "--at", "@a", "--at", "@wram"], ["check", p.trace, "--max-peak", "1M", "--to", "@wram"]):
        r = t.silt.command(*argv)
        assert r.code == 2 and not r.stdout, (argv, r.code, r.text)
        assert "no moment has the name '@wram': choose from @a, @b c, @warm, @start, @peak and @end" in r.errors, r.errors
        one_line(r.errors)
    r = t.silt.command("report", p.trace, "--from", "@b c", "--to", "@a")
    assert r.code == 2 and "the window is empty" in r.errors, r.errors


def test_refused(t):
    with Program(t) as p:
        for name in ("", "a\nb", "\x1b[2Jx", "@a", "a..b", " a", "x" * 101, b"\xff", "\u0085"):
            refused(t, p.trace, "--name", name, says="name")
        p.snapshot("--name", "x" * 100)
        p.snapshot("--name", "größer 数")
        p.snapshot("--name", "-rf $(x) ;'")
        refused(t, p.trace, "--name", "größer 数", says="already has a snapshot with this name")
        assert p.snapshot()["name"] == "1"
        assert p.snapshot("--name", "2")["name"] == "2"
        assert p.snapshot()["name"] == "3"
        refused(t, "999999999", says="no such process")
        refused(t, str(os.getpid()), says="not being recorded")
        refused(t, t.path("nothing.silt"), says="No such file")
        refused(t, t.path("moments"), says="is not being recorded")
        refused(t, p.trace, "b.silt", says="only one recording")
        refused(t, says="no recording given")
        text = t.silt.command("snapshot", p.trace, "--name", "it's").text
        assert text.startswith("@it's at ") and text.splitlines()[1].startswith("next:  silt report "), text
        pid = p.pid()
        p.end()
    refused(t, p.trace, says="use times, such as --at 90s")  # it has ended, or just now
    refused(t, str(pid), says="no such process")
    r = t.silt.command("report", p.trace, "--at", "@-rf $(x) ;'")
    assert r.code == 0, r.errors
    r = t.silt.command("report", p.trace, "--at", "@\x1b[2J")
    assert r.code == 2 and "\x1b" not in r.errors, r.errors


def test_another_user_as_root(t):
    """Nobody but the user and root gets at a recording; root gets at the user's."""
    with Program(t) as p:
        pid = str(p.pid())
        for who in (pid, str(p.process.pid), str(p.recorder()), p.trace):
            r = run(["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", t.silt.path, "snapshot", who])
            assert r.code == 2 and not r.stdout, (who, r.code, r.text, r.errors)
            one_line(r.errors)
            assert "another user" in r.errors or "Permission denied" in r.errors or "not being recorded" in r.errors, r.errors
        assert p.snapshot()["name"] == "1", "somebody else's counted"
        p.end()


def test_many(t):
    """Thousands, from several at once: names differ, the trace stays small and is whole, and each is exact."""
    n, n_askers = t.count(300, 9990), 6
    with Program(t) as p:
        p.tell("+1000 100")
        names, failed = [], []

        def ask():
            for _ in range(n // n_askers):
                r = t.silt.command("snapshot", "--json", p.trace)
                if r.code:
                    failed.append(r.errors)
                else:
                    names.append(parse(r.stdout)["name"])

        askers = [threading.Thread(target=ask) for _ in range(n_askers)]
        for a in askers:
            a.start()
        for a in askers:
            a.join()
        p.tell("-1")
        p.end()
    assert not failed, failed[:3]
    assert sorted(map(int, names)) == list(range(1, len(names) + 1)), sorted(names)[:10]
    assert os.path.getsize(p.trace) < 20000 + 1500 * len(names), os.path.getsize(p.trace)  # a bill each, where there is time for it
    for name in t.chance.sample(names, 3):
        assert live(t, p.trace, "--at", "@" + name) == (100000, 1000)
    v = t.silt.command("verify", p.trace)
    assert v.code == 0, v.text + v.errors
    text = t.silt.command("report", p.trace).text
    assert "more marks: see --json" in text, text
    r = t.silt.command("report", p.trace, "--at", "@no")
    assert r.code == 2 and " more, @start, @peak and @end\n" in r.errors and len(r.errors) < 500, r.errors


def test_killed_after(t):
    """What silt snapshot said is in the file, whoever is killed then, however suddenly."""
    for i in range(t.count(4, 40)):
        with Program(t, threads=i % 2) as p:
            p.tell("+500 333")
            got = p.snapshot("--name", "last")
            os.kill(p.recorder() if i % 2 else p.pid(), signal.SIGKILL)
            try:
                p.end()
            except (AssertionError, BrokenPipeError):
                pass
            assert live(t, p.trace, "--at", "@last") == (got["live_bytes"], got["live_blocks"])
            assert got["live_blocks"] - p.held[1] in (0, 1, 2), got


def test_stopped_recorder(t):
    """One that is stopped is waited for; continued in time, it answers."""
    with Program(t) as p:
        recorder = p.recorder()
        os.kill(recorder, signal.SIGSTOP)
        asker = subprocess.Popen([t.silt.path, "snapshot", "--json", p.trace], stdout=subprocess.PIPE)
        time.sleep(0.2)
        assert asker.poll() is None, "it was not waited for"
        os.kill(recorder, signal.SIGCONT)
        out, _ = asker.communicate(timeout=300)
        assert asker.returncode == 0 and parse(out)["name"] == "1"
        p.end()


def test_children(t):
    """A process of the recording is as good as the other; live is that of all together."""
    with Program(t) as p:
        p.tell("+10 1000")
        p.tell("fork")
        p.tell("+5 100")
        got = p.snapshot(who=p.pid())
        assert (got["live_bytes"], got["live_blocks"]) == (10500, 15), got
        p.end()
    assert live(t, p.trace, "--process", "all", "--at", "@1") == (10500, 15)


def test_by_itself(t):
    """Every so often, and by growth."""
    with Program(t, ["--snapshot-every", "50ms"]) as p:
        p.tell("+10 100")
        time.sleep(0.5)
        p.end()
    got, why = t.silt.report(p.trace)
    assert got, why
    at = [s["at_s"] for s in got["snapshots"]]
    assert [s["name"] for s in got["snapshots"]] == [f"auto-{i + 1}" for i in range(len(at))], got["snapshots"]
    assert 2 <= len(at) <= got["duration_s"] / 0.05 + 1, (at, got["duration_s"])
    assert live(t, p.trace, "--at", "@" + got["snapshots"][-1]["name"]) == (1000, 10)
    with Program(t, ["--snapshot-growth", "100%"]) as p:
        for _ in range(5):
            p.tell("+1 1000000")
            time.sleep(0.02)
        p.snapshot("--name", "own")
        for _ in range(5):
            p.tell("+1 1000000")
            time.sleep(0.02)
        p.tell("mark end")
        p.end()
    names = [s["name"] for s in t.silt.report(p.trace)[0]["snapshots"]]
    assert "own" in names and 2 <= len(names) <= 4, names
    first = live(t, p.trace, "--at", "@auto-1")[0]
    assert first >= 2 * 1048576, first
    r = run([t.silt.path, "run", "--snapshot-every", "1ms", "true"])
    assert r.code == 125 and "at least 10ms" in r.errors, r.errors
    r = run([t.silt.path, "run", "--snapshot-growth", "0.5%", "true"])
    assert r.code == 125 and "at least 1%" in r.errors, r.errors


def test_bounded(t):
    """A trace kept small keeps its snapshots exact."""
    with Program(t, ["--max-size", "1M"], threads=2) as p:
        p.tell("+100 1000")
        first = p.snapshot("--name", "first")
        deadline = time.monotonic() + t.count(5, 30)
        seen = set()
        while time.monotonic() < deadline and len(seen) < 3:  # smaller files took its place
            seen.add(os.stat(p.trace).st_ino)
            p.tell("+10 10")
            time.sleep(0.05)
        last = p.snapshot("--name", "last")
        p.end()
    for got in (first, last):
        assert live(t, p.trace, "--at", "@" + got["name"]) == (got["live_bytes"], got["live_blocks"]), got
    assert os.path.getsize(p.trace) <= 1 << 20


def test_sampled(t):
    """Of a sampled recording it tells an estimate, the same one that the report does."""
    with Program(t, ["--sample", "4K"]) as p:
        p.tell("+3000 500")
        got = p.snapshot()
        text = t.silt.command("snapshot", p.trace).text
        assert got["mode"] == "sampled" and "about " in text, (got, text)
        assert abs(got["live_bytes"] / p.held[0] - 1) < 0.5, (got, p.held)  # 366 samples: 5 % is usual
        p.end()
    assert live(t, p.trace, "--at", "@1") == (got["live_bytes"], got["live_blocks"])
