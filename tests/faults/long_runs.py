# SPDX-License-Identifier: MIT
"""Days of recording with --max-size, the clock compressed (bench/long_run.c): the recorder's own pipeline and writer, 50,000
call paths, a live set that grows. The program keeps books of every call path and checks the trace, its largest size and the
recorder's memory against them; the report must say the same."""

import json
import os
import re
import signal
import subprocess
import time

from harness.process import give_up, run


def test_days_within_a_bound(t):
    """20 million events in `make test`, a billion in `make soak`."""
    millions, bound_mb = t.count((20, 32), (1000, 256))
    trace = t.path("t.silt")
    r = run([os.path.join(t.context.build_dir, "src/pipeline/bench_long_run"), trace, str(millions), str(bound_mb)],
            timeout_s=t.count(1800, 7200))
    assert r.code == 0, r.errors
    books = json.loads(r.text)
    assert books["thinned"] > 2 and books["max_file_bytes"] <= bound_mb << 20, books
    assert books["allocations"] + books["frees"] == millions * 1_000_000, books
    t.notes.append(f"{books['thinned']} copies, at most {books['max_file_bytes'] / 2**20:.0f} MiB, recorder "
           f"{books['recorder_bytes'] / 2**20:.0f} MiB, {books['cpu_s']} s of CPU")
    verdict = t.silt.command("verify", trace)
    assert verdict.code == 0, verdict.text
    report, why = t.silt.report(trace)
    assert report, why
    for name in ("allocations", "frees", "bytes_allocated", "peak_live_bytes", "end_live_bytes", "end_live_blocks"):
        assert report["totals"][name] == books[name], f"{name}: {report['totals'][name]}, not {books[name]}"
    assert report["quality"]["exact"] and report["quality"]["dropped_events"] > 0, report["quality"]
    end_s = report["duration_s"]
    for begin in (0.1, 0.5, 0.9):
        window = t.silt.command("report", "--json", "--from", f"{begin * end_s:.3f}s", "--to",
                                f"{(begin + 0.05) * end_s:.3f}s", trace)
        assert window.code == 0 and json.loads(window.text)["totals"]["allocations"] > 0, window.errors


def most_resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) * 1024


class Follower:
    def __init__(self, t, trace):
        self.process = subprocess.Popen([t.silt.path, "top", "--json", "--every", "100ms", trace], stdout=subprocess.PIPE, text=True)
        t.running.append(self.process)

    def look(self, end):
        give_up(end, "the looks take too long")
        assert self.process.stdout.readline(), f"it ended: {self.process.wait(60)}"
        return most_resident(self.process.pid)

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=600)
        assert self.process.returncode == 0, self.process.returncode


def test_followed(t):
    """Who looks on for long is never larger than two who look for the first time: a trace that was made smaller is read anew before
    what was known of it goes, and more is not kept. The recorder goes on between looks until the trace was made smaller."""
    n_looks, bound_mb = t.count((8, 8), (200, 32))
    trace, end = t.path("t.silt"), time.monotonic() + t.count(600, 7200)
    recorder = subprocess.Popen([os.path.join(t.context.build_dir, "src/pipeline/bench_long_run"), trace, "100000", str(bound_mb)],
                                stdout=subprocess.DEVNULL)
    t.running.append(recorder)
    while not os.path.exists(trace) or t.silt.command("report", trace).code:
        give_up(end, "nothing to read")
    follower, once, sizes = Follower(t, trace), 0, []
    while len(sizes) <= n_looks:
        before = os.stat(trace).st_ino  # not another's: the follower has it open
        sizes.append(follower.look(end))
        recorder.send_signal(signal.SIGCONT)
        while os.stat(trace).st_ino == before:
            give_up(end, "the trace is not made smaller")
            assert recorder.poll() is None, "the recording is over"
            time.sleep(0.01)
        recorder.send_signal(signal.SIGSTOP)
        first = Follower(t, trace)
        once = max(once, first.look(end))
        first.end()
    follower.end()
    recorder.kill()
    t.notes.append(f"{n_looks} looks: at most {sizes[-1] >> 20} MiB, once {once >> 20} MiB")
    assert sizes[-1] <= 2 * once + (8 << 20), (once, sizes)
