# SPDX-License-Identifier: MIT
"""Little or nothing of what a process usually has: descriptors, address space, processes, processor time, stack, memfd, /proc, a
writable home. Either all is recorded, or silt says in one line what it lacks; the program ends as it would alone."""

import errno
import os
import resource
import shutil
import tempfile

from harness.cgroup import CpuGroup, limited
from harness.place import in_own_mounts
from harness.process import run
from harness.watch import alone, n_events, one_line, same, told, whole


def crew(t, n_threads=4, n_rounds=300, pause_us=0):
    return [t.victim("crew"), str(n_threads), str(n_rounds), str(pause_us)]


def record_all(t, argv, bare, r, what):
    """The recording r of argv is whole."""
    same(bare, r.code, r.stdout, f"{what}: {r.errors}")
    assert not r.errors, f"{what}: {r.errors}"
    truth, totals = told(bare.stdout), whole(t, t.path("t.silt"))["totals"]
    seen = (totals["allocations"], totals["frees"], totals["lost_events"])
    assert seen == (truth["allocations"], truth["frees"], 0), f"{what}: {totals}"


def limit_inside(kind, soft, argv):
    """argv with a limit that only the program has, set by a shell between silt and it."""
    return ["sh", "-c", f'ulimit -{kind} {soft}; exec "$@"', "sh", *argv]


def last_image(t):
    report = whole(t, t.path("t.silt"))
    return report["totals"], report


def test_descriptors_of_the_program(t):
    """The runtime needs a descriptor for a moment at its start; with none to be had, the program is not followed."""
    for n in t.count((3, 4, 5, 8, 16), range(3, 65)):
        argv = limit_inside("n", n, crew(t, 2, 50))
        bare = run(argv)
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"])
        same(bare, r.code, r.stdout, f"{n}: {r.errors}")
        if bare.code == 23 and n >= 5:
            totals, _ = last_image(t)
            truth = told(bare.stdout)
            assert n_events(totals) == truth["allocations"] + truth["frees"], f"{n}: {totals}"
        elif bare.code == 23:
            totals, report = last_image(t)
            followed = totals["allocations"] == told(bare.stdout)["allocations"]
            noted = "not followed" in t.silt.command("report", t.path("t.silt")).text
            assert followed or noted, f"{n} descriptors: neither followed nor said: {totals}"


def test_descriptors_of_silt(t):
    argv = crew(t, 2, 50)
    n_recorded = 0
    for n in t.count((3, 6, 10, 14, 18, 24, 32), range(3, 65)):
        def prepare(n=n):
            resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        bare = run(argv, preexec_fn=prepare)
        if bare.code == 127:
            continue  # too few for the loader itself
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"], preexec_fn=prepare)
        if r.code == 125:
            assert not r.stdout, f"{n}: the program ran: {r.stdout!r}"
            one_line(r.errors)
            assert n < 24, f"{n} descriptors are not enough: {r.errors}"
        else:
            same(bare, r.code, r.stdout, f"{n}: {r.errors}")
            totals = whole(t, t.path("t.silt"))["totals"]
            truth = told(bare.stdout)
            assert n_events(totals) == truth["allocations"] + truth["frees"], f"{n}: {totals}"
            n_recorded += 1
    assert n_recorded, "no limit was large enough"


def test_address_space(t):
    """Of the program alone, and of silt with it: recorded, or one line; never a program that fails for silt's sake."""
    argv = crew(t, 2, 50)
    for mib in t.count((16, 40, 80, 120, 200, 400), range(8, 408, 8)):
        def prepare(mib=mib):
            resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
        bare = run(argv, preexec_fn=prepare)
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"], preexec_fn=prepare)
        if r.code == 125:
            assert not r.stdout, f"{mib} MiB: the program ran"
            one_line(r.errors)
        elif bare.code == 23 and r.code == 23:
            same(bare, r.code, r.stdout, f"{mib} MiB: {r.errors}")
        inside = limit_inside("v", mib << 10, argv)
        bare = run(inside)
        r = t.silt.record(t.path("t.silt"), inside, options=["-f"])
        same(bare, r.code, r.stdout, f"{mib} MiB inside: {r.errors}")
        text = t.silt.command("report", t.path("t.silt")).text
        totals, _ = last_image(t)
        truth = told(bare.stdout)
        if bare.code == 23 and totals["allocations"] != truth["allocations"]:
            assert "not followed" in text, f"{mib} MiB inside: neither followed nor said: {totals}"


def test_processes(t):
    """An ordinary user at the limit of processes: silt cannot fork and says so."""
    folder = tempfile.mkdtemp(prefix="silt-short.", dir="/tmp")
    try:
        os.chmod(folder, 0o777)
        for path in (t.silt.path, os.path.join(t.context.build_dir, "libsilt.so"), t.victim("crew")):
            shutil.copy(path, folder)

        def prepare():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
            if os.getuid() == 0:
                os.setgroups([])
                os.setresgid(61234, 61234, 61234)
                os.setresuid(61234, 61234, 61234)
        r = run([folder + "/silt", "run", "-o", folder + "/t.silt", folder + "/crew", "1", "5", "0"], preexec_fn=prepare)
        assert r.code == 125 and not r.stdout, f"{r.code}: {r.errors}"
        one_line(r.errors, "ulimit -u")
        assert not os.path.exists(folder + "/t.silt"), "a trace was left behind"
    finally:
        shutil.rmtree(folder)


def test_stack(t):
    """The hooks run on the program's stacks."""
    for kib in t.count((128, 256), (96, 128, 160, 192, 256, 512)):
        argv = limit_inside("s", kib, crew(t, 2, 100))
        bare = run(argv)
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"])
        same(bare, r.code, r.stdout, f"{kib} KiB: {r.errors}")


def test_no_memfd(t):
    argv = crew(t)
    bare = alone(argv)
    for code in (errno.ENOSYS, errno.EPERM):
        r = run([t.victim("forbid"), "memfd_create", str(code), *t.silt.run_argv(t.path("t.silt"), argv, ["-f"])])
        record_all(t, argv, bare, r, f"memfd_create {errno.errorcode[code]}")


def test_no_pidfd(t):
    """Kernels before 5.3, and sandboxes."""
    argv = ["sh", "-c", '"$@"; "$@"', "sh", *crew(t)]
    bare = alone(argv)
    r = run([t.victim("forbid"), "pidfd_open", str(errno.ENOSYS), *t.silt.run_argv(t.path("t.silt"), argv)], timeout_s=600)
    same(bare, r.code, r.stdout, r.errors)
    report = whole(t, t.path("t.silt"))
    crews = [p for p in report["processes"] if "crew" in " ".join(p["command"])]
    truth = told(bare.stdout)
    assert sum(p["totals"]["allocations"] == truth["allocations"] for p in crews) == 2, crews


def test_a_daemon_that_gets_no_processor_as_root(t):
    """Its ancestors have ended before it runs for the first time, up to a second after it was forked: it is waited for."""
    n_runs = t.count(3, 40)
    with limited(t, CpuGroup, 1) as group:
        for _ in range(n_runs):
            r = t.silt.record(t.path("t.silt"), [t.victim("late"), group.door], options=["-f", "--wait"])
            assert r.code == 0, f"{r.code} {r.errors}"
            report, pid = whole(t, t.path("t.silt")), told(r.stdout)["daemon"]
            found = [p["totals"]["allocations"] for p in report["processes"] if p["pid"] == pid]
            assert found == [1000], f"allocations of the daemon: {found}: {t.silt.command('report', t.path('t.silt')).text[:1500]}"
    t.notes.append(f"{n_runs} runs, 0 failures; cgroup version {group.version}")


def test_a_program_that_may_not_connect(t):
    """A sandbox inside: the runtime cannot reach the recorder, the program runs on, and the report says so."""
    argv = [t.victim("forbid"), "connect", str(errno.EPERM), *crew(t)]
    bare = alone(argv)
    r = t.silt.record(t.path("t.silt"), argv)
    same(bare, r.code, r.stdout, r.errors)
    text = t.silt.command("report", t.path("t.silt")).text
    assert "not followed" in text, text[:1000]


def test_sandboxed_program(t):
    """Killed at any system call but those of malloc, threads and fork themselves."""
    argv = [t.victim("sandbox")]
    bare = alone(argv)
    assert bare.code == 17, f"alone: {bare.code}"
    for _ in range(t.count(2, 50)):
        r = t.silt.record(t.path("t.silt"), argv, options=["-f"])
        same(bare, r.code, r.stdout, r.errors)
        report = whole(t, t.path("t.silt"))
        truth, totals = told(bare.stdout), report["totals"]
        assert (totals["allocations"], totals["frees"]) == (truth["allocations"], truth["frees"]), totals
        child = report["processes"][-1]["totals"]
        assert len(report["processes"]) == 2 and child["allocations"] == truth["child_allocations"], report["processes"]


def test_no_proc_as_root(t):
    argv = crew(t)
    bare = alone(argv)
    script = 'umount -l /proc || exit 90; exec "$@"'
    r = run(in_own_mounts(script, "sh", *t.silt.run_argv(t.path("t.silt"), argv), points=["/proc"]), timeout_s=600)
    if r.code == 125:
        one_line(r.errors, "/proc")
        assert not r.stdout
    else:
        record_all(t, argv, bare, r, "no /proc")


def test_program_without_proc_as_root(t):
    """A container built without it; the recorder outside has its own."""
    argv = crew(t)
    bare = alone(argv)
    inside = in_own_mounts('umount -l /proc || exit 90; exec "$@"', "sh", *argv, points=["/proc"])
    r = t.silt.record(t.path("t.silt"), inside)
    record_all(t, argv, bare, r, "no /proc inside")


def test_nowhere_to_write_as_root(t):
    """HOME, TMPDIR, XDG_RUNTIME_DIR, /tmp and /dev/shm are read-only; the trace has its place."""
    argv = crew(t)
    bare = alone(argv)
    places = " ".join(d for d in ("/tmp", "/dev/shm") if os.path.isdir(d))
    script = (f'for d in {places}; do mount --bind $d $d; done; mount --bind "$0" "$0"; '
              f'for d in {places}; do mount -o remount,bind,ro $d || exit 90; done; exec "$@"')
    env = {"HOME": "/tmp", "TMPDIR": "/tmp", "XDG_RUNTIME_DIR": "/tmp"}
    folder = tempfile.mkdtemp(prefix="silt-place.", dir="/var/tmp")
    try:
        silt = t.silt.run_argv(folder + "/t.silt", argv)
        r = run(in_own_mounts(script, folder, *silt), env=env)
        shutil.copy(folder + "/t.silt", t.path("t.silt"))
        record_all(t, argv, bare, r, "read-only places")
    finally:
        shutil.rmtree(folder)
