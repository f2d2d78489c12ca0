#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wire_identity.py OUTPUT VARIANT HEADER…

Writes a header with WIRE_IDENTITY: one number for all that the two sides must agree on. It changes with any word of the headers that is
no comment, and with the variant of the build."""

import hashlib
import re
import sys


def words(path):
    with open(path) as f:
        return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S))


def main(argv):
    text = "\n".join([argv[2]] + [words(path) for path in sorted(argv[3:])])
    with open(argv[1], "w") as f:
        f.write(f"#define WIRE_IDENTITY 0x{hashlib.sha256(text.encode()).hexdigest()[:16]}ull\n")


if __name__ == "__main__":
    main(sys.argv)
