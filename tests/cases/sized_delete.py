# SPDX-License-Identifier: MIT
"""Sized deletes that name another size are told with both sizes and the path to the block; without free stacks, and with them."""


def finding(t, *options):
    trace = t.path("t.silt")
    r = t.silt.record(trace, [t.program("new_forms"), "wrong_size"], options=options)
    assert r.code == 0, r.err
    report, why = t.silt.report(trace)
    assert report, why
    found = [f for f in report["findings"] if f["kind"] == "wrong-size"]
    assert len(found) == 1, report["findings"]
    assert report["totals"]["wrong_size_frees"] == found[0]["evidence"]["count"] == 5, report["totals"]
    return found[0]


def test_both_sides(t):
    f = finding(t)
    assert f["evidence"]["asked_bytes"] == 40 != f["evidence"]["given_bytes"], f
    assert "wrong_sizes" in f["function"] and f["site"]["stack"][0]["function"].startswith("wrong_sizes"), f
    assert "40 B" in f["text"] and "--free-stacks" in f["text"], f["text"]


def test_with_free_stacks(t):
    f = finding(t, "--free-stacks")
    assert "It was deleted in wrong_sizes" in f["text"], f["text"]
