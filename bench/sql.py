#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast `silt sql` answers on a large trace: makes one of so many million events (bench/long_run.c), or uses the one of bench/trace_read.py
--keep, and asks it.

  bench/sql.py --build build [--millions 100] [--folder DIR] [--keep] [--export] [--only REGEX]

Prints for each statement seconds of wall, of CPU of the busier thread (what the wall shows where nobody else is at work) and of both, peak memory, and rows
a second of the busier thread. With --export a database of `silt export --format sqlite` answers the same where it can, in turn with silt. Exit status 1 when an
aim is missed: 1 s for windows and sites, 20 million rows a second for a full scan, 500 MB."""

import argparse
import json
import os
import re
import subprocess
import sys
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def thread_seconds(pid):
    """CPU seconds of each thread that is there."""
    found = {}
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
                found[tid] = int(f.read().split()[0]) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def measure(argv):
    """(what it printed, seconds of wall, of CPU of the busier thread, of CPU, peak bytes)"""
    begin = time.monotonic()
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    threads = {}
    while not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        threads.update(thread_seconds(child.pid))
        time.sleep(0.01)
    seconds = time.monotonic() - begin
    text = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(child.stderr.read().decode().strip())
    cpu = usage.ru_utime + usage.ru_stime
    busiest = max(threads.values(), default=cpu)
    return text, seconds, max(busiest, cpu / max(len(threads), 1)), cpu, usage.ru_maxrss * 1024


def numbers(text):
    """The last line's, whatever stands around them."""
    return re.findall(r"-?\d[\d,]*\.?\d*", text.strip().splitlines()[-1].replace(",", ""))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--millions", type=int, default=100)
    p.add_argument("--folder", default="/var/tmp")
    p.add_argument("--keep", action="store_true", help="leave the trace there, and use it again")
    p.add_argument("--export", action="store_true", help="ask an exported database the same")
    p.add_argument("--only", default="", help="names of questions that match")
    o = p.parse_args()
    silt = os.path.join(o.build, "silt")
    trace = os.path.join(o.folder, f"trace_read.{o.millions}.silt")
    if not (o.keep and os.path.exists(trace)):
        subprocess.run(["ninja", "--quiet", "-C", o.build, "src/pipeline/bench_long_run"], stdout=subprocess.DEVNULL, check=True)
        subprocess.run([os.path.join(o.build, "src/pipeline/bench_long_run"), trace, str(o.millions)], stdout=subprocess.DEVNULL,
                       check=True)
    totals = json.loads(subprocess.run([silt, "report", "--json", trace], stdout=subprocess.PIPE, check=True).stdout)
    n_blocks, end_ns = totals["totals"]["allocations"], int(totals["duration_s"] * 1e9)
    n_events = n_blocks + totals["totals"]["frees"] - totals["totals"]["reallocations"]
    a, b = int(0.5 * end_ns), int(0.501 * end_ns)
    # name, statement, rows that are read, whether it is an aim (a full scan, or one of those that touch few events), and the same of
    # an exported database
    alloc = "op <> 'free'"
    asked = [
        ("count(*)", "SELECT count(*) FROM allocations", n_blocks, "scan", f"SELECT count(*) FROM events WHERE {alloc}"),
        ("bytes > 1000", "SELECT count(*) FROM allocations WHERE bytes > 1000", n_blocks, "scan",
         f"SELECT count(*) FROM events WHERE {alloc} AND bytes > 1000"),
        ("sum(bytes)", "SELECT sum(bytes) FROM allocations", n_blocks, "", f"SELECT sum(bytes) FROM events WHERE {alloc}"),
        ("by thread", "SELECT sum(bytes) FILTER (WHERE thread = 0), sum(bytes) FILTER (WHERE thread = 1) FROM allocations", n_blocks, "",
         f"SELECT sum(bytes) FILTER (WHERE thread = 0), sum(bytes) FILTER (WHERE thread = 1) FROM events WHERE {alloc}"),
        ("one call path", "SELECT count(*), sum(bytes) FROM allocations WHERE stack = 1000", n_blocks, "scan",
         f"SELECT count(*), sum(bytes) FROM events WHERE stack = 1000 AND {alloc}"),
        ("lifetime", "SELECT count(*) FROM allocations WHERE lifetime_ns > 1000000000", n_blocks, "", None),
        ("all events", "SELECT count(*) FROM events", n_events, "scan", "SELECT count(*) FROM events"),
        ("live at the end", "SELECT count(*), sum(bytes) FROM live", n_blocks, "", None),
        ("a thousandth of the time", f"SELECT count(*), sum(bytes) FROM allocations WHERE time_ns BETWEEN {a} AND {b}", 0, "quick",
         f"SELECT count(*), sum(bytes) FROM events WHERE time_ns BETWEEN {a} AND {b} AND {alloc}"),
        ("its lifetimes, to 1 s", f"SELECT count(*) FROM allocations WHERE time_ns BETWEEN {a} AND {b} AND lifetime_ns < 1000000000", 0,
         "quick", None),
        ("a block", f"SELECT time_ns, bytes FROM allocations WHERE id = {n_blocks // 2}", 0, "quick",
         f"SELECT time_ns, bytes FROM events WHERE block = {n_blocks // 2} AND {alloc}"),
        ("100 blocks by key", "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 99) SELECT count(bytes) FROM n"
         f" CROSS JOIN allocations ON id = i * {n_blocks // 100}", 0, "", None),
        ("window(from, to)", f"SELECT sum(growth_bytes), sum(allocations) FROM window({a}, {b})", 0, "quick", None),
        ("sites", "SELECT count(*), sum(end_bytes) FROM sites", 0, "quick", "SELECT count(*), sum(end_bytes) FROM sites"),
        ("top sites by function", "SELECT sum(end_bytes) FROM (SELECT function, sum(end_bytes) AS end_bytes FROM sites GROUP BY 1 ORDER BY 2"
         " DESC LIMIT 10)", 0, "quick",
         "SELECT sum(end_bytes) FROM (SELECT function, sum(end_bytes) AS end_bytes FROM sites GROUP BY 1 ORDER BY 2 DESC LIMIT 10)"),
    ]
    database = os.path.join(o.folder, f"trace_read.{o.millions}.sqlite")
    if o.export and not (o.keep and os.path.exists(database)):
        _, seconds, _, cpu, peak = measure([silt, "export", "--format", "sqlite", "-o", database, trace])
        print(f"export: {seconds:.1f} s, {cpu:.1f} s CPU, {peak / 1e6:.0f} MB; {os.stat(database).st_size / 1e6:,.0f} MB beside a trace of"
              f" {os.stat(trace).st_size / 1e6:,.0f} MB")
    n_missed = 0
    print(f"{n_events:,} events, {n_blocks:,} blocks")
    print(f"{'':26} {'wall s':>7} {'busier':>7} {'CPU s':>7} {'MB':>5} {'M rows/s':>9}" + (f" {'exported':>9}" if o.export else ""))
    for name, statement, n_rows, aim, exported in asked:
        if not re.search(o.only, name):
            continue
        try:
            text, seconds, busiest, cpu, peak = measure([silt, "sql", trace, statement])
        except RuntimeError as e:
            print(f"{name:26} {e}", flush=True)
            n_missed += 1
            continue
        rate = n_rows / busiest / 1e6 if n_rows else 0
        missed = peak > 500e6 or (aim == "scan" and rate < 20) or (aim == "quick" and busiest > 1)
        n_missed += missed
        line = f"{name:26} {seconds:7.2f} {busiest:7.2f} {cpu:7.2f} {peak / 1e6:5.0f} " + (f"{rate:9.1f}" if n_rows else " " * 9)
        if o.export and exported:
            other, _, _, cpu, _ = measure(["sqlite3", "-readonly", database, exported])
            line += f" {cpu:7.2f} s"
            if numbers(other.replace("|", " ")) != numbers(text):
                line += f"  DIFFERS: {numbers(text)} and {numbers(other.replace('|', ' '))}"
                n_missed += 1
        print(line + ("  MISSED" if missed else ""), flush=True)
    if not o.keep:
        os.unlink(trace)
        if o.export:
            os.unlink(database)
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())
