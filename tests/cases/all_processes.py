# SPDX-License-Identifier: MIT
"""All processes together are one sum over time: blocks that outlive their process in a child stay in it, what a process takes
with it does not, and peak, timeline and end are of the same sum."""
import json

from harness.process import run


def record(t, program, *options):
    r = t.silt.command("run", "-q", "-f", "--wait", "--no-symbols", "-o", t.path("t.silt"), *options, "--", *program)
    assert r.code == 0, r.errors
    checked = t.silt.command("verify", t.path("t.silt"))
    assert checked.code == 0, checked.text


def report(t, *options):
    r = t.silt.command("report", "--json", "--process", "all", "--top", "1000", *options, t.path("t.silt"))
    assert r.code == 0, r.errors
    return json.loads(r.text)


def sum_of(got, metric, what):
    return sum(s[what] for m in got["top"] if m["metric"] == metric for s in m["sites"])


def check_sum(got):
    """The same sum everywhere: sites, timeline, totals."""
    totals = got["totals"]
    highest = max(p["live_bytes"] for p in got["timeline"])
    assert highest == totals["peak_live_bytes"] >= totals["end_live_bytes"], (highest, totals)
    assert got["timeline"][-1]["live_bytes"] >= totals["end_live_bytes"], (got["timeline"][-1], totals)
    for metric in ("peak", "end"):
        for what in ("bytes", "blocks"):
            parts, whole = sum_of(got, metric, what), totals[f"{metric}_live_{what}"]
            assert parts == whole, f"{what} of {metric}: {parts} by site, {whole} in all"


def test_a_daemon_keeps_what_it_inherited(t):
    """daemonise.c: 100 and 10 bytes inherited, 50 for a moment, 3 kept, the 100 released at last."""
    record(t, [t.program("daemonise")])
    got = report(t)
    totals = got["totals"]
    figures = [totals[k] for k in ("peak_live_bytes", "peak_live_blocks", "end_live_bytes", "end_live_blocks")]
    assert figures == [160, 3, 13, 2], figures
    check_sum(got)
    text = " ".join(t.silt.command("report", "--process", "all", t.path("t.silt")).text.split())
    daemon = max(got["processes"], key=lambda p: p["totals"]["allocations"])
    assert f"When the last of them (pid {daemon['pid']}) exited, 13 B in 2 blocks" in text, text[:400]
    # the parts of any window are those of the same sum
    duration = got["duration_s"]
    for part in (0.2, 0.5, 0.9):
        cut = report(t, "--to", f"{duration * part:.6f}s")
        assert cut["totals"]["end_live_bytes"] <= cut["totals"]["peak_live_bytes"] <= 160, cut["totals"]
        assert sum_of(cut, "end", "bytes") == cut["totals"]["end_live_bytes"], cut["totals"]


def test_what_children_took_with_them_is_not_there_at_the_end(t):
    record(t, [t.helper(), "forks", "4", "2000"])
    got = report(t)
    main = got["processes"][0]["totals"]
    assert got["totals"]["end_live_bytes"] == main["end_live_bytes"], (got["totals"], main)
    check_sum(got)


def check_turns(t, n_min, n_max, block):
    got = report(t)
    totals, main = got["totals"], got["processes"][0]["totals"]
    rest = main["peak_live_bytes"] + 100000  # what a program's start takes
    assert n_min * block <= totals["peak_live_bytes"] <= n_max * block + rest, totals
    assert totals["end_live_bytes"] == main["end_live_bytes"], (totals, main)
    check_sum(got)


def test_children_one_after_another_are_never_side_by_side(t):
    """Whether they are over before the recorder looks, as here, or not."""
    for _ in range(3):
        record(t, [t.helper(), "turns", str(t.count(200, 1000))])
        check_turns(t, 1, 1, 5000000)


def test_children_between_snapshots_are_never_side_by_side(t):
    """A cut ends a slice; what lies behind it has its order too."""
    record(t, [t.helper(), "turns", str(t.count(200, 1000))], "--snapshot-every", "10ms")
    check_turns(t, 1, 1, 5000000)


def test_children_at_the_same_time_are_side_by_side(t):
    record(t, [t.helper(), "together", "8"])
    check_turns(t, 8, 8, 5000000)


def test_programs_of_a_loop_are_never_side_by_side(t):
    """The last of them has more to read than the shell that waits for it."""
    loop = "i=0; while [ $i -lt $2 ]; do $1 turns 1; $1 churn $3 25; i=$((i+1)); done"
    for n, n_pairs in ((40, 1000), (3, 100000)):
        record(t, ["sh", "-c", loop, "sh", t.helper(), str(n), str(n_pairs)])
        check_turns(t, 1, 1, 5000000)


HOLD = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static void hold_all(void) {
        for (int i = 0; i < 30; i++) memset(malloc(100000), 1, 100000);
        usleep(100000);
}
int main(void) { hold_all(); return 0; }
"""


def test_a_process_that_ends_is_no_spike(t):
    """What one of them holds is told once, of it; that it ends makes no peak of the sum."""
    with open(t.path("hold.c"), "w") as f:
        f.write(HOLD)
    built = run(["gcc", "-g", "-O1", "-fno-builtin", t.path("hold.c"), "-o", t.path("hold")])
    assert built.code == 0, built.errors
    r = t.silt.command("run", "-q", "-f", "--wait", "-o", t.path("t.silt"), "--", "/bin/sh", "-c", f"{t.path('hold')}; sleep 1.5; true")
    assert r.code == 0, r.errors
    findings = json.loads(t.silt.command("report", "--json", t.path("t.silt")).text)["findings"]
    about = [(f["kind"], f["text"]) for f in findings if "hold_all" in f["text"] and f["kind"] not in ("left-at-end", "leak")]
    assert len(about) == 1 and about[0][0] != "short-peak", findings


def test_the_first_program_is_gone_after_its_exec(t):
    """Alone in the recording until then: what it held is not beside what the next one holds."""
    source, program = t.path("next.c"), t.path("next")
    with open(source, "w") as f:
        f.write("""#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
        char *volatile held = malloc(1000000);
        if (argc > 1)
                execv(argv[0], (char *[]){argv[0], NULL});
        held = malloc(5000000);
        return !held;
}
""")
    r = run(["gcc", "-O0", source, "-o", program])
    assert r.code == 0, r.errors
    record(t, [program, "again"])
    got = report(t)
    assert got["totals"]["peak_live_bytes"] == 6000000, got["totals"]
    check_sum(got)
