# SPDX-License-Identifier: MIT
"""A recording that is followed while it grows: after each refresh every answer is that of the trace opened anew."""

import os
import subprocess

from harness.process import run


def test_a_recording_that_grows(t):
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [t.helper(), "allocate", "3000"]), stdout=subprocess.DEVNULL)
    try:
        followed = run([os.path.join(t.context.build_dir, "src", "query", "testing", "query_follow"), trace])
    finally:
        recording.wait()
    assert followed.code == 0, followed.errors
    words = followed.text.split()
    told = dict(zip(words[::2], map(int, words[1::2])))
    t.notes.append(followed.text.strip())
    assert told["finished"] == 1, told
    assert told["grown"] >= 3, f"it was seen to grow too seldom: {told}"
    assert told["events"] >= 6000, told
