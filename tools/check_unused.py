#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions that nobody else calls: to be static, or to go.

    check_unused.py BUILD      every function of src/ that other files could call is called by one of them

Told by the symbols of all objects of a build, tests among them. Files that a plain build leaves out (fuzzers, the other
machine's) are searched for the name instead.
"""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SRC = os.path.join(ROOT, "src")

# Calls that the compiler makes.
CALLED_BY_OTHERS = {"memset"}
# What makes a trace without a recorder: complete before everything of it is used.
FOR_IMPORTERS = re.compile(r"trace_maker_")
# What a program of its own defines (a test, prey) is its own affair.
IN_A_LIBRARY = re.compile(r"(\.a|libsilt\.so)\.p/")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def objects(build):
    """Each source of src/ with its objects in this build."""
    for entry in json.loads(read(os.path.join(build, "compile_commands.json"))):
        source = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        output = os.path.normpath(os.path.join(entry["directory"], entry["output"]))
        yield os.path.relpath(source, ROOT), output


def symbols(outputs):
    """Of each object: the names that it defines as functions, and those it asks for."""
    found = {output: (set(), set()) for output in outputs}
    for line in subprocess.run(["nm", "-P", "-A", *outputs], capture_output=True, text=True, check=True).stdout.splitlines():
        output, _, rest = line.partition(": ")
        name, kind = rest.split()[:2]
        if kind == "T":
            found[output][0].add(name)
        elif kind in "Uw":
            found[output][1].add(name)
    return found


def exported():
    """What libsilt.so is for: the names of its map."""
    return set(re.findall(r"^\s*([\w*]+);", read(os.path.join(SRC, "hook", "exports.map")), re.M))


def unbuilt_text(built):
    """Sources that this build has no object of."""
    parts = []
    for top in (SRC, os.path.join(ROOT, "tests")):
        for where, _, names in os.walk(top):
            for name in names:
                path = os.path.join(where, name)
                if name.endswith((".c", ".cc", ".S", ".rs")) and os.path.relpath(path, ROOT) not in built:
                    parts.append(read(path))
    return set(re.findall(r"\w+", "\n".join(parts)))


def main(argv):
    if len(argv) != 2:
        sys.exit(__doc__)
    sources = {output: source for source, output in objects(argv[1]) if os.path.exists(output)}
    defined_in, asked_by = {}, {}
    for output, (defined, asked) in symbols(sources).items() if sources else ():
        source = sources[output]
        if source.startswith("src" + os.sep) and IN_A_LIBRARY.search(output):
            for name in defined:
                defined_in.setdefault(name, set()).add(source)
        for name in asked:
            asked_by.setdefault(name, set()).add(source)
    if not defined_in:
        sys.exit(f"{argv[1]}: nothing is built there")
    elsewhere = unbuilt_text(set(sources.values())) | exported() | CALLED_BY_OTHERS
    unused = [(sorted(owners)[0], name) for name, owners in defined_in.items()
              if not asked_by.get(name, set()) - owners and name not in elsewhere and not FOR_IMPORTERS.match(name)]
    for owner, name in sorted(unused):
        print(f"{owner}: {name} is used in no other file: make it static, or remove it")
    sys.exit(1 if unused else 0)


if __name__ == "__main__":
    main(sys.argv)
