# SPDX-License-Identifier: MIT
"""Other witnesses of the same figures: the preloaded oracle, valgrind's memcheck and dhat, heaptrack.

They check the expectations themselves, without silt, where their rules allow it:
  preload    every figure but threads, sites and stacks; all processes
  memcheck   allocations, frees, bytes, end; one process; replaces malloc, so sizes of new and failures differ
  heaptrack  allocations, frees, bytes, peak, end and, with one thread, temporary; one process"""

import glob
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading

from . import expect
from .process import run

COUNTERS = ["pid", "parent", "image", "allocations", "frees", "reallocations", "failed_allocations", "unknown_frees",
            "implicit_frees", "bytes_allocated", "temporary_allocations", "peak_live_bytes", "peak_live_blocks",
            "end_live_bytes", "end_live_blocks"]


def read_counters(path):
    with open(path, "rb") as f:
        return dict(zip(COUNTERS, struct.unpack(f"<{len(COUNTERS)}Q", f.read(8 * len(COUNTERS)))))


class PreloadOracle:
    figures = set(COUNTERS) - {"pid", "parent", "image"}

    def __init__(self, source_dir, out_dir):
        self.library = os.path.join(out_dir, "oracle.so")
        partial = f"{self.library}.{os.getpid()}.{threading.get_ident()}"
        subprocess.run(["gcc", "-O1", "-g", "-fPIC", "-shared", "-fexceptions", "-shared-libgcc", "-Wall", "-Wextra",
                        "-Wno-unused-parameter", "-o", partial, os.path.join(source_dir, "oracle.c")], check=True)
        os.replace(partial, self.library)

    def record(self, argv, env, timeout_s=600, **popen):
        """(Result, processes): one dictionary of figures per process image, the first process first."""
        out = tempfile.mkdtemp(prefix="oracle.")
        os.chmod(out, 0o777)
        own = env.get("LD_PRELOAD")
        env = {**env, "LD_PRELOAD": self.library + (":" + own if own else ""), "SILT_ORACLE_DIR": out}
        argv = ["env", *(f"{k}={v}" for k, v in env.items()), *argv]
        r = run(argv, timeout_s=timeout_s, **popen)
        wait_for_daemons(out)
        processes = [read_counters(p) for p in glob.glob(out + "/*")]
        shutil.rmtree(out)
        return r, processes


def wait_for_daemons(out):
    """A daemon may still be at work: wait until no process of the run is left."""
    import time
    for _ in range(500):
        if not any(os.path.exists("/proc/" + os.path.basename(p).split(".")[0]) for p in glob.glob(out + "/*")):
            return
        time.sleep(0.01)


class Memcheck:
    figures = {"allocations", "frees", "bytes_allocated", "end_live_bytes", "end_live_blocks"}

    def record(self, argv, env, timeout_s=600, **popen):
        log = tempfile.NamedTemporaryFile(prefix="memcheck.", delete=False)
        options = ["--leak-check=no", "--undef-value-errors=no", "--run-libc-freeres=no", "--run-cxx-freeres=no",
                   "--main-stacksize=67108864", "--error-exitcode=0", "-q", "--log-file=" + log.name, "-v",
                   "--max-threads=2000"]
        r = run(["env", *(f"{k}={v}" for k, v in env.items()), "valgrind", *options, *argv], timeout_s=timeout_s, **popen)
        with open(log.name) as f:
            text = f.read().replace(",", "")
        os.unlink(log.name)
        usage = re.search(r"total heap usage: (\d+) allocs (\d+) frees (\d+) bytes", text)
        left = re.search(r"in use at exit: (\d+) bytes in (\d+) blocks", text)
        if not usage or not left:
            return r, []
        pid = int(re.search(r"==(\d+)==", text).group(1))
        values = [int(x) for x in (*usage.groups(), *left.groups())]
        keys = ["allocations", "frees", "bytes_allocated", "end_live_bytes", "end_live_blocks"]
        return r, [{"pid": pid, "image": 1, **dict(zip(keys, values))}]


class Heaptrack:
    figures = {"allocations", "frees", "bytes_allocated", "peak_live_bytes", "end_live_bytes", "end_live_blocks"}

    def record(self, argv, env, timeout_s=600, **popen):
        out = tempfile.mkdtemp(prefix="heaptrack.")
        r = run(["env", *(f"{k}={v}" for k, v in env.items()), "heaptrack", "-o", out + "/h", *argv], timeout_s=timeout_s, **popen)
        files = glob.glob(out + "/h*")
        if not files:
            return r, []
        reader = ["zstd", "-dc"] if files[0].endswith(".zst") else ["gzip", "-dc"]
        text = subprocess.run([*reader, files[0]], capture_output=True).stdout
        shutil.rmtree(out)
        figures = replay_heaptrack(text)
        if not needs_libstdcxx(argv[0]):
            # heaptrack brings libstdc++ along, which allocates 72,704 bytes first and releases them at the end
            for key, value in (("allocations", 1), ("frees", 1), ("bytes_allocated", 72704), ("peak_live_bytes", 72704)):
                figures[key] -= value
        return r, [{"pid": 0, "image": 1, **figures}]


def needs_libstdcxx(path):
    return b"libstdc++" in subprocess.run(["readelf", "-d", path], capture_output=True).stdout


def replay_heaptrack(text):
    """Exact figures from heaptrack's interpreted file: `a size trace` defines an allocation kind, `+ i` is one, `- i`
    its release. heaptrack calls temporary what is released right after it was allocated, whichever thread did it."""
    sizes = []
    f = dict.fromkeys(["allocations", "frees", "bytes_allocated", "temporary_allocations", "peak_live_bytes",
                       "end_live_bytes", "end_live_blocks"], 0)
    live, last = 0, None
    for line in text.splitlines():
        kind = line[:2]
        if kind == b"a ":
            sizes.append(int(line.split()[1], 16))
        elif kind == b"+ ":
            last = int(line[2:], 16)
            size = sizes[last]
            f["allocations"] += 1
            f["bytes_allocated"] += size
            f["end_live_blocks"] += 1
            live += size
            if live > f["peak_live_bytes"]:
                f["peak_live_bytes"] = live
        elif kind == b"- ":
            released = int(line[2:], 16)
            f["frees"] += 1
            f["end_live_blocks"] -= 1
            f["temporary_allocations"] += released == last
            last = None
            live -= sizes[released]
    f["end_live_bytes"] = live
    return f


class OracleTest:
    """Checks one expectation by another witness than silt."""

    def __init__(self, program_test, oracle):
        self.inner, self.oracle = program_test, oracle
        self.name, self.repeats, self.soak_repeats = program_test.name, program_test.repeats, 100

    def record(self, binary, baseline):
        env = self.inner.environment(baseline)
        r, processes = self.oracle.record([binary, *self.inner.arguments(baseline)], env)
        return r, expect.told(r.stdout), processes

    def limited(self, figures):
        return {k: v for k, v in figures.items() if k in self.oracle.figures}

    def run(self):
        case = self.inner.case
        binary = self.inner.build()
        names = {}
        if case.get("baseline"):
            r, told, processes = self.record(binary, True)
            if not processes:
                return [f"baseline: nothing recorded: status {r.code}: {r.errors[-300:]}"], []
            names["base"] = expect.namespace({**processes[0], **told})
        r, told, processes = self.record(binary, False)
        if not processes:
            return [f"nothing recorded: status {r.code}: {r.errors[-300:]}"], []
        first = main_process(processes, case, told)
        names.update(told, main=first["pid"])
        check = expect.Check(names)
        if isinstance(self.oracle, PreloadOracle):
            check.equal("exit status", case.get("exit", 0), r.code)
            for name, value in case.get("equals", {}).items():
                check.equal(f"the program's own {name}", value, told.get(name))
        check.totals("", self.limited(case["totals"]), first)
        if isinstance(self.oracle, PreloadOracle):
            listed = {"processes": [{"pid": p["pid"], "parent": p["parent"], "image": p["image"], "totals": p}
                                    for p in processes]}
            wanted = [{**{k: v for k, v in w.items() if k != "parent"}, "totals": self.limited(w.get("totals", {}))}
                      for w in case.get("processes", [])]
            expect.check_processes(check, wanted, listed)
        return check.failures, check.notes


def main_process(processes, case, told):
    """The last image of the first pid: the one no other process of the run is the parent of."""
    pids = {p["pid"] for p in processes}
    roots = [p for p in processes if p["parent"] not in pids] if "parent" in processes[0] else processes
    wanted = [p for p in roots if p["pid"] not in told.values()] or roots
    return max(wanted, key=lambda p: p["image"])
