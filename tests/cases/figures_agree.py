# SPDX-License-Identifier: MIT
"""One figure, one value: the API and the command line, one process and all of them, the text and the JSON."""

import signal
import time
import urllib.parse

from harness.process import in_time
from harness.served import Served

METRICS = ("peak", "end", "allocated", "count", "temporary", "growth")
GROUPS = ("site", "function", "module", "line", "crate", "component", "thread", "size", "process")
HOSTILE = "a\u202eb\nc"


def record(t, program="fork_tree", argv=()):
    r = t.silt.record(t.path("t.silt"), [t.program(program), *argv])
    assert r.code == 0, r.errors
    return t.path("t.silt")


def report(t, trace, *options):
    got, why = t.silt.report(trace, *options)
    assert got, why
    return got


def drawn_request(chance, whole):
    """Keys as a URL and as options have them; some are wrong, and both must say so alike."""
    end_ms = max(1, int(whole["duration_s"] * 1000))
    words = ["all", "main", *(str(p["pid"]) for p in whole["processes"])]
    keys = {"process": chance.choice(words)}
    if chance.random() < 0.6:
        keys["from"] = f"{chance.randrange(0, end_ms + end_ms // 4 + 1)}ms"
    if chance.random() < 0.5:
        keys["to"] = f"{chance.randrange(0, end_ms * 2)}ms"
    if chance.random() < 0.6:
        keys["by"] = chance.choice(METRICS)
    if chance.random() < 0.3:
        keys["size"] = f"{chance.randrange(1, 200)}.."
    if chance.random() < 0.3:
        keys["function"] = chance.choice(["main", "^m", "no_such_function"])
    if chance.random() < 0.3:
        keys["top"] = str(chance.randrange(0, 9))
    shape = chance.choice(["", "", "group-by", "tree", "bottom-up", "histogram"])
    if shape:
        keys[shape] = {"group-by": chance.choice(GROUPS), "histogram": "size"}.get(shape)
    return keys


def options_of(keys):
    return [word for key, value in keys.items() for word in (["--" + key] if value is None else ["--" + key, value])]


def url_of(keys):
    return "&".join(key if value is None else f"{key}={urllib.parse.quote(value)}" for key, value in keys.items())


def test_api_and_command_line(t):
    """Requests drawn by chance: the same document, or refused with the same words."""
    trace = record(t)
    whole = report(t, trace, "--process", "all")
    s = Served(t, [t.silt.path, "view", trace, "--no-browser"])
    n_answered = 0
    for _ in range(t.count(25, 500)):
        keys = drawn_request(t.chance, whole)
        answer = s.get("/api/1/report?" + url_of(keys))
        got, why = t.silt.report(trace, *options_of(keys))
        if got is None:
            assert answer.status in (400, 404) and answer.json["error"] in why, (keys, why, answer.status, answer.body[:300])
        else:
            assert answer.status == 200 and answer.json == got, (keys, answer.status)
            n_answered += 1
    assert n_answered, "nothing was answered"
    assert s.end() == 0


def test_processes_that_ended(t):
    """A process peaks before it ends, and holds nothing in a window after its end; to ask for it alone there is refused."""
    trace = record(t)
    whole = report(t, trace, "--process", "all")
    for p in whole["processes"]:
        assert p["totals"]["peak_at_s"] <= p["end_s"], p
    ends = sorted(p["end_s"] for p in whole["processes"])
    assert ends[0] < ends[-1], ends
    first = next(p for p in whole["processes"] if p["end_s"] == ends[0])
    after = f"{(ends[0] + (ends[-1] - ends[0]) / 2) * 1e6:.0f}us"
    window = report(t, trace, "--process", "all", "--from", after)
    gone = next(p for p in window["processes"] if p["pid"] == first["pid"] and p["end_s"] == first["end_s"])
    assert gone["totals"]["peak_live_bytes"] == 0 and gone["totals"]["end_live_bytes"] == 0, gone
    r = t.silt.command("report", trace, "--process", str(first["pid"]), "--from", after)
    assert r.code == 2 and f"process {first['pid']} ended at" in r.errors, r.errors


def test_run_time(t):
    """Of one process and of all together, which is the same one: until it ended, not until the recorder noticed."""
    trace = record(t, "basic")
    one, all_of_them = report(t, trace), report(t, trace, "--process", "all")
    assert one["run_time_s"] == all_of_them["run_time_s"] == one["processes"][0]["end_s"], (one["run_time_s"], all_of_them["run_time_s"])
    lines = [[line.split("run time")[1].split("  ")[0:4] for line in t.silt.command("report", trace, *process).text.splitlines() if "run time" in line]
             for process in ((), ("--process", "main"))]
    assert lines[0] and lines[0] == lines[1], lines
    s = Served(t, [t.silt.path, "view", trace, "--no-browser"])
    assert s.ask("trace")["run_time_s"] == one["run_time_s"]
    assert s.end() == 0


def test_what_view_is_asked_for(t):
    """A window outside the trace is refused in the words of the report, before anything is served; while somebody waits for news, Ctrl-C ends it at once."""
    trace = record(t, "basic")
    for options in (("--from", "99h"), ("--process", "no_such_process"), ("--at", "99h")):
        r, v = t.silt.command("report", trace, *options), t.silt.command("view", trace, "--no-browser", *options, timeout_s=300)
        assert r.code == v.code == 2 and r.errors == v.errors, (r.errors, v.errors)
    s = Served(t, [t.silt.path, "view", trace, "--no-browser"])
    waiting = s.connect()
    waiting.sendall(s.head("/api/1/trace?since=1000&wait=30"))
    s.ask("trace")
    begin = time.monotonic()
    s.process.send_signal(signal.SIGINT)
    assert s.wait(20) == 0
    in_time(time.monotonic() - begin, 1, "the end after Ctrl-C")


def test_threads_say_what_they_lack(t):
    """Where a filter leaves no totals the answer says why; figures of samples are marked."""
    trace = record(t)
    s = Served(t, [t.silt.path, "view", trace, "--no-browser"])
    plain, filtered = s.ask("threads"), s.ask("threads?size=1..")
    assert plain["note"] is None and not plain["is_estimate"] and all(p["totals"] for p in plain["processes"]), plain["note"]
    assert "choose one process" in filtered["note"] and all(p["totals"] is None for p in filtered["processes"]), filtered["note"]
    word = plain["processes"][0]["word"]
    assert s.ask(f"threads?size=1..&process={word}")["note"] is None
    assert s.end() == 0
    r = t.silt.command("run", "-q", "--sample", "1K", "-o", t.path("s.silt"), "--", t.program("basic"))
    assert r.code == 0, r.errors
    s = Served(t, [t.silt.path, "view", t.path("s.silt"), "--no-browser"])
    sampled = s.ask("threads")
    assert sampled["is_estimate"] and "estimates" in sampled["note"], sampled["note"]
    assert s.end() == 0


def test_names_that_turn_text_around(t):
    """Neither a terminal nor a table sees control or bidi characters."""
    r = t.silt.command("run", "-q", "-o", t.path("n.silt"), "--", "/bin/sh", "-c", "exit 0", HOSTILE)
    assert r.code == 0, r.errors
    text = t.silt.command("report", t.path("n.silt")).text
    assert "a\\u{202e}b\\x0ac" in text and "\u202e" not in text, text[:300]
