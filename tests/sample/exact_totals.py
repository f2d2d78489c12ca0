# SPDX-License-Identifier: MIT
"""`silt run --sample`: what is counted is exact, whatever is sampled: equal to a recording of everything."""

import os
import signal

COUNTED = ("allocations", "frees", "reallocations", "failed_allocations", "bytes_allocated")


def program(t, source="workload.c"):
    return t.context.samples.build(source.replace(".", "_"), [source])


def record(t, argv, *options, name="t", code=0):
    trace = t.path(name + ".silt")
    r = t.silt.record(trace, argv, ["-f", "--wait", *options])
    assert r.code == code, (argv, options, r.code, r.errors)
    return trace


def read(t, trace, *options):
    v = t.silt.command("verify", trace)
    assert v.code == 0, v.text + v.errors
    report, why = t.silt.report(trace, *options)
    assert report, why
    if len(report["processes"]) == 1:
        assert report["totals"]["peak_live_bytes"] >= report["totals"]["end_live_bytes"], report["totals"]
    return report


def compare(t, argv, intervals=("64", "4K", "512K", "64M"), code=0):
    exact = read(t, record(t, argv, code=code))
    assert exact["mode"] == "exact" and exact["totals"]["unknown_frees"] == 0
    for interval in intervals:
        got = read(t, record(t, argv, "--sample", interval, code=code))
        assert got["mode"] == "sampled" and got["totals"]["lost_events"] == 0, got["totals"]
        for a, b in zip(exact["processes"], got["processes"], strict=True):
            for what in COUNTED:
                assert a["totals"][what] == b["totals"][what], (argv, interval, what, a["totals"], b["totals"])
    return exact


def test_one_thread(t):
    compare(t, [program(t), "ways", "3000"])
    compare(t, [program(t), "build", "20000"], ["64K"])


def test_threads_that_release_each_others_blocks(t):
    compare(t, [program(t), "threads", "2000"], ["64", "64K"])


def test_forked_processes(t):
    exact = compare(t, [program(t), "forks", "500"], ["64", "64K"])
    assert len(exact["processes"]) == 6


def test_killed(t):
    for _ in range(t.count(2, 50)):
        compare(t, [program(t), "killed", "500"], ["64", "64K"], code=128 + signal.SIGKILL)


def test_new_and_delete(t):
    compare(t, [program(t, "workload.cc"), "3000"], ["64", "64K"])


def test_what_is_refused(t):
    """At 64M most refused blocks are not chosen, at 1K all are."""
    exact = compare(t, [program(t, "workload.cc"), "200", "refused"], ["64M", "1K"])
    assert exact["totals"]["failed_allocations"] >= 800, exact["totals"]


test_what_is_refused.native_alone = "qemu-user has no limit of memory"


def test_cut_before_it_was_counted(t):
    """What is an estimate yet is not called exact."""
    with open(record(t, [program(t), "ways", "30000"], "--sample", "4K"), "rb") as f:
        whole = f.read()
    at = next(i for i in range(0, len(whole), 8) if whole.startswith(b"\xf5sltTALY", i))
    with open(t.path("cut.silt"), "wb") as f:
        f.write(whole[:at])
    report, why = t.silt.report(t.path("cut.silt"))
    assert report and report["totals"]["allocations"], (why, report and report["headline"])
    text = " ".join(t.silt.command("report", t.path("cut.silt")).text.split())
    assert " made about " in text and "are exact" not in text, text[:800]
    assert " made about " not in t.silt.command("report", t.path("t.silt")).text


def test_a_bounded_trace(t):
    argv = [program(t), "ways", "30000"]
    exact = read(t, record(t, argv))["totals"]
    got = read(t, record(t, argv, "--sample", "64", "--max-size", "1M"))["totals"]
    assert [exact[x] for x in COUNTED] == [got[x] for x in COUNTED], (exact, got)


def test_a_long_recording_stays_within_its_size(t):
    """More than the file may hold, and far more in make soak: bounded, whole, and its figures those of the program."""
    argv, limit = [program(t), "plateau", str(t.count(60_000, 2_000_000))], 1 << 20
    trace = record(t, argv, "--sample", "128", "--max-size", "1M", name="b")
    assert os.path.getsize(trace) <= limit, os.path.getsize(trace)
    got = read(t, trace)
    n = int(argv[2])
    assert (got["totals"]["allocations"], got["totals"]["frees"]) == (1 + n // 1000 + 30 * n, 29 * n + 1), got["totals"]
    assert got["overhead"]["events"] > limit, got["overhead"]
    truth = 8 * n + n // 1000 * 150_000 + sum(1000 + i % 100 * 30 if i % 10 == 0 else 16 + i % 8 * 8 for i in range(n))
    peak, error = got["totals"]["peak_live_bytes"], got["totals"]["standard_errors"]["peak_live_bytes"]
    assert truth - 5 * error < peak < truth + 8 * error and error < 0.05 * truth, (truth, peak, error)
    assert "peak_excess_bytes" not in got["sampling"], got["sampling"]  # the events that would tell are gone
    for options in (["--from", "10ms"], ["--from", "50%", "--tree"], ["--group-by", "thread"], ["--blocks"]):
        r = t.silt.command("report", trace, *options)
        assert r.code in (0, 2) and r.errors.count("\n") <= 1 and (r.text or r.errors), (options, r.code, r.errors)


def test_other_programs(t):
    """Whole programs of others run the same under it."""
    for argv in (["/bin/sh", "-c", "echo a | sed s/a/b/; ls / >/dev/null; true"], ["python3", "-c", "print(sum(x * 2 for x in range(30000)))"]):
        plain = t.silt.record(t.path("e.silt"), argv, ["-f", "--wait"])
        sampled = t.silt.record(t.path("s.silt"), argv, ["-f", "--wait", "--sample", "4K"])
        assert (plain.code, plain.stdout, plain.stderr) == (sampled.code, sampled.stdout, sampled.stderr), (plain.errors, sampled.errors)
        read(t, t.path("s.silt"), "--process", "all")


# The other machine's runtime counts and draws with the same code; what differs is how calls get there.
for _test in (test_one_thread, test_threads_that_release_each_others_blocks, test_killed, test_a_bounded_trace,
              test_a_long_recording_stays_within_its_size, test_other_programs):
    _test.native_alone = "the same code as on this one"
