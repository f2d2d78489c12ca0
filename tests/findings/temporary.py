# SPDX-License-Identifier: MIT
"""temporary: allocated and released at once, where it is a good share of all allocations."""

from findings._shapes import hold


def draw(chance):
    return {"size": chance.log(40, 3000), "per_step": chance.log(60, 400), "churn": chance.randint(0, 60),
            "rare_in": chance.randint(3, 20), "threads": chance.randint(2, 4), "steps": chance.randint(60, 200),
            "ms": chance.randint(400, 900)}


def churns(t, program, shape, **fixed):
    def check(run):
        finding = run.remark("temporary")
        run.none("growing", "leak")
        run.equal("temporary allocations of the site", run.evidence(finding, "site_temporary"), run.truth["temporary"])

    hold(t, program, shape, draw, fixed, check)


def does_not(t, program, shape, **fixed):
    def check(run):
        run.none("temporary", "growing", "leak")

    hold(t, program, shape, draw, fixed, check)


def test_formatted_lines(t):
    churns(t, "temporary.c", "format")


def test_resized_at_once(t):
    churns(t, "temporary.c", "resized")


def test_in_threads(t):
    churns(t, "temporary.c", "threads")


def test_at_many_depths(t):
    churns(t, "temporary.c", "recursive")


def test_key_built_for_a_comparison(t):
    churns(t, "temporary.cc", "concat")


def test_vector_passed_by_value(t):
    churns(t, "temporary.cc", "copies")


def test_function_objects(t):
    churns(t, "temporary.cc", "wrapped")


def test_keys_in_rust(t):
    churns(t, "temporary.rs", "keys")


def test_collected_in_rust(t):
    churns(t, "temporary.rs", "collected")


def test_not_few(t):
    does_not(t, "temporary.c", "few", churn=(20, 80))


def test_not_a_ring(t):
    does_not(t, "temporary.c", "ring", rare_in=0)


def test_not_a_small_share(t):
    does_not(t, "temporary.c", "rare", rare_in=(50, 200))


def test_not_what_another_thread_releases(t):
    does_not(t, "temporary.c", "handed_over", per_step=(30, 70))


def test_not_strings_kept_for_a_while(t):
    does_not(t, "temporary.cc", "moved")


def test_not_a_queue_in_rust(t):
    does_not(t, "temporary.rs", "queued")
