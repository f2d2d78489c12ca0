# SPDX-License-Identifier: MIT
"""The recorder dies, is stopped, or hardly runs: the program ends as it would alone, without waiting longer than it
may, and what the trace lacks is counted."""

import os
import signal
import subprocess
import time

from harness.process import TimedOut, give_up, in_time, kill_family, outlived, stat_fields
from harness.watch import (Recording, Throttle, alone, await_file, await_report, await_state, comm, n_events, one_line, same, told,
                           whole)

WAIT_MAX_S = 5    # in a run, with a recorder that does nothing
STOPPED_MAX_S = 10  # that silt waits for a stopped recorder once the program has ended
SLACK_S = 4       # a busy machine


def crew(t, n_rounds, pause_us=1000, n_threads=8):
    return [t.victim("crew"), str(n_threads), str(n_rounds), str(pause_us)]


def is_cut_before_the_start(t, trace):
    """Nothing was due yet when the recorder died: the report says it in one line."""
    r = t.silt.command("report", trace)
    if r.code == 2 and "its program has not started" in r.errors:
        one_line(r.errors)
        return True
    return False


def test_killed_at_random_moments(t):
    """The front says so in one line, and what was written can be read."""
    argv = crew(t, 600)
    bare = alone(argv)
    for _ in range(t.count(4, 100)):
        recording = Recording(t, argv, ["-f"])
        recorder = recording.recorder()
        time.sleep(t.chance.random() * (bare.seconds + 0.2))
        try:
            os.kill(recorder, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status, out, err = recording.finish()
        if status == 125:
            assert not out, f"it failed before the program ran, yet there is output: {out!r}"
            one_line(err, "recorder", "before it began")
            continue
        same(bare, status, out, err)
        if not err:  # it had done its work already
            truth = told(bare.stdout)
            assert n_events(whole(t, recording.trace)["totals"]) == truth["allocations"] + truth["frees"]
            continue
        one_line(err, "recorder", "died")
        in_time(recording.seconds, bare.seconds + WAIT_MAX_S + SLACK_S, "a program whose recorder died")
        if is_cut_before_the_start(t, recording.trace):
            continue
        totals = whole(t, recording.trace, may_end_early=True)["totals"]
        assert totals["allocations"] <= told(bare.stdout)["allocations"], totals


def test_killed_by_the_programs_first_call(t):
    """The trace names the program, and says that its end is missing."""
    recording = Recording(t, [t.victim("assassin")], ["-f"])
    status, out, err = recording.finish()
    assert (status, out) == (3, b""), (status, out, err)
    one_line(err, "recorder", "died")
    report = whole(t, recording.trace, may_end_early=True)
    assert [x["command"] for x in report["processes"]] == [[t.victim("assassin")]], report["processes"]
    assert report["ended"] == "unknown", report["ended"]


def test_killed_while_the_program_joins(t):
    """The recorder dies before it answers: the program does not wait for the answer."""
    argv = crew(t, 1, 0)
    bare = alone(argv)
    door = t.path("door")
    os.mkfifo(door)
    for _ in range(t.count(2, 20)):
        recording = Recording(t, ["sh", "-c", f"read line <{door}; exec \"$@\"", "sh", *argv], ["-f"])
        recorder, target = recording.recorder(), recording.joined()
        os.kill(recorder, signal.SIGSTOP)
        await_state(recorder, (b"T",))
        with open(door, "w") as f:
            f.write("go\n")
        await_comm(target, "crew")
        await_state(target, (b"S",))  # it asks, and nobody answers
        os.kill(recorder, signal.SIGKILL)
        killed = time.monotonic()
        status, out, err = recording.finish()
        same(bare, status, out, err)
        waited = time.monotonic() - killed
        in_time(waited, bare.seconds + 2, "it waited for a dead recorder")


def await_comm(pid, name, patience_s=200):
    end = time.monotonic() + patience_s
    while comm(pid) != name:
        give_up(end, f"process {pid} is {comm(pid)}, not {name}")
        time.sleep(0.002)


def test_stopped_and_continued(t):
    """Losses are counted to the event, and recording goes on afterwards."""
    argv = crew(t, t.count(2500, 9000))
    bare = alone(argv)
    truth = told(bare.stdout)
    for _ in range(t.count(1, 5)):
        recording = Recording(t, argv, ["-f"])
        recorder = recording.recorder()
        recording.joined()
        os.kill(recorder, signal.SIGSTOP)
        time.sleep(t.count(2, 10))
        os.kill(recorder, signal.SIGCONT)
        status, out, err = recording.finish()
        same(bare, status, out, err)
        totals = whole(t, recording.trace)["totals"]
        assert n_events(totals) == truth["allocations"] + truth["frees"], f"{truth} {totals}"
        assert totals["lost_events"] > 0, "the program never had to lose anything: the test is too small"
        t.notes.append(f"{totals['lost_events']} of {sum(list(truth.values())[:2])} lost, {recording.seconds:.1f} s, alone {bare.seconds:.1f}")


test_stopped_and_continued.waits = True


def test_stopped_for_good(t):
    """The program ends as alone; silt does not wait for the recorder for ever, says what happened, and leaves it be. When
    somebody continues it, it writes the rest alone."""
    for rounds in (1000, 5000, 25000):  # it must not have ended by the time the recorder is stopped, however slow the machine
        argv = crew(t, rounds)
        recording = Recording(t, argv, ["-f"])
        recorder, target = recording.recorder(), recording.joined()
        await_report(t, recording.trace)
        os.kill(recorder, signal.SIGSTOP)
        await_state(recorder, (b"T",))
        if (stat_fields(target) or [b"Z"])[0] != b"Z":
            break
        os.kill(recorder, signal.SIGCONT)
        recording.finish()
    bare = alone(argv)
    truth = told(bare.stdout)
    await_end(target, bare.seconds + WAIT_MAX_S + SLACK_S)
    ended = time.monotonic()
    try:
        status, out, err = recording.finish(60)
        waited = time.monotonic() - ended
        same(bare, status, out, err)
        one_line(err, "recorder", "is stopped", "t.silt", f"kill -CONT {recorder}")
        assert STOPPED_MAX_S - 1 < waited < STOPPED_MAX_S + SLACK_S, f"silt returned after {waited:.1f} s"
        whole(t, recording.trace, may_end_early=True)
    finally:
        os.kill(recorder, signal.SIGCONT)
    assert not outlived(recording.trace, 20), "the recorder went on, but not to its end"
    report = whole(t, recording.trace)
    assert n_events(report["totals"]) == truth["allocations"] + truth["frees"], f"{truth} {report['totals']}"
    assert report["ended"] == "exit", report["ended"]


test_stopped_for_good.waits = True


def test_slow_is_not_stopped(t):
    """A recorder that hardly runs after the program has ended is waited for, longer than for a stopped one."""
    argv = crew(t, 300)
    bare = alone(argv)
    recording = Recording(t, argv, ["--lossy"])
    recorder, target = recording.recorder(), recording.joined()
    throttle = Throttle(recorder, 0.0002, 3)
    try:
        await_end(target)
        recording.process.wait(STOPPED_MAX_S + 3)
        t.notes.append("it was done before silt could have lost patience")
    except subprocess.TimeoutExpired:
        pass
    finally:
        throttle.end()
    status, out, err = recording.finish()
    same(bare, status, out, err)
    assert err == "", err
    truth, totals = told(bare.stdout), whole(t, recording.trace)["totals"]
    assert n_events(totals) == truth["allocations"] + truth["frees"], f"{truth} {totals}"


test_slow_is_not_stopped.waits = True


def test_many_programs_wait_once(t):
    """Each program that is run asks the recorder, and the shell's forks need room in its rings. While it is stopped they wait
    5 s together for either, not each; they are named when it is back, and those that come then are recorded."""
    n_before, n_after = 30, 3
    door, first, go_on = t.path("door"), t.path("first"), t.path("go_on")
    os.mkfifo(door)
    small = " ".join(crew(t, 1, 0, 1))
    script = (f'read line <{door}; i=0; while [ $i -lt {n_before} ]; do {small} >/dev/null; i=$((i+1)); done; echo > {first}; '
              f'while [ ! -e {go_on} ]; do sleep 0.05; done; '
              f'i=0; while [ $i -lt {n_after} ]; do {small} >/dev/null; i=$((i+1)); done; exit 9')
    recording = Recording(t, ["sh", "-c", script])
    recorder = recording.recorder()
    recording.joined()
    os.kill(recorder, signal.SIGSTOP)
    await_state(recorder, (b"T",))
    with open(door, "w") as f:
        f.write("go\n")
    begin = time.monotonic()
    try:
        await_file(first, 60)
        waited = time.monotonic() - begin
    except TimedOut:
        kill_family(recording.process.pid)
        raise
    finally:
        os.kill(recorder, signal.SIGCONT)
    in_time(waited, 2 * WAIT_MAX_S + SLACK_S, f"{n_before} programs waited for a stopped recorder")
    await_noted(t, recording.trace, "the recorder was stopped or too busy to answer")
    with open(go_on, "w"):
        pass
    status, _, err = recording.finish()
    assert status == 9 and err == "", f"{status}: {err}"
    report = whole(t, recording.trace)
    crews = [p for p in report["processes"] if p["command"][:1] == [t.victim("crew")]]
    followed = [p for p in crews if p["totals"]["allocations"]]
    assert len(followed) == n_after, f"{len(followed)} of {len(crews)} were followed"
    noted = [note for note in report["notes"] if "the recorder was stopped or too busy to answer" in note]
    assert n_before <= len(noted) <= n_before + 2, f"{len(noted)} of {n_before}, and maybe a sleep: {noted}"
    t.notes.append(f"{n_before} programs waited {waited:.1f} s together")


test_many_programs_wait_once.waits = True


def await_noted(t, trace, words, patience_s=200):
    """The recorder has said so: it is back."""
    end = time.monotonic() + patience_s
    # right after the begin there is no process in the file yet, and no report
    while not any(words in note for note in (t.silt.report(trace)[0] or {"notes": []})["notes"]):
        give_up(end, f"nobody said {words!r}")
        time.sleep(0.05)


def await_end(target, patience_s=200):
    """Returns when the program has ended, whether silt knows it or not."""
    end = time.monotonic() + patience_s
    while (stat_fields(target) or [b"Z"])[0] != b"Z":
        give_up(end, "the program waits longer than it may")
        time.sleep(0.01)


def test_starved(t):
    """A recorder with a hundredth of a processor."""
    argv = crew(t, t.count(1500, 10000))
    bare = alone(argv)
    truth = told(bare.stdout)
    recording = Recording(t, argv)
    recorder = recording.recorder()
    recording.target()
    throttle = Throttle(recorder, 0.002, 0.2)
    try:
        time.sleep(bare.seconds + 4)
    finally:
        throttle.end()
    status, out, err = recording.finish()
    same(bare, status, out, err)
    totals = whole(t, recording.trace)["totals"]
    assert n_events(totals) == truth["allocations"] + truth["frees"], f"{truth} {totals}"
    t.notes.append(f"{totals['lost_events']} lost")


def test_lossy_never_waits(t):
    """A stopped recorder costs a --lossy recording no time at all."""
    argv = crew(t, 800)
    bare = alone(argv)
    recording = Recording(t, argv, ["--lossy"])
    recorder, target = recording.recorder(), recording.joined()
    os.kill(recorder, signal.SIGSTOP)
    await_end(target, bare.seconds + 2)
    os.kill(recorder, signal.SIGCONT)
    status, out, err = recording.finish()
    same(bare, status, out, err)
    truth = told(bare.stdout)
    totals = whole(t, recording.trace)["totals"]
    assert n_events(totals) == truth["allocations"] + truth["frees"], f"{truth} {totals}"
    assert totals["lost_events"] > 0, "its rings were never full: the test is too small"
    t.notes.append(f"{totals['lost_events']} lost")
