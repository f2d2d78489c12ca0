#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs: wall and CPU time as ratios to the bare program, beside heaptrack.

Runs the bare program, a no-op interposer, silt and heaptrack in turn, so that whatever else
the machine does hits all alike, and prints medians, spreads and ratios; --json FILE keeps them.
"""
import argparse
import json
import os
import re
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(HERE, "workloads")
HEAPTRACK_BYTES = 6 << 30  # its interpreter has eaten whole machines


def compiler_proper(driver):
    """The compiler that the driver would run, without the driver."""
    said = subprocess.run([driver, "-###", "-O2", "-w", "-S", f"{WORK}/compile.cc", "-o", "/dev/null"], check=True,
                          capture_output=True, text=True).stderr
    for line in said.splitlines():
        words = shlex.split(line)
        if any(word.endswith("/cc1plus") or word == "-cc1" for word in words):
            return words
    raise SystemExit(f"silt: bench: '{driver} -###' names no compiler")


def build(out):
    """Compiles the workloads; returns {name: (argv, environment)}."""
    os.makedirs(out, exist_ok=True)

    def compiled(compiler, source, *flags):
        target = os.path.join(out, os.path.splitext(source)[0])
        if source == "noop.c":
            target += ".so"
        path = os.path.join(WORK, source)
        if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(path):
            subprocess.run([*compiler, *flags, path, "-o", target], check=True)
        return target

    loop = compiled(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"], "loop.c", "-pthread")
    hostile = compiled(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"], "hostile.c", "-pthread")
    server = compiled(["g++", "-O2", "-g"], "server.cc")
    compiled(["gcc", "-O2", "-shared", "-fPIC"], "noop.c", "-ldl")
    work = {}
    for depth in (4, 16, 64):
        work[f"loop depth {depth}"] = ([loop, str(depth), "1", "8000000"], {})
    for threads in (2, 4, 8):
        work[f"loop depth 16, {threads} threads"] = ([loop, "16", str(threads), str(8000000 // threads)], {})
    work["hostile loop depth 16"] = ([hostile, "16", "1", "3000000"], {})
    work["server with leak"] = ([server, "600000"], {})
    work["sqlite3"] = (["sqlite3", ":memory:", f".read {WORK}/work.sql"], {})
    work["python3"] = (["/usr/bin/python3", f"{WORK}/work.py"], {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
    work["cc1plus -O2"] = (compiler_proper("g++"), {})
    if shutil.which("clang"):
        work["clang -O2"] = (compiler_proper("clang"), {})
    if shutil.which("rustc"):
        work["rust threads"] = ([compiled(["rustc", "-O", "-g", "--edition", "2021"], "threads.rs"), "1500"], {})
    return work


def timed(argv, env, limit_bytes=0):
    """Wall seconds, CPU seconds of the whole tree, and what it said on stderr."""
    def limit():
        if limit_bytes:
            resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

    with tempfile.TemporaryFile() as said:
        before = time.monotonic()
        child = subprocess.Popen(argv, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=said, preexec_fn=limit)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - before
        said.seek(0)
        text = said.read().decode(errors="replace")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "status": child.returncode, "said": text}


def run_silt(silt, argv, env, scratch):
    trace = os.path.join(scratch, "bench.silt")
    one = timed([silt, "run", "--verbose", "--no-symbols", "-f", "-o", trace, "--", *argv], env)
    cpu = re.search(r"cpu: target ([0-9.]+) s, recorder ([0-9.]+) s, blocked ([0-9.]+) s", one["said"])
    counts = re.search(r"recorded ([0-9,]+) events .*; ([0-9,]+) lost", one["said"])
    if not cpu or not counts:
        raise SystemExit(f"silt: bench: no figures from silt run: {one['said'][-400:]}")
    one["cpu"], one["recorder"], one["blocked"] = float(cpu[1]), float(cpu[2]), float(cpu[3])
    one["events"] = int(counts[1].replace(",", ""))
    one["lost"] = int(counts[2].replace(",", ""))
    one["bytes_per_event"] = os.path.getsize(trace) / max(one["events"], 1)
    return one


def run_heaptrack(argv, env, scratch):
    out = os.path.join(scratch, "bench.heaptrack")
    # Newer ones open their window after recording unless told not to; 1.4 does not know the option.
    told = subprocess.run(["heaptrack", "--help"], capture_output=True, text=True).stdout
    quiet = ["--record-only"] if "--record-only" in told else []
    return timed(["heaptrack", *quiet, "-o", out, *argv], env, HEAPTRACK_BYTES)


def middle(runs, key):
    return statistics.median(r[key] for r in runs)


def measure(name, argv, env, args, scratch, noop):
    ways = {
        "bare": lambda: timed(argv, env),
        "noop": lambda: timed(argv, {**env, "LD_PRELOAD": noop}),
        "silt": lambda: run_silt(os.path.join(args.build, "silt"), argv, env, scratch),
    }
    if shutil.which("heaptrack") and not args.no_heaptrack:
        ways["heaptrack"] = lambda: run_heaptrack(argv, env, scratch)
    runs = {way: [] for way in ways}
    for _ in range(args.runs):
        for way, run in ways.items():
            runs[way].append(run())
    bare_wall, bare_cpu = middle(runs["bare"], "wall"), middle(runs["bare"], "cpu")
    row = {"workload": name, "bare_s": round(bare_wall, 3)}
    for way in list(ways)[1:]:
        walls = sorted(r["wall"] / bare_wall for r in runs[way])
        row[way] = {"wall": round(statistics.median(walls), 3), "spread": [round(walls[0], 3), round(walls[-1], 3)],
                    "cpu": round(middle(runs[way], "cpu") / bare_cpu, 3), "failed": sum(r["status"] != runs["bare"][0]["status"] for r in runs[way])}
    silt = row["silt"]
    silt["recorder_cpu"] = round(middle(runs["silt"], "recorder") / bare_cpu, 3)
    silt["blocked_s"] = round(middle(runs["silt"], "blocked"), 3)
    silt["events"] = int(middle(runs["silt"], "events"))
    silt["lost"] = max(r["lost"] for r in runs["silt"])
    silt["bytes_per_event"] = round(middle(runs["silt"], "bytes_per_event"), 2)
    if "heaptrack" in row:
        row["share_of_heaptrack"] = round((silt["wall"] - 1) / max(row["heaptrack"]["wall"] - 1, 1e-9), 3)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-heaptrack", action="store_true")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    work = build(os.path.join(args.build, "bench"))
    noop = os.path.abspath(os.path.join(args.build, "bench", "noop.so"))
    rows = []
    print(f"{'workload':26} {'bare s':>7} {'no-op':>6} {'silt wall':>9} {'spread':>12} {'target':>7} {'recorder':>8} "
          f"{'heaptrack':>9} {'share':>6} {'events':>11} {'lost':>5} {'B/event':>7} {'blocked':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        for name, (argv, env) in work.items():
            if not re.search(args.only, name):
                continue
            r = measure(name, argv, env, args, scratch, noop)
            rows.append(r)
            s, h = r["silt"], r.get("heaptrack", {"wall": float("nan"), "failed": 0})
            print(f"{name:26} {r['bare_s']:7.2f} {r['noop']['wall']:6.2f} {s['wall']:9.2f} {s['spread'][0]:5.2f}-{s['spread'][1]:<5.2f} "
                  f"{s['cpu']:7.2f} {s['recorder_cpu']:8.2f} {h['wall']:8.2f}{'!' if h['failed'] else ' '} {r.get('share_of_heaptrack', float('nan')):6.3f} "
                  f"{s['events']:11,} {s['lost']:5} {s['bytes_per_event']:7.2f} {s['blocked_s']:6.2f}s", flush=True)
    print("\nratios to the bare program; target and recorder are CPU time, share = what silt adds / what heaptrack adds;"
          "\n'!' marks runs whose exit status differed from the bare program's")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"schema": "silt.bench/1", "runs": args.runs, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
