# SPDX-License-Identifier: MIT
"""slack: capacity asked for and never touched, where page residency shows it."""

from findings._shapes import hold


def draw(chance):
    size = chance.log(150_000, 8_000_000)
    return {"buffer_bytes": size, "buffers": min(60, max(2, chance.log(8_000_000, 80_000_000) // size)),
            "touched_pct": chance.randint(0, 30), "ms": chance.randint(900, 1500), "hold_kb": chance.log(50, 2000),
            "churn": chance.randint(1, 30)}  # the recorder looks at pages while something happens


def is_slack(t, program, shape, **fixed):
    def check(run):
        finding = run.remark("slack")
        run.none("growing", "leak")
        run.near("bytes never touched", finding["bytes"], run.truth["untouched"], 0.10)

    hold(t, program, shape, draw, fixed, check)


def is_not(t, program, shape, **fixed):
    def check(run):
        run.none("slack", "growing", "leak")

    hold(t, program, shape, draw, fixed, check)


def test_only_the_head(t):
    is_slack(t, "slack.c", "head")


def test_here_and_there(t):
    is_slack(t, "slack.c", "sparse")


def test_in_threads(t):
    is_slack(t, "slack.c", "threads", buffers=(4, 30), buffer_bytes=(300_000, 3_000_000))


def test_zeroed_tables(t):
    is_slack(t, "slack.c", "zeroed")


def test_reserved_vectors(t):
    is_slack(t, "slack.cc", "reserved")


def test_reserved_strings(t):
    is_slack(t, "slack.cc", "text")


def test_arenas(t):
    is_slack(t, "slack.cc", "arena")


def test_capacity_in_rust(t):
    is_slack(t, "slack.rs", "capacity")


def test_zeroed_in_rust(t):
    is_slack(t, "slack.rs", "zeroed")


def test_not_touched_in_full(t):
    is_not(t, "slack.c", "full")


def test_not_touched_from_the_end(t):
    is_not(t, "slack.c", "backwards")


def test_not_small(t):
    is_not(t, "slack.c", "small", buffer_bytes=(5_000, 30_000), buffers=(50, 250))


def test_not_gone_at_once(t):
    is_not(t, "slack.c", "brief")


def test_not_a_full_vector(t):
    is_not(t, "slack.cc", "filled")


def test_not_written_in_rust(t):
    is_not(t, "slack.rs", "written")
