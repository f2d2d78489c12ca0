#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast large traces are read: makes one of so many million events (bench/long_run.c, no bound), then asks it.

  bench/trace_read.py --build build [--millions 100] [--folder DIR] [--keep]

Prints for `silt report`, of the whole and of windows, by group, as trees and histograms, and for reading all events: seconds of
wall and of CPU, peak memory, the share of the file that was read. Exit status 1 when an aim is missed: 2 s, 285 MiB and 5 % up to 100 million events,
10 s and 475 MiB above; 50 million events a second. Views that need the rows of every slice, or every event, are only shown. Seconds of CPU are what counts: others may be at work on the machine."""

import argparse
import json
import os
import re
import subprocess
import sys
import time


def measure(argv, fine=(0,)):
    """(seconds, CPU seconds, peak bytes, bytes read) of a command whose output is thrown away; `fine`: exit statuses."""
    begin = time.monotonic()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.monotonic() - begin
    with open(f"/proc/{child.pid}/io") as f:
        n_read = int(re.search(r"rchar: (\d+)", f.read())[1])
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in fine:
        sys.exit(f"trace_read: {' '.join(argv)}: status {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, n_read


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--millions", type=int, default=100)
    p.add_argument("--folder", default="/var/tmp")
    p.add_argument("--keep", action="store_true", help="leave the trace there, and use it again")
    options = p.parse_args()
    subprocess.run(["ninja", "--quiet", "-C", options.build, "src/trace/bench_trace_read", "src/pipeline/bench_long_run"],
                   stdout=subprocess.DEVNULL, check=True)
    silt = os.path.join(options.build, "silt")
    trace = os.path.join(options.folder, f"trace_read.{options.millions}.silt")
    if not (options.keep and os.path.exists(trace)):
        made = subprocess.run([os.path.join(options.build, "src/pipeline/bench_long_run"), trace, str(options.millions)],
                              stdout=subprocess.PIPE, check=True)
        print(made.stdout.decode().strip())
    size = os.stat(trace).st_size
    report = json.loads(subprocess.run([silt, "report", "--json", trace], stdout=subprocess.PIPE, check=True).stdout)
    end_s, n_events = report["duration_s"], report["overhead"]["events"]
    print(f"{n_events:,} events, {size / 2**20:.0f} MiB, {size / n_events:.2f} bytes each, {end_s / 3600:.1f} h")

    max_s, max_bytes = (2, 285 << 20) if options.millions <= 100 else (10, 475 << 20)
    asked = [("report", [])]
    for begin, end in ((0.5, 0.6), (0.1, 0.9), (0.999, 1), (0.33, 0.3301)):
        window = ["--from", f"{begin * end_s:.3f}s", "--to", f"{end * end_s:.3f}s"]
        asked.append((f"report {begin:g} to {end:g}", window))
    for view in ("--group-by function", "--group-by site", "--tree", "--bottom-up"):
        asked.append((f"report {view}", view.split()))
    costly = ["--group-by function --json", "--histogram lifetime", "--histogram size", "--group-by thread"]
    asked += [(f"report {view}", view.split()) for view in costly]
    n_missed = 0
    for name, how in asked:
        seconds, cpu, peak, n_read = measure([silt, "report", *how, trace])
        has_aim = name.removeprefix("report ") not in costly
        missed = has_aim and (cpu > max_s or peak > max_bytes or n_read > 0.05 * size)
        n_missed += missed
        print(f"{name:34} {seconds:6.2f} s, {cpu:6.2f} s CPU, {peak / 2**20:5.0f} MiB, {100 * n_read / size:5.2f} % read"
              f"{'  MISSED' if missed else ''}")
    text = subprocess.run([os.path.join(options.build, "src/trace/bench_trace_read"), trace, "0"],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    rates = [float(x) for x in re.findall(r"read: +([\d.]+) M", text)]
    n_missed += max(rates) < 50
    print(f"all events: {max(rates)} million a second of CPU{'  MISSED' if max(rates) < 50 else ''}")
    if not options.keep:
        os.unlink(trace)
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())
