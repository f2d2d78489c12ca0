# SPDX-License-Identifier: MIT
"""The recorder dies, is stopped, or hardly runs: the program ends as it would alone, without waiting longer than it
may, and what the trace lacks is counted."""

import os
import random
import signal
import time

from harness.watch import Recording, Throttle, alone, n_events, one_line, same, told, whole

WAIT_MAX_S = 5    # in a run, with a recorder that does nothing
SLACK_S = 4       # a busy machine


def crew(t, n_rounds, pause_us=1000, n_threads=8):
    return [t.victim("crew"), str(n_threads), str(n_rounds), str(pause_us)]


def is_cut_before_the_start(t, trace):
    """Nothing was due yet when the recorder died: the report says it in one line."""
    r = t.silt.command("report", trace)
    if r.code == 2 and "cut off before the program began" in r.errors:
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
        time.sleep(random.random() * (bare.seconds + 0.2))
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
        assert recording.seconds < bare.seconds + WAIT_MAX_S + SLACK_S, f"{recording.seconds:.1f} s, alone {bare.seconds:.1f}"
        if is_cut_before_the_start(t, recording.trace):
            continue
        totals = whole(t, recording.trace, may_end_early=True)["totals"]
        assert totals["allocations"] <= told(bare.stdout)["allocations"], totals


def test_killed_while_the_program_joins(t):
    """The recorder dies before it answers: the program does not wait for the answer."""
    argv = crew(t, 1, 0)
    bare = alone(argv)
    for _ in range(t.count(2, 20)):
        script = ["sh", "-c", "sleep 0.4; exec \"$@\"", "sh", *argv]
        recording = Recording(t, script, ["-f"])
        recorder = recording.recorder()
        recording.target()
        time.sleep(0.1)
        os.kill(recorder, signal.SIGSTOP)  # the exec falls into this
        time.sleep(0.8)
        os.kill(recorder, signal.SIGKILL)
        status, out, err = recording.finish()
        same(bare, status, out, err)
        assert recording.seconds < 1.3 + 2, f"it waited for a dead recorder: {recording.seconds:.1f} s"


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


def test_stopped_for_good_lets_the_program_end(t):
    argv = crew(t, 1000)
    bare = alone(argv)
    recording = Recording(t, argv)
    recorder, target = recording.recorder(), recording.joined()
    os.kill(recorder, signal.SIGSTOP)
    begin = time.monotonic()
    while os.path.exists(f"/proc/{target}/task") and target_state(target) != b"Z":
        assert time.monotonic() - begin < bare.seconds + WAIT_MAX_S + SLACK_S, "the program waits longer than it may"
        time.sleep(0.05)
    os.kill(recorder, signal.SIGCONT)
    status, out, err = recording.finish()
    same(bare, status, out, err)
    whole(t, recording.trace)


def target_state(pid):
    from harness.process import stat_fields
    return (stat_fields(pid) or [b"Z"])[0]


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
    begin = time.monotonic()
    while target_state(target) != b"Z":
        assert time.monotonic() - begin < bare.seconds + 2, "it waited"
        time.sleep(0.01)
    os.kill(recorder, signal.SIGCONT)
    status, out, err = recording.finish()
    same(bare, status, out, err)
    truth = told(bare.stdout)
    totals = whole(t, recording.trace)["totals"]
    assert n_events(totals) == truth["allocations"] + truth["frees"], f"{truth} {totals}"
    assert totals["lost_events"] > 0, "its rings were never full: the test is too small"
    t.notes.append(f"{totals['lost_events']} lost")
