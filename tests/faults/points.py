# SPDX-License-Identifier: MIT
"""A signal at every labelled point of the runtime, in a build made for it (-Dsignal_points=true), whose handler
allocates, goes deep, jumps out, forks, is interrupted itself: nothing crashes or hangs, errno stays, every event is
recorded or counted. points.c is the program."""

import re
import os

from harness.process import run
from harness.watch import told, whole

needs_option = "signal_points"

N_RAISES = 20  # a run; the second ring of a small build holds what these handlers write


def program(t):
    return t.victim("points", flags=["-rdynamic", "-Wl,-z,now"])


def labels_in_sources(t):
    found = set()
    source = os.path.join(os.path.dirname(t.context.tests_dir), "src")
    for folder in ("hook", "wire", "unwind"):
        for name in os.listdir(os.path.join(source, folder)):
            if name.endswith((".c", ".h", ".S")):
                with open(os.path.join(source, folder, name)) as f:
                    found |= set(re.findall(r'SIGNAL_POINT\("([^"]+)"\)|^ +point +([\w/-]+)$', f.read(), re.M))
    found = {label or in_assembly for label, in_assembly in found}
    return found


def options_for(label):
    """Some labels are on the way of samples alone."""
    return ("--sample", "64") if label.startswith(("sample/", "enter/", "hold/")) else ()


def record(t, mode, label, options=(), n_raises=N_RAISES):
    trace = t.path("t.silt")
    argv = [program(t), mode, label, str(n_raises)]
    r = run([t.silt.path, "run", "-f", *options, "-o", trace, "--", *argv], timeout_s=600)
    assert r.code == 0, f"{mode} {label}: status {r.code}: {r.text[-300:]} {r.errors[-500:]}"
    return r, told(r.stdout)


def reached(t):
    """Labels that the program comes by, in the ways it is run here."""
    found = set()
    for options, label in (((), "-"), ((), "lane/entered"), (("--lossy",), "lane/entered"), (("--sample", "64"), "-")):
        r, _ = record(t, "list", label, options)
        found |= set(re.findall(r"^([\w-]+/[\w-]+) 1$", r.text, re.M))
    return found


def n_lost(r):
    return int(re.search(r"; ([\d,]+) lost", r.errors)[1].replace(",", ""))


def base_of(t):
    """What the program and libc do without signals."""
    r, truth = record(t, "plain", "-")
    totals = whole(t, t.path("t.silt"))["totals"]
    assert n_lost(r) == 0, r.errors
    return {"allocations": totals["allocations"] - truth["allocations"], "frees": totals["frees"] - truth["frees"]}


def check(t, mode, label, base):
    r, truth = record(t, mode, label, options_for(label))
    report = whole(t, t.path("t.silt"))
    totals, what = report["totals"], f"{mode} at {label}"
    expected = {x: base[x] + truth[x] + truth["handler_" + x] for x in ("allocations", "frees")}
    seen = f"{what}: {truth} {totals} {n_lost(r)} lost"
    if truth["jumps"]:
        for x in ("allocations", "frees"):
            assert expected[x] <= totals[x] + n_lost(r), f"{seen}: {x}"
            assert totals[x] <= expected[x] + truth["jumps"], f"{seen}: {x}"
    elif n_lost(r) == 0 or label.startswith("fork/"):  # what a child loses while it becomes one is not its parent's
        assert all(totals[x] == expected[x] for x in expected), f"{seen}: expected {expected}"
    else:  # a handler inside the runtime cannot wait for room
        all_events = totals["allocations"] + totals["frees"] + totals["unknown_frees"] + n_lost(r)
        n_marks = 2 * truth["forks"]  # of forks, lost with them
        assert 0 <= all_events - sum(expected.values()) <= n_marks, f"{seen}: expected {expected}"
    children = [p for p in report["processes"] if p["parent"] == report["pid"]]
    assert len(children) == truth["forks"] + 1, f"{seen}: {len(children)} children"
    for child in children[:-1]:
        assert child["totals"]["allocations"] >= 2, f"{seen}: {child}"
    last = children[-1]["totals"]
    n_more = n_lost(r) if label.startswith("fork/") else 0
    assert last["allocations"] + last["frees"] + n_more == truth["child_events"], f"{seen}: {last}"
    return truth["raised"]


def sweep(t, mode, one_of):
    """Every label in the long run; in the short one every one_of-th."""
    labels = sorted(reached(t))
    base = base_of(t)
    n_raised = n_points = 0
    for _ in range(t.count(1, 4)):
        for label in labels[::t.count(one_of, 1)]:
            if mode == "fork" and label.startswith("fork/"):
                continue  # a fork inside fork's own handlers is libc's to survive
            raised = check(t, mode, label, base)
            n_raised += raised
            n_points += raised > 0
    assert n_points, "no signal was raised"
    t.notes.append(f"{n_raised} signals at {n_points} points")


def test_every_label_is_reached(t):
    """Rings of full size are never full here; a cache of one row never grows."""
    missing = labels_in_sources(t) - reached(t)
    rare = {"ring/lose", "ring/tell-lost", "event/lost", "ring/wait", "ring/waited"}
    allowed = {"lookup/grow"} if t.context.is_tiny else rare
    assert missing <= allowed, f"never reached: {sorted(missing - allowed)}"


def test_handler_allocates(t):
    sweep(t, "plain", 4)


def test_handler_goes_deep(t):
    sweep(t, "deep", 7)


def test_handler_is_interrupted_itself(t):
    sweep(t, "nest", 7)


def test_handler_jumps_out(t):
    sweep(t, "jump", 5)


def test_handler_forks(t):
    sweep(t, "fork", 5)


def test_handler_clones(t):
    """Nobody told the runtime of the child, which goes on in the middle of a call: it ends as it would. What it counts there is
    counted in its parent."""
    n_forks = 0
    labels = [label for label in sorted(reached(t)) if label.startswith(("enter/", "hold/"))]
    for label in labels:
        n_forks += record(t, "clone", label, ("--sample", "1K"))[1]["forks"]
    assert n_forks >= 2 * len(labels) > 20, (n_forks, labels)
