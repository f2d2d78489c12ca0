# SPDX-License-Identifier: MIT
"""leak: left at the end, and neither start-up memory nor a steady cache; left-at-end: what is one of these.

What is lost all along the way also rises: growing is as true as leak there, and the figures must be right either way."""

from findings._shapes import hold


def draw(chance):
    return {"size": chance.log(100, 3000), "steps": chance.randint(120, 400), "per_step": chance.randint(4, 12),
            "one_in": chance.randint(4, 20),
            "slots": chance.randint(100, 2000), "storm_pct": chance.randint(40, 65), "storm_length_pct": chance.randint(5, 20)}


def reserve(run):
    """What the C++ library keeps for exceptions: in no finding."""
    sites = next(top["sites"] for top in run.report["top"] if top["metric"] == "end")
    return sum(s["bytes"] for s in sites if s["blocks"] == 1 and 60000 <= s["bytes"] <= 90000
               and s["stack"] and "libstdc++.so" in s["stack"][0]["module"])


def loses(t, program, shape, kinds=("leak", "growing"), **fixed):
    def check(run):
        finding = run.alarm(*kinds)
        run.equal("bytes", finding["bytes"], run.truth["bytes"])

    hold(t, program, shape, draw, fixed, check)


def does_not(t, program, shape, **fixed):
    def check(run):
        run.none("growing", "leak")
        told = sum(f["bytes"] for f in run.of_kind("left-at-end"))
        left = run.totals["end_live_bytes"] - reserve(run)
        if left >= 16 << 10:
            run.equal("bytes left at the end", told, left)

    hold(t, program, shape, draw, fixed, check)


def test_error_path_of_a_request(t):
    loses(t, "leak.c", "request")


def test_settings_read_anew(t):
    loses(t, "leak.c", "reload", one_in=(3, 8))


def test_state_of_threads(t):
    loses(t, "leak.c", "thread", one_in=(2, 6))


def test_storm_of_lost_buffers(t):
    loses(t, "leak.c", "storm", kinds=("leak",))


def test_exception_past_a_new(t):
    loses(t, "leak.cc", "throwing")


def test_member_set_to_null(t):
    loses(t, "leak.cc", "reset")


def test_map_of_pointers_overwritten(t):
    loses(t, "leak.cc", "replaced")


def test_rc_cycle_in_rust(t):
    loses(t, "leak.rs", "cycles")


def test_leaked_name_in_rust(t):
    loses(t, "leak.rs", "leaked")


def test_raw_pointer_in_rust(t):
    loses(t, "leak.rs", "raw")


def test_not_tables_of_start_up(t):
    does_not(t, "leak.c", "tables")


def test_not_cache_that_replaces(t):
    does_not(t, "leak.c", "cache")


def test_not_pool_with_a_free_list(t):
    does_not(t, "leak.c", "pool")


def test_not_what_is_given_back_at_exit(t):
    does_not(t, "leak.c", "given_back")


def test_not_orderly_requests(t):
    does_not(t, "leak.c", "orderly")


def test_not_smart_pointers(t):
    does_not(t, "leak.cc", "smart")


def test_not_singletons(t):
    does_not(t, "leak.cc", "singletons")


def test_not_weak_pointers_in_rust(t):
    does_not(t, "leak.rs", "weak")


def test_not_names_interned_at_the_start_in_rust(t):
    does_not(t, "leak.rs", "interned")
