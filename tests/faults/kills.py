# SPDX-License-Identifier: MIT
"""SIGKILL at random moments: the trace opens, verifies, and holds every event whose write had completed."""

import os
import signal
import struct
import time

from harness.process import outlived
from harness.watch import Recording, whole

N_THREADS_MAX = 16
PAGE_BYTES = 4096


class Tally:
    """What a process of churn.c had done, from the file it shares with us."""

    def __init__(self, path, page=0):
        words = struct.unpack_from(f"<{3 + 2 * N_THREADS_MAX}Q", self.read(path), page * PAGE_BYTES)
        self.pid, self.n_created = words[1], words[2]
        self.allocated, self.released = words[3::2], words[4::2]

    @staticmethod
    def read(path):
        with open(path, "rb") as f:
            return f.read()


def stop_file(path):
    """Tells all processes of churn.c to end."""
    with open(path, "r+b") as f:
        f.write(struct.pack("<Q", 1))


def await_pid(path, page=0, patience_s=200):
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        try:
            pid = Tally(path, page).pid
        except (OSError, struct.error):
            pid = 0
        if pid:
            return pid
        time.sleep(0.001)
    raise AssertionError(f"process {page} of the program did not begin")


def first_child(pid, patience_s=200):
    """The first process that silt made, which becomes the program; None when silt ended before."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as f:
                found = f.read().split()
        except OSError:
            return None
        if found:
            return int(found[0])
    raise AssertionError("silt made no process")


def by_thread(report):
    """Allocations by the number of the thread that made them, whose outermost function is work_NUMBER."""
    counts = [0] * N_THREADS_MAX
    sites = next(top for top in report["top"] if top["metric"] == "count")["sites"]
    for site in sites:
        for frame in site["stack"]:
            if frame["function"].startswith("work_"):
                counts[int(frame["function"][5:])] += site["allocations"]
                break
    return counts


def within(what, had_returned, recorded, n_in_flight):
    assert had_returned <= recorded <= had_returned + n_in_flight, \
        f"{what}: {had_returned} had returned, at most {n_in_flight} were under way, {recorded} were recorded"


def check_process(tally, totals, is_exact=False):
    n_threads = tally.n_created + 1
    assert totals["lost_events"] == 0 and totals["unknown_frees"] == 0 and totals["implicit_frees"] == 0, totals
    n_in_flight = 0 if is_exact else n_threads + 1
    within("allocations", sum(tally.allocated) + tally.n_created, totals["allocations"], n_in_flight)
    within("releases", sum(tally.released), totals["frees"], n_in_flight)
    assert totals["allocations"] - totals["frees"] == totals["end_live_blocks"], totals


def check_threads(t, trace, tally):
    report, why = t.silt.report(trace, "--by", "count", "--top", "2000")
    assert report, why
    for no, (had_returned, recorded) in enumerate(zip(tally.allocated, by_thread(report))):
        within(f"allocations of thread {no}", had_returned, recorded, 1)


def find_process(report, pid):
    found = [p for p in report["processes"] if p["pid"] == pid]
    assert len(found) == 1, f"pid {pid} is listed {len(found)} times"
    return found[0]


def test_at_random_moments(t):
    """The program at work, on 1 to 16 threads."""
    n_runs, n_events = t.count(8, 200), 0
    for i in range(n_runs):
        n_threads = 1 + i * 5 % N_THREADS_MAX
        tally_path = t.path("tally")
        if os.path.exists(tally_path):
            os.unlink(tally_path)
        recording = Recording(t, [t.victim("churn"), tally_path, str(n_threads)], ["-f"])
        pid = await_pid(tally_path)
        time.sleep(t.chance.random() ** 2 * 0.3)
        os.kill(pid, signal.SIGKILL)
        status, out, err = recording.finish()
        assert (status, out, err) == (137, b"", ""), f"run {i}: {status} {out!r} {err!r}"
        report = whole(t, recording.trace)
        assert report["ended"] == "signal", report["ended"]
        tally = Tally(tally_path)
        check_process(tally, report["totals"])
        check_threads(t, recording.trace, tally)
        n_events += report["totals"]["allocations"] + report["totals"]["frees"]
    t.notes.append(f"{n_runs} runs, 0 failures, {n_events:,} events")


def test_in_the_first_milliseconds(t):
    """Before exec, in the loader, while the runtime asks to be let in, at the first allocations."""
    n_runs, n_begun = t.count(6, 100), 0
    for i in range(n_runs):
        tally_path = t.path("tally")
        if os.path.exists(tally_path):
            os.unlink(tally_path)
        recording = Recording(t, [t.victim("churn"), tally_path, "4"], ["-f"])
        pid = first_child(recording.process.pid)
        assert pid, f"silt ended at once: {recording.finish()}"
        time.sleep(t.chance.random() * 0.05)
        os.kill(pid, signal.SIGKILL)
        status, out, err = recording.finish()
        assert (status, out) == (137, b""), f"run {i}: {status} {out!r} {err!r}"
        if err:  # it had not come to silt yet
            assert err.startswith("silt: ") and "nothing was recorded" in err and err.count("\n") == 1, err
            v = t.silt.command("verify", recording.trace)
            assert v.code == 0, f"verify: {v.code}: {v.errors}{v.text}"
            r = t.silt.command("report", recording.trace)
            assert r.code == 2 and r.errors.count("\n") == 1 and "has not started" in r.errors, f"{r.code}: {r.errors}"
            continue
        n_begun += 1
        report = whole(t, recording.trace)
        assert report["ended"] == "signal", report["ended"]
        try:
            tally = Tally(tally_path)
        except (OSError, struct.error):  # before main
            continue
        check_process(tally, report["totals"])
    t.notes.append(f"{n_runs} runs, 0 failures, {n_begun} of them had begun to record")


def start_family(t, n_children=3):
    """churn.c with children, all at work: the recording, the tallies' file, all pids."""
    tally_path = t.path("tally")
    if os.path.exists(tally_path):
        os.unlink(tally_path)
    recording = Recording(t, [t.victim("churn"), tally_path, "3", str(n_children)], ["-f"])
    pids = [await_pid(tally_path, page) for page in range(n_children + 1)]
    time.sleep(t.chance.random() * 0.1)
    return recording, tally_path, pids


def test_a_parent_whose_children_go_on(t):
    """silt ends with the parent; the recorder stays with the children, which lose nothing."""
    n_runs = t.count(2, 30)
    for i in range(n_runs):
        recording, tally_path, pids = start_family(t)
        os.kill(pids[0], signal.SIGKILL)
        recording.process.stdout.close()  # the children have it too: silt's end is not its end
        recording.process.stderr.close()
        assert recording.process.wait(60) == 137, recording.process.returncode
        report, why = t.silt.report(recording.trace)  # while the recorder still writes
        assert report, why
        assert report["ended"] == "signal", report["ended"]
        check_process(Tally(tally_path), report["totals"])
        time.sleep(t.chance.random() * 0.1)
        stop_file(tally_path)
        assert not outlived(recording.trace, 20), "the recorder still ran 20 s after the last child had ended"
        report = whole(t, recording.trace)
        assert len(report["processes"]) == len(pids), report["processes"]
        for page, pid in enumerate(pids):
            check_process(Tally(tally_path, page), find_process(report, pid)["totals"], is_exact=page > 0)
    t.notes.append(f"{n_runs} runs, 0 failures")


test_a_parent_whose_children_go_on.waits = True


def test_the_whole_group(t):
    """As a supervisor does it: silt, the program and its children at once. The recorder ends the trace alone."""
    n_runs = t.count(2, 30)
    for i in range(n_runs):
        recording, tally_path, pids = start_family(t)
        os.killpg(recording.process.pid, signal.SIGKILL)
        status, out, err = recording.finish()
        assert (status, out, err) == (-signal.SIGKILL, b"", ""), f"run {i}: {status} {out!r} {err!r}"
        assert not outlived(recording.trace, 20), "the recorder still ran 20 s after everything was killed"
        report = whole(t, recording.trace)
        assert len(report["processes"]) == len(pids), report["processes"]
        for page, pid in enumerate(pids):
            check_process(Tally(tally_path, page), find_process(report, pid)["totals"])
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_sigterm_to_everybody(t):
    """As a service manager ends a service: silt, the recorder, the program, one by one, in any order."""
    n_runs = t.count(2, 30)
    for i in range(n_runs):
        tally_path = t.path("tally")
        if os.path.exists(tally_path):
            os.unlink(tally_path)
        recording = Recording(t, [t.victim("churn"), tally_path, "4"], ["-f"])
        pids = [await_pid(tally_path), recording.recorder(), recording.process.pid]
        time.sleep(t.chance.random() * 0.1)
        t.chance.shuffle(pids)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        status, out, err = recording.finish()
        assert (status, out, err) == (143, b"", ""), f"run {i}: {status} {out!r} {err!r}"
        report = whole(t, recording.trace)
        assert report["ended"] == "signal", report["ended"]
        check_process(Tally(tally_path), report["totals"])
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_sigterm_to_the_recorder_of_a_daemon(t):
    """silt has gone, children live on: the recorder ends its file in good order, and they go on unharmed."""
    recording, tally_path, pids = start_family(t)
    recorder = recording.recorder()
    os.kill(pids[0], signal.SIGKILL)
    recording.process.stdout.close()
    recording.process.stderr.close()
    assert recording.process.wait(60) == 137, recording.process.returncode
    os.kill(recorder, signal.SIGTERM)
    assert not outlived(recording.trace, 20), "the recorder still ran 20 s after SIGTERM"
    report = whole(t, recording.trace)
    assert len(report["processes"]) == len(pids), report["processes"]
    time.sleep(0.1)
    before = [sum(Tally(tally_path, page).allocated) for page in range(1, len(pids))]
    time.sleep(0.2)
    after = [sum(Tally(tally_path, page).allocated) for page in range(1, len(pids))]
    stop_file(tally_path)
    assert all(b < a for b, a in zip(before, after)), f"the children stand still: {before}, {after}"
    for page in range(1, len(pids)):
        recorded = find_process(report, pids[page])["totals"]["allocations"]
        assert 0 < recorded <= after[page - 1] + Tally(tally_path, page).n_created, f"{recorded} of {after[page - 1]}"


test_sigterm_to_the_recorder_of_a_daemon.waits = True
