# SPDX-License-Identifier: MIT
"""A service of crates that many services are made of (tokio, hyper, axum), with the C library's malloc, tikv-jemallocator and mimalloc, built
in every usual way, under load: recorded from its start and attached to. All answers are right, what silt counts is what the program
counts itself, and what is live, size classes allowed for, is what jemalloc says."""

import http.client
import json
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter

from allocators.real import near, soak_alone
from attach._target import Attached, Target
from harness.cases import skip
from harness.locks import Lock
from harness.process import outlived, run

HERE = os.path.dirname(os.path.abspath(__file__))
OLDEST_RUSTC = (1, 85)  # edition 2024, in which some of the crates are written
N_THREADS, N_REQUESTS = 3, 400
SIZES = (10, 100, 900, 5000, 30000, 200000)
FIGURES = ("allocations", "frees", "reallocations", "bytes_allocated")
LOCK = Lock(HERE)


# ---- how it is built -------------------------------------------------------------------------------------------------

def cargo():
    """The newest there is: Debian's may be too old for today's crates."""
    found = shutil.which("cargo")
    if not found:
        skip("no cargo")
    version = run([shutil.which("rustc") or "rustc", "--version"]).text.split()
    if len(version) < 2 or tuple(int(x) for x in version[1].split("-")[0].split(".")[:2]) < OLDEST_RUSTC:
        skip(f"rustc {' '.join(version[1:2])} is older than {'.'.join(map(str, OLDEST_RUSTC))}, which today's crates need")
    return found


def build(t, allocator, profile):
    """Path of the program; a stripped one is the release without its symbols."""
    tool, folder = cargo(), os.path.join(t.context.work_dir, "services")
    name, features = ("mimalloc", ["--features", "older_mimalloc"]) if allocator == "mimalloc2" else (allocator, [])
    made_from = {"debug": "dev", "stripped": "release"}.get(profile, profile)
    with LOCK:
        project, target = os.path.join(folder, "store"), os.path.join(folder, "target")
        shutil.copytree(os.path.join(HERE, "store"), project, dirs_exist_ok=True)
        r = run([tool, "build", "-q", "-j2", "--profile", made_from, "--bin", "store_" + name, *features], cwd=project,
                env={"CARGO_TARGET_DIR": target}, timeout_s=3600)
        assert r.code == 0, r.errors
        out = os.path.join(folder, f"store_{allocator}_{profile}")
        shutil.copy(os.path.join(target, {"dev": "debug"}.get(made_from, made_from), "store_" + name), out)
        if profile == "stripped":
            r = run(["strip", "-s", out])
            assert r.code == 0, r.errors
    return out


# ---- who asks --------------------------------------------------------------------------------------------------------

class Client:
    """One connection, whose keys are its own: it knows what every answer must be."""

    def __init__(self, port, number, draw):
        self.number, self.draw, self.known, self.n = number, draw, {}, 0
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        self.n += 1
        return answer.status, answer.read()

    def value(self):
        return self.draw.randbytes(self.draw.choice(SIZES))

    def one(self):
        key = f"{self.number}-{self.draw.randrange(200)}"
        path, old, choice = "/v/" + key, self.known.get(key), self.draw.random()
        if choice < 0.5:
            value = self.value()
            wanted = (200, str(len(old or b"")).encode())
            got = self.ask("PUT", path, value)
            self.known[key] = value
        elif choice < 0.7:
            wanted, got = ((200, old) if old is not None else (404, b"")), self.ask("GET", path)
        elif choice < 0.8:
            wanted, got = ((200, str(len(old)).encode()) if old is not None else (404, b"")), self.ask("DELETE", path)
            self.known.pop(key, None)
        else:
            words = [f"word {self.draw.randrange(30)}" for _ in range(self.draw.randrange(1, 200))]
            status, body = self.ask("POST", "/words", json.dumps(words), {"Content-Type": "application/json"})
            wanted, got = (200, dict(Counter(words))), (status, json.loads(body))
        assert got == wanted, f"{path}: {got[0]}, {len(got[1])} bytes, not {wanted[0]}, {len(wanted[1])}"

    def close(self):
        self.connection.close()


class Load:
    """Threads that ask, each a fixed number of requests."""

    def __init__(self, port, seed):
        self.errors = []
        self.clients = [Client(port, f"{seed}.{i}", random.Random(seed * 100 + i)) for i in range(N_THREADS)]
        self.threads = [threading.Thread(target=self.work, args=(c,)) for c in self.clients]
        for thread in self.threads:
            thread.start()

    def work(self, client):
        try:
            for _ in range(N_REQUESTS):
                client.one()
        except Exception as e:
            self.errors.append(repr(e))
        finally:
            client.close()

    def finish(self):
        for thread in self.threads:
            thread.join(300)
            assert not thread.is_alive(), "a request was never answered"
        assert not self.errors, self.errors
        return sum(c.n for c in self.clients)


class Store:
    """The service, started by `argv`, and the connection over which it is asked for its figures."""

    def __init__(self, t, argv):
        self.t, self.n = t, 0
        self.target = Target(t, argv, says_ready=False)
        words = self.target.process.stdout.readline().split()
        assert words[:1] == [b"ready"], f"it did not start: {words}"
        self.pid, self.port = int(words[1]), int(words[2])
        self.control = Client(self.port, "control", random.Random(0))

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.control.close()
        self.target.__exit__()

    def stats(self):
        """What it counted; asked for three times, since the first answers may make its buffers grow."""
        for _ in range(3):
            status, body = self.control.ask("GET", "/stats")
            assert status == 200
            time.sleep(0.1)
        return {name: int(value) for name, value in (line.split() for line in body.decode().splitlines())}

    def moment(self, name):
        """Figures, and a snapshot of the same: nobody else asks meanwhile."""
        told = self.stats()
        r = self.t.silt.command("snapshot", str(self.pid), "--name", name)
        assert r.code == 0, r.errors
        return told

    def finish(self):
        self.control.close()
        self.target.process.stdin.close()
        self.target.process.stdin = None
        said = self.target.finish()
        assert said == f"ok {self.n}\n", f"it answered {said}, {self.n} were asked"


# ---- what is held ----------------------------------------------------------------------------------------------------

def report_of(t, trace, *options):
    report, why = t.silt.report(trace, *options)
    assert report, why
    return report


def live_at(t, trace, moment):
    """(bytes, the same with jemalloc's size classes, which are the report's groups) of what was live then."""
    r = t.silt.command("report", "--json", "--group-by", "size", "--at", "@" + moment, "--top", "1000000", trace)
    assert r.code == 0, r.errors
    rows = [(x["self"]["end_live_bytes"], x["self"]["end_live_blocks"] * x["max_bytes"]) for x in json.loads(r.stdout)["groups"]]
    return sum(x for x, _ in rows), sum(x for _, x in rows)


def hold_window(t, trace, before, after):
    """Between two quiet moments: what silt counted is what the program did."""
    totals = report_of(t, trace, "--from", "@before", "--to", "@after")["totals"]
    got = {n: totals[n] for n in FIGURES}
    got["frees"] += totals["prior_frees"]
    wanted = {n: after[n] - before[n] for n in FIGURES}
    assert got == wanted, f"{got}, the program counted {wanted}"
    assert totals["lost_events"] == totals["unknown_frees"] == totals["implicit_frees"] == 0, totals
    return wanted["allocations"]


def hold_live(t, trace, before, after, allocator, is_whole):
    """What was live at the second moment or, where there was something before silt came, how much more than at the first."""
    name, i = ("allocated", 1) if allocator == "jemalloc" else ("live_bytes", 0)
    got, wanted = live_at(t, trace, "after")[i], after[name]
    if not is_whole:
        got, wanted = got - live_at(t, trace, "before")[i], wanted - before[name]
    near("live bytes" if is_whole else "growth of live bytes", got, wanted, 2)
    return got, wanted


def loaded(store, seed):
    store.n += Load(store.port, seed).finish()


def recorded(t, program):
    trace = t.path("run.silt")
    with Store(t, t.silt.run_argv(trace, [program], ["-f"])) as store:
        loaded(store, 1)
        before = store.moment("before")
        loaded(store, 2)
        after = store.moment("after")
        store.finish()
    assert not outlived(trace, 60), "the recorder did not end"
    return trace, before, after


def attached(t, program):
    """Comes and goes under load."""
    trace = t.path("attach.silt")
    with Store(t, [program]) as store:
        loaded(store, 1)
        under = Load(store.port, 2)
        silt = Attached(t, store.pid, trace=trace).await_recording()
        store.n += under.finish()
        before = store.moment("before")
        loaded(store, 3)
        after = store.moment("after")
        under = Load(store.port, 4)
        code = silt.end(signal.SIGINT)
        assert code == 0, silt.said
        store.n += under.finish()
        store.finish()
    return trace, before, after


def is_unseen_and_said(t, trace, program):
    """An allocator that has no names left: hardly anything is seen, the report says so before anything else, and so does the doctor."""
    report = report_of(t, trace)
    if report["totals"]["allocations"] > 1000:
        return False
    said = " ".join(x["text"] for x in report["limits"])
    assert said, "nothing was seen, and nobody said so"
    text = t.silt.command("report", trace).text
    assert text.startswith("! Incomplete"), text[:300]
    doctor = t.silt.command("doctor", program)
    assert doctor.code != 0 or "stop" in doctor.text, doctor.text
    t.notes.append(f"{os.path.basename(program)}: unseen, and said: {said}")
    return True


def service(t, allocator, profile):
    program = build(t, allocator, profile)
    for how in (recorded, attached):
        trace, before, after = how(t, program)
        verified = t.silt.command("verify", "-q", trace)
        assert verified.code == 0, verified.text
        if profile == "stripped" and allocator != "system" and is_unseen_and_said(t, trace, program):
            continue
        n = hold_window(t, trace, before, after)
        got, wanted = hold_live(t, trace, before, after, allocator, how is recorded)
        t.notes.append(f"{allocator}, {profile}, {how.__name__}: {n:,} allocations exactly; live {got:,} for {wanted:,} "
                       f"({100 * (got - wanted) / wanted:+.2f} %)")


# debug, release, stripped, lto; which mimalloc, and that libc's is seen, makes no difference to how they are built
VARIANTS = (*((a, p) for a in ("jemalloc", "mimalloc") for p in ("debug", "release", "stripped", "lto")), ("mimalloc2", "release"), ("system", "release"))


def make_tests():
    for allocator, profile in VARIANTS:
        def test(t, allocator=allocator, profile=profile):
            service(t, allocator, profile)
        globals()[f"test_{allocator}_{profile}"] = soak_alone(test)


make_tests()
