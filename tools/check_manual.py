#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option a command prints in --help is in its man page, every command in silt(1), and the
pages are free of formatting errors.

    check_manual.py SILT MAN-PAGE...
"""

import os
import re
import subprocess
import sys


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def page_text(path):
    # Man pages as a reader sees them, without the overstrikes of bold type.
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-c", "-P-b", "-P-u", path],
                          capture_output=True, text=True)
    text = re.sub("\x1b\\[[0-9;]*m|.\b", "", done.stdout)
    return re.sub(r"\s+", " ", text), done.stderr


def options_of(help_text):
    return re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", help_text, flags=re.M)


def check(silt, pages):
    pages = {os.path.basename(path)[:-2]: path for path in pages}
    commands = re.findall(r"^  (\w+) {2,}", output(silt, "--help").partition("commands:")[2], flags=re.M)
    if not commands:
        yield "silt --help lists no commands"
    front, _ = page_text(pages["silt"])
    for command in commands:
        name = f"silt-{command}"
        if name not in front:
            yield f"silt(1) does not name {name}(1)"
        if name not in pages:
            yield f"{name} has no man page"
            continue
        help_text = output(silt, command, "--help")
        if "examples:" not in help_text:
            yield f"silt {command} --help has no examples"
        text, _ = page_text(pages[name])
        options = options_of(help_text)
        if "--help" not in options:
            yield f"silt {command} --help does not list --help"
        for option in options:
            if not re.search(rf"{option}(?![a-z-])", text):
                yield f"{name}(1) does not describe {option}"
    for name, path in pages.items():
        if name != "silt" and name[5:] not in commands:
            yield f"{name}(1) describes no command"
        for line in page_text(path)[1].splitlines():
            yield f"{name}(1): {line}"


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    problems = list(check(argv[1], argv[2:]))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv)
