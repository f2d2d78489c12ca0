# SPDX-License-Identifier: MIT
"""The verdict of tests/run.py on tests that fail: once beside others, alone, always."""

import io
import types

import run
from harness import cases


class Fake:
    """A test that fails at its runs of these numbers."""

    def __init__(self, name, failing):
        self.name, self.failing, self.n_runs = name, failing, 0

    def run(self):
        self.n_runs += 1
        return (["broken"] if self.n_runs in self.failing else []), []


def verdict(t, tests, is_last_word=False):
    """What a run of these says, and its text."""
    context = types.SimpleNamespace(trace_path=lambda name: t.path(name), failed=t.dir)
    summary = run.Summary(io.StringIO())
    for test in tests:
        run.run_test(test, 1, summary, context, is_last_word)
    run.run_again(summary, context)
    return summary.line(), summary.out.getvalue()


def test_failures_are_tried_alone(t):
    line, text = verdict(t, [Fake("fine", ()), Fake("once", {1}), Fake("twice", {1, 3}), Fake("ever", range(1, 9))])
    assert line == "2 passed, 2 failed", line
    assert "AGAIN once" in text and "unsteady: once failed" in text and "FAIL ever" in text and "FAIL twice" in text, text
    assert "unsteady: twice" not in text and "unsteady: ever" not in text, text


def test_many_unsteady_tests_are_a_failure(t):
    line, text = verdict(t, [Fake(f"once{i}", {1}) for i in range(run.MAX_UNSTEADY + 1)])
    assert line == f"{run.MAX_UNSTEADY} passed, 1 failed", line + text


def test_soak_tries_nothing_again(t):
    line, _ = verdict(t, [Fake("once", {1})], is_last_word=True)
    assert line == "0 passed, 1 failed", line


class Unable(Fake):
    """A test that needs what this place lacks."""

    def run(self):
        cases.skip("no terminal here")


def test_what_cannot_run_says_why(t):
    """It is neither passed nor failed, has its reason in its line and is in the closing one, where there is none otherwise."""
    line, text = verdict(t, [Fake("fine", ()), Unable("odd", ())])
    assert line == "1 passed, 0 failed, 1 skipped", line
    assert "SKIP odd: no terminal here\n" in text, text
    assert verdict(t, [Fake("fine", ())])[0] == "1 passed, 0 failed"
