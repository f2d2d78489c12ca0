# SPDX-License-Identifier: MIT
"""What silt cannot enter, or must not: one line with the remedy, status 2, no trace, and the process goes on as it was."""

import os
import shutil
import signal
import subprocess
import tempfile

from attach._target import Attached, Target, await_true, build, bytes_of_code, record
from harness.cases import skip
from harness.process import run, stat_fields

NOBODY = 65534


def odd(t, how="plain", *more, **popen):
    return Target(t, [build(t, "odd.c"), how, *more], **popen)


def refused(t, pid, *words, argv=None, **how):
    trace = t.path("refused.silt")
    r = run(argv or [t.silt.path, "attach", str(pid), "-o", trace], **how)
    assert r.code == 2, f"expected 2, got {r.code}: {r.errors}"
    lines = r.errors.splitlines()
    assert len(lines) == 1 and lines[0].startswith("silt: ") and lines[0].count(": ") >= 2, r.errors
    for word in words:
        assert word in lines[0], f"no {word!r} in {lines[0]!r}"
    assert not os.path.exists(trace), "a trace was left behind"


def untouched(t, target, *words, **how):
    code = bytes_of_code(target.pid)
    with open(f"/proc/{target.pid}/maps") as f:
        maps = f.read()
    refused(t, target.pid, *words, **how)
    assert bytes_of_code(target.pid) == code, "its code was changed"
    with open(f"/proc/{target.pid}/maps") as f:
        assert f.read() == maps, "its mappings were changed"
    assert stat_fields(target.pid)[0] in b"SRTt", "it does not go on"


def goes_on(target):
    """Nothing woke it, and it has what it had."""
    assert target.finish(signal.SIGTERM) == "ok\n"


def test_no_such_process(t):
    with open("/proc/sys/kernel/pid_max") as f:
        pid = int(f.read())
    while os.path.exists(f"/proc/{pid}"):
        pid -= 1
    refused(t, pid, "no such process")


def test_itself(t):
    trace = t.path("refused.silt")
    refused(t, 0, "silt itself", argv=["sh", "-c", f"exec '{t.silt.path}' attach $$ -o '{trace}'"])


def test_kernel_thread(t):
    for name in os.listdir("/proc"):
        if name.isdigit() and os.access(f"/proc/{name}/status", os.R_OK) and (stat_fields(name) or [b"", b""])[1] == b"2":
            return refused(t, int(name), "is a kernel thread")
    skip("the kernel's own processes are not to be seen here")


def test_zombie(t):
    target = subprocess.Popen([build(t, "odd.c"), "zombie"], stdout=subprocess.PIPE)
    child = int(target.stdout.readline().split()[1])
    refused(t, child, "has already ended")
    target.kill()
    target.communicate()


def test_thread(t):
    target = subprocess.Popen([build(t, "odd.c"), "thread"], stdout=subprocess.PIPE)
    tid = int(target.stdout.readline().split()[1])
    refused(t, tid, "thread of process", str(target.pid))
    target.kill()
    target.communicate()


def test_stopped(t):
    with odd(t) as target:
        os.kill(target.pid, signal.SIGSTOP)
        await_true(lambda: stat_fields(target.pid)[0] == b"T", "it does not stop")
        untouched(t, target, "is stopped", "kill -CONT")
        os.kill(target.pid, signal.SIGCONT)
        goes_on(target)


def test_sealed(t):
    with odd(t, "sealed") as target:
        untouched(t, target, "seccomp", "silt run")
        goes_on(target)


def test_static(t):
    binary = t.context.attached.build("odd_static", ["odd.c"], ["-static"])
    with Target(t, [binary]) as target:
        untouched(t, target, "static", "link it dynamically")
        goes_on(target)


def test_traced(t):
    with odd(t) as target:
        with odd(t, "tracer", str(target.pid)) as tracer:
            untouched(t, target, "already being traced by", str(tracer.pid))
        goes_on(target)


def test_attached_already(t):
    with odd(t) as target:
        silt = Attached(t, target.pid).await_recording()
        refused(t, target.pid, "another silt is recording it")
        assert silt.end() == 0, silt.said
        record(t, target.pid)
        goes_on(target)


def test_started_by_silt(t):
    argv = t.silt.run_argv(t.path("t.silt"), [build(t, "odd.c")])
    silt = subprocess.Popen(argv, stdout=subprocess.PIPE)
    pid = int(silt.stdout.readline().split()[1])
    refused(t, pid, "started by silt")
    os.kill(pid, signal.SIGTERM)
    assert silt.communicate()[0] == b"ok\n" and silt.returncode == 0, silt.returncode
    verified = t.silt.command("verify", t.path("t.silt"))
    assert verified.code == 0, verified.text


def test_emulated(t):
    qemu = shutil.which("qemu-x86_64") if os.uname().machine == "aarch64" else shutil.which("qemu-aarch64")
    other = "x86_64" if os.uname().machine == "aarch64" else "aarch64"
    if not qemu or not os.path.exists(f"/usr/{other}-linux-gnu/lib"):
        skip("no emulator")
    binary = t.path("foreign")
    subprocess.run([f"{other}-linux-gnu-gcc", "-o", binary, os.path.join(t.context.tests_dir, "attach/odd.c"), "-pthread"],
                   check=True)
    with Target(t, [qemu, "-L", f"/usr/{other}-linux-gnu", binary]) as target:
        untouched(t, target, "emulator", "--launcher")
        goes_on(target)


def own_runtime(t):
    return t.silt.runtime or os.path.join(os.path.dirname(t.silt.path), "libsilt.so")


def with_runtime(t, target, runtime):
    return [t.silt.path, "attach", str(target.pid), "-o", t.path("refused.silt"), "--runtime", runtime]


def test_other_architecture(t):
    """As a silt for another machine finds it."""
    runtime = shutil.copy(own_runtime(t), t.path("libsilt.so"))
    machines = {"aarch64": b"\xb7\0", "x86_64": b"\x3e\0"}
    other = next(name for name in machines if name != os.uname().machine)
    with open(runtime, "r+b") as f:
        f.seek(18)  # e_machine
        f.write(machines[other])
    with odd(t) as target:
        untouched(t, target, f"built for {os.uname().machine}, but silt's runtime for {other}",
                  argv=with_runtime(t, target, runtime))
        goes_on(target)


def test_other_runtime(t):
    """One that was not built with this silt is told before it is entered, or asked."""
    runtime = shutil.copy(own_runtime(t), t.path("libsilt.so"))
    with open(runtime, "r+b") as f:
        at = f.read().index(b"silt runtime \1\2\3")
        f.seek(at + 16)
        number = f.read(1)[0]
        f.seek(at + 16)
        f.write(bytes([number ^ 1]))
    cut = t.path("cut.so")
    with open(runtime, "rb") as f, open(cut, "wb") as to:
        to.write(f.read(at + 20))
    with odd(t) as target:
        untouched(t, target, "another build of silt", "that came with", argv=with_runtime(t, target, runtime))
        for path in (cut, build(t, "odd.c")):
            untouched(t, target, "not silt's runtime", "that came with", argv=with_runtime(t, target, path))
        goes_on(target)
    with odd(t, env={**os.environ, "LD_PRELOAD": runtime}) as target:
        untouched(t, target, "contains the runtime of another build of silt", "with that build")
        goes_on(target)
    r = t.silt.command("run", "-o", t.path("run.silt"), "--runtime", runtime, build(t, "odd.c"))
    assert r.code == 125 and "another build of silt" in r.errors and r.errors.count("\n") == 1, (r.code, r.errors)
    assert not os.path.exists(t.path("run.silt")), "a trace was left behind"


def test_not_permitted(t):
    """As any hardened kernel says it."""
    library = t.context.attached.build("forbid.so", ["forbid.c"], shared=True)
    with odd(t) as target:
        remedy = "CAP_SYS_PTRACE, or run silt outside" if os.getuid() == 0 else "run silt as that process's user"
        untouched(t, target, "not permitted", remedy, env={**os.environ, "LD_PRELOAD": library})
        goes_on(target)


def test_yama(t):
    """Where only ancestors may trace, only root, or nobody."""
    library = t.context.attached.build("forbid.so", ["forbid.c"], shared=True)
    with odd(t) as target:
        for scope, remedy in (("1", "set it to 0"), ("2", "silt as root"), ("3", "silt run")):
            untouched(t, target, f"kernel.yama.ptrace_scope is {scope}", remedy,
                      env={**os.environ, "LD_PRELOAD": library, "FORBID_SCOPE": scope})
        goes_on(target)


def test_other_user(t):
    if os.getuid() != 0:
        skip("needs root")
    with tempfile.TemporaryDirectory() as folder, odd(t) as target:
        os.chmod(folder, 0o777)
        for name in ("silt", "libsilt.so"):
            shutil.copy(os.path.join(os.path.dirname(t.silt.path), name), folder)
        argv = [os.path.join(folder, "silt"), "attach", str(target.pid), "-o", os.path.join(folder, "t.silt")]
        untouched(t, target, "not permitted", "run silt as that process's user", argv=argv, preexec_fn=lambda: os.setuid(NOBODY))
        goes_on(target)


def test_setuid(t):
    if os.getuid() != 0:
        skip("needs root")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        binary = shutil.copy(build(t, "odd.c"), folder)
        os.chown(binary, 1, 1)
        os.chmod(binary, 0o4755)
        with Target(t, [binary], preexec_fn=lambda: os.setuid(NOBODY)) as target:
            untouched(t, target, "privileged", "run it without")
            goes_on(target)


def test_command_line(t):
    for words, why in ((["x"], "not a pid"), ([], "no process given"), (["1", "2"], "more than one"),
                       (["1", "--duration", "0s"], "too short"), (["-1"], "")):
        r = t.silt.command("attach", *words)
        assert r.code == 2 and why in r.errors and r.errors.count("\n") == 1, (words, r.errors)


def test_upgraded(t):
    """The C library was replaced while the program ran: its functions cannot be found by a file that is not there."""
    binary = build(t, "odd.c")
    said = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    paths = {os.path.basename(word): word for word in said.split() if word.startswith("/")}
    loader = next(path for name, path in paths.items() if name.startswith("ld-"))
    folder = t.path("lib")
    os.makedirs(folder)
    shutil.copy(paths["libc.so.6"], folder)
    with Target(t, [loader, "--library-path", folder, binary]) as target:
        os.unlink(os.path.join(folder, "libc.so.6"))
        untouched(t, target, "upgraded")
        goes_on(target)
