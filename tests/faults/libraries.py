# SPDX-License-Identifier: MIT
"""Libraries opened and closed for ever: exact figures, and memory that does not grow with the number of openings."""

import os
import shutil

from harness.weight import MIB, record, weigh_alone

N_LIBRARIES = 4


def opener(t, n_rounds):
    t.victim("opener_lib", shared=True)
    library = os.path.join(t.context.victims.out_dir, "opener_lib")
    names = [t.path(f"lib{i}.so") for i in range(N_LIBRARIES)]
    for name in names:
        if not os.path.exists(name):
            shutil.copy(library, name)
    return [t.victim("opener"), str(n_rounds), *names]


def weigh(t, n_rounds):
    """Memory of silt in the target, of the recorder, and of the trace after so many openings."""
    argv = opener(t, n_rounds)
    report, recorder_bytes, target_bytes = record(t, argv)
    totals = report["totals"]
    assert totals["lost_events"] == 0 and totals["unknown_frees"] == 0, totals
    full, why = t.silt.report(t.path("t.silt"), "--by", "count", "--top", "1000")
    assert full, why
    n_taken = sum(site["allocations"] for site in full["top"][0]["sites"]
                  if any(frame["function"] == "lib_take" for frame in site["stack"]))
    assert n_taken == 3 * n_rounds, f"{n_taken} blocks of the libraries, not {3 * n_rounds}"
    assert report["quality"]["complete_stacks_pct"] == 100, report["quality"]
    return target_bytes - weigh_alone(argv), recorder_bytes, os.path.getsize(t.path("t.silt"))


def test_opened_and_closed_for_ever(t):
    """Ten times the openings, the same memory."""
    few, many = t.count(200, 10000), t.count(2000, 100000)
    target_few, recorder_few, file_few = weigh(t, few)
    target_many, recorder_many, file_many = weigh(t, many)
    assert target_many < target_few + MIB, f"in the target {target_few} bytes after {few}, {target_many} after {many}"
    assert recorder_many < recorder_few + 4 * MIB, f"recorder {recorder_few} bytes after {few}, {recorder_many} after {many}"
    t.notes.append(f"{many:,} openings, 0 failures; recorder {recorder_few / MIB:.1f} MiB after {few:,}, "
                   f"{recorder_many / MIB:.1f} after {many:,}; in the target {target_few / MIB:.1f} and "
                   f"{target_many / MIB:.1f}; file {file_few:,} and {file_many:,} bytes")
