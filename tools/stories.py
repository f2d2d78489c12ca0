#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of docs/stories/*.md and writes their real output under them.

    tools/stories.py --build build              all pages anew
    tools/stories.py --build build --check      changes nothing; fails where a command's answer is another one

A block fenced as `console` holds commands, each behind "$ ", and what they print. They run in a folder of their own with
silt and the programs of examples/ in it, 80 columns wide. --check looks at the words of the first finding: figures, and what is told
after it, differ from run to run and from machine to machine.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
RUST = ["examples/index_loader", "examples/simulator"]


def make_folder(build, folder):
    """What the pages assume to be there: the programs, and their sources where a debugger would find them."""
    subprocess.run(["ninja", "-C", build, "--quiet", "all", *RUST], check=True)
    for path in glob.glob(os.path.join(build, "examples", "*")):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            os.symlink(path, os.path.join(folder, os.path.basename(path)))


def answer(command, build, folder):
    env = {**os.environ, "PATH": build + ":" + os.environ["PATH"], "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, shell=True, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=120)
    if done.returncode not in (0, 1):
        sys.exit(f"stories: {command}: exit status {done.returncode}: {done.stdout.decode()[-300:]}")
    text = done.stdout.decode()
    text = text.replace(build + "/examples/simulator.build/", "examples/simulator/")
    return re.sub(r"(/[^\s/]+)+/examples/", "examples/", text)  # where it was built is nobody's business


def commands_of(block):
    """[(command, what stands under it)]"""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:].rstrip("\n"), ""])
        elif found:
            found[-1][1] += line
    return found


def first_finding(text):
    """Its words, without what was counted and where to look next; [] where a report has none."""
    found = re.search(r"^ 1\. (.*?)(?=^ 2\. |^    in |^    Next:|^$)", text, re.M | re.S)
    text = re.sub(r"\b0x[0-9a-f]+", " ", found[1] if found else "")  # of libraries of another build
    return re.sub(r"[^A-Za-z_:<>]+|\b(([KMG]i)?B|[mun]?s)\b", " ", text).split()


def work_page(path, build, folder, is_check):
    """Returns the commands whose answers have changed."""
    changed = []

    def replay(match):
        out = ""
        for command, before in commands_of(match[1]):
            now = answer(command, build, folder)
            if first_finding(now) != first_finding(before):
                changed.append(command)
            out += f"$ {command}\n{now}" + ("" if now.endswith("\n") or not now else "\n")
        return f"```console\n{out}```"

    with open(path) as f:
        old = f.read()
    new = BLOCK.sub(replay, old)
    if not is_check and new != old:
        with open(path, "w") as f:
            f.write(new)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", nargs="*", help="only these")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    pages = options.pages or sorted(glob.glob(os.path.join(ROOT, "docs", "stories", "[0-9]*.md")))
    n_changed = 0
    with tempfile.TemporaryDirectory(prefix="stories.") as folder:
        make_folder(build, folder)
        for page in pages:
            for command in work_page(page, build, folder, options.check):
                n_changed += 1
                print(f"{os.path.basename(page)}: answers otherwise now: {command}")
    return 1 if options.check and n_changed else 0


if __name__ == "__main__":
    sys.exit(main())
