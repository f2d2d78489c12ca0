# SPDX-License-Identifier: MIT
"""`silt export` of where the time went: what the reader of each format sums up is what silt says, for every thread, for time on a CPU
and for waits."""

import base64
import collections
import json
import math
import os
import re

from cases.cpu import MS, paths, program, record, sums_by, ticks, total, with_callees
from harness.browser import Browser
from harness.firefox_reader import FirefoxReader
from harness.peers import peers
from harness.process import run

GO = "/usr/bin/go" if os.path.exists("/usr/bin/go") else "go"
STATES = {"User": "cpu", "Kernel": "cpu", "Blocked": "blocked", "Ready": "ready"}


def export(t, trace, kind, *options):
    out = t.path("out." + kind)
    r = t.silt.command("export", "-f", trace, "--format", kind, "-o", out, *options)
    assert r.code == 0, f"{kind}: {r.errors}"
    return out


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def by_state(t, trace):
    """CPU time and waits as folded stacks have them."""
    return {metric: total(paths(t, trace, metric)) for metric in ("cpu", "blocked")}


# ---- the Firefox Profiler -------------------------------------------------------------------------


def check_thread(thread):
    for key in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable"):
        for name, column in thread[key].items():
            assert not isinstance(column, list) or len(column) == thread[key]["length"], f"{key}.{name}: {len(column)}"
    samples = thread["samples"]
    assert samples["time"] == sorted(samples["time"]), "times go back"
    assert all(p is None or p < thread["stackTable"]["length"] for p in thread["stackTable"]["prefix"])
    assert all(s is not None and s < thread["stackTable"]["length"] for s in samples["stack"])


def firefox_sums(profile):
    """{state: ns}, and by thread of its tid."""
    names = [c["name"] for c in profile["meta"]["categories"]]
    sums, threads = collections.Counter(), collections.Counter()
    for thread in profile["threads"]:
        check_thread(thread)
        assert thread["samples"]["weightType"] == "tracing-ms", thread["samples"]["weightType"]
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            ns = round(weight * 1e6)
            sums[STATES[names[thread["stackTable"]["category"][stack]]]] += ns
            threads[thread["tid"]] += ns
    return sums, threads


def test_firefox_has_every_tick(t):
    for argv in (("waits",), ("forks", "4"), ("crowd", "100")):
        trace, _ = record(t, program(t), *argv)
        profile = load(export(t, trace, "firefox"))
        sums, threads = firefox_sums(profile)
        ours = by_state(t, trace)
        assert {k: sums[k] for k in ours} == ours, f"{argv}: {sums}, not {ours}"
        assert threads == sums_by(ticks(t, trace), "tid"), f"{argv}: threads differ"
        deltas = sum(sum(thread["samples"]["threadCPUDelta"]) for thread in profile["threads"])
        assert deltas == ours["cpu"], f"{argv}: CPU deltas are {deltas}, not {ours['cpu']}"
        assert {lib for x in profile["threads"] for lib in x["resourceTable"]["lib"]} <= set(range(len(profile["libs"])))


def ms_of(text):
    number, unit = re.fullmatch(r"([\d.,]+)(ns|μs|µs|us|ms|s)", text).groups()
    return float(number.replace(",", "")) * {"n": 1e-6, "μ": 1e-3, "µ": 1e-3, "u": 1e-3, "m": 1, "s": 1e3}[unit[0]]


def test_firefox_reader_sums_up(t):
    """Its own functions of the first thread, CPU time alone."""
    trace, _ = record(t, program(t), "split", "20")
    ours = with_callees(paths(t, trace))
    with FirefoxReader(t, export(t, trace, "firefox", "--by", "cpu")) as reader:
        text = reader.ask("thread", "functions")
    found = {m[1]: ms_of(m[2]) for m in re.finditer(r"!(spend_\w+|left|right|main) .*?total: ([\d.,]+\S?s)\b", text, re.M)}
    for function in ("spend_much", "spend_some", "left", "right"):
        # it rounds what it prints
        assert function in found and math.isclose(found[function], ours[function] / MS, rel_tol=0.02, abs_tol=1), f"{function}: {found} {text[:1500]}"


def test_firefox_with_allocations(t):
    """One file: blocks and time of one process."""
    trace = t.path("t.silt")
    r = t.silt.command("run", "-q", "-f", "--cpu", "-o", trace, "--", program(t), "split", "10")
    assert r.code == 0, r.errors
    profile = load(export(t, trace, "firefox"))
    sums, _ = firefox_sums(profile)
    assert sums["cpu"] == by_state(t, trace)["cpu"] > 50 * MS, sums
    got, why = t.silt.report(trace)
    assert got, why
    weights = profile["threads"][0]["nativeAllocations"]["weight"]
    assert sum(w for w in weights if w > 0) == got["totals"]["bytes_allocated"] > 0, got["totals"]


# ---- speedscope -----------------------------------------------------------------------------------


def profiles_of(path):
    got = load(path)
    n_frames = len(got["shared"]["frames"])
    for p in got["profiles"]:
        assert len(p["samples"]) == len(p["weights"]) and p["endValue"] == sum(p["weights"]) > 0, p["name"]
        assert all(i < n_frames for s in p["samples"] for i in s)
        assert p["unit"] == "nanoseconds", p["unit"]
    return {p["name"]: p for p in got["profiles"]}, [f["name"] for f in got["shared"]["frames"]]


def test_speedscope(t):
    trace, _ = record(t, program(t), "waits")
    ours = by_state(t, trace)
    profiles, _ = profiles_of(export(t, trace, "speedscope"))
    assert profiles["CPU time"]["endValue"] == ours["cpu"] and profiles["blocked"]["endValue"] == ours["blocked"], ours
    threads = [p for name, p in profiles.items() if ", thread " in name]
    assert sum(p["endValue"] for p in threads) == ours["cpu"], list(profiles)
    only, _ = profiles_of(export(t, trace, "speedscope", "--by", "blocked"))
    assert "CPU time" not in only and only["blocked"]["endValue"] == ours["blocked"], list(only)
    # a thread's samples are in their order
    trace, _ = record(t, program(t), "phases", "100")
    profiles, names = profiles_of(export(t, trace, "speedscope"))
    thread = next(p for name, p in profiles.items() if ", thread " in name)
    at = {f: [i for i, s in enumerate(thread["samples"]) if any(names[x] == f for x in s)] for f in ("spend_much", "spend_some")}
    assert max(at["spend_much"]) < min(at["spend_some"]), at


def test_speedscope_opens_it(t):
    trace, _ = record(t, program(t), "split", "10")
    script = t.path("profile.js")
    with open(export(t, trace, "speedscope"), "rb") as f:
        content = base64.b64encode(f.read()).decode()
    with open(script, "w") as f:
        f.write(f"speedscope.loadFileFromBase64('t.speedscope.json', '{content}')")
    page = os.path.join(peers(t), "node_modules/speedscope/dist/release/index.html")
    with Browser(t.dir) as b:
        b.open(f"{page}#localProfilePath={script}")
        b.until("document.body.innerText.includes('CPU time (1/')")
        assert not b.problems(), b.problems()


# ---- pprof ----------------------------------------------------------------------------------------


def pprof_sums(path):
    r = run([GO, "tool", "pprof", "-symbolize=none", "-raw", path])
    assert r.code == 0, r.errors
    lines = r.text.splitlines()
    at = lines.index("Samples:")
    types = [x.split("[")[0] for x in lines[at + 1].split()]
    sums = [0] * len(types)
    for line in lines[at + 2:]:
        m = re.match(r"^ +((?:\d+ +)*\d+):", line)
        if m:
            sums = [a + int(b) for a, b in zip(sums, m[1].split())]
        elif line.startswith("Locations"):
            break
    return dict(zip(types, sums))


def test_pprof(t):
    trace, _ = record(t, program(t), "waits")
    ours = by_state(t, trace)
    both = pprof_sums(export(t, trace, "pprof"))
    assert list(both) == ["samples/count", "cpu/nanoseconds", "waits/count", "blocked/nanoseconds"], both
    assert (both["cpu/nanoseconds"], both["blocked/nanoseconds"]) == (ours["cpu"], ours["blocked"]), (both, ours)
    time = t.silt.report(trace)[0]["time"]
    assert (both["samples/count"], both["waits/count"]) == (time["cpu_samples"], time["blocked_waits"]) and both["waits/count"] > 3, (both, time)
    keys = list(both)
    assert pprof_sums(export(t, trace, "pprof", "--by", "cpu")) == {k: both[k] for k in keys[:2]}
    assert pprof_sums(export(t, trace, "pprof", "--by", "blocked")) == {k: both[k] for k in keys[2:]}
    top = run([GO, "tool", "pprof", "-symbolize=none", "-top", "-cum", "-unit=ms", "-sample_index=cpu", export(t, trace, "pprof")]).text
    m = re.search(r"([\d.]+)ms +[\d.]+%\s+spend_some", top)
    assert m and math.isclose(float(m[1]), with_callees(paths(t, trace))["spend_some"] / MS, rel_tol=0.02, abs_tol=1), top[:1000]


# ---- text -----------------------------------------------------------------------------------------


def test_perf_script(t):
    """Each tick, and the same again after it was read."""
    trace, _ = record(t, program(t), "waits")
    ours = by_state(t, trace)
    rows = ticks(t, trace)
    sums = sums_by(rows, "state")
    assert {k: sums[k] for k in ours} == ours, (sums, ours)
    assert all("main" in x["functions"] or "holder" in x["functions"] for x in rows if x["state"] == "blocked"), rows
    out = export(t, trace, "perf-script", "--by", "cpu")
    r = t.silt.command("export", "-f", out, "--format", "folded", "-o", t.path("again"))
    assert r.code == 0, r.errors
    with open(t.path("again")) as f:
        again = sum(int(line.rsplit(" ", 1)[1]) for line in f)
    assert again in (ours["cpu"], sum(x["state"] == "cpu" for x in rows)), (again, ours)


def test_others_refuse(t):
    """Formats of memory say so, in one line, and write nothing."""
    trace, _ = record(t, program(t), "split", "2")
    for kind in ("callgrind", "csv", "dhat", "gperftools", "heaptrack", "jeprof", "json", "massif", "perfetto", "sqlite"):
        out = t.path("no." + kind)
        r = t.silt.command("export", trace, "--format", kind, "-o", out)
        assert r.code == 2 and len(r.errors.splitlines()) == 1 and "time" in r.errors, f"{kind}: {r.code} {r.errors}"
        assert not os.path.exists(out), kind
    assert total(paths(t, trace)) > 0
