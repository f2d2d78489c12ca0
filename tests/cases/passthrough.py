# SPDX-License-Identifier: MIT
"""What the target is given is what it would have without silt."""

import os
import resource
import signal
import subprocess
import time

from harness.process import in_time, run


def test_stdin_and_stdout(t):
    data = t.chance.randbytes(3 << 20)
    r = t.silt.record(t.path("t.silt"), ["cat"], stdin=data)
    assert r.code == 0 and r.stderr == b"", r.errors
    assert r.stdout == data, f"{len(r.stdout)} bytes came back of {len(data)}, or others"


def test_stderr_is_the_targets(t):
    r = t.silt.record(t.path("t.silt"), ["sh", "-c", "echo own words >&2; exit 4"])
    assert r.code == 4 and r.stderr == b"own words\n", r.errors


def compare_start(t, prepare=None, env=None, **kwargs):
    """The helper tells how it was started; with and without silt the same."""
    helper = t.helper()
    argv = [helper, "start", "two words", "", "ä", "-q", "--", "--wait"]
    bare = run(argv, env=env, preexec_fn=prepare, **kwargs)
    seen = t.silt.record(t.path("t.silt"), argv, options=["-f"], env=env, preexec_fn=prepare, **kwargs)
    assert bare.code == 0 and seen.code == 0, seen.errors
    before, after = bare.text.splitlines(), seen.text.splitlines()
    lost, added = [x for x in before if x not in after], [x for x in after if x not in before]
    assert before == after, f"without silt: {lost}; with silt: {added}"


def test_start_is_the_same(t):
    compare_start(t)


def test_environment_order_and_odd_names(t):
    compare_start(t, env={"ODD": "", "ODD2": "a=b=c", "LANG": "C", "A B": "c"})


def test_ignored_and_blocked_signals_stay(t):
    def prepare():
        for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(sig, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])
    compare_start(t, prepare)


def test_umask_and_descriptors_stay(t):
    read_end, write_end = os.pipe()
    high = os.dup2(write_end, 41)

    def prepare():
        os.umask(0o027)
    try:
        compare_start(t, prepare, pass_fds=(read_end, write_end, high))
    finally:
        for fd in (read_end, write_end, high):
            os.close(fd)


def test_closed_descriptors_stay_closed(t):
    """Started without stdin and stderr: nobody's descriptors may land there."""
    helper = t.helper()
    script = 'exec "$@" <&- 2>&-'
    bare = subprocess.run(["sh", "-c", script, "sh", helper, "start"], capture_output=True)
    begin = time.monotonic()
    seen = subprocess.run(["sh", "-c", script, "sh", *t.silt.run_argv(t.path("t.silt"), [helper, "start"])],
                          capture_output=True, timeout=600)
    in_time(time.monotonic() - begin, 4, "silt waited for something")
    fds = [[x for x in r.stdout.decode().splitlines() if x.startswith("fd ")] for r in (bare, seen)]
    assert fds[0] == fds[1] and seen.returncode == 0, f"without silt {fds[0]}, with it {fds[1]}, status {seen.returncode}"
    report, why = t.silt.report(t.path("t.silt"))
    assert report, f"nothing was recorded: {why}"


def test_limits_stay(t):
    def prepare():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 80))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    r = t.silt.record(t.path("t.silt"), ["sh", "-c", "ulimit -Sn; ulimit -Hn; ulimit -c"], preexec_fn=prepare)
    assert r.text.split() == ["64", "80", "0"], f"{r.text!r} {r.errors}"


def test_user_preload_is_kept(t):
    """LD_PRELOAD of the user's own stays, after silt's; the program sees both."""
    r = t.silt.record(t.path("t.silt"), ["sh", "-c", "echo $LD_PRELOAD"], env={"LD_PRELOAD": "libm.so.6"})
    preloads = r.text.strip().replace(" ", ":").split(":")
    assert len(preloads) == 2 and preloads[0].endswith("libsilt.so") and preloads[1] == "libm.so.6", r.text
    r = t.silt.record(t.path("u.silt"), ["sh", "-c", "echo $LD_PRELOAD"], env={"LD_PRELOAD": None})
    assert r.text.strip().endswith("libsilt.so") and ":" not in r.text, r.text


def test_working_directory_and_relative_names(t):
    os.mkdir(t.path("here"))
    r = run([t.silt.path, "run", "-q", "-o", "rel.silt", "--", "sh", "-c", "pwd; cd /; exit 3"], cwd=t.path("here"))
    assert r.code == 3 and r.text.strip() == t.path("here"), f"{r.code} {r.text} {r.errors}"
    assert os.path.exists(t.path("here/rel.silt")), os.listdir(t.path("here"))


def test_a_target_that_changes_directory_and_root_keeps_recording(t):
    r = t.silt.record(t.path("t.silt"), ["sh", "-c", "cd / && ls >/dev/null && exit 0"])
    report, why = t.silt.report(t.path("t.silt"))
    assert r.code == 0 and report, why
    assert any("ls" in " ".join(p["command"]) for p in report["processes"]), report["processes"]
