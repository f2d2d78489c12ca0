# SPDX-License-Identifier: MIT
"""silt whatif: replays against the same programs really run under each allocator, and against the trace's own figures."""

import json
import os
import re
import signal
import subprocess
import time

from cases import allocators_named
from harness.cases import skip
from harness.process import give_up, run
from harness.weight import max_rss_bytes

LIBRARIES = {"jemalloc": ("libjemalloc.so.2",), "mimalloc": ("libmimalloc.so.2.0", "libmimalloc.so.3"),
             "tcmalloc": ("libtcmalloc_minimal.so.4",)}
WITHIN = 0.10


def library(allocator):
    """Its path; None: glibc; skips the allocator where it is not installed by ''."""
    if allocator == "glibc":
        return None
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"):
        for name in LIBRARIES[allocator]:
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
    return ""


def whatif(t, trace, *options):
    r = t.silt.command("whatif", trace, "--json", *options)
    assert r.code == 0, r.errors
    answer = json.loads(r.stdout)
    assert answer["schema"] == "silt.whatif/1"
    return answer


def row_of(answer, allocator, settings=""):
    [row] = [r for r in answer["replays"] if r["allocator"] == allocator and r["settings"] == settings]
    return row


def need_replay(t):
    if not os.path.exists(os.path.join(t.context.build_dir, "silt-replay")):
        skip("a sanitized build has no silt-replay")


def shapes(t):
    need_replay(t)
    return t.context.helpers.build("whatif_shapes", ["whatif_shapes.cc"], link=["-pthread"])


RUNS = 3


def measure(program, shape, allocator):
    """(peak, end) as the program sees itself, of several runs."""
    env = dict(os.environ)
    if library(allocator):
        env["LD_PRELOAD"] = library(allocator)
    return [tuple(map(int, run([program, shape], env=env).text.split())) for _ in range(RUNS)]


def apart(got, want):
    """How far a figure is from the nearest in a range, as a part of that; 0 inside of the range."""
    nearest = min(max(got, want[0]), want[-1])
    return (got - nearest) / nearest


def mib(range_bytes):
    """A range, or one figure where its ends are the same text."""
    ends = [f"{b / 2**20:.1f}" for b in (range_bytes[0], range_bytes[-1])]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def compare(t, shape):
    """Threads race, and jemalloc takes an eighth more in one run of six, as addresses fall: of several replays and several real runs,
    the ranges are no farther apart than WITHIN. The notes are rows of the table in docs/whatif.md."""
    program, trace = shapes(t), t.path("t.silt")
    assert t.silt.record(trace, [program, shape]).code == 0
    answers = [whatif(t, trace) for _ in range(RUNS)]
    base = sorted(measure(program, "nothing", "glibc"))[RUNS // 2]
    for allocator in ("glibc", *LIBRARIES):
        if library(allocator) == "":
            continue
        rows, real = [row_of(a, allocator) for a in answers], measure(program, shape, allocator)
        cells, far = [shape, allocator], []
        for i, what in enumerate(("peak", "end")):
            got = sorted(r[what + "_bytes"] for r in rows)
            want = sorted(r[i] - base[i] for r in real)
            cells += [mib(want), mib(got), f"{100 * apart(got[RUNS // 2], want):+.1f} %".replace("+0.0", "0").replace("-0.0", "0")]
            if not (got[0] <= want[-1] * (1 + WITHIN) and got[-1] >= want[0] * (1 - WITHIN)):
                far.append(f"{what}: {got} replayed, {want} real")
        t.notes.append(f"| {' | '.join(cells)} |")
        assert not far, (t.notes[-1], far)


def test_replay_like_pinned(t):
    compare(t, "pinned")


def test_replay_like_threads(t):
    compare(t, "threads")


def test_replay_like_cross(t):
    compare(t, "cross")


def test_replay_like_vectors(t):
    compare(t, "vectors")


def test_replay_like_mixed(t):
    compare(t, "mixed")


def test_program_peak_of_python(t):
    """The whole program's peak, with another heap in it, against the program really run so."""
    need_replay(t)
    path = library("jemalloc")
    if not path:
        skip("jemalloc is not installed")
    code = "x = [{'k%d' % i: str(i) * 20, 'v': [i] * 9} for i in range(120000)]; y = x[::7]; del x; z = ['z' * i for i in range(3000)]"
    argv, env = ["/usr/bin/python3", "-S", "-c", code], {**os.environ, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}
    if not os.path.exists(argv[0]):
        skip("no python3 of the system")
    trace = t.path("t.silt")
    assert t.silt.record(trace, argv, env=env).code == 0
    row = row_of(whatif(t, trace, "--allocator", "jemalloc"), "jemalloc")
    want = max_rss_bytes(argv, {**env, "LD_PRELOAD": path})
    t.notes.append(f"{row['program_peak_bytes']} computed, {want} real")
    assert abs(row["program_peak_bytes"] - want) <= WITHIN * want, t.notes[-1]


def check_exact(t, trace, *options):
    """What every replay did is what the trace says was done."""
    report, why = t.silt.report(trace, *options)
    assert report, why
    totals = report["totals"]
    answer = whatif(t, trace, *options)
    assert any(row["state"] == "done" for row in answer["replays"])
    for row in answer["replays"]:
        if row["state"] != "done":
            continue
        inherited = answer["replayed"]["inherited_blocks"]
        assert row["reallocations"] == totals["reallocations"], row
        assert row["allocations"] + row["reallocations"] == totals["allocations"] + inherited, row
        left_out = answer["replayed"]["left_out_frees"]
        assert row["frees"] + row["reallocations"] + left_out == totals["frees"] + totals["implicit_frees"], row
        for key in ("peak_live_bytes", "end_live_bytes", "end_live_blocks"):
            assert row[key] == totals[key], (key, row[key], totals[key])
    assert answer["estimates"]["peak_live_bytes"] == totals["peak_live_bytes"]
    return answer


def test_replay_is_exact(t):
    for shape in ("cross", "vectors"):
        trace = t.path(shape + ".silt")
        assert t.silt.record(trace, [shapes(t), shape]).code == 0
        check_exact(t, trace)


def test_replay_of_forked_children(t):
    need_replay(t)
    trace = t.path("t.silt")
    assert t.silt.record(trace, ["/usr/bin/perl", "-e", "@a = map { 'x' x $_ } 1..2000; if (!fork) { undef @a; @b = (1) x 9999; exit } wait"]).code == 0
    report, why = t.silt.report(trace)
    assert report, why
    assert len(report["processes"]) == 2
    child = [p for p in report["processes"] if p["parent"]][-1]
    answer = check_exact(t, trace, "--process", str(child["pid"]))
    assert answer["replayed"]["inherited_blocks"] > 2000


def test_the_process_that_held_most(t):
    """A driver that holds next to nothing starts the one that does the work."""
    need_replay(t)
    trace = t.path("t.silt")
    assert t.silt.record(trace, ["/bin/sh", "-c", "/usr/bin/perl -e '@a = map { q(x) x $_ } 1..3000'; true"]).code == 0
    report, why = t.silt.report(trace)
    assert report, why
    most = max(report["processes"], key=lambda p: p["totals"]["peak_live_bytes"])
    assert most["pid"] != report["pid"], report["processes"]
    r = t.silt.command("whatif", trace, "--json", "--allocator", "glibc")
    assert r.code == 0 and json.loads(r.text)["pid"] == most["pid"], r.text[:500] + r.errors
    r = t.silt.command("whatif", trace, "--allocator", "glibc")
    assert f"perl (pid {most['pid']}, the process that held most): " in " ".join(r.text.split()), r.text


def test_settings(t):
    trace = t.path("t.silt")
    assert t.silt.record(trace, [shapes(t), "vectors"]).code == 0
    answer = whatif(t, trace, "--allocator", "glibc", "--set", "glibc:mmap_threshold=4K,tcache=0", "--set", "glibc:trim=1ms")
    plain, mapped, trim = answer["replays"]
    assert plain["recorded"] and plain["trims"] == 0 and mapped["settings"] == "mmap_threshold=4K, tcache=0"
    assert abs(mapped["end_bytes"] - plain["end_bytes"]) > 1 << 20, "the setting did not reach the allocator"
    assert trim["trims"] > 0 and trim["end_bytes"] <= plain["end_bytes"] + (1 << 20)
    for wrong, why in (("glibc:colour=1", r"'colour' is no setting of glibc: use one of arenas, tcache,"),
                       ("hoard:arenas=1", r"'hoard' is not an allocator"), ("glibc", r"names no allocator"),
                       ("jemalloc:tcache=maybe", r"'maybe' is neither on nor off"), ("glibc:arenas", r"has no value")):
        r = t.silt.command("whatif", trace, "--set", wrong)
        assert r.code == 2 and re.fullmatch(rf"silt: --set: .*{why}.*\n", r.errors), (wrong, r.errors)


def test_the_recorded_allocator(t):
    """It is the one that the program really had: a preloaded one too, and none if silt cannot replay it."""
    program = shapes(t)
    for allocator in ("glibc", *LIBRARIES):
        if library(allocator) == "":
            continue
        trace = t.path(allocator + ".silt")
        env = {**os.environ, "LD_PRELOAD": library(allocator) or ""}
        assert t.silt.record(trace, [program, "vectors"], env=env).code == 0
        answer = whatif(t, trace, "--allocator", "glibc")
        assert answer["recorded_allocator"] == allocator, answer["recorded_allocator"]
        assert [r["allocator"] for r in answer["replays"] if r["recorded"]] == [allocator], answer["replays"]
    own, trace = t.path("libown.so"), t.path("own.silt")
    with open(t.path("own.c"), "w") as f:
        f.write(allocators_named.OWN)
    assert run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", t.path("own.c"), "-o", own]).code == 0
    assert t.silt.record(trace, [program, "nothing"], env={**os.environ, "LD_PRELOAD": own}).code == 0
    answer = whatif(t, trace, "--allocator", "glibc")
    assert answer["recorded_allocator"] == "libown.so", answer["recorded_allocator"]
    assert answer["advice"].startswith("The program used an allocator that silt cannot replay here (libown.so)"), answer["advice"]
    assert not any(r["recorded"] or r["program_peak_bytes"] for r in answer["replays"]), answer["replays"]


ALIGNED = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
        for (int i = 0; i < 10000; i++) {
                void *p;
                if (posix_memalign(&p, argc > 1 ? (size_t)atoi(argv[1]) : 16, 2500)) return 1;
                memset(p, 1, 2500);
        }
        return usleep(1500000);
}
"""


def test_a_replay_that_differs_says_so(t):
    """Alignment is not replayed: the recorded heap is far larger, and the first sentence has both figures."""
    need_replay(t)
    program = t.path("aligned")
    with open(program + ".c", "w") as f:
        f.write(ALIGNED)
    assert run(["gcc", "-O1", "-fno-builtin", program + ".c", "-o", program]).code == 0
    for words, is_far in ((["4096"], True), ([], False)):
        trace = t.path("t.silt")
        assert t.silt.record(trace, [program, *words], ["-f"]).code == 0
        answer = whatif(t, trace, "--allocator", "glibc")
        t.notes.append(answer["advice"])
        assert answer["advice"].startswith("Doubtful: the replay under glibc had ") == is_far, answer["advice"]
        assert any("alignment is not replayed" in n for n in answer["notes"]) == is_far, answer["notes"]


def test_picture_and_text(t):
    trace, picture = t.path("t.silt"), t.path("t.svg")
    assert t.silt.record(trace, [shapes(t), "vectors"]).code == 0
    r = t.silt.command("whatif", trace, "--allocator", "glibc", "-o", picture)
    assert r.code == 0, r.errors
    with open(picture) as f:
        drawn = f.read()
    assert drawn.startswith("<svg") and drawn.count("<path") == 2
    ticks = re.findall(r'text-anchor="end">([0-9.]+) (?:[KMG]i)?B<', drawn)
    assert len(ticks) > 3 and all(t.endswith(".0") or t.isdigit() for t in ticks), ticks
    lines = r.text.splitlines()
    assert re.match(r"Nothing to compare glibc with|No allocator saves|\w+ would need", lines[0]), lines[0]


def test_what_cannot_be_replayed(t):
    trace, sampled = t.path("t.silt"), t.path("s.silt")
    assert t.silt.record(sampled, [shapes(t), "vectors"], ["--sample", "64K"]).code == 0
    r = t.silt.command("whatif", sampled)
    said = " ".join(r.text.split())
    assert r.code == 0 and said.startswith("Nothing to replay: the recording is of samples: record without --sample. "), r.text
    assert re.search(r"the peak of about [0-9.]+ MiB ±\d+ % live would lose at most", said), r.text
    r = t.silt.command("whatif", sampled, "-o", t.path("x.svg"))
    assert r.code == 2 and r.errors.count("\n") == 1 and "recording is of samples" in r.errors
    with open(t.path("totals.txt"), "w") as f:
        f.write("main;f 100\nmain;g 200\n")
    r = t.silt.command("whatif", t.path("totals.txt"))
    assert r.code == 2 and "is not a profile of memory" in r.errors, r.text + r.errors
    with open(t.path("totals.heap"), "w") as f:
        f.write("heap profile: 3: 4096 [ 3: 4096] @ heapprofile\n 3: 4096 [ 3: 4096] @ 0x401000 0x402000\n\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /bin/x\n")
    r = t.silt.command("whatif", t.path("totals.heap"))
    assert r.code == 0 and r.text.startswith("Nothing to replay: the file has totals and no single allocations"), r.text + r.errors
    assert t.silt.record(trace, [shapes(t), "vectors"]).code == 0
    with open(trace, "rb") as whole, open(t.path("cut.silt"), "wb") as cut:
        cut.write(whole.read()[:os.path.getsize(trace) // 2])
    r = t.silt.command("whatif", t.path("cut.silt"), "--allocator", "glibc")
    assert r.code == 0 and r.text.startswith("The end of the recording is missing"), r.text + r.errors
    r = t.silt.command("whatif", trace, "--estimate", "--set", "glibc:arenas=1")
    assert r.code == 2 and r.errors.count("\n") == 1


def replays_of(pid):
    """Replay processes whose parent is, or was, that silt."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"silt-replay", b"%d" % pid]:
                found.append(int(entry))
    return found


def test_killed_silt_leaves_no_replay(t):
    need_replay(t)
    trace = t.path("t.silt")
    assert t.silt.record(trace, ["/usr/bin/perl", "-e", "push @a, 'x' x 100 for 1..100; sleep 3; push @a, 'x' x 100 for 1..100"]).code == 0
    silt = subprocess.Popen([t.silt.path, "whatif", trace, "--paced", "--allocator", "glibc"], stdout=subprocess.DEVNULL)
    t.running.append(silt)
    deadline = time.monotonic() + 30
    while not replays_of(silt.pid):
        give_up(deadline, "no replay began")
        time.sleep(0.01)
    silt.send_signal(signal.SIGKILL)
    silt.wait()
    while replays_of(silt.pid):
        give_up(deadline, "the replay lives on")
        time.sleep(0.01)


def test_replay_without_memory(t):
    """A limit that silt can live with, and the replay cannot: its row says so, in a line."""
    trace = t.path("t.silt")
    assert t.silt.record(trace, [shapes(t), "threads"]).code == 0
    r = run(["sh", "-c", 'ulimit -v 120000; exec "$0" whatif "$1" --json --allocator glibc', t.silt.path, trace])
    assert r.code in (0, 2), r.errors
    if r.code == 2:
        assert re.fullmatch(r"silt: [^\n]*(memory|thread)[^\n]*\n", r.errors), r.errors
    else:
        row = row_of(json.loads(r.stdout), "glibc")
        assert row["state"] == "failed" and re.search("memory|thread", row["why"]), row
