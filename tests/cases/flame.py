# SPDX-License-Identifier: MIT
"""`silt flame`: its figures are those of the report, the image is one without a script, and HTML is the page, opened on what was asked."""

import os
import re
import xml.etree.ElementTree as ElementTree

from cases.html import ask_page, data_of
from harness import browser
from harness.cases import skip
from harness.process import in_time, run
from harness.units import FACTORS, size_text

METRICS = {"peak": "peak_live_bytes", "end": "end_live_bytes", "allocated": "bytes_allocated", "count": "allocations",
           "temporary": "temporary_allocations"}
SVG = "{http://www.w3.org/2000/svg}"


def record(t, name, trace="t.silt", argv=()):
    program = name if "/" in name else t.program(name)
    r = t.silt.record(t.path(trace), [program, *argv], ["-f"])
    assert r.code == 0, r.errors


def flame(t, *options, out="t.svg", traces=("t.silt",)):
    r = t.silt.command("flame", *[t.path(x) for x in traces], "-f", "-o", t.path(out), *options)
    if "without the page" in r.errors:
        skip("this build has no page")
    assert r.code == 0 and r.stdout == b"" and len(r.errors.splitlines()) == 1, r.errors
    with open(t.path(out), encoding="utf-8") as f:
        return f.read()


class Box:
    """What is drawn of a function: where, and its exact figures."""

    def __init__(self, g):
        rect = g.find(SVG + "rect")
        self.x, self.y, self.w, self.high = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
        self.value, self.was = int(g.get("data-value")), int(g.get("data-was") or 0)
        self.title = g.find(SVG + "title").text
        self.name, self.texts = self.title.split("\n")[0], [x.text for x in g.findall(SVG + "text")]
        self.hue, self.marks = int(re.match(r"h(\d+)", rect.get("class"))[1]), g.get("class").split()[1:]
        self.parent, self.children = None, []


def boxes_of(text):
    """The boxes, the root first, each with its parent and children, as they lie below each other."""
    root = ElementTree.fromstring(text)
    boxes = [Box(g) for g in root.find(f".//{SVG}g[@id='frames']")]
    rows = {}
    for box in boxes:
        rows.setdefault(box.y, []).append(box)
    ys = sorted(rows)
    for above, y in zip(ys, ys[1:]):
        for box in rows[y]:
            box.parent = next((up for up in rows[above] if box.x >= up.x - 0.2 and box.x + box.w <= up.x + up.w + 1), None)
            assert box.parent, f"'{box.name}' at {box.x},{box.y} hangs in the air"
            box.parent.children.append(box)
    return boxes


def whole_of(boxes):
    return boxes[0].value if boxes else 0  # of nothing, nothing is drawn


def lines_of(text, kind):
    return " ".join(x.text for x in ElementTree.fromstring(text).iter(SVG + "text") if x.get("class") == kind)


def check_sums(boxes, where):
    """What lies below a box is no more than it has, and nothing of the whole is lost."""
    for box in boxes:
        inside = sum(x.value for x in box.children)
        assert inside <= box.value, f"{where}: {box.name}: {inside} in {box.value}"
    assert not boxes or sum(x.value for x in boxes[0].children) == boxes[0].value, where


def is_recursive(box):
    up = box.parent
    while up:
        if up.name == box.name:
            return True
        up = up.parent
    return False


def check_functions(t, boxes, metric, where):
    """Each function has what the report says of it, where every box of it is drawn."""
    groups = t.silt.report(t.path("t.silt"), "--process", "all", "--by", metric, "--group-by", "function", "--top", "1000000")[0]["groups"]
    if any(x.name.endswith(" more") for x in boxes):
        return 0
    drawn = {}
    for box in boxes[1:]:
        if not is_recursive(box):
            drawn[box.name] = drawn.get(box.name, 0) + box.value
    checked = 0
    for group in groups:
        if group.get("function") in drawn and drawn[group["function"]]:
            assert drawn[group["function"]] == group["total"]["value"], f"{where}: {group['function']}: {drawn[group['function']]}, not {group['total']['value']}"
            checked += 1
    return checked


def test_figures(t):
    checked = 0
    for program in ("basic", "containers", "fork_tree", "realloc_chain"):
        record(t, program)
        for metric, total in METRICS.items():
            for options in ([], ["--reverse"], ["--full"], ["--process", "main"]):
                who = "main" if "main" in options else "all"
                if metric == "peak" and who == "all" and program == "fork_tree":
                    continue  # a recorder learns late that a process has ended
                report, why = t.silt.report(t.path("t.silt"), "--process", who)
                assert report, why
                boxes = boxes_of(flame(t, "--by", metric, "--width", "10000", *options))
                where = f"{program} {metric} {options}"
                assert whole_of(boxes) == report["totals"][total], f"{where}: {whole_of(boxes)}, not {report['totals'][total]}"
                check_sums(boxes, where)
                if not options and program != "fork_tree":
                    checked += check_functions(t, boxes, metric, where)
    assert checked > 10, checked


def test_picture(t):
    """Well-formed, boxes as wide as their bytes and inside of what is above them, names that fit; no script."""
    record(t, "containers")
    for width in (300, 600, 1200, 3000):
        text = flame(t, "--width", str(width), "--by", "allocated")
        assert ElementTree.fromstring(text).get("width") == str(width)
        boxes = boxes_of(text)
        scale = (width - 20) / boxes[0].value
        for box in boxes:
            assert box.x >= 10 and box.x + box.w <= width - 9, f"{width}: {box.x} {box.w}"
            assert min(abs(box.w + gap - box.value * scale) for gap in (0, 0.8)) < 0.1, f"{width}: {box.w} for {box.value} bytes"
            if box.texts:
                assert len(box.texts[0]) * 6.6 <= box.w, f"{width}: '{box.texts[0]}' in {box.w}"
            figure = re.search(r"([\d.]+) (B|KiB|MiB) in", box.title)
            assert abs(float(figure[1]) * FACTORS[figure[2]] - box.value) <= 0.06 * max(box.value, 1), box.title
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
        assert "<script" not in text and "foreignObject" not in text and not re.search(r"\son\w+=", text), "an image has no script"


def test_sentence(t):
    record(t, "containers")
    report = t.silt.report(t.path("t.silt"))[0]
    text = flame(t)
    title = lines_of(text, "title")
    assert re.fullmatch(r"[\d.]+ (B|[KM]iB) live at the peak \([\d.]+ m?s\) of containers: \d+ % (under|in) .+", title), title
    assert "<title>all\n" in text and title.startswith(size_text(report["totals"]["peak_live_bytes"]))
    assert "Up to 1 ms." in lines_of(flame(t, "--at", "1ms"), "words")
    filtered = flame(t, "--size", "10..5000", "--by", "count", "--title", "Mine")
    assert lines_of(filtered, "title") == "Mine" and "Only blocks with size 10..5000" in lines_of(filtered, "words"), filtered
    assert " allocations by containers" in lines_of(filtered, "words")


def test_difference(t):
    """Two traces: both figures, and what has the same name is the same."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, "old.silt", ["300"])
    record(t, many, "new.silt", ["400"])
    old, new = (t.silt.report(t.path(x))[0]["totals"]["end_live_bytes"] for x in ("old.silt", "new.silt"))
    text = flame(t, "--by", "end", traces=("old.silt", "new.silt"))
    boxes, title = boxes_of(text), lines_of(text, "title")
    assert (boxes[0].was, boxes[0].value) == (old, new)
    assert f"{size_text(old)} → {size_text(new)}" in title and "(+" in title, title
    assert all(x.was <= x.value for x in boxes), "only the newer has more"
    check_sums(boxes, "difference")
    assert len({x.hue for x in boxes}) > 1, {x.hue for x in boxes}
    text = flame(t, "--by", "end", traces=("old.silt", "old.silt"))
    same = boxes_of(text)
    assert all(x.was == x.value for x in same) and "unchanged" in lines_of(text, "title"), lines_of(text, "title")
    assert all(x.hue in (35, 46) for x in same)


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
    for _ in range(2):
        r = run_here(t.path("t.silt"), "-o", "t.svg")
        assert r.code == 0, r.errors
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
    title = lines_of(text, "title")
    assert title.endswith(": 90 % under load"), title
    assert not any(x.name == "shallow.c:4" for x in boxes_of(flame(t, "--reverse")))


def test_processes(t):
    """All processes: a row of them below the whole, which they add up to."""
    record(t, "fork_tree")
    for metric in ("end", "allocated", "count", "temporary"):
        boxes = boxes_of(flame(t, "--process", "all", "--by", metric, "--width", "10000"))
        whole = t.silt.report(t.path("t.silt"), "--process", "all")[0]["totals"][METRICS[metric]]
        assert whole_of(boxes) == whole, (metric, whole)
        check_sums(boxes, metric)
        if boxes and len(boxes[0].children) > 1:
            assert all(re.fullmatch(r"fork_tree.* \(\d+\)|[\d,]+ more( process(es)?)?", x.name) for x in boxes[0].children), [x.name for x in boxes[0].children]
    reverse = boxes_of(flame(t, "--process", "all", "--reverse", "--width", "10000"))
    assert not any(re.fullmatch(r"fork_tree.* \(\d+\)", x.name) for x in reverse)


def test_colours_stay(t):
    """The same code has the same colour in every picture, whatever else is in it, and the program's own is one of its own."""
    hues = lambda *options: {x.name: x.hue for x in boxes_of(flame(t, *options)) if x.name != "all" and not x.name.endswith(" more")}
    record(t, "containers")
    pictures = [hues("--by", metric, *more) for metric in METRICS for more in ((), ("--size", "1..64"), ("--reverse",))]
    for a in pictures:
        for b in pictures:
            assert all(a[name] == b[name] for name in a.keys() & b.keys())
    record(t, "basic")
    assert hues("--full", "--by", "count")["main"] == 32


def test_large(t):
    """A picture of more boxes than can be seen is bounded, says how many it leaves out, and opens in time."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, argv=["30000"])
    boxes = boxes_of(flame(t, "--by", "end", "--min-share", "0", "--width", "10000"))
    assert 100 < len(boxes) <= 10000 and any(re.fullmatch(r"[\d,]+ more", x.name) for x in boxes), len(boxes)
    check_sums(boxes, "large")
    with browser.Browser(t.dir) as b:
        seconds = b.open(t.path("t.svg"))
        assert b.evaluate("document.querySelectorAll('#frames g.f').length") == len(boxes) and b.problems() == [], b.problems()
    t.notes.append(f"{len(boxes):,} boxes: {os.path.getsize(t.path('t.svg')) // 1024} KiB shown in {seconds:.2f} s")
    assert os.path.getsize(t.path("t.svg")) < 4e6
    in_time(seconds, 30, "a browser that shows it")


def test_still(t):
    """As an image of another page it is whole."""
    record(t, "containers")
    flame(t)
    with open(t.path("page.html"), "w", encoding="ascii") as f:
        f.write('<!DOCTYPE html><img src="t.svg">')
    with browser.Browser(t.dir) as b:
        b.open(t.path("page.html"))
        assert b.evaluate("document.images[0].complete && document.images[0].naturalWidth") == 1200
        assert b.problems() == [], b.problems()


# ---- as the page ----------------------------------------------------------------------------------------------------

REQUESTS = ([], ["--by", "allocated", "--reverse"], ["--by", "count", "--size", "1..100"], ["--process", "main", "--by", "end"],
            ["--from", "1ms", "--by", "growth"], ["--at", "2ms"], ["--full", "--function", "main"])


def test_page(t):
    """HTML is the page, opened on the flame graph of the request: its boxes have what the image has, and all it tells is of the request."""
    record(t, "containers")
    n_drawn = 0
    for options in REQUESTS:
        text = flame(t, *options, out="t.html")
        image = boxes_of(flame(t, *options, "--width", "10000"))
        start = re.search(r'id="silt-start">([^<]*)<', text)[1]
        assert start.startswith("flame?"), start
        query = "&".join(part for part in start.split("?", 1)[1].split("&") if part)
        boxes, summary = ask_page(t, t.path("t.html"), [f"flame {query}", f"report {query}"])
        report = [x for x in options if x not in ("--reverse", "--full")]
        want = t.silt.report(t.path("t.silt"), "--process", "all", *report)[0]
        assert boxes["value"][0] == whole_of(image), f"{options}: {boxes['value'][0]}, not {whole_of(image)}"
        assert boxes["reversed"] == ("--reverse" in options)
        assert summary["totals"] == want["totals"], options
        drawn = sorted(x.value for x in image if not x.name.endswith(" more"))
        told = sorted(value for value, kind in zip(boxes["value"], boxes["kind"]) if kind != 2)
        n_drawn += len(drawn)
        assert not [x for x in drawn if x not in told], f"{options}: the image has figures the page has not"
    assert n_drawn > 30, n_drawn


def test_page_holds(t):
    """Every other window and metric of the file is of its process and its filters, too; it says what it was written with and takes nothing else."""
    record(t, "fork_tree")
    text = flame(t, "--process", "main", "--size", "1..200", "--title", "Mine", out="t.html")
    document = data_of(t.path("t.html"))[0]
    assert document["title"] == "Mine" and document["fixed"] == [["process", "main"], ["size", "1..200"]], document["fixed"]
    edges = document["answers"]["columns"]["edges_s"]
    middle = f"{edges[len(edges) // 2]:.9f}s"
    questions = [f"flame by={by}&{window}" for by in METRICS for window in ("from=0s", f"to={middle}")]
    for question, boxes in zip(questions, ask_page(t, t.path("t.html"), questions)):
        by = re.search(r"by=(\w+)", question)[1]
        window = ["--to", middle] if "to=" in question else []
        groups = t.silt.report(t.path("t.silt"), "--process", "main", "--size", "1..200", "--by", by, "--group-by", "function", "--top", "1000000", *window)[0]
        whole = sum(g["self"]["value"] for g in groups["groups"])
        assert boxes["value"][0] == whole, f"{question}: {boxes['value'][0]}, not {whole}"
    for answer in ask_page(t, t.path("t.html"), ["flame process=all", "flame function=x", "diff against=1"]):
        assert answer["schema"] == "silt.error/1" and answer["error"], answer


def test_page_of_two(t):
    """Two traces: the page opens on Compare, with the figures of both."""
    many = t.context.helpers.build("many_frames", ["many_frames.c"])
    record(t, many, "old.silt", ["300"])
    record(t, many, "new.silt", ["400"])
    text = flame(t, "--by", "end", traces=("old.silt", "new.silt"), out="t.html")
    assert re.search(r'id="silt-start">([^<]*)<', text)[1].startswith("compare?"), text[:2000]
    old, new = (t.silt.report(t.path(x))[0]["totals"]["end_live_bytes"] for x in ("old.silt", "new.silt"))
    boxes, back, table, other = ask_page(t, t.path("t.html"), ["flame by=end&against=1", "flame by=end&against=1&reverse=1", "diff by=end&against=1&top=500", "diff by=count&against=1"])
    assert (boxes["was"][0], boxes["value"][0]) == (back["was"][0], back["value"][0]) == (old, new)
    assert table["schema"].startswith("silt.diff/") and other["schema"] == "silt.error/1", other


def test_page_opens(t):
    """In a browser: the flame graph of the request is what is seen first, with what the file was written with."""
    record(t, "containers")
    flame(t, "--by", "allocated", "--size", "1..1000", "--title", "<i>Mine</i>", out="t.html")
    with browser.Browser(t.dir) as b:
        b.open(t.path("t.html"))
        assert b.until("document.querySelector('.views [aria-current=page]')?.textContent") == "Flame"
        assert "allocated" in b.until("document.querySelector('.first-sentence')?.textContent")
        assert "1..1000" in b.until("document.querySelector('.chips')?.textContent")
        assert b.until("document.querySelector('.program-title')?.textContent") == "<i>Mine</i>"
        assert b.evaluate("document.querySelectorAll('.chip-remove').length") == 0 and b.problems() == [], b.problems()


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
    boxes = boxes_of(flame(t, "--full", "--title", labels[0]))
    assert any("document.hacked=1" in x.name for x in boxes), [x.name for x in boxes]
    flame(t, "--full", "--title", labels[0], "--not-function", labels[0], out="t.html")
    with browser.Browser(t.dir) as b:
        for name in ("t.svg", "t.html"):
            b.open(t.path(name))
            assert b.evaluate("document.hacked") is None, name
            assert b.problems() == [], b.problems()
