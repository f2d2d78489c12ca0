#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What looking up names costs: `silt symbolize` beside heaptrack_interpret and llvm-symbolizer.

  bench/symbols.py [--build build] [--runs 5] [--only REGEX] [--json FILE]

Each program is recorded once by silt (--no-symbols) and once by heaptrack (--raw). Then, in turn and --runs times:

  silt      `silt symbolize --no-cache` of the recording: reading it, looking up, writing the names
  cached    the same from silt's cache
  heaptrack CPU time of heaptrack_interpret on its raw data, less that on the same data without the lines that tell of
            modules, in which it finds nothing to look up: what is left is its share for names
  llvm      llvm-symbolizer with inlined functions, given the places of silt's recording, grouped by module

Times are CPU seconds of all processes, the smallest of the runs; memory is the highest sum of the processes' proportional
shares that was seen, sampled every 5 ms, or the peak of the largest one if that is higher. Exit status 1 when an aim is missed:
5 s, 950 MiB, a third of heaptrack's time (of the programs that have the aim)."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(HERE, "workloads")
INTERPRETERS = ("/usr/lib/heaptrack/libexec/heaptrack_interpret", "/usr/libexec/heaptrack_interpret",
                "/usr/lib64/heaptrack/libexec/heaptrack_interpret")
N_UNITS = 24
MAX_S, MAX_BYTES, MIN_RATIO = 5, 950 << 20, 3


class Missing(Exception):
    pass


# ---- programs ------------------------------------------------------------------------------------

UNIT = """#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace unit{i} {{
struct item {{ std::string name; std::vector<int> values; std::shared_ptr<item> next; }};
template <int K> struct shelf {{
        std::map<std::string, item> by_name;
        std::unordered_map<int, std::vector<std::string>> by_number;
        std::set<std::string> seen;
        void put(int n) {{
                item x;
                x.name = std::string(20 + n % 50, 'a' + K);
                x.values.resize(n % 100 + K);
                x.next = std::make_shared<item>(x);
                by_number[n].push_back(x.name);
                seen.insert(x.name + std::to_string(n));
                by_name.emplace(x.name, x);
        }}
        size_t count() {{
                std::ostringstream s;
                for (auto &p : by_name)
                        s << p.first << p.second.values.size();
                return s.str().size() + seen.size();
        }}
}};
size_t run(int n) {{
        shelf<{i} * 3> a; shelf<{i} * 3 + 1> b; shelf<{i} * 3 + 2> c;
        std::vector<std::function<size_t()>> todo;
        for (int k = 0; k < n; k++) {{ a.put(k); b.put(k * 3); c.put(k * 7); }}
        todo.push_back([&] {{ return a.count(); }});
        todo.push_back([&] {{ return b.count(); }});
        todo.push_back([&] {{ return c.count(); }});
        std::sort(todo.begin(), todo.end(), [](const auto &x, const auto &y) {{ return x() < y(); }});
        size_t sum = 0;
        for (auto &f : todo)
                sum += f();
        return sum;
}}
}}
"""


def units(out):
    """A C++ program of many units with all of their debug information."""
    program = os.path.join(out, "units")
    if os.path.exists(program) and os.stat(program).st_mtime > os.stat(__file__).st_mtime:
        return [program]
    if not shutil.which("g++"):
        raise Missing("g++ is not installed")
    with tempfile.TemporaryDirectory(dir=out) as folder:
        names = []
        for i in range(N_UNITS):
            names.append(os.path.join(folder, f"unit{i}.cc"))
            with open(names[-1], "w") as f:
                f.write(UNIT.format(i=i))
        with open(os.path.join(folder, "main.cc"), "w") as f:
            f.write("#include <cstddef>\n" + "".join(f"namespace unit{i} {{ size_t run(int n); }}\n" for i in range(N_UNITS)) +
                    "int main() { size_t s = 0;\n" + "".join(f"s += unit{i}::run({10 + i % 7});\n" for i in range(N_UNITS)) +
                    "return s == 0; }\n")
        names.append(f.name)
        jobs = []
        for name in names:  # two at a time
            jobs.append(subprocess.Popen(["g++", "-O2", "-g", "-c", "-o", name + ".o", name]))
            if len(jobs) % 2 == 0:
                for job in jobs[-2:]:
                    job.wait()
        if any(job.wait() for job in jobs):
            raise Missing("its units do not compile")
        subprocess.run(["g++", "-o", program, *(n + ".o" for n in names)], check=True)
    return [program]


def need(program):
    path = shutil.which(program)
    if not path:
        raise Missing(f"{program} is not installed")
    return path


def system_rustc(out):
    """The distribution's, whose compiler is a shared library."""
    if not os.path.exists("/usr/bin/rustc"):
        raise Missing("rustc is not installed")
    return ["/usr/bin/rustc", "-O", "--edition", "2021", "--emit", "obj", "-o", os.path.join(out, "threads.o"),
            os.path.join(WORK, "threads.rs")]


PROGRAMS = {  # name: (command, whether the aims are for it)
    "clang++ -O2": (lambda out: [need("clang++"), "-O2", "-w", "-c", "-o", os.path.join(out, "compile.o"),
                                 os.path.join(WORK, "compile.cc")], True),
    "rustc": (system_rustc, True),
    "sqlite3": (lambda out: [need("sqlite3"), ":memory:", f".read {WORK}/work.sql"], False),
    "python3": (lambda out: ["/usr/bin/python3", "-c", "import json, decimal, email, http.client, unittest"], False),
    f"C++, {N_UNITS} units, -g": (units, False),
    "ceph-mon": (lambda out: [need("ceph-mon"), "--help"], False),
}


# ---- measuring -----------------------------------------------------------------------------------

def tree(pid):
    found = [pid]
    for p in found:
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{task}/children") as f:
                    found += map(int, f.read().split())
        except OSError:
            pass
    return found


def share(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            return int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M)[1]) * 1024
    except (OSError, TypeError):
        return 0


def measure(argv, stdin=None):
    """(wall seconds, CPU seconds, peak bytes)"""
    begin = time.monotonic()
    child = subprocess.Popen(argv, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    over, peaks = threading.Event(), [0]

    def watch():
        while not over.wait(0.005):
            peaks.append(sum(map(share, tree(child.pid))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    over.set()
    watcher.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise Missing(f"'{' '.join(argv[:2])}' ends with {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, max(max(peaks), usage.ru_maxrss * 1024)


def smallest(runs):
    return {"wall": min(r[0] for r in runs), "cpu": min(r[1] for r in runs), "bytes": max(r[2] for r in runs)}


def prepare(silt, argv, folder):
    """silt's recording, the places in it, and heaptrack's raw data with and without modules."""
    trace = os.path.join(folder, "t.silt")
    subprocess.run([silt, "run", "-q", "-f", "--no-symbols", "-o", trace, "--", *argv], stdout=subprocess.DEVNULL, check=True)
    places = os.path.join(folder, "places")
    with open(places, "w") as f:
        subprocess.run([os.path.join(os.path.dirname(silt), "src/trace/bench_symbols"), trace], stdout=f, check=True)
    raw = os.path.join(folder, "heaptrack")
    interpreter = next((p for p in INTERPRETERS if os.path.exists(p)), None)
    if not interpreter or not shutil.which("heaptrack"):
        return trace, places, None
    subprocess.run(["heaptrack", "--raw", "-o", raw, *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    packed = next(os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("heaptrack.raw"))
    unpack = ["zstd", "-dcq"] if packed.endswith(".zst") else ["gzip", "-dc"]
    with_modules, without = os.path.join(folder, "with"), os.path.join(folder, "without")
    with open(with_modules, "wb") as f:  # not through this process: what it holds would count as its children's
        subprocess.run([*unpack, packed], stdout=f, check=True)
    with open(without, "wb") as f:
        subprocess.run(["grep", "-av", "^m ", with_modules], stdout=f, check=True)
    return trace, places, interpreter


def symbolize(silt, trace, folder, *options):
    again = os.path.join(folder, "again.silt")
    shutil.copy(trace, again)
    return measure([silt, "symbolize", "-q", *options, again])


def row_of(silt, argv, n_runs, folder):
    trace, places, interpreter = prepare(silt, argv, folder)
    runs = {}
    os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
    symbolize(silt, trace, folder)  # fills the cache, and the page cache
    for _ in range(n_runs):
        runs.setdefault("silt", []).append(symbolize(silt, trace, folder, "--no-cache"))
        runs.setdefault("cached", []).append(symbolize(silt, trace, folder))
        for name in ("with", "without") if interpreter else ():
            with open(os.path.join(folder, name)) as f:
                runs.setdefault(name, []).append(measure([interpreter], f))
        if shutil.which("llvm-symbolizer"):
            with open(places) as f:
                runs.setdefault("llvm", []).append(measure(["llvm-symbolizer", "--inlines", "--demangle"], f))
    row = {name: smallest(found) for name, found in runs.items()}
    with open(places) as f:
        row["n_places"] = sum(1 for _ in f)
    if interpreter:
        row["heaptrack"] = {"cpu": row["with"]["cpu"] - row["without"]["cpu"], "bytes": row["with"]["bytes"]}
    return row


# ---- telling -------------------------------------------------------------------------------------

def cell(row, name):
    return f"{row[name]['cpu']:.2f} s, {row[name]['bytes'] / 2**20:.0f} MiB" if name in row else "–"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--only", default="")
    p.add_argument("--json")
    options = p.parse_args()
    subprocess.run(["ninja", "--quiet", "-C", options.build, "src/trace/bench_symbols"], stdout=subprocess.DEVNULL, check=True)
    silt, out = os.path.abspath(os.path.join(options.build, "silt")), os.path.abspath(os.path.join(options.build, "bench"))
    os.makedirs(out, exist_ok=True)
    rows, n_missed = {}, 0
    print("| program | places | silt | from its cache | heaptrack | llvm-symbolizer | heaptrack / silt |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (command, has_aims) in PROGRAMS.items():
        if not re.search(options.only, name):
            continue
        try:
            with tempfile.TemporaryDirectory(dir=out) as folder:
                row = rows[name] = row_of(silt, command(out), options.runs, folder)
        except Missing as e:
            print(f"left out: {name}: {e}", file=sys.stderr)
            continue
        ratio = row["heaptrack"]["cpu"] / row["silt"]["cpu"] if "heaptrack" in row else 0
        print(f"| {name} | {row['n_places']:,} | {cell(row, 'silt')} | {cell(row, 'cached')} | {cell(row, 'heaptrack')} | "
              f"{cell(row, 'llvm')} | {f'{ratio:.1f}' if ratio else '–'} |", flush=True)
        if has_aims and (row["silt"]["wall"] > MAX_S or row["silt"]["bytes"] > MAX_BYTES or (ratio and ratio < MIN_RATIO)):
            n_missed += 1
            print(f"missed: {name}: {row['silt']['wall']:.2f} s of wall time", file=sys.stderr)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(rows, f, indent=1)
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())
