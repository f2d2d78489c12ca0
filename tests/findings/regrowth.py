# SPDX-License-Identifier: MIT
"""regrowth: buffers made larger again and again; bytes copied, and what a right first size would save."""

from findings._shapes import hold


def draw(chance):
    return {"first": chance.log(16, 256), "last": chance.log(20_000, 400_000), "grow_bytes": chance.log(300, 2000),
            "buffers": chance.randint(4, 30), "steps": chance.randint(60, 150), "ms": chance.randint(500, 900)}


def regrows(t, program, shape, misses_first=False, **fixed):
    """misses_first: the compiler may have made two places in the code of one, and the first growth of each buffer is not seen."""
    def check(run):
        finding = run.remark("regrowth")
        run.none("growing", "leak")
        n_missed = run.truth["growths"] - run.evidence(finding, "growths")
        run.expect(0 <= n_missed <= (run.params["steps"] if misses_first else 0), f"{n_missed} of {run.truth['growths']} growths are missed")
        run.near("bytes copied", run.evidence(finding, "copied_bytes"), run.truth["copied"], 0.01 if n_missed else 0)

    hold(t, program, shape, draw, fixed, check)


def does_not(t, program, shape, **fixed):
    def check(run):
        run.none("regrowth", "growing", "leak")

    hold(t, program, shape, draw, fixed, check)


def test_creeping(t):
    regrows(t, "regrowth.c", "creeping")


def test_doubling(t):
    regrows(t, "regrowth.c", "doubling")


def test_replaced_by_hand(t):
    regrows(t, "regrowth.c", "replaced", misses_first=True)


def test_many_logs_in_turns(t):
    regrows(t, "regrowth.c", "shared", last=(20_000, 40_000), grow_bytes=(1500, 3000), steps=(100, 200))


def test_vector(t):
    regrows(t, "regrowth.cc", "vector", misses_first=True)


def test_text(t):
    regrows(t, "regrowth.cc", "text", misses_first=True)


def test_vector_in_rust(t):
    regrows(t, "regrowth.rs", "vector", misses_first=True)


def test_text_in_rust(t):
    regrows(t, "regrowth.rs", "text")


def test_exact_steps_in_rust(t):
    regrows(t, "regrowth.rs", "exact")


def test_not_right_size(t):
    does_not(t, "regrowth.c", "right_size")


def test_not_shrinking(t):
    does_not(t, "regrowth.c", "shrinking")


def test_not_seldom(t):
    does_not(t, "regrowth.c", "rare")


def test_not_blocks_of_their_own(t):
    does_not(t, "regrowth.c", "other_blocks")


def test_not_reserved(t):
    does_not(t, "regrowth.cc", "reserved")


def test_not_reused(t):
    does_not(t, "regrowth.cc", "reused")


def test_not_with_capacity_in_rust(t):
    does_not(t, "regrowth.rs", "reserved")
