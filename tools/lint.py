#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Formatting (clang-format) and the short clang-tidy list over the sources.

    lint.py --fix              format in place
    lint.py --format           look at the spacing alone
    lint.py --build DIR        check only; DIR has compile_commands.json
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GCC_ONLY = {"-fno-tree-loop-distribute-patterns"}
FORMATTED = ("src", "examples", "tests", "bench")


def sources(folders, endings):
    for folder in folders:
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.join(where, name)


def check_format(fix):
    files = list(sources(FORMATTED, (".c", ".h", ".cc", ".cpp")))
    how = ["-i"] if fix else ["--dry-run", "-Werror"]
    return subprocess.run(["clang-format", *how, *files], cwd=ROOT).returncode == 0


def tidy_one(where, path):
    done = subprocess.run(
        ["clang-tidy", "--quiet", "-p", where, "--extra-arg=-Wno-unknown-warning-option", path],
        cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout


def check_tidy(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    # The data base was made for gcc; clang does not know all its options.
    for entry in entries:
        entry["command"] = " ".join(w for w in entry["command"].split() if w not in GCC_ONLY)
    where = os.path.join(build, "lint")
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "compile_commands.json"), "w", encoding="utf-8") as f:
        json.dump(entries, f)
    files = sorted({os.path.normpath(os.path.join(e["directory"], e["file"])) for e in entries})
    files = [f for f in files if f.startswith(os.path.join(ROOT, "src")) and f.endswith(".c")]
    ok = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for status, text in pool.map(lambda path: tidy_one(where, path), files):
            if status != 0:
                ok = False
                print(text, end="")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--format", action="store_true")
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    ok = check_format(options.fix)
    if not options.fix and not options.format:
        ok = check_tidy(os.path.abspath(options.build)) and ok
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
