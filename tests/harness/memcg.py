# SPDX-License-Identifier: MIT
"""A memory cgroup with a limit, version 1 or 2, made below the one we are in."""

import os
import time


def own_group():
    """Folder and version of our memory cgroup; (None, 0) where there is none."""
    with open("/proc/self/cgroup") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            return "/sys/fs/cgroup/memory" + path, 1
    for _, controllers, path in lines:
        if not controllers and os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            return "/sys/fs/cgroup" + path, 2
    return None, 0


class MemoryGroup:
    """`with MemoryGroup("name", limit_bytes) as group:`; OSError where it cannot be made."""

    def __init__(self, name, limit_bytes):
        parent, self.version = own_group()
        if not parent:
            raise OSError("no memory cgroup here")
        self.limit_bytes = limit_bytes
        self.path = os.path.join(parent, f"{name}.{os.getpid()}")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as f:
            f.write(str(value))

    def __enter__(self):
        os.mkdir(self.path)
        try:
            if self.version == 1:
                self.write("memory.limit_in_bytes", self.limit_bytes)
            else:
                self.write("memory.max", self.limit_bytes)
                self.write("memory.swap.max", 0)
        except OSError:
            os.rmdir(self.path)
            raise
        return self

    @property
    def door(self):
        """The file into which a process writes its pid to be in."""
        return os.path.join(self.path, "cgroup.procs")

    def enter(self):
        """For preexec_fn."""
        self.write("cgroup.procs", os.getpid())

    def n_kills(self):
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        with open(os.path.join(self.path, name)) as f:
            return int(dict(line.split() for line in f)["oom_kill"])

    def __exit__(self, *_):
        for _ in range(500):  # until the last process is gone
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.01)
