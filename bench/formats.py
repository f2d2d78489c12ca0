#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a large trace takes in each format, there and back: makes one of so many million events (bench/long_run.c), or uses the one of
bench/trace_read.py --keep, exports it in every format, and reads each file again.

  bench/formats.py --build build [--millions 100] [--small 10] [--folder DIR] [--keep] [--only REGEX] [--write-docs]
  bench/formats.py --build build --heaptrack FILE

Formats that write a line for each event in plain text make files of many gigabytes: those are made of a trace of --small million events. With
--heaptrack, silt import and heaptrack_print read that recording in turn, five times each. Prints seconds of wall and of CPU, and peak memory; --write-docs puts
the table into docs/formats.md."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "docs", "formats.md")
BEGIN, END = "<!-- formats: begin (written by bench/formats.py --write-docs) -->\n", "<!-- formats: end -->\n"
SUMS = ("callgrind", "csv", "folded", "gperftools", "jeprof", "pprof", "speedscope", "perfetto", "massif", "dhat")
EVENTS = ("heaptrack", "sqlite", "perf-script", "firefox", "json")
LARGE = ("perf-script", "firefox", "json", "sqlite")
READ = ("dhat", "folded", "gperftools", "heaptrack", "jeprof", "massif", "perf-script", "pprof")


def measure(argv):
    """(seconds, CPU seconds, peak bytes) of a command whose output is thrown away."""
    begin = time.monotonic()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"formats: {' '.join(argv)}: status {child.returncode}: {errors.strip()}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def make(build, folder, millions, keep):
    """The trace of so many million events, and how many it has."""
    trace = os.path.join(folder, f"trace_read.{millions}.silt")
    if not (keep and os.path.exists(trace)):
        subprocess.run(["ninja", "--quiet", "-C", build, "src/pipeline/bench_long_run"], stdout=subprocess.DEVNULL, check=True)
        subprocess.run([os.path.join(build, "src/pipeline/bench_long_run"), trace, str(millions)], stdout=subprocess.DEVNULL, check=True)
    report = json.loads(subprocess.run([os.path.join(build, "silt"), "report", "--json", trace], stdout=subprocess.PIPE, check=True).stdout)
    return trace, report["overhead"]["events"]


def size_text(n):
    return next(f"{n / 2**shift:.{1 if n < 10 << shift else 0}f} {unit}" for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "bytes"))
                if n >= 1 << shift or not shift)


def seconds_text(s):
    return f"{s:.2f} s" if s < 10 else f"{s:.0f} s"


def compare_heaptrack(silt, path):
    """Both read the same recording, in turn."""
    printer = ["heaptrack_print", path]
    rows = {"silt import": [], "heaptrack_print": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(5):
            rows["silt import"].append(measure([silt, "import", "-f", "-o", os.path.join(folder, "x.silt"), path]))
            rows["heaptrack_print"].append(measure(printer))
    for name, runs in rows.items():
        seconds = [r[0] for r in runs]
        print(f"{name:16} {statistics.median(seconds):6.2f} s ({min(seconds):.2f} to {max(seconds):.2f}),"
              f" {statistics.median(r[1] for r in runs):6.2f} s CPU, {max(r[2] for r in runs) / 2**20:4.0f} MiB", flush=True)
    faster = statistics.median(r[0] for r in rows["silt import"]) < statistics.median(r[0] for r in rows["heaptrack_print"])
    return 0 if faster else 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--millions", type=int, default=100)
    p.add_argument("--small", type=int, default=10, help="million events, for formats that make large files")
    p.add_argument("--folder", default="/var/tmp")
    p.add_argument("--keep", action="store_true", help="leave the traces there, and use them again")
    p.add_argument("--only", default="", help="formats that match")
    p.add_argument("--heaptrack", help="a recording that heaptrack made")
    p.add_argument("--write-docs", dest="write_docs", action="store_true", help="put the table into docs/formats.md")
    o = p.parse_args()
    silt = os.path.join(o.build, "silt")
    if o.heaptrack:
        return compare_heaptrack(silt, o.heaptrack)
    large, small = make(o.build, o.folder, o.millions, o.keep), make(o.build, o.folder, o.small, o.keep)
    lines = [f"Recordings of {large[1]:,} events ({size_text(os.stat(large[0]).st_size)}) and, where it says so, of {small[1]:,};"
             " CPU seconds, and the most memory that `silt export` and `silt import` took:", "",
             "| format | written in | memory | file | read in | memory |", "| --- | --: | --: | --: | --: | --: |"]
    for name in SUMS + EVENTS:
        if not re.search(o.only, name):
            continue
        trace = small[0] if name in LARGE else large[0]
        with tempfile.TemporaryDirectory(dir=o.folder) as folder:
            path = os.path.join(folder, "x.zst" if name == "heaptrack" else "x")
            _, write_cpu, write_peak = measure([silt, "export", "-f", "--format", name, "-o", path, trace])
            size = os.stat(path).st_size
            back = " | |"
            if name in READ:
                _, read_cpu, read_peak = measure([silt, "import", "-f", "-o", os.path.join(folder, "back.silt"), path])
                back = f" {seconds_text(read_cpu)} | {size_text(read_peak)} |"
        which = f", of {small[1]:,} events" if name in LARGE else ""
        lines.append(f"| {name}{which} | {seconds_text(write_cpu)} | {size_text(write_peak)} | {size_text(size)} |{back}")
        print(lines[-1], flush=True)
    if o.write_docs:
        with open(DOCS) as f:
            text = f.read()
        if BEGIN not in text or END not in text:
            sys.exit(f"formats: {DOCS} has no place for the table")
        with open(DOCS, "w") as f:
            f.write(text[:text.index(BEGIN) + len(BEGIN)] + "\n".join(lines) + "\n" + text[text.index(END):])
    if not o.keep:
        for trace in {large[0], small[0]}:
            os.unlink(trace)
    return 0


if __name__ == "__main__":
    sys.exit(main())
