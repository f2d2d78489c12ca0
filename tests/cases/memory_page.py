# SPDX-License-Identifier: MIT
"""Memory on the page: the sentence and the parts are those of the command line, at each moment and in a file."""

import json

from harness.page import View, browse
from harness.units import size_text


def bill_of(t, trace, *words):
    told = t.silt.command("bill", trace, *words, "--json")
    assert told.code == 0, told.errors
    return json.loads(told.text)


def expect_same(rows, bill):
    told = {row[0]: row[1] for row in rows}
    expected = {p["text"]: size_text(p["bytes"]) for p in bill["parts"] if p["bytes"] > 0}
    assert {name: told.get(name) for name in expected} == expected, (told, expected)


def test_page(t):
    program = t.context.helpers.build("fragmented", ["fragmented.c"])
    trace = t.path("fragmented.silt")
    assert t.silt.record(trace, [program]).code == 0
    bill = bill_of(t, trace)
    with View(t, trace) as view:
        saw, _ = browse(t, "memory", view.url)
    assert saw["sentence"].startswith(bill["text"].split(";")[0]), saw["sentence"]
    assert saw["when"].startswith(f"{size_text(bill['resident_bytes'])} resident at ") and "when most was resident" in saw["when"], saw["when"]
    assert saw["legend"].endswith(size_text(bill["resident_bytes"])), saw["legend"]
    assert saw["colours"] >= 2, saw["colours"]
    expect_same(saw["parts"], bill)
    assert "at=" in saw["begin"]["address"] and "when most" not in saw["begin"]["when"], saw["begin"]
    expect_same(saw["begin"]["parts"], bill_of(t, trace, "--at", "0s"))
    assert saw["wide"] <= 0, f"{saw['wide']} px wider than the window"
    r = t.silt.command("html", trace, "-o", t.path("t.html"))
    assert r.code == 0, r.errors
    saw, _ = browse(t, "memory", "file://" + t.path("t.html"), isFile=True, offline=True)
    assert saw["when"].endswith("(the one moment of this file)") and saw["colours"] >= 2, saw
    expect_same(saw["parts"], bill)


def test_without_bills(t):
    """A profile of another tool says nothing of resident memory: one line tells so."""
    with open(t.path("a.heap"), "w", encoding="utf-8") as f:
        f.write("heap profile: 3: 4096 [ 3: 4096] @ heapprofile\n 3: 4096 [ 3: 4096] @ 0x401000 0x402000\n\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /bin/x\n")
    r = t.silt.command("import", t.path("a.heap"), "-o", t.path("a.silt"))
    assert r.code == 0, r.errors
    r = t.silt.command("html", t.path("a.silt"), "-o", t.path("a.html"))
    assert r.code == 0, r.errors
    saw, _ = browse(t, "memory", "file://" + t.path("a.html"), isEmpty=True, offline=True)
    assert "What was imported does not say what resident memory was made of" in saw["text"], saw
