# SPDX-License-Identifier: MIT
"""The verdict of tests/run.py on tests that fail, are unsteady or cannot run, and what tests draw."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import types

import run
from harness import cases, crew, gate, process
from harness.process import TimedOut


class Fake:
    """A test that fails at its runs of these numbers, or has no time there."""

    def __init__(self, name, failing=(), late=(), says="broken"):
        self.name, self.failing, self.late, self.says, self.runs = name, failing, late, says, None

    @property
    def n_runs(self):
        """Each is a process of its own, which leaves a byte."""
        return os.path.getsize(self.runs) if os.path.exists(self.runs) else 0

    def run(self):
        with open(self.runs, "a") as f:
            f.write("x")
        if self.n_runs in self.late:
            raise TimedOut("no end")
        return ([self.says] if self.n_runs in self.failing else []), []


def verdict(t, tests, is_gate=False):
    """What a run of these says, and its text."""
    context = types.SimpleNamespace(trace_path=lambda name: t.path(name), failed=t.dir)
    summary = run.Summary(io.StringIO())
    for test in tests:
        test.runs = tempfile.mktemp(dir=t.dir)
    run.run_tests(tests, lambda test: 1, summary, context, t.dir, 2)
    if is_gate:
        run.forgive(tests, summary, t.dir)
    return summary.line(), summary.out.getvalue(), sorted(summary.unsteady)


def test_what_is_wrong_once_is_wrong(t):
    """Also what had no time: only the gate tries again."""
    once, slow = Fake("once", {1}), Fake("slow", late={1})
    line, text, unsteady = verdict(t, [Fake("fine"), once, slow])
    assert line == "1 passed, 2 failed" and once.n_runs == slow.n_runs == 1 and not unsteady, (line, unsteady)
    assert "FAIL once" in text and "broken" in text and "FAIL slow" in text and "no end" in text, text


def test_the_gate_forgives_what_passes_twice_more(t):
    line, text, unsteady = verdict(t, [Fake("fine"), Fake("once", {1}), Fake("slow", late={1}), Fake("often", {1, 3})], is_gate=True)
    assert line == "3 passed, 1 failed" and unsteady == ["once", "slow"], (line, unsteady)
    assert "FAIL once" in text and "again: often: broken" in text, text


def test_the_gate_forgives_few(t):
    few = [Fake(f"t{i}", {1}) for i in range(gate.MAX_UNSTEADY)]
    assert verdict(t, few, is_gate=True)[0] == f"{gate.MAX_UNSTEADY} passed, 0 failed"
    many = [Fake(f"t{i}", {1}) for i in range(gate.MAX_UNSTEADY + 1)]
    line, text, unsteady = verdict(t, many, is_gate=True)
    assert line == f"0 passed, {gate.MAX_UNSTEADY + 1} failed" and len(unsteady) == gate.MAX_UNSTEADY + 1, line


def test_the_gate_forgives_no_harm(t):
    for says in ("exit status: expected 0, got 139", "silt verify: 1: bad chunk", "==3==ERROR: AddressSanitizer: heap-use-after-free",
                 "x.c:3:5: runtime error: shift", "the target was killed by SIGSEGV", "code bytes changed at 0x1000"):
        test = Fake("harm", {1}, says=says)
        line, _, unsteady = verdict(t, [test], is_gate=True)
        assert line == "0 passed, 1 failed" and test.n_runs == 1 and not unsteady, says
    assert not gate.is_grave(["expected 132 blocks, got 139", "no end after 120 s"])


def test_the_gate_s_list(t):
    with open(t.path("gate.txt"), "w") as f:
        f.write("# what is in\nreport  flame/one\nnot report/slow: by the clock  # today\ngone\nsql: a\n    b\n")
    listing = gate.Listing(t.path("gate.txt"))
    names = ["report/a", "report/slow", "reports/a", "flame/one", "flame/two", "sql/a", "sql/b", "sql/c", "b"]
    assert [n for n in names if listing.has(n)] == ["report/a", "flame/one", "sql/a", "sql/b"] and listing.unused() == ["gone"], listing.used


def closing_lines(t, *options, **counts):
    """What is said last of a run, and whether it was good."""
    with open(t.path("r.json"), "w") as f:
        json.dump({"passed": 5, "failed": 0, "skipped": 0, "command": "tests/run.py --build build --gate", **counts}, f)
    r = process.run([sys.executable, os.path.join(t.context.tests_dir, "summarize.py"), *options, t.path("r.json")])
    return r.code, r.text.splitlines()


def test_the_closing_lines_name_what_was_unsteady(t):
    code, lines = closing_lines(t, "--unsteady", t.path("unsteady"), unsteady={"a/b": ["Traceback\n  no end\n"]})
    assert code == 0 and lines == ["unsteady: a/b: it failed, then passed twice: no end",
                                   "    again: tests/run.py --build build --gate --only '^a/b$'", "1 unsteady: look into them first",
                                   "5 passed, 0 failed"], lines
    with open(t.path("unsteady")) as f:
        assert f.read() == "a/b: no end\n"


def test_the_closing_lines_name_what_failed(t):
    code, lines = closing_lines(t, failed=1, failures={"a/b": ["expected 1, got 2", "printed meanwhile: much"]})
    assert code == 1 and lines == ["failed: a/b: expected 1, got 2", "    again: tests/run.py --build build --gate --only '^a/b$'",
                                   "5 passed, 1 failed"], lines


class Unable(Fake):
    """A test that needs what this place lacks."""

    def run(self):
        cases.skip("no terminal here")


class Dying(Fake):
    """A test whose own process ends in the middle, with others running."""

    def __init__(self, name, folder):
        super().__init__(name)
        self.folder = folder

    def run(self):
        child = subprocess.Popen(["setsid", "sleep", "1000"])
        with open(os.path.join(self.folder, "child"), "w") as f:
            f.write(str(child.pid))
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_test_that_dies_has_failed(t):
    """The others go on, and what it started ends."""
    line, text, _ = verdict(t, [Dying("dying", t.dir), Fake("fine"), Fake("fine_too")])
    assert line == "2 passed, 1 failed" and "signal 9" in text, text
    with open(t.path("child")) as f:
        assert not os.path.exists(f"/proc/{f.read()}"), "its child is still there"


class Endless(Fake):
    timeout_s = 0.3 - crew.LAST_RESORT_S

    def run(self):
        time.sleep(1000)


def test_a_test_without_end_has_failed(t):
    line, text, _ = verdict(t, [Endless("endless"), Fake("fine")])
    assert line == "1 passed, 1 failed" and "no end after" in text, text


class Breaking(Fake):
    """A test that finds a pipe broken since its program crashed."""

    def run(self):
        child = subprocess.Popen(["sh", "-c", "kill -SEGV $$"], stdin=subprocess.PIPE)
        child.wait()
        child.stdin.write(b"x" * 100000)
        child.stdin.flush()


def test_a_crash_is_told_as_such(t):
    line, text, unsteady = verdict(t, [Breaking("breaking")], is_gate=True)
    assert line == "0 passed, 1 failed" and "killed by SIGSEGV: sh -c kill" in text and not unsteady, text


def test_each_test_has_its_own_world(t):
    """What one changes in Python and in the environment no other sees; what it leaves in its folder for temporary files is told."""
    class Changing(Fake):
        def run(self):
            assert os.environ.get("SILT_CHANGED") is None and not hasattr(process, "changed")
            os.environ["SILT_CHANGED"], process.changed = "1", True
            with open(os.path.join(tempfile.gettempdir(), "left"), "w") as f:
                f.write(os.environ["TMPDIR"])
            return [], []

    context = types.SimpleNamespace(trace_path=t.path, failed=t.dir)
    summary = run.Summary(io.StringIO())
    run.run_tests([Changing("one"), Changing("two")], lambda test: 3, summary, context, t.dir, 1)
    assert summary.line() == "2 passed, 0 failed", summary.out.getvalue()
    assert sorted(summary.left) == ["one: left", "two: left"], summary.left


def test_what_cannot_run_says_why(t):
    """It is neither passed nor failed, has its reason in its line and is in the closing one, where there is none otherwise."""
    line, text, _ = verdict(t, [Fake("fine"), Unable("odd")])
    assert line == "1 passed, 0 failed, 1 skipped", line
    assert "SKIP odd: no terminal here\n" in text, text
    assert verdict(t, [Fake("fine")])[0] == "1 passed, 0 failed"


def draw(t, seed, name="draws", fails=False):
    """Three runs of a test that draws, and what it drew."""
    drawn = []

    def function(scratch):
        drawn.append(scratch.chance.randrange(1 << 60))
        assert not fails

    context = types.SimpleNamespace(silt=None, work_dir=t.dir, seed=seed, build_dir=t.context.build_dir)
    test = cases.CaseTest(name, function, context)
    found = []
    for test.n_run in range(3):
        found.append(test.run()[0])
    return found, drawn


def test_draws_are_the_seed_s(t):
    """The same for the same seed and test, others for every repetition, test and seed."""
    drawn = draw(t, 1)[1]
    assert drawn == draw(t, 1)[1] and len(set(drawn + draw(t, 2)[1] + draw(t, 1, "others")[1])) == 9, drawn
    failures = draw(t, 7, fails=True)[0]
    assert re.search(r"SILT_SEED=7 tests/run.py --build \S+ --only '\^draws\$'$", failures[0][1]), failures[0]
    assert "SILT_SEED=7" in failures[2][1] and "--repeat 3" in failures[2][1], failures[2]


# What draws by itself, and says to nobody what.
UNTOLD = re.compile(r"\brandom\.(?:random|randint|randrange|choices?|shuffle|sample|uniform|randbytes|seed|SystemRandom|Random\(\))|\bos\.urandom\b|\bsecrets\.")
MAY_DRAW = ("run.py", os.path.join("cases", "runner.py"))


def test_nothing_else_is_drawn(t):
    found = []
    for folder, _, names in os.walk(t.context.tests_dir):
        for path in (os.path.join(folder, name) for name in names if name.endswith(".py")):
            with open(path) as f:
                found += [f"{path}:{n}: {line.strip()}" for n, line in enumerate(f, 1)
                          if UNTOLD.search(line) and os.path.relpath(path, t.context.tests_dir) not in MAY_DRAW]
    assert not found, "draw from t.chance:\n" + "\n".join(found)
