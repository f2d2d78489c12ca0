# SPDX-License-Identifier: MIT
"""Very many call paths, of threads that pass blocks on, forks, handlers and losses: of each of them the figures are known
(known_paths.c), and every one must be told, to the block."""

import csv
import io
import os
import re
import shutil
import signal
import time

from harness.watch import Recording, Throttle, n_events, one_line, whole

RECURSIONS = (0, 1, 5, 40, 250, 480, 800, 2500)  # as known_paths.c has them
N_COMPLETE = 6  # of these, the ones that a walk comes through
ORIGINS = {"step": 0, "release_due": 0, "on_thread_end": 14, "on_timer": 15}
BETWEEN = {"ask_on_path", "take", "take_nth"}  # not always functions of their own
CUT = "cut"
FIGURES = ("asked", "allocations", "bytes", "releasing", "frees", "temporary", "reallocations", "inherited")
COMPARED = ("allocations", "bytes", "frees", "temporary", "reallocations", "end_blocks")


def build(t, allocator=None):
    """The program, with the C library's allocator or with one whose addresses come again at once."""
    tools = t.context.helpers
    if allocator:
        tools.build("libslots.so", ["slots_lib.c"], shared=True)
    return tools.build("known_paths" + ("_slots" if allocator else ""), ["known_paths.c"],
                       link=["-Wl,--no-as-needed", "-lstdc++", *(["libslots.so"] if allocator else [])])


def truth_of(folder, pid):
    """Figures by call path: its digits, innermost first, and what called it. `sizes`: those that its forms have."""
    found = {}
    with open(os.path.join(folder, str(pid))) as f:
        for line in f:
            code, depth, _, origin, *figures = map(int, line.split())
            digits = "".join(str(code // 10**i % 10) for i in reversed(range(depth)))
            caller = origin if origin >= 8 or origin == 0 else CUT if origin >= N_COMPLETE else f"deeper {RECURSIONS[origin]}"
            row = found.setdefault((digits, caller), {**dict.fromkeys(FIGURES, 0), "sizes": set()})
            for name, value in zip(FIGURES, figures):
                row[name] += value
            if figures[1]:
                row["sizes"].add(figures[2] // figures[1])
    for row in found.values():
        row["end_blocks"] = row["inherited"] + row["allocations"] - row["frees"]
    return {key: row for key, row in found.items() if any(row[name] for name in ("asked", "releasing", "inherited"))}


def key_of(path):
    """The same of a call path as silt tells it; None: none of the program's."""
    frames = path.split(" < ")
    digits = re.match(r"(f\d < )*", " < ".join(frames) + " < ")[0].replace("f", "").replace(" < ", "")
    rest = [x for x in frames[len(digits):] if x not in BETWEEN]
    if not digits:
        return None
    n_deeper = next((i for i, x in enumerate(rest) if x != "deeper"), len(rest))
    if n_deeper == len(rest):
        return digits, CUT
    return digits, f"deeper {n_deeper}" if n_deeper else ORIGINS[rest[0]]


def told_of(t, trace, pid="main"):
    r = t.silt.command("sql", trace, "--csv", "--process", str(pid), "SELECT path, allocations, allocated_bytes AS bytes, frees, "
                       "temporary, reallocations, end_blocks FROM sites")
    assert r.code == 0, r.errors
    found = {}
    for site in csv.DictReader(io.StringIO(r.text)):
        key = key_of(site["path"])
        if key:
            row = found.setdefault(key, dict.fromkeys(COMPARED, 0))
            for name in COMPARED:
                row[name] += int(site[name])
    return found


def compare(truth, told, names=COMPARED):
    wrong = [f"{key}: {name} {got}, not {want}" for key in {**truth, **told}
             for name in names
             for want, got in [(truth.get(key, {}).get(name, 0), told.get(key, {}).get(name, 0))] if want != got]
    assert not wrong, f"{len(wrong)} figures of {len(truth)} call paths: " + "; ".join(wrong[:5])


def check_sizes(truth, told):
    """Where events are missing: of none more than there were, and no block on a path that is not its own."""
    for key, row in told.items():
        assert key in truth, f"{key} never allocated: {row}"
        assert row["allocations"] <= truth[key]["asked"] and row["bytes"] <= truth[key]["bytes"], f"{key}: {row}, not {truth[key]}"
        if len(truth[key]["sizes"]) == 1:
            size = next(iter(truth[key]["sizes"]))
            assert row["bytes"] == size * row["allocations"], f"{key}: {row}, each of {size} bytes"


def arguments(t, folder="truth", allocator=None, **options):
    shutil.rmtree(t.path(folder), ignore_errors=True)
    os.makedirs(t.path(folder))
    return [build(t, allocator), t.path(folder), *(f"{k}={v}" for k, v in {"seed": t.chance.randrange(1 << 30), **options}.items())]


def check_whole(t, trace, folder="truth", names=COMPARED):
    """Nothing is missing, every path of every process is right. Returns how many there are."""
    report = whole(t, trace)
    n_paths = 0
    for process in report["processes"]:
        totals = process["totals"]
        for name in ("lost_events", "unknown_frees", "implicit_frees", "prior_frees", "wrong_size_frees"):
            assert totals[name] == 0, f"{name}: {totals}"
        if not os.path.exists(os.path.join(folder, str(process["pid"]))):
            continue  # it did nothing
        truth = truth_of(folder, process["pid"])
        compare(truth, told_of(t, trace, process["pid"]), names)
        n_paths += len(truth)
    assert n_paths and len(os.listdir(folder)) == sum(os.path.exists(os.path.join(folder, str(p["pid"]))) for p in report["processes"])
    return n_paths


def check_run(t, allocator=None, options=(), names=COMPARED, **how):
    trace = t.path("t.silt")
    r = t.silt.record(trace, arguments(t, allocator=allocator, **how), ["-f", *options])
    assert r.code == 0 and not r.errors, f"{r.code}: {r.errors}"
    n_paths = check_whole(t, trace, t.path("truth"), names)
    t.notes.append(f"{n_paths:,} call paths")
    return trace


def test_in_turn(t):
    """Tens of thousands of paths one after the other, more than anything that remembers them holds."""
    check_run(t, steps=70000, paths=34000, reallocs=1)


def test_few(t):
    """So few that every one is remembered, at every age a block may have."""
    check_run(t, steps=40000, paths=150, reallocs=1)


def test_at_the_edge(t):
    """About as many as places to remember them in, whatever their number is."""
    for paths in (510, 2050, 250, 1030, 4100)[:t.count(2, 5)]:
        check_run(t, steps=25000, paths=paths, reallocs=1)


def test_deep(t):
    """Stacks deeper than any walk, and shallow ones in between."""
    check_run(t, steps=12000, paths=600, deep=1, reallocs=1)


def test_threads(t):
    """Eight threads, each with many blocks alive."""
    check_run(t, steps=12000, paths=3000, threads=8, reallocs=1)


def test_handed_on(t):
    """Blocks released by whoever gets them, whose addresses are another thread's at once."""
    check_run(t, steps=25000, paths=200, threads=4, mail=60, reallocs=1)


def test_handed_on_at_once(t):
    """The same with the lowest address that is free for everybody. Which of a thread's blocks were its latest stays known."""
    check_run(t, "slots", steps=20000, paths=200, threads=4, mail=60, reallocs=1)


def test_threads_that_end(t):
    """What they leave is released by later ones in their places, or by nobody."""
    check_run(t, steps=400, paths=300, threads=8, generations=25, mail=30, reallocs=1)


def test_forks(t):
    """Children and theirs release what was alive when they came, as their parents do."""
    check_run(t, steps=8000, paths=300, forks=4, reallocs=1)


def test_forks_of_threads(t):
    """The same of threads that pass blocks on: whoever ends, what others do stays in order."""
    check_run(t, steps=5000, paths=300, threads=4, forks=4, mail=30, reallocs=1)


def test_handlers(t):
    """A handler at any instruction, which releases what was allocated a moment ago. What is temporary depends on the moment."""
    names = tuple(x for x in COMPARED if x != "temporary")
    check_run(t, "slots", names=names, timer=40, handled=3000, steps=4000, paths=400, mail=60)


def test_handlers_that_jump(t):
    """Out of any instruction of the allocator. What was under way there may be counted or not; everything else is exact, and
    no block is on a path that is not its own."""
    trace = t.path("t.silt")
    r = t.silt.record(trace, arguments(t, allocator="slots", timer=40, handled=3000, jumps=3, steps=4000, paths=400, mail=60), ["-f"])
    assert r.code == 0 and not r.errors, f"{r.code}: {r.errors}"
    report = whole(t, trace)
    pid, told = report["processes"][0]["pid"], told_of(t, trace)
    truth = truth_of(t.path("truth"), pid)
    for key in {**truth, **told}:
        want, got = truth[key], told.get(key) or dict.fromkeys(COMPARED, 0)
        assert want["allocations"] <= got["allocations"] <= want["asked"], f"{key}: {got}, not {want}"
        assert want["frees"] <= got["frees"] <= want["releasing"], f"{key}: {got}, not {want}"
    n_escaped = sum(row["asked"] - row["allocations"] for row in truth.values())
    t.notes.append(f"{len(truth):,} call paths, {n_escaped} allocations left by a jump")


def lossy(t, during, **how):
    """A recording in which events are lost: its report, the truth and what was told."""
    options = {"steps": 150000, "paths": 2000, "threads": 3, "reallocs": 0, **how}
    recording = Recording(t, arguments(t, **options), ["-f", "--lossy"])
    during(recording)
    status, _, err = recording.finish()
    assert status == 0, err
    report = whole(t, recording.trace)
    pid = report["processes"][0]["pid"]
    return report, truth_of(t.path("truth"), pid), told_of(t, recording.trace)


def test_losses(t):
    """Whatever is lost is counted, and behind it every path is right again."""
    def throttle(recording):
        recorder = recording.recorder()
        recording.joined()
        slow = Throttle(recorder, 0.004, 0.03)
        recording.process.wait(60)
        slow.end()

    report, truth, told = lossy(t, throttle)
    totals = report["totals"]
    n_true = sum(row["allocations"] + row["frees"] for row in truth.values())
    assert totals["lost_events"] > 0, "nothing was lost: the test is too small"
    assert n_events(totals) >= n_true, f"{n_true} events, {totals}"
    check_sizes(truth, told)
    t.notes.append(f"{totals['lost_events']:,} of {n_true:,} events lost")


def test_a_recorder_that_is_killed(t):
    """The program goes on and ends as it would; what was written is right."""
    for _ in range(t.count(2, 20)):
        recording = Recording(t, arguments(t, steps=60000, paths=1000, threads=3), ["-f"])
        recorder, pid = recording.recorder(), recording.joined()
        time.sleep(0.05 + t.chance.random() * 0.5)
        try:
            os.kill(recorder, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status, _, err = recording.finish()
        assert status == 0, err
        truth = truth_of(t.path("truth"), pid)
        if not err:
            compare(truth, told_of(t, recording.trace))
            continue
        one_line(err, "recorder", "died")
        r = t.silt.command("report", recording.trace)
        if r.code == 2 and "has not started" in r.errors:
            continue
        whole(t, recording.trace, may_end_early=True)
        check_sizes(truth, told_of(t, recording.trace))


def test_libraries_at_one_place(t):
    """The same addresses are other code: every thread's call paths are in the library that was there."""
    n_rounds, n_threads, tools = t.count(90, 3000), 3, t.context.helpers
    names = ("first", "other", "third")
    libraries = [tools.build(f"libplace_{x}.so", ["same_place_lib.c"], flags=[f"-DINNER=inner_{x}"], shared=True) for x in names]
    argv = [tools.build("same_place", ["same_place.c"]), str(n_rounds), str(n_threads), *libraries]
    trace = t.path("t.silt")
    r = t.silt.record(trace, argv, ["-f"])
    assert r.code == 0 and not r.errors, f"{r.code}: {r.errors}"
    n_places = int(r.text.split()[1])
    assert n_places < len(names) * 2, f"{n_places} places: no library was where another one had been"
    whole(t, trace)
    q = t.silt.command("sql", trace, "--csv", "SELECT function, module, bytes, count(*) AS n, count(DISTINCT thread) AS threads, "
                       "sum(is_temporary) AS temporary FROM allocations JOIN sites USING (stack) WHERE function LIKE 'inner%' GROUP BY 1, 2, 3")
    assert q.code == 0, q.errors
    told = {(row["function"], os.path.basename(row["module"]), int(row["bytes"])): (int(row["n"]), int(row["threads"]), int(row["temporary"]))
            for row in csv.DictReader(io.StringIO(q.text))}
    n = n_rounds // len(names) * (n_threads + 1) * 20
    assert told == {(f"inner_{x}", f"libplace_{x}.so", 100 + i): (n, n_threads + 1, n) for i, x in enumerate(names)}, told
    t.notes.append(f"{n_rounds} openings at {n_places} places")
