#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `silt run --sample` costs, in its parts: instructions of the program alone, with an interposer that does nothing, and sampled (callgrind, so
whatever else the machine does has no part in it), and what starting takes, which a program pays once.

Instructions are those of a program that does more, less those of the same that does less: start and end cancel out. The start: a program that
does nothing, CPU time of its own and wall time to its end, least of several runs.

  bench/sample_parts.py --build build [--only loop,rust,tokio,redis] [--write-docs]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(os.path.dirname(HERE), "docs", "sampling.md")
sys.path.insert(0, HERE)

from measure import programs  # noqa: E402
from run import fill  # noqa: E402

BARE, NOOP, SAMPLED = "bare", "no-op interposer", "silt --sample 512K"
N_STARTS = 15


def calls(out):
    """A library that counts them, and prints malloc, free, calloc, realloc and malloc_usable_size."""
    return programs.compiled(out, ["gcc", "-O2", "-fno-builtin", "-shared", "-fPIC"], "calls.c", suffix=".so")


class Program:
    """argv_of: a number of rounds to what is run."""

    def __init__(self, argv_of, few, many):
        self.argv_of, self.few, self.many = argv_of, few, many

    def run(self, prefix, n, env):
        return subprocess.run([*prefix, *self.argv_of(n)], env={**os.environ, **env}, check=True, capture_output=True, text=True)


class Redis:
    """A round is a request; the server is asked by redis-benchmark, which is not counted."""
    few, many = 4000, 20000

    def __init__(self, scratch):
        for name in ("redis-server", "redis-benchmark", "redis-cli"):
            if not programs.shutil.which(name):
                raise programs.Missing(f"{name} is not installed")
        self.socket, self.scratch = os.path.join(scratch, "redis.sock"), scratch

    def run(self, prefix, n, env):
        server = subprocess.Popen([*prefix, "redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--appendonly", "no",
                                   "--dir", self.scratch], env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        client = programs.RedisClient(self.socket, n)
        if client.wait(server):
            client.run()
            client.stop()
        said = server.communicate()[1]
        return subprocess.CompletedProcess([], server.returncode, "", said)


class Bench:
    def __init__(self, build, scratch):
        self.scratch, out = scratch, os.path.abspath(os.path.join(build, "bench"))
        os.makedirs(out, exist_ok=True)
        silt = [os.path.abspath(os.path.join(build, "silt")), "run", "-q", "-f", "--no-symbols", "-o", os.path.join(scratch, "t.silt")]
        self.ways = {BARE: ([], {}), NOOP: ([], {"LD_PRELOAD": programs.noop(out)}), SAMPLED: ([*silt, "--sample", "512K", "--"], {})}
        self.calls = calls(out)

    def instructions(self, program, way, n):
        kept = os.path.join(self.scratch, "callgrind.out")
        prefix, env = self.ways[way]
        program.run([*prefix, "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={kept}"], n, env)
        with open(kept, encoding="utf-8") as f:
            return int(re.search(r"^summary: (\d+)", f.read(), re.M)[1])

    def added(self, program, way):
        return self.instructions(program, way, program.many) - self.instructions(program, way, program.few)

    def n_calls(self, program):
        """malloc, free, calloc, realloc, malloc_usable_size between few and many rounds."""
        told = [re.search(r"^calls: ([0-9 ]+)$", program.run([], n, {"LD_PRELOAD": self.calls}).stderr, re.M)[1].split()
                for n in (program.few, program.many)]
        return [int(b) - int(a) for a, b in zip(*told)]

    def start(self, argv):
        """{way: CPU ms of the program, wall ms to its end}, taken in turn."""
        cputime, file = programs.compiled(self.scratch, ["gcc", "-O2"], "cputime.c"), os.path.join(self.scratch, "ns")
        least = {way: [1e9, 1e9] for way in self.ways}
        for _ in range(N_STARTS):
            for way, (prefix, env) in self.ways.items():
                before = time.monotonic()
                subprocess.run([*prefix, cputime, file, str(max(os.sched_getaffinity(0))), *argv], env={**os.environ, **env}, check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                wall = (time.monotonic() - before) * 1e3
                with open(file, encoding="utf-8") as f:
                    cpu = int(f.read().split()[0]) / 1e6
                least[way] = [min(least[way][0], cpu), min(least[way][1], wall)]
        return least


def makers(scratch, out):
    def rust():
        program = programs.compiled(out, [programs.rustc(), "-O", "-g", "--edition", "2021"], "threads.rs")
        return Program(lambda n: [program, str(n), "8"], 5, 45)

    def tokio():
        program = programs.tokio_program(out)
        return Program(lambda n: [program, "8", str(n)], 50, 850)

    def loop():
        program = programs.compiled(out, ["gcc", "-O2", "-fno-builtin"], "pairs.c")
        return Program(lambda n: [program, str(n), "64"], 20_000, 120_000)

    return {"loop": ("malloc/free loop", loop), "rust": ("Rust, 8 threads", rust), "tokio": ("tokio", tokio),
            "redis": ("redis-server", lambda: Redis(scratch))}


def rows(bench, name, program):
    n = bench.n_calls(program)
    n_calls = sum(n[:4])
    found = {way: bench.added(program, way) for way in bench.ways}
    noop, ours = (found[way] - found[BARE] for way in (NOOP, SAMPLED))
    yield (f"| {name} | {n[0]:,} / {n[1]:,} / {n[2] + n[3]:,} / {n[4]:,} | {found[BARE] / n_calls:.0f} | {noop / n_calls:.1f} | "
           f"{ours / n_calls:.1f} | {found[NOOP] / found[BARE]:.3f} | {found[SAMPLED] / found[BARE]:.3f} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--only", default="loop,rust,tokio,redis")
    p.add_argument("--write-docs", action="store_true", help="put the tables into docs/sampling.md")
    args = p.parse_args()
    lines = ["| program | malloc / free / calloc and realloc / malloc_usable_size | instructions per call, bare | no-op adds | sampled adds "
             "| no-op, of bare | sampled, of bare |", "| --- | --: | --: | --: | --: | --: | --: |"]
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(args.build, scratch)
        for name, make in (makers(scratch, os.path.abspath(os.path.join(args.build, "bench")))[x] for x in args.only.split(",")):
            try:
                lines += rows(bench, name, make())
            except programs.Missing as e:
                print(f"left out: {name}: {e}")
        start = bench.start(["/bin/true"])
    lines += ["", "| a program that does nothing | CPU | wall |", "| --- | --: | --: |"]
    lines += [f"| {way} | {cpu:.1f} ms | {wall:.0f} ms |" for way, (cpu, wall) in start.items()]
    print("\n".join(lines))
    if args.write_docs:
        fill(DOCS, "parts", "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
