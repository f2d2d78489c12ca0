# SPDX-License-Identifier: MIT
"""Comparing what a program says of itself with what was recorded of it: equality, and nothing else.

A figure of an expectation is a number, or a string with an expression over what the program told (`name value` lines
on its stdout), `main` (its pid) and `base.FIGURE` (its baseline run), or, where the scheduler decides, an object with
`min`, `max` and `why`, which is printed."""

from types import SimpleNamespace

TOTALS = ["allocations", "frees", "reallocations", "failed_allocations", "unknown_frees", "prior_frees", "implicit_frees",
          "bytes_allocated", "temporary_allocations", "peak_live_bytes", "peak_live_blocks", "end_live_bytes",
          "end_live_blocks", "lost_events", "threads", "sites"]


def told(stdout):
    """The `name value` lines of a program."""
    names = {}
    for line in stdout.decode(errors="replace").splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            names[words[0]] = int(words[1])
    return names


def evaluate(expression, names):
    if isinstance(expression, (int, float)):
        return expression
    return eval(expression, {"__builtins__": {}, "max": max, "min": min}, dict(names))


class Check:
    """Gathers what differs (`failures`) and what was allowed to (`notes`)."""

    def __init__(self, names):
        self.names = names
        self.failures, self.notes = [], []

    def figure(self, label, expected, got):
        try:
            if isinstance(expected, dict):
                low, high = evaluate(expected["min"], self.names), evaluate(expected["max"], self.names)
                self.notes.append(f"{label} may be {low} to {high}: {expected['why']}")
                if not isinstance(got, (int, float)) or not low <= got <= high:
                    self.failures.append(f"{label}: expected {low} to {high}, got {got}")
                return
            value = evaluate(expected, self.names)
        except (NameError, AttributeError, KeyError) as e:
            self.failures.append(f"{label}: the program did not say what the expectation needs: {e}")
            return
        if value != got:
            self.failures.append(f"{label}: expected {value:,}, got {format_figure(got)}")

    def totals(self, label, expected, got):
        for key, value in expected.items():
            self.figure(f"{label}{key}", value, got.get(key))

    def equal(self, label, expected, got):
        if expected != got:
            self.failures.append(f"{label}: expected {expected!r}, got {got!r}")


def format_figure(got):
    return f"{got:,}" if isinstance(got, (int, float)) else repr(got)


def namespace(figures):
    return SimpleNamespace(**figures)


def check_processes(check, expected, report):
    """Each expected process is found by pid and image; figures given must be equal."""
    listed = {}
    for process in report.get("processes", []):
        listed[process.get("pid"), process.get("image", 1)] = process
    for want in expected:
        try:
            pid = evaluate(want["pid"], check.names)
        except NameError as e:
            check.failures.append(f"process {want['pid']}: the program did not tell its pid: {e}")
            continue
        entries = {image: p for (p_pid, image), p in listed.items() if p_pid == pid}
        image = want.get("image", max(entries, default=1))
        label = f"process {want['pid']} image {image}: "
        if image not in entries:
            check.failures.append(f"{label}not in processes, which has (pid, image) {sorted(listed)}")
            continue
        if "parent" in want:
            check.figure(label + "parent", want["parent"], entries[image].get("parent"))
        check.totals(label, want.get("totals", {}), entries[image].get("totals", {}))


def check_report(check, case, report, all_report):
    """The whole report of one run of a program against its expectation."""
    totals = report.get("totals", {})
    check.equal("schema", "silt.report/1", report.get("schema"))
    check.equal("mode", "exact", report.get("mode"))
    check.equal("ended", case.get("ended", "exit"), report.get("ended"))
    expected = {"lost_events": 0, "prior_frees": 0, "implicit_frees": 0, **case["totals"]}
    check.totals("", expected, totals)
    if not check.failures:
        left = totals["allocations"] - totals["frees"] - totals["implicit_frees"]
        check.equal("allocations - frees - implicit_frees", left, totals["end_live_blocks"])
    complete = case.get("complete_stacks_pct", 100)
    check.figure("complete_stacks_pct", complete, report.get("quality", {}).get("complete_stacks_pct"))
    check.totals("mappings.", case.get("mappings", {}), report.get("mappings", {}))
    check_processes(check, case.get("processes", []), report)
    if "n_processes" in case:
        check.equal("number of processes", case["n_processes"], len(report.get("processes", [])))
    if all_report is not None:
        check.totals("--process all: ", case["all"], all_report.get("totals", {}))
