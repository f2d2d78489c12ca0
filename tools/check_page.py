#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page stays small, and loads nothing from elsewhere: check_page.py PAGE.js PAGE.css PAGE.html"""

import gzip
import re
import sys

MAX_COMPRESSED_BYTES = 250_000
ELSEWHERE = re.compile(rb"""(?:src|href)\s*=\s*["']?(?:https?:)?//|@import|url\(\s*["']?(?:https?:)?//|\bimport\s*\(""")


def main():
    texts = []
    for path in sys.argv[1:]:
        with open(path, "rb") as f:
            texts.append(f.read())
    size = sum(len(gzip.compress(text, 9)) for text in texts)
    print(f"{size} bytes compressed of at most {MAX_COMPRESSED_BYTES}")
    found = [match[0].decode() for text in texts for match in ELSEWHERE.finditer(text)]
    for what in found:
        print(f"loads from elsewhere: {what}")
    return 1 if found or size > MAX_COMPRESSED_BYTES else 0


if __name__ == "__main__":
    sys.exit(main())
