# SPDX-License-Identifier: MIT
"""The ways to run a workload: bare, through a no-op interposer, under silt, under heaptrack. Each gives one dict of figures."""
import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
import time

TIMEOUT_S = 600
FRESH = {"SILT_SYMBOL_CACHE": "off"}  # every run looks its names up


def digest(path):
    try:
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()[:16]
    except OSError:
        return ""


class Recorder(threading.Thread):
    """Watches the resident memory of the recorder that a `silt run` started: the kernel keeps the peak, so looking
    seldom is enough."""

    def __init__(self, silt_pid):
        super().__init__(daemon=True)
        self.silt_pid, self.peak_bytes, self.over = silt_pid, 0, threading.Event()

    def find(self):
        try:
            with open(f"/proc/{self.silt_pid}/task/{self.silt_pid}/children", encoding="utf-8") as f:
                children = f.read().split()
            for pid in children:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                    if f.read().strip() == "silt-recorder":
                        return pid
        except OSError:
            pass
        return None

    def run(self):
        pid = None
        while not self.over.wait(0.02):
            pid = pid or self.find()
            if not pid:
                continue
            try:
                with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                    peak = re.search(r"VmHWM:\s+(\d+) kB", f.read())
                self.peak_bytes = max(self.peak_bytes, int(peak[1]) * 1024 if peak else 0)
            except OSError:
                return


def wait_or_kill(child):
    """Its rusage, and whether it had to be ended because it took too long."""
    late = threading.Timer(TIMEOUT_S, child.kill)
    late.daemon = True  # a bench that is ended does not wait for it
    late.start()
    _, status, usage = os.wait4(child.pid, 0)
    is_late = not late.is_alive()
    late.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage, is_late


def prepare(w, cage):
    """What the child does before exec."""
    if cage:
        cage.enter()
    if w.tool_cpu >= 0:
        os.sched_setaffinity(0, {w.tool_cpu})


def timed(w, argv, env, cage=None, watches=False):
    """Runs argv, which runs workload w. Wall seconds (of a server: its client's), CPU seconds of the whole tree."""
    if w.product and os.path.exists(w.product):
        os.unlink(w.product)
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as answer:
        before = time.monotonic()
        child = subprocess.Popen(argv, env={**os.environ, **FRESH, **w.env, **env}, stdin=subprocess.DEVNULL, stdout=answer,
                                 stderr=said, preexec_fn=lambda: prepare(w, cage))
        watcher = Recorder(child.pid) if watches else None
        if watcher:
            watcher.start()
        client_wall, output = 0, ""
        if w.client:
            if w.client.wait(child):
                client_wall, output = w.client.run()
            w.client.stop()
        usage, is_late = wait_or_kill(child)
        wall = time.monotonic() - before
        if watcher:
            watcher.over.set()
            watcher.join()
        said.seek(0)
        answer.seek(0)
        text, printed = said.read().decode(errors="replace"), answer.read().decode(errors="replace")
        if w.has_output:
            output = printed
    return {"wall": client_wall if w.client else wall, "cpu": usage.ru_utime + usage.ru_stime, "status": child.returncode,
            "is_late": is_late, "said": text, "printed": printed, "output": output, "product": digest(w.product) if w.product else "",
            "recorder_rss": watcher.peak_bytes if watcher else 0}


class Ways:
    def __init__(self, build_dir, noop, scratch, cage):
        self.silt = os.path.abspath(os.path.join(build_dir, "silt"))
        self.noop, self.scratch, self.cage = noop, scratch, cage
        self.trace = os.path.join(scratch, "bench.silt")
        # Newer ones open their window after recording unless told not to; 1.4 does not know the option.
        told = subprocess.run(["heaptrack", "--help"], capture_output=True, text=True).stdout if cage else ""
        self.quiet = ["--record-only"] if "--record-only" in told else []

    def bare(self, w):
        return timed(w, w.argv, {})

    def noop_(self, w):
        return timed(w, w.argv, {"LD_PRELOAD": os.path.abspath(self.noop)})

    def silt_(self, w):
        one = timed(w, [self.silt, "run", "--verbose", "-f", "-o", self.trace, "--", *w.argv], {}, watches=True)
        cpu = re.search(r"cpu: target ([0-9.]+) s, recorder ([0-9.]+) s, blocked ([0-9.]+) s; the target ended after ([0-9.]+) s",
                        one["said"])
        counts = re.search(r"recorded ([0-9,]+) events .*; ([0-9,]+) lost", one["said"])
        one["is_silent"] = not cpu or not counts
        cpu, counts = cpu or ["", 0, 0, 0, 0], counts or ["", "0", "0"]
        one["cpu"], one["recorder"], one["blocked"] = float(cpu[1]), float(cpu[2]), float(cpu[3])
        one["whole"] = one["wall"]
        if not w.client and not one["is_silent"]:
            one["wall"] = float(cpu[4])
        one["events"] = int(counts[1].replace(",", ""))
        one["lost"] = int(counts[2].replace(",", ""))
        size_bytes = os.path.getsize(self.trace) if os.path.exists(self.trace) else 0
        one["bytes_per_event"] = size_bytes / max(one["events"], 1)
        return one

    def silt_report(self):
        """What the last trace says of itself; outside the timed runs."""
        done = subprocess.run([self.silt, "report", "--json", "--top", "1", "--process", "all", self.trace], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def heaptrack(self, w):
        killed = self.cage.n_killed()
        one = timed(w, ["heaptrack", *self.quiet, "-o", os.path.join(self.scratch, "bench.heaptrack"), *w.argv], {}, self.cage)
        self.cage.end_leftovers()
        one["out_of_memory"] = self.cage.n_killed() > killed
        counted = re.search(r"allocations:\s+(\d+)", one["printed"] + one["said"])
        one["allocations"] = int(counted[1]) if counted else 0
        return one

    def all(self):
        found = {"bare": self.bare, "noop": self.noop_, "silt": self.silt_}
        if self.cage:
            found["heaptrack"] = self.heaptrack
        return found


def why_differs(way, one, bare):
    """'' when the run did what the bare program did, else in words what it did differently."""
    if one.get("out_of_memory"):
        return "out of memory"
    if one.get("is_late"):
        return f"took over {TIMEOUT_S} s"
    if one.get("is_silent"):
        return "silt run told no figures"
    if one["status"] != bare["status"]:
        return f"exit status {one['status']}"
    # heaptrack says its own things on the same output.
    if one["output"] != bare["output"] and not (way == "heaptrack" and bare["output"] in one["output"]):
        return "other output"
    if one["product"] != bare["product"]:
        return "other product"
    return ""
