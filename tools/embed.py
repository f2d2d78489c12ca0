#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a C header out of text files.

    embed.py FILE HEADER VARIABLE             its bytes
    embed.py --all HEADER VARIABLE FILE...    an array of {name, text}: files by name, without what follows its dot
"""

import os
import sys


def write_all(header, variable, paths):
    with open(header, "w", encoding="ascii") as out:
        out.write("/* Made from text files: do not edit. */\n")
        out.write(f"static const struct {{\n        const char *name, *text;\n}} {variable}[] = {{\n")
        for path in sorted(paths):
            with open(path, "rb") as f:
                lines = f.read().splitlines(keepends=True)
            out.write(f'        {{"{os.path.basename(path).partition(".")[0]}",\n')
            for line in lines:
                text = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in line)
                out.write(f'         "{text}"\n')
            out.write("        },\n")
        out.write("};\n")


def main():
    if sys.argv[1] == "--all":
        return write_all(sys.argv[2], sys.argv[3], sys.argv[4:])
    path, header, variable = sys.argv[1:]
    with open(path, "rb") as f:
        data = f.read()
    with open(header, "w", encoding="ascii") as out:
        out.write(f"/* Made from {path.rpartition('/')[2]}: do not edit. */\n")
        out.write(f"static const char {variable}[] = {{\n")
        for line in data.splitlines(keepends=True):
            out.write("        " + ",".join(str(byte if byte < 128 else byte - 256) for byte in line) + ",\n")
        out.write("};\n")


main()
