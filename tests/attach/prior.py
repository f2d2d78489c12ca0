# SPDX-License-Identifier: MIT
"""What a process had before silt came: the report says since when it sees, and how much the C library's arenas held by then."""

import time

from attach._target import PATIENCE_S, Attached, Target, build, record
from harness.process import give_up


class Known(Target):
    """prior.c, which says what it has."""

    def __init__(self, t, *args, **popen):
        super().__init__(t, [build(t, "prior.c"), *(str(a) for a in args)], says_ready=False, **popen)
        words = self.process.stdout.readline().split()
        assert words[:1] == [b"ready"], words
        self.live_bytes, self.n_live, self.mapped_bytes, self.freed_bytes = (int(w) for w in words[2:6])


def prior(t, target, tries=20):
    """A machine that is busy may not have the time for all free chunks: another recording tells."""
    for _ in range(tries):
        record(t, target.pid)
        report, why = t.silt.report(t.path("t.silt"))
        assert report, why
        found = report["prior"]
        if found["allocators"] and found["allocators"][0].get("free_is_whole"):
            break
    return found


def near(found, wanted, share):
    assert abs(found - wanted) <= share * wanted, f"{found}, wanted {wanted}"


def text_of(t):
    return " ".join(t.silt.command("report", t.path("t.silt")).text.split())


def test_known(t):
    """One arena and four, with holes and without, and blocks that are mappings."""
    for n_threads, n_blocks, holes in ((0, 20000, 0), (3, 4000, 2), (3, 4000, 3)):
        with Known(t, n_threads, n_blocks, holes) as target:
            began = time.monotonic()
            time.sleep(0.2)
            found = prior(t, target)
            assert 0.2 <= found["age_s"] <= time.monotonic() - began + 60, found
            assert found["anon_bytes"] > 0.9 * target.live_bytes, found
            libc, = found["allocators"]
            assert libc["name"] == "glibc" and libc["arenas"] == n_threads + 1, libc
            assert libc["used_bytes"] + libc["free_bytes"] == libc["held_bytes"] and libc["free_is_whole"], libc
            # what threads keep for themselves counts as in use: at most 7 blocks of each size up to 1 KiB
            assert target.live_bytes <= libc["used_bytes"] <= 1.03 * target.live_bytes + (n_threads + 1) * 260000, libc
            assert libc["free_bytes"] >= 0.9 * target.freed_bytes - (n_threads + 1) * 260000, libc
            assert libc["mapped_blocks"] == 2 and libc["mapped_bytes"] == target.mapped_bytes, libc
            said = text_of(t)
            assert "after the program, when it had" in said and "blocks allocated earlier are not seen" in said, said
            assert f"glibc's {'arena' if not n_threads else '4 arenas'} held" in said and "about" in said and "in use" in said, said


def test_it_is_no_gap(t):
    """What was there before is told as such, and not as memory that silt should have seen."""
    with Known(t, 0, 40000, 0) as target:
        assert target.live_bytes > 32 << 20, target.live_bytes
        prior(t, target)
        report, why = t.silt.report(t.path("t.silt"))
        assert report and not report["limits"], why or report["limits"]
        assert "did not see" not in text_of(t), text_of(t)


def test_not_recognised(t):
    """Something was written over the arenas: nothing is told of what is in doubt."""
    for how in ("ring", "bins"):
        with Known(t, 1, 1000, 2, how) as target:
            record(t, target.pid)
            report, why = t.silt.report(t.path("t.silt"))
            assert report, why
            found = report["prior"]
            assert found["anon_bytes"] > 0 and found["age_s"] > 0 and found["allocators"] == [], found
            said = text_of(t)
            assert "after the program, when it had" in said and "glibc" not in said, said


def test_from_the_start(t):
    """Nothing was there before."""
    r = t.silt.record(t.path("t.silt"), ["/bin/true"])
    assert r.code == 0, r.text
    report, why = t.silt.report(t.path("t.silt"))
    assert report, why
    assert report["prior"] is None, report["prior"]
    assert "Recording started" not in text_of(t)


def test_busy(t):
    """Arenas that change all the while."""
    with Target(t, [build(t, "busy.c"), "8"]) as target:
        for _ in range(t.count(2, 200)):
            silt = Attached(t, target.pid, options=["--duration", "20ms"])
            assert silt.end(None) == 0, silt.said
            report, why = t.silt.report(silt.trace)
            assert report, why
            for one in report["prior"]["allocators"]:
                assert 0 < one["free_bytes"] <= one["held_bytes"] < 1 << 30, one


def test_first_figures(t):
    """Whoever reads a recording that has just begun is told as well: its figures are never all that the process has."""
    with Target(t, [build(t, "busy.c"), "8"]) as target:
        for i in range(t.count(5, 200)):
            silt = Attached(t, target.pid, t.path(f"{i}.silt"))
            end = time.monotonic() + PATIENCE_S
            report = None
            while not report or not report["totals"]["allocations"]:
                give_up(end, "no figures came")
                report, _ = t.silt.report(silt.trace)
            silt.end()
            assert report["prior"], report["headline"]
