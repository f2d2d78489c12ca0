#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a replay of a large trace costs: makes one of so many million events (bench/long_run.c: four threads, 50,000 call paths, a live set that
grows), then replays it under each allocator. Prints, as JSON, time and peak memory of silt and of each replay's own tables.

    bench/whatif.py --build build [--millions 100] [--allocator glibc]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--millions", type=int, default=100)
    parser.add_argument("--allocator", default="glibc,jemalloc")
    parser.add_argument("--trace", help="keep the trace here, or take the one that is there")
    options = parser.parse_args()
    maker = os.path.join(options.build, "src/pipeline/bench_long_run")
    subprocess.run(["ninja", "--quiet", "-C", options.build, "src/pipeline/bench_long_run", "silt", "silt-replay"], stdout=subprocess.DEVNULL,
                   check=True)
    with tempfile.TemporaryDirectory() as folder:
        trace = options.trace or os.path.join(folder, "t.silt")
        if not os.path.exists(trace):
            subprocess.run([maker, trace, str(options.millions)], stdout=subprocess.DEVNULL, check=True)
        began = time.monotonic()
        with open(os.path.join(folder, "answer"), "w+b") as answer:
            child = subprocess.Popen([os.path.join(options.build, "silt"), "whatif", trace, "--json", "--allocator", options.allocator],
                                     stdout=answer)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
            answer.seek(0)
            told = json.load(answer)
        seconds = time.monotonic() - began
    replayed = told["replayed"]
    events = replayed["allocations"] + replayed["frees"] + replayed["reallocations"]
    json.dump({"events": events, "live_blocks": replayed["peak_live_blocks"], "seconds": round(seconds, 1),
               "silt_peak_mib": round(usage.ru_maxrss / 1024, 1),
               "replays": {row["allocator"]: {"wall_s": round(row["wall_s"], 1), "cpu_s": round(row["cpu_s"], 2),
                                              "own_mib": round(row["own_bytes"] / MIB, 2), "heap_peak_mib": round(row["peak_bytes"] / MIB, 1)}
                           for row in told["replays"] if row["state"] == "done"}}, sys.stdout, indent=2)
    print()
    return status != 0


if __name__ == "__main__":
    sys.exit(main())
