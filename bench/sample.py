#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `silt run --sample` costs: CPU time of the program alone, with an interposer that does nothing, with jemalloc and with its
own profiler at 512 KiB, sampled, and dormant. All ways run in turn, so that whatever else the machine does hits all alike;
what is compared are the runs of one turn. Debian's jemalloc has no profiler: one is built from its source the first time,
which takes minutes and the network, unless --jemalloc names one.

  bench/sample.py --build build [--runs 11] [--only loop,redis,rust,tokio,python3] [--jemalloc LIBRARY] [--write-docs]
  bench/sample.py --build build --budget 2%     how far a budget holds
  bench/sample.py --build build -- PROG ARG...  the same for any program

A bare malloc/free loop; redis-server (its threads' CPU time for a number of requests); a Rust program of eight threads that fill
and drop maps of strings; tokio tasks; python3 with all its objects from malloc. A run of all takes three to five minutes."""
import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(os.path.dirname(HERE), "docs", "sampling.md")
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "tests")]

from measure import machine, programs  # noqa: E402 (their folders are put on the path above)
from allocators._workshop import Workshop  # noqa: E402

BEGIN, END = "<!-- sample: begin (written by bench/sample.py --write-docs) -->", "<!-- sample: end -->"
PYTHON = "x = [[i] * 3 for i in range(500000)]\nd = {str(i): i for i in range(500000)}\nx = d = None"
PROFILER = "prof:true,prof_active:true,lg_prof_sample:19"
N_REQUESTS = 300_000
BARE, NOOP, JEMALLOC, PROFILED, DORMANT = "bare", "no-op interposer", "jemalloc", "jemalloc, profiling", "silt --dormant"

# what the sampled program may cost, of which way
AIMS = {"malloc/free loop": (NOOP, 1.10), "redis-server": (BARE, 1.02), "Rust, 8 threads": (BARE, 1.02)}
DORMANT_AIM = 1.01


class Program:
    """Runs to its end; its CPU time is measured from inside."""

    def __init__(self, scratch, argv, **env):
        self.file, self.argv, self.env = os.path.join(scratch, "ns"), argv, env
        self.cputime = programs.compiled(scratch, ["gcc", "-O2"], "cputime.c")
        self.cpu = str(max(os.sched_getaffinity(0)))

    def cpu_ms(self, prefix, env):
        subprocess.run([*prefix, self.cputime, self.file, self.cpu, *self.argv], env={**os.environ, **self.env, **env}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(self.file) as f:
            return int(f.read().split()[0]) / 1e6


class Redis:
    """A server of its own for each run; counted are its threads while it is asked."""

    def __init__(self, scratch):
        for name in ("redis-server", "redis-benchmark", "redis-cli", "taskset"):
            if not programs.shutil.which(name):
                raise programs.Missing(f"{name} is not installed")
        self.socket = os.path.join(scratch, "redis.sock")
        cpus = sorted(os.sched_getaffinity(0))
        self.argv = ["taskset", "-c", str(cpus[-1]), "redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                     "--appendonly", "no", "--dir", scratch]
        self.client = ["taskset", "-c", str(cpus[0]), "redis-benchmark", "-s", self.socket, "-q", "-P", "16", "-r", "100000",
                       "-t", "set,get,lpush", "-n", str(N_REQUESTS)]

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True).stdout

    def pid(self):
        for _ in range(400):
            for line in self.cli("info", "server").splitlines():
                if line.startswith("process_id:"):
                    return int(line.split(":")[1])
            time.sleep(0.02)
        raise RuntimeError("redis-server does not answer")

    def cpu_ms(self, prefix, env):
        server = subprocess.Popen([*prefix, *self.argv], env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            pid = self.pid()
            begin = thread_ns(pid)
            subprocess.run(self.client, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            return (thread_ns(pid) - begin) / 1e6
        finally:
            self.cli("shutdown", "nosave")
            server.wait()


def thread_ns(pid):
    """The time on a CPU of all threads that live."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path) as f:
            total += int(f.read().split()[0])
    return total


def python():
    """No script that looks for one."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def can_profile(library):
    r = subprocess.run(["/bin/true"], env={**os.environ, "LD_PRELOAD": library, "MALLOC_CONF": PROFILER + ",abort_conf:true"},
                       capture_output=True)
    return r.returncode == 0 and not r.stderr


def jemalloc(build):
    """Debian's library if it can profile, else one made of its source, once; None: there is neither."""
    for path in sorted(glob.glob("/usr/lib/*/libjemalloc.so.2")):
        if can_profile(path):
            return path
    shop = Workshop(SimpleNamespace(tools=SimpleNamespace(prefix=""), work_dir=os.path.join(os.path.abspath(build), "tests")))
    try:
        folder = os.path.dirname(os.path.dirname(shop.jemalloc_from_source("jemalloc_prof", "", "--enable-prof")))
        shop.run("make", "-j2", "lib/libjemalloc.so.2", cwd=folder)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as e:
        print(f"left out: jemalloc: Debian's library cannot profile, and its source cannot be built: {str(e)[:200]}")
        return None
    return os.path.join(folder, "lib", "libjemalloc.so.2")


def ways_for(args, scratch):
    """Name to what is put before the command, and the environment."""
    silt = [os.path.join(os.path.abspath(args.build), "silt"), "run", "-q", "-f", "-o", os.path.join(scratch, "t.silt")]
    noop = os.path.join(scratch, "noop.so")
    programs.run_compiler(["gcc", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared", os.path.join(programs.WORK, "noop.c"), "-o", noop])
    ways = {BARE: ([], {}), NOOP: ([], {"LD_PRELOAD": noop})}
    library = None if args.no_jemalloc else args.jemalloc or jemalloc(args.build)
    if library:
        ways[JEMALLOC] = ([], {"LD_PRELOAD": library})
        ways[PROFILED] = ([], {"LD_PRELOAD": library, "MALLOC_CONF": PROFILER})
    how = ["--budget", args.budget] if args.budget else ["--sample", args.sample]
    ways["silt " + " ".join(how)] = ([*silt, *how, "--"], {})
    if not args.budget:
        ways[DORMANT] = ([*silt, "--dormant", "--"], {})
    return ways


def programs_for(args, scratch):
    if args.program:
        return {"given": lambda: Program(scratch, args.program)}
    loop = programs.compiled(scratch, ["gcc", "-O2", "-fno-builtin"], "pairs.c")
    made = {
        "loop": ("malloc/free loop", lambda: Program(scratch, [loop, "12000000", "64"])),
        "redis": ("redis-server", lambda: Redis(scratch)),
        "rust": ("Rust, 8 threads", lambda: Program(
            scratch, [programs.compiled(scratch, [programs.rustc(), "-O", "-g"], "threads.rs"), "2000", "8"])),
        "tokio": ("tokio", lambda: Program(
            scratch, [programs.tokio_program(os.path.abspath(os.path.join(args.build, "bench"))), "64", "4000"])),
        "python3": ("python3 on malloc", lambda: Program(scratch, [python(), "-c", PYTHON], PYTHONMALLOC="malloc")),
    }
    return dict(made[name] for name in args.only.split(","))


def measure(program, ways, n_runs):
    names, runs = list(ways), {way: [] for way in ways}
    for turn in range(n_runs):
        first = turn % len(names)
        for way in names[first:] + names[:first]:
            runs[way].append(program.cpu_ms(*ways[way]))
    return runs


def ratio(runs, way, other):
    """The middle of what the turns say, and the middle half of them."""
    each = sorted(a / b for a, b in zip(runs[way], runs[other]))
    return statistics.median(each), each[len(each) // 4], each[-1 - len(each) // 4]


def rows(name, runs):
    for way, each in runs.items():
        of_bare, low, high = ratio(runs, way, BARE)
        yield (f"| {name} | {way} | {statistics.median(each):.0f} ms | {of_bare:.3f} | {low:.3f}–{high:.3f} | "
               f"{ratio(runs, way, NOOP)[0]:.3f} |")


def verdicts(name, runs):
    sampled = next((way for way in runs if way.startswith("silt --sample")), None)
    checks = [(sampled, *AIMS[name])] if sampled and name in AIMS else []
    if DORMANT in runs:
        checks.append((DORMANT, BARE, DORMANT_AIM))
    for way, other, aim in checks:
        got = ratio(runs, way, other)[0]
        yield f"{'ok' if got <= aim else 'MISSED'}: {name}, {way}: {got:.3f} of {other} (aim at most {aim:.2f})"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=11)
    p.add_argument("--jemalloc", metavar="LIBRARY", help="one that can profile")
    p.add_argument("--only", default="loop,redis,rust,tokio,python3")
    p.add_argument("--no-jemalloc", action="store_true", help="leave it out")
    p.add_argument("--sample", default="512K")
    p.add_argument("--budget")
    p.add_argument("--write-docs", action="store_true", help="put the table into docs/sampling.md")
    p.add_argument("program", nargs="*")
    args = p.parse_args()
    lines = ["| program | way | CPU time | of bare | middle half | of the interposer |", "| --- | --- | --: | --: | --: | --: |"]
    said = []
    with tempfile.TemporaryDirectory() as scratch:
        ways = ways_for(args, scratch)
        for name, make in programs_for(args, scratch).items():
            try:
                runs = measure(make(), ways, args.runs)
            except programs.Missing as e:
                said.append(f"left out: {name}: {e}")
                continue
            lines += rows(name, runs)
            said += verdicts(name, runs)
    print("\n".join(lines + [""] + said))
    if args.write_docs:
        head = (f"{machine.cpu_name()}, {os.cpu_count()} cores, {machine.distribution()}; medians of {args.runs} turns, "
                "CPU time of the program alone.")
        with open(DOCS) as f:
            before, rest = f.read().split(BEGIN)
        with open(DOCS, "w") as f:
            f.write("\n".join([before + BEGIN, head, "", *lines, "", *(f"- {x}" for x in said), END]) + rest.split(END)[1])
    return 0 if not any(x.startswith("MISSED") for x in said) else 1


if __name__ == "__main__":
    sys.exit(main())
