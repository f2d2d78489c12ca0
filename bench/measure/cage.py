# SPDX-License-Identifier: MIT
"""A memory limit around a process and all its children: a cgroup (v1 or v2), else an address-space limit."""
import os
import resource
import signal
import time


def mounts():
    """(version, mount point) of every cgroup tree that has a memory controller."""
    found = []
    try:
        with open("/proc/self/mounts", encoding="utf-8") as f:
            for line in f:
                _, where, kind, options = line.split()[:4]
                if kind == "cgroup" and "memory" in options.split(","):
                    found.append((1, where))
                elif kind == "cgroup2" and "memory" in read(f"{where}/cgroup.controllers").split():
                    found.append((2, where))
    except OSError:
        pass
    return found


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


def write(path, value):
    with open(path, "w", encoding="utf-8") as f:
        f.write(str(value))


def own_group(version):
    """This process's path in a tree, or ''."""
    for line in read("/proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if (version == 1 and "memory" in controllers.split(",")) or (version == 2 and number == "0"):
            return path.rstrip("/")
    return ""


class Cage:
    """`kind` says how the limit is held: 'cgroup v1', 'cgroup v2' or 'RLIMIT_AS'."""

    def __init__(self, limit_bytes):
        self.limit_bytes, self.path, self.kind = limit_bytes, None, "RLIMIT_AS"
        for version, where in mounts():
            # Under the own group where that may be; v2 refuses it there while the own group holds processes.
            for parent in dict.fromkeys((where + own_group(version), os.path.dirname(where + own_group(version)), where)):
                if parent.startswith(where) and self.try_group(version, parent):
                    return

    def try_group(self, version, parent):
        path = os.path.join(parent, f"silt-bench-{os.getpid()}")
        limit = "memory.limit_in_bytes" if version == 1 else "memory.max"
        try:
            os.mkdir(path)
        except OSError:
            return False
        try:
            write(os.path.join(path, limit), self.limit_bytes)
        except OSError:
            os.rmdir(path)
            return False
        for swap, value in (("memory.memsw.limit_in_bytes", self.limit_bytes), ("memory.swap.max", 0)):
            try:
                write(os.path.join(path, swap), value)
            except OSError:
                pass
        self.path, self.kind, self.version = path, f"cgroup v{version}", version
        return True

    def enter(self):
        """Called in the child, before exec."""
        if self.path:
            write(os.path.join(self.path, "cgroup.procs"), os.getpid())
        else:
            resource.setrlimit(resource.RLIMIT_AS, (self.limit_bytes, self.limit_bytes))

    def n_killed(self):
        """How many processes the limit has ended; 0 where only the address space is limited."""
        if not self.path:
            return 0
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        for line in read(os.path.join(self.path, name)).splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0

    def end_leftovers(self):
        """Ends what is left of a run; only processes that entered the cage are in it."""
        for _ in range(100):
            pids = read(os.path.join(self.path, "cgroup.procs")).split() if self.path else []
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)

    def close(self):
        if self.path:
            self.end_leftovers()
            try:
                os.rmdir(self.path)
            except OSError:
                pass
