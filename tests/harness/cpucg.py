# SPDX-License-Identifier: MIT
"""A cgroup whose processes get a little CPU time every second, version 1 or 2."""

import os
import time


def parent_group():
    """Folder and version of the CPU cgroup we are in; OSError where there is none."""
    with open("/proc/self/cgroup") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    for _, controllers, path in lines:
        if "cpu" in controllers.split(","):
            return "/sys/fs/cgroup/cpu" + path, 1
    for _, controllers, path in lines:
        if not controllers and os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            return "/sys/fs/cgroup" + path, 2
    raise OSError("no CPU cgroup here")


class CpuGroup:
    """`with CpuGroup("name", ms_per_s) as group:`; OSError where it cannot be made."""

    def __init__(self, name, ms_per_s):
        parent, self.version = parent_group()
        self.us_per_s = ms_per_s * 1000
        self.path = os.path.join(parent, f"{name}.{os.getpid()}")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as f:
            f.write(str(value))

    def __enter__(self):
        os.mkdir(self.path)
        try:
            if self.version == 1:
                self.write("cpu.cfs_period_us", 1000000)
                self.write("cpu.cfs_quota_us", self.us_per_s)
            else:
                self.write("cpu.max", f"{self.us_per_s} 1000000")
        except OSError:
            os.rmdir(self.path)
            raise
        return self

    @property
    def door(self):
        """The file into which a process writes its pid to be in."""
        return os.path.join(self.path, "cgroup.procs")

    def __exit__(self, *_):
        for _ in range(500):  # until the last process is gone
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.01)
