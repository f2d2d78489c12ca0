# SPDX-License-Identifier: MIT
"""The verdict of tests/run.py on tests that fail, are late or cannot run, and what tests draw."""

import io
import itertools
import json
import os
import re
import sys
import types

import run
from harness import cases, process
from harness.load import Load
from harness.process import TimedOut


class Fake:
    """A test that fails at its runs of these numbers, or has no time there."""

    def __init__(self, name, failing=(), late=()):
        self.name, self.failing, self.late, self.n_runs = name, failing, late, 0

    def run(self):
        self.n_runs += 1
        if self.n_runs in self.late:
            raise TimedOut("no end")
        return (["broken"] if self.n_runs in self.failing else []), []


def machine(idle_pct):
    """One whose processors are idle for so much of the time."""
    readings = itertools.count()
    return lambda: Load(lambda: (1000 * (n := next(readings)), 10 * idle_pct * n))


BUSY, IDLE = machine(5), machine(60)


def verdict(t, tests, is_last_word=False, load=BUSY):
    """What a run of these says, and its text."""
    context = types.SimpleNamespace(trace_path=lambda name: t.path(name), failed=t.dir)
    summary = run.Summary(io.StringIO())
    for test in tests:
        run.run_test(test, 1, summary, context, is_last_word, load)
    run.run_late(summary, context)
    return summary.line(), summary.out.getvalue(), summary.late_line()


def test_what_is_wrong_once_is_wrong(t):
    once = Fake("once", {1})
    line, text, late = verdict(t, [Fake("fine"), once])
    assert line == "1 passed, 1 failed" and once.n_runs == 1 and not late, (line, late)
    assert "FAIL once" in text and "broken" in text, text


def test_a_time_out_on_a_busy_machine_is_repeated_and_told(t):
    line, text, late = verdict(t, [Fake("slow", late={1}), Fake("stuck", late={1, 2}), Fake("wrong", {2}, {1})])
    assert line == "1 passed, 2 failed", line
    assert "LATE slow" in text and "ok   slow" in text and "FAIL stuck" in text and "FAIL wrong" in text, text
    assert late == "3 time-outs on a busy machine, repeated: slow, stuck, wrong", late


def test_a_time_out_on_an_idle_machine_is_a_failure(t):
    slow = Fake("slow", late={1})
    line, _, late = verdict(t, [slow], load=IDLE)
    assert line == "0 passed, 1 failed" and slow.n_runs == 1 and not late, line


def test_many_time_outs_are_a_failure(t):
    line, text, late = verdict(t, [Fake(f"slow{i}", late={1}) for i in range(run.MAX_LATE + 2)])
    assert line == f"{run.MAX_LATE} passed, 2 failed" and late.startswith(f"{run.MAX_LATE} time-outs"), line + text


def test_soak_tries_nothing_again(t):
    assert verdict(t, [Fake("slow", late={1})], is_last_word=True)[0] == "0 passed, 1 failed"


def test_the_closing_lines_count_what_was_repeated(t):
    files = []
    for i, n in enumerate((1, 2)):
        files.append(t.path(f"{i}.json"))
        with open(files[-1], "w") as f:
            json.dump({"passed": 5, "failed": 0, "skipped": 0, "repeated": n}, f)
    r = process.run([sys.executable, os.path.join(t.context.tests_dir, "summarize.py"), *files])
    assert r.code == 0 and r.text.splitlines() == ["3 time-outs on a busy machine, repeated", "10 passed, 0 failed"], r.text


def test_the_closing_lines_name_what_failed(t):
    with open(t.path("r.json"), "w") as f:
        json.dump({"passed": 5, "failed": 1, "skipped": 0, "repeated": 0, "names_failed": ["a/b"]}, f)
    r = process.run([sys.executable, os.path.join(t.context.tests_dir, "summarize.py"), t.path("r.json")])
    assert r.code == 1 and r.text.splitlines() == ["failed: a/b", "5 passed, 1 failed"], r.text


class Unable(Fake):
    """A test that needs what this place lacks."""

    def run(self):
        cases.skip("no terminal here")


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
    return [test.run()[0] for _ in range(3)], drawn


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
