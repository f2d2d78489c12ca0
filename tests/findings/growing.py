# SPDX-License-Identifier: MIT
"""growing: live bytes of a site rise steadily after warm-up."""

from findings._shapes import hold

SLOPE_TOLERANCE = 0.10


AROUND_BYTES = 200_000  # of the main thread, and of each other one (shape.h)


def draw(chance, shape, sizes=(24, 6000), may_trickle=True):
    """Rising alone is what any program does that builds something: in runs as short as these the rise must be a good part of the peak, or
    one of many allocations that are all released but these (docs/findings.md)."""
    size = chance.log(*sizes)
    p = {"size": size, "warm_pct": chance.randint(0, 20), "torn_down": 0, "kept_pct": chance.randint(15, 60),
         "threads": chance.randint(2, 5), "slots": chance.randint(200, 3000), "fill_pct": chance.randint(20, 45),
         "periods": chance.randint(4, 9), "dropped_pct": chance.randint(60, 100), "first_bytes": chance.log(8_000, 200_000),
         "steps": chance.randint(100, 400)}
    if may_trickle and chance.pct(30):  # a trickle in a busy program with much else
        p.update(per_step=1, size=max(size, 100), kept_pct=chance.randint(40, 60), churn=chance.randint(300, 500), hold_kb=chance.log(500, 8000), warm_pct=0)
        return p
    p["per_step"] = max(1, chance.log(500_000, 6_000_000) // size // p["steps"])
    rise = {"clients": p["kept_pct"] / 100, "threads": p["threads"]}.get(shape, 1) * size * p["per_step"] * p["steps"] * 0.8
    p["hold_kb"] = int(chance.uniform(0.1, 1.2) * rise / 1024)
    p["others"] = chance.choice([0, 1, 2]) if rise > 6 * AROUND_BYTES else 0
    return p


def is_trickle(run):
    """So little among so much, or so much by chance, that it may be told by what is left of it, not by its rise."""
    return run.params["per_step"] == 1 and run.truth["bytes"] < AROUND_BYTES


def rises(t, program, shape, sizes=(24, 6000), by_chance=False, may_trickle=True, **fixed):
    def check(run):
        finding = run.alarm("growing", *(["leak"] if by_chance or is_trickle(run) else []))
        least, per_second = run.truth["bytes"], run.truth["per_second"]
        most = least + run.truth["beside"]
        run.expect(least <= finding["bytes"] <= most, f"{finding['bytes']:,} bytes, not {least:,} to {most:,}")
        if finding["kind"] == "leak" or (by_chance and run.truth["blocks"] < 200):  # few that come by chance have no sure slope
            return
        slope = run.evidence(finding, "bytes_per_s")
        off = SLOPE_TOLERANCE + (2.5 / run.truth["blocks"] ** 0.5 if by_chance else 0)  # how far blocks that come by chance may stray
        run.expect(per_second * (1 - off) <= slope <= per_second * most / least * (1 + off),
                   f"{slope:,.0f} bytes per second, not {per_second:,} or up to {most / least - 1:.0%} more")

    hold(t, program, shape, lambda chance: draw(chance, shape, sizes, may_trickle and not fixed.get("torn_down")), fixed, check)


def does_not(t, program, shape, **fixed):
    def check(run):
        run.none("growing", "leak")

    hold(t, program, shape, lambda chance: {**draw(chance, shape), "torn_down": chance.randint(0, 1)}, fixed, check)


def test_list(t):
    rises(t, "growing.c", "list")


def test_list_torn_down_at_exit(t):
    rises(t, "growing.c", "list", torn_down=1)


def test_connections_of_which_some_stay(t):
    rises(t, "growing.c", "clients", by_chance=True)


def test_journal_in_one_block(t):
    rises(t, "growing.c", "creeping", may_trickle=False)  # one block among many that come and go is not told (docs/findings.md)


def test_threads_that_keep(t):
    rises(t, "growing.c", "threads")


def test_sessions_in_an_unordered_map(t):
    rises(t, "growing.cc", "sessions")


def test_metrics_in_a_map(t):
    rises(t, "growing.cc", "metrics", sizes=(150, 6000))


def test_shared_pointers_in_a_cycle(t):
    rises(t, "growing.cc", "cycles")


def test_backlog_of_a_slow_reader(t):
    rises(t, "growing.cc", "backlog", sizes=(64, 6000))


def test_boxes_in_rust(t):
    rises(t, "growing.rs", "boxes")


def test_cache_without_bound_in_rust(t):
    rises(t, "growing.rs", "cache")


def test_finished_tasks_in_rust(t):
    rises(t, "growing.rs", "tasks", sizes=(720, 720))


def test_channel_in_rust(t):
    rises(t, "growing.rs", "channel", sizes=(64, 6000))


def test_not_build_then_plateau(t):
    does_not(t, "growing.c", "plateau")


def test_not_sawtooth(t):
    does_not(t, "growing.c", "sawtooth")


def test_not_queue_that_drains(t):
    does_not(t, "growing.c", "queue")


def test_not_early_growth(t):
    does_not(t, "growing.c", "early", fill_pct=(5, 20))


def test_not_table_that_doubles(t):
    does_not(t, "growing.c", "table")


def test_not_set_that_saturates(t):
    does_not(t, "growing.c", "saturating", steps=(150, 400), slots=(100, 500), per_step=(20, 40))


def test_not_cache_at_a_steady_level(t):
    does_not(t, "growing.c", "cache")
