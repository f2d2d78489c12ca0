#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows which tests of the gate (tests/gate.txt) are not steady: runs them again and again, each time in another order and under another
condition, and prints how often each failed.

  tools/steady.py --build build                      100 runs: quiet, loaded, short of memory, with a clock that jumps, in turn
  tools/steady.py --list FILE                        tests that may enter: FILE is like tests/gate.txt
  tools/steady.py --runs 20 --only '^report_json/'   some of them
  tools/steady.py --conditions loaded,memory

A test enters the gate after 100 of 100. Takes minutes a run: leave it alone with the machine."""

import argparse
import collections
import json
import mmap
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT_BYTES = 1 << 30  # that a run has where memory is short
JUMP_S, JUMP_EACH_S = 2.0, 0.05


def be_busy():
    while True:
        pass


def available_bytes():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable"))


def hold_memory():
    """All but KEPT_BYTES, and page after page touched again, so that none is thought idle."""
    n_bytes = max(0, available_bytes() - KEPT_BYTES)
    held = mmap.mmap(-1, n_bytes or mmap.PAGESIZE)
    while True:
        for at in range(0, len(held), mmap.PAGESIZE):
            held[at] = 1
        time.sleep(5)


def move_clock():
    """The time of day, back and forth; afterwards it is as it was."""
    ahead = 0.0
    try:
        while True:
            step = JUMP_S if ahead <= 0 else -JUMP_S
            time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + step)
            ahead += step
            time.sleep(JUMP_EACH_S)
    finally:
        if ahead:
            time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) - ahead)


def until_terminated(function):
    """SIGTERM ends it by way of its `finally`."""
    import signal
    signal.signal(signal.SIGTERM, lambda *ignored: sys.exit(0))
    function()


CONDITIONS = {"quiet": [], "loaded": [be_busy] * (2 * (os.cpu_count() or 1)), "memory": [hold_memory], "clock": [move_clock]}


def run_once(options, no, condition, failures):
    """How many tests ran."""
    disturbers = [multiprocessing.Process(target=until_terminated, args=(f,)) for f in CONDITIONS[condition]]
    for one in disturbers:
        one.start()
    try:
        with tempfile.NamedTemporaryFile(suffix=".json") as summary:
            command = [sys.executable, os.path.join(ROOT, "tests/run.py"), "--build", options.build, "--gate", options.list, "--shuffle", str(no),
                       "--summary-file", summary.name, *(["--only", options.only] if options.only else [])]
            begin = time.monotonic()
            r = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            seconds = time.monotonic() - begin
            try:
                counts = json.load(summary)
            except ValueError:
                sys.exit(f"tests/run.py: status {r.returncode}: {(r.stdout + r.stderr)[-2000:]}")
    finally:
        for one in disturbers:
            one.terminate()
            one.join()
    names = [*counts["failures"], *counts["unsteady"]]
    for name in names:
        failures[name][condition] += 1
    print(f"run {no}, {condition}: {counts['passed'] + counts['failed']} tests in {seconds:.0f} s: {', '.join(names) or 'all passed'}", flush=True)
    if names and options.keep:
        with open(os.path.join(options.keep, f"steady.{no}.{condition}"), "w") as f:
            f.write(r.stdout + r.stderr)
    return counts["passed"] + counts["failed"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=100)
    p.add_argument("--first", type=int, default=1, metavar="N", help="the number of the first order (default: 1)")
    p.add_argument("--list", default=os.path.join(ROOT, "tests/gate.txt"), metavar="FILE", help="names of tests (default: tests/gate.txt)")
    p.add_argument("--only", metavar="REGEX", help="only those whose name matches")
    p.add_argument("--conditions", default=",".join(CONDITIONS), help=f"in turn; of {', '.join(CONDITIONS)}")
    p.add_argument("--keep", metavar="FOLDER", help="for what runs with failures printed")
    options = p.parse_args()
    conditions = options.conditions.split(",")
    if set(conditions) - set(CONDITIONS):
        p.error(f"no such condition: {', '.join(set(conditions) - set(CONDITIONS))}")
    if "clock" in conditions and os.getuid() != 0:
        p.error("only root can set the clock: leave 'clock' out of --conditions")
    failures, n_tests = collections.defaultdict(collections.Counter), 0
    for i in range(options.runs):
        n_tests += run_once(options, options.first + i, conditions[i % len(conditions)], failures)
    print(f"{options.runs} runs, {n_tests} verdicts")
    for name, counts in sorted(failures.items(), key=lambda item: -item[1].total()):
        print(f"{counts.total():4d} of {options.runs}  {name}: {', '.join(f'{c} {n}' for c, n in counts.items())}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
