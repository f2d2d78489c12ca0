# SPDX-License-Identifier: MIT
"""The page in a browser: `silt view` on a free port, and the scripts of web/testing/ that look at it.

    with View(t, trace) as view:
        saw = browse(t, "window", view.url, drags=[[0.2, 0.6, "peak"]])
"""

import json
import os
import re
import shutil
import subprocess
import time

from . import browser
from .cases import skip
from .locks import Lock
from .process import TimedOut, is_readable, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
START_S = 300
RUN = os.getpid()  # before tests have processes of their own
BROWSE_S = 600


def scripts(work_dir):
    """The folder with the bundled scripts; made once for a run."""
    out = os.path.join(work_dir, f"page.{RUN}")
    with Lock(out + ".lock"):
        if not os.path.isdir(out):
            r = run([os.path.join(ROOT, "tools/web.sh"), "--out", out, "--tools"], timeout_s=300)
            assert r.code == 0, r.text + r.errors
    return out


def has_page(silt):
    return "without the page" not in silt.command("view", "/nonexistent").errors


class View:
    """`silt view`, until the end of the block."""

    def __init__(self, t, *argv, command=("view",)):
        if not has_page(t.silt):
            skip("this build has no page")
        self.process = subprocess.Popen([t.silt.path, *command, "--no-browser", *argv], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, start_new_session=True)
        t.running.append(self.process)
        self.said = ""
        self.url = self.wait_for(r"http://\S+")[0]

    def wait_for(self, pattern):
        """Reads what it prints until that is there."""
        deadline = time.monotonic() + START_S
        while not (found := re.search(pattern, self.said)):
            ready = is_readable(self.process.stderr, deadline - time.monotonic())
            if not ready:
                raise TimedOut(f"no {pattern} within {START_S} s: {self.said}")
            got = os.read(self.process.stderr.fileno(), 65536).decode(errors="replace")
            assert got, f"it ended: {self.said}"
            self.said += got
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(10)
        finally:
            self.process.stdin.close()
            self.process.stderr.close()


def browse(t, task, url, may_err=False, **arguments):
    """What the task saw; a page that throws, asks, or logs an error fails."""
    program = browser.find()
    assert program, "no browser: run 'tools/setup.sh test', or install chromium-headless-shell"
    arguments |= {"url": url, "browser": program, "picture": t.path("page.png")}
    script = os.path.join(scripts(t.context.work_dir), "browse.main.mjs")
    done = subprocess.run([shutil.which("node"), script, task], input=json.dumps(arguments), capture_output=True, text=True, timeout=BROWSE_S,
                          check=False, env={**os.environ, "SILT_WEB": os.path.join(ROOT, "web")})
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout)
    assert said["failure"] is None, f"{said['failure']}\n{said['errors']}"
    assert may_err or not said["errors"], said["errors"]
    assert not said["dialogs"], said["dialogs"]
    return said["saw"], said
