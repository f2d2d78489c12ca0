#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Licences of what the page is made of and with, from web/package-lock.json and the packages.

    licences.py            writes web/licences.txt
    licences.py --check    fails unless it is as it would be written, and unless every licence is one that we know
"""

import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WEB = os.path.join(ROOT, "web")
LISTED = os.path.join(WEB, "licences.txt")
ALLOWED = {"MIT", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause"}
IN_PAGE = {"MIT", "ISC"}  # what becomes part of silt


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def packages():
    locked = json.loads(read(os.path.join(WEB, "package-lock.json")))["packages"]
    for where, package in sorted(locked.items()):
        if where:
            name = where.rpartition("node_modules/")[2]
            yield name, where, package["version"], package.get("license", "none"), not package.get("dev", False)


def licence_text(where):
    folder = os.path.join(WEB, where)
    for name in sorted(os.listdir(folder)):
        if name.upper().startswith(("LICENSE", "LICENCE")):
            return "\n".join(line.rstrip() for line in read(os.path.join(folder, name)).strip().splitlines())
    sys.exit(f"licences.py: {where} has no text of its licence")


def listing():
    found = list(packages())
    lines = ["The page of silt contains these packages:", ""]
    for name, where, version, licence, is_in_page in found:
        if is_in_page:
            lines += [f"{name} {version}, {licence}", "", licence_text(where), "", ""]
    return "\n".join(lines).rstrip() + "\n", found


def problems(found):
    for name, _, version, licence, is_in_page in found:
        if licence not in (IN_PAGE if is_in_page else ALLOWED):
            yield f"{name} {version}: licence {licence}"


def main():
    text, found = listing()
    wrong = list(problems(found))
    if sys.argv[1:] != ["--check"]:
        with open(LISTED, "w", encoding="utf-8") as f:
            f.write(text)
    elif not os.path.exists(LISTED) or read(LISTED) != text:
        wrong.append("web/licences.txt is not what the lock file says: run tools/licences.py")
    for problem in wrong:
        print(problem)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
