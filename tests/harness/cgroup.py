# SPDX-License-Identifier: MIT
"""Cgroups with a limit, version 1 or 2, made below the one we are in."""

import os
import time

from .cases import skip


def own_group(controller):
    """Folder and version of our cgroup for that controller; (None, 0) where there is none."""
    with open("/proc/self/cgroup") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    for _, controllers, path in lines:
        if controller in controllers.split(","):
            return f"/sys/fs/cgroup/{controller}{path}", 1
    for _, controllers, path in lines:
        if not controllers and os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            return "/sys/fs/cgroup" + path, 2
    return None, 0


class Group:
    """`with Group("memory", "name", settings) as group:`; OSError where it cannot be made. settings: by version of the
    cgroups, what to write into which file."""

    def __init__(self, controller, name, settings):
        parent, self.version = own_group(controller)
        if not parent:
            raise OSError(f"no {controller} cgroup here")
        self.settings = settings[self.version]
        self.path = os.path.join(parent, f"{name}.{os.getpid()}")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as f:
            f.write(str(value))

    def __enter__(self):
        os.mkdir(self.path)
        try:
            for name, value in self.settings.items():
                self.write(name, value)
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

    def __exit__(self, *_):
        for _ in range(500):  # until the last process is gone
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.01)


class MemoryGroup(Group):
    def __init__(self, name, limit_bytes):
        super().__init__("memory", name, {1: {"memory.limit_in_bytes": limit_bytes},
                                          2: {"memory.max": limit_bytes, "memory.swap.max": 0}})

    def n_kills(self):
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        with open(os.path.join(self.path, name)) as f:
            return int(dict(line.split() for line in f)["oom_kill"])


class CpuGroup(Group):
    """So many milliseconds of CPU time in every second."""

    def __init__(self, name, ms_per_s):
        super().__init__("cpu", name, {1: {"cpu.cfs_period_us": 1000000, "cpu.cfs_quota_us": ms_per_s * 1000},
                                       2: {"cpu.max": f"{ms_per_s * 1000} 1000000"}})


def limited(t, kind, limit):
    """A group for the test t; without one the test is left out."""
    try:
        group = kind("silt-test-" + os.path.basename(t.dir), limit)
        with group:
            pass
        return group
    except OSError as e:
        skip(f"a cgroup cannot be made here ({e}); needs root")
