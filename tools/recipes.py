#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of docs/recipes.md and writes their real output under them, and under each heading its statement.

    tools/recipes.py --build build              the page anew
    tools/recipes.py --build build --check      changes nothing; fails where an answer is another one

A block fenced as `console` holds a command behind "$ " and what it prints, 110 columns wide; one fenced as `sql` is the file of recipes/ that
the heading names. --check compares every word and figure, but for times, resident memory, process ids, and functions of libraries, which differ
from run to run and from machine to machine.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "recipes.md")
SECTION = re.compile(r"^### ([a-z-]+)\n(.*?)(?=^##|\Z)", re.M | re.S)
COMMAND = re.compile(r"^```console\n\$ (.*?)\n(.*?)^```$", re.M | re.S)
STATEMENT = re.compile(r"^```sql\n.*?^```$", re.M | re.S)
TRACES = [("shop.silt", ["--leaks"], ["shop"]), ("before.silt", [], ["shop", "--before"]), ("loader.silt", [], ["index_loader", "40"]),
          ("shop_time.silt", ["--cpu"], ["shop"])]
# Where time, or what a kernel does, decides about figures and about the order of rows: only the words are compared.
BY_TIME = {"resident", "ages", "lifetimes", "processes"}
# What is found, in which stretch of time it was, and which part of memory is the largest when the bill is made: another machine, another answer. The
# headings are compared.
BY_CHANCE = {"findings": {"severity", "finding", "next"}, "bill": {"part", "resident"}, "busiest": {"function", "allocations", "allocated"},
             "hot": {"function", "cpu", "pct", "samples"}, "blocked": {"blocked", "waits", "threads", "path"},
             "both": {"function", "cpu", "allocations", "allocated", "per", "ms"}}


def make_traces(build, folder):
    subprocess.run(["ninja", "-C", build, "--quiet", "silt", "libsilt.so", "examples/shop", "examples/index_loader"], check=True)
    for trace, options, program in TRACES:
        argv = [os.path.join(build, "examples", program[0]), *program[1:]]
        made = subprocess.run([os.path.join(build, "silt"), "run", "-q", "-f", *options, "-o", trace, "--", *argv], cwd=folder, check=False,
                              stdout=subprocess.DEVNULL)
        # a machine may forbid samples of time: what is shown of them stays as it is
        if made.returncode != 0 and "--cpu" not in options:
            sys.exit(f"recipes: cannot record {trace}: exit status {made.returncode}")


def has_time(build, folder):
    done = subprocess.run([os.path.join(build, "silt"), "sql", "--csv", "shop_time.silt", "SELECT count(*) > 0 FROM ticks"], cwd=folder, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.split()[-1:] == [b"1"]


def answer(command, build, folder):
    env = {**os.environ, "PATH": build + ":" + os.environ["PATH"], "COLUMNS": "110", "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": folder}
    done = subprocess.run(command, shell=True, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=120)
    text = done.stdout.decode()
    if done.returncode != 0:
        sys.exit(f"recipes: {command}: exit status {done.returncode}: {text[-400:]}")
    # where it was built is nobody's business
    return re.sub(r"((?:/[^\s/]+)+/examples/)(\w+)( {2})?", lambda m: m[2] + (" " * len(m[1]) + m[3] if m[3] else ""), text)


def functions_of_examples():
    text = ""
    for name in ("shop.c", "index_loader.rs"):
        with open(os.path.join(ROOT, "examples", name)) as f:
            text += f.read()
    return set(re.findall(r"\b([a-z_]{4,})\s*\(", text)) | {"main", "shop", "mailer", "reporter", "index_loader"}


def essence(recipe, text, own):
    """Its lines, without what is allowed to differ."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        line = re.sub(r"\d[\d.,]*(?: ?(?:ns|us|µs|ms|s|min|h)\b(?: \d+ (?:s|min))?)", "TIME", line)
        line = re.sub(r" \(\d{2,}\)", "", line)  # of threads with the same name
        line = re.sub(r"[█▉▊▋▌▍▎▏─━]+", "", line)
        if "run_thread" in line or "mapping at 0x" in line:
            continue  # what libc allocates for a thread
        if recipe in BY_TIME:
            line = re.sub(r"[-+]?\d[\d.,]*(?: (?:[KMG]iB|B|bytes))?", "N", line)
        elif number > 0 and re.search(r"[A-Za-z_]{4}", line) and not set(re.findall(r"\w+", line)) & own and "_" in line:
            continue  # a function of a library
        elif recipe == "crates" and re.search(r"\d", line) and "index_loader" not in line:
            continue  # what a version of Rust's own library allocates
        line = " ".join(line.split())
        if line and not re.fullmatch(r"[\d,]+ rows?", line):
            lines.append(line)
    if recipe in BY_CHANCE:  # its headings
        return [line for line in lines if set(line.split()) <= BY_CHANCE[recipe]]
    return sorted(set(lines)) if recipe in BY_TIME else lines


def work_page(build, folder, is_check):
    """Returns what has changed."""
    own, changed = functions_of_examples(), []

    def section(match):
        recipe, body = match[1], match[2]

        def replay(found):
            if "shop_time.silt" in found[1] and not has_time(build, folder):
                return found[0]
            now = answer(found[1], build, folder)
            old, new = essence(recipe, found[2], own), essence(recipe, now, own)
            if old != new:
                changed.append(f"{found[1]}\n" + "\n".join(difflib.unified_diff(old, new, "docs/recipes.md", "now", lineterm="")))
            return f"```console\n$ {found[1]}\n{now}```"

        body = COMMAND.sub(replay, body)
        path = os.path.join(ROOT, "recipes", recipe + ".sql")
        if not os.path.exists(path):
            return f"### {recipe}\n{body}"
        with open(path) as f:
            lines = f.read()
        now = STATEMENT.sub(lambda _: f"```sql\n{lines}```", body)
        if now != body:
            changed.append(f"recipes/{recipe}.sql is not as it stands there")
        return f"### {recipe}\n{now}"

    with open(PAGE) as f:
        old = f.read()
    new = SECTION.sub(section, old)
    told = {m[1] for m in SECTION.finditer(old)}
    for name in sorted(os.listdir(os.path.join(ROOT, "recipes"))):
        if name[:-4] not in told:
            changed.append(f"recipes/{name} is not in docs/recipes.md")
    if not is_check and new != old:
        with open(PAGE, "w") as f:
            f.write(new)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory(prefix="recipes.") as folder:
        make_traces(build, folder)
        changed = work_page(build, folder, options.check)
    for one in changed if options.check else ():
        print(f"recipes: answers otherwise now: {one}")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
