#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs where the allocator is linked into the program: a Rust program with a static jemalloc, beside the same
program with the C library's malloc. All four ways run in turn. The aim: an event
costs no more CPU time, target and recorder together.

  bench/inside.py --build build [--runs 9] [--write-docs]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(os.path.dirname(HERE), "docs", "overhead.md")
sys.path.insert(0, HERE)

from measure import programs  # noqa: E402
from measure.ways import Ways  # noqa: E402

BEGIN, END = "<!-- inside: begin (written by bench/inside.py --write-docs) -->", "<!-- inside: end -->"
ROUNDS = 6000
NOISE = 1.05


def prefixed_jemalloc(out):
    """Debian's archive under the names Rust's crate gives it."""
    archive = subprocess.run(["gcc", "-print-file-name=libjemalloc.a"], capture_output=True, text=True).stdout.strip()
    target = os.path.join(out, "libjemalloc_rjem_.a")
    if programs.stale(target, archive):
        listing = subprocess.run(["nm", "-g", "--defined-only", archive], capture_output=True, text=True).stdout
        names = {line.split()[2] for line in listing.splitlines() if len(line.split()) == 3}
        with open(target + ".names", "w") as f:
            f.writelines(f"{n} _rjem_{n}\n" for n in sorted(names) if not n.startswith(("je_", "_Z")))
        programs.run_compiler(["objcopy", f"--redefine-syms={target}.names", archive, target])
        subprocess.run(["ar", "d", target, "jemalloc_cpp.o"], capture_output=True)
    return target


def build(out):
    rustc = [programs.rustc(), "-O", "-g", "--edition", "2021"]
    prefixed_jemalloc(out)
    return {"glibc": programs.compiled(out, rustc, "threads.rs"),
            "jemalloc inside": programs.compiled(out, rustc, "threads_jemalloc.rs", "-L", "native=" + out,
                                                 "-l", "static=jemalloc_rjem_")}


def measure(args, scratch):
    out = os.path.abspath(os.path.join(args.build, "bench"))
    os.makedirs(out, exist_ok=True)
    ways = Ways(args.build, None, scratch, None)
    work = {name: programs.Workload(name, [path, str(ROUNDS)], threads=4) for name, path in build(out).items()}
    runs = {name: {"bare": [], "silt": []} for name in work}
    for turn in range(args.runs):
        for name in sorted(work, reverse=turn % 2 == 1):
            for way, run in (("bare", ways.bare), ("silt", ways.silt_)):
                runs[name][way].append(run(work[name]))
    return runs


def figures(ways):
    def middle(way, key):
        return statistics.median(one[key] for one in ways[way])
    events = middle("silt", "events")
    assert events > 1000 and not any(one["lost"] for one in ways["silt"]), "nothing was recorded, or not all"
    return {"bare": middle("bare", "cpu"), "wall": middle("silt", "wall") / middle("bare", "wall"),
            "cpu": middle("silt", "cpu") / middle("bare", "cpu"), "events": events,
            "added_ns": (middle("silt", "cpu") - middle("bare", "cpu")) / events * 1e9,
            "recorder_ns": middle("silt", "recorder") / events * 1e9}


def table(rows):
    yield "| allocator | bare, CPU | silt, wall | target CPU | events | added to the target per event | recorder per event |"
    yield "| --- | --: | --: | --: | --: | --: | --: |"
    for name, f in rows.items():
        yield (f"| {name} | {f['bare']:.2f} s | {f['wall']:.2f} | {f['cpu']:.2f} | {f['events']:,.0f} | "
               f"{f['added_ns']:.0f} ns | {f['recorder_ns']:.0f} ns |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=9)
    p.add_argument("--write-docs", action="store_true", help="put the table into docs/overhead.md")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rows = {name: figures(ways) for name, ways in measure(args, scratch).items()}
    lines = list(table(rows))
    print("\n".join(lines))
    inside, outside = (f["added_ns"] + f["recorder_ns"] for f in (rows["jemalloc inside"], rows["glibc"]))
    is_met = inside <= outside * NOISE
    print("ok" if is_met else "MISSED", f"CPU time per event: {inside:.0f} ns inside, {outside:.0f} ns with the C library's malloc")
    if args.write_docs:
        with open(DOCS) as f:
            before, rest = f.read().split(BEGIN)
        with open(DOCS, "w") as f:
            f.write(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
