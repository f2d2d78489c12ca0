#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `silt run --sample` costs: CPU time of the program alone, with an interposer that does nothing, with jemalloc and its own
profiler at the same distance where it is installed, and sampled. All ways run in turn; the middle of all runs counts.

  bench/sample.py --build build [--runs 9] [--sample 512K] [--budget 2%] [-- PROG ARG...]

Without PROG: a bare malloc/free loop, and python3 building and dropping objects with malloc under all of them."""
import argparse
import glob
import os
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "x = [[i] * 3 for i in range(400000)]\nd = {str(i): i for i in range(400000)}\nx = d = None"


def cpu_s(argv, **env):
    """User and system time of a command and all it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env={**os.environ, **env}, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def jemalloc():
    """The library, if it can profile."""
    for path in sorted(glob.glob("/usr/lib/*/libjemalloc.so.2")):
        r = subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": path, "MALLOC_CONF": "prof:true,prof_active:true,abort_conf:true"},
                           capture_output=True)
        if r.returncode == 0 and not r.stderr:
            return path
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=9)
    p.add_argument("--sample", default="512K")
    p.add_argument("--budget")
    p.add_argument("program", nargs="*")
    args = p.parse_args()
    silt = os.path.join(os.path.abspath(args.build), "silt")
    with tempfile.TemporaryDirectory() as scratch:
        loop, noop, trace = (os.path.join(scratch, x) for x in ("loop", "noop.so", "t.silt"))
        workloads = os.path.join(HERE, "workloads")
        subprocess.run(["gcc", "-O2", "-fno-builtin", os.path.join(workloads, "pairs.c"), "-o", loop], check=True)
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared", os.path.join(workloads, "noop.c"), "-o", noop], check=True)
        how = ["--budget", args.budget] if args.budget else ["--sample", args.sample]
        programs = {"given": args.program} if args.program else {
            "malloc/free loop": [loop, "30000000", "64"], "python3": ["python3", "-c", PYTHON]}
        for name, argv in programs.items():
            malloc = {"PYTHONMALLOC": "malloc"}
            ways = {"bare": lambda: cpu_s(argv, **malloc), "no-op interposer": lambda: cpu_s(argv, LD_PRELOAD=noop, **malloc)}
            if jemalloc():
                conf = "prof:true,lg_prof_sample:19"
                ways["jemalloc"] = lambda: cpu_s(argv, LD_PRELOAD=jemalloc(), **malloc)
                ways["jemalloc, profiling"] = lambda: cpu_s(argv, LD_PRELOAD=jemalloc(), MALLOC_CONF=conf, **malloc)
            # the recorder is no child that is waited for: this is what the program itself takes
            ways["silt " + " ".join(how)] = lambda: cpu_s([silt, "run", "-q", "-f", "-o", trace, *how, "--", *argv], **malloc)
            runs = {way: [] for way in ways}
            for turn in range(args.runs):
                for way in sorted(ways, reverse=turn % 2 == 1):
                    runs[way].append(ways[way]())
            middle = {way: statistics.median(r) for way, r in runs.items()}
            print(f"{name}: CPU time, middle of {args.runs} runs")
            for way in ways:
                print(f"  {way:24} {middle[way]:8.3f} s   {middle[way] / middle['bare']:.3f} of bare   "
                      f"{middle[way] / middle['no-op interposer']:.3f} of the interposer")
            cost = [line.strip() for line in subprocess.run([silt, "report", trace], capture_output=True, text=True,
                                                            env={**os.environ, "COLUMNS": "200"}).stdout.splitlines() if line.strip().startswith("together")]
            print("  " + "".join(cost))
    return 0


if __name__ == "__main__":
    sys.exit(main())
