#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs: wall and CPU time as ratios to the bare program, beside heaptrack.

Runs the bare program, a no-op interposer, silt and heaptrack in turn, so that whatever else the machine does hits all
alike, and prints medians, spreads, ratios and whether the aims are met.

  bench/run.py                                 everything, 7 runs each: about half an hour on two idle cores
  bench/run.py --quick                         3 runs, no heaptrack: for a look while working
  bench/run.py --only 'loop, depth 16|checks'  some workloads, and the checks of idle cost and memory
  bench/run.py --json F --update               replace the measured rows in F, keep its others
  bench/run.py --write-docs                    measure, then write table and plot into docs/
  bench/run.py --from F --write-docs           the same from figures measured before
  bench/run.py --before F                      beside those of F; with --write-docs into docs/ too
"""
import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(os.path.dirname(HERE), "docs")
sys.path.insert(0, HERE)

from measure import checks, compare, figures, machine, plot, programs, table  # noqa: E402
from measure.cage import Cage  # noqa: E402
from measure.ways import Ways, why_differs  # noqa: E402

HEAPTRACK_BYTES = 4 << 30  # its interpreter has eaten whole machines; where it lives it needs 0.3 GB
GIVE_UP_AFTER = 2          # failures of heaptrack in one workload; more of them say nothing new


def measure(w, ways, n_runs):
    """One row: all ways in turn, each turn beginning with another one, the first with the bare program."""
    runs, whys = {way: [] for way in ways.all()}, {way: [] for way in ways.all()}
    report = {}
    for turn in range(n_runs):
        order = list(ways.all().items())
        order = order[turn % len(order):] + order[:turn % len(order)]
        for way, run in order:
            if way == "heaptrack" and sum(bool(x) for x in whys[way]) >= GIVE_UP_AFTER:
                continue
            one = run(w)
            runs[way].append(one)
            whys[way].append(why_differs(way, one, runs["bare"][0]))
            if one["status"] != 0 and way == "bare":
                print(f"left out: {w.name}: it fails by itself: {one['said'][-200:]}")
                return None
            if way == "silt" and not report:
                report = ways.silt_report()
    return figures.row_of(w, runs, whys, report)


def measure_all(args, result, save):
    """Adds rows to the result, and saves it after each: a run cut short keeps what it has."""
    out = os.path.abspath(os.path.join(args.build, "bench"))
    work, missing = programs.all_workloads(out, lambda name: re.search(args.only, name))
    noop = programs.noop(out)
    for name, why in missing.items():
        print(f"left out: {name}: {why}")
    cage = Cage(HEAPTRACK_BYTES) if shutil.which("heaptrack") and not args.no_heaptrack else None
    result["heaptrack_limit_bytes"] = HEAPTRACK_BYTES if cage else 0
    result["heaptrack_limit_by"] = cage.kind if cage else ""
    result["missing"] = missing
    print(machine.in_words(result["machine"]))
    print(f"{args.runs} runs each, in turn; {table.heaptrack_words(result)}")
    if result["machine"]["load_before"] > 0.5:
        print(f"the machine is busy (load {result['machine']['load_before']}): wall times will be too high")
    print("\n" + table.HEAD)
    try:
        with tempfile.TemporaryDirectory(dir=out) as scratch:
            ways = Ways(args.build, noop, scratch, cage)
            for w in work:
                row = measure(w, ways, args.runs)
                if row:
                    result["rows"].append(row)
                    print(table.line(row), flush=True)
                    save()
            if not args.only or re.search(args.only, "checks"):
                result["checks"] = list(checks.all_checks(ways, out, args.quick))
    finally:
        if cage:
            cage.close()


def merge(old, new):
    """The rows of `new` in place of those of the same name in `old`."""
    rows = {row["workload"]: row for row in old["rows"] + new["rows"]}
    order = {name: i for i, name in enumerate(programs.names())}
    rows = sorted(rows.values(), key=lambda row: order.get(row["workload"], len(order)))
    return {**old, **new, "rows": rows, "checks": new.get("checks") or old.get("checks")}


def print_rest(result):
    print()
    for text in table.second_table(result["rows"]):
        print(text)
    for c in result.get("checks") or []:
        print(f"{c['name']}: {c['text']}, aim {c['aim']}: {'ok' if c['ok'] else 'MISSED'}")
    print(table.EXPLAINED)
    for row in result["rows"]:
        for way in ("noop", "silt", "heaptrack"):
            if row.get(way, {}).get("failed"):
                print(f"{row['workload']}: {way} failed {row[way]['failed']} of {row[way]['runs']} times: {row[way]['why']}"
                      + ("; its time is no comparison" if way == "heaptrack" else ""))
    for row in result["rows"]:
        ours, theirs = row["silt"].get("allocations", 0), row.get("heaptrack", {}).get("allocations", 0)
        if "share" in row and abs(ours - theirs) > 0.01 * ours:
            print(f"{row['workload']}: silt counted {ours:,} allocations, heaptrack {theirs:,}")
    n_missed = sum(bool(figures.missed(row)) for row in result["rows"]) + sum(not c["ok"] for c in result.get("checks") or [])
    n_unshared = sum("share" not in row for row in result["rows"])
    print(f"workloads: {len(result['rows'])}; with a missed aim: {n_missed}; without a time of heaptrack's to compare with: {n_unshared}")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def write_docs(result, before):
    with open(os.path.join(DOCS, "overhead.svg"), "w", encoding="utf-8") as f:
        f.write(plot.svg(result))
    fill(os.path.join(DOCS, "overhead.md"), "bench", table.markdown(result))
    if before:
        fill(os.path.join(DOCS, "overhead.md"), "before", compare.markdown(before, result))


def fill(path, mark, text):
    """Replaces what stands between `<!-- MARK: begin … -->` and `<!-- MARK: end -->`."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    page, n = re.subn(rf"(<!-- {mark}: begin[^>]*-->\n).*?(<!-- {mark}: end -->)", lambda m: m[1] + text + m[2], page, flags=re.S)
    if n != 1:
        raise SystemExit(f"silt: bench: '{path}' has no place marked '{mark}'")
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build directory (default: build)")
    parser.add_argument("--runs", type=int, default=0, help="of each way (default 7, with --quick 3)")
    parser.add_argument("--only", default="", metavar="REGEX", help="workloads by name")
    parser.add_argument("--quick", action="store_true", help="few runs, without heaptrack")
    parser.add_argument("--no-heaptrack", action="store_true")
    parser.add_argument("--json", default="", metavar="FILE", help="keep the figures (default: BUILD/bench/result.json)")
    parser.add_argument("--update", action="store_true", help="replace only the measured rows in that file")
    parser.add_argument("--plot", default="", metavar="FILE", help="write the plot there (SVG)")
    parser.add_argument("--from", dest="source", default="", metavar="FILE", help="take the figures from FILE, measure nothing")
    parser.add_argument("--before", default="", metavar="FILE", help="compare with these figures, of another build")
    parser.add_argument("--write-docs", action="store_true", help="table and plot into docs/overhead.md and docs/overhead.svg")
    parser.add_argument("--list", action="store_true", help="names of the workloads")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was made is put away then, too
    args.no_heaptrack |= args.quick
    args.runs = args.runs or (3 if args.quick else 7)
    args.json = args.json or os.path.join(args.build, "bench", "result.json")
    if args.list:
        print("\n".join(programs.names()))
        return 0
    if args.source:
        result = load(args.source)
        print(table.HEAD)
        for row in result["rows"]:
            print(table.line(row))
    else:
        result = {"schema": "silt.bench/2", "runs": args.runs, "machine": machine.describe(os.path.join(args.build, "silt")), "rows": []}
        old = {}
        if args.update and os.path.exists(args.json):
            old = load(args.json)

        def save():
            with open(args.json, "w", encoding="utf-8") as f:
                json.dump(merge(old, result) if old else result, f, indent=1)

        measure_all(args, result, save)
        save()
        result = merge(old, result) if old else result
    print_rest(result)
    before = load(args.before) if args.before else None
    if before:
        print("\nbefore → after:", *compare.lines(before, result), sep="\n")
    if args.plot:
        with open(args.plot, "w", encoding="utf-8") as f:
            f.write(plot.svg(result))
    if args.write_docs:
        write_docs(result, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
