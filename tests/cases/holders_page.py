# SPDX-License-Identifier: MIT
"""Holders on the page: the sentence, boxes, tree, neighbours and ways are those of the command line."""

from harness.page import View, browse
from harness.units import size_text

from cases.holders import NODE, PAYLOAD, Program, holders

LIST = 1000 + 2000  # what the program begins with, and grows by


def test_page(t):
    with Program(t) as p:
        p.grow(LIST - 1000)
        p.take_graph()
    answer = holders(t)
    nodes = next(g for g in answer["holders"] if "make_node" in g["label"])
    payloads = next(g for g in answer["holders"] if "make_payload" in g["label"])
    assert (nodes["blocks"], payloads["blocks"]) == (LIST, LIST), (nodes, payloads)
    with View(t, t.path("t.silt")) as view:
        saw, _ = browse(t, "holders", view.url, row="make_node", why="make_payload")
    assert saw["sentence"] == answer["sentence"], saw["sentence"]
    assert any("make_node" in box for box in saw["boxes"]) and any("make_payload" in box for box in saw["boxes"]), saw["boxes"]
    rows = {row[0]: row[1:] for row in saw["rows"]}
    assert rows["static list"][:2] == [size_text((NODE + PAYLOAD) * LIST), f"{2 * LIST:,}"], rows
    assert rows[nodes["label"]][:2] == [size_text((NODE + PAYLOAD) * LIST), f"{LIST:,}"], rows
    told = saw["neighbours"]
    assert told["sentence"].startswith(f"{LIST:,} blocks of make_node") and "by static list, and by each other" in told["sentence"], told
    held_by, holds = told["tables"]
    assert [row[0] for row in held_by[1:]] == ["static list"], held_by
    assert holds[1:] == [[payloads["label"], f"{LIST:,}", f"{LIST:,}", size_text(PAYLOAD * LIST)]], holds
    assert saw["isClosed"] and saw["byBox"] == told["sentence"], saw["byBox"]
    assert saw["why"]["sentence"].startswith(f"make_payload allocated {LIST:,} blocks, {size_text(PAYLOAD * LIST)}"), saw["why"]
    assert [row[0] for row in saw["why"]["rows"]][:2] == ["static list", nodes["label"]], saw["why"]["rows"]
    assert saw["wide"] <= 0, f"{saw['wide']} px wider than the window"


def test_file(t):
    """A page in a file has no graph: it says where there is one, and how to take one where there is none."""
    with Program(t) as p:
        p.take_graph()
    r = t.silt.command("html", t.path("t.silt"), "-o", t.path("t.html"))
    assert r.code == 0, r.errors
    saw, _ = browse(t, "holders", "file://" + t.path("t.html"), isFile=True, offline=True)
    assert "Who holds what is not in this file: start silt view FILE to see it." in saw["text"], saw
    r = t.silt.record(t.path("plain.silt"), ["true"])
    assert r.code == 0, r.errors
    r = t.silt.command("html", t.path("plain.silt"), "-o", t.path("plain.html"))
    assert r.code == 0, r.errors
    saw, _ = browse(t, "holders", "file://" + t.path("plain.html"), isFile=True, offline=True)
    assert "silt run --leaks" in saw["text"] and "silt snapshot PID --graph" in saw["text"], saw
