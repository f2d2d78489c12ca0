# SPDX-License-Identifier: MIT
"""Real programs with an allocator inside: rustc, a Rust program, redis-server. Their results stay what they are, and what is live is
what the allocator itself says, size classes allowed for."""

import os
import shutil
import signal
import subprocess
import time

from allocators._workshop import Workshop
from allocators.exact import FIGURES, NEVER, record
from harness.cases import skip
from harness.process import give_up, outlived, run

SOURCE = """
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token { Number(i64), Name(String), Sign(char) }

pub fn tokens(text: &str) -> Vec<Token> {
    let mut all = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_ascii_digit() {
            let mut n = c.to_digit(10).unwrap() as i64;
            while let Some(d) = rest.peek().and_then(|d| d.to_digit(10)) { n = n * 10 + d as i64; rest.next(); }
            all.push(Token::Number(n));
        } else if c.is_alphabetic() {
            let mut name = c.to_string();
            while let Some(d) = rest.peek().filter(|d| d.is_alphanumeric()) { name.push(*d); rest.next(); }
            all.push(Token::Name(name));
        } else if !c.is_whitespace() {
            all.push(Token::Sign(c));
        }
    }
    all
}

pub fn tally(text: &str) -> BTreeMap<Token, usize> {
    let mut counts = BTreeMap::new();
    for t in tokens(text) { *counts.entry(t).or_insert(0) += 1; }
    counts
}
"""


def near(what, got, want, percent):
    assert abs(got - want) <= want * percent / 100, f"{what}: {got:,} for {want:,}, {100 * (got - want) / want:+.2f} %"


def soak_alone(test):
    """Builds programs or fetches sources."""
    test.repeats, test.soak_repeats = 0, 1
    return test


def clean(report):
    assert all(report["totals"][name] == 0 for name in NEVER), report["totals"]


def test_rustc(t):
    """The official toolchain's rustc has a jemalloc of its own, under the names of C; Debian's has none."""
    sysroot = run(["rustc", "--print", "sysroot"]).text.strip()
    rustc = os.path.join(sysroot, "bin", "rustc")
    is_inside = " T malloc" in run(["nm", rustc]).text
    source, argv = t.path("words.rs"), [rustc, "--crate-type", "lib", "--emit=obj", "-O", "-g"]
    with open(source, "w") as f:
        f.write(SOURCE)
    assert run([*argv, source, "-o", t.path("bare.o")]).code == 0
    _, report = record(t, [*argv, source, "-o", t.path("watched.o")])
    with open(t.path("bare.o"), "rb") as a, open(t.path("watched.o"), "rb") as b:
        assert a.read() == b.read(), "the object files differ"
    totals = report["totals"]
    clean(report)
    assert totals["allocations"] > 50_000 and report["quality"]["complete_stacks_pct"] > 99.9, (totals, report["quality"])
    t.notes.append(f"{totals['allocations']:,} allocations, peak {totals['peak_live_bytes']:,} bytes, 0 lost, 0 unknown")
    if is_inside:
        _, without = record(t, [*argv, source, "-o", t.path("watched.o")], "--no-patch")
        n = without["totals"]["allocations"]
        t.notes.append(f"{n:,} allocations without patches")
        assert n < totals["allocations"] / 100, n


def collections(t, kind):
    """A Rust program's collections, from 8 threads; every call of the global allocator is counted by the program itself."""
    program = Workshop(t.context).service(kind)
    argv = [program, str(t.count(1_000_000, 100_000_000)), "8"]
    told, report = record(t, argv)
    _, outside = record(t, argv, "--no-patch")  # what libc's malloc is asked for, by the same run
    totals, base = report["totals"], outside["totals"]
    clean(report)
    wrong = {n: (totals[n] - base[n], told[n]) for n in FIGURES if n in told and totals[n] - base[n] != told[n]}
    assert not wrong, wrong
    assert base["allocations"] < 100, base
    t.notes.append(f"{told['allocations']:,} allocations exactly; live {totals['end_live_bytes']:,} bytes; "
                   f"{base['allocations']} allocations without patches")
    return told, totals["end_live_bytes"] - base["end_live_bytes"]


def test_rust_with_jemalloc(t):
    told, live = collections(t, "jemalloc")
    near("stats.allocated", live + told["room"] - told["end_live_bytes"], told["allocated"], 2)
    t.notes.append(f"with size classes {told['room']:,}, jemalloc says {told['allocated']:,}")


@soak_alone
def test_rust_with_mimalloc(t):
    collections(t, "mimalloc")


# ---- redis -------------------------------------------------------------------------------------------------------------

def size_class(n):
    """jemalloc's, as redis configures it: steps of 8 bytes, then four to every doubling."""
    if n <= 64:
        return max(8, (n + 7) // 8 * 8)
    step = 1 << ((n - 1).bit_length() - 3)
    return (n + step - 1) // step * step


class Redis:
    """redis-server under silt, asked through a socket in the test's folder."""

    def __init__(self, t, server, *options):
        self.socket, self.trace = t.path("redis.socket"), t.path("redis.silt")
        argv = t.silt.run_argv(self.trace, [server, "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", t.dir,
                                            "--enable-debug-command", "yes", "--daemonize", "no"], ["-f", *options])
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while run(["redis-cli", "-s", self.socket, "ping"]).text.strip() != "PONG":
            assert self.process.poll() is None, "redis-server has ended"
            give_up(end, "redis-server does not answer")
            time.sleep(0.1)

    def ask(self, *words):
        r = run(["redis-cli", "-s", self.socket, *words])
        assert r.code == 0, r.errors
        return r.text

    def info(self):
        return dict(line.strip().split(":", 1) for line in self.ask("info").splitlines() if ":" in line)

    def kill(self):
        """It gives nothing back: what is live then is live in the report."""
        os.kill(int(self.info()["process_id"]), signal.SIGKILL)
        self.process.wait(60)
        assert not outlived(self.trace, 20), "the recorder did not end"


def load(redis, n):
    redis.ask("debug", "populate", str(n), "key", "300")
    r = run(["redis-benchmark", "-s", redis.socket, "-q", "-n", str(n), "-r", str(n), "-d", "200", "-c", "20", "-P", "16", "-t",
             "set,get,incr,lpush,sadd,hset,zadd"], timeout_s=600)
    assert r.code == 0, r.errors


def measure(t, server, *options):
    redis = Redis(t, server, *options)
    try:
        load(redis, t.count(50_000, 500_000))
        time.sleep(1)  # clients are gone
        info = redis.info()
    finally:
        redis.kill()
    report, why = t.silt.report(redis.trace, "--top", "100000", "--by", "end")
    assert report, why
    return info, report


@soak_alone
def test_redis(t):
    """Built from Debian's source package, with the jemalloc in it."""
    if not shutil.which("redis-benchmark"):
        skip("redis-tools are not installed")
    server = Workshop(t.context).redis()
    info, report = measure(t, server)
    clean(report)
    live = report["totals"]["end_live_bytes"]
    sites = next(x for x in report["top"] if x["metric"] == "end")["sites"]
    with_classes = sum(s["blocks"] * size_class(-(-s["bytes"] // s["blocks"])) for s in sites)
    used, allocated = int(info["used_memory"]), int(info["allocator_allocated"])
    t.notes.append(f"live {live:,} bytes, with size classes {with_classes:,}; used_memory {used:,}, stats.allocated {allocated:,}")
    near("used_memory", with_classes, used, 2)
    near("stats.allocated", with_classes, allocated, 2)
    _, without = measure(t, server, "--no-patch")
    t.notes.append(f"{report['totals']['allocations']:,} allocations; {without['totals']['allocations']:,} without patches")
    assert without["totals"]["allocations"] < report["totals"]["allocations"] / 1000, without["totals"]

