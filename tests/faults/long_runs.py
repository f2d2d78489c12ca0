# SPDX-License-Identifier: MIT
"""Days of recording with --max-size, the clock compressed (bench/long_run.c): the recorder's own pipeline and writer, 50,000
call paths, a live set that grows. The program keeps books of every call path and checks the trace, its largest size and the
recorder's memory against them; the report must say the same."""

import json
import os

from harness.process import run


def test_days_within_a_bound(t):
    """20 million events in `make test`, a billion in `make soak`."""
    millions, bound_mb = t.count((20, 32), (1000, 256))
    trace = t.path("t.silt")
    r = run([os.path.join(t.context.build_dir, "src/pipeline/bench_long_run"), trace, str(millions), str(bound_mb)],
            timeout_s=t.count(1800, 7200))
    assert r.code == 0, r.errors
    books = json.loads(r.text)
    assert books["thinned"] > 2 and books["max_file_bytes"] <= bound_mb << 20, books
    assert books["allocations"] + books["frees"] == millions * 1_000_000, books
    t.notes.append(f"{books['thinned']} copies, at most {books['max_file_bytes'] / 2**20:.0f} MiB, recorder "
           f"{books['recorder_bytes'] / 2**20:.0f} MiB, {books['cpu_s']} s of CPU")
    verdict = t.silt.command("verify", trace)
    assert verdict.code == 0, verdict.text
    report, why = t.silt.report(trace)
    assert report, why
    for name in ("allocations", "frees", "bytes_allocated", "peak_live_bytes", "end_live_bytes", "end_live_blocks"):
        assert report["totals"][name] == books[name], f"{name}: {report['totals'][name]}, not {books[name]}"
    assert report["quality"]["exact"] and report["quality"]["dropped_events"] > 0, report["quality"]
    end_s = report["duration_s"]
    for begin in (0.1, 0.5, 0.9):
        window = t.silt.command("report", "--json", "--from", f"{begin * end_s:.3f}s", "--to",
                                f"{(begin + 0.05) * end_s:.3f}s", trace)
        assert window.code == 0 and json.loads(window.text)["totals"]["allocations"] > 0, window.errors
