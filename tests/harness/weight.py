# SPDX-License-Identifier: MIT
"""How much memory a program, and silt with it, takes at most."""

import subprocess
import threading
import time

from .process import outlived
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
