# SPDX-License-Identifier: MIT
"""Bills add up to resident memory to the byte, and free memory that is kept is told with the function whose blocks keep it."""

import json
import os
import subprocess
import time

from harness.cases import skip
from harness.process import run
from harness.watch import Recording, children, comm

N, FREED_BYTES, KEPT_BYTES = 4000, 4 * 4060, 96


def parts_in(text):
    bill = json.loads(text)
    assert sum(p["bytes"] for p in bill["parts"]) == bill["resident_bytes"], bill
    return bill, {p["part"]: p["bytes"] for p in bill["parts"]}


def parts_of(t, *words):
    told = t.silt.command("bill", *words, "--json")
    assert told.code == 0, told.errors
    return parts_in(told.text)


def told_of_a_copy(t, pid, *options):
    """On a busy machine its threads may not all stop in time: silt says so, and to try again. Any other reason stands."""
    for _ in range(10):
        told = t.silt.command("bill", str(pid), *options)
        assert told.code == 0, told.errors
        if "try again" not in told.errors:
            break
        t.notes.append(told.errors.strip())
    return told


def test_survivors(t):
    program = t.context.helpers.build("fragmented", ["fragmented.c"])
    trace = t.path("fragmented.silt")
    assert t.silt.record(trace, [program]).code == 0
    bill, parts = parts_of(t, trace, "--at", "@end")
    assert parts["live"] == N * KEPT_BYTES, parts
    free = parts["free_pages"] + parts["free_between"]
    assert abs(free - N * FREED_BYTES) < N * FREED_BYTES // 10, parts
    assert abs(parts.get("remainder", 0)) <= bill["resident_bytes"] * 3 // 100, parts
    kept = bill["fragmentation"]
    t.notes.append(f"survivors: free {free:,} of {N * FREED_BYTES:,}; {kept['text']}")
    assert kept["function"] == "log_line", kept
    findings = json.loads(t.silt.command("report", trace, "--json").text)["findings"]
    assert any(f["kind"] == "fragmentation" and "log_line" in f["text"] and "malloc_trim(0)" in f["text"] for f in findings), findings


def test_a_heap_that_nobody_saw_being_mapped(t):
    """As Go and SBCL make theirs: at a multiple of 64 MiB, where glibc's arenas begin too. It is nobody's, and no trim gives it back."""
    program = t.context.helpers.build("raw_heap", ["raw_heap.c"])
    trace = t.path("raw_heap.silt")
    assert t.silt.record(trace, [program, "1000000000"]).code == 0
    bill, parts = parts_of(t, trace)
    assert abs(parts["remainder"] - (40 << 20)) < 1 << 20, parts
    assert "not accounted for: silt did not see who mapped them, as with raw system calls; malloc's blocks are 976.6 KiB." in bill["text"], bill["text"]
    assert parts.get("free_pages", 0) + parts.get("free_between", 0) < 1 << 20, parts
    assert bill["fragmentation"]["text"] is None, bill["fragmentation"]
    findings = json.loads(t.silt.command("report", trace, "--json").text)["findings"]
    assert not [f for f in findings if f["kind"] == "fragmentation"], findings


def test_remedies_of_preloaded_allocators(t):
    """What is free is told with what this allocator has for it, and not as if it were glibc, which gives back from the end."""
    program = t.context.helpers.build("fragmented", ["fragmented.c"])
    found = 0
    for library, remedy in (("libjemalloc.so.2", "dirty_decay_ms"), ("libmimalloc.so.2", "mi_collect"), ("libtcmalloc_minimal.so.4", "ReleaseFreeMemory")):
        env = {**os.environ, "LD_PRELOAD": library}
        if "cannot be preloaded" in run(["/bin/true"], env=env).errors:
            continue
        found += 1
        trace = t.path(library + ".silt")
        assert t.silt.record(trace, [program], env=env).code == 0
        findings = json.loads(t.silt.command("report", trace, "--json").text)["findings"]
        told = [f["text"] for f in findings if f["kind"] == "fragmentation"]
        assert told and remedy in told[0] and "below blocks" not in told[0], (library, told)
    if not found:
        skip("no other allocator is installed")


RELEASES = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
int main(void) {
        struct timespec now, begin;
        char *kept = malloc(8 << 20);
        memset(kept, 1, 8 << 20);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
                size_t n = (size_t)(1 + rand() % 8) << 20;
                char *block = malloc(n), *mapped = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                memset(block, 1, n);
                memset(mapped, 1, n);
                free(block);
                munmap(mapped, n);
                clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec - begin.tv_sec < 2);
        return kept[5] - 1;
}
"""


def test_released_while_looked_at(t):
    """Large blocks and mappings that come and go: what a look saw and the moment of the blocks does not have any more is not told as nobody's."""
    with open(t.path("releases.c"), "w") as f:
        f.write(RELEASES)
    built = run(["gcc", "-O1", "-fno-builtin", t.path("releases.c"), "-o", t.path("releases")])
    assert built.code == 0, built.errors
    assert t.silt.record(t.path("releases.silt"), [t.path("releases")]).code == 0
    bill, parts = parts_of(t, t.path("releases.silt"))  # the largest: of a mapping that was there and gone, before
    assert parts.get("remainder", 0) * 100 <= bill["resident_bytes"] * 3, parts


SIZE_CLASSES = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
        for (int i = 0; i < 20000; i++) memset(malloc(1100), 1, 1100);
        return usleep(2500000);
}
"""


def test_rounding_of_preloaded_allocators(t):
    """20,000 blocks of 1,100 bytes, which each allocator rounds up to its own class."""
    with open(t.path("rounded.c"), "w") as f:
        f.write(SIZE_CLASSES)
    built = run(["gcc", "-O1", "-fno-builtin", t.path("rounded.c"), "-o", t.path("rounded")])
    assert built.code == 0, built.errors
    found = 0
    for library, room_bytes in (("libjemalloc.so.2", 1280), ("libmimalloc.so.2", 1280), ("libtcmalloc_minimal.so.4", 1152)):
        env = {**os.environ, "LD_PRELOAD": library}
        if "cannot be preloaded" in run(["/bin/true"], env=env).errors:
            continue
        found += 1
        r = Recording(t, [t.path("rounded")], trace=library + ".silt", env=env)
        pid = r.joined()
        await_sleep(pid)
        rounded = parts_of(t, str(pid))[1]["rounding"]
        assert abs(rounded - 20000 * (room_bytes - 1100)) < 64 << 10, (library, rounded)
        assert r.finish()[0] == 0
    if not found:
        skip("no other allocator is installed")


def await_sleep(pid):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with open(f"/proc/{pid}/wchan") as f:
            if "nanosleep" in f.read():
                return
        time.sleep(0.02)
    raise AssertionError(f"{pid} does not sleep")


def child_of(pid):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            pids = f.read().split()
        if pids:
            return int(pids[0])
        time.sleep(0.02)
    raise AssertionError(f"{pid} has no child")


def family(t, *words):
    """Live bytes of parent and child, as the recorder sees each while they run."""
    program = t.context.helpers.build("family", ["family.c"])
    r = Recording(t, [program, *words])
    parent = r.joined()
    child = child_of(parent)
    await_sleep(child)
    live = []
    for pid in (child, parent):
        bill, parts = parts_of(t, str(pid))
        assert bill["sizes_are_as_asked"], bill
        assert [p["pid"] for p in bill["processes"]] == [pid], bill["processes"]
        live.append(parts["live"])
    assert r.finish()[0] == 0
    verified = t.silt.command("verify", r.trace)
    assert verified.code == 0, verified.text
    return live


PARENT_BYTES, CHILD_BYTES = 1000 * 2000, 3000 * 500


def test_after_fork(t):
    assert family(t) == [PARENT_BYTES + CHILD_BYTES, PARENT_BYTES]


def test_after_exec(t):
    assert family(t, "exec") == [CHILD_BYTES, PARENT_BYTES]


def test_a_process_that_is_recorded(t):
    """Its recorder looks: call paths, and bytes as they were asked for, while it runs."""
    program = t.context.helpers.build("fragmented", ["fragmented.c"])
    r = Recording(t, [program])
    pid = r.joined()
    await_sleep(pid)
    bill, parts = parts_of(t, str(pid))
    assert r.process.poll() is None, "it had ended: this was no look at a process that runs"
    assert bill["sizes_are_as_asked"] and not bill["is_highest"], bill
    assert parts["live"] == N * KEPT_BYTES, parts
    assert bill["fragmentation"]["function"] == "log_line", bill["fragmentation"]
    assert [p["pid"] for p in bill["processes"]] == [pid], bill["processes"]
    text = t.silt.command("bill", str(pid)).text
    assert "log_line" in text and "now" not in text, text
    assert r.finish()[0] == 0
    at = [s["at_s"] for s in t.silt.report(r.trace)[0]["snapshots"]]
    assert abs(at[0] - bill["at_s"]) < 0.001, (at, bill["at_s"])


def test_books_of_jemalloc(t):
    """What is free and kept is what jemalloc's own statistics say, to the byte."""
    found = subprocess.run(["gcc", "-print-file-name=libjemalloc.so"], capture_output=True, check=True).stdout
    if not os.path.isabs(found.decode().strip()):
        skip("no libjemalloc.so")
    program = t.context.helpers.build("books", ["books.c"], link=["-ljemalloc"])
    with subprocess.Popen([program], stdout=subprocess.PIPE) as p:
        try:
            dirty, muzzy, cached = map(int, p.stdout.readline().split())
            told = told_of_a_copy(t, p.pid, "--json")
        finally:
            p.kill()
    bill, parts = parts_in(told.text)
    if "live" not in parts:
        skip(told.errors.strip())
    free = {f["name"]: f for f in bill["free"]}
    page = os.sysconf("SC_PAGE_SIZE")
    assert {f["allocator"] for f in bill["free"]} == {"jemalloc"}, bill["free"]
    assert free["arena 0: dirty"]["bytes"] == dirty * page, (dirty, free)
    assert free.get("arena 0: muzzy", {"bytes": 0})["bytes"] == muzzy * page, (muzzy, free)
    assert free["thread caches"]["bytes"] == cached, (cached, free)
    kept = parts["free_pages"] + parts["free_between"]
    assert 0 < sum(f["releasable_bytes"] for f in bill["free"]) <= kept, (free, parts)


SLABS = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *kept[60000];
int main(void) {
        for (int i = 0; i < 60000; i++)
                kept[i] = memset(malloc(700), 1, 700);
        for (int i = 0; i < 60000; i++)
                if (i % 8)
                        free(kept[i]);
        sleep(4);
        return 0;
}
"""


def test_jemalloc_linked_in(t):
    """What it maps while it is called is its own: pages without a block are free, and not mapped by the program."""
    found = subprocess.run(["gcc", "-print-file-name=libjemalloc.a"], capture_output=True, check=True).stdout
    if not os.path.isabs(found.decode().strip()):
        skip("no libjemalloc.a")
    program = t.path("slabs")
    with open(program + ".c", "w") as f:
        f.write(SLABS)
    r = run(["gcc", "-O1", "-fno-builtin", program + ".c", "-o", program, "-l:libjemalloc.a", "-lpthread", "-lm", "-ldl", "-lstdc++"])
    assert r.code == 0, r.errors
    recording = Recording(t, [program])
    pid = recording.joined()
    await_sleep(pid)
    bill, parts = parts_of(t, str(pid))
    assert bill["sizes_are_as_asked"], bill
    assert recording.finish()[0] == 0
    freed = 60000 // 8 * 7 * 768  # its size class
    assert abs(parts["free_pages"] + parts["free_between"] - freed) < freed // 10, parts
    assert parts.get("mapped", 0) < 2 << 20, parts  # what it mapped in its constructor


class Asked:
    """A program under silt that tells figures in a line, then stands still until it reads one."""

    def __init__(self, t, argv, env=None):
        self.t, self.trace = t, t.path("asked.silt")
        self.process = subprocess.Popen(t.silt.run_argv(self.trace, argv, ["-f"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True, env=env)
        t.running.append(self.process)
        self.figures = [int(x) for x in self.process.stdout.readline().split()]

    def pid(self):
        return next(pid for pid in children(self.process.pid) if not (comm(pid) or "silt").startswith("silt"))

    def end(self):
        self.process.communicate(b"\n", timeout=600)
        assert self.process.returncode == 0, self.process.returncode


def shape(t, name, site, part):
    """The sentence has the function, and its bytes are within a tenth of what the program itself knows."""
    program = t.context.helpers.build("fragmentation_shapes", ["fragmentation_shapes.c"], link=["-pthread"])
    asked = Asked(t, [program, name])
    bill, parts = parts_of(t, str(asked.pid()))
    asked.end()
    free, kept = asked.figures
    found = bill["fragmentation"]
    t.notes.append(f"{name}: free {parts[part]:,} of {free:,}; {found['function']} keeps {found['kept_bytes']:,} of {kept:,}")
    assert abs(parts[part] - free) <= free // 10, (name, parts, free)
    assert found["function"] == site and site in found["text"], found
    assert abs(found["kept_bytes"] - kept) <= kept // 10, (found, kept)
    assert found["kept_bytes"] <= parts[part], (found, parts)
    assert abs(parts.get("remainder", 0)) <= bill["resident_bytes"] * 3 // 100, parts


def test_checkerboard(t):
    shape(t, "checkerboard", "cache_entry", "free_between")


def test_arenas_after_a_burst(t):
    shape(t, "arenas", "thread_state", "free_pages")


def test_a_block_at_the_top(t):
    shape(t, "pinned_top", "last_word", "free_pages")


def test_emptied(t):
    """Free memory that nobody keeps is told of a process that goes on with it, not of one that frees all it has and ends."""
    program, trace = t.context.helpers.build("emptied", ["emptied.c"]), t.path("emptied.silt")
    for wait_ms in (600, 3000):
        r = t.silt.record(trace, [program, str(wait_ms)], ["-f"])
        assert r.code == 0, r.errors
        report, why = t.silt.report(trace)
        assert report, why
        # a look while it frees finds the blocks behind which pages are free
        told = [f for f in report["findings"] if f["kind"] == "fragmentation" and not f["site"]]
        assert told or wait_ms < 1000, report["findings"]
        assert all(f["evidence"]["at_s"] + 1 <= report["duration_s"] for f in told), (told, report["duration_s"])


def test_books_of_mimalloc(t):
    """Pages that hold other blocks are not given back, so nobody is told to collect; spans that no row tells of may be."""
    found = subprocess.run(["gcc", "-print-file-name=libmimalloc.so"], capture_output=True, check=True).stdout.decode().strip()
    if not os.path.isabs(found):
        skip("no libmimalloc.so")
    for name, is_told, is_collected in (("scattered", True, False), ("fragmented", False, True)):
        program = t.context.helpers.build(name, [name + ".c"])
        with subprocess.Popen([program], env=dict(os.environ, LD_PRELOAD=found)) as p:
            try:
                await_sleep(p.pid)
                told = told_of_a_copy(t, p.pid, "--json")
                text = told_of_a_copy(t, p.pid).text
            finally:
                p.kill()
        bill, parts = parts_in(told.text)
        assert bill["blocks_are_known"] and "live" in parts, (name, told.errors, bill)
        assert {f["allocator"] for f in bill["free"]} == {"mimalloc"}, bill["free"]
        free = {f["name"]: f["bytes"] for f in bill["free"]}
        assert (free["free blocks in pages"] >= parts["free_pages"]) == is_told, (free, parts)
        assert ("mi_collect" in text) == is_collected, text


ATTACHED = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *kept[40000];
int main(void) {
        for (int i = 0; i < 40000; i++)
                kept[i] = memset(malloc(1000), 1, 1000);
        puts("ready");
        fflush(stdout);
        for (int i = 0; i < 600; i++) {
                usleep(100000);
                free(memset(malloc(500), 1, 500));
        }
        return 0;
}
"""


def started_before(t):
    """ATTACHED, which has its blocks."""
    program = t.path("attached")
    with open(program + ".c", "w") as f:
        f.write(ATTACHED)
    r = run(["gcc", "-O1", "-fno-builtin", program + ".c", "-o", program])
    assert r.code == 0, r.errors
    target = subprocess.Popen([program], stdout=subprocess.PIPE)
    t.running.append(target)
    assert target.stdout.readline() == b"ready\n"
    return target


def test_a_trace_that_is_cut(t):
    """What is missing is said by commands that have nowhere else to say it."""
    program, trace = t.context.helpers.build("fragmented", ["fragmented.c"]), t.path("cut.silt")
    assert t.silt.record(trace, [program], ["-f"]).code == 0
    for command in (["bill"], ["whatif", "--estimate"]):
        assert "incomplete" not in t.silt.command(*command, trace).errors
    os.truncate(trace, os.path.getsize(trace) // 2)
    for command in (["bill"], ["whatif", "--estimate"]):
        r = t.silt.command(*command, trace)
        assert "is incomplete, and so is this answer" in r.errors and len(r.errors.splitlines()) == 1, r.errors
        assert r.code == 0, r.code


def test_blocks_from_before_an_attach_are_not_free(t):
    """Nobody saw 40 MB being allocated: they are unknown, and no trim gives them back."""
    target, trace = started_before(t), t.path("old.silt")
    r = t.silt.command("attach", str(target.pid), "-q", "-f", "-o", trace, "--duration", "1s")
    assert r.code == 0, r.errors
    got = json.loads(t.silt.command("bill", trace, "--json").text)
    assert not got["blocks_are_known"] and got["resident_bytes"] > 40_000_000, got
    for text in (t.silt.command("bill", trace).text, t.silt.command("report", trace).text):
        assert "a trim" not in text and "free pages" not in text, text


def test_a_process_that_is_recorded_since_an_attach(t):
    """Its recorder does not know the blocks from before: they are listed from its allocator's own data, as if nobody recorded it."""
    target, trace = started_before(t), t.path("late.silt")
    recorder = subprocess.Popen([t.silt.path, "attach", str(target.pid), "-q", "-f", "-o", trace], stdin=subprocess.DEVNULL)
    t.running.append(recorder)
    end = time.monotonic() + 60
    while t.silt.command("snapshot", str(target.pid)).code and time.monotonic() < end:
        time.sleep(0.05)
    told = told_of_a_copy(t, target.pid, "--json")
    bill, parts = parts_in(told.text)
    assert recorder.poll() is None and bill["blocks_are_known"], (told.errors, bill)
    assert parts["live"] >= 40_000_000 and "heap" not in parts, parts
    assert f"'silt report {trace}' shows who holds those allocated since silt attached" in bill["text"], bill["text"]


def test_the_end_of_several_processes(t):
    """The recording goes on a little behind its last process; --at @end is the last moment that was looked at."""
    program, trace = t.context.helpers.build("family", ["family.c"]), t.path("family.silt")
    assert t.silt.record(trace, [program], ["-f"]).code == 0
    bill, _ = parts_of(t, trace, "--at", "@end")
    assert bill["resident_bytes"] > 0 and bill["at_s"] > 0, bill
    assert "looked at then" not in t.silt.command("bill", trace, "--at", "@end").text
