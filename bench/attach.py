#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What attaching leaves behind: CPU time of the same work in one process before and after silt was there.

  bench/attach.py --build build [--rounds 7] [--json FILE]

Every round starts each program afresh for each way and has it do the same work some times, then (never) nothing, (before) three recordings that are over,
or (now, sampled) one that goes on, then the work again. The ratio of both halves, middle of all rounds, is told as one of "never": what a process costs later in its
life is no matter of silt's. Also how long threads were stopped for silt."""
import argparse
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from measure import machine  # noqa: E402

PYTHON = """
import sys, time
for line in sys.stdin:
    begin = time.process_time_ns()
    for _ in range(int(line)):
        d = {str(i): [i] * 20 for i in range(200)}
    print(time.process_time_ns() - begin, flush=True)
"""
WAYS = ("never", "before", "now", "sampled")
N_ATTACHES = 3


class Talker:
    """A program that works when it is told to, and says what it took."""

    def __init__(self, argv, amount):
        self.amount = amount
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid

    def turn(self):
        self.process.stdin.write(f"{self.amount}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        if self.process.wait():
            raise RuntimeError(f"{self.process.args}: {self.process.returncode}")


class Redis:
    """redis-server, by the CPU time that it takes for so many requests."""

    def __init__(self, amount):
        self.amount = amount
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--save", ""], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        while True:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)

    def cpu_ns(self):
        tasks = f"/proc/{self.pid}/task"
        return sum(int(open(f"{tasks}/{tid}/schedstat").read().split()[0]) for tid in os.listdir(tasks))

    def turn(self):
        begin = self.cpu_ns()
        subprocess.run(["redis-benchmark", "-p", str(self.port), "-n", str(self.amount), "-r", "10000", "-c", "10", "-d", "100", "-q",
                        "-t", "set"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.cpu_ns() - begin

    def end(self):
        self.process.terminate()
        if self.process.wait():
            raise RuntimeError(f"redis-server: {self.process.returncode}")


class Silt:
    """silt attach, until it is ended."""

    def __init__(self, silt, pid, trace, *options):
        self.process = subprocess.Popen([silt, "attach", str(pid), "-f", "-o", trace, "--no-symbols", *options], stderr=subprocess.PIPE,
                                        start_new_session=True, bufsize=0)
        self.said = b""
        while b"recording process" not in self.said:
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError(self.said.decode())
            self.said += line

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.said += self.process.communicate()[1]
        if self.process.returncode:
            raise RuntimeError(self.said.decode())
        return [float(x) for x in re.findall(r"were stopped for ([\d.]+) ms", self.said.decode())]


class Bench:
    def __init__(self, build, scratch, turns):
        self.silt, self.trace, self.turns = os.path.join(os.path.abspath(build), "silt"), os.path.join(scratch, "t.silt"), turns
        self.pauses_ms = []

    def half(self, program):
        return statistics.median(program.turn() for _ in range(self.turns))

    def attach(self, program, *options):
        return Silt(self.silt, program.pid, self.trace, *options)

    def once(self, start, way):
        """Work afterwards to work before."""
        program = start()
        program.turn()
        first, silt = self.half(program), None
        for _ in range(N_ATTACHES if way == "before" else 0):
            silt = self.attach(program)
            program.turn()
            self.pauses_ms += silt.end()
        if way in ("now", "sampled"):
            silt = self.attach(program, *(["--sample", "512K"] if way == "sampled" else []))
        second = self.half(program)
        if way in ("now", "sampled"):
            self.pauses_ms += silt.end()
        program.end()
        return second / first


def programs(scratch):
    turns = os.path.join(scratch, "turns")
    subprocess.run(["gcc", "-O2", "-fno-builtin", os.path.join(HERE, "workloads", "turns.c"), "-o", turns], check=True)
    return {"C loop": lambda: Talker([turns], 1000000), "python3": lambda: Talker(["/usr/bin/python3", "-c", PYTHON], 1500),
            "redis-server": lambda: Redis(10000)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turns", type=int, default=5, help="of the work in each half")
    parser.add_argument("--json", default="", metavar="FILE")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(args.build, scratch, args.turns)
        print(f"{'CPU time to that of never':14} {'before':>8} (min-max)     {'now':>8} {'sampled':>8}   pauses, ms: middle, longest", flush=True)
        for name, start in programs(scratch).items():
            bench.pauses_ms, ratios = [], {way: [] for way in WAYS}
            for i in range(args.rounds):
                for way in (WAYS, WAYS[::-1])[i % 2]:
                    ratios[way].append(bench.once(start, way))
            never = statistics.median(ratios["never"])
            row = {"program": name, "never": never, **{way: statistics.median(ratios[way]) / never for way in WAYS[1:]},
                   "before_min": min(ratios["before"]) / never, "before_max": max(ratios["before"]) / never,
                   "pause_ms": statistics.median(bench.pauses_ms), "longest_pause_ms": max(bench.pauses_ms)}
            rows.append(row)
            print(f"{name:25} {row['before']:8.3f} ({row['before_min']:.3f}-{row['before_max']:.3f}) {row['now']:8.3f} {row['sampled']:8.3f}"
                  f"   {row['pause_ms']:.1f}, {row['longest_pause_ms']:.1f}", flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"schema": "silt.attach/1", "machine": machine.describe(os.path.join(args.build, "silt")), "rows": rows}, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
