#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one allocation and one release cost in the target, beyond what they cost without silt.

Instructions: callgrind counts those of a program with few pairs and of the same with more; the difference is what the
pairs between cost, without start and end. A program that only allocates tells malloc from free. Nanoseconds: the
thread's CPU time per pair, best of many rounds, with a recorder beside it.

  bench/budget.py [--build build] [--json FILE] [--write-docs]
  bench/budget.py --files 16                   where the instructions of a pair at depth 16 are spent
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from measure import machine, programs  # noqa: E402
from run import DOCS, fill  # noqa: E402

N_FEW, N_MANY = 4_000, 24_000  # pairs under callgrind; after the few, caches and rings have their size
N_TIMED, N_ROUNDS, N_TURNS = 20_000, 40, 5


class Bench:
    def __init__(self, build, scratch):
        out = os.path.abspath(os.path.join(build, "bench"))
        os.makedirs(out, exist_ok=True)
        self.site = programs.compiled(out, programs.LOOP_CC, "site.c")
        self.loop = programs.compiled(out, programs.LOOP_CC, "loop.c")
        self.silt = [os.path.abspath(os.path.join(build, "silt")), "run", "-q", "-f", "-o", os.path.join(scratch, "b.silt"), "--"]
        self.scratch = scratch

    def output(self, is_recorded, argv):
        return subprocess.run([*(self.silt if is_recorded else []), *argv], check=True, capture_output=True, text=True).stdout

    def instructions(self, is_recorded, argv):
        kept = os.path.join(self.scratch, "callgrind.out")
        self.output(is_recorded, ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={kept}", *argv])
        with open(kept, encoding="utf-8") as f:
            return int(re.search(r"^summary: (\d+)", f.read(), re.M)[1])

    def files(self, argv_of):
        """{source file of the runtime: instructions per pair}; callgrind mistakes functions where there are tail calls."""
        totals = []
        for n in (N_FEW, N_MANY):
            self.instructions(True, argv_of(n))
            said = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", os.path.join(self.scratch, "callgrind.out")],
                                  check=True, capture_output=True, text=True).stdout
            found = {}
            for number, name in re.findall(r"^ *([0-9,]+) \([^)]*\)\s+\S*src/((?:hook|unwind|wire)/\w+\.\w):", said, re.M):
                found[name] = found.get(name, 0) + int(number.replace(",", ""))
            totals.append(found)
        return {name: (n - totals[0].get(name, 0)) / (N_MANY - N_FEW) for name, n in totals[1].items()}

    def added_per_pair(self, program):
        """Instructions that silt adds to a pair; `program` makes argv of a number of pairs."""
        per_pair = [(self.instructions(r, program(N_MANY)) - self.instructions(r, program(N_FEW))) / (N_MANY - N_FEW)
                    for r in (False, True)]
        return per_pair[1] - per_pair[0]

    def bare_per_pair(self, program):
        return (self.instructions(False, program(N_MANY)) - self.instructions(False, program(N_FEW))) / (N_MANY - N_FEW)

    def ns_per_pair(self, depth):
        """Bare and recorded, taken in turn."""
        argv = [self.site, str(depth), str(N_TIMED), str(N_ROUNDS)]
        turns = [(float(self.output(False, argv)), float(self.output(True, argv))) for _ in range(N_TURNS)]
        return min(t[0] for t in turns), min(t[1] for t in turns)


def count(bench):
    rows = []
    for depth in (4, 16, 64):
        pair = bench.added_per_pair(lambda n: [bench.site, str(depth), str(n)])
        malloc = bench.added_per_pair(lambda n: [bench.site, str(depth), str(n), "1", "hold"])
        tree = bench.added_per_pair(lambda n: [bench.loop, str(depth), "1", str(n)])
        bare_ns, ns = bench.ns_per_pair(depth)
        row = {"depth": depth, "malloc": round(malloc), "free": round(pair - malloc), "pair_in_call_tree": round(tree),
               "bare_ns": round(bare_ns, 1), "recorded_ns": round(ns, 1)}
        rows.append(row)
        print(f"{depth:5} {row['malloc']:14} {row['free']:12} {row['pair_in_call_tree']:16} {bare_ns:13.1f} {ns:13.1f}", flush=True)
    return rows


def print_files(bench, depth):
    same = bench.files(lambda n: [bench.site, str(depth), str(n)])
    tree = bench.files(lambda n: [bench.loop, str(depth), "1", str(n)])
    print(f"instructions of the runtime per pair at depth {depth}\n same site  call tree  file")
    for name in sorted(tree, key=lambda x: -tree[x]):
        if max(tree[name], same.get(name, 0)) >= 1:
            print(f"{same.get(name, 0):10.1f} {tree[name]:10.1f}  {name}")
    print(f"{sum(same.values()):10.1f} {sum(tree.values()):10.1f}  together")


def markdown(result):
    out = [machine.in_words(result["machine"]) + ".", "",
           "| call depth | malloc, same site | free | a pair in the call tree of *loop* | bare pair | recorded pair, same site |",
           "| --: | --: | --: | --: | --: | --: |"]
    for r in result["rows"]:
        out.append(f"| {r['depth']} | +{r['malloc']} instructions | +{r['free']} | +{r['pair_in_call_tree']} | "
                   f"{r['bare_ns']:.1f} ns | {r['recorded_ns']:.1f} ns |")
    return "\n".join(out) + f"\n\nWithout silt a pair is {result['bare_instructions']} instructions.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--json", default="", metavar="FILE")
    parser.add_argument("--write-docs", action="store_true", help="the table into docs/overhead.md")
    parser.add_argument("--files", type=int, default=0, metavar="DEPTH", help="instructions by source file of the runtime, at this depth")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(args.build, scratch)
        if args.files:
            print_files(bench, args.files)
            return 0
        print("      ---- instructions silt adds to a ------------- | -- ns per pair, same site --")
        print("depth  malloc there     free there  pair, call tree          bare      recorded")
        result = {"schema": "silt.budget/1", "machine": machine.describe(os.path.join(args.build, "silt")), "rows": count(bench),
                  "bare_instructions": round(bench.bare_per_pair(lambda n: [bench.site, "16", str(n)]))}
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
    if args.write_docs:
        fill(os.path.join(DOCS, "overhead.md"), "budget", markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
