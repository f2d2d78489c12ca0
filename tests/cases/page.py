# SPDX-License-Identifier: MIT
"""The page in a browser: what it shows is what the command line prints, by pointer, by keys, by address, live and from a file."""

import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time

from harness.page import View, browse
from harness.process import run
from harness.units import size_text

EXAMPLE = "examples/mqtt_server"
COLUMN = {"peak": "at peak", "end": "at end", "allocated": "allocated", "count": "allocations", "temporary": "temporary"}


def recorded(t, *argv, name="t.silt"):
    trace = t.path(name)
    r = t.silt.record(trace, argv or [os.path.join(t.context.build_dir, EXAMPLE)], ["-f"])
    assert r.code == 0, r.errors
    return trace


def told(t, trace, *options, command="report"):
    r = t.silt.command(command, *([trace] if isinstance(trace, str) else trace), "--json", *options)
    assert r.code in ((0, 1) if command == "diff" else (0,)), r.errors
    return json.loads(r.text)


def window_of(keys):
    return [word for key in ("from", "to", "by", "size", "lifetime") if key in keys for word in (f"--{key}", keys[key])]


def check_sites(table, groups, by, where):
    """Whole figures of a copied table, by function."""
    at = table[0].index(COLUMN[by])
    got = sorted(int(row[at]) for row in table[1:] if int(row[at]))
    assert got == sorted(g["self"]["value"] for g in groups["groups"] if g["self"]["value"]), f"{where}: {got}"


def check_totals(pairs, want, where):
    have = {name: value for name, value in pairs}
    for name, value in (("allocated", size_text(want["bytes_allocated"])), ("allocations", f"{want['allocations']:,}"), ("call paths", f"{want['sites']:,}")):
        assert have.get(name, value) == value, f"{where}: {name}: {have[name]}, not {value}"
    peak = next(value for name, value in pairs if name.startswith("peak"))
    end = next(value for name, value in pairs if name.startswith("at the end"))
    assert (peak, end) == (size_text(want["peak_live_bytes"]), size_text(want["end_live_bytes"])), where


def test_window(t):
    """A window dragged on the timeline holds in every view, with the figures of the command line."""
    trace = recorded(t)
    with View(t, trace) as view:
        saw, _ = browse(t, "window", view.url, drags=[[0.2, 0.6, "peak"], [0.5, 0.9, "allocated"]])
    assert len({json.dumps(one["keys"]) for one in saw}) == 2
    for one in saw:
        by, options = one["keys"]["by"], ["--process", "all", *window_of(one["keys"])]
        assert "from" in one["keys"] and "to" in one["keys"], one["keys"]
        views, where = one["views"], str(options)
        report = told(t, trace, *[o for o in options if o not in ("--by", by)])
        check_totals(views["overview"], report["totals"], where)
        groups = told(t, trace, *options, "--group-by", "function", "--top", "1000000")
        check_sites(views["sites"], groups, by, where)
        whole = sum(g["self"]["value"] for g in groups["groups"])
        assert views["flame"].startswith(size_text(whole)), f"{where}: {views['flame']}, not {whole}"
        assert views["selected"].startswith(f"= {size_text(whole)}"), f"{where}: {views['selected']}"
        tree = told(t, trace, *options, "--tree", "--min-share", "0.1")["nodes"]
        assert tree[0]["total"]["value"] == whole, where
        level = min(row[0] for row in views["tree"])
        have = [row[2] for row in views["tree"] if row[0] == level]
        # a rest of nothing is no row
        want = [n["total"]["value"] for n in tree if n["parent"] == tree[0]["id"] and (n["total"]["value"] or "rest_of_children" not in n)]
        assert have == [size_text(value) for value in want], f"{where}: {views['tree'][:4]}"
        what = views["source"]["what"]
        source = told(t, [trace, what], *options, command="source")
        figures = {str(line["line"]): str(line["total"]["value"]) for f in source["files"] for line in f["lines"]}
        assert views["source"]["lines"], where
        for line, value in views["source"]["lines"]:
            assert figures[line] == value, f"{where}: {what}, line {line}: {value}, not {figures[line]}"
        blocks = told(t, trace, *[o for o in options if o not in ("--by", by)], "--blocks", "--top", "1000")["blocks"]
        size = views["blocks"][0].index("size")
        assert sorted(int(row[size]) for row in views["blocks"][1:]) == sorted(b["bytes"] for b in blocks), where
        allocations = views["threads"][0].index("allocations")
        assert sum(int(row[allocations]) for row in views["threads"][1:]) == report["totals"]["allocations"], where


def test_search(t):
    """The flame graph says which share matches."""
    trace = recorded(t)
    with View(t, trace) as view:
        saw, _ = browse(t, "search", view.url, searches=["MqttState::MqttState", "no_such_function_at_all", "new_allocator"])
    whole = told(t, trace, "--process", "all")["totals"]["peak_live_bytes"]
    part = told(t, trace, "--process", "all", "--tree", "--function", "MqttState::MqttState")["totals"]["value"]
    assert saw["found"][0].startswith(f"found {100 * part // whole} % of all: {size_text(part)}"), (saw, part, whole)
    assert saw["found"][1] == "no function matches", saw
    folded = told(t, trace, "--process", "all", "--tree", "--function", "new_allocator")["totals"]["value"]
    assert folded and size_text(folded) in saw["found"][2] and saw["found"][2].endswith("all of it in folded machinery: show"), (saw, folded)
    assert saw["full"] == {"folded": 0, "found": saw["found"][2].split(",")[0], "isOn": True}, saw


def test_boxes(t):
    """By function, line, module and crate, each with its own box, words and menu; a filter chosen by keys alone."""
    trace = recorded(t)
    with View(t, trace) as view:
        saw, said = browse(t, "boxes", view.url, may_err=True)
    assert len(said["errors"]) == 1 and "404" in said["errors"][0], said["errors"]  # the function that is not there
    told_of = saw["told"]
    whole = told(t, trace, "--process", "all")["totals"]["bytes_allocated"]
    for by, one in told_of.items():
        assert one["pressed"].lower() == by and "total " in one["box"] and one["path"], one
    assert re.search(r"\.(c|cc|h|S):\d+", told_of["line"]["box"]) and told_of["module"]["box"].startswith("mqtt_server,"), told_of
    assert size_text(whole) in told_of["module"]["box"] or "MiB" in told_of["module"]["box"], (told_of["module"], whole)
    assert [x for x in told_of["function"]["menu"] if "Hide blocks" in x] and [x for x in told_of["function"]["menu"] if "callers" in x], told_of["function"]["menu"]
    assert len(told_of["module"]["menu"]) == 4 and len(told_of["crate"]["menu"]) == 2, told_of
    assert "function" in saw["keys"] and saw["view"] == "flame", saw
    assert saw["ages"]["keys"]["colour"] == "age" and re.search(r"\d m?s old or less.*\d m?s old or more|Nearly all that is alive is [\d.]+ m?s old", saw["ages"]["legend"], re.S), saw["ages"]
    assert "alive" in saw["unknown"], saw["unknown"]
    assert "main" in saw["refused"]["before"] and saw["refused"]["sentences"] == 0, "a refusal has the sentence of the answer before"


def test_keyboard(t):
    """Without a pointer from opening to a source line; what is focused shows it."""
    trace = recorded(t)
    with View(t, trace) as view:
        saw, _ = browse(t, "keyboard", view.url, place=".stack-place .link[title*=\"mqtt_server.cc:\"]")
    assert saw["view"] == "source" and "mqtt_server.cc:" in saw["keys"]["what"], saw
    assert "search names" in saw["help"]
    assert saw["rings"] and all(style != "none" for style in saw["rings"]), saw["rings"]
    assert saw["most"], saw


def test_culprit(t):
    """Two clicks from opening to the source line that requested the most; machinery inside of it is folded."""
    trace = recorded(t)
    with View(t, trace) as view:
        saw, _ = browse(t, "culprit", view.url)
    largest = told(t, trace, "--process", "all")["top"][0]["sites"][0]["stack"]
    at = next(i for i, frame in enumerate(largest) if frame["file"].endswith("mqtt_server.cc"))
    want = f"{largest[at]['file']}:{largest[at]['line']}"
    assert saw["folded"].startswith(f"{at} frames"), (saw, at)
    assert "MqttState" in saw["name"] and want.endswith("/" + saw["place"]), (saw, want)
    assert "MqttState" in saw["told"] and "MqttState" in saw["first"] and saw["place"] in saw["told"], saw
    assert saw["view"] == "source" and saw["keys"]["what"] == want, (saw, want)
    assert len(saw["most"]) == 1 and str(largest[at]["line"]) in saw["most"][0], saw


def test_brush(t):
    """A brush over the heat map sets sizes and lifetimes, for every view."""
    trace = recorded(t)
    with View(t, trace) as view:
        saw, _ = browse(t, "brush", view.url, part=[0.5, 0.02, 0.98, 0.6])
    assert "size" in saw["keys"] and "lifetime" in saw["keys"], saw["keys"]
    assert any(chip.startswith("size") for chip in saw["chips"]) and any(chip.startswith("lifetime") for chip in saw["chips"]), saw["chips"]
    options = ["--process", "all", *window_of(saw["keys"])]
    blocks = told(t, trace, *options, "--blocks", "--top", "1000")["blocks"]
    size = saw["blocks"][0].index("size")
    assert sorted(int(row[size]) for row in saw["blocks"][1:]) == sorted(b["bytes"] for b in blocks) and blocks, options
    allocated = saw["sites"][0].index("allocations")
    assert sum(int(row[allocated]) for row in saw["sites"][1:]) == told(t, trace, *options)["totals"]["allocations"]


def test_address(t):
    """An address is a view; back undoes choices one by one."""
    trace = recorded(t)
    fragment = "#flame?from=0.2&to=1.1&by=allocated&function=main"
    with View(t, trace) as view:
        saw, _ = browse(t, "deep", view.url, fragment=fragment)
    assert saw["opened"] == fragment, saw["opened"]
    assert len(saw["chips"]) == 2 and "main" in saw["chips"][1], saw["chips"]
    assert saw["back"] == saw["trail"][2::-1], (saw["back"], saw["trail"])
    assert saw["again"] == saw["chips"] and saw["forward"] == saw["trail"][1]
    assert saw["there"]["view"] == "Sites" and len(saw["other"]) == 2, saw


def test_one_file(t):
    """The page from disk with the network off: every view says something, a window is the command line's, nothing is asked of anybody."""
    trace, page = recorded(t), t.path("t.html")
    r = t.silt.command("html", trace, "-o", page)
    assert r.code == 0, r.errors
    saw, said = browse(t, "offline", "file://" + page, offline=True)
    assert said["requests"] == [], said["requests"]
    for view, text in saw["views"].items():
        assert len(text) > 40, f"{view}: {text}"
    options = ["--process", "all", *window_of(saw["keys"])]
    assert len(options) == 6, options
    check_totals(saw["totals"], told(t, trace, *options)["totals"], str(options))
    at = saw["sites"][0].index("allocated")
    assert sum(int(row[at]) for row in saw["sites"][1:]) == told(t, trace, *options)["totals"]["bytes_allocated"]


def moments(t):
    """A program that does what it is told, with marks."""
    here = os.path.dirname(os.path.abspath(__file__))
    program = t.path("moments")
    r = run(["gcc", "-O1", "-g", "-pthread", "-I", os.path.join(here, "../../include"), os.path.join(here, "moments.c"), "-o", program])
    assert r.code == 0, r.errors
    return program


def on_page(text):
    """A sentence of `silt diff` as the page says it: its sides are the newer and the older."""
    return re.sub(r"\b(than|as) OLD\b", r"\1 the older", re.sub(r"^NEW ", "The newer ", text)).replace(": NEW ", ": the newer ").replace(", OLD ", ", the older ")


def test_compare(t):
    """Two traces open on Compare with the sentence of silt diff; two windows between marks are generations."""
    program = moments(t)
    for name, n in (("old.silt", 100), ("new.silt", 150)):
        done = subprocess.run(t.silt.run_argv(t.path(name), [program], ["-f"]), capture_output=True, timeout=600, check=False,
                              input=f"+{n} 10000\nmark first\n+70 1000\n-20\nmark second\n+30 5000\n".encode())
        assert done.returncode == 0, done.stderr
    old, new = t.path("old.silt"), t.path("new.silt")
    with View(t, old, new) as view:
        saw, _ = browse(t, "compare", view.url, fragments=["", "#compare?shape=table"])
    assert saw["first"]["view"] == "compare", saw["first"]
    want = told(t, [old, new], command="diff")
    for one in saw["seen"]:
        assert on_page(want["text"]) in one["text"], (one["text"][:300], want["text"])
    with View(t, new) as view:
        saw, _ = browse(t, "compare", view.url, fragments=["#compare?by=growth&old-to=@first&from=@first&to=@second&shape=table", "#compare?by=allocated&old-from=@first&old-to=@second&from=@second"])
    want = told(t, [f"{new}@0..@first", f"{new}@@first..@second"], "--by", "growth", command="diff")
    assert on_page(want["text"]) in saw["seen"][0]["text"], (saw["seen"][0]["text"][:300], want["text"])
    want = told(t, [f"{new}@@first..@second", f"{new}@@second.."], "--by", "allocated", command="diff")
    assert on_page(want["text"]) in saw["seen"][1]["text"], (saw["seen"][1]["text"][:300], want["text"])
    with View(t, new) as view:
        saw, _ = browse(t, "compare", view.url, fragments=[""], press="the start – @first, then – @second")
    assert [saw["seen"][0]["keys"].get(key) for key in ("old-from", "old-to", "from", "to")] == ["@start", "@first", "@first", "@second"], saw
    want = told(t, [f"{new}@@start..@first", f"{new}@@first..@second"], command="diff")
    assert on_page(want["text"]) in saw["seen"][0]["text"], (saw["seen"][0]["text"][:300], want["text"])


def feed(process, is_over):
    """More memory every moment, until the program is gone."""
    while not is_over.is_set():
        try:
            process.stdin.write(b"+20 20000\n")
            process.stdin.flush()
            process.stdout.readline()
        except OSError:
            return
        time.sleep(0.05)


def test_follow(t):
    """A recording that grows is followed, stopped, resumed; after its program was killed it is as it ended."""
    trace, go, is_over = t.path("t.silt"), t.path("go"), threading.Event()
    recording = subprocess.Popen(t.silt.run_argv(trace, [moments(t)], ["-f"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    t.running.append(recording)
    recording.stdout.readline()
    feeder = threading.Thread(target=feed, args=(recording, is_over))
    feeder.start()

    def kill_once_told():
        while not os.path.exists(go) and not is_over.is_set():
            time.sleep(0.05)
        subprocess.run(["pkill", "-KILL", "-x", "-P", str(recording.pid), "moments"], check=False)

    killer = threading.Thread(target=kill_once_told)
    killer.start()
    try:
        with View(t, "--wait", "10s", trace) as view:
            saw, _ = browse(t, "follow", view.url, go=go)
    finally:
        is_over.set()
        killer.join()
        feeder.join()
        recording.wait()
    assert "following" in saw["chip"] and "following" not in saw["stopped"] and "following" in saw["resumed"], saw
    assert "following" not in saw["fixed"], "a window that stays does not follow"
    assert saw["still"] == saw["stillThen"], "it moved although it was stopped"
    want = told(t, trace, "--process", "all")["totals"]
    assert f"end {size_text(want['end_live_bytes'])}" in " ".join(saw["last"].split()), (saw["last"], want)


class Neighbour(http.server.BaseHTTPRequestHandler):
    """A server that somebody else runs on this machine: remembers what it is told, and sets a cookie of its own."""

    def do_GET(self):
        self.server.told.append((self.path, self.headers.get("Cookie", ""), self.headers.get("Referer", "")))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "neighbour=1; Path=/")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel=icon href='data:,'><body>neighbour")

    def log_message(self, *_):
        pass


def test_neighbour(t):
    """Cookies know no ports: another server on this machine gets neither the token nor the way to it, whatever it tries."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Neighbour)
    server.told = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    paths = ["/", "/s/", "/page.js", "/api/1/trace", "/s/" + "0" * 32 + "/"]
    try:
        with View(t, recorded(t)) as view:
            saw, _ = browse(t, "neighbour", view.url, may_err=True, neighbour=f"http://127.0.0.1:{server.server_port}", paths=paths, name="evil.example")
    finally:
        server.shutdown()
        server.server_close()
    token = view.url.partition("token=")[2]
    address, _, fragment = saw["address"].partition("#")
    path = "/" + address.split("/", 3)[3]
    assert len(token) == 32 and token not in saw["address"] and fragment.startswith("sites?"), saw["address"]
    assert saw["known"] == [{"name": "silt", "path": path, "httpOnly": True, "sameSite": "Strict"}], saw["known"]
    assert saw["again"] == saw["back"] == saw["address"], "a reload and back are the page"
    assert [told[0] for told in server.told] == [*paths, "/second", "/left"], server.told
    for asked, cookies, referrer in server.told:
        assert "silt" not in cookies and token not in cookies and referrer == "", (asked, cookies, referrer)
        assert asked == "/" or cookies == "neighbour=1", "the browser did not send what it should, so that it sent no more says nothing"
    assert saw["attacks"] == {"cookies": "neighbour=1", "cors": "failed", "no-cors": "failed", "frame": "nothing"}, saw["attacks"]
    assert saw["rebound"] == 403 and saw["mine"] == ["neighbour"], saw


ODD = ("<script>window.ran=1;alert(1)</script>", "<img src=x onerror=window.ran=2>", "&lt;b&gt;&amp;{{7*7}}${7*7}", "=cmd|' /C calc'!A0")


def test_names(t):
    """Names that are markup, script, bidi controls, very long or not UTF-8 are text in every view."""
    here = os.path.dirname(os.path.abspath(__file__))
    folder = t.path("a<img src=x onerror=window.ran=6>")
    os.mkdir(folder)
    program = os.path.join(folder, "p<u>")
    includes = os.path.join(here, "../../include")
    for argv in (["-g", "-c", os.path.join(here, "odd_files.c"), "-o", t.path("files.o")],
                 ["-pthread", "-I", includes, os.path.join(here, "odd_names.c"), t.path("files.o"), "-o", program]):
        r = run(["gcc", "-O1", *argv])
        assert r.code == 0, r.errors
    trace = recorded(t, program, "<script>window.ran=5</script>")
    with View(t, trace) as view:
        saw, _ = browse(t, "names", view.url, may_err=True)
    for view_name, one in saw["seen"].items():
        assert one["foreign"] == 0 and one["ran"] is None, f"{view_name}: {one}"
        assert one["bidi"] == 0, f"{view_name}: {one['bidi']} bidi controls"
        assert one["wide"] <= 0, f"{view_name}: {one['wide']} px wider than the window"
        assert "<script>window.ran=5</script>" in one["text"], f"{view_name}: the command is not there"
    names = {row[0] for row in saw["rows"][1:]}
    for name in ODD:
        assert name in names, (name, names)


def test_frames(t):
    """A table of 100,000 rows and a flame graph move. At 60 frames a second there are 16 ms for each: bench/page.py says how many of them are
    used on a quiet machine; here, where others are at work, it must not be much more."""
    many = t.context.helpers.build("many_paths", ["many_paths.c"])
    trace = recorded(t, many, "100000")
    with View(t, trace) as view:
        saw, _ = browse(t, "frames", view.url, rows=100000, frames=30)
    assert saw["boxes"] >= 100000, saw
    assert saw["count"].endswith(" of 100,000") and saw["count"] != saw["scrolled"], saw
    for what in ("table", "flame"):
        t.notes.append(f"{what}: {saw[what]['per_s']:.0f} frames a second, {saw[what]['cpu_ms']:.1f} ms for each")
        assert 0 < saw[what]["cpu_ms"] < 33 and saw[what]["per_s"] > 3, saw


UNNAMED = """
#include <stdlib.h>
#include <string.h>
void *kept[64];
static __attribute__((noinline)) void *hidden(int i) { void *p = malloc(1000 + i); memset(p, 1, 1000); return p; }
__attribute__((noinline)) void *shown(int i) { void *p = hidden(i); kept[i] = p; return p; }
static __attribute__((noinline)) void *other(int i) { return kept[i] = malloc(10); }
int main(void) { for (int i = 0; i < 32; i++) shown(i); for (int i = 32; i < 64; i++) other(i); return 0; }
"""


def built(t, name, text, *options):
    source, program = t.path(f"{name}.c"), t.path(name)
    with open(source, "w", encoding="ascii") as f:
        f.write(text)
    r = run(["gcc", "-O1", *options, source, "-o", program])
    assert r.code == 0, r.errors
    return program


def test_unnamed(t):
    """Code without a name is a row, a frame and a filter like any other: its figures are its own, and no link is a dead end."""
    program = built(t, "unnamed", UNNAMED, "-rdynamic")
    assert run(["strip", "-s", program]).code == 0
    trace = recorded(t, program)
    with View(t, trace) as view:
        saw, _ = browse(t, "unnamed", view.url)
    assert saw["label"].startswith("unnamed+0x"), saw["rows"]
    at = saw["rows"][0].index("allocated")
    row = next(row for row in saw["rows"] if row[0] == saw["label"])
    assert int(row[at]) == sum(1000 + i for i in range(32)), saw["rows"]
    assert saw["detail"]["name"] == saw["label"], saw["detail"]
    assert saw["detail"]["sentence"].startswith(size_text(int(row[at]))), (saw["detail"], row)
    assert saw["filtered"].startswith(f"= {size_text(int(row[at]))}"), saw["filtered"]
    assert any(frame["name"].startswith("unnamed+0x") for frame in saw["frames"]), saw["frames"]
    for frame in saw["frames"]:
        assert frame["refusals"] == 0 and not frame["sentence"].startswith("0 B"), frame
    function = saw["blocks"][0].index("function")
    have = {one[function] for one in saw["blocks"][1:]}
    assert saw["label"] in have and not {"__libc_start_main", "_start"} & have, have


def test_alone(t):
    """A page in one file offers nothing that it refuses; of a program that allocates nothing every view says so."""
    page = t.path("t.html")
    assert t.silt.command("html", recorded(t, t.program("fork_tree")), "-o", page).code == 0
    saw, _ = browse(t, "alone", "file://" + page, offline=True)
    for view, one in saw["views"].items():
        assert one["refusals"] == 0 and len(one["text"]) > 20, f"{view}: {one}"
        assert not {"Process", "stack by"} & set(one["selects"]), f"{view}: {one['selects']}"
        assert not {"+ filter", "First half, second half"} & set(one["buttons"]), f"{view}: {one['buttons']}"
    assert "silt view" in saw["views"]["compare"]["text"] and "silt view" in saw["views"]["blocks"]["text"]
    for one in saw["details"]:
        assert one["refusals"] == 0, one
    assert all(one["text"] for one in saw["details"] if one["group"] in ("site", "function", "module")), saw["details"]
    trace = recorded(t, built(t, "empty", "int main(void) { return 0; }\n"), name="empty.silt")
    with View(t, trace) as view:
        saw, _ = browse(t, "alone", view.url)
    for view_name in ("tree", "sites", "source", "blocks"):
        text = saw["views"][view_name]["text"]
        assert "made no allocation" in text and saw["views"][view_name]["refusals"] == 0, f"{view_name}: {text}"
    for view_name, one in saw["views"].items():
        assert "--" not in one["text"] and "NEW" not in one["text"], f"{view_name}: {one['text']}"
