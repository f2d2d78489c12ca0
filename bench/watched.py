#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs redis-server to be watched: recorded as samples, with the endpoint of --metrics scraped once a second, with silt top beside it, and
with a silt top that attaches by itself.

  bench/watched.py --build build [--runs 5] [--pipeline 16]

Every way runs in turn; counted is the CPU time of the server's threads for a number of requests, as ratios to the bare server of the same
turn, the middle one of all turns. The CPU time of whoever watches is told apart, as a share of the time that the requests took."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from sample import Redis, thread_ns  # noqa: E402

AIM = 1.03
N_REQUESTS = 3_000_000  # of each kind: several seconds, so that there is something to watch
MIN_SCRAPES = 3


class Scraper(threading.Thread):
    """What Prometheus does, fifteen times as often as usual."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address, self.over, self.n, self.slowest_s = address, threading.Event(), 0, 0.0

    def run(self):
        while not self.over.wait(1):
            begin = time.monotonic()
            with urllib.request.urlopen(self.address, timeout=60) as answer:
                answer.read()
            self.n, self.slowest_s = self.n + 1, max(self.slowest_s, time.monotonic() - begin)


def pid_of(words):
    """The process whose command line has all of these."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(w in line for w in words):
            return int(pid)
    return None


def address_in(stream):
    said = b""
    while not (found := re.search(rb"http://\S+/metrics", said)):
        more = os.read(stream.fileno(), 4096)
        if not more:
            raise RuntimeError(f"no address: {said!r}")
        said += more
    return found[0].decode()


def measure(redis, prefix, watch):
    """(CPU of the server in ms, wall s, CPU of the watcher in s)."""
    server = subprocess.Popen([*prefix, *redis.argv], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    ended = None
    try:
        pid = redis.pid()
        watcher, ended = watch(server, pid)
        own, begin, wall = thread_ns(watcher) if watcher else 0, thread_ns(pid), time.monotonic()
        subprocess.run(redis.client, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        wall = time.monotonic() - wall
        return (thread_ns(pid) - begin) / 1e6, wall, (thread_ns(watcher) - own) / 1e9 if watcher else 0.0
    finally:
        if ended:
            ended()
        redis.cli("shutdown", "nosave")
        server.communicate()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--pipeline", type=int, default=1, help="requests that a client sends at a time")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        redis, trace = Redis(scratch), os.path.join(scratch, "t.silt")
        redis.client[-1] = str(N_REQUESTS if args.pipeline > 1 else N_REQUESTS // 8)
        redis.client[redis.client.index("-P") + 1] = str(args.pipeline)
        silt = os.path.join(os.path.abspath(args.build), "silt")
        run = [silt, "run", "-f", "-o", trace, "--sample", "512K"]

        def nobody(_server, _pid):
            return None, None

        def scrape(server, _pid):
            scraper = Scraper(address_in(server.stderr))
            scraper.start()

            def end():
                scraper.over.set()
                scraper.join()
                scrapes.append((scraper.n, scraper.slowest_s))
                if scraper.n < MIN_SCRAPES:
                    raise RuntimeError(f"scraped only {scraper.n} times")
            return pid_of(["metrics", "--until-over", trace]), end

        def top(_server, _pid):
            screen = subprocess.Popen([silt, "top", "--batch", "--every", "1s", trace], stdout=subprocess.DEVNULL)
            return screen.pid, lambda: (screen.terminate(), screen.wait())

        def attach(_server, pid):
            screen = subprocess.Popen([silt, "top", "--batch", "--every", "1s", str(pid)], stdout=subprocess.PIPE)
            screen.stdout.readline()  # it is in
            threading.Thread(target=screen.stdout.read, daemon=True).start()
            return screen.pid, lambda: (screen.terminate(), screen.wait())

        ways = {"bare": ([], nobody), "recorded, --sample 512K": ([*run, "--"], nobody),
                "and scraped every second": ([*run, "--metrics", "127.0.0.1:0", "--"], scrape), "and silt top beside it": ([*run, "--"], top),
                "silt top PID": ([], attach)}
        found, scrapes = {name: [] for name in ways}, []
        for turn in range(args.runs):
            names = list(ways)
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                found[name].append(measure(redis, *ways[name]))
    too_much = False
    for name, runs in found.items():
        ratios = [r[0] / b[0] for r, b in zip(runs, found["bare"])]
        beside = [r[0] / b[0] for r, b in zip(runs, found["recorded, --sample 512K"])]
        own = [100 * r[2] / r[1] for r in runs]
        print(f"{name:26} {statistics.median(r[0] for r in runs):8.0f} ms  {statistics.median(ratios):.3f} of bare  "
              f"{statistics.median(beside):.3f} of recorded  the watcher itself {statistics.median(own):.2f} % of a processor")
        too_much |= name not in ("bare", "recorded, --sample 512K") and statistics.median(ratios) > AIM
    print(f"scrapes in a run: {min(n for n, _ in scrapes)} and more; the slowest took {max(s for _, s in scrapes):.2f} s")
    return 1 if too_much else 0


if __name__ == "__main__":
    sys.exit(main())
