#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the page is. In a headless browser: frames a second of a table that scrolls and of a flame graph that zooms.

  bench/page.py --build build [PATHS]          of a program with so many allocations on different call paths; 100,000 unless told

The browser draws without a graphics card, so a desk with one is faster. Prints rows, frames a second, and the longest frame."""

import argparse
import os
import sys
import tempfile
from types import SimpleNamespace

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from harness.page import View, browse  # noqa: E402
from harness.process import run  # noqa: E402
from harness.silt import Silt  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("paths", type=int, nargs="?", default=100000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        t = SimpleNamespace(silt=Silt(options.build), running=[], path=lambda name: os.path.join(folder, name), context=SimpleNamespace(work_dir=folder))
        program, trace = t.path("many_paths"), t.path("t.silt")
        r = run(["gcc", "-O1", "-g", os.path.join(ROOT, "tests/cases/many_paths.c"), "-o", program])
        assert r.code == 0, r.errors
        r = t.silt.record(trace, [program, str(options.paths)])
        assert r.code == 0, r.errors
        with View(t, trace) as view:
            saw, _ = browse(t, "frames", view.url, rows=min(options.paths // 4, 25000))
    for what in ("table", "flame"):
        print(f"{what:6} {saw['count'] if what == 'table' else '':20} {saw[what]['per_s']:6.1f} frames a second, longest {saw[what]['longest_ms']:.0f} ms")


if __name__ == "__main__":
    main()
