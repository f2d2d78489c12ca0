# SPDX-License-Identifier: MIT
"""The wall clock jumps back and forth, or processes have other clocks: times in a trace come from the counter alone.

Setting the machine's own clock would disturb whatever else runs; so the jumps are those of a preloaded library, in
silt and in the program, and other monotonic clocks are those of a time namespace."""

import json
import os
import time

from harness.cases import skip
from harness.process import outlived, run
from harness.watch import Recording, whole

N_ROUNDS = 400


def check(t, trace, wall_s, n_rounds=N_ROUNDS):
    """All of pauser's rounds, and all times inside what the run took."""
    report = whole(t, trace)
    totals = report["totals"]
    assert (totals["allocations"], totals["frees"], totals["lost_events"]) == (n_rounds, n_rounds, 0), totals
    duration_s = report["duration_s"]
    assert n_rounds * 0.001 <= duration_s <= wall_s, f"the recording took {duration_s} s by silt's clock, {wall_s} by ours"
    assert 0 <= totals["peak_at_s"] <= duration_s, totals
    for p in report["processes"]:
        assert 0 <= p["start_s"] <= p["end_s"] <= duration_s + 0.001, p
    r = t.silt.command("report", trace, "--blocks", "--json")
    assert r.code == 0, r.errors
    at_s = [b["at_s"] for b in json.loads(r.text)["blocks"]]
    assert len(at_s) == n_rounds and at_s == sorted(at_s), at_s
    apart_s = min(b - a for a, b in zip(at_s, at_s[1:]))  # by the sleep of a round: told in microseconds
    assert apart_s > 0.000998 and at_s[-1] <= duration_s, (apart_s, at_s[-1], duration_s)
    half_ms = int(duration_s * 500)
    late, why = t.silt.report(trace, "--from", f"{half_ms}ms")
    assert late, why
    got, wanted = late["totals"]["allocations"], sum(s * 1000 >= half_ms for s in at_s)
    assert got == wanted, f"{got} allocations are in the second half, not {wanted}"


def test_wall_clock_that_jumps(t):
    n_runs = t.count(1, 20)
    jumper = t.victim("jumper", shared=True)
    r = run(["python3", "-c", "import time; print(abs(time.time() - time.time()))"], env={"LD_PRELOAD": jumper})
    assert float(r.text) > 7000, f"the clock does not jump: {r.text}"
    for _ in range(n_runs):
        begin = time.monotonic()
        recording = Recording(t, [t.victim("pauser"), str(N_ROUNDS)], ["-f"], env={**os.environ, "LD_PRELOAD": jumper})
        recorder, target = recording.recorder(), recording.target()
        recording.joined()  # before, its loader may not have come to the library yet
        for pid in (recorder, target):
            with open(f"/proc/{pid}/maps") as f:
                assert "jumper" in f.read(), f"pid {pid} has no jumping clock"
        status, out, err = recording.finish()
        assert (status, err) == (17, "") and out.endswith(b"rounds %d\n" % N_ROUNDS), f"{status} {out!r} {err!r}"
        check(t, recording.trace, time.monotonic() - begin)
    t.notes.append(f"{n_runs} runs, 0 failures")


def in_namespace(argv):
    return ["unshare", "--time", "--fork", "--monotonic", "1000000", "--boottime", "2000000", *argv]


def namespace_case(t, argv):
    n_runs = t.count(1, 10)
    if run(in_namespace(["true"])).code != 0:
        skip("no time namespace can be made here; needs root")
    for _ in range(n_runs):
        begin = time.monotonic()
        r = run(argv)
        assert r.code == 17 and r.stderr == b"", f"{r.code} {r.text} {r.errors}"
        assert not outlived(t.path("t.silt"), 20)
        yield time.monotonic() - begin
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_all_in_a_time_namespace(t):
    argv = in_namespace(t.silt.run_argv(t.path("t.silt"), [t.victim("pauser"), str(N_ROUNDS)], ["-f"]))
    for wall_s in namespace_case(t, argv):
        check(t, t.path("t.silt"), wall_s)


def test_target_in_a_time_namespace(t):
    """The program's monotonic clock is not the recorder's."""
    argv = t.silt.run_argv(t.path("t.silt"), in_namespace([t.victim("pauser"), str(N_ROUNDS)]), ["-f"])
    for wall_s in namespace_case(t, argv):
        report = whole(t, t.path("t.silt"))
        last = report["processes"][-1]  # unshare, its forked child, and what that execs
        assert last["command"][0].endswith("pauser") and last["image"] == 2, report["processes"]
        totals = last["totals"]
        assert (totals["allocations"], totals["frees"], totals["lost_events"]) == (N_ROUNDS, N_ROUNDS, 0), totals
        assert 0 <= last["start_s"] <= totals["peak_at_s"] <= last["end_s"] <= wall_s, last
