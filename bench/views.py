#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a look at a large trace costs: makes two of so many million events (bench/long_run.c: 50,000 call paths of 17 frames, names of
6,000 functions with inlined ones among them, source files, a live set that grows), then asks each command.

  bench/views.py --build build [--millions 100] [--folder DIR] [--keep] [--json FILE] [--only REGEX]

Prints seconds of CPU and of wall, peak memory and the share of the file that was read, as a table and as JSON. Exit status 1 when an
aim is missed: 3 s of CPU and 475 MiB. Seconds of CPU are what counts: others may be at work on the machine."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trace_read import measure  # noqa: E402

MAX_CPU_S, MAX_BYTES = 3, 475 << 20


def make(options, number):
    """A trace, with its sources in a folder beside it."""
    trace = os.path.join(options.folder, f"views.{options.millions}.{number}.silt")
    sources = os.path.join(options.folder, "src")
    os.makedirs(sources, exist_ok=True)
    if not (options.keep and os.path.exists(trace)):
        maker = os.path.join(options.build, "src/pipeline/bench_long_run")
        subprocess.run([maker, trace, str(options.millions), "0", sources, str(number)], stdout=subprocess.DEVNULL, check=True)
    return trace


def views(silt, old, new, folder):
    """(name, command, files read): what is asked, cheapest first."""
    picture = os.path.join(folder, "views.svg")
    one, two = [new], [old, new]
    return [
        ("report", [silt, "report", new], one),
        ("report --json", [silt, "report", "--json", new], one),
        ("report --tree", [silt, "report", "--tree", new], one),
        ("flame", [silt, "flame", new, "-f", "-o", picture], one),
        ("flame --reverse .html", [silt, "flame", new, "--reverse", "-f", "-o", picture.replace("svg", "html")], one),
        ("diff", [silt, "diff", old, new], two),
        ("diff --json", [silt, "diff", "--json", old, new], two),
        ("source FUNCTION", [silt, "source", new, "step_1234"], one),
        ("source FILE", [silt, "source", new, "part_07.cc"], one),
        ("source main --json", [silt, "source", new, "main", "--json"], one),
    ]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--millions", type=int, default=100)
    p.add_argument("--folder", default="/var/tmp/silt-views")
    p.add_argument("--keep", action="store_true", help="leave the traces there, and use them again")
    p.add_argument("--json", help="write the figures to FILE too")
    p.add_argument("--only", default="", help="views whose name matches REGEX")
    options = p.parse_args()
    subprocess.run(["ninja", "--quiet", "-C", options.build, "src/pipeline/bench_long_run", "silt"], stdout=subprocess.DEVNULL,
                   check=True)
    silt = os.path.join(options.build, "silt")
    old, new = make(options, 0), make(options, 1)
    sizes = {path: os.stat(path).st_size for path in (old, new)}
    print(f"{options.millions} million events, {sizes[new] / 2**20:.0f} MiB\n")
    print(f"{'view':24} {'CPU':>8} {'wall':>8} {'memory':>8} {'read':>8}")
    rows = []
    for name, argv, files in views(silt, old, new, options.folder):
        if not re.search(options.only, name):
            continue
        wall, cpu, peak, n_read = measure(argv, (0, 1) if argv[1] == "diff" else (0,))
        share = n_read / sum(sizes[path] for path in files)
        missed = cpu > MAX_CPU_S or peak > MAX_BYTES
        rows.append({"view": name, "cpu_s": round(cpu, 3), "wall_s": round(wall, 3), "peak_rss_bytes": peak,
                     "read_pct": round(100 * share, 2), "missed": missed})
        print(f"{name:24} {cpu:6.2f} s {wall:6.2f} s {peak / 2**20:5.0f} MiB {100 * share:6.1f} %{'  MISSED' if missed else ''}",
              flush=True)
    product = {"schema": "silt.bench-views/1", "millions": options.millions, "trace_bytes": sizes[new], "views": rows}
    if options.json:
        with open(options.json, "w") as f:
            json.dump(product, f, indent=1)
    if not options.keep:
        shutil.rmtree(os.path.join(options.folder, "src"))
        for name in os.listdir(options.folder):
            if name.startswith("views."):
                os.unlink(os.path.join(options.folder, name))
    return 1 if any(row["missed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
