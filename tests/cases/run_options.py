# SPDX-License-Identifier: MIT
"""Options of `silt run` and its words."""

import os
import re
import subprocess
import time

from harness.process import in_time, run


def test_an_existing_file_is_refused_without_force(t):
    trace = t.path("t.silt")
    with open(trace, "w") as f:
        f.write("dear data")
    r = t.silt.record(trace, [t.helper(), "status", "5"])
    assert r.code == 125, f"expected 125, got {r.code}"
    assert len(r.errors.splitlines()) == 1 and r.errors.startswith("silt: "), r.errors
    assert "-f" in r.errors, f"the line does not say what to do: {r.errors!r}"
    with open(trace) as f:
        assert f.read() == "dear data"
    os.chmod(trace, 0o644)
    r = t.silt.record(trace, [t.helper(), "status", "5"], ["-f"])
    assert os.stat(trace).st_mode & 0o777 == 0o600, f"others may read the new trace: {os.stat(trace).st_mode:o}"
    assert r.code == 5 and t.silt.report(trace)[0], r.errors


def test_default_name(t):
    r = run([t.silt.path, "run", "-q", t.helper(), "start"], cwd=t.dir)
    assert r.code == 0, r.errors
    names = os.listdir(t.dir)
    assert len(names) == 1 and re.fullmatch(r"silt\.helper\.\d+\.silt", names[0]), names
    report, why = t.silt.report(t.path(names[0]))
    assert report and str(report["pid"]) == names[0].split(".")[2], why


def test_quiet(t):
    r = t.silt.record(t.path("t.silt"), ["true"])
    assert r.stdout == b"" and r.stderr == b"" and r.code == 0, r.errors


def test_closing_words(t):
    trace = t.path("t.silt")
    r = run([t.silt.path, "run", "-o", trace, "--", "sh", "-c", "echo product; exit 6"])
    assert r.code == 6 and r.text == "product\n", f"{r.code} {r.text!r}"
    words = r.errors
    assert trace in words, f"no path in {words!r}"
    assert re.search(r"\d+ events", words.replace(",", "")) , f"no events in {words!r}"
    assert re.search(r"\d(\.\d+)? ?([kKMG]i?)?B|bytes", words), f"no size in {words!r}"
    assert "silt report" in words.splitlines()[-1], f"the last line is not the next command: {words!r}"
    assert "\x1b" not in words


def test_closing_words_count_as_people_do(t):
    for argv, n in (([t.helper(), "once"], "1 event "), ([t.helper(), "status", "0"], "0 events ")):
        r = run([t.silt.path, "run", "-f", "-o", t.path("t.silt"), "--", *argv])
        assert r.code == 0 and f"silt: recorded {n}of " in r.errors, r.errors


def test_duration_stops_recording_and_lets_the_program_run_on(t):
    trace = t.path("t.silt")
    begin = time.monotonic()
    r = t.silt.record(trace, [t.helper(), "allocate", "2000"], ["--duration", "500ms"])
    assert r.code == 17 and "done" in r.text, f"{r.code} {r.text!r} {r.errors!r}"
    assert time.monotonic() - begin > 1.9
    report, why = t.silt.report(trace)
    assert report, why
    assert report["ended"] == "recording-stopped", report["ended"]
    assert 0.3 < report["duration_s"] < 1.5, report["duration_s"]
    assert 50 < report["totals"]["allocations"] < 1500, report["totals"]
    assert t.silt.command("verify", trace).code == 0


def test_log_and_verbose(t):
    r = run([t.silt.path, "run", "-q", "--log", t.path("log"), "-o", t.path("t.silt"), "--", "true"])
    assert r.code == 0 and r.stderr == b"", r.errors
    with open(t.path("log")) as f:
        text = f.read()
    assert "libsilt.so" in text or "hook" in text, f"the log says nothing: {text!r}"
    r = run([t.silt.path, "run", "--verbose", "-o", t.path("u.silt"), "--", "true"])
    assert r.code == 0 and len(r.errors.splitlines()) > 2, r.errors


def test_a_daemon_is_followed_after_silt_returned(t):
    """run returns with the first process; the recorder follows the daemon to its end."""
    trace = t.path("t.silt")
    begin = time.monotonic()
    r = t.silt.record(trace, [t.helper(), "daemon"])
    seconds = time.monotonic() - begin
    assert r.code == 21, r.code
    in_time(seconds, 2.5, "silt waited for a daemon of 3 s")
    early, why = t.silt.report(trace)
    assert early, f"the first part is not written: {why}"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        report, why = t.silt.report(trace)
        assert report, why
        daemon = [p for p in report["processes"] if p["parent"] == report["pid"]]
        if daemon and daemon[0]["totals"]["allocations"] == 300 and t.silt.command("verify", trace).code == 0:
            break
        time.sleep(0.2)
    assert daemon and daemon[0]["totals"]["allocations"] == 300, f"the daemon's part is missing: {report['processes']}"


def test_wait_follows_a_daemon(t):
    trace = t.path("t.silt")
    begin = time.monotonic()
    r = t.silt.record(trace, [t.helper(), "daemon"], ["--wait"])
    assert r.code == 21 and time.monotonic() - begin > 2.9, r.code
    report, why = t.silt.report(trace)
    assert report, why
    daemon = [p for p in report["processes"] if p["parent"] == report["pid"]]
    assert daemon and daemon[0]["totals"]["allocations"] == 300, report["processes"]


def test_lossy_never_waits_and_counts(t):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.program("volume")], ["--lossy"])
    assert r.code == 0, r.errors
    report, why = t.silt.report(trace)
    assert report, why
    totals = report["totals"]
    assert report["quality"]["exact"] == (totals["lost_events"] == 0), report["quality"]
    seen = totals["allocations"] + totals["frees"] + totals["unknown_frees"]
    assert totals["lost_events"] > 0 or seen == 3000000, totals
    assert seen + totals["lost_events"] >= 3000000, f"{seen} seen and {totals['lost_events']} lost are fewer than made"


def test_runs_at_once_do_not_mix(t):
    """Four recordings at the same time: each has its own program's figures."""
    programs = ["basic", "realloc_chain", "sites", "longjmp"]
    runs = [subprocess.Popen(t.silt.run_argv(t.path(p + ".silt"), [t.program(p)])) for p in programs]
    expected = {"basic": 111, "realloc_chain": 2305, "sites": 12288, "longjmp": 10510}
    for p, process in zip(programs, runs):
        assert process.wait(60) == 0
        report, why = t.silt.report(t.path(p + ".silt"))
        assert report, why
        assert report["totals"]["allocations"] == expected[p], f"{p}: {report['totals']['allocations']}"


def test_silt_under_silt(t):
    """silt is a program like any other."""
    inner, outer = t.path("inner.silt"), t.path("outer.silt")
    r = t.silt.record(outer, [t.silt.path, "run", "-q", "-o", inner, "--", t.program("basic")], ["--wait"])
    assert r.code == 0, r.errors
    report, why = t.silt.report(inner)
    assert report and report["totals"]["allocations"] == 111, why or report["totals"]


def test_own_malloc_is_told_before_the_run(t):
    """A program whose blocks silt cannot see: one line, and the run goes on."""
    source, program = t.path("own.c"), t.path("own")
    with open(source, "w") as f:
        # a malloc that begins with a branch to itself cannot be given another one
        branch = "b" if os.uname().machine == "aarch64" else "jmp"
        f.write(f'__asm__(".globl malloc\\n.type malloc, %function\\nmalloc: {branch} malloc\\n.size malloc, . - malloc");\n'
                "int main(void) { return 4; }\n")
    subprocess.run(["cc", "-fno-builtin", "-o", program, source], check=True)
    r = run([t.silt.path, "run", "-o", t.path("t.silt"), "--", program])
    first = r.errors.splitlines()[0]
    assert r.code == 4, f"{r.code}: {r.errors}"
    assert first.startswith("silt: '") and "malloc" in first and "silt doctor" in first, first
    r = t.silt.record(t.path("t.silt"), [program], ["-f"])
    assert r.code == 4 and r.stderr == b"", r.errors
