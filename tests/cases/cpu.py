# SPDX-License-Identifier: MIT
"""`silt cpu run` against programs that know by their own clocks what each of their functions spent and waited (cpu_truth.c), and
against itself: every view has the same sums.

Bounds: a function that has the share p of n samples is expected within 4 standard errors of the binomial, sqrt(n p (1 - p)), and a
hundredth of all for what the program does beside. The sum of all samples is held against the kernel's own count within a tenth:
a late timer is a sample less, and a thread's last fraction of a millisecond has none."""

import collections
import contextlib
import glob
import json
import math
import os
import re
import shutil
import signal
import subprocess
import time

from harness.cases import skip
from harness.chunks import chunk_ends
from harness.process import find_by_argument, give_up, run

MS = 1_000_000


def program(t):
    return t.context.helpers.build("cpu_truth", ["cpu_truth.c"])


def argv_of(t, trace, argv, options=()):
    return [t.silt.path, "cpu", "run", "-q", "-f", *options, "-o", trace, "--", *argv]


def needs_samples(r):
    if r.code in (2, 125) and re.search("perf.event", r.errors):
        skip("the kernel does not let us sample: " + r.errors.strip())


def record(t, *argv, options=(), code=0, cwd=None):
    """The trace, and what the program told."""
    trace = t.path("t.silt")
    r = run(argv_of(t, trace, argv, options), cwd=cwd)
    needs_samples(r)
    assert r.code == code and r.errors == "", f"{r.code}: {r.errors}"
    v = t.silt.command("verify", trace)
    assert v.code == 0, v.text + v.errors
    return trace, {words[0]: int(words[1]) for words in map(str.split, r.text.splitlines()) if len(words) == 2}


def paths(t, trace, metric="cpu", *options):
    """[(functions, outermost first; ns)]"""
    out = t.path("folded")
    r = t.silt.command("export", "-f", trace, "--format", "folded", "--by", metric, "--process", "all", "-o", out, *options)
    assert r.code == 0, r.errors
    with open(out, encoding="utf-8") as f:
        return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in f if line.strip()]


STATES = {"cpu-clock": "cpu", "offcpu-time": "blocked", "ready-time": "ready"}


def ticks(t, trace, *options):
    """Every single one, in the order of time."""
    out = t.path("script")
    r = t.silt.command("export", "-f", trace, "--format", "perf-script", "-o", out, *options)
    assert r.code == 0, r.errors
    found = []
    with open(out, encoding="utf-8") as f:
        for line in f:
            head = re.match(r"(\S+) (\d+)/(\d+) (\d+\.\d{6}): +(\d+) ([\w-]+):$", line)
            if head:
                found.append({"thread": head[1], "pid": int(head[2]), "tid": int(head[3]), "time_s": float(head[4]), "ns": int(head[5]),
                              "state": STATES[head[6]], "functions": []})
            elif line.strip():
                found[-1]["functions"].append(line.split(None, 1)[1].rsplit(" (", 1)[0])
    return sorted(found, key=lambda x: x["time_s"])


def sums_by(rows, key):
    sums = collections.Counter()
    for row in rows:
        sums[row[key]] += row["ns"]
    return sums


def with_callees(rows):
    """By function, each call path once."""
    sums = collections.Counter()
    for functions, ns in rows:
        for function in set(functions):
            sums[function] += ns
    return sums


def total(rows):
    return sum(ns for _, ns in rows)


def near_all(rows, told):
    got, own = total(rows), told["all"]
    assert abs(got - own) <= own / 10 + 20 * MS, f"{got / MS:.0f} ms were sampled, the program says {own / MS:.0f} ms"
    assert unseen_ns(rows) <= own / 10 + 20 * MS, f"{unseen_ns(rows) / MS:.0f} of {got / MS:.0f} ms have no call path"


def with_paths(rows):
    """What a thread ran while timers were late has none: docs/cpu.md."""
    return [(functions, ns) for functions, ns in rows if functions != ["unknown"]]


def unseen_ns(rows):
    return total(rows) - total(with_paths(rows))


def near(sums, told, all_ns, *functions):
    """Shares, so that a sample that is missing takes from all alike."""
    for function in functions:
        got, p = sums[function] / all_ns, told[function] / told["all"]
        error = 4 * math.sqrt(p * (1 - p) / (all_ns / MS)) + 0.01
        assert abs(got - p) <= error, f"{function}: {100 * got:.1f} % of the samples, {100 * p:.1f} % of the time, not within {100 * error:.1f}"


# ---- where the time goes --------------------------------------------------------------------------


NAMED = """
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
static uint64_t cpu_ns(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
#define SPIN(name) __attribute__((noinline)) void name(void) { uint64_t end = cpu_ns() + 60000000; do for (volatile int i = 0; i < 9999; i++); while (cpu_ns() < end); }
SPIN(mi_solve_rows) SPIN(je_render) SPIN(tc_parse) SPIN(tcache_of_tiles) SPIN(_int_sum) SPIN(scalable_blur) SPIN(parse_block)
int main(void) {
    mi_solve_rows(); je_render(); tc_parse(); tcache_of_tiles(); _int_sum(); scalable_blur(); parse_block();
    uint64_t end = cpu_ns() + 200000000;
    while (cpu_ns() < end) for (int i = 0; i < 1000; i++) { void *volatile p = malloc(3000); free(p); }
}
"""


def test_names_like_those_of_allocators(t):
    """A program's own functions are the program's, whatever their names begin with; an allocator's are told by their library."""
    source, named = t.path("named.c"), t.path("named")
    with open(source, "w", encoding="utf-8") as f:
        f.write(NAMED)
    assert run(["gcc", "-O1", "-g", "-fno-builtin", source, "-o", named]).code == 0
    for library in "", *glob.glob("/usr/lib/*/libjemalloc.so.2"):
        trace, _ = record(t, "env", f"LD_PRELOAD={library}", named)
        spent = json.loads(t.silt.command("report", trace, "--json").stdout)["time"]["spent_on"]
        # late timers move time from one function to the next, and no time to an allocator that is none
        assert spent["program_ns"] >= 7 * 40 * MS and spent["allocator_ns"] >= 100 * MS and spent["program_ns"] > spent["allocator_ns"], spent


def test_known_splits(t):
    trace, told = record(t, program(t), "split", "40")
    rows = paths(t, trace)
    near_all(rows, told)
    rows = with_paths(rows)
    sums = with_callees(rows)
    near(sums, told, total(rows), "left", "right", "spend_much", "spend_some", "spend_little")
    near(with_callees([r for r in rows if "left" in r[0]]), {"spend_much": told["left"], "all": told["all"]}, total(rows), "spend_much")
    # nobody but main calls, and nobody is lost on the way
    assert sums["main"] >= 0.98 * total(rows), sums.most_common(8)


def test_windows_add_up(t):
    """Any two parts of the time have what the whole has, and the first half is the first function's."""
    trace, told = record(t, program(t), "phases", "250")
    report, why = t.silt.report(trace, "--by", "cpu")
    assert report, why
    whole = with_callees(paths(t, trace))
    for _ in range(3):
        cut = f"{int(t.chance.uniform(0.05, 0.95) * report['duration_s'] * 1000)}ms"
        parts = with_callees(paths(t, trace, "cpu", "--to", cut)) + with_callees(paths(t, trace, "cpu", "--from", cut))
        assert parts == whole, f"{cut}: {(parts - whole).most_common(3)} {(whole - parts).most_common(3)}"
    near(whole, told, whole["main"], "spend_much", "spend_some")
    all_ticks = [x for x in ticks(t, trace) if x["state"] == "cpu"]
    at = {f: [x["time_s"] for x in all_ticks if f in x["functions"]] for f in ("spend_much", "spend_some")}
    # what timers were late for in the first is told by samples of the second, if it was at its end
    early = sum(x < max(at["spend_much"]) for x in at["spend_some"])
    assert early <= 0.02 * len(all_ticks) + 5, f"{early} of {len(at['spend_some'])} before {max(at['spend_much'])}"
    period = collections.Counter(x["ns"] for x in all_ticks).most_common(1)[0][0]
    busy = collections.Counter(int(1000 * (x["time_s"] - part * period / 1e9)) for x in all_ticks for part in range(max(1, round(x["ns"] / period))))
    crowded = sum(n - 2 for n in busy.values() if n > 2)
    assert crowded <= 0.02 * len(all_ticks) + 5, f"one thread has more than a CPU: {busy.most_common(5)}"


def test_recursion(t):
    """A function that calls itself counts once; a stack that is larger than the copy is cut, and it is said."""
    for shape, depth in (("narrow", 150), ("wide", 200)):
        trace, told = record(t, program(t), shape, str(depth))
        rows = paths(t, trace)
        near_all(rows, told)
        rows = with_paths(rows)
        near(with_callees(rows), told, total(rows), shape, "spend_deep")
        deep = [(functions, ns) for functions, ns in rows if "spend_deep" in functions]
        whole = sum(ns for functions, ns in deep if functions.count(shape) == depth and "main" in functions)
        notes = t.silt.command("sql", trace, "SELECT text FROM notes").text
        if shape == "narrow":
            assert whole >= 0.95 * total(deep), f"{100 * whole / max(total(deep), 1):.1f} % of the call paths have all {depth} calls"
        else:
            # 2 KiB each: 60 KiB of them
            assert whole == 0 and all(functions.count(shape) >= 2 for functions, _ in deep), deep[:2]
            assert "outermost frames are missing" in notes, notes


def test_callers_of_deep_stacks(t):
    """Who called a deep stack is not told by what lies there later: nobody has more than the program says."""
    trace, told = record(t, program(t), "callers", "40")
    rows = paths(t, trace)
    near_all(rows, told)
    rows = with_paths(rows)
    sums = with_callees(rows)
    near(sums, told, total(rows), "spend_deep")
    for function in ("deep_left", "deep_right"):
        p = told[function] / told["all"]
        most = p + 4 * math.sqrt(p * (1 - p) / (total(rows) / MS)) + 0.01
        assert sums[function] <= most * total(rows), f"{function}: {100 * sums[function] / total(rows):.1f} % of the samples, {100 * p:.1f} % of the time"


# ---- threads and processes ------------------------------------------------------------------------


def test_short_threads(t):
    """Two milliseconds each: the last part of one, which no timer saw the end of, may be missing."""
    n = 150
    trace, told = record(t, program(t), "short", str(n))
    rows = paths(t, trace)
    sums = with_callees(rows)
    low, high = told["spend_short"] - n * MS - unseen_ns(rows), told["spend_short"] * 1.1 + 20 * MS
    assert low <= sums["spend_short"] <= high, f"{sums['spend_short'] / MS:.0f} ms, not {low / MS:.0f} to {high / MS:.0f}"
    seen = {x["tid"] for x in ticks(t, trace) if "spend_short" in x["functions"]}
    assert len(seen) >= 0.95 * n, f"{len(seen)} of {n} threads have samples"


def test_five_hundred_threads(t):
    n = 500
    trace, told = record(t, program(t), "crowd", str(n))
    rows = paths(t, trace)
    sums = with_callees(rows)
    low, high = told["spend_crowd"] - n * MS - unseen_ns(rows), told["spend_crowd"] * 1.1 + 20 * MS
    assert low <= sums["spend_crowd"] <= high, f"{sums['spend_crowd'] / MS:.0f} ms, not {low / MS:.0f} to {high / MS:.0f}"
    names = {x["thread"] for x in ticks(t, trace)}
    seen = sum(f"crowd-{i}" in names for i in range(n))
    assert seen >= 0.95 * n, f"{seen} of {n} threads have samples under their names"


def test_forks(t):
    """Children and theirs, each with its own samples."""
    n = 8
    trace, told = record(t, program(t), "forks", str(n))
    rows = paths(t, trace)
    near_all(rows, told)
    near(with_callees(rows), told, total(with_paths(rows)), "spend_child")
    each = sums_by(ticks(t, trace, "--by", "cpu"), "pid")
    busy = [pid for pid, ns in each.items() if ns >= 10 * MS]
    assert len(busy) == 2 * n, f"{len(busy)} processes have at least 10 ms, not {2 * n}: {each}"
    assert each.total() == total(rows), "the processes' sums are not the sum of all"


# ---- waiting --------------------------------------------------------------------------------------


def test_waits(t):
    """From when it began until what it waited for came, and no longer than until it ran again."""
    trace, told = record(t, program(t), "waits")
    sums = with_callees(paths(t, trace, "blocked"))
    for function in ("wait_locked", "wait_reading", "wait_sleeping"):
        low, high = told[function + "_least"] * 0.98 - MS, told[function] + MS
        assert low <= sums[function] <= high, f"{function}: {sums[function] / MS:.1f} ms blocked, not {low / MS:.1f} to {high / MS:.1f}"
    near_all(paths(t, trace), told)
    assert sums["spend_some"] <= 20 * MS, f"{sums['spend_some'] / MS:.1f} ms blocked in a function that only computes"


def test_waits_of_different_lengths(t):
    """What the kernel does not sample goes to waits of its own length: short ones have no more than the program says, and the others nearly
    all that they took, where they have a call path."""
    trace, told = record(t, program(t), "mixed", "150")
    rows = paths(t, trace, "blocked")
    sums = with_callees(rows)
    assert sums["wait_often"] <= 1.1 * told["wait_often"] + 20 * MS, (sums, told)
    unknown = sum(ns for functions, ns in rows if not {"main", "echo"} & set(functions))
    low, high = 0.7 * told["wait_sleeping"] - unknown, 1.3 * told["wait_sleeping"]
    assert 0 < sums["wait_sleeping"] and low <= sums["wait_sleeping"] <= high, (sums["wait_sleeping"], low, high, unknown)


def test_waits_without_end(t):
    """However often threads wait, so many stacks are copied and walked: the program pays for each. All waits are counted all the same."""
    n = 200_000
    trace, told = record(t, program(t), "pingpong", str(n))
    report, why = t.silt.report(trace)
    assert report, why
    notes = t.silt.command("sql", trace, "SELECT text FROM notes WHERE text LIKE 'call paths of samples%'")
    walks = sum(int(x.replace(",", "")) for x in re.findall(r"([0-9,]+) (?:complete|cut|guessed|lost)", notes.text))
    clock = total(paths(t, trace)) / MS
    # 5,000 of a second, one of 101 beyond that, and what a late recorder lets come
    most = clock + 10_000 * report["duration_s"] + 4 * n / 101 + 10_000
    assert 0 < walks <= most, (walks, most)
    assert most < n, "the program is too short to tell"
    if "lost: the recorder was late" in t.silt.command("sql", trace, "SELECT text FROM notes").text:
        skip("the recorder had no processor")
    assert 0.98 * told["switches"] <= report["time"]["blocked_waits"] <= 1.02 * told["switches"] + 50, (report["time"]["blocked_waits"], told)
    sums = with_callees(paths(t, trace, "blocked"))
    assert sums["wait_often"] <= 1.1 * told["wait_often"] + 20 * MS, (sums, told)


# ---- code that is made as it runs ------------------------------------------------------------------

NODE = """
function hotMuch(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 1103515245 + 12345) % 2147483648; return x; }
function hotSome(n) { let x = 1.5; for (let i = 0; i < n; i++) x = Math.sqrt(x + i); return x; }
const spent = { hotMuch: 0, hotSome: 0 };
const now = () => { const u = process.cpuUsage(); return (u.user + u.system) * 1000; };
function turn(f, n) { const begin = now(); f(n); spent[f.name] += now() - begin; }
hotMuch(100000); hotSome(100000);
while (spent.hotMuch < 400e6) { turn(hotMuch, 2000000); turn(hotSome, 1000000); }
console.log("hotMuch " + spent.hotMuch + "\\nhotSome " + spent.hotSome + "\\nall " + now());
"""


def test_node(t):
    """JIT code has names by its map."""
    if not shutil.which("node"):
        skip("there is no node")
    script = t.path("hot.js")
    with open(script, "w") as f:
        f.write(NODE)
    trace, told = record(t, "node", "--perf-basic-prof", "--no-turbo-inlining", script, cwd=t.dir)
    pid = t.silt.report(trace)[0]["pid"]
    if os.path.exists(f"/tmp/perf-{pid}.map"):
        os.unlink(f"/tmp/perf-{pid}.map")
    rows = paths(t, trace)
    near_all(rows, told)
    sums = collections.Counter()
    for functions, ns in rows:
        for name in ("hotMuch", "hotSome"):
            sums[name] += ns * any(name in f for f in functions)
    near(sums, told, total(with_paths(rows)), "hotMuch", "hotSome")


def test_node_without_a_map(t):
    """Whose names are missing is told by where the time went, and what gives them is no package of node's."""
    if not shutil.which("node"):
        skip("there is no node")
    script = t.path("hot.js")
    with open(script, "w") as f:
        f.write(NODE)
    trace, _ = record(t, "node", script, cwd=t.dir)
    text = " ".join(t.silt.command("report", trace).text.split())
    assert "node --perf-basic-prof" in text and "dbgsym" not in text, text[-1500:]


def test_no_waits_are_said(t):
    trace, _ = record(t, "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    report, why = t.silt.report(trace, "--by", "blocked")
    assert report, why
    n_waits = len(paths(t, trace, "blocked"))
    said = "has no waits of that time" in " ".join(t.silt.command("report", trace, "--by", "blocked").text.split())
    assert said == (n_waits == 0), n_waits


# ---- ends -----------------------------------------------------------------------------------------


def test_program_is_killed(t):
    trace, told = record(t, program(t), "killed", code=128 + signal.SIGKILL)
    sums = with_callees(paths(t, trace))
    assert abs(sums["spend_forever"] - told["spend_forever"]) <= told["spend_forever"] / 10 + 20 * MS, (sums, told)
    assert t.silt.report(trace)[0]["ended"] == "signal"


def first_line(process, deadline):
    line = process.stdout.readline()
    while not line.startswith(b"ready"):
        give_up(deadline, "the program does not begin")
        line = process.stdout.readline()
    return int(line.split()[1])


def wait_until(deadline, what, is_so):
    while not is_so():
        give_up(deadline, what)
        time.sleep(0.05)


def has_samples(t, trace):
    r = t.silt.command("export", "-f", trace, "--format", "folded", "--by", "cpu", "-o", t.path("look"))
    return r.code == 0 and os.path.getsize(t.path("look")) > 0


def test_recorder_is_killed(t):
    """What it wrote is there, and the program never knows."""
    trace, stop = t.path("t.silt"), t.path("stop")
    deadline = time.monotonic() + 60
    needs_samples(run(argv_of(t, trace, ["true"])))
    with subprocess.Popen(argv_of(t, trace, [program(t), "until", stop]), stdout=subprocess.PIPE, start_new_session=True) as silt:
        t.running.append(silt)
        pid = first_line(silt, deadline)
        wait_until(deadline, "nothing was written", lambda: has_samples(t, trace))
        doomed = find_by_argument(trace)
        assert silt.pid in doomed and len(doomed) > 1 and pid not in doomed, doomed
        for x in doomed:
            with contextlib.suppress(ProcessLookupError):  # it went with the one before
                os.kill(x, signal.SIGKILL)
        silt.wait()
        assert state_of(pid) in "RSD", "the program went with them"
        with open(stop, "w"):
            pass
        wait_until(deadline, "the program does not end", lambda: state_of(pid) == "Z")
    assert total(paths(t, trace)) > 0
    r = t.silt.command("symbolize", trace)  # names are looked up at a recording's end
    assert r.code == 0, r.errors
    assert with_callees(paths(t, trace))["spend_forever"] >= 0.9 * total(paths(t, trace))
    v = t.silt.command("verify", trace)
    assert v.code in (0, 1) and v.errors == "", f"{v.code}: {v.errors}"


def test_cut_before_a_slice(t):
    """Samples whose slice is not there yet would be of a time that is not there either: they are not told."""
    trace, cut = record(t, program(t), "split", "4", options=["--no-symbols"])[0], t.path("cut.silt")
    with open(trace, "rb") as f:
        whole = f.read()
    chunks = list(chunk_ends(whole))
    cuts = [i for i, (kind, _) in enumerate(chunks) if kind == "TICK"]
    for i in cuts[:3] + cuts[-1:]:
        reports = []
        for _, end in chunks[i - 1 : i + 1]:
            with open(cut, "wb") as f:
                f.write(whole[:end])
            reports.append(t.silt.report(cut)[0])
        before, after = reports
        assert after["headline"] == before["headline"] and after["totals"] == before["totals"], (i, before["headline"], after["headline"])
    assert cuts, "nothing was cut there"


def state_of(pid):
    """One that is gone is a zombie too."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_attach(t):
    """Samples of what runs already; the program goes on and ends as ever."""
    trace, stop = t.path("t.silt"), t.path("stop")
    with subprocess.Popen([program(t), "until", stop], stdout=subprocess.PIPE, start_new_session=True) as target:
        t.running.append(target)
        pid = first_line(target, time.monotonic() + 60)
        r = t.silt.command("cpu", "attach", "-q", "-f", "-o", trace, "--duration", "500ms", str(pid))
        with open(stop, "w"):
            pass
        target.wait()
        assert target.returncode == 17, target.returncode
    needs_samples(r)
    assert r.code == 0, r.errors
    rows = paths(t, trace)
    sums = with_callees(rows)
    assert total(rows) > 0 and sums["spend_forever"] >= 0.9 * total(rows) and sums["main"] >= 0.9 * total(rows), sums.most_common(5)


# ---- every view has the same ----------------------------------------------------------------------


def test_views_agree(t):
    trace, _ = record(t, program(t), "waits")
    for metric in ("cpu", "blocked"):
        rows = paths(t, trace, metric)
        report, why = t.silt.report(trace, "--by", metric, "--top", "100000", "--process", "all")
        assert report, why
        top = report["top"][0]
        assert top["metric"] == metric, top["metric"]
        figures = {"folded": total(rows), "report": sum(s["time_ns"] for s in top["sites"]),
                   "ticks": sum(x["ns"] for x in ticks(t, trace) if x["state"] == metric)}
        assert len(set(figures.values())) == 1 and figures["folded"] > 0, f"{metric}: {figures}"


def test_passes_through(t):
    """Its input, output and status are the program's own."""
    trace = t.path("t.silt")
    r = run(argv_of(t, trace, ["sh", "-c", "cat; echo err >&2; exit 9"]), stdin=b"in\n")
    needs_samples(r)
    assert (r.code, r.stdout, r.stderr) == (9, b"in\n", b"err\n"), (r.code, r.stdout, r.stderr)
    r = run(argv_of(t, trace, ["/nowhere/at/all"]))
    assert r.code == 127 and len(r.errors.splitlines()) == 1, (r.code, r.errors)
