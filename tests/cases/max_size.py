# SPDX-License-Identifier: MIT
"""`silt run --max-size`: the file stays within its bound, and its totals are the program's."""

import os
import subprocess
import time

from harness.process import run

BOUND = 1 << 20
N_PAIRS = 600_000
N_KEPT = 1000


def within_bound(folder):
    """Largest sizes seen of the trace and of all files in its folder together."""
    sizes = []
    for name in os.listdir(folder):
        try:
            sizes.append(os.stat(os.path.join(folder, name)).st_size)
        except FileNotFoundError:
            pass  # it has just been replaced
    return max(sizes, default=0), sum(sizes)


def test_the_file_stays_within_the_bound_and_totals_stay_exact(t):
    folder = t.path("out")
    os.mkdir(folder)
    trace = os.path.join(folder, "t.silt")
    p = subprocess.Popen([t.silt.path, "run", "-q", "-o", trace, "--max-size", "1M", "--", t.helper(), "churn",
                          str(N_PAIRS), str(N_KEPT)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    n_reports = 0
    while p.poll() is None:
        largest, together = within_bound(folder)
        assert largest <= BOUND and together <= BOUND, f"{largest} {together}"
        if largest > BOUND // 4:
            report, why = t.silt.report(trace)
            assert report, why
            n_reports += 1
        time.sleep(0.02)
    words = p.stderr.read().decode()
    assert p.returncode == 0 and words == "", words
    assert n_reports > 0
    assert os.listdir(folder) == ["t.silt"]
    assert os.stat(trace).st_size <= BOUND

    assert t.silt.command("verify", trace).code == 0
    report, why = t.silt.report(trace)
    assert report, why
    totals, quality = report["totals"], report["quality"]
    assert totals["allocations"] == N_PAIRS + N_KEPT, totals
    assert totals["frees"] == N_PAIRS, totals
    assert totals["end_live_blocks"] == N_KEPT and totals["end_live_bytes"] == N_KEPT * 50, totals
    assert totals["lost_events"] == 0 and quality["unwritten_events"] == 0, quality
    assert quality["exact"] and quality["dropped_events"] > 0 and quality["detail_from_s"] > 0, quality

    text = t.silt.command("report", trace).text
    assert "detail kept from" in text and "(--max-size)" in text, text
    early = t.silt.command("report", "--from", "10ms", "--to", "30ms", trace).text
    assert "Event detail before" in early and "the nearest there are" in " ".join(early.split()), early
    blocks = t.silt.command("report", "--blocks", "--to", "30ms", trace).text
    assert len(blocks.splitlines()) == 2 and "was dropped" in blocks.splitlines()[0], blocks


def test_sizes_that_make_no_sense(t):
    for size in ("1K", "0", "lots", "-5M"):
        r = run([t.silt.path, "run", "--max-size", size, "true"])
        assert r.code == 125 and len(r.errors.splitlines()) == 1 and "--max-size" in r.errors, (size, r.errors)
