#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up results and prints one plain line, `N passed, N failed`: takes Meson's testlog.json (one JSON object per
line) and the files written by `tests/run.py --summary-file`. Exit status 1 if anything failed or nothing ran.

  tests/summarize.py [--unsteady FILE] RESULT...    names and reasons of unsteady tests go into FILE, too, if there are any"""

import argparse
import json
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def reason(failures):
    """In one line: the last that says something, but for what was printed meanwhile."""
    lines = [line.strip() for line in failures[0].splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def repeat(entry, name):
    return f"    again: {entry['command']} --only '^{re.escape(name)}$'" if "command" in entry else ""


def count_file(path, counts, unsteady):
    with open(path) as f:
        lines = [line for line in f if line.strip()]
    if not lines:
        counts["failed"] += 1
        print(f"{path}: empty: counted as one failure")
    for line in lines:
        entry = json.loads(line)
        if "result" in entry:
            result = entry["result"]
            kind = "passed" if result in PASSED else "skipped" if result in SKIPPED else "failed"
            counts[kind] += 1
            if kind != "passed":
                print(f"{kind}: {entry.get('name')}: {result}")
        else:
            for kind in ("passed", "failed", "skipped"):
                counts[kind] += entry.get(kind, 0)
            for name, failures in entry.get("failures", {}).items():
                print(f"failed: {name}: {reason(failures)}")
                print(repeat(entry, name))
            for name, failures in entry.get("unsteady", {}).items():
                unsteady.append(f"{name}: {reason(failures)}")
                print(f"unsteady: {name}: it failed, then passed twice: {reason(failures)}")
                print(repeat(entry, name))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--unsteady", metavar="FILE")
    p.add_argument("results", nargs="+", metavar="RESULT")
    options = p.parse_args()
    counts, unsteady = {"passed": 0, "failed": 0, "skipped": 0}, []
    for path in options.results:
        try:
            count_file(path, counts, unsteady)
        except (OSError, ValueError) as e:
            counts["failed"] += 1
            print(f"{path}: {e}: counted as one failure")
    if unsteady:
        print(f"{len(unsteady)} unsteady: look into them first")
    if unsteady and options.unsteady:
        with open(options.unsteady, "w") as f:
            f.write("".join(line + "\n" for line in unsteady))
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    print(line + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
