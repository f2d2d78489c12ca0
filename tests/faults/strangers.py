# SPDX-License-Identifier: MIT
"""Other users of the machine, and programs that mean harm: nobody else reads a trace, gets into a recording, or has silt
write through a link."""

import os
import re
import shutil
import subprocess
import tempfile
import time

from harness.process import in_time, run
from harness.watch import Recording, alone, await_joined, n_events, one_line, same, told, whole

NOBODY, OTHER = 65534, 61234
WAIT_MAX_S = 5  # threads, for a recorder


def as_user(uid, argv):
    if os.getuid() != 0:
        return argv
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *argv]


SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")


class Folder:
    """A folder that everybody may use as /tmp is used, with silt and the programs in it."""

    def __init__(self, t, sticky=True):
        self.path = tempfile.mkdtemp(prefix="silt-strangers.", dir="/tmp")
        os.chmod(self.path, 0o1777 if sticky else 0o777)
        for path in (t.silt.path, os.path.join(t.context.build_dir, "libsilt.so"), t.victim("crew"), t.victim("caller", flags=["-I", SOURCES])):
            shutil.copy(path, self.path)
            os.chmod(self / os.path.basename(path), 0o755)

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def test_modes_whatever_the_umask(t):
    """Trace, log, sockets: the user's own, even with umask 0."""
    r = Recording(t, [t.victim("crew"), "2", "800", "1000"], ["--log", t.path("log")], umask=0)
    r.recorder()
    target = r.joined()
    name = rendezvous_of(target)[0]
    sockets = [x for x in name.split(";") if x.startswith("/")]
    for path in sockets:
        assert os.stat(os.path.dirname(path)).st_mode & 0o077 == 0, f"others may enter {os.path.dirname(path)}"
    assert sockets, name
    status, _, err = r.finish()
    assert status == 23, err
    for path in (t.path("t.silt"), t.path("log")):
        assert os.stat(path).st_mode & 0o777 == 0o600, f"{path}: {os.stat(path).st_mode:o}"
    assert not any(os.path.exists(os.path.dirname(p)) for p in sockets), "the socket's folder was left behind"


def rendezvous_of(pid):
    """Names and token, from the program's environment."""
    with open(f"/proc/{pid}/environ", "rb") as f:
        value = re.search(rb"SILT_RENDEZVOUS=([^\0]*)", f.read())[1].decode()
    return value.rsplit(":", 1)


def test_callers_as_root(t):
    """Into a recording of nobody's: with a wrong token, as another user even with the right one, silently, with
    noise: refused, and the recording goes on and stays whole."""
    with Folder(t) as folder:
        argv = [folder / "crew", "2", "3000", "1000"]
        bare = alone(argv)
        trace = folder / "t.silt"
        process = subprocess.Popen(as_user(NOBODY, [folder / "silt", "run", "-q", "-o", trace, "--", *argv]),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, cwd=folder.path)
        deadline = time.monotonic() + 10
        pid = None
        while not pid and time.monotonic() < deadline:
            found = run(["pgrep", "-f", f"^{re.escape(folder / 'crew')} 2 3000"]).text.split()
            pid = int(found[0]) if found else None
        await_joined(pid)
        names, token = rendezvous_of(pid)
        wrong = "0" * 32
        silent = []
        for name in names.split(";"):
            for uid, key, expected in ((NOBODY, wrong, "refused"), (OTHER, wrong, "refused"), (OTHER, token, "refused"),
                                       (NOBODY, token, "accepted")):
                begin = time.monotonic()
                r = run(as_user(uid, [folder / "caller", name, key, "hello"]))
                assert r.text.strip() == expected, f"user {uid} with {'the' if key == token else 'a wrong'} token at {name}: {r.text}"
                in_time(time.monotonic() - begin, 3, "the recorder was held up")
            for uid in (NOBODY, OTHER):
                silent.append(subprocess.Popen(as_user(uid, [folder / "caller", name, wrong, "silent"]), stdout=subprocess.DEVNULL))
                run(as_user(uid, [folder / "caller", name, wrong, "noise"]))
        begin = time.monotonic()
        again = run(as_user(NOBODY, [folder / "caller", names.split(";")[0], token, "hello"]))
        assert again.text.strip() == "accepted", again.text
        in_time(time.monotonic() - begin, 3, "silent callers held up an honest one")
        for p in silent:
            p.wait()
        out, err = process.communicate(timeout=600)
        same(bare, process.returncode, out, err.decode())
        report = whole(t, trace)
        truth, totals = told(bare.stdout), report["totals"]
        if totals["lost_events"]:  # threads wait 5 s for a recorder that gets no processor, and go on without it
            in_time(report["overhead"]["blocked_s"], WAIT_MAX_S, "threads waited for the recorder")
        assert n_events(totals) == truth["allocations"] + truth["frees"] and totals["lost_events"] == 0, totals


def test_planted_links_as_root(t):
    """In a folder like /tmp somebody made a link, or a file of their own, where the trace is to go."""
    with Folder(t) as folder:
        secret = t.path("secret")
        with open(secret, "w") as f:
            f.write("precious")
        for kind in ("link", "dangling", "hard", "fifo"):
            path = folder / f"{kind}.silt"
            if kind == "link":
                os.symlink(secret, path)
            elif kind == "dangling":
                os.symlink(t.path("new"), path)
            elif kind == "hard":
                with open(path, "w") as f:
                    f.write("theirs")
            else:
                os.mkfifo(path)
            os.lchown(path, OTHER, OTHER)
            for options in ([], ["-f"]):
                r = run([t.silt.path, "run", *options, "-o", path, "--", t.victim("crew"), "1", "5", "0"])
                if kind == "hard" and options:
                    assert r.code in (23, 125), f"{kind}: {r.code}: {r.errors}"
                    continue
                assert r.code == 125 and not r.stdout, f"{kind} {options}: {r.code}: {r.errors}"
                one_line(r.errors)
        with open(secret) as f:
            assert f.read() == "precious", "a link was followed"
        assert not os.path.exists(t.path("new")), "a dangling link was followed"
        log = folder / "log"
        os.symlink(secret, log)
        r = run([t.silt.path, "run", "-o", t.path("u.silt"), "--log", log, "--", t.victim("crew"), "1", "5", "0"])
        assert r.code == 125, f"--log: {r.code}: {r.errors}"
        with open(secret) as f:
            assert f.read() == "precious", "--log followed a link"


def test_another_users_trace_opened_by_root(t):
    """Whatever a stranger hands over as a trace is a file to be doubted: no waiting on a fifo, one line each."""
    with Folder(t) as folder:
        r = run(as_user(NOBODY, [folder / "silt", "run", "-q", "-o", folder / "good.silt", "--", folder / "crew", "1", "50", "0"]))
        assert r.code == 23, r.errors
        report, why = t.silt.report(folder / "good.silt")
        assert report, why
        os.mkfifo(folder / "fifo.silt")
        os.symlink("/dev/zero", folder / "zero.silt")
        os.mkdir(folder / "folder.silt")
        with open(folder / "good.silt", "rb") as f:
            data = bytearray(f.read())
        for i in range(0, len(data), 97):
            data[i] ^= 0x55
        with open(folder / "bad.silt", "wb") as f:
            f.write(data)
        for name in ("fifo", "zero", "folder", "bad"):
            for command in ("report", "verify"):
                r = t.silt.command(command, folder / f"{name}.silt", timeout_s=200)
                allowed = (0, 1, 2) if (command, name) == ("report", "bad") else (1, 2)  # it shows what can be read
                assert r.code in allowed, f"{command} {name}: {r.code}: {r.text}{r.errors}"


def test_environment_of_privileged_children_as_root(t):
    """A setuid program run by the recorded one sees the environment it would see without silt: no socket, no token, no
    library; the user's own LD_PRELOAD is the loader's business."""
    with Folder(t) as folder:
        shutil.copy(shutil.which("env"), folder / "privileged")
        os.chown(folder / "privileged", OTHER, OTHER)
        os.chmod(folder / "privileged", 0o4755)
        by_path = ["sh", "-c", folder / "privileged"]
        by_search = ["env", f"PATH={folder.path}:/usr/bin:/bin", "privileged"]
        by_spawn = ["python3", "-c", f"import os; os.waitpid(os.posix_spawn('{folder / 'privileged'}', ['p'], os.environ), 0)"]
        for argv in (by_path, by_search, by_spawn):
            bare = run(as_user(NOBODY, argv), cwd=folder.path, env={"PYTHONHOME": None})
            r = run(as_user(NOBODY, [folder / "silt", "run", "-q", "-f", "-o", folder / "t.silt", "--", *argv]), cwd=folder.path)
            assert bare.code == 0 and r.code == 0, f"{argv}: {bare.code} {r.code}: {r.errors}"
            seen, expected = (sorted(x.text.splitlines()) for x in (r, bare))
            assert seen == expected, f"{argv[0]}: {set(seen) ^ set(expected)}"


test_modes_whatever_the_umask.soak_repeats = 10
test_callers_as_root.soak_repeats = 10
test_planted_links_as_root.soak_repeats = 10
test_another_users_trace_opened_by_root.soak_repeats = 10
test_environment_of_privileged_children_as_root.soak_repeats = 10
