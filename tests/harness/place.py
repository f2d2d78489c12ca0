# SPDX-License-Identifier: MIT
"""What a machine has and a bare root (chroot, minimal container) lacks: terminals, mounts, /proc. A test that cannot run without one
of these is left out and says which; where all are there, none is."""

import functools
import os
import pty
import subprocess

from .cases import skip


def open_terminal():
    """pty.openpty: both ends of a new terminal."""
    try:
        return pty.openpty()
    except OSError as e:
        skip(f"no terminal can be made here: is devpts mounted at /dev/pts? ({e.strerror or e})")


def fork_terminal():
    """pty.fork: a child whose terminal is new; its pid (0 in the child) and the other end."""
    try:
        return pty.fork()
    except OSError as e:
        skip(f"no terminal can be made here: is devpts mounted at /dev/pts? ({e.strerror or e})")


@functools.lru_cache(maxsize=None)
def _why_no_mounts():
    """Why a mount namespace cannot be made here, or nothing."""
    if os.getuid() != 0:
        return "needs root"
    try:
        r = subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt && umount /mnt"], capture_output=True, text=True)
    except OSError as e:
        return f"unshare: {e.strerror}"
    return r.stderr.strip().splitlines()[-1] if r.returncode and r.stderr.strip() else "mount failed" if r.returncode else ""


def need_mounts():
    why = _why_no_mounts()
    if why:
        skip(f"no mount namespace can be made here, as in a chroot: {why}")


def in_own_mounts(script, *argv, points=()):
    """The command that runs a shell script with the arguments $0, $1, ... where it may mount and unmount at will. `points` must be
    mount points: what is to be unmounted."""
    need_mounts()
    for point in points:
        if not os.path.ismount(point):
            skip(f"nothing is mounted at {point}")
    return ["unshare", "-m", "sh", "-c", script, *argv]
