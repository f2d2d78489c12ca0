# SPDX-License-Identifier: MIT
"""How much memory a program, and silt with it, takes at most."""

import json
import os
import subprocess
import sys
import threading
import time

from .process import outlived, run
from .watch import Recording, whole

MIB = 1 << 20


class Weigher(threading.Thread):
    """Follows how much memory a process had at most."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak_bytes = pid, 0
        self.start()

    def run(self):
        while True:
            try:
                with open(f"/proc/{self.pid}/status") as f:
                    found = [line.split()[1] for line in f if line.startswith("VmHWM:")]
            except OSError:
                return
            if not found:
                return
            self.peak_bytes = max(self.peak_bytes, int(found[0]) * 1024)
            time.sleep(0.005)


def weigh_alone(argv):
    """The most memory the program has without silt."""
    process = subprocess.Popen(argv)
    weigher = Weigher(process.pid)
    assert process.wait(300) == 0
    weigher.join()
    return weigher.peak_bytes


# Started by a small process, with the environment of its own: the kernel begins a child's figure at the size of whoever started it.
MAX_RSS = ("import json, os, resource, subprocess, sys; subprocess.check_call(sys.argv[2:], env=json.loads(sys.argv[1]), stdout=2); "
           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")


def max_rss_bytes(argv, env=None):
    """The kernel's own figure of the program without silt."""
    r = run([sys.executable, "-S", "-c", MAX_RSS, json.dumps(dict(env or os.environ)), *argv], timeout_s=300)
    assert r.code == 0, r.errors
    return int(r.text) * 1024


def record(t, argv, **kwargs):
    """The report, and the most memory the recorder and the target had."""
    recording = Recording(t, argv, ["-f"], **kwargs)
    target = Weigher(recording.target())
    recorder = Weigher(recording.recorder())
    status, out, err = recording.finish(300)
    assert (status, out, err) == (0, b"", ""), f"{status} {out!r} {err!r}"
    assert not outlived(recording.trace, 20), "the recorder still ran 20 s later"
    recorder.join()
    target.join()
    report = whole(t, recording.trace)
    assert all(p["totals"]["lost_events"] == 0 for p in report["processes"])
    return report, recorder.peak_bytes, target.peak_bytes
