# SPDX-License-Identifier: MIT
"""`silt run --max-size`: the file stays within its bound, and its totals are the program's."""

import glob
import json
import os
import re
import time

from harness.process import run
from harness.watch import Recording

BOUND = 1 << 20
N_PAIRS = 3_000_000
N_KEPT = 1000


def sizes_of(folder, recorder):
    """Size of the trace, and of all that the recorder has open there, together: what it makes smaller has no name yet."""
    files = {}
    for path in glob.glob(f"{folder}/*") + glob.glob(f"/proc/{recorder}/fd/*"):
        try:
            if os.path.dirname(os.readlink(path) if os.path.islink(path) else path) == folder:
                st = os.stat(path)
                files[st.st_ino] = st.st_size
        except FileNotFoundError:
            pass  # it has just been replaced
    try:
        return os.stat(os.path.join(folder, "t.silt")).st_size, len(files), sum(files.values())
    except FileNotFoundError:
        return 0, 0, 0


def check_what_cannot_be_told(t, trace):
    """Conditions on single blocks about a time whose detail is gone: nobody knows, which is not the same as nothing."""
    window = ["--from", "10ms", "--to", "30ms"]
    for options in (["--size", "..64"], ["--lifetime", "1ms.."], ["--size", "..64", "--tree"], ["--size", "..64", "--group-by", "site"],
                    ["--group-by", "size"], ["--histogram", "size"]):
        text = " ".join(t.silt.command("report", *window, *options, trace).text.split())
        assert "is unknown: detail before" in text.split(". ")[0] and ": start the window at " in text, (options, text)
        moments = re.search(r"From (.+?) to (.+?)\. ", text)
        assert not moments or moments[1] != moments[2], (options, text)
        assert "there are none" not in text and "0 allocs" not in text, (options, text)
        r = t.silt.command("report", *window, *options, "--json", trace)
        report = json.loads(r.text)
        assert not report.get("exact", report.get("quality", {}).get("exact")), (options, r.text[:600])
    report, why = t.silt.report(trace, *window, "--size", "..64")
    assert report and report["unfiltered"]["allocations"] > 0, why or report["unfiltered"]
    assert any("is unknown" in note for note in report["notes"]), report["notes"]


def watch(t, folder):
    """Records, and looks at the file all the while: (trace, looks, looks at a trace and its copy, reports)."""
    recording = Recording(t, [t.helper(), "churn", str(N_PAIRS), str(N_KEPT)], ["-f", "--max-size", "1M"], trace="out/t.silt")
    trace, recorder = recording.trace, recording.recorder()
    n_reports = n_looks = n_pairs_seen = 0
    while recording.process.poll() is None:
        size, n_files, together = sizes_of(folder, recorder)
        n_looks, n_pairs_seen = n_looks + 1, n_pairs_seen + (n_files == 2)
        assert together <= BOUND, f"{size} {n_files} {together}"
        if size > BOUND // 4 and n_reports < n_looks // 20:
            report, why = t.silt.report(trace)
            assert report, why
            n_reports += 1
        time.sleep(0.001)
    status, _, words = recording.finish()
    assert status == 0 and words == "", words
    return trace, n_looks, n_pairs_seen, n_reports


N_WATCHED = 6  # a copy is there for few milliseconds: a run in which nobody looked just then shows nothing of it


def test_the_file_stays_within_the_bound_and_totals_stay_exact(t):
    folder = t.path("out")
    os.mkdir(folder)
    for _ in range(N_WATCHED):
        trace, n_looks, n_pairs_seen, n_reports = watch(t, folder)
        if n_pairs_seen and n_reports:
            break
    assert n_reports > 0
    assert n_pairs_seen > 0, f"the trace and its copy were never seen side by side, in {N_WATCHED} runs"
    t.notes.append(f"{n_looks} looks, {n_pairs_seen} of them at a trace and its copy, {n_reports} reports")
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
    assert "detail kept since" in text and "(--max-size)" in text, text
    early = t.silt.command("report", "--from", "10ms", "--to", "30ms", trace).text
    assert "Detail before" in early and "the nearest known window" in " ".join(early.split()), early
    check_what_cannot_be_told(t, trace)
    blocks = t.silt.command("report", "--blocks", "--to", "30ms", trace).text
    assert "was dropped" in " ".join(blocks.split()) and not re.search(r"^ +\d+\.\d{6} ", blocks, re.M), blocks


def test_all_processes_together_are_exact_without_the_detail_of_their_forks(t):
    """Children release what they inherited long before the detail that is kept; their blocks and the parent's add up."""
    figures = []
    for options in (["-f"], ["-f", "--max-size", "1M"]):
        recording = Recording(t, [t.helper(), "forks", "4", "200000"], options, trace=f"forks{len(figures)}.silt")
        status, _, words = recording.finish()
        assert status == 0 and words == "", words
        assert t.silt.command("verify", recording.trace).code == 0
        report, why = t.silt.report(recording.trace, "--process", "all")
        assert report, why
        assert report["quality"]["exact"], report["quality"]
        figures.append((report["totals"], report["quality"]))
    (whole, _), (bounded, quality) = figures
    assert quality["dropped_events"] > 0, quality
    assert whole["end_live_blocks"] == 2000, whole  # the parent ends last: what its children left went with them
    for name in ("allocations", "frees", "bytes_allocated", "peak_live_bytes", "peak_live_blocks", "end_live_bytes",
                 "end_live_blocks"):
        assert bounded[name] == whole[name], (name, bounded[name], whole[name])


def test_sizes_that_make_no_sense(t):
    for size in ("1K", "0", "lots", "-5M"):
        r = run([t.silt.path, "run", "--max-size", size, "true"])
        assert r.code == 125 and len(r.errors.splitlines()) == 1 and "--max-size" in r.errors, (size, r.errors)
