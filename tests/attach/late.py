# SPDX-License-Identifier: MIT
"""Allocators inside libraries that a program opens after silt has attached to it: seen from their first call on, exactly; and when silt
has left, all code is as its files have it."""

import os
import time

from attach._target import Attached, Target

N_THREADS = 4


def library(t, prefix):
    """Two of them differ by their names alone."""
    return t.context.attached.build(f"late_{prefix}.so", ["late_library.c"], [f"-DPREFIX={prefix}_"], shared=True)


def late(t, *prefixes):
    """Names are read from files, so each has its own."""
    program = t.context.attached.build("late_c", ["late.c"])
    return Target(t, [program, str(N_THREADS), *(library(t, p) for p in prefixes)])


def changed_code(pid):
    """Where code of the process is not what its files have. Nothing may be opened or closed meanwhile."""
    places = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            words = line.split(maxsplit=5)
            path = words[5].strip() if len(words) > 5 else ""
            if "x" not in words[1] or not path.startswith("/") or "libsilt.so" in path:
                continue
            begin, end = (int(x, 16) for x in words[0].split("-"))
            memory.seek(begin)
            now = memory.read(end - begin)
            with open(path, "rb") as f:
                f.seek(int(words[2], 16))
                was = f.read(end - begin)
            if now[:len(was)] != was:
                places += [f"{os.path.basename(path)}+{i:#x}" for i in range(0, len(was), 4) if now[i:i + 4] != was[i:i + 4]]
    return places


class Wanted:
    """Blocks by library, as they must be counted."""

    def __init__(self, t, target, *prefixes):
        self.t, self.target, self.prefixes = t, target, prefixes
        self.blocks, self.n_late = {}, 0

    def tell(self, what, i):
        self.target.tell(f"{what} {i}")

    def use(self, i, n):
        self.target.tell(f"use {i} {n}")
        name = f"late_{self.prefixes[i]}.so"
        self.blocks[name] = self.blocks.get(name, 0) + n * (N_THREADS + 1)

    def record(self, during):
        self.blocks = {}
        silt = Attached(self.t, self.target.pid).await_recording()
        during()
        code = silt.end()
        assert code == 0, f"{code}: {silt.said}"
        totals = silt.totals()
        left = changed_code(self.target.pid)
        assert not left, f"not as it was: {left}"
        if any("not looked at for allocators" in note for note in silt.report["notes"]):
            self.n_late += 1  # it had no processor for seconds, and says so
            assert self.n_late <= 2, silt.report["notes"]
            return
        found = {os.path.basename(a["module"]): (a["allocations"], a["bytes"]) for a in silt.report["allocators"]
                 if "/late_" in a["module"]}
        assert found == {name: (n, 100 * n) for name, n in self.blocks.items()}, f"{found}, wanted {self.blocks}"
        assert totals["lost_events"] == totals["unknown_frees"] == totals["implicit_frees"] == 0, totals


def test_opened_later(t):
    """Opened, used by threads that were there, closed, in turns; libraries that lie where another did; left and attached again with
    libraries open and closed."""
    prefixes = ("one", "two", "three")
    with late(t, *prefixes) as target:
        w = Wanted(t, target, *prefixes)

        def opened_and_closed():
            for i in (0, 0, 1, 0, 2):
                w.tell("open", i)
                w.use(i, 100)
                w.tell("close", i)

        def left_open():
            w.tell("open", 0)
            w.use(0, 50)
            w.tell("open", 1)
            w.use(1, 50)
            w.tell("close", 0)

        def another_in_its_place():
            w.tell("open", 2)
            w.use(2, 30)
            w.use(1, 30)
            w.tell("close", 2)
            w.tell("close", 1)

        for i in range(t.count(1, 100)):
            w.record(opened_and_closed)
            w.record(left_open)
            if i % 2 == 0:
                for line in ("close 1", "open 2", "close 2", "open 1"):
                    target.tell(line)
            w.record(another_in_its_place)
        target.process.stdin.write(b"end\n")
        assert target.finish() == "ok\n"


def open_libraries(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return {line.split()[-1] for line in maps if "/late_" in line and line.rstrip().endswith(".so")}


def counted(t, trace):
    group, why = t.silt.report(trace, "--group-by", "function", "--by", "count", "--top", "100")
    assert group, why
    return sum(g["self"]["allocations"] for g in group["groups"] if g["function"] == "late_take_counted")


def test_at_any_moment(t):
    """silt comes and goes while libraries are opened and closed all the time: those that were opened at the moment it came are seen, and
    what is open when it has gone is as its file has it."""
    chance, n_late, n_missed = t.chance, 0, 0
    with late(t, "one", "two", "three", "four") as target:
        for i in range(t.count(2, 300)):
            where = f"({i})"
            target.tell("spin")
            time.sleep(chance.random() * 0.02)
            silt = Attached(t, target.pid).await_recording()
            target.tell("still")
            target.tell("count 0 20")
            wanted = 20 * (N_THREADS + 1) * len(open_libraries(target.pid))
            target.tell("spin")
            time.sleep(chance.random() * 0.05)
            code = silt.end()
            assert code == 0 and "not seen" not in silt.said, f"{code}: {silt.said} {where}"
            target.tell("still")
            left = changed_code(target.pid)
            assert not left, f"not as it was: {left} {where}"
            totals = silt.totals()
            is_late = any("not looked at for allocators" in note for note in silt.report["notes"])
            if is_late or silt.report["overhead"]["blocked_s"] >= 1:  # the recorder had no processor for seconds
                n_late += 1
                assert n_late <= 2 + i // 30, f"{silt.report['notes']} {where}"
                continue
            assert totals["lost_events"] == totals["unknown_frees"] == 0, f"{totals} {where}"
            found = counted(t, silt.trace)
            n_missed += found != wanted
            assert n_missed <= i // 100, f"{found}, wanted {wanted} {where}"
        target.process.stdin.write(b"end\n")
        assert target.finish() == "ok\n"


def test_confined(t):
    """A program that gives up rights may be killed for what silt would ask the kernel then: what it opens is told, not seen."""
    with late(t, "one", "two") as target:
        silt = Attached(t, target.pid).await_recording()
        for line in ("open 0", "use 0 10", "confine", "open 1", "use 1 10", "close 0", "close 1"):
            target.tell(line)
        assert silt.end() == 0, silt.said
        totals = silt.totals()
        found = {os.path.basename(a["module"]): a["allocations"] for a in silt.report["allocators"] if "/late_" in a["module"]}
        assert found == {"late_one.so": 10 * (N_THREADS + 1)} and totals["lost_events"] == 0, f"{found} {totals}"
        assert any("not looked at for allocators" in note for note in silt.report["notes"]), silt.report["notes"]
        left = changed_code(target.pid)
        assert not left, f"not as it was: {left}"
        target.process.stdin.write(b"end\n")
        assert target.finish() == "ok\n"


# ---- libraries that go -------------------------------------------------------------------------------------------------

ROUNDS = 5


def unload(t):
    """A program and two libraries that are not the same, for one address."""
    libraries = [t.context.attached.build(f"unload_{prefix}.so", ["unload_library.c"],
                                          [f"-DPREFIX={prefix}_", f"-DFRAME_BYTES={n}", "-fomit-frame-pointer"], shared=True)
                 for prefix, n in (("near", 64), ("wide", 2000), ("long", 480))]
    return [t.context.attached.build("unload_c", ["unload.c"]), str(ROUNDS), *libraries]


def check_paths(t, trace):
    """Each block is where it was allocated: by whom, and for whom. They are so large that each is in the sample, and what the loader allocates is not."""
    group, why = t.silt.report(trace, "--group-by", "function", "--by", "count", "--top", "1000")
    assert group, why
    found = {}
    for g in group["groups"]:  # one for each file that has a function of this name
        before = found.get(g["function"], (0, 0))
        found[g["function"]] = before[0] + round(g["self"]["allocations"]), before[1] + round(g["total"]["allocations"])
    n = 20 * ROUNDS
    wanted = {}
    for prefix in ("near", "wide", "long"):
        wanted[prefix + "_inner"], wanted[prefix + "_middle"] = (n, n), (0, n)
    seen = {name: found.get(name) for name in wanted}
    assert seen == wanted, f"{seen}, wanted {wanted}"
    # the program, which also has what the loader allocates for it
    assert found["unload_work"] == (0, 3 * n) and found["use_library"][1] >= 3 * n, found
    report, why = t.silt.report(trace)
    assert report, why
    assert report["quality"]["complete_stacks_pct"] == 100, report["quality"]


def test_unloaded(t):
    """Started by silt: every block, and samples; also where only the releases of the loader tell that a library has gone."""
    for options in ((), ("--sample", "1M"), ("--no-patch",), ("--no-patch", "--sample", "1M")):
        trace = t.path("run.silt")
        r = t.silt.record(trace, unload(t), ["-f", *options], stdin=b"x\nx\n")
        assert r.code == 0 and r.text.split()[2:] == ["0"], f"{options}: {r.text}"
        check_paths(t, trace)


def test_unloaded_attached(t):
    for options in ((), ("--sample", "1M")):
        with Target(t, unload(t)) as target:
            silt = Attached(t, target.pid, options=options).await_recording()
            target.process.stdin.write(b"x\n")
            target.process.stdin.flush()
            elsewhere = target.process.stdout.readline()
            assert silt.end() == 0, silt.said
            assert elsewhere == b"0\n", elsewhere
            target.process.stdin.write(b"x\n")
            assert target.finish() == ""
            check_paths(t, silt.trace)
