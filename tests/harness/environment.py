# SPDX-License-Identifier: MIT
"""The environment the gate runs in: always the same, so that no verdict depends on who types the command, or where."""

import os
import resource
import shutil
import signal
import sys
import tempfile

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
MARK = "silt-tests."
# As a service manager leaves them; the hard limits stay what they are.
OPEN_FILES, CORE_BYTES = 1024, 0


def wanted(scratch):
    return {"PATH": PATH, "HOME": os.path.join(scratch, "home"), "TMPDIR": scratch, "LANG": "C.UTF-8", "TERM": "dumb"}


def scratch_folder():
    """The folder that this run has for itself, where it has one; its name is short, as sockets lie in it."""
    scratch = os.environ.get("TMPDIR", "")
    return scratch if os.path.basename(scratch).startswith(MARK) and dict(os.environ) == wanted(scratch) else None


def lower(limit, soft):
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def settle():
    """Begins this program anew in that environment; returns in the new one, with the scratch folder."""
    scratch = scratch_folder()
    if not scratch:
        scratch = tempfile.mkdtemp(prefix=MARK, dir="/tmp")
        os.chmod(scratch, 0o755)  # some tests are other users
        os.mkdir(os.path.join(scratch, "home"))
        os.umask(0o022)
        lower(resource.RLIMIT_NOFILE, OPEN_FILES)
        lower(resource.RLIMIT_CORE, CORE_BYTES)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if signal.getsignal(number) == signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout.flush()
        python = shutil.which("python3", path=PATH) or sys.executable
        os.execve(python, [python, *sys.argv], wanted(scratch))
    if os.getsid(0) != os.getpid() and os.getpgid(0) != os.getpid():
        os.setsid()
    return scratch
