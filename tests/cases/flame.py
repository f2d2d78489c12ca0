# SPDX-License-Identifier: MIT
"""`silt flame`: its figures are those of the report, the picture is one without a script, and moves with one."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

from harness import browser
from harness.process import in_time, run
from harness.units import FACTORS, size_text

METRICS = {"peak": "peak_live_bytes", "end": "end_live_bytes", "allocated": "bytes_allocated", "count": "allocations",
           "temporary": "temporary_allocations"}
SVG = "{http://www.w3.org/2000/svg}"
REST = 4


def record(t, name, trace="t.silt", argv=()):
    program = name if "/" in name else t.program(name)
    r = t.silt.record(t.path(trace), [program, *argv], ["-f"])
    assert r.code == 0, r.errors


def flame(t, *options, out="t.svg", traces=("t.silt",)):
    r = t.silt.command("flame", *[t.path(x) for x in traces], "-f", "-o", t.path(out), *options)
    assert r.code == 0 and r.stdout == b"" and len(r.errors.splitlines()) == 1, r.errors
    with open(t.path(out), encoding="utf-8") as f:
        return f.read()


def data_of(text):
    """What the script draws from."""
    return json.loads(re.search(r"const silt_flame = (\{.*?\n?\]\});\n", text, re.S)[1])


def check_sums(p, where):
    """Children lie inside their parents, in a row; nothing is lost."""
    first = 1
    for i, n in enumerate(p["children"]):
        inside = sum(p.get("width", p["value"])[first:first + n])
        assert inside <= p.get("width", p["value"])[i], f"{where}: frame {i}: {inside} in {p['value'][i]}"
        first += n
    assert first == len(p["value"]), where
    n = p["children"][0]
    assert sum(p["value"][1:1 + n]) == p["value"][0], where


def begins_of(p):
    """Where frames begin, in units of the metric."""
    begins, first = [0] * len(p["value"]), 1
    for i, n in enumerate(p["children"]):
        at = begins[i]
        for k in range(first, first + n):
            begins[k] = at
            at += p["value"][k]
        first += n
    return set(begins)


def test_figures(t):
    for program in ("basic", "containers", "fork_tree", "realloc_chain"):
        record(t, program)
        for metric, total in METRICS.items():
            for options in ([], ["--reverse"], ["--full"], ["--process", "main"]):
                who = "main" if "main" in options else "all"
                if metric == "peak" and who == "all" and program == "fork_tree":
                    continue  # a recorder learns late that a process has ended
                report, why = t.silt.report(t.path("t.silt"), "--process", who)
                assert report, why
                p = data_of(flame(t, "--by", metric, *options))["pictures"][0]
                where = f"{program} {metric} {options}"
                assert p["value"][0] == report["totals"][total], f"{where}: {p['value'][0]}, not {report['totals'][total]}"
                check_sums(p, where)


def test_picture(t):
    """Without the script: well-formed, boxes as wide as their bytes and inside of what is above them, names that fit."""
    record(t, "containers")
    for width in (300, 600, 1200, 3000):
        text = flame(t, "--width", str(width), "--by", "allocated")
        root = ElementTree.fromstring(text)
        p = data_of(text)["pictures"][0]
        assert root.get("width") == str(width)
        scale = (width - 20) / p["value"][0]
        rows, begins = {}, begins_of(p)
        for g in root.find(f".//{SVG}g[@id='frames']"):
            box, label = g.find(SVG + "rect"), g.find(SVG + "text")
            x, y, w = (float(box.get(k)) for k in ("x", "y", "width"))
            rows.setdefault(y, []).append((x, w))
            assert x >= 10 and x + w <= width - 9, f"{width}: {x} {w}"
            assert any(abs(10 + begin * scale - x) < 0.1 for begin in begins), f"{width}: no frame begins at {x}"
            if label is not None:
                assert len(label.text) * 6.6 <= w, f"{width}: '{label.text}' in {w}"
            figure = re.search(r"([\d.]+) (B|KiB|MiB) in", g.find(SVG + "title").text)
            size = float(figure[1]) * FACTORS[figure[2]]
            assert abs(w + 0.8 - size * scale) < 0.8 + 0.06 * size * scale, f"{width}: {w} for {size} bytes"
        ys = sorted(rows)
        for above, y in zip(ys, ys[1:]):
            for x, w in rows[y]:
                assert any(x >= ax - 0.2 and x + w <= ax + aw + 1 for ax, aw in rows[above]), f"{width}: a box at {x},{y} hangs in the air"
        assert not re.search(r"https?://(?!www\.w3\.org/(2000/svg|1999/xhtml))", text)
    page = flame(t, out="t.html")
    assert not re.search(r"https?://(?!www\.w3\.org/(2000/svg|1999/xhtml))", page)


def test_sentence(t):
    record(t, "containers")
    report = t.silt.report(t.path("t.silt"))[0]
    text = flame(t)
    title = data_of(text)["pictures"][0]["title"]
    assert re.fullmatch(r"[\d.]+ (B|[KM]iB) live at the peak \([\d.]+ m?s\) of containers: \d+ % (under|in) .+", title), title
    assert f"<title>all\n" in text and title.startswith(size_text(report["totals"]["peak_live_bytes"]))
    assert data_of(flame(t, "--at", "1ms"))["pictures"][0]["subtitle"].endswith("Up to 1 ms.")
    filtered = data_of(flame(t, "--size", "10..5000", "--by", "count", "--title", "Mine"))["pictures"][0]
    assert filtered["title"] == "Mine" and "Only blocks with size 10..5000" in filtered["subtitle"], filtered
    assert " allocations by containers" in filtered["subtitle"]


def test_difference(t):
    """Two traces: both figures, and what has the same name is the same."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, "old.silt", ["300"])
    record(t, many, "new.silt", ["400"])
    old, new = (t.silt.report(t.path(x))[0]["totals"]["end_live_bytes"] for x in ("old.silt", "new.silt"))
    p = data_of(flame(t, "--by", "end", traces=("old.silt", "new.silt")))["pictures"][0]
    assert (p["was"][0], p["value"][0]) == (old, new)
    assert f"{size_text(old)} → {size_text(new)}" in p["title"] and "(+" in p["title"], p["title"]
    assert all(was <= now for was, now in zip(p["was"], p["value"])), "only the newer has more"
    assert all(w >= max(was, now) for w, was, now in zip(p["width"], p["was"], p["value"]))
    check_sums(p, "difference")
    same = data_of(flame(t, "--by", "end", traces=("old.silt", "old.silt")))["pictures"][0]
    assert same["was"] == same["value"] and "unchanged" in same["title"], same["title"]
    assert all(c // 3 in (35, 46) for c in same["colour"])


def test_files(t):
    record(t, "basic")
    folder = t.path("work")
    os.mkdir(folder)
    run_here = lambda *argv: t.silt.command("flame", *argv, cwd=folder)
    r = run_here(t.path("t.silt"))
    assert r.code == 0 and os.listdir(folder) == ["t.svg"] and "t.svg (" in r.errors, r.errors
    first = open(os.path.join(folder, "t.svg"), "rb").read()
    check_overwriting(t, run_here, folder)
    r = run_here(t.path("t.silt"), "-o", "-")
    assert r.code == 0 and r.stderr == b""
    assert first == r.stdout == open(os.path.join(folder, "t.svg"), "rb").read(), "not the same picture"
    for options in (["-o", "t.png"], ["-o", "no/such/folder.svg"], ["--by", "colour"], ["--width", "10"], ["--min-share", "-1"],
                    ["--from", "100h"], ["--at", "1s", "--to", "2s"], ["--from", "2s", "--to", "1s"], ["--process", "1"],
                    ["--function", "("], [t.path("t.silt"), t.path("t.silt")], [t.path("none.silt")]):
        r = run_here(t.path("t.silt"), *options)
        assert r.code == 2 and r.stdout == b"" and len(r.errors.splitlines()) == 1, f"{options}: {r.code} {r.errors}"
        assert r.errors.startswith("silt: ") and r.errors.count(":") >= 3, r.errors
    assert os.listdir(folder) == ["t.svg"], os.listdir(folder)
    r = t.silt.command("flame")
    assert r.code == 2 and "no trace given" in r.errors


def check_overwriting(t, run_here, folder):
    """What silt drew it draws anew; everything else needs -f."""
    for name in ("t.svg", "t.html"):
        for _ in range(2):
            r = run_here(t.path("t.silt"), "-o", name)
            assert r.code == 0, r.errors
    os.unlink(os.path.join(folder, "t.html"))
    for theirs in (b"<?xml version=\"1.0\"?>\n<svg/>", b"", b"drawn by hand"):
        with open(os.path.join(folder, "t.svg"), "wb") as f:
            f.write(theirs)
        r = run_here(t.path("t.silt"))
        assert r.code == 2 and "already exists" in r.errors and len(r.errors.splitlines()) == 1, r.errors
        assert open(os.path.join(folder, "t.svg"), "rb").read() == theirs, "somebody's file was overwritten"
    assert run_here(t.path("t.silt"), "-f").code == 0


def test_full_disk(t):
    record(t, "basic")
    r = run(["sh", "-c", f"ulimit -f 4; trap '' XFSZ; exec {t.silt.path} flame {t.path('t.silt')} -o {t.path('cut.svg')}"])
    assert r.code == 2 and len(r.errors.splitlines()) == 1 and "cut.svg" in r.errors, r.errors
    assert not os.path.exists(t.path("cut.svg")), "half a picture was left"


# ---- in a browser ---------------------------------------------------------------------------------------------------

BOXES = """[...document.querySelectorAll('#frames g.f')].map(g => { const r = g.querySelector('rect').getBoundingClientRect();
        const t = g.querySelector('text');
        return {x: r.x, y: r.y, w: r.width, h: r.height, text: t ? t.textContent : '', classes: g.getAttribute('class')}; })"""
SAID = "document.querySelector('.said').textContent"
TIP = "document.getElementById('tip').getAttribute('display') === 'none' ? '' : document.getElementById('tip').textContent"


def find_box(b, text):
    found = [x for x in b.evaluate(BOXES) if x["text"] == text]
    assert found, f"no box '{text}' in {[x['text'] for x in b.evaluate(BOXES)]}"
    return found[0]


def middle(box):
    return box["x"] + box["w"] / 2, box["y"] + box["h"] / 2


def check_moving(b, width):
    """Zoom, search, figures and keys with the frames of many_frames."""
    whole = b.evaluate(BOXES)
    assert b.problems() == [], b.problems()
    assert max(x["w"] for x in whole) > width - 40, "the picture does not fill the window"
    parts = [x for x in whole if re.fullmatch(r"s\d", x["text"])]
    target = min(parts, key=lambda x: (x["y"], -x["w"]))
    b.move(*middle(target))
    tip = b.evaluate(TIP)
    assert target["text"] in tip and "% of all" in tip and "blocks" in tip, tip
    b.click(*middle(target))
    zoomed = find_box(b, target["text"])
    assert zoomed["w"] > width - 40 > target["w"], f"{zoomed} after a click on {target}"
    assert find_box(b, "main")["w"] > width - 40 and " a" in find_box(b, "main")["classes"]
    assert b.evaluate(SAID).startswith(target["text"] + ": "), b.evaluate(SAID)
    assert len(b.evaluate(BOXES)) != len(whole)
    b.press("Escape")
    assert b.evaluate(BOXES) == whole, "Esc does not bring the whole picture back"
    b.press("/")
    b.type("^s3$")
    said = b.evaluate(SAID)
    share = float(re.match(r"([\d.]+) % of all: ", said)[1])
    matched = [x for x in b.evaluate(BOXES) if " m" in x["classes"]]
    assert matched and all(x["text"] in ("s3", "") for x in matched) and 20 < share < 50, (said, share)
    b.press("Escape")
    assert b.evaluate(SAID) == "" and b.evaluate(BOXES) == whole
    b.press("/")
    b.type("(")
    assert b.evaluate(SAID) == "not a regular expression"
    b.press("Escape")
    b.press("ArrowDown")
    b.press("ArrowDown")
    assert b.evaluate(SAID).startswith("main, "), b.evaluate(SAID)
    b.press("ArrowDown")
    first = b.evaluate(SAID).split(",")[0]
    b.press("ArrowRight")
    second = b.evaluate(SAID).split(",")[0]
    assert first != second and re.fullmatch(r"s\d", second), (first, second)
    b.press("Enter", "\r")
    assert find_box(b, second)["w"] > width - 40
    b.press("Escape")
    assert b.problems() == [], b.problems()


def test_moves(t):
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, argv=["30000"])
    text = flame(t, "--by", "end", "--min-share", "0")
    n_frames = len(data_of(text)["pictures"][0]["value"])
    assert n_frames > 10000, n_frames
    still = ElementTree.fromstring(text)
    flame(t, "--by", "end", "--min-share", "0", out="t.html")
    with browser.Browser(t.dir) as b:
        seconds = b.open(t.path("t.svg"))
        boxes = b.evaluate(BOXES)
        drawn = [g.find(SVG + "text") for g in still.find(f".//{SVG}g[@id='frames']")]
        assert sorted(x["text"] for x in boxes) == sorted(x.text if x is not None else "" for x in drawn), \
            "the script draws another picture than the file has"
        check_moving(b, 1200)
        page_seconds = b.open(t.path("t.html"))
        check_moving(b, 1200)
        check_choice(b)
    t.notes.append(f"{n_frames:,} frames: SVG {os.path.getsize(t.path('t.svg')) // 1024} KiB shown in {seconds:.2f} s, "
                   f"page {os.path.getsize(t.path('t.html')) // 1024} KiB in {page_seconds:.2f} s")
    assert os.path.getsize(t.path("t.svg")) < 4e6
    in_time(max(seconds, page_seconds), 30, "a browser that shows it")


def test_colours_of_changes(t):
    """The script draws a difference in the colours the file has, also of what is put together."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, "old.silt", ["5000"])
    record(t, many, "new.silt", ["9000"])
    still = ElementTree.fromstring(flame(t, "--by", "end", traces=("old.silt", "new.silt")))
    classes = sorted(r.get("class") for r in still.find(f".//{SVG}g[@id='frames']").iter(SVG + "rect"))
    with browser.Browser(t.dir) as b:
        b.open(t.path("t.svg"))
        drawn = b.evaluate("[...document.querySelectorAll('#frames rect')].map(r => r.getAttribute('class'))")
        assert sorted(drawn) == classes and len(set(classes)) > 3, set(classes)
        b.move(*middle(find_box(b, "main")))
        assert ", was " in b.evaluate(TIP) and b.problems() == [], b.evaluate(TIP)


HASH = "decodeURIComponent(location.hash)"
MARK = """(r => r ? {x: r.getBoundingClientRect().x, y: r.getBoundingClientRect().y, w: r.getBoundingClientRect().width} : null)
        (document.querySelector('#frames rect.k'))"""


def test_address(t):
    """Zoom, search and metric are in the address: it shows the same picture again, and the browser's history leads back."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, argv=["3000"])
    flame(t, "--by", "end")
    flame(t, "--by", "end", out="t.html")
    with browser.Browser(t.dir) as b:
        for name in ("t.svg", "t.html"):
            b.open(t.path(name))
            whole = b.evaluate(BOXES)
            assert b.evaluate("location.hash") == ""
            target = min((x for x in whole if re.fullmatch(r"s\d", x["text"])), key=lambda x: (x["y"], -x["w"]))
            b.click(*middle(target))
            b.evaluate("new Promise(done => setTimeout(done, 50))")
            assert b.evaluate(HASH) == f"#zoom=main;{target['text']}", b.evaluate(HASH)
            b.press("/")
            b.type("^s3$")
            assert b.evaluate(HASH) == f"#zoom=main;{target['text']}&search=^s3$", b.evaluate(HASH)
            there, address = b.evaluate(BOXES), b.evaluate("location.hash")
            b.evaluate("history.back()")
            b.evaluate("new Promise(done => setTimeout(done, 300))")
            assert b.evaluate(BOXES) == whole, "back is not the whole picture"
            b.call("Page.navigate", url="about:blank")
            b.open(t.path(name) + address)
            assert b.evaluate(BOXES) == there, f"{name}{address} shows another picture"
            assert b.evaluate("document.querySelector('input').value") == "^s3$"
            assert b.problems() == [], b.problems()
        for address in ("#zoom=none;such", "#by=colour&search=(", "#%", "#zoom=%E0%A4%A&reverse", "#zoom=main;;"):
            b.call("Page.navigate", url="about:blank")
            b.open(t.path("t.html") + address)
            assert len(b.evaluate(BOXES)) > 3 and b.problems() == [], (address, b.problems())
        b.call("Page.navigate", url="about:blank")
        b.open(t.path("t.html") + "#by=count")
        assert " allocations by many_frames" in b.evaluate("document.getElementById('title').textContent")
        assert b.evaluate("document.querySelector('select').selectedOptions[0].text") == "allocations"


def test_search_dims(t):
    """What was found stands out, what is below it stays, the rest is dim."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, argv=["3000"])
    flame(t, "--by", "end")
    with browser.Browser(t.dir) as b:
        b.open(t.path("t.svg"))
        b.press("/")
        b.type("^s3$")
        boxes = b.evaluate(BOXES)
        found = [x for x in boxes if " m" in x["classes"]]
        below = lambda x: any(f["y"] <= x["y"] and f["x"] - 1 <= x["x"] and x["x"] + x["w"] <= f["x"] + f["w"] + 1 for f in found)
        assert found and all(x["text"] in ("s3", "") for x in found)
        for x in boxes:
            assert (" d" in x["classes"]) == (not below(x)), x
        assert " d" in find_box(b, "main")["classes"]
        b.press("Escape")
        assert not any(" d" in x["classes"] or " m" in x["classes"] for x in b.evaluate(BOXES))


def test_keys(t):
    """Arrows go from box to box: each press ends at one that is drawn, beside, above or below the last."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, argv=["3000"])
    flame(t, "--by", "end")
    with browser.Browser(t.dir) as b:
        b.open(t.path("t.svg"))
        boxes = b.evaluate(BOXES)
        b.press("ArrowDown")
        at = b.evaluate(MARK)
        assert at and at["w"] > 1100, "keys do not begin at the whole"
        seen = set()
        for key in ["ArrowDown"] * 4 + ["ArrowRight"] * 12 + ["ArrowUp"] * 2 + ["ArrowLeft"] * 12 + ["ArrowDown"] * 3 + ["ArrowRight"] * 3:
            b.press(key)
            now = b.evaluate(MARK)
            assert any(abs(x["x"] - now["x"]) < 1.5 and abs(x["y"] - now["y"]) < 1.5 for x in boxes), f"{key}: no box at {now}"
            if now != at:
                assert {"ArrowDown": now["y"] > at["y"], "ArrowUp": now["y"] < at["y"], "ArrowLeft": now["x"] < at["x"] and now["y"] == at["y"],
                        "ArrowRight": now["x"] > at["x"] and now["y"] == at["y"]}[key], (key, at, now)
            at = now
            seen.add((now["x"], now["y"]))
        assert len(seen) > 15, seen
        b.press("Escape")
        assert b.evaluate(MARK) is None and b.problems() == []


def test_narrow(t):
    """A window of 420 pixels: everything fits, nothing scrolls sideways."""
    record(t, "containers")
    flame(t)
    flame(t, out="t.html")
    with browser.Browser(t.dir, width=420, height=800) as b:
        for name in ("t.svg", "t.html"):
            b.open(t.path(name))
            boxes = b.evaluate(BOXES)
            assert max(x["x"] + x["w"] for x in boxes) <= 420 and max(x["w"] for x in boxes) > 340, name
            wide = b.evaluate("""[...document.querySelectorAll('text, p, h1, #keys span, .bar > *')].map(e => e.getBoundingClientRect())
                              .filter(r => r.width && r.right > 421).length""")
            assert wide == 0, f"{name}: {wide} texts are too wide"
            assert b.evaluate("document.documentElement.scrollWidth") <= 420, name
            b.move(*middle(boxes[len(boxes) // 2]))
            assert b.evaluate("document.querySelector('#tip rect').getBoundingClientRect().right") <= 421
            assert b.problems() == [], b.problems()
        b.open(t.path("t.svg"))
    text = flame(t, "--width", "420")
    assert ElementTree.fromstring(text).get("width") == "420"


def test_shallow(t):
    """A picture of few rows: they are high, with figures in them, the lines that asked, and the timeline."""
    with open(t.path("shallow.c"), "w") as f:
        f.write("#include <stdlib.h>\nvoid *kept[3];\n__attribute__((noinline)) void load(void) {\n  kept[0] = malloc(60000);\n"
                "  kept[1] = malloc(30000);\n}\nint main(void) {\n  load();\n  kept[2] = malloc(10000);\n  return 0;\n}\n")
    assert run(["gcc", "-g", "-O0", "-o", t.path("shallow"), t.path("shallow.c")]).code == 0
    record(t, t.path("shallow"))
    text = flame(t)
    root = ElementTree.fromstring(text)
    texts = [[x.text for x in g.findall(SVG + "text")] for g in root.find(f".//{SVG}g[@id='frames']")]
    assert ["load", "87.9 KiB, 90 %"] in texts and ["shallow.c:4", "58.6 KiB, 60 %"] in texts and ["shallow.c:5", "29.3 KiB, 30 %"] in texts, texts
    assert ["shallow.c:9", "9.8 KiB, 10 %"] in texts, texts
    heights = {float(r.get("height")) for r in root.find(f".//{SVG}g[@id='frames']").iter(SVG + "rect")}
    assert min(heights) >= 30, heights
    timeline = root.find(f".//{SVG}g[@id='timeline']")
    assert "at most 97.7 KiB" in timeline.find(SVG + "text").text and timeline.find(SVG + "path") is not None
    title = data_of(text)["pictures"][0]["title"]
    assert title.endswith(": 90 % under load"), title
    assert "shallow.c:4" not in flame(t, "--reverse")


def test_processes(t):
    """All processes: a row of them below the whole, which they add up to."""
    record(t, "fork_tree")
    for metric in ("end", "allocated", "count", "temporary"):
        p = data_of(flame(t, "--process", "all", "--by", metric))
        p, names = p["pictures"][0], p["names"]
        rows = [i for i, m in enumerate(p["marks"]) if m & 16]
        whole = t.silt.report(t.path("t.silt"), "--process", "all")[0]["totals"][METRICS[metric]]
        assert p["value"][0] == whole == sum(p["value"][i] for i in range(1, 1 + p["children"][0])), (metric, whole, p["value"][:9])
        if p["children"][0] > 1:
            assert rows and all(re.fullmatch(r"fork_tree.* \(\d+\)|\d+ more process(es)?", names[p["name"][i]]) for i in rows), rows
        check_sums(p, metric)
    assert not any(m & 16 for m in data_of(flame(t, "--process", "all", "--reverse"))["pictures"][0]["marks"])


def hues(text):
    """Name of each named function → its colour."""
    data = data_of(text)
    p = data["pictures"][0]
    return {data["names"][n]: c // 3 for n, c, m in zip(p["name"], p["colour"], p["marks"]) if not m & REST}


def test_colours_stay(t):
    """The same code has the same colour in every picture, whatever else is in it, and the program's own is one of its own."""
    record(t, "containers")
    pictures = [hues(flame(t, "--by", metric, *more)) for metric in METRICS for more in ((), ("--size", "1..64"), ("--reverse",))]
    for a in pictures:
        for b in pictures:
            assert all(a[name] == b[name] for name in a.keys() & b.keys() - {"all"})
    record(t, "basic")
    other = hues(flame(t, "--full", "--by", "count"))
    assert other["main"] == 32, other


def check_choice(b):
    """Another metric and the other direction."""
    title = "document.getElementById('title').textContent"
    assert "still allocated at the end" in b.evaluate(title)
    b.evaluate("(s => { s.value = [...s.options].find(o => o.text === 'allocations').value; s.dispatchEvent(new Event('change')); })"
               "(document.querySelector('select'))")
    assert re.match(r"[\d,]+ allocations by many_frames", b.evaluate(title)), b.evaluate(title)
    b.evaluate("(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.querySelector('select'))")
    assert "requested by s" in b.evaluate(title), b.evaluate(title)
    assert b.problems() == [], b.problems()


def test_still(t):
    """As an image of another page, and where scripts are not allowed, the picture is whole."""
    record(t, "containers")
    flame(t)
    with open(t.path("page.html"), "w") as f:
        f.write('<!DOCTYPE html><img src="t.svg">')
    with browser.Browser(t.dir) as b:
        b.open(t.path("page.html"))
        assert b.evaluate("document.images[0].complete && document.images[0].naturalWidth") == 1200
        assert b.problems() == [], b.problems()
        b.call("Emulation.setScriptExecutionDisabled", value=True)
        b.open(t.path("t.svg"), is_settled=False)
        b.call("Emulation.setScriptExecutionDisabled", value=False)
        assert len(b.evaluate(BOXES)) > 3 and b.evaluate("document.querySelector('.bar')") is None


def test_hostile_names(t):
    """Functions that are called like markup and code: text, in every form."""
    source = t.path("hostile.c")
    labels = ["</title><script>document.hacked=1</script>", "]]><svg onload=document.hacked=1>", "\\\"+(document.hacked=1)+\\\""]
    with open(source, "w") as f:
        f.write("#include <stdlib.h>\n")
        for i, label in enumerate(labels):
            f.write(f'__attribute__((noinline)) void *f{i}(void) __asm__("{label}");\n'
                    f'void *f{i}(void) {{ void *p = malloc({1000 + i}); __asm__ volatile("" : "+r"(p)); return p; }}\n')
        f.write("int main(void) { return !(f0() && f1() && f2()); }\n")
    r = run(["gcc", "-g", "-O1", "-S", "-o", t.path("hostile.s"), source])
    assert r.code == 0, r.errors
    text = open(t.path("hostile.s")).read()
    for label in labels:  # an assembler takes any name in quotes
        text = re.sub(r'(?<!")' + re.escape(label) + r'(?!")', lambda m: '"' + m[0] + '"', text)
    with open(t.path("hostile.s"), "w") as f:
        f.write(text)
    r = run(["gcc", "-o", t.path("hostile"), t.path("hostile.s")])
    assert r.code == 0, r.errors
    record(t, t.path("hostile"))
    ElementTree.fromstring(flame(t, "--full"))
    flame(t, "--full", "--title", labels[0], out="t.html")
    with browser.Browser(t.dir) as b:
        for name in ("t.svg", "t.html"):
            b.open(t.path(name))
            assert b.evaluate("document.hacked") is None, name
            assert b.problems() == [], b.problems()
            assert any("document.hacked=1" in x["text"] for x in b.evaluate(BOXES)), b.evaluate(BOXES)
            assert b.evaluate("document.querySelectorAll('script').length") == 1
