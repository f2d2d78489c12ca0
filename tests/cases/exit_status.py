# SPDX-License-Identifier: MIT
"""The exit status of `silt run`: the target's own, 128+n, 125, 126, 127."""

import os
import signal


def run(t, argv, options=(), name="t.silt", **kwargs):
    return t.silt.record(t.path(name), argv, options=["-f", *options], **kwargs)


def one_line(r):
    lines = r.errors.splitlines()
    assert len(lines) == 1, f"expected one line on stderr, got {r.errors!r}"
    assert lines[0].startswith("silt: ") and lines[0].count(": ") >= 2, f"not 'silt: what: why: what to do': {lines[0]!r}"
    return lines[0]


def test_own_status(t):
    for status in (0, 1, 2, 42, 124, 125, 126, 127, 128, 255):
        r = run(t, [t.helper(), "status", str(status)])
        assert r.code == status, f"expected {status}, got {r.code}: {r.errors}"
        assert r.stderr == b"", r.errors


def test_signal_status(t):
    for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE,
                signal.SIGUSR1, signal.SIGRTMIN):
        r = run(t, [t.helper(), "raise", str(int(sig))])
        assert r.status == 128 + sig, f"signal {sig}: expected {128 + sig}, got {r.status}: {r.errors}"
        report, why = t.silt.report(t.path("t.silt"))
        assert report, why
        assert report["ended"] == "signal", f"signal {sig}: ended is {report['ended']}"


def test_not_found(t):
    for name in ("no-such-program-anywhere", "/no/such/program"):
        r = run(t, [name])
        assert r.code == 127, f"{name}: expected 127, got {r.code}: {r.errors}"
        one_line(r)
        assert not os.path.exists(t.path("t.silt")), "a trace was left behind"


def test_not_executable(t):
    plain = t.path("plain")
    with open(plain, "w") as f:
        f.write("no program\n")
    for name in (plain, t.dir):
        r = run(t, [name])
        assert r.code == 126, f"{name}: expected 126, got {r.code}: {r.errors}"
        one_line(r)
        assert not os.path.exists(t.path("t.silt")), "a trace was left behind"


def test_found_on_path(t):
    r = run(t, ["helper", "status", "33"], env={"PATH": os.path.dirname(t.helper())})
    assert r.code == 33, f"expected 33, got {r.code}: {r.errors}"


def test_usage_is_125(t):
    for argv in ([], ["--no-such-option", "true"], ["--duration", "soon", "true"], ["--duration"],
                 ["-o", "/no/such/folder/t.silt", "true"]):
        r = t.silt.command("run", *argv)
        assert r.code == 125, f"run {argv}: expected 125, got {r.code}: {r.errors}"
        assert r.stdout == b"", r.text
        one_line(r)


def test_other_commands_usage_is_2(t):
    for argv in (["report"], ["report", "--no-such-option", "x"], ["verify"], ["report", "/no/such/trace"],
                 ["verify", "/no/such/trace"], ["no-such-command"], ["report", t.dir], ["verify", t.dir]):
        r = t.silt.command(*argv)
        assert r.code == 2, f"{argv}: expected 2, got {r.code}: {r.errors}"
        assert r.stdout == b"", r.text
        one_line(r)


def test_help_and_version(t):
    for argv in (["--help"], ["run", "--help"], ["report", "--help"], ["verify", "--help"], ["doctor", "--help"]):
        r = t.silt.command(*argv)
        assert r.code == 0 and r.stderr == b"", f"{argv}: {r.code}: {r.errors}"
        assert len(r.text.splitlines()) > 5, r.text
        assert "xample" in r.text or argv == ["--help"], f"{argv}: no examples"
    r = t.silt.command("--version")
    assert r.code == 0 and r.text.startswith("silt "), r.text


def test_what_ended_it(t):
    """The closing messages name the signal; a program that ends by itself gets no line."""
    for sig, name in ((signal.SIGKILL, "KILL"), (signal.SIGSEGV, "SEGV")):
        r = t.silt.command("run", "-f", "-o", t.path("t.silt"), t.helper(), "raise", str(int(sig)))
        assert f"silt: signal {int(sig)} ({name}) ended '{t.helper()}' (pid " in r.errors, r.errors
    r = t.silt.command("run", "-f", "-o", t.path("t.silt"), t.helper(), "status", "3")
    assert r.code == 3 and " ended '" not in r.errors, r.errors


def test_failed_allocation_is_named(t):
    """By the function that requested it, and its size: malloc, realloc of a block, calloc and operator new."""
    program = t.context.helpers.build("failing", ["failing.cc"])
    for how in ("malloc", "realloc", "calloc", "new"):
        r = run(t, [program, how])
        assert r.code == 0, (how, r.status, r.errors)
        report, why = t.silt.report(t.path("t.silt"))
        assert report, why
        failed = [x for x in report["findings"] if x["kind"] == "failed"]
        assert report["totals"]["failed_allocations"] == 1 and len(failed) == 1, (how, report["totals"], report["findings"])
        assert failed[0]["text"] == f"1 allocation failed: 64.0 TiB requested by ask_{how}.", (how, failed[0])
        assert failed[0]["site"]["stack"][0]["function"].startswith(f"ask_{how}"), failed[0]["site"]
        text = t.silt.command("report", t.path("t.silt")).text
        assert "on call path" not in text, text


def test_many_failures_are_counted(t):
    """Beyond the first 64, whose places are told."""
    r = run(t, [t.context.helpers.build("failing", ["failing.cc"]), "many"])
    assert r.code == 0, r.errors
    report, why = t.silt.report(t.path("t.silt"))
    assert report, why
    failed = [x for x in report["findings"] if x["kind"] == "failed"]
    assert failed[0]["text"] == "1,000 allocations failed. The largest known was of 64.0 TiB, requested by ask_malloc.", failed


def test_strict(t):
    """The target's own status, if nothing is missing; tests/faults/disks.py has a full disk."""
    for status in (0, 3):
        assert run(t, [t.helper(), "status", str(status)], options=["--strict"]).code == status
