# SPDX-License-Identifier: MIT
"""The place where the trace goes fails: the program ends as it would alone, what was written can be read, and what
was not is counted and said in one line. Full disks are small tmpfs in a mount namespace of their own: for root."""

import os
import resource
import shutil
import signal
import tempfile

from harness.place import in_own_mounts
from harness.process import run
from harness.watch import Recording, alone, await_report, n_events, one_line, same, told, whole


def crew(t, n_rounds, pause_us=0, n_threads=4):
    return [t.victim("crew"), str(n_threads), str(n_rounds), str(pause_us)]


def on_small_disk(t, size, argv, also=":", options=()):
    """silt run of argv with its trace on a tmpfs of that size; the trace is copied out afterwards. `also` is shell run
    in the disk's folder beside it."""
    disk = t.path("disk")
    os.makedirs(disk, exist_ok=True)
    script = (f'mount -t tmpfs -o size={size} none {disk} || exit 90; ( cd {disk}; {also} ) & "$@"; s=$?; wait; '
              f'cp {disk}/t.silt {t.path("out.silt")}; exit $s')
    silt = [t.silt.path, "run", *(["--runtime", t.silt.runtime] if t.silt.runtime else []), "-o", disk + "/t.silt", *options, "--"]
    return run(in_own_mounts(script, "sh", *silt, *argv))


def complaints(err):
    """What silt says beside its usual closing words."""
    usual = ("silt: recorded ", "silt: trace: ", "silt: next: ")
    return [line for line in err.splitlines() if not line.startswith(usual)]


def test_full_disk_as_root(t):
    """From too small for the first byte to nearly large enough."""
    argv = crew(t, 3000)
    bare = alone(argv)
    truth = told(bare.stdout)
    n_full = 0
    for n_pages in t.count([1, 3, 16, 40, 60, 80], range(1, 101)):
        r = on_small_disk(t, f"{4 * n_pages}k", argv)
        same(bare, r.code, r.stdout, r.errors)
        said = complaints(r.errors)
        report = whole(t, t.path("out.silt"))
        totals = report["totals"]
        assert n_events(totals) == truth["allocations"] + truth["frees"], f"{n_pages} pages: {totals}"
        n_missing = report["quality"]["unwritten_events"]
        text = t.silt.command("report", t.path("out.silt")).text
        if n_missing:
            n_full += 1
            assert len(said) == 1 and "No space left" in said[0], f"{n_pages} pages: {r.errors}"
            assert f"{n_missing:,} events" in said[0], f"{n_pages} pages: {r.errors}"
            assert "could not be written" in text, f"{n_pages} pages: the report hides it: {text[:1500]}"
            top = " ".join(t.silt.command("top", "--batch", t.path("out.silt")).text.split())
            assert f"{n_missing:,} events could not be written" in top, f"{n_pages} pages: silt top hides it: {top[:1500]}"
        else:
            assert len(said) <= 1, f"{n_pages} pages: {r.errors}"  # the names may have found no room
    assert n_full >= 3, "these disks are too large"


def test_strict_on_a_full_disk_as_root(t):
    """--strict: an exit status of silt's own, unless the program's is an error itself."""
    r = on_small_disk(t, "64k", ["sh", "-c", '"$@"; exit 0', "sh", *crew(t, 3000)], options=["--strict"])
    assert r.code == 124 and "No space left" in r.errors, (r.code, r.errors)
    r = on_small_disk(t, "64k", ["sh", "-c", '"$@"; exit 7', "sh", *crew(t, 3000)], options=["--strict"])
    assert r.code == 7 and "No space left" in r.errors, (r.code, r.errors)


def test_a_disk_that_is_full_for_a_while_as_root(t):
    """Room comes back: the sums are whole again, events that found no room are counted."""
    argv = crew(t, 2500, 1000)
    bare = alone(argv)
    truth = told(bare.stdout)
    grown = "while [ ! -s t.silt ]; do sleep 0.02; done"
    stuck = ('n=0; while [ $n -lt 5 ]; do s=$(stat -c %s t.silt); sleep 0.2; '
             '[ $s = $(stat -c %s t.silt) ] && n=$((n+1)) || n=0; done')
    also = f"{grown}; dd if=/dev/zero of=ballast bs=4k count=9999 2>/dev/null; {stuck}; rm ballast"
    r = on_small_disk(t, "8m", argv, also)
    same(bare, r.code, r.stdout, r.errors)
    said = complaints(r.errors)
    assert any("No space left" in line for line in said), f"it was never full: {r.errors}"
    totals = whole(t, t.path("out.silt"))["totals"]
    assert n_events(totals) == truth["allocations"] + truth["frees"], f"{truth} {totals}"
    t.notes.append(" / ".join(said))


def test_no_room_to_look_on_as_root(t):
    """silt top writes to a file of its own: where there is no room for it, it says so at once and leaves the process alone."""
    os.makedirs(t.path("disk"), exist_ok=True)
    script = (f'mount -t tmpfs -o size=64k none {t.path("disk")} || exit 90; sleep 60 & TMPDIR={t.path("disk")} "$1" top --batch $!; s=$?; '
              f'grep -c libsilt /proc/$!/maps; ls {t.path("disk")}; kill $!; exit $s')
    r = run(in_own_mounts(script, "sh", t.silt.path))
    assert r.code == 2 and r.text == "0\n", (r.text, r.errors)
    one_line(r.errors, "is full", "TMPDIR")


def test_folder_removed(t):
    """The trace has no name any more: the program is not harmed, and silt says that there is nothing to read."""
    argv = crew(t, 1200, 1000)
    bare = alone(argv)
    for _ in range(t.count(1, 50)):
        os.mkdir(t.path("gone"))
        recording = Recording(t, argv, trace="gone/t.silt")
        await_report(t, recording.trace)
        shutil.rmtree(t.path("gone"))
        status, out, err = recording.finish()
        same(bare, status, out, err)
        one_line(err, "gone/t.silt", "deleted")


def test_file_deleted(t):
    argv = crew(t, 1200, 1000)
    bare = alone(argv)
    for _ in range(t.count(1, 50)):
        recording = Recording(t, argv)
        await_report(t, recording.trace)
        os.unlink(recording.trace)
        status, out, err = recording.finish()
        same(bare, status, out, err)
        one_line(err, "t.silt", "deleted")
        assert not os.path.exists(recording.trace)


def test_file_replaced_by_another(t):
    """Somebody else's file now has that name: it is not touched."""
    argv = crew(t, 1200, 1000)
    bare = alone(argv)
    recording = Recording(t, argv)
    await_report(t, recording.trace)
    os.unlink(recording.trace)
    with open(recording.trace, "w") as f:
        f.write("mine")
    status, out, err = recording.finish()
    same(bare, status, out, err)
    one_line(err, "t.silt", "deleted")
    with open(recording.trace) as f:
        assert f.read() == "mine", "a stranger's file was written to"


def test_file_replaced_by_a_link_and_the_recorder_killed(t):
    """silt itself adds the names then: not to what the link leads to."""
    other = t.path("other.silt")
    r = t.silt.record(other, crew(t, 10, 0), options=["--no-symbols"])
    assert r.code == 23, r.errors
    with open(other, "rb") as f:
        before = f.read()
    recording = Recording(t, crew(t, 1200, 1000))
    recorder = recording.recorder()
    recording.joined()
    os.unlink(recording.trace)
    os.symlink(other, recording.trace)
    os.kill(recorder, signal.SIGKILL)
    status, _, err = recording.finish()
    assert status == 23, err
    one_line(err, "recorder", "died")
    with open(other, "rb") as f:
        assert f.read() == before, "what the link leads to was written to"


def limit_file_size(n_bytes):
    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    return prepare


def drop_root():
    """An ordinary user cannot lift a hard limit."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)


def open_folder(t):
    folder = tempfile.mkdtemp(prefix="silt-disk.", dir="/tmp")
    os.chmod(folder, 0o777)
    for path in (t.silt.path, os.path.join(t.context.build_dir, "libsilt.so"), t.victim("crew")):
        shutil.copy(path, folder)
    return folder


def test_file_size_limit(t):
    """A hard limit, of an ordinary user: neither the program nor silt is killed by SIGXFSZ."""
    folder = open_folder(t)
    try:
        argv = [folder + "/crew", "4", "1500", "0"]
        for n_bytes in (0, 4096, 1 << 20, 1 << 26):
            def prepare(limit=limit_file_size(n_bytes)):
                limit()
                drop_root()
            bare = alone(argv, preexec_fn=prepare, cwd=folder)
            trace = f"{folder}/{n_bytes}.silt"
            r = run([folder + "/silt", "run", "-o", trace, "--", *argv], preexec_fn=prepare, cwd=folder)
            if r.code == 125:
                one_line(r.errors, "ulimit -f")
                assert n_bytes < 1 << 26, f"{n_bytes}: {r.errors}"
                continue
            same(bare, r.code, r.stdout, r.errors)
            truth = told(bare.stdout)
            totals = whole(t, trace, may_end_early=True)["totals"]
            assert n_events(totals) == truth["allocations"] + truth["frees"], f"{n_bytes}: {totals}: {r.errors}"
    finally:
        shutil.rmtree(folder)


def test_soft_file_size_limit_is_the_targets(t):
    """silt frees itself of a soft limit; the program keeps it, and dies of it as it would alone."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    argv = ["dd", "if=/dev/zero", "of=" + t.path("large"), "bs=4k", "count=9"]
    bare = run(argv, preexec_fn=prepare)
    seen = t.silt.record(t.path("t.silt"), argv, preexec_fn=prepare)
    assert bare.code == seen.code == 128 + signal.SIGXFSZ, f"{bare.code} {seen.code}: {seen.errors}"
    assert whole(t, t.path("t.silt"))["ended"] == "signal"


def test_refused_places(t):
    """A fifo would block, a device holds no trace, a folder neither: one line, and the program does not run."""
    os.mkfifo(t.path("fifo"))
    os.mkdir(t.path("folder"))
    for name in (t.path("fifo"), t.path("folder"), "/dev/null", "/dev/full", "/dev/stdout"):
        for options in ([], ["-f"]):
            r = t.silt.record(name, [t.helper(), "status", "3"], options=options, timeout_s=200)
            assert r.code == 125, f"{name} {options}: {r.code}: {r.errors}"
            one_line(r.errors)
    r = t.silt.record(t.path("none/t.silt"), [t.helper(), "status", "3"])
    assert r.code == 125 and "none/t.silt" in r.errors, r.errors
    assert os.path.exists(t.path("fifo"))
