# SPDX-License-Identifier: MIT
"""large-site: large equal blocks repeated from one place."""

from findings._shapes import hold


def draw(chance):
    unit = chance.log(20_000, 600_000)
    units = max(8, chance.log(4_000_000, 60_000_000) // unit)
    return {"unit_bytes": unit, "units": units, "up_pct": chance.randint(3, 40),
            "hold_kb": int(unit * units / 1024 * chance.uniform(0.05, 0.8)), "ms": chance.randint(500, 1100)}


def is_large(t, program, shape, comes_and_goes=False, **fixed):
    def check(run):
        finding = run.alarm("large-site")
        run.none("growing", "leak")
        run.equal("bytes of a block", run.evidence(finding, "unit_bytes"), run.truth["unit_bytes"])
        n_blocks = run.evidence(finding, "peak_blocks")
        if comes_and_goes:  # the peak of all may be at another moment than that of the blocks alone
            run.expect(run.truth["alive"] * 0.95 - 2 <= n_blocks <= run.truth["alive"], f"{n_blocks} blocks, not {run.truth['alive']}")
        else:
            run.equal("blocks at the peak", n_blocks, run.truth["alive"])
        run.equal("bytes", finding["bytes"], n_blocks * run.truth["unit_bytes"])

    hold(t, program, shape, draw, fixed, check)


def is_not(t, program, shape, **fixed):
    def check(run):
        run.none("large-site", "growing", "leak")

    hold(t, program, shape, draw, fixed, check)


def test_clients(t):
    is_large(t, "large_site.c", "clients", comes_and_goes=True)


def test_tiles(t):
    is_large(t, "large_site.c", "tiles", comes_and_goes=True)


def test_one_in_every_thread(t):
    is_large(t, "large_site.c", "workers", units=(8, 40), unit_bytes=(200_000, 900_000), hold_kb=(100, 1200))


def test_state_in_a_class(t):
    is_large(t, "large_site.cc", "state", units=(15, 120), hold_kb=(200, 4000))


def test_buffer_in_every_request(t):
    is_large(t, "large_site.cc", "buffers")


def test_state_in_rust(t):
    is_large(t, "large_site.rs", "state")


def test_boxed_array_in_rust(t):
    is_large(t, "large_site.rs", "boxed", units=(40, 200), hold_kb=(200, 3000))


def test_not_one_block(t):
    is_not(t, "large_site.c", "one", units=1, unit_bytes=(2_000_000, 40_000_000))


def test_not_blocks_of_all_sizes(t):
    is_not(t, "large_site.c", "varied")


def test_not_many_tiny_ones(t):
    is_not(t, "large_site.c", "tiny", unit_bytes=(16, 200), units=(20_000, 60_000), hold_kb=(50, 500))


def test_not_a_small_share(t):
    is_not(t, "large_site.c", "small_share", unit_bytes=(20_000, 100_000), units=(8, 20), hold_kb=(40_000, 60_000))


def test_not_texts_of_all_lengths(t):
    is_not(t, "large_site.cc", "texts")


def test_not_states_as_large_as_needed_in_rust(t):
    is_not(t, "large_site.rs", "grown")
