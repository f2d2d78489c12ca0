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


def test_estimates_and_their_errors(t):
    s = shared(t)
    argv = [s.program(t), "build", SCALE]
    truth = figures(s.read(t, s.record(t, argv)))
    n, inside, sums = t.count(4, 1000), 0, {what: 0 for what in truth}
    n_told = 0
    for _ in range(n):
        got = figures(s.read(t, s.record(t, argv, "--sample", "16K")))
        for what, (value, _) in truth.items():
            guess, error = got.get(what, (0, 0))
            sums[what] += guess
            if value == 0:
                assert guess == 0, (what, guess)
                continue
            # five standard errors: once in two million; of what was never seen no error is known
            if guess:
                assert abs(guess - value) <= 5 * error + 0.02 * value, (what, value, guess, error)
                n_told += 1
                inside += abs(guess - value) <= 1.96 * error + 1e-9 * value
    t.notes.append(f"{100 * inside / n_told:.1f} % of {n_told} figures in their interval")
    if n >= 1000:
        assert 93 <= 100 * inside / n_told <= 97, inside / n_told
        for what in ("peak_live_bytes", "end_live_bytes", "allocated small", "end small", "peak medium"):
            assert abs(sums[what] / n / truth[what][0] - 1) < 0.005, (what, sums[what] / n, truth[what])


def test_all_that_is_estimated_says_so(t):
    s = shared(t)
    trace = s.record(t, [s.program(t), "build", SCALE], "--sample", "16K")
    wide = {**os.environ, "COLUMNS": "120"}
    text = t.silt.command("report", trace, env=wide).text
    assert " peaked at about " in text and "±" in text.split("\n")[0] + text.split("\n")[1], text
    assert "Estimated from samples of one in 16 KiB: allocations, frees and bytes allocated are exact" in " ".join(text.split()), text
    assert "peak live      ~" in text and "~bytes" in text and "+-error" in text, text
    for options in (["--group-by", "function"], ["--tree"], ["--bottom-up"], ["--from", "1ms"]):
        text = " ".join(t.silt.command("report", trace, *options).text.split())
        assert "Estimated from samples of one in 16 KiB" in text, (options, text)
    assert "stands for" in t.silt.command("report", "--blocks", trace).text
    flame = t.silt.command("flame", trace, "-o", "-")
    assert "Estimated from samples of one in 16 KiB" in flame.text, flame.errors
    exact = s.record(t, [s.program(t), "build", SCALE], name="e")
    text = " ".join(t.silt.command("diff", exact, trace).text.split())
    assert "samples of one in 16 KiB" in text, text
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


def test_refused(t):
    s = shared(t)
    for options, word in ((["--sample", "10"], "64 to 64M"), (["--sample", "1G"], "64 to 64M"), (["--sample", "x"], "--sample"),
                          (["--budget", "0"], "--budget"), (["--budget", "200%"], "--budget"),
                          (["--sample", "1M", "--free-stacks"], "--free-stacks")):
        r = t.silt.record(t.path("r.silt"), [s.program(t), "ways", "1"], options)
        assert r.code == 125 and word in r.errors and r.errors.count("\n") == 1, (options, r.code, r.errors)
