# SPDX-License-Identifier: MIT
"""Processes whose memory is hard to copy or to read (hostile.c): silt leaks, holders and snapshot --graph answer rightly or refuse in one line, soon, and
leave the process as it was."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile

from attach._target import PATIENCE_S, Target, await_true, build
from cases import cpu
from harness.answer import parse
from harness.cases import skip
from harness.process import find_by_argument, run, stat_fields
from harness.watch import children

NOBODY = 65534
NODES, SPECIAL, LOST = 100 * 1000, 3000, 5000
MOST_S = 20
# what only unreadable or read-only memory points to is lost, by rule; the rest is held
HELD = ("plain", "guard", "zero", "zero-shared", "large-pages", "watched", "kernel", "behind-end", "reserved", "not-copied", "wiped", "no-space", "no-files")
LOST_BY_RULE = ("none", "read-only")
REFUSED = {"watched-forks": "userfaultfd", "sealed": "seccomp", "no-processes": "its user may have 1 processes"}


class Hostile(Target):
    """The program, by itself or recorded; it can say that this machine does not have what it needs."""

    def __init__(self, t, how, *more, prefix=(), trace=None, **popen):
        argv = [*prefix, build(t, "hostile.c"), how, *map(str, more)]
        super().__init__(t, t.silt.run_argv(trace, argv, ["-f"]) if trace else argv, says_ready=False, stderr=subprocess.DEVNULL, **popen)
        self.why_not, self.said = "", {}
        for line in self.process.stdout:
            words = line.decode().split()
            if words[0] == "ready":
                self.inner = int(words[1])
                break
            if words[0] == "cannot":
                self.why_not = line.decode().strip()
                break
            self.said[words[0]] = words[1]
        self.target = self.pid if not prefix and not trace else None
        if not self.why_not and not self.target:
            self.target = self.inner if trace else children(self.pid)[0]

    def files(self):
        return sorted(os.listdir(f"/proc/{self.target}/fd"))

    def end(self):
        """Nothing woke it, and it has what it had."""
        os.kill(self.target, signal.SIGTERM)
        out = self.process.communicate(timeout=PATIENCE_S)[0]
        assert out.decode() == "ok\n" and self.process.returncode == 0, (self.process.returncode, out)


def left_of_silt(pid):
    """Helpers of silt's that look at the process."""
    def is_silt(one):
        with contextlib.suppress(OSError), open(f"/proc/{one}/comm") as f:
            return f.read().strip() == "silt"
        return False
    return [one for one in find_by_argument(str(pid)) if is_silt(one)]


@contextlib.contextmanager
def unharmed(target):
    files, with_children = target.files(), children(target.target)
    yield
    assert children(target.target) == with_children, "a copy or a zombie is left"
    assert target.files() == files, "descriptors are left"
    assert not left_of_silt(target.target), "a helper of silt is left"
    assert stat_fields(target.target)[0] in b"SRTt", "it does not go on"


def ask(t, command, *words, argv=None, **how):
    r = run([*(argv or [t.silt.path]), command, *map(str, words)], timeout_s=MOST_S, **how)
    assert r.code in (0, 2), (command, r.code, r.errors)
    if r.code == 2:
        assert r.text == "" and r.errors.startswith("silt: ") and r.errors.count("\n") == 1, (r.text, r.errors)
    return r


def own(answer):
    """Bytes lost of the program's own blocks; the C library may keep some."""
    return answer["definitely_lost"]["bytes"] + answer["indirectly_lost"]["bytes"]


def check_answers(t, target, lost_bytes, where=None):
    """where: the trace to be asked, or the process itself."""
    r = ask(t, "leaks", where or target.target, "--json")
    assert r.code == 0, r.errors
    answer = parse(r.text)
    assert own(answer) == lost_bytes, (lost_bytes, answer)
    r = ask(t, "holders", where or target.target, "--json", "--full")
    assert r.code == 0, r.errors
    held = {g.get("name"): g["tree_bytes"] for g in parse(r.text)["holders"]}
    assert held["static list"] == NODES, held
    return answer


def each(t, kinds, check):
    for how in kinds:
        with Hostile(t, how) as target:
            if target.why_not:
                t.notes.append(f"{how}: {target.why_not}")
                continue
            try:
                with unharmed(target):
                    check(how, target)
                target.end()
            except AssertionError as e:
                raise AssertionError(f"{how}: {e}") from e
            t.notes += [f"{how}: {name} {value}" for name, value in target.said.items()]


def test_memory(t):
    each(t, HELD, lambda how, target: check_answers(t, target, LOST))
    each(t, LOST_BY_RULE, lambda how, target: check_answers(t, target, LOST + SPECIAL))


def test_ring_beside_a_recording(t):
    """A process that has a ring of the kernel's is not the one whose recorder has some too."""
    trace = t.path("other.silt")
    cpu.needs_samples(run([t.silt.path, "run", "-q", "-f", "--cpu", "-o", trace, "--", "true"]))
    other = subprocess.Popen([t.silt.path, "run", "-q", "-f", "--cpu", "-o", trace, "--", "sh", "-c", "echo ready; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    t.running.append(other)
    assert other.stdout.readline() == b"ready\n"
    each(t, ("kernel",), lambda how, target: check_answers(t, target, LOST))
    other.stdin.close()
    assert other.wait(PATIENCE_S) in (0, 1)


def test_memory_recorded(t):
    """The same, by the recorder: snapshot --graph, and the trace is asked."""
    for how in (*HELD, *LOST_BY_RULE):
        trace = t.path(how + ".silt")
        with Hostile(t, how, trace=trace) as target:
            if target.why_not:
                continue
            with unharmed(target):
                r = ask(t, "snapshot", target.target, "--graph")
                assert r.code == 0, (how, r.errors)
            target.end()
        check_answers(t, target, LOST + SPECIAL * (how in LOST_BY_RULE), where=trace)


def refused(t, target, *words, **how):
    for command in ("leaks", "holders"):
        r = ask(t, command, target.target, **how)
        assert r.code == 2, (command, r.text)
        for word in words:
            assert word in r.errors, (word, r.errors)


def test_refused(t):
    each(t, REFUSED, lambda how, target: refused(t, target, REFUSED[how]))


def test_refused_recorded(t):
    for how, words in REFUSED.items():
        if how == "no-processes" and os.geteuid() != 0:
            continue
        with Hostile(t, how, trace=t.path(how + ".silt")) as target:
            if target.why_not:
                continue
            with unharmed(target):
                r = ask(t, "snapshot", target.target, "--graph")
                assert r.code == 2 and words in r.errors, (how, r.errors)
            target.end()


def test_stopped(t):
    with Hostile(t, "plain") as target:
        os.kill(target.pid, signal.SIGSTOP)
        await_true(lambda: stat_fields(target.pid)[0] == b"T", "it does not stop")
        with unharmed(target):
            refused(t, target, "is stopped", "kill -CONT")
        assert stat_fields(target.pid)[0] == b"T", "it was woken up"
        os.kill(target.pid, signal.SIGCONT)
        target.end()


def test_traced(t):
    with Hostile(t, "plain") as target:
        with Target(t, [build(t, "odd.c"), "tracer", str(target.pid)]) as tracer, unharmed(target):
            refused(t, target, "already being traced by", str(tracer.pid))
        target.end()


def test_without_main(t):
    """Its first thread has ended: /proc/PID shows no memory then."""
    with Hostile(t, "without-main") as target:
        await_true(lambda: stat_fields(target.pid)[0] == b"Z", "its first thread does not end")
        refused(t, target, "goes on without its first thread")
        assert not children(target.pid) and not left_of_silt(target.pid)
        os.kill(target.pid, signal.SIGTERM)
        assert target.process.communicate(timeout=PATIENCE_S)[0] == b"ok\n"


def test_container(t):
    """In namespaces of its own for users, processes and mounts."""
    prefix = ["unshare", "--user", "--map-root-user", "--pid", "--mount", "--mount-proc", "--fork"]
    if run([*prefix, "true"]).code != 0:
        skip("no namespaces here")
    with Hostile(t, "plain", prefix=prefix) as target:
        assert target.inner == 1, target.inner
        with unharmed(target):
            check_answers(t, target, LOST)
        target.end()


def test_other_user(t):
    if os.getuid() != 0:
        skip("needs root")
    with tempfile.TemporaryDirectory() as folder, Hostile(t, "plain") as target:
        os.chmod(folder, 0o755)
        for name in ("silt", "libsilt.so"):
            shutil.copy(os.path.join(os.path.dirname(t.silt.path), name), folder)
        with unharmed(target):
            refused(t, target, "belongs to another user", argv=["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                                                      os.path.join(folder, "silt")])
        target.end()


def test_static(t):
    binary = t.context.attached.build("hostile_static", ["hostile.c"], ["-static"])
    with Target(t, [binary]) as target:
        r = ask(t, "leaks", target.pid)
        assert r.code == 2 and "static" in r.errors, r.errors
        assert target.finish(signal.SIGTERM) == "ok\n"


def test_changed_meanwhile(t):
    """A pointer that is always in one of two places, 64 MiB apart, while a thread moves it as fast as it can: of one moment it is in one of them. Who reads
    the process itself sees it in neither now and then."""
    with Hostile(t, "moving") as target:
        with open(f"/proc/{target.pid}/mem", "rb", buffering=0) as memory:
            for _ in range(100):  # on a busy machine the two may take turns for a while
                n_missed = sum(all(os.pread(memory.fileno(), 8, int(target.said[end])) == bytes(8) for end in ("first", "second")) for _ in range(20000))
                if n_missed:
                    break
        assert n_missed > 0, "it does not move"
        t.notes.append(f"who reads the process itself misses it {n_missed} times in 20,000")
        with unharmed(target):
            for _ in range(t.count(10, 300)):
                r = ask(t, "leaks", target.pid, "--json")
                assert r.code == 0 and own(parse(r.text)) == LOST, r.text + r.errors
        os.kill(target.pid, signal.SIGTERM)
        assert target.process.communicate(timeout=PATIENCE_S)[0] == b"ok\n"


@contextlib.contextmanager
def setting(path, least):
    """One of the kernel's, raised for as long as it is needed."""
    with open(path) as f:
        was = int(f.read())
    if was >= least:
        yield
        return
    with open(path, "w") as f:
        f.write(str(least))
    try:
        yield
    finally:
        with open(path, "w") as f:
            f.write(str(was))


def test_mappings(t):
    """Very many; in `make soak`, by root, more than kernels allow unless told."""
    n, path = 30000, "/proc/sys/vm/max_map_count"
    with contextlib.ExitStack() as stack:
        if t.context.is_soak and os.geteuid() == 0:
            n = 100000
            stack.enter_context(setting(path, n + 1000))
        target = stack.enter_context(Hostile(t, "mappings", n))
        assert not target.why_not, target.why_not
        with unharmed(target):
            answer = check_answers(t, target, LOST)
        t.notes.append(f"{n} mappings: stood still for {answer['pause_s'] * 1e3:.0f} ms")
        target.end()


def test_huge(t):
    """Pages of 2 MiB that are reserved for it, where it can have them: `make soak`, by root."""
    path = "/proc/sys/vm/nr_hugepages"
    with contextlib.ExitStack() as stack:
        if t.context.is_soak and os.geteuid() == 0:
            stack.enter_context(setting(path, 4))
        target = stack.enter_context(Hostile(t, "huge"))
        if target.why_not:
            t.notes.append("no huge pages are reserved on this machine")
            return
        with unharmed(target):
            check_answers(t, target, LOST)
        target.end()
