#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `silt cpu run` costs and how far its samples agree with those of `perf record -F 1000 --call-graph dwarf,65528`, on five
programs. The ways run in turn, so that whatever else the machine does hits all alike; ratios are of runs of one turn.

  bench/cpu.py --build build [--runs 5] [--only sqlite3,python3] [--rate 1000] [--write-docs]

Shares of the top 20 functions, by themselves and with what they call: two samples of one binomial differ by more than 3 standard
errors once in 370 comparisons. Programs do not do the same twice, and a sample is not independent of the one before: perf's runs are
compared with each other by the same test, one half against the other, to know what that makes of it. What functions call is compared
with the runs in which perf's own stacks are whole: in others it loses callers, by chance for all of a run.

Cost: CPU time of the program, the least of each way (what else a machine does only adds), and from inside: a program that does nothing
but look at the clock sees what each sample takes from it."""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(os.path.dirname(HERE), "docs", "cpu.md")
sys.path.insert(0, HERE)

from measure import machine, profiles, programs  # noqa: E402

BEGIN, END = "<!-- cpu: begin (written by bench/cpu.py --write-docs) -->", "<!-- cpu: end -->"
COST_AIM, SIZE_AIM, N_TOP, SIGMAS = 1.02, 0.10, 20, 3
WHOLE_PCT = 99  # of the stacks of a run that is compared with callers
PAUSES_MS, PAUSES_BYTES = 1000, 100_000
BARE, SILT, PERF = "bare", "silt", "perf"


class Program:
    """Runs to its end, timed from inside of whatever records it."""

    def __init__(self, scratch, argv, comm, **env):
        self.file, self.argv, self.env, self.comm = os.path.join(scratch, "ns"), argv, env, comm
        self.cputime = programs.compiled(scratch, ["gcc", "-O2"], "cputime.c")

    def run(self, prefix):
        """CPU and wall seconds of the program."""
        subprocess.run([*prefix, self.cputime, self.file, "all", *self.argv], env={**os.environ, **self.env}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(self.file) as f:
            return [int(x) / 1e9 for x in f.read().split()]


class Redis:
    """A server of its own for each run; counted are its threads while it is asked."""

    N_REQUESTS = 250_000

    def __init__(self, scratch):
        self.workload = programs.redis("redis-server", scratch)
        self.client, self.comm = self.workload.client, None
        self.client.n_requests = self.N_REQUESTS

    def pid(self):
        for line in self.client.cli("info", "server").stdout.splitlines():
            if line.startswith("process_id:"):
                return int(line.split(":")[1])
        raise RuntimeError("redis-server does not answer")

    def run(self, prefix):
        server = subprocess.Popen([*prefix, *self.workload.argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not self.client.wait(server):
                raise RuntimeError("redis-server does not come up")
            begin = thread_s(self.pid())
            wall, _ = self.client.run()
            return thread_s(self.pid()) - begin, wall
        finally:
            self.client.stop()
            server.wait()


def thread_s(pid):
    """The time on a CPU of all threads that live."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
            total += int(f.read().split()[0])
    return total / 1e9


SQL = """CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500000)
INSERT INTO t SELECT n, 'name-' || (n * 7919 % 120000), n * 1.5 FROM c;
CREATE INDEX t_name ON t(name);
SELECT count(*), sum(value) FROM t WHERE name LIKE 'name-1%';
SELECT name, count(*) FROM t GROUP BY substr(name, 1, 8) ORDER BY 2 DESC LIMIT 3;
SELECT count(*) FROM t a JOIN t b ON a.id = b.id + 1;"""
PYTHON = """import json, re
for i in range(6):
    x = [{"a": i, "b": str(i) * 3, "c": [i, i + 1]} for i in range(30000)]
    y = json.dumps(x)
    z = json.loads(y)
    w = sum(len(m) for m in re.findall(r"[0-9]+", y))
    v = sorted(y.split(), key=lambda s: s[::-1])"""


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise programs.Missing(f"{name} is not installed")


def sqlite(scratch):
    need("sqlite3")
    script = os.path.join(scratch, "work.sql")
    with open(script, "w") as f:
        f.write(SQL)
    return Program(scratch, ["sqlite3", ":memory:", f".read {script}"], "sqlite3")


def python(scratch):
    return Program(scratch, ["/usr/bin/python3", "-c", PYTHON], "python3", PYTHONHASHSEED="0")


def cc1plus(scratch):
    return Program(scratch, programs.compiler_proper("g++", "compile_large.cc", os.path.join(scratch, "large.s")), "cc1plus")


def two_threads(scratch):
    return Program(scratch, [programs.compiled(scratch, ["g++", "-O2", "-g", "-pthread"], "busy.cc"), "400"], "busy")


PROGRAMS = {"sqlite3": sqlite, "python3": python, "redis-server": Redis, "cc1plus": cc1plus, "C++, 2 threads": two_threads}


class Ways:
    """The three, each with what is put before the command and the file it leaves."""

    def __init__(self, args, scratch):
        self.silt = os.path.join(os.path.abspath(args.build), "silt")
        self.trace, self.data = os.path.join(scratch, "t.silt"), os.path.join(scratch, "perf.data")
        self.names = profiles.Names()
        rate = str(args.rate)
        self.prefixes = {
            BARE: [],
            SILT: [self.silt, "cpu", "run", "-q", "-f", "--rate", rate, *args.option, "-o", self.trace, "--"],
            PERF: ["perf", "record", "-q", "-F", rate, "-e", "cpu-clock", "--call-graph", "dwarf,65528", "-o", self.data, "--"],
        }

    def run(self, way, program):
        """Seconds of the program, of the processor and of whoever records, and the file's size."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        cpu, wall = program.run(self.prefixes[way])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        file = {SILT: self.trace, PERF: self.data}.get(way)
        return {"cpu": cpu, "wall": wall, "whole": time.monotonic() - begin, "used": used, "size": os.path.getsize(file) if file else 0}

    def lines(self, way):
        if way == SILT:
            argv = [self.silt, "export", "--format", "perf-script", "--by", "cpu", "--process", "all", "-o", "-", self.trace]
        else:
            argv = ["perf", "script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "-i", self.data]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace") as p:
            yield from p.stdout

    def read(self, way, program, profile):
        profiles.read(profile, self.lines(way), self.names, way == PERF, {"cpu-clock"}, program.comm)


class Measured:
    def __init__(self):
        self.runs = {BARE: [], SILT: [], PERF: []}
        self.profiles = {SILT: [], PERF: []}  # one a run

    def ratios(self, way, key):
        return [a[key] / b[key] for a, b in zip(self.runs[way], self.runs[BARE])]

    def least(self, way, key):
        return min(r[key] for r in self.runs[way])

    def profile(self, way):
        return profiles.merged(self.profiles[way])

    def size(self, way):
        """Bytes a sample."""
        return sum(r["size"] for r in self.runs[way]) / max(self.profile(way).n, 1)


def measure(ways, program, args):
    m = Measured()
    order = list(ways.prefixes)
    for turn in range(args.runs):
        first = turn % len(order)
        for way in order[first:] + order[:first]:
            m.runs[way].append(ways.run(way, program))
            if way != BARE:
                m.profiles[way].append(profiles.Profile())
                ways.read(way, program, m.profiles[way][-1])
    return m


def measure_pauses(ways, scratch, args):
    """Of each way: what share of the CPU time the program was not there, and how long a pause was in the middle."""
    program = programs.compiled(scratch, ["gcc", "-O2"], "pauses.c")
    found = {way: [] for way in ways.prefixes}
    for _ in range(args.runs):
        for way, prefix in ways.prefixes.items():
            r = subprocess.run([*prefix, program, str(PAUSES_MS), str(PAUSES_BYTES)], capture_output=True, text=True, check=True)
            found[way].append([int(x) for x in r.stdout.split()])
    return found


def pauses_told(found):
    def away(way):
        return statistics.median(total / cpu for cpu, _, total, _ in found[way])
    yield f"note: from inside, bare: {100 * away(BARE):.2f} % of the CPU time in pauses of 1 to 500 us"
    for way in (SILT, PERF):
        added = away(way) - away(BARE)
        n = statistics.median(row[1] for row in found[way]) - statistics.median(row[1] for row in found[BARE])
        verdict = "note" if way == PERF else "ok" if 1 + added <= COST_AIM else "MISSED"
        yield (f"{verdict}: from inside, {way}: {100 * added:.2f} % more, {n:.0f} more pauses in a second of CPU time"
               + (f", {1e6 * added / n:.1f} us each" if n > 0 else ""))


def compared(a, b, is_self):
    """(function, share of a, share of b, standard errors) of the largest."""
    return [(f, a.share(f, is_self), b.share(f, is_self), profiles.deviation(a, b, f, is_self))
            for f in profiles.largest(a, b, N_TOP, is_self)]


def beyond(rows):
    return sum(row[3] > SIGMAS for row in rows)


def middle(values):
    each = sorted(values)
    return f"{statistics.median(each):.3f} ({each[len(each) // 4]:.3f}–{each[-1 - len(each) // 4]:.3f})"


def table(results):
    yield ("| program | CPU time, bare | CPU time, silt | perf | wall, silt | perf | samples, silt | perf | bytes a sample, silt | perf | "
           "whole stacks, silt | perf |")
    yield "| --- " + "| --: " * 11 + "|"
    for name, m in results.items():
        cells = [name, f"{statistics.median(r['cpu'] for r in m.runs[BARE]):.2f} s"]
        cells += [middle(m.ratios(way, key)) for key in ("cpu", "wall") for way in (SILT, PERF)]
        cells += [f"{m.profile(way).n:,}" for way in (SILT, PERF)]
        cells += [f"{m.size(way):,.0f}" for way in (SILT, PERF)]
        cells += [f"{m.profile(way).complete_pct():.1f} %" for way in (SILT, PERF)]
        yield "| " + " | ".join(cells) + " |"


def shares(name, m):
    """The sentences about the largest functions, and the rows that are beyond."""
    for is_self, what in ((True, "by themselves"), (False, "with what they call")):
        theirs = [p for p in m.profiles[PERF] if is_self or p.complete_pct() >= WHOLE_PCT]
        if not theirs:
            yield f"note: {name}, functions {what}: perf's stacks are whole in none of its runs, {m.profile(PERF).complete_pct():.1f} % in all"
            continue
        rows = compared(m.profile(SILT), profiles.merged(theirs), is_self)
        control = compared(profiles.merged(theirs[::2]), profiles.merged(theirs[1::2]), is_self) if len(theirs) > 1 else []
        is_met = beyond(rows) <= max(1, beyond(control))
        yield (f"{'ok' if is_met else 'MISSED'}: {name}, top {len(rows)} functions {what}: {beyond(rows)} beyond {SIGMAS} standard errors, "
               f"the worst {max(row[3] for row in rows):.1f}, against {len(theirs)} runs of perf"
               + (f"; perf against itself: {beyond(control)}, {max(row[3] for row in control):.1f}" if control else ""))
        for (module, function), p, q, error in rows:
            if error > SIGMAS:
                yield f"    {function} ({module}): silt {100 * p:.2f} %, perf {100 * q:.2f} %, {error:.1f} standard errors"


def verdicts(name, m):
    cost = m.least(SILT, "cpu") / m.least(BARE, "cpu")
    yield (f"{'ok' if cost <= COST_AIM else 'MISSED'}: {name}, CPU time: {cost:.3f} of bare, the least of both (aim at most {COST_AIM}); "
           f"perf {m.least(PERF, 'cpu') / m.least(BARE, 'cpu'):.3f}")
    size = m.size(SILT) / max(m.size(PERF), 1)
    yield f"{'ok' if size <= SIZE_AIM else 'MISSED'}: {name}, size: {size:.4f} of perf's for a sample (aim at most {SIZE_AIM})"
    ours, theirs = (m.profile(way).complete_pct() for way in (SILT, PERF))
    yield f"{'ok' if ours >= theirs else 'MISSED'}: {name}, whole stacks: {ours:.2f} %, perf {theirs:.2f} %"
    recorder = statistics.median(r["used"] - r["cpu"] for r in m.runs[SILT]) / statistics.median(r["cpu"] for r in m.runs[BARE])
    if name != "redis-server":  # its client is a child, too
        yield f"note: {name}: silt itself took {100 * recorder:.1f} % of the program's CPU time, during and after it"
    yield from shares(name, m)


def write_docs(args, lines):
    head = (f"{machine.cpu_name()}, {os.cpu_count()} cores, {machine.distribution()}; {args.runs} turns at {args.rate} Hz: medians of the "
            "turns' ratios to the bare program, in brackets the middle half of them.")
    with open(DOCS) as f:
        before, rest = f.read().split(BEGIN)
    with open(DOCS, "w") as f:
        f.write("\n".join([before + BEGIN, head, "", *lines, END]) + rest.split(END)[1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--rate", type=int, default=1000)
    p.add_argument("--only", default=",".join(PROGRAMS).replace("C++, 2 threads", "C++"), help="names, or how they begin")
    p.add_argument("--no-pauses", dest="pauses", action="store_false", help="no look from inside")
    p.add_argument("--option", action="append", default=[], help="more for `silt cpu run`")
    p.add_argument("--write-docs", action="store_true", help="put the table into docs/cpu.md")
    args = p.parse_args()
    results, said = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        ways = Ways(args, scratch)
        for name, make in PROGRAMS.items():
            if not any(name.startswith(x) for x in args.only.split(",")):
                continue
            try:
                results[name] = measure(ways, make(scratch), args)
            except programs.Missing as e:
                said.append(f"left out: {name}: {e}")
                continue
            told = list(verdicts(name, results[name]))
            said += told
            print("\n".join(told), flush=True)
        if args.pauses:
            told = list(pauses_told(measure_pauses(ways, scratch, args)))
            said += told
            print("\n".join(told))
    lines = list(table(results))
    print("\n".join(lines))
    if args.write_docs:
        write_docs(args, lines + [""] + [f"- {x}" for x in said if not x.startswith(" ")])
    return 0 if not any(x.startswith("MISSED") for x in said) else 1


if __name__ == "__main__":
    sys.exit(main())
