# SPDX-License-Identifier: MIT
"""Whether a test that ran out of time had the machine to itself."""

IDLE, IOWAIT = 3, 4  # fields of the line "cpu" in /proc/stat
BUSY_IDLE_PART = 0.25  # of all processors: with more of them idle, nobody kept a test from ending


def ticks(path="/proc/stat"):
    """Of all processors since the machine began: all, and those without work."""
    with open(path) as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    return sum(fields), fields[IDLE] + fields[IOWAIT]


class Load:
    """All processors since it was made."""

    def __init__(self, read=ticks):
        self.read, self.begin = read, read()

    def idle_part(self):
        now = self.read()
        return (now[1] - self.begin[1]) / max(1, now[0] - self.begin[0])

    def is_busy(self):
        return self.idle_part() < BUSY_IDLE_PART
