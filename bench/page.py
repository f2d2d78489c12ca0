#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the page is: frames a second in a browser, and what the server takes for its answers.

  bench/page.py --build build [--paths 100000]     a table of so many rows that scrolls, a flame graph of as many boxes that zooms
  bench/page.py --build build --millions 100       answers about a trace of so many million events, and its page as one file;
                                                   --folder DIR --keep: the trace stays there, and is used again

Frames: the browser is headless and draws without a graphics card, so a desk with one is faster. Beside it what a frame takes of the
page's thread: at 60 frames a second there are 16.7 ms. Answers: seconds of wall and of CPU, and the memory of the server; others at work make wall
longer."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from types import SimpleNamespace

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from harness.page import View, browse  # noqa: E402
from harness.process import run  # noqa: E402
from harness.silt import Silt  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def frames(t, n_paths):
    program, trace = t.path("many_paths"), t.path("t.silt")
    r = run(["gcc", "-O1", "-g", os.path.join(ROOT, "tests/cases/many_paths.c"), "-o", program])
    assert r.code == 0, r.errors
    r = t.silt.record(trace, [program, str(n_paths)])
    assert r.code == 0, r.errors
    with View(t, trace) as view:
        saw, _ = browse(t, "frames", view.url, rows=n_paths)
    for what, size in (("table", saw["count"]), ("flame", f"{saw.get('boxes', 0):,} boxes")):
        one = saw[what]
        print(f"{what:6} {size:24} {one['per_s']:6.1f} frames a second, longest {one['longest_ms']:.0f} ms, {one['cpu_ms']:.1f} ms of the page's thread each")


class Client:
    """Asks the server, and looks at what it used for that."""

    def __init__(self, view):
        self.pid = view.process.pid
        self.base, token = view.url.split("?token=")
        self.headers = {"Authorization": f"Bearer {token.strip()}"}

    def cpu_s(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_mib(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            return int(next(line for line in f if line.startswith("VmHWM")).split()[1]) / 1024

    def ask(self, question):
        """The answer, seconds of wall and of CPU."""
        began, used = time.monotonic(), self.cpu_s()
        with urllib.request.urlopen(urllib.request.Request(f"{self.base}api/1/{question}", headers=self.headers), timeout=120) as r:
            body = r.read()
        return body, time.monotonic() - began, self.cpu_s() - used


def questions(duration_s):
    """(what somebody sees, the question): first the first picture, then a window that nobody asked for yet, each time another one."""
    def window(i):
        return f"from={duration_s * (0.11 + 0.07 * i):.3f}&to={duration_s * (0.43 + 0.07 * i):.3f}"
    yield from (("first picture: trace", "trace"), ("first picture: timeline", "timeline?columns=600"))
    yield "Overview: headline, figures", "report?coarse=1"
    yield "Overview: findings", "report?top=20"
    for i in range(3):
        yield "window: timeline, coarse", f"timeline?columns=600&coarse=1&{window(i)}"
        yield "window: flame", f"flame?by=peak&{window(i)}"
        yield "window: table, 200 rows", f"table?group-by=site&rows=200&{window(i)}"
        yield "window: table, 200 histories", f"table?group-by=site&rows=200&sparks=200&{window(i)}"
        yield "window: report", f"report?top=20&{window(i)}"
    yield "flame, all boxes", "flame?by=peak&boxes=200000"
    yield "table, all rows", "table?group-by=site&rows=200000"


def answers(t, options):
    trace = os.path.join(options.folder or t.path("."), f"page.{options.millions}.silt")
    if not (options.keep and os.path.exists(trace)):
        maker = os.path.join(options.build, "src/pipeline/bench_long_run")
        subprocess.run(["ninja", "--quiet", "-C", options.build, "src/pipeline/bench_long_run"], stdout=subprocess.DEVNULL, check=True)
        sources = t.path("src")
        os.makedirs(sources, exist_ok=True)
        subprocess.run([maker, trace, str(options.millions), "0", sources, "0"], stdout=subprocess.DEVNULL, check=True)
    began = time.monotonic()
    with View(t, trace) as view:
        client = Client(view)
        print(f"{'opened':34} {time.monotonic() - began:6.2f} s wall {client.cpu_s():6.2f} s CPU {client.peak_mib():5.0f} MiB")
        duration_s, i = 1, 0
        while i < len(asked := [*questions(duration_s)]):
            what, question = asked[i]
            body, wall, cpu = client.ask(question)
            if i == 0:
                duration_s = json.loads(body)["duration_s"]
            i += 1
            print(f"{what:34} {wall:6.2f} s wall {cpu:6.2f} s CPU {client.peak_mib():5.0f} MiB {len(body) / 1e6:8.2f} MB", flush=True)
    page = t.path("page.html")
    began = time.monotonic()
    child = subprocess.Popen([t.silt.path, "html", "-f", trace, "-o", page], stderr=subprocess.PIPE, text=True)
    said = child.stderr.read()
    used = os.wait4(child.pid, 0)[2]
    print(f"{'one file':34} {time.monotonic() - began:6.2f} s wall {used.ru_utime + used.ru_stime:6.2f} s CPU {used.ru_maxrss / 1024:5.0f} MiB"
          f" {os.stat(page).st_size / 1e6:8.2f} MB")
    print(said, end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--paths", type=int, default=100000)
    parser.add_argument("--millions", type=int, help="ask about a trace of so many million events")
    parser.add_argument("--folder", help="where that trace is made")
    parser.add_argument("--keep", action="store_true", help="leave it there, and use it again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        t = SimpleNamespace(silt=Silt(options.build), running=[], path=lambda name: os.path.join(folder, name), context=SimpleNamespace(work_dir=folder))
        if options.millions:
            answers(t, options)
        else:
            frames(t, options.paths)


if __name__ == "__main__":
    main()
