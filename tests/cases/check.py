# SPDX-License-Identifier: MIT
"""`silt check`: limits that hold, limits that break, and what cannot be told."""

import os
import re
import subprocess

from harness.answer import parse

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void *kept[20000];
static int n_kept;
__attribute__((noinline)) void start_up(void) { kept[n_kept++] = malloc(START_BYTES); }
__attribute__((noinline)) void leak(void) { kept[n_kept++] = malloc(LEAK_BYTES); }
__attribute__((noinline)) void churn(void) { free(malloc(64)); }
static void pause_ms(int ms) { struct timespec t = {0, ms * 1000000l}; nanosleep(&t, NULL); }
int main(void) {
        start_up();
        for (int i = 0; i < N_STEPS; i++) {
                leak();
                churn();
                pause_ms(STEP_MS);
        }
        if (IS_CLEAN)
                while (n_kept)
                        free(kept[--n_kept]);
        return 0;
}
"""


def record(t, name, **defines):
    settings = {"START_BYTES": 100_000, "LEAK_BYTES": 0, "N_STEPS": 20, "STEP_MS": 1, "IS_CLEAN": 0, **defines}
    source, program, trace = t.path(name + ".c"), t.path(name), t.path(name + ".silt")
    with open(source, "w") as f:
        f.write(PROGRAM)
    flags = [f"-D{k}={v}" for k, v in settings.items()]
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", *flags, "-o", program, source], check=True)
    r = t.silt.record(trace, [program], ["-f"])
    assert r.code == 0, r.errors
    return trace


def check(t, trace, *options, code):
    r = t.silt.command("check", trace, *options)
    assert r.code == code and r.stderr == b"", (options, r.code, r.text, r.errors)
    j = t.silt.command("check", trace, "--json", *options)
    assert j.code == code, (options, j.code, j.errors)
    got = parse(j.text)
    assert got["schema"] == "silt.check/1"
    assert re.sub(r"\s+", " ", r.text).startswith(got["text"].replace("  ", " ")), (r.text, got["text"])
    assert got["verdict"] == {0: got["verdict"], 1: "failed", 2: "unknown"}[code], got
    return got, r.text


def verdicts(got):
    return {c.get("function") or c.get("metric") or c["check"]: c["verdict"] for c in got["checks"]}


def test_limits(t):
    """100,000 bytes at start, 20 times 1,000 and as many temporary ones."""
    trace = record(t, "plain", LEAK_BYTES=1000)
    got, text = check(t, trace, "--max-peak", "1M", "--max-end", "120000", "--max-allocations", "41", "--max-allocated", "121280",
                      "--max-temporary-share", "50%", "--max", "leak=20000", "--max", "main=120064", code=0)
    assert set(verdicts(got).values()) == {"ok"} and text.startswith("All 7 checks hold: "), text
    measured = {c.get("function") or c["check"]: c["measured"] for c in got["checks"]}
    assert measured["end"] == 120_000 and measured["allocations"] == 41 and measured["allocated"] == 121_280, measured
    assert measured["leak"] == 20_000 and measured["main"] == measured["peak"] == 120_064, measured
    assert len(text.splitlines()) <= 4 and "verdict" not in text
    for options, name, who in ((["--max-end", "119999"], "end", "start_up"), (["--max-allocations", "40"], "allocations", "leak"),
                               (["--max-allocated", "121279"], "allocated", "start_up"), (["--max", "leak=19999"], "leak", "leak"),
                               (["--max-temporary-share", "40"], "temporary_share", "churn"), (["--max-rss", "1K"], "peak_rss", "start_up")):
        got, text = check(t, trace, "--max-peak", "1M", *options, code=1)
        failed = [c for c in got["checks"] if c["verdict"] == "failed"]
        assert verdicts(got) == {"peak": "ok", name: "failed"}, (options, verdicts(got))
        assert 1 <= len(failed[0]["sites"]) <= 3 and failed[0]["sites"][0]["name"] == who, failed
        assert text.startswith("1 of 2 checks failed: ") and "FAILED" in text and who in text, text


def test_growth(t):
    per_step, step_ms = t.chance.randint(500, 4000), 10
    leaky = record(t, "leaky", LEAK_BYTES=per_step, N_STEPS=250, STEP_MS=step_ms)
    rate = per_step * 1000 / (step_ms + 0.1)
    got, text = check(t, leaky, "--max-growth", "1%/min", "--max-peak", "100M", code=1)
    growth = got["checks"][0]
    assert growth["unit"] == "percent_per_second" and growth["sites"][0]["name"] == "leak", growth
    assert "steadily since" in growth["remark"], growth
    got, _ = check(t, leaky, "--max-growth", f"{int(rate * 2)}/s", code=0)
    measured = got["checks"][0]["measured"]
    assert 0.4 * rate < measured < 1.1 * rate, (measured, rate)  # a busy machine sleeps for longer
    check(t, leaky, "--max-growth", f"{int(rate / 10)}/s", code=1)
    check(t, leaky, "--max-growth", f"{int(rate * 2 * 3600)}/h", code=0)
    # released at the very end: it grew all the same
    clean = record(t, "clean", LEAK_BYTES=per_step, N_STEPS=250, STEP_MS=step_ms, IS_CLEAN=1)
    check(t, clean, "--max-growth", "1%/min", code=1)
    check(t, clean, "--max-end", "0", code=0)
    # does not grow
    level = record(t, "level", N_STEPS=150, STEP_MS=step_ms)
    got, _ = check(t, level, "--max-growth", "0%/min", "--strict", code=0)
    assert got["checks"][0]["measured"] == 0


def test_growth_from_nearly_nothing_is_told_in_bytes(t):
    trace = record(t, "tiny", START_BYTES=1, LEAK_BYTES=t.chance.randint(5_000, 20_000), N_STEPS=250, STEP_MS=6)
    # of an hour, so that a run that a busy machine makes longer has thousands of per cent, too
    got, text = check(t, trace, "--max-growth", "1%/h", code=1)
    assert not re.search(r"\d{4,} %", text) and re.search(r"growth [\d.,]+ [MG]iB/h, limit 1 %/h", text), text
    growth = got["checks"][0]
    assert growth["unit"] == "percent_per_second" and growth["growth_bytes_per_s"] > 100_000, growth


def test_what_cannot_be_told(t):
    short = record(t, "short", LEAK_BYTES=100, N_STEPS=10)
    got, text = check(t, short, "--max-growth", "1%/min", code=0)
    assert got["verdict"] == "unknown" and got["checks"][0]["measured"] is None and "too short" in text, text
    check(t, short, "--max-growth", "1%/min", "--strict", code=2)
    check(t, short, "--max-growth", "1%/min", "--max-peak", "1", "--strict", code=1)  # a broken limit is known
    got, _ = check(t, short, "--max", "nowhere=1M", "--max-peak", "1M", code=0)
    assert verdicts(got) == {"nowhere": "unknown", "peak": "ok"}, got
    check(t, short, "--max", "nowhere=1M", "--strict", code=2)
    # a recording that was cut off is not passed in silence
    with open(short, "rb") as f:
        whole = f.read()
    cut = t.path("cut.silt")
    with open(cut, "wb") as f:
        f.write(whole[:-40])
    got, text = check(t, cut, "--max-peak", "1M", code=0)
    assert got["doubt"] and got["verdict"] == "unknown" and got["doubt"] in re.sub(r"\s+", " ", text), text
    check(t, cut, "--max-peak", "1M", "--strict", code=2)
    check(t, cut, "--max-peak", "1", "--strict", code=1)
    got, _ = check(t, short, "--against", cut, code=0)
    assert got["base_doubt"], got
    n_empty = 0
    for n_bytes in range(100, min(len(whole), 6000), 100):  # nor one that was cut off before its first figures
        with open(cut, "wb") as f:
            f.write(whole[:n_bytes])
        r = t.silt.command("check", cut, "--max-peak", "1M", "--json")
        if r.code == 0:
            measured = parse(r.text)["checks"][0]["measured"]
            # a slow program may have allocated nothing when the recorder wrote for the first time: then 0 is known
            assert measured != 0 or re.search(r" [1-9]\d* slices?, 0 events", t.silt.command("verify", cut).text), (n_bytes, r.text)
            # a small file has all of the program well before its own end: then nothing is in doubt
            is_whole = t.silt.report(cut)[0]["ended"] == "exit"
            assert "As far as" in parse(r.text)["text"] or is_whole or measured is None, (n_bytes, r.text)
            n_empty += measured is None
    assert n_empty, "no cut lay between the start and the first slice"


def test_against(t):
    base = record(t, "base", LEAK_BYTES=1000)
    same = record(t, "same", LEAK_BYTES=1000)
    more = record(t, "more", LEAK_BYTES=1200)  # 4,000 of 120,000 bytes: +3.3 %
    got, text = check(t, same, "--against", base, "--by", "peak", "--by", "count", "--by", "end", "--by", "allocated", code=0)
    assert len(got["checks"]) == 4 and {c["verdict"] for c in got["checks"]} == {"ok"}, text
    got, text = check(t, more, "--against", base, code=1)
    c = got["checks"][0]
    assert c["measured"] - c["base"] == 4000 and c["sites"] == [{"name": "leak", "place": c["sites"][0]["place"], "value": 4000}], c
    assert "base" in text and "+3.9 KiB" in text and "leak" in text, text
    check(t, more, "--against", base, "--fail-above", "3.4%", code=0)
    check(t, base, "--against", more, "--fail-above", "0%", code=0)  # less is no failure
    check(t, more, "--against", base, "--not-function", "leak", code=0)
    check(t, more, "--against", base, "--by", "count", code=0)


def test_table_fits(t):
    trace = record(t, "plain", LEAK_BYTES=1000)
    limits = ["--max-peak", "1K", "--max-growth", "1%/min", "--max-end", "1K", "--max", "leak=1K", "--max-allocations", "3", "--against", trace]
    for columns in (60, 80, 120, 200):
        for locale in ("C", "C.UTF-8"):
            r = t.silt.command("check", trace, *limits, env={**os.environ, "COLUMNS": str(columns), "LC_ALL": locale})
            assert r.code == 1, r.errors
            lines = r.text.splitlines()
            assert not [x for x in lines if len(x) > max(columns, 72) or x != x.rstrip()], lines
            assert "\033" not in r.text and (locale != "C" or r.text.isascii())


def test_refused(t):
    trace = record(t, "plain", LEAK_BYTES=1)
    for argv, why in (([trace], "no limit"), (["--max-peak", "1M"], "no trace"), ([trace, "--max-growth", "1"], "not a rate"),
                      ([t.path("none.silt"), "--max-peak", "1M"], "cannot open"), ([__file__, "--max-peak", "1M"], ""),
                      ([trace, "--against", t.path("none.silt")], "cannot open"), ([trace, "--max", "(=1M"], "--max"),
                      ([trace, "--max-peak", "1M", "--from", "1h"], "only"),
                      ([trace, "--max-peak", "1M", "--to", "0s"], "--to: the window is empty: it must end later than 0"),
                      ([trace, "--max-peak", "1M", "--from", "2s", "--to", "1s"], "--from: the window is empty: it must begin before it ends")):
        r = t.silt.command("check", *argv)
        assert r.code == 2 and r.text == "" and why in r.errors, (argv, r.errors)
        assert r.errors.startswith("silt: ") and r.errors.count("\n") == 1, r.errors
    r = t.silt.command("check", "--help")
    assert r.code == 0 and "examples:" in r.text


def test_a_filter_that_selects_nothing_is_told(t):
    trace = record(t, "p")
    r = t.silt.command("check", trace, "--function", "no_such_function", "--max-peak", "1M")
    assert r.code == 0 and "No block has function" in r.text, r.text
    r = t.silt.command("check", trace, "--function", "no_such_function", "--max-peak", "1M", "--strict")
    assert r.code == 2, r.text


def test_the_least_may_be_too_much(t):
    """A dump of one moment does not know its peak, which is no less than what is live."""
    dump = t.path("one.heap")
    with open(dump, "w") as f:
        f.write("heap_v2/1\n  t*: 10: 5000 [0: 0]\n@ 0x10 0x20\n  t*: 10: 5000 [0: 0]\n\nMAPPED_LIBRARIES:\n")
    for option in ("--max-peak", "--max-allocated"):
        r = t.silt.command("check", dump, option, "4K")
        assert r.code == 1 and "at least" in r.text and "4.9 KiB" in r.text, r.text + r.errors
        r = t.silt.command("check", dump, option, "6K")
        assert r.code == 0 and "could not be done" in r.text and "unknown" in r.text, r.text + r.errors
        assert t.silt.command("check", dump, option, "6K", "--strict").code == 2
