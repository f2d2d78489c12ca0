# SPDX-License-Identifier: MIT
"""`silt run --sample`: estimates against the truth of a recording of everything, and how they are told."""

import importlib.util
import json
import math
import os

SCALE = "60000"


def shared(t):
    spec = importlib.util.spec_from_file_location("exact_totals", os.path.join(t.context.tests_dir, "sample", "exact_totals.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sites(report, metric):
    """Function that asked: (value, standard error)."""
    top = next(x["sites"] for x in report["top"] if x["metric"] == metric)
    key = "blocks" if metric in ("count", "temporary") else "bytes"
    return {x["stack"][0]["function"]: (x[key], x.get("standard_error", 0)) for x in top}


def figures(report):
    """All that is estimated, by name."""
    got = {f"{m} {f}": v for m in ("peak", "end", "allocated", "count", "temporary")
           for f, v in sites(report, m).items() if f in ("small", "medium", "large", "brief")}
    errors = report["totals"].get("standard_errors", {})
    for what in ("peak_live_bytes", "end_live_bytes", "temporary_allocations"):
        got[what] = (report["totals"][what], errors.get(what, 0))
    return got


class Trial:
    """Estimates of one figure over many runs, against the truth."""

    def __init__(self, value):
        self.value, self.guesses, self.errors, self.n_inside = value, [], [], 0

    def add(self, guess, error):
        # five standard errors: once in two million; of what was never seen no error is known
        assert not guess or abs(guess - self.value) <= 5 * error + 0.02 * self.value, (self.value, guess, error)
        self.guesses.append(guess)
        self.errors.append(error)
        self.n_inside += abs(guess - self.value) <= 1.96 * error + 1e-9 * self.value

    def bias_pct(self):
        return 100 * (sum(self.guesses) / len(self.guesses) / self.value - 1)

    def error_pct(self):
        return 100 * sum(self.errors) / len(self.errors) / self.value

    def inside_pct(self):
        return 100 * self.n_inside / len(self.guesses)


def truth_of_build():
    """What workload.c's build asks for, by its own words: bytes by function."""
    n = int(SCALE)
    sizes = {"large": [], "medium": [], "small": []}
    for i in range(n):
        which = "large" if i % 1000 == 0 else "medium" if i % 10 == 0 else "small"
        sizes[which].append((i, {"large": 150000, "medium": 1000 + i % 100 * 30, "small": 16 + i % 8 * 8}[which]))
    truth = {f"allocated {f}": sum(x for _, x in of) for f, of in sizes.items()}
    truth |= {f"peak {f}": truth[f"allocated {f}"] for f in sizes}
    truth |= {f"end {f}": sum(x for i, x in of if i % 2) for f, of in sizes.items()}
    truth |= {f"count {f}": len(of) for f, of in sizes.items()}
    return truth | {"temporary brief": n, "count brief": n, "allocated brief": sum(100 + i % 50 for i in range(n))}


def test_estimates_and_their_errors(t):
    """In make soak over 1,000 runs: whatever has an error of at most 5 % is right in the mean, and its interval is one of 95 %."""
    s = shared(t)
    argv = [s.program(t), "build", SCALE]
    truth = {what: value for what, (value, _) in figures(s.read(t, s.record(t, argv))).items()}
    for what, value in truth_of_build().items():
        assert truth.get(what, 0) == value, (what, truth.get(what), value)
    n, trials = t.count(4, 1000), {what: Trial(value) for what, value in truth.items() if value}
    for _ in range(n):
        got = figures(s.read(t, s.record(t, argv, "--sample", "4K")))
        assert all(got.get(what, (0, 0))[0] == 0 for what, value in truth.items() if not value), got
        for what, trial in trials.items():
            trial.add(*got.get(what, (0, 0)))
    close = {what: x for what, x in trials.items() if 0 < x.error_pct() <= 5}
    assert len(close) >= 8, {what: x.error_pct() for what, x in trials.items()}
    inside = sum(x.inside_pct() for x in close.values()) / len(close)
    t.notes.append(f"{n} runs: {inside:.1f} % in their interval; " + ", ".join(
        f"{what} {x.bias_pct():+.2f} +-{x.error_pct():.1f} % in {x.inside_pct():.1f} %" for what, x in close.items()))
    if n < 1000:
        return
    assert 93 <= inside <= 97, inside
    for what, x in close.items():
        assert abs(x.bias_pct()) < 0.5, (what, x.bias_pct())
        assert 92 <= x.inside_pct() <= 98, (what, x.inside_pct())


def test_a_level_that_is_held(t):
    """Its highest estimate is chance; what is told is the level."""
    s = shared(t)
    argv = [s.program(t), "plateau", "2000"]
    exact = s.read(t, s.record(t, argv))["totals"]["peak_live_bytes"]
    n, off, excess = t.count(6, 300), [], []
    for _ in range(n):
        report = s.read(t, s.record(t, argv, "--sample", "4K"))
        error = report["totals"]["standard_errors"]["peak_live_bytes"]
        assert report["totals"]["peak_live_bytes"] == sum(x["bytes"] for x in report["top"][0]["sites"]), report["totals"]
        off.append((report["totals"]["peak_live_bytes"] - exact) / error)
        excess.append(report["sampling"]["peak_excess_bytes"] / error)
    off, excess = sum(off) / n, sum(excess) / n
    t.notes.append(f"{n} runs: {off:+.2f} of its standard errors off, the highest point {off + excess:+.2f}")
    # the mean of n, five standard errors wide; the highest point would lie 2.5 above
    assert abs(off) < 0.3 + 5 / math.sqrt(n) and excess > 1, (off, excess)


def test_all_that_is_estimated_says_so(t):
    s = shared(t)
    trace = s.record(t, [s.program(t), "build", SCALE], "--sample", "16K")
    wide = {**os.environ, "COLUMNS": "120"}
    text = t.silt.command("report", trace, env=wide).text
    assert " peaked at about " in text and "±" in text.split("\n")[0] + text.split("\n")[1], text
    assert "Estimated from samples of one in 16.0 KiB: allocations, frees and bytes allocated are exact" in " ".join(text.split()), text
    assert "peak live      ~" in text and "~bytes" in text and "+-error" in text, text
    for options in (["--group-by", "function"], ["--tree"], ["--bottom-up"], ["--from", "1ms"]):
        text = " ".join(t.silt.command("report", trace, *options).text.split())
        assert "Estimated from samples of one in 16.0 KiB" in text, (options, text)
    assert "stands for" in t.silt.command("report", "--blocks", trace).text
    flame = t.silt.command("flame", trace, "-o", "-")
    assert "Estimated from samples of one in 16.0 KiB" in flame.text, flame.errors
    exact = s.record(t, [s.program(t), "build", SCALE], name="e")
    text = " ".join(t.silt.command("diff", exact, trace).text.split())
    assert "samples of one in 16.0 KiB" in text, text
    assert "stimate" not in t.silt.command("report", exact).text


def test_json(t):
    s = shared(t)
    report = s.read(t, s.record(t, [s.program(t), "build", SCALE], "--sample", "16K"))
    assert report["mode"] == "sampled" and not report["quality"]["exact"]
    assert report["sampling"]["interval_bytes"] == 16384 and report["sampling"]["samples_not_kept"] == 0, report["sampling"]
    assert report["sampling"]["recorder_cpu_s"] > 0, report["sampling"]
    errors = report["totals"]["standard_errors"]
    assert errors["allocations"] == errors["bytes_allocated"] == 0 and errors["peak_live_bytes"] > 0, errors
    window = s.read(t, t.path("t.silt"), "--from", "1ms")
    assert window["totals"]["standard_errors"]["bytes_allocated"] > 0, window["totals"]
    exact = s.read(t, s.record(t, [s.program(t), "ways", "10"]))
    assert "sampling" not in exact and "standard_errors" not in exact["totals"] and exact["mode"] == "exact"


def test_few_samples_claim_nothing(t):
    """A hundredth of what one sample stands for: whatever is found would be chance."""
    s = shared(t)
    for _ in range(t.count(5, 100)):
        report = s.read(t, s.record(t, [s.program(t), "build", "20000"], "--sample", "64M"))
        assert all(f["bytes"] == 0 for f in report["findings"]), report["findings"]


def test_the_budget_changes_the_distance(t):
    s = shared(t)
    trace = s.record(t, [s.program(t), "build", "3000000"], "--budget", "0.1%")
    report = s.read(t, trace)
    assert report["mode"] == "sampled" and report["sampling"]["interval_bytes"] == 512 << 10, report["sampling"]
    assert report["sampling"]["last_interval_bytes"] > 512 << 10, report["sampling"]
    assert report["sampling"]["cost_pct"] > 0, report["sampling"]
    assert "of the program's CPU time" in t.silt.command("report", trace).text
    error = report["totals"]["standard_errors"]["end_live_bytes"]
    exact = 0.5 * 3_000_000 / 1000 * 150_000  # large ones, most of it
    assert math.isfinite(error) and report["totals"]["end_live_bytes"] < 3 * exact, json.dumps(report["totals"])


def test_a_budget_that_cannot_be_kept(t):
    """A loop that does nothing but allocate: counting it takes more, and the report says so."""
    s = shared(t)
    trace = s.record(t, [s.program(t), "busy", "2000"], "--budget", "0.5%")
    report = s.read(t, trace)
    said = [x for x in report["notes"] if "budget of 0.5 % was exceeded" in x]
    assert len(said) == 1 and "without any samples" in said[0], report["notes"]
    assert report["sampling"]["cost_pct"] > 0.5 and report["sampling"]["last_interval_bytes"] > 512 << 10, report["sampling"]


def test_what_samples_do_not_follow_is_told(t):
    s = shared(t)
    arena = [os.path.join(t.context.build_dir, "examples", "arena"), "50"]
    notes = s.read(t, s.record(t, arena, "--sample", "4K"))["notes"]
    assert sum("uses pools" in x for x in notes) == 1, notes
    assert not any("uses pools" in x for x in s.read(t, s.record(t, arena))["notes"])
    assert not any("uses pools" in x for x in s.read(t, s.record(t, [s.program(t), "ways", "10"], "--sample", "4K"))["notes"])


def test_refused(t):
    s = shared(t)
    for options, word in ((["--sample", "10"], "64 to 64M"), (["--sample", "1G"], "64 to 64M"), (["--sample", "x"], "--sample"),
                          (["--budget", "0"], "--budget"), (["--budget", "200%"], "--budget"),
                          (["--sample", "1M", "--free-stacks"], "--free-stacks")):
        r = t.silt.record(t.path("r.silt"), [s.program(t), "ways", "1"], options)
        assert r.code == 125 and word in r.errors and r.errors.count("\n") == 1, (options, r.code, r.errors)


def test_what_no_sample_shows_is_not_said_to_be_released(t):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.program("fork_tree")], ["--sample", "64M"])
    assert r.code == 0, r.errors
    text = " ".join(t.silt.command("report", trace).text.split())
    assert "none of the sampled blocks was still allocated" in text and "everything had been freed" not in text, text[:400]


for _test in (test_a_level_that_is_held, test_all_that_is_estimated_says_so, test_json, test_few_samples_claim_nothing,
              test_the_budget_changes_the_distance, test_a_budget_that_cannot_be_kept,
              test_what_samples_do_not_follow_is_told, test_refused, test_what_no_sample_shows_is_not_said_to_be_released):
    _test.native_alone = "the same code as on this one"
