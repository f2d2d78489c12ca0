# SPDX-License-Identifier: MIT
"""The page in one file: what it answers in a browser is what `silt report --json` prints for the same window."""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess

from harness import browser
from harness.cases import skip
from harness.massif import massif_file
from harness.process import run

METRICS = ("peak", "end", "allocated", "count", "temporary", "growth")


def page_of(t, program, *argv):
    """A recording of the program, and its page."""
    trace, page = t.path("t.silt"), t.path("t.html")
    r = t.silt.command("run", "-q", "-f", "-o", trace, program, *argv)
    assert r.code == 0, r.errors
    r = t.silt.command("html", trace, "-f", "-o", page)
    if "without the page" in r.errors:
        skip("this build has no page")
    assert r.code == 0, r.errors
    return trace, page


def data_of(page):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    data = re.search(r'<script type="text/plain" id="silt-data">([^<]*)</script>', text)
    assert data, "the page has no data"
    return json.loads(gzip.decompress(base64.b64decode(data[1]))), text


def ask_page(t, page, questions):
    """What the page's own script answers, run by Node."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    out = t.path("tools")
    r = run([os.path.join(root, "tools/web.sh"), "--out", out, "--tools"], timeout_s=300)
    assert r.code == 0, r.text + r.errors
    done = subprocess.run([shutil.which("node"), os.path.join(out, "file_answer.main.mjs"), page], input="\n".join(questions) + "\n",
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def expected(t, trace, window, *options):
    r = t.silt.command("report", trace, "--json", "--process", "all", *window, *options)
    assert r.code == 0, r.errors
    return json.loads(r.text)


def seconds(value):
    return f"{value:.9f}".rstrip("0").rstrip(".") + "s"


def test_windows(t):
    """Random windows between edges, by every metric: totals, the flame graph, the table, the tree."""
    trace, page = page_of(t, t.program("fork_tree"))
    columns = data_of(page)[0]["answers"]["columns"]
    edges = columns["edges_s"]
    windows, questions = [], []
    for _ in range(t.count(12, 200)):
        a, b = sorted(t.chance.sample(range(len(edges)), 2))
        by = t.chance.choice(METRICS)
        window = [] if a == 0 else ["--from", seconds(edges[a])]
        if b < len(edges) - 1:
            window += ["--to", seconds(edges[b])]
        query = f"from={seconds(edges[a])}&to={seconds(edges[b])}&by={by}"
        windows.append((window, by))
        questions += [f"report {query}", f"flame {query}", f"table {query}&group-by=function&rows=100000", f"shaped {query}&tree=1"]
    answers = ask_page(t, page, questions)
    for i, (window, by) in enumerate(windows):
        report, flame, table, tree = answers[4 * i:4 * i + 4]
        want = expected(t, trace, window)["totals"]
        for key in ("allocations", "frees", "bytes_allocated", "temporary_allocations", "peak_live_bytes", "end_live_bytes", "end_live_blocks"):
            assert report["totals"][key] == want[key], f"{window}: {key}: {report['totals'][key]}, not {want[key]}"
        groups = expected(t, trace, window, "--by", by, "--group-by", "function", "--top", "1000000")
        whole = sum(g["self"]["value"] for g in groups["groups"])
        assert flame["value"][0] == whole, f"{window} by {by}: the flame graph has {flame['value'][0]}, not {whole}"
        column = {"peak": "peak_bytes", "end": "end_bytes", "allocated": "allocated_bytes", "growth": "growth_bytes"}.get(by, by)
        got = sorted(value for value in table[column] if value)
        assert got == sorted(g["self"]["value"] for g in groups["groups"] if g["self"]["value"]), f"{window} by {by}: {got}"
        assert tree["nodes"][0]["total"]["value"] == whole


def test_whole_figures_are_the_reports(t):
    """Without a window the page has the report as it is printed."""
    trace, page = page_of(t, t.program("realloc_chain"))
    want = expected(t, trace, [], "--top", "20")
    have = data_of(page)[0]["answers"]["report"]
    for key in ("totals", "headline", "findings", "top", "sizes", "lifetimes"):
        assert have[key] == want[key], key


def test_one_file(t):
    """Nothing is loaded from elsewhere, nothing in it ends its own elements, and it is made anew only where silt made it."""
    trace, page = page_of(t, t.program("realloc_chain"))
    text = data_of(page)[1]
    assert not re.search(r'(src|href)="(?!data:)', text), "the page loads something"
    assert "default-src 'none'" in text
    assert text.count("</script>") == 3
    assert t.silt.command("html", trace, "-o", page).code == 0
    other = t.path("mine.html")
    with open(other, "w", encoding="ascii") as f:
        f.write("mine\n")
    r = t.silt.command("html", trace, "-o", other)
    assert r.code == 2 and "already exists" in r.errors, r.errors
    for argv, words in ((["html", trace], "-o"), (["html", t.path("none.silt"), "-o", page], "none.silt"), (["html", "-o", page], "no trace"),
                        (["html", trace, "-o", t.path("none/x.html")], "No such file"), (["html", t.path("none.silt"), "-o", t.path("none/x.html")], "none/x.html")):
        r = t.silt.command(*argv)
        assert r.code == 2 and words in r.errors and r.errors.count("\n") == 1, r.errors


def test_refusals(t):
    """What a file cannot answer it refuses, with what to do."""
    _, page = page_of(t, t.program("realloc_chain"))
    for answer in ask_page(t, page, ["flame function=x", "flame site=1", "table group-by=thread", "diff old-to=1s", "source what=nothing", "shaped blocks=1", "flame from=5x",
                                     "flame by=colour", "flame from=@nowhere"]):
        assert answer["schema"] == "silt.error/1" and answer["error"], answer


def test_cut_recording(t):
    """A trace that was cut off is shown for what it is, and its windows are answered."""
    trace, page = page_of(t, t.program("fork_tree"))
    with open(trace, "rb") as f:
        whole = f.read()
    with open(t.path("cut.silt"), "wb") as f:
        f.write(whole[:len(whole) * 6 // 10])
    assert t.silt.command("html", t.path("cut.silt"), "-f", "-o", page).code == 0
    summary, flame, other = ask_page(t, page, ["report ", "flame by=end", "table process=1"])
    assert summary["schema"] == "silt.report/1" and any("ends inside a chunk" in n or "incomplete" in n for n in summary["notes"]), summary["notes"]
    assert flame["schema"] == "silt.flame/1"
    assert other["schema"] == "silt.error/1" and other["key"] == "process", "a process was asked for, and all were told"


def test_profiles_without_blocks(t):
    """massif's, folded stacks, a dump of one moment: what they do not know is unknown, never a number, and every view draws."""
    massif, folded, dump = t.path("massif.out"), t.path("stacks.folded"), t.path("1.heap")
    with open(massif, "w", encoding="utf-8") as f:
        f.write(massif_file([(0, 100, "empty"), (10, 3000, "peak", "0x10: hold (a.c:1)"), (20, 500, "empty")], "./prog"))
    with open(folded, "w", encoding="utf-8") as f:
        f.write("main;work;hot 900\nmain;idle 100\n")
    with open(dump, "w", encoding="utf-8") as f:
        f.write("heap_v2/1\n  t*: 2: 2000 [0: 0]\n@ 0x10 0x20\n  t*: 2: 2000 [0: 0]\n\nMAPPED_LIBRARIES:\n")
    for path, unit, metrics in ((massif, "bytes", ["peak", "end", "growth"]), (folded, "unknown", ["peak"]), (dump, "bytes", ["end"])):
        page = path + ".html"
        r = t.silt.command("html", path, "-f", "-o", page)
        if "without the page" in r.errors:
            skip("this build has no page")
        assert r.code == 0, r.errors
        trace, table, flame, line = ask_page(t, page, ["trace ", "table group-by=function", "flame reverse=1", "timeline "])
        assert (trace["unit"], trace["metrics"]) == (unit, metrics), trace
        assert table["count"] is None and table["allocated_bytes"] is None and table["temporary"] is None, table
        assert (table["peak_blocks"] is None) and (table["end_blocks"] is None) == (path != dump), table
        assert table["metric"] == metrics[0] and max(table[f"{metrics[0]}_bytes"]) == {massif: 3000, folded: 900, dump: 2000}[path], table
        assert all(n is None for n in flame["beside"]) == (path != dump), flame
        assert line["allocations_per_s"] is None and line["allocated_bytes_per_s"] is None, line
        if not browser.find():
            continue
        with browser.Browser(t.path("state")) as b:
            for n, view in enumerate(("overview", "flame", "tree", "sites", "source", "blocks", "threads", "compare", "holders", "memory", "tasks", "query")):
                b.open(f"{page}?{n}#{view}")
                text = b.until("document.querySelector('main.view')?.innerText")
                assert not b.problems() and "NaN" not in text, (view, text, b.problems())
            b.open(f"{page}?all#sites")
            words = {massif: "requested all of the 2.9 KiB", folded: r"hot has 900 units of the 1,000 units measured \(90 %\)", dump: "all of the 2.0 KiB still allocated"}[path]
            b.until(f"/{words}/.test(document.body.innerText)")


def write_perf_script(t, path):
    """Samples of two threads, some of them waits, at random call paths: 200 of a millisecond or so each."""
    at_s = 100.0
    with open(path, "w", encoding="utf-8") as f:
        for _ in range(200):
            at_s += t.chance.uniform(0.0005, 0.02)
            event = t.chance.choice(("cpu-clock", "cpu-clock", "offcpu-time"))
            period = 1000000 if event == "cpu-clock" else t.chance.randint(1000, 400000)
            f.write(f"app 7/{t.chance.choice((7, 8))} [000] {at_s:.6f}: {period} {event}:\n")
            for n in t.chance.sample(range(6), t.chance.randint(1, 4)):
                f.write(f"\t{0x1000 + 64 * n + t.chance.randint(0, 9):16x} step_{n}+0x{t.chance.randint(0, 9):x} (/opt/app{n % 2})\n")
            f.write("\t            2000 main+0x8 (/opt/app0)\n\n")


def same_time(t, trace, page, by, window, query):
    """One window by one metric: what the file answers is what the report prints."""
    flame, table, sites, tree, summary = ask_page(t, page, [f"flame {query}&by={by}", f"table {query}&by={by}&group-by=function&rows=100000", f"table {query}&by={by}&rows=100000",
                                                            f"shaped {query}&by={by}&tree=1", f"report {query}"])
    groups = expected(t, trace, window, "--by", by, "--group-by", "function", "--top", "1000000")["groups"]
    whole = sum(g["self"]["value"] for g in groups)
    assert flame["value"][0] == whole and tree["nodes"][0]["total"]["value"] == whole and table["whole"] == whole, (by, window, whole, flame["value"][0])
    for column, part in ((f"{by}_ns", "self"), (f"total_{by}_ns", "total")):
        assert sorted(n for n in table[column] if n) == sorted(g[part]["value"] for g in groups if g[part]["value"]), (by, window, column)
    paths = expected(t, trace, window, "--by", by, "--group-by", "site", "--top", "1000000")["groups"]
    assert sorted(n for n in sites[f"{by}_ns"] if n) == sorted(g["self"]["value"] for g in paths if g["self"]["value"]), (by, window)
    assert "NaN" not in summary["headline"] and "live" not in summary["headline"], summary["headline"]
    return flame, table, groups


def test_time_alone(t):
    """A recording of time has a page too: every window and both metrics are the report's, and nothing is said about memory."""
    script, trace, page = t.path("t.txt"), t.path("t.silt"), t.path("t.html")
    write_perf_script(t, script)
    assert t.silt.command("import", script, "-f", "-o", trace).code == 0
    for command in (("html", trace, "-f", "-o", page), ("flame", trace, "-f", "-o", page)):
        r = t.silt.command(*command)
        if "without the page" in r.errors:
            skip("this build has no page")
        assert r.code == 0, r.errors
    columns = data_of(page)[0]["answers"]["columns"]
    edges = columns["edges_s"]
    for n in range(t.count(2, 100)):
        a, b = (0, len(edges) - 1) if n == 0 else sorted(t.chance.sample(range(len(edges)), 2))
        window = ([] if a == 0 else ["--from", seconds(edges[a])]) + ([] if b == len(edges) - 1 else ["--to", seconds(edges[b])])
        for by in ("cpu", "blocked"):
            _, table, groups = same_time(t, trace, page, by, window, f"from={seconds(edges[a])}&to={seconds(edges[b])}")
            if by == "cpu":
                errors = sorted(g["self"].get("standard_error", 0) for g in groups if g["self"]["value"])
                have = sorted(error for error, value in zip(table["error"], table["cpu_ns"]) if value)
                assert all(abs(a - b) <= 1 + b / 1000 for a, b in zip(have, errors, strict=True)), (have, errors)
    info, line, detail, early = ask_page(t, page, ["trace ", "timeline ", "detail function=main", "table "])
    assert info["metrics"] == ["cpu", "blocked"] and info["time"]["is_all"] and not any("This file" in text for text in info["limits"]), info
    assert line["threads_on_cpu"] and max(line["threads_on_cpu"]) > 0
    assert detail["metric"] == early["metric"] == "cpu" and detail["both"]["cpu_s"] == detail["both"]["all_cpu_s"] > 0, detail
    assert "of CPU time (100 %)." in detail["sentence"] and detail["stack"][-1]["function"] == "main", detail
    assert early["peak_bytes"] is None and early["count"] is None and table["peak_bytes"] is None and table["total_count"] is None, early
