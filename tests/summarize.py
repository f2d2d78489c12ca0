#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up results and prints one plain line, `N passed, N failed`: takes Meson's testlog.json (one JSON object per
line) and the files written by `tests/run.py --summary-file`. Exit status 1 if anything failed or nothing ran."""

import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def count_file(path, counts):
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
            counts["unsteady"] += len(entry.get("unsteady", {}))
            for name in entry.get("names_failed", []):
                print(f"failed: {name}")
            for name, failures in entry.get("unsteady", {}).items():
                print(f"unsteady: {name}: it failed, then passed twice: {failures[0].strip().splitlines()[-1].strip()}")


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0, "unsteady": 0}
    for path in paths:
        try:
            count_file(path, counts)
        except (OSError, ValueError) as e:
            counts["failed"] += 1
            print(f"{path}: {e}: counted as one failure")
    if counts["unsteady"]:
        print(f"{counts['unsteady']} unsteady: look into them first")
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    print(line + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
