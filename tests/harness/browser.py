# SPDX-License-Identifier: MIT
"""A browser without a window, driven over its debugging pipe: loads files, moves the mouse, types, evaluates, takes pictures.

    with Browser(folder) as b:
        b.open("/path/picture.svg")
        b.click(100, 200)
        b.evaluate("document.title")
"""

import base64
import json
import os
import shutil
import subprocess
import time

from harness.process import is_readable

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    def __init__(self, folder, width=1200, height=800, dark=False, timeout_s=600):
        self.timeout_s, self.number, self.buffer = timeout_s, 0, b""
        self.events = []
        assert find(), "no browser: run 'tools/setup.sh test', or install chromium-headless-shell"
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        argv = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
                "--disable-background-networking", "--hide-scrollbars", "--force-device-scale-factor=1",
                f"--window-size={width},{height}", f"--user-data-dir={os.path.join(folder, 'browser')}",
                "--remote-debugging-pipe", "about:blank"]

        def wire():  # the pipe is always descriptors 3 and 4
            reader, writer = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        self.process = subprocess.Popen(argv, preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.read_fd, self.write_fd = ours_in, ours_out
        self.session = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Network.enable")
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, AssertionError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready = is_readable(self.read_fd, deadline - time.monotonic())
            assert ready, "the browser does not answer"
            got = os.read(self.read_fd, 1 << 16)
            assert got, "the browser is gone"
            self.buffer += got
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + self.timeout_s
        while True:
            m = self.message(deadline)
            if m.get("id") == self.number:
                assert "error" not in m, f"{method}: {m['error']}"
                return m["result"]
            self.events.append(m)

    def wait(self, method):
        deadline = time.monotonic() + self.timeout_s
        while True:
            found = next((e for e in self.events if e.get("method") == method), None)
            if found:
                return found
            self.events.append(self.message(deadline))

    def open(self, path, is_settled=True):
        """Loads a file, and waits until it is drawn; returns the seconds that took, and forgets what happened before."""
        self.events = []
        begin = time.monotonic()
        self.call("Page.navigate", url="file://" + path)
        self.wait("Page.loadEventFired")
        if is_settled:
            self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return time.monotonic() - begin

    def evaluate(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def until(self, expression):
        """Asks until the expression is something, and returns that: a page draws what it was told when it was told."""
        deadline = time.monotonic() + self.timeout_s
        while not (value := self.evaluate(expression)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"it did not come to that: {expression}")
            time.sleep(0.02)
        return value

    def problems(self):
        """Exceptions, console errors, and what was asked of the network, since open."""
        self.call("Runtime.evaluate", expression="1")
        bad = []
        for e in self.events:
            method, params = e.get("method"), e.get("params", {})
            if method == "Runtime.exceptionThrown":
                bad.append(params["exceptionDetails"].get("exception", {}).get("description") or str(params))
            elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
                bad.append(str(params["args"]))
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file://", "data:")):
                bad.append("asks for " + params["request"]["url"])
        return bad

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key, text=None):
        down = {"type": "keyDown", "key": key}
        if text or len(key) == 1:
            down["text"] = text or key
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path, full=False):
        """What is seen, as PNG."""
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        with open(path, "wb") as f:
            f.write(base64.b64decode(got["data"]))
