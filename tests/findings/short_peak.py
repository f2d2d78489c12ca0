# SPDX-License-Identifier: MIT
"""short-peak: a spike far above the steady level, and who made it."""

from findings._shapes import hold


def draw(chance):
    base = chance.log(200_000, 2_000_000)
    return {"base_bytes": base, "spike_bytes": int(base * chance.uniform(4, 20)), "block_bytes": chance.log(200, 20_000),
            "from_pct": chance.randint(0, 88), "length_pct": chance.randint(1, 7), "hold_kb": 50, "others": chance.choice([0, 1]),
            "period": chance.randint(8, 14), "high_pct": chance.randint(20, 60)}


def spikes(t, program, shape, **fixed):
    def check(run):
        finding = run.alarm("short-peak")
        run.none("growing", "leak")
        run.equal("bytes at the peak", run.evidence(finding, "peak_bytes"), run.totals["peak_live_bytes"])
        run.equal("bytes of the site", run.evidence(finding, "site_bytes"), run.truth["spike_bytes"])
        level = run.totals["peak_live_bytes"] - run.truth["spike_bytes"]
        run.near("the steady level", run.evidence(finding, "level_bytes"), level, 0.1)

    hold(t, program, shape, draw, fixed, check)


def does_not(t, program, shape, **fixed):
    def check(run):
        run.none("short-peak", "growing", "leak")

    hold(t, program, shape, draw, fixed, check)


def test_one_block(t):
    spikes(t, "short_peak.c", "one_block")


def test_many_blocks(t):
    spikes(t, "short_peak.c", "many_blocks")


def test_threads_at_once(t):
    spikes(t, "short_peak.c", "threads", from_pct=(5, 85))


def test_text_and_what_is_parsed_from_it(t):
    spikes(t, "short_peak.c", "twice_over")


def test_copy_of_a_table(t):
    spikes(t, "short_peak.cc", "copy")


def test_all_rows_at_once(t):
    spikes(t, "short_peak.cc", "rows")


def test_pages_in_rust(t):
    spikes(t, "short_peak.rs", "collected")


def test_sorted_copy_in_rust(t):
    spikes(t, "short_peak.rs", "sorted")


def test_not_a_level_that_stays(t):
    does_not(t, "short_peak.c", "plateau", from_pct=(5, 50))


def test_not_again_and_again(t):
    does_not(t, "short_peak.c", "periodic")


def test_not_a_bump(t):
    does_not(t, "short_peak.c", "bump", base_bytes=(1_500_000, 4_000_000), spike_bytes=(100_000, 400_000))


def test_not_a_hill(t):
    does_not(t, "short_peak.c", "hill")


def test_not_rows_one_by_one(t):
    does_not(t, "short_peak.cc", "streamed")


def test_not_kept_to_the_end_in_rust(t):
    does_not(t, "short_peak.rs", "kept", from_pct=(5, 50))
