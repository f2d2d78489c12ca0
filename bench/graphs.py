#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one look at a process takes (docs/holders.md): how long it stands still, by a thread of its own that reads the clock, and how long silt takes.

  bench/graphs.py --build build [--rounds 9] [--blocks 1000000,10000000] [--megabytes 0,1024,4096]

Each size is a process of its own. A round is one copy alone (freeze), one `silt leaks PID` and one `silt holders PID`. The middle and the least of all rounds
are told, and, to know what the machine itself does, the longest time between two readings while silt was not there."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Heap:
    """workloads/heap.c."""

    def __init__(self, binary, blocks, megabytes):
        self.process = subprocess.Popen([binary, str(blocks), str(megabytes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("it did not start")
        self.pid = self.process.pid

    def longest_ms(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[0]) / 1000

    def resident_gb(self):
        with open(f"/proc/{self.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:")) / 1e6

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def middle(values):
    return f"{statistics.median(values):.2f} (least {min(values):.2f}, most {max(values):.2f})"


def timed(argv):
    begin = time.monotonic()
    r = subprocess.run(argv, capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stderr)
    return time.monotonic() - begin, r.stdout


def measure(options, heap):
    """Of each round: idle gap, pause inside (ms), pause by silt (ms), seconds of leaks and of holders."""
    silt, freeze = os.path.join(options.build, "silt"), os.path.join(options.build, "src/attach/freeze")
    rounds = []
    for _ in range(options.rounds):
        heap.longest_ms()
        time.sleep(0.3)
        idle_ms = heap.longest_ms()
        _, said = timed([freeze, str(heap.pid), "1"])
        inside_ms = heap.longest_ms()
        leaks_s, answer = timed([silt, "leaks", str(heap.pid), "--json"])
        leaks_ms = json.loads(answer)["pause_s"] * 1e3
        holders_s, _ = timed([silt, "holders", str(heap.pid), "--json"])
        rounds.append((idle_ms, inside_ms, int(said.split()[0]) / 1000, leaks_ms, leaks_s, holders_s))
    return list(zip(*rounds))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--blocks", default="1000000,10000000")
    p.add_argument("--megabytes", default="1024,4096")
    options = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "heap")
        subprocess.run(["gcc", "-O2", "-pthread", "-o", binary, os.path.join(HERE, "workloads/heap.c")], check=True)
        sizes = [(int(n), 0) for n in options.blocks.split(",") if n] + [(1000, int(m)) for m in options.megabytes.split(",") if m]
        for blocks, megabytes in sizes:
            heap = Heap(binary, blocks, megabytes)
            idle, inside, by_silt, leaks_ms, leaks_s, holders_s = measure(options, heap)
            gb = heap.resident_gb()
            heap.end()
            print(f"{blocks:,} blocks, {gb:.2f} GB resident")
            print(f"  no reading of the clock for so many ms: {middle(inside)}; without silt: {middle(idle)}; per GB resident: {statistics.median(inside) / gb:.1f}")
            print(f"  stood still by silt's own count, ms: {middle(by_silt)}; in silt leaks: {middle(leaks_ms)}")
            print(f"  silt leaks PID, s: {middle(leaks_s)}; silt holders PID, s: {middle(holders_s)}", flush=True)


if __name__ == "__main__":
    main()
