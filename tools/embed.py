#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a C header out of a text file: embed.py FILE HEADER VARIABLE."""

import sys


def main():
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
