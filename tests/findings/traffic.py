# SPDX-License-Identifier: MIT
"""Traffic in every rhythm: where requests leave a record that nobody releases, that is told and no check of growth passes; where records
are kept in a cache with a bound, nothing is told. Made-up services of this kind, by the thousand: src/diff/traffic_test.c."""

from findings._shapes import hold

RHYTHMS = ("chance", "bursts", "days", "stall", "stop")


def draw(chance, is_leaky):
    return {"ms": chance.randint(2500, 4500), "requests": chance.randint(600, 4000), "size": chance.log(200, 3000), "is_leaky": is_leaky,
            "kept_pct": chance.choice([100, chance.randint(20, 100)]), "hold_kb": chance.log(10, 60), "others": 0, "steps": 100}


def traffic(t, rhythm, is_leaky):
    def check(run):
        r = t.silt.command("check", t.path(f"{rhythm}.{run.seed}.silt"), "--max-growth", "1%/min")
        if is_leaky:
            run.alarm("growing", "leak")
            run.expect(r.code == 1 and "make_record" in r.text, f"the check ends with {r.code}: {r.text}")
        else:
            run.none("growing", "leak")
            run.expect(r.code == 0, f"the check ends with {r.code}: {r.text}")

    hold(t, "traffic.c", rhythm, lambda chance: draw(chance, is_leaky), {}, check)


def test_records_that_stay(t):
    for rhythm in RHYTHMS:
        traffic(t, rhythm, 1)


def test_not_records_in_a_cache(t):
    for rhythm in RHYTHMS:
        traffic(t, rhythm, 0)
