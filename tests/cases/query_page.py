# SPDX-License-Identifier: MIT
"""Query on the page: what a statement answers there is what the command line says; rows lead to their views; a file says that it cannot ask."""

import json

from harness.page import View, browse
from harness.units import size_text

SITES = "SELECT function, end_bytes, peak_bytes, stack FROM sites ORDER BY end_bytes DESC, stack LIMIT 5"
LINES = "SELECT begin_ns, live_bytes FROM timeline(20)"


def told(t, *words):
    r = t.silt.command(*words, "--json")
    assert r.code == 0, r.errors
    return json.loads(r.text)


def test_page(t):
    """Typed with completion, run by the keyboard, followed to the call path, drawn, refused, stopped, with parameters, narrow."""
    trace = t.path("containers.silt")
    assert t.silt.record(trace, [t.program("containers")]).code == 0
    rows_told = told(t, "sql", trace, SITES)["rows"]
    whole = told(t, "report", trace, "--process", "all", "--group-by", "site", "--by", "end")["totals"]
    with View(t, trace) as view:
        saw, said = browse(t, "query", view.url, may_err=True, lines=LINES)
    assert all("status of 400" in error for error in said["errors"]), said["errors"]
    first = saw["first"]
    assert first["statement"] == SITES and first["address"] == SITES, first
    assert "sites" in first["tables"] and "allocations" in first["tables"], first["tables"]
    head, *rows = first["rows"]
    assert head == ["function", "end_bytes", "peak_bytes", "stack"], head
    assert rows == [[str(value) for value in row] for row in rows_told], (rows, rows_told)
    assert len(rows) == 5 and sum(int(row[1]) for row in rows) == whole["end_live_bytes"], (rows, whole)
    assert first["first"][1] == size_text(int(rows[0][1])), first["first"]
    found = saw["led"]["found"]
    functions = {row[0] for row in rows if row[0]}  # code without a name leads nowhere
    assert functions and all(any(link.startswith("#sites?") and f"function=^{name}" in link for link in found) for name in functions), found
    assert any(f"pick=site:{rows[0][3]}" in link for link in found), found
    assert saw["led"]["detail"]["keys"]["pick"] == f"site:{rows[0][3]}" and saw["led"]["detail"]["sentence"], saw["led"]
    bars = saw["drawn"]["bars"]
    assert len(bars) == len(rows) and [bar[1] for bar in bars] == [size_text(int(row[1])) for row in rows], bars
    assert saw["drawn"]["legend"][1].startswith("live_bytes "), saw["drawn"]["legend"]
    assert "end_byte: did you mean 'end_bytes'?" in saw["trouble"]["wrong"] and "\n" not in saw["trouble"]["wrong"], saw["trouble"]
    assert saw["trouble"]["after"] == [["sum"], ["42"]], saw["trouble"]
    assert saw["given"]["rows"] == [["a", "b", "c"], ["1000000", "2000000", "5s"]] and saw["given"]["keys"]["p-word"] == "5s", saw["given"]
    assert saw["wide"] <= 0, f"{saw['wide']} px wider than the window"


def test_file(t):
    trace = t.path("basic.silt")
    assert t.silt.record(trace, [t.program("basic")]).code == 0
    r = t.silt.command("html", trace, "-o", t.path("t.html"))
    assert r.code == 0, r.errors
    saw, _ = browse(t, "query", "file://" + t.path("t.html"), isFile=True, offline=True)
    assert "silt view FILE" in saw["text"], saw


def test_doubts(t):
    """A recording of samples says above the table that figures are estimates."""
    trace = t.path("sampled.silt")
    r = t.silt.command("run", "-q", "--sample", "4K", "-o", trace, "--", t.program("containers"))
    assert r.code == 0, r.errors
    with View(t, trace) as view:
        saw, _ = browse(t, "query", view.url, sql="SELECT sum(end_bytes) FROM sites")
    assert any("samples" in text for text in saw["notices"]), saw


def test_two(t):
    """The second trace is `other`; its numbers lead nowhere."""
    old, new = t.path("old.silt"), t.path("new.silt")
    for trace in (old, new):
        assert t.silt.record(trace, [t.program("basic")]).code == 0
    with View(t, old, new) as view:
        saw, _ = browse(t, "query", view.url.split("#", maxsplit=1)[0], sql="SELECT (SELECT count(*) FROM sites) - (SELECT count(*) FROM other.sites) AS more")
    assert saw["rows"] == [["more"], ["0"]], saw
