#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a fleet takes of its server: rows/s, processor time and bytes a row, and how long questions take; and from these what 100,000
hosts would (docs/fleet.md). Starts a ClickHouse of its own in a temporary folder.

  bench/fleet.py [--build build] [--hosts 200] [--days 30] [--every 3600] [--sites 40]"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from harness.clickhouse import ClickHouse  # noqa: E402

# What is calculated for: a snapshot every five minutes with so many call paths.
HOSTS, EVERY_S, SITES = 100_000, 300, 100


class Place:
    def __init__(self, folder):
        self.dir, self.running = folder, []

    def path(self, name):
        return os.path.join(self.dir, name)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bytes_of(server, table):
    server.ask(f"OPTIMIZE TABLE silt.{table} FINAL", timeout_s=600)
    return server.number(f"SELECT sum(bytes) FROM system.parts WHERE active AND database = 'silt' AND table = '{table}'")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--hosts", type=int, default=200)
    p.add_argument("--days", type=int, default=30)
    p.add_argument("--every", type=int, default=3600)
    p.add_argument("--sites", type=int, default=40)
    o = p.parse_args()
    build = os.path.abspath(o.build)
    with tempfile.TemporaryDirectory(prefix="silt.fleet.") as folder, ClickHouse(Place(folder)) as server:
        before, begin = cpu_s(server.process.pid), time.monotonic()
        r = subprocess.run([os.path.join(build, "src/fleet/fleet_maker"), server.url(), os.path.join(folder, "spool"), str(o.hosts), str(o.days),
                            str(o.every), str(o.sites), str(int(time.time()))], stdout=subprocess.PIPE, text=True, check=True)
        seconds, cpu = time.monotonic() - begin, cpu_s(server.process.pid) - before
        truth = dict(line.split() for line in r.stdout.splitlines())
        rows, snapshots = int(truth["rows"]), int(truth["snapshots"])
        site_bytes = bytes_of(server, "silt_sites") / rows
        snapshot_bytes = bytes_of(server, "silt_snapshots") / snapshots
        print(f"{rows:,} rows of {snapshots:,} snapshots of {o.hosts} hosts in {o.days} days")
        print(f"{rows / seconds:,.0f} rows/s, {1e6 * cpu / rows:.1f} us of the server's processor a row (with merges while they came)")
        print(f"{site_bytes:.1f} bytes a row of silt_sites, {snapshot_bytes:.1f} a row of silt_snapshots, merged")
        for words in (["services"], ["grew"], ["hosts"], ["builds"], ["paths", "--service", "api"],
                      ["release", "--service", "api", "--old", "a" * 16, "--new", "b" * 16, "--since", "30d"]):
            begin = time.monotonic()
            subprocess.run([os.path.join(build, "silt"), "fleet", "--from", server.url(), *words], stdout=subprocess.DEVNULL, check=True)
            print(f"{words[0]:9} {time.monotonic() - begin:.2f} s")
        per_s = HOSTS * SITES / EVERY_S
        print(f"{HOSTS:,} hosts, {SITES} call paths every {EVERY_S} s: {per_s:,.0f} rows/s, {per_s * cpu / rows:.1f} cores, "
              f"{(per_s * site_bytes + HOSTS / EVERY_S * snapshot_bytes) * 86400 / 1e9:,.0f} GB a day")


main()
