# SPDX-License-Identifier: MIT
"""Things that several tests want made, each a process of its own: one makes them, the others wait for it."""

import fcntl
import os


class Lock:
    """On a file, which is made, or on a folder that is there. One process has it at a time, that one as often as it likes; it goes with
    the process."""

    def __init__(self, path):
        self.path, self.depth, self.fd = path, 0, None

    def __enter__(self):
        if self.depth == 0:
            self.fd = os.open(self.path, os.O_RDONLY if os.path.isdir(self.path) else os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        self.depth += 1
        return self

    def __exit__(self, *ignored):
        self.depth -= 1
        if self.depth == 0:
            os.close(self.fd)
            self.fd = None
