# SPDX-License-Identifier: MIT
"""A program on a terminal: what it writes, and what a person would see of it."""

import codecs
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import time

from harness.place import open_terminal
from harness.process import give_up, is_readable

PATIENCE_S = 600
SEQUENCE = re.compile(r"\x1b(?:\[([?>=]?)([0-9;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78cMDEHNOZ])")


class Cells:
    """What a terminal shows: as much of a VT220 as curses uses. An unknown sequence is an error of this class."""

    def __init__(self, height, width):
        self.height, self.width = height, width
        self.rows = [[" "] * width for _ in range(height)]
        self.y = self.x = 0
        self.top, self.bottom = 0, height
        self.modes, self.rest, self.saved = set(), "", (0, 0)
        self.inks = set()

    def lines(self):
        return ["".join(row).rstrip() for row in self.rows]

    def _scroll(self, by):
        for _ in range(abs(by)):
            gone, at = (self.top, self.bottom - 1) if by > 0 else (self.bottom - 1, self.top)
            del self.rows[gone]
            self.rows.insert(at, [" "] * self.width)

    def _down(self):
        if self.y == self.bottom - 1:
            self._scroll(1)
        else:
            self.y = min(self.y + 1, self.height - 1)

    def _put(self, c):
        if self.x >= self.width:
            self.x = 0
            self._down()
        self.rows[self.y][self.x] = self.last = c
        self.x += 1

    def _erase(self, row, begin, end):
        self.rows[row][begin:end] = [" "] * (min(end, self.width) - begin)

    def _csi(self, mark, numbers, letter):
        if mark == "?" and letter in "hl":
            (self.modes.add if letter == "h" else self.modes.discard)(numbers)
            return
        given = [int(n) if n else 0 for n in numbers.replace(":", ";").split(";")]
        n = given[0] or 1
        row = self.rows[self.y]
        if letter in "Hf":
            self.y, self.x = min(n, self.height) - 1, min((given + [1])[1] or 1, self.width) - 1
        elif letter in "ABCD":
            dy, dx = {"A": (-n, 0), "B": (n, 0), "C": (0, n), "D": (0, -n)}[letter]
            self.y = max(0, min(self.y + dy, self.height - 1))
            self.x = max(0, min(self.x + dx, self.width - 1))
        elif letter in "G`":
            self.x = min(n, self.width) - 1
        elif letter == "d":
            self.y = min(n, self.height) - 1
        elif letter == "K":
            self._erase(self.y, *{0: (self.x, self.width), 1: (0, self.x + 1), 2: (0, self.width)}[given[0]])
        elif letter == "J":
            for y in {0: range(self.y + 1, self.height), 1: range(self.y), 2: range(self.height)}[given[0]]:
                self._erase(y, 0, self.width)
            if given[0] < 2:
                self._erase(self.y, *((self.x, self.width) if given[0] == 0 else (0, self.x + 1)))
        elif letter == "X":
            self._erase(self.y, self.x, self.x + n)
        elif letter == "b":
            for _ in range(n):
                self._put(self.last)
        elif letter == "@":
            row[self.x:] = ([" "] * n + row[self.x:])[:self.width - self.x]
        elif letter == "P":
            row[self.x:] = (row[self.x + n:] + [" "] * n)[:self.width - self.x]
        elif letter in "LM":
            for _ in range(min(n, self.bottom - self.y)):
                del self.rows[self.bottom - 1 if letter == "L" else self.y]
                self.rows.insert(self.y if letter == "L" else self.bottom - 1, [" "] * self.width)
        elif letter in "ST":
            self._scroll(n if letter == "S" else -n)
        elif letter == "r":
            self.top, self.bottom = n - 1, (given + [0])[1] or self.height
            self.y = self.x = 0
        elif letter == "m":
            self.inks.update(given)
        elif letter not in "hlnct":
            raise AssertionError(f"unknown sequence: {numbers!r} {letter!r}")

    def _escape(self, text):
        if text[1] == "M":
            if self.y == self.top:
                self._scroll(-1)
            else:
                self.y -= 1
        elif text[1] == "7":
            self.saved = self.y, self.x
        elif text[1] == "8":
            self.y, self.x = self.saved

    def feed(self, text):
        text, self.rest = self.rest + text, ""
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                m = SEQUENCE.match(text, at)
                if not m:
                    assert len(text) - at < 64, f"no sequence: {text[at:at + 64]!r}"
                    self.rest = text[at:]
                    return
                if m.group(3):
                    self._csi(*m.groups())
                else:
                    self._escape(m.group(0))
                at = m.end()
                continue
            at += 1
            if c == "\r":
                self.x = 0
            elif c == "\n":
                self._down()
            elif c == "\b":
                self.x = max(0, min(self.x, self.width) - 1)
            elif c == "\t":
                self.x = min(self.x // 8 * 8 + 8, self.width - 1)
            elif c >= " ":
                self._put(c)


class Terminal:
    """A silt whose standard input, output and errors are a terminal of `width` columns."""

    def __init__(self, argv, width, folder, height=50, env=(), cwd=None):
        self.master, slave = open_terminal()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(slave)
        env = {**os.environ, "XDG_STATE_HOME": folder, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **dict(env)}
        env.pop("COLUMNS", None)
        env.pop("LINES", None)
        self.child = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True, cwd=cwd,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave = slave
        self.seen, self.decoder = "", codecs.getincrementaldecoder("utf-8")("replace")
        self.cells = Cells(height, width)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        os.close(self.slave)
        os.close(self.master)

    def more(self):
        if not is_readable(self.master, 0.2):
            return
        try:
            text = self.decoder.decode(os.read(self.master, 65536))
        except OSError:
            return
        self.seen += text
        self.cells.feed(text)

    def wait_for(self, pattern, since=0):
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self.seen[since:]):
            give_up(deadline, f"no {pattern!r} in {self.seen[since:]!r}")
            self.more()
        return self.seen[since:]

    def type(self, text, pattern):
        """Types it; what was shown until the pattern came."""
        since = len(self.seen)
        os.write(self.master, text.encode())
        return self.wait_for(pattern, since)

    def wait_shown(self, pattern):
        """Waits until what a person sees has the pattern; all lines."""
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(pattern, "\n".join(self.cells.lines())):
            assert self.child.poll() is None, f"ended: {self.cells.lines()}"
            give_up(deadline, f"no {pattern!r} on the screen:\n" + "\n".join(self.cells.lines()))
            self.more()
        return self.cells.lines()

    def press(self, keys, pattern):
        """Presses keys and waits for that on the screen."""
        os.write(self.master, keys.encode())
        return self.wait_shown(pattern)

    def resize(self, height, width):
        self.cells = Cells(height, width)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        os.kill(self.child.pid, signal.SIGWINCH)

    def end(self):
        deadline = time.monotonic() + PATIENCE_S
        while self.child.poll() is None:
            give_up(deadline, f"does not end: {self.seen!r}")
            self.more()
        return self.child.returncode

    def is_restored(self):
        """The modes of the terminal are those from before."""
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]
