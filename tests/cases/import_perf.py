# SPDX-License-Identifier: MIT
"""Samples of perf: perf.data and what `perf script` prints. Time keeps when, who and how much; of another event the weights are perf's."""

import os
import re
import shutil
import struct

from harness.answer import parse
from harness.process import run

BUSY = """
static volatile double x;
__attribute__((noinline)) static void hot(void) { for (int i = 0; i < 3000000; i++) x += i * 0.5; }
__attribute__((noinline)) static void warm(void) { for (int i = 0; i < 1000000; i++) x += i * 0.5; }
int main(void) { for (int i = 0; i < 40; i++) { hot(); warm(); } return 0; }
"""

CROWD = """
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile double x;
__attribute__((noinline)) static void spin_a(void) { for (int i = 0; i < 60000000; i++) x += i * 0.5; }
__attribute__((noinline)) static void spin_b(void) { for (int i = 0; i < 30000000; i++) x += i * 0.5; }
static void *run_a(void *a) { prctl(PR_SET_NAME, "worker a"); spin_a(); return a; }
static void *run_b(void *a) { prctl(PR_SET_NAME, "worker b"); spin_b(); return a; }
int main(void)
{
        pthread_t a, b;
        pthread_create(&a, 0, run_a, 0);
        pthread_create(&b, 0, run_b, 0);
        if (!fork()) { spin_b(); _exit(0); }
        pthread_join(a, 0);
        pthread_join(b, 0);
        wait(0);
        return 0;
}
"""

TOUCH = """
#include <sys/mman.h>
__attribute__((noinline)) static void many(char *p) { for (long i = 0; i < 32768; i++) p[i * 4096] = 1; }
__attribute__((noinline)) static void few(char *p) { for (long i = 0; i < 16384; i++) { p[i * 4096] = 1; for (volatile int k = 0; k < 2000; k++); } }
int main(void)
{
        char *p = mmap(0, 4096l * 49152, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(p, 4096l * 49152, MADV_NOHUGEPAGE);
        many(p);
        few(p + 4096l * 32768);
        return 0;
}
"""


def build(t, name, text, *options):
    program = t.path(name)
    with open(program + ".c", "w") as f:
        f.write(text)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-pthread", program + ".c", "-o", program, *options])
    assert r.code == 0, r.errors
    return program


def write(t, name, content):
    path = t.path(name)
    with open(path, "wb" if isinstance(content, bytes) else "w") as f:
        f.write(content)
    return path


def imported(t, path, *options):
    out = path + ".silt"
    r = t.silt.command("import", "-f", path, "-o", out, *options)
    assert r.code == 0, r.errors
    r = t.silt.command("verify", out)
    assert r.code == 0, r.errors
    return out


def report(t, path, *options):
    r = t.silt.command("report", "--json", path, *options)
    assert r.code == 0, r.errors
    return parse(r.stdout)


def words(t, path):
    r = t.silt.command("report", path)
    assert r.code == 0, r.errors
    return " ".join(r.text.split())


def by_function(t, path):
    """What was measured in each function itself."""
    answer = report(t, path, "--group-by", "function", "--process", "all", "--top", "100000")
    rows = answer["groups"] if "groups" in answer else answer["rows"]
    sums = {}
    for row in rows:
        if value := row["self"].get("time_ns") or row["self"]["value"]:
            function = row["function"] or row["label"]
            sums[function] = sums.get(function, 0) + value
    return sums


def ticks(t, path):
    """Time in ns, nanoseconds, state, pid, tid, name of the thread and call path, in the order of time."""
    question = """SELECT k.time_ns, k.weight_ns, k.state, p.pid, h.tid, h.name, k.path FROM ticks k JOIN threads h ON h.id = k.thread
        JOIN processes p ON p.id = k.process"""
    r = t.silt.command("sql", path, question, "--json")
    assert r.code == 0, r.errors
    return sorted(tuple(row) for row in parse(r.stdout)["rows"])


# ---- text --------------------------------------------------------------------------------------------

SCRIPT = """busy 4711/4711 [002] 1234.567890:     250000 cpu-clock:u: 
\t          401136 hot+0x20 (/usr/bin/busy)
\t          401180 main+0x10 (/usr/bin/busy)

worker a 4711/4712 [002] 1234.568140:     500000 cpu-clock:u: 
\t          401156 warm+0x20 (/usr/bin/busy)
\t               0 [unknown] ([unknown])

busy 4711/4711 [002] 1234.568150:          7 page-faults:u: 
\t          401156 warm+0x20 (/usr/bin/busy)

other 99/99 [001] 1234.568100:     250000 cpu-clock:u: 
\tffffffff81000130 entry+0x76 ([kernel.kallsyms])
\t          401180 main+0x10 (/usr/bin/other)

busy 4711/4711 [002] 1234.568390:     250000 cpu-clock:u: 
\t          401137 hot+0x21 (/usr/bin/busy)
\t          401180 main+0x10 (/usr/bin/busy)

"""


def test_script_keeps_when_who_and_how_much(t):
    path = imported(t, write(t, "perf.txt", SCRIPT))
    assert ticks(t, path) == [
        (250000, 250000, "cpu", 4711, 4711, "busy", "hot < main"),
        (460000, 250000, "cpu", 99, 99, "other", "entry < main"),
        (500000, 500000, "cpu", 4711, 4712, "worker a", "warm"),
        (750000, 250000, "cpu", 4711, 4711, "busy", "hot < main"),
    ]
    assert by_function(t, path) == {"hot": 500000, "warm": 500000, "entry": 250000}
    said = words(t, path)
    assert "1 sample of other events is left out (page-faults:u): choose one with --sample-type" in said, said
    assert "busy and its processes (2 in total) ran for 751 us and used 1.25 ms of CPU time" in said, said
    # the order of the file is not that of the times
    assert parse(t.silt.command("report", path, "--json", "--by", "cpu").stdout)["top"][0]["metric"] == "cpu"


def test_script_event_is_chosen(t):
    path = write(t, "perf.txt", SCRIPT)
    for name in ("page-faults", "page-faults:u"):
        chosen = imported(t, path, "--sample-type", name)
        got = report(t, chosen)
        assert got["unit"] == "units" and got["totals"]["peak_live_bytes"] == 7, got["totals"]
        said = words(t, chosen)
        assert "Units are those of the event page-faults:u" in said and "4 samples of other events are left out (cpu-clock:u)" in said, said
    r = t.silt.command("import", "-f", path, "-o", t.path("x.silt"), "--sample-type", "cycles")
    assert r.code == 2 and len(r.errors.strip().splitlines()) == 1, r.errors
    assert "has no event 'cycles': choose one of cpu-clock:u, page-faults:u" in r.errors, r.errors


# As without call graphs: lines begin with blanks.
FLAT = """         swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x12090c8) @ 0xffffffff81000000]: x [kernel.kallsyms]_text
            busy 31952   801.629234: PERF_RECORD_COMM exec: busy:31952/31952
            busy 31952   801.629481:     250000 cpu-clock:      7fcab2cb49b4 hot+0x44 (/usr/bin/busy)
            busy 31952   801.629575: PERF_RECORD_MMAP2 31952/31952: [0x7fcab2ada000(0x156000) @ 0x26000 fe:00 326269 0]: r-xp /usr/lib/libc.so.6
            busy 31952   801.629731:     250000 cpu-clock:      7fcab2cb49b4 operator()(int)+0x44 (/usr/bin/busy)
            busy 31952   801.629831: PERF_RECORD_EXIT(31952:31952):(31952:31952)
"""

# -F +srcline
LINES = """busy 31952   801.629481:     250000 cpu-clock: 
\t            99b4 hot+0x44 (/usr/bin/busy)
  busy.c:81
\tffffffff821c6ea6 mas_wr_node_store+0xa6 ([kernel.kallsyms])
  [kernel.kallsyms][ffffffff821c6ea6]

"""

TRACEPOINT = """            spin 21323 [001]  1912.098335: sched:sched_switch: prev_comm=spin prev_pid=21323 prev_prio=120 prev_state=S ==> next_comm=swapper/1
            spin 21323 [001]  1912.098435: sched:sched_switch: prev_comm=spin prev_pid=21323 prev_prio=120 prev_state=S ==> next_comm=swapper/1
"""


def test_script_in_other_forms(t):
    flat = imported(t, write(t, "flat.txt", FLAT))
    assert ticks(t, flat) == [
        (250000, 250000, "cpu", 31952, 31952, "busy", "hot"),
        (500000, 250000, "cpu", 31952, 31952, "busy", "operator()"),
    ]
    lines = imported(t, write(t, "lines.txt", LINES))
    assert by_function(t, lines) == {"hot": 250000}
    assert ticks(t, lines)[0][6] == "hot < mas_wr_node_store"
    tracepoint = imported(t, write(t, "tp.txt", TRACEPOINT))
    assert report(t, tracepoint)["totals"]["peak_live_bytes"] == 2
    assert "Samples are those of the event sched:sched_switch" in words(t, tracepoint)
    # without periods there is no time
    counted = imported(t, write(t, "counted.txt", FLAT.replace(" 250000 cpu-clock", " cpu-clock")))
    assert report(t, counted)["unit"] == "samples" and by_function(t, counted) == {"hot": 1, "operator()(int)": 1}
    r = t.silt.command("import", "-f", write(t, "odd.txt", LINES.rstrip("\n") + "\n  odd\n\n"), "-o", t.path("x.silt"))
    assert r.code == 0, r.errors  # beside a frame
    r = t.silt.command("import", "-f", write(t, "odd.txt", LINES + "  odd\n"), "-o", t.path("x.silt"))
    assert r.code == 2 and "'odd' is not a sample" in r.errors, r.errors
    # perf script tells threads, and no processes, unless it is asked
    crowd = imported(t, write(t, "crowd.txt", FLAT + FLAT.replace("31952", "31953")))
    assert "Threads count as those of one process: perf script tells which with -F +pid" in words(t, crowd)
    assert len({row[4] for row in ticks(t, crowd)}) == 2


def test_script_there_and_back(t):
    """What silt exports has all that silt reads."""
    text = "".join(
        f"thread {i % 7} {100 + i % 3}/{100 + i % 3 + 10 * (i % 2)} {5 + (i * 7 % 400) / 1000:.6f}: {1000 * (1 + i % 50):10} {event}:\n"
        + "".join(f"\t{0x400000 + depth:16x} f{t.chance.randrange(9)} (/usr/bin/crowd)\n" for depth in range(1 + i % 5)) + "\n"
        for i, event in ((i, ("cpu-clock", "offcpu-time", "ready-time")[i % 3]) for i in range(400))
    )
    first = imported(t, write(t, "first.txt", text))
    kept = ticks(t, first)
    assert len(kept) == 400 and {row[2] for row in kept} == {"cpu", "blocked", "ready"}, kept[:5]
    r = t.silt.command("export", first, "--format", "perf-script", "-o", t.path("back.txt"), "-f")
    assert r.code == 0, r.errors
    again = ticks(t, imported(t, t.path("back.txt")))
    assert [row[1:5] + row[6:] for row in again] == [row[1:5] + row[6:] for row in kept]
    assert {a[0] - b[0] for a, b in zip(again, kept)} == {again[0][0] - kept[0][0]}
    assert {row[5] for row in again} == {row[5].replace(" ", "_") for row in kept}


def test_allocations_there_and_back(t):
    """The period of what silt exports of memory is bytes, which may be none."""
    head, frame = "app 1/1 0.000%d: %10d silt:malloc:\n", "\t 7f0012 read+0x0 (/usr/bin/app)\n\n"
    path = imported(t, write(t, "memory.txt", "".join(head % row + frame for row in ((215, 4096), (220, 10), (225, 0)))))
    assert by_function(t, path) == {"read": 4106}
    got = report(t, path)["totals"]
    assert (got["allocations"], got["bytes_allocated"], got["end_live_bytes"]) == (3, 4106, None), got
    assert "Its samples are allocations: what was freed is unknown" in words(t, path)


# ---- perf.data ---------------------------------------------------------------------------------------

HEAD_BYTES, ATTR_BYTES = 104, 128
IP, TID, TIME, CHAIN, PERIOD, IDENTIFIER = 1, 2, 4, 32, 256, 1 << 16
SAMPLE_TYPE = IP | TID | TIME | CHAIN | PERIOD | IDENTIFIER
CPU_CLOCK, PAGE_FAULTS = (1, 0, 1), (1, 2, 2)  # type, config, identifier
USER = 2**64 - 512


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, len(body) + 8) + body


def behind(task, time, event=1):
    """What other records than samples end with: the thread, the time, the event."""
    return struct.pack("<IIQQ", *task, time, event)


def sample(task, time, chain, period=250000, event=1):
    chain = [USER, *chain]
    return record(9, struct.pack(f"<QQIIQQQ{len(chain)}Q", event, chain[1], *task, time, period, len(chain), *chain))


def name(task, text, time, is_exec=False):
    text = text.encode() + b"\0"
    return record(3, struct.pack("<II", *task) + text + b"\0" * (-len(text) % 8) + behind(task, time), 2 | is_exec << 13)


def fork(child, parent, time):
    return record(7, struct.pack("<IIIIQ", child[0], parent[0], child[1], parent[1], time) + behind(child, time))


def leave(task, time):
    return record(4, struct.pack("<IIIIQ", task[0], task[0], task[1], task[1], time) + behind(task, time))


def mapping(task, begin, length, offset, path, time, build_id=b""):
    path = path.encode() + b"\0"
    device = struct.pack("<BBH20s", len(build_id), 0, 0, build_id) if build_id else bytes(24)
    body = struct.pack("<IIQQQ", *task, begin, length, offset) + device + struct.pack("<II", 5, 2) + path
    return record(10, body + b"\0" * (-len(path) % 8) + behind(task, time), 2 | bool(build_id) << 14)


def attribute(event, on_exec=True):
    kind, config, _ = event
    flags = 1 << 10 | on_exec << 12 | 1 << 18
    return struct.pack("<IIQQQQQ", kind, ATTR_BYTES, config, 4000, SAMPLE_TYPE, 4, flags).ljust(ATTR_BYTES, b"\0")


def perf_data(records, events=(CPU_CLOCK,), **options):
    ids_at = HEAD_BYTES
    attributes_at = ids_at + 8 * len(events)
    data_at = attributes_at + (ATTR_BYTES + 16) * len(events)
    data = b"".join(records)
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", HEAD_BYTES, ATTR_BYTES + 16, attributes_at, (ATTR_BYTES + 16) * len(events), data_at, len(data), 0, 0)
    return (
        head.ljust(HEAD_BYTES, b"\0")
        + b"".join(struct.pack("<Q", e[2]) for e in events)
        + b"".join(attribute(e, **options) + struct.pack("<QQ", ids_at + 8 * i, 8) for i, e in enumerate(events))
        + data
    )


def perf_pipe(records, events=(CPU_CLOCK,)):
    return (
        struct.pack("<8sQ", b"PERFILE2", 16)
        + b"".join(record(64, attribute(e) + struct.pack("<Q", e[2]), 0) for e in events)
        + b"".join(records)
    )


def perf_packed(records, events=(CPU_CLOCK,)):
    """As of -z: one stream of zstd in several records, which ends within records. Its blocks are plain bytes."""
    data, packed = b"".join(records), []
    for at in range(0, len(data), 100):
        part = data[at:at + 100]
        stream = (b"\x28\xb5\x2f\xfd\x00\x58" if at == 0 else b"") + struct.pack("<I", len(part) << 3)[:3] + part
        packed.append(struct.pack("<IHH", 81, 0, len(stream) + 8) + stream)
    return perf_data(packed, events)


def hardware(n):
    """What Intel PT writes: a record, and its bytes behind it, which look like records."""
    return record(71, struct.pack("<QQQIIII", n, 0, 0, 0, 10, 0, 0), 0) + record(9, bytes(24), 0) * (n // 32) + bytes(n % 32)


def many_ids():
    """Each of many events says that all of the file is its ids."""
    whole = bytearray(perf_data([sample(MAIN, 1, [1])], (CPU_CLOCK,) * 9))
    for i in range(9):
        struct.pack_into("<QQ", whole, HEAD_BYTES + 8 * 9 + (ATTR_BYTES + 16) * (i + 1) - 16, 0, len(whole) // 8 * 8)
    return bytes(whole)


MAIN, THREAD, CHILD = (10, 10), (10, 11), (12, 12)


def story(program="/nowhere/app"):
    """A program with a thread and a child that becomes another program; out of order, as perf's buffers are."""
    return [
        name(MAIN, "perf-exec", 0),
        name(MAIN, "app", 1000000, True),
        mapping(MAIN, 0x400000, 0x10000, 0x1000, program, 1000100),
        sample(MAIN, 1300000, [0x400100, 0x400200]),
        sample(MAIN, 2000000, [0x400100, 0x400200], period=700000),
        sample(CHILD, 3000000, [0x400300]),
        sample(CHILD, 3500000, [0x400300]),
        fork(THREAD, MAIN, 1500000),
        name(THREAD, "worker", 1500100),
        sample(THREAD, 1800000, [0x400140]),
        fork(CHILD, MAIN, 2500000),
        name(CHILD, "tool", 3200000, True),
        mapping(CHILD, 0x400000, 0x10000, 0, "/nowhere/tool", 3200100),
        leave(CHILD, 3600000),
        sample(MAIN, 3700000, [0x400100, 0x400200], period=5, event=2),
        sample(MAIN, 4000000, [0x500100]),
    ]


# Return addresses: the innermost is the one behind the instruction.
STORY = [
    (250000, 250000, "cpu", 10, 10, "app", "app+0x1101 < app+0x1200"),
    (750000, 250000, "cpu", 10, 11, "worker", "app+0x1141"),
    (950000, 700000, "cpu", 10, 10, "app", "app+0x1101 < app+0x1200"),
    (1950000, 250000, "cpu", 12, 12, "app", "app+0x1301"),
    (2450000, 250000, "cpu", 12, 12, "tool", "tool+0x301"),
    (2950000, 250000, "cpu", 10, 10, "app", "0x500101"),
]


def test_data_keeps_when_who_and_how_much(t):
    for how, make in (("file", perf_data), ("pipe", perf_pipe), ("packed", perf_packed)):
        path = write(t, f"{how}.data", make(story(), (CPU_CLOCK, PAGE_FAULTS)))
        got = imported(t, path)
        assert ticks(t, got) == STORY, (how, ticks(t, got))
        r = t.silt.command("sql", got, "SELECT pid, image, name, start_ns, ended FROM processes ORDER BY id", "--json")
        assert parse(r.stdout)["rows"] == [
            [10, 1, "app", 0, "unknown"], [12, 1, "app", 1450000, "exec"], [12, 2, "tool", 2150000, "exit"]
        ], r.stdout
        assert "1 sample of other events is left out (page-faults)" in words(t, got)
        # and back
        r = t.silt.command("export", got, "--format", "perf-script", "-o", t.path("back.txt"), "-f")
        assert r.code == 0, r.errors
        again = ticks(t, imported(t, t.path("back.txt")))
        assert [row[:5] for row in again] == [row[:5] for row in STORY], again
        faults = imported(t, path, "--sample-type", "page-faults")
        assert report(t, faults)["totals"]["peak_live_bytes"] == 5


def test_a_trace_of_the_hardware_is_passed_over(t):
    rows = [row for event in story() for row in (hardware(96), event)]
    for how, make in (("file", perf_data), ("pipe", perf_pipe)):
        path = imported(t, write(t, f"{how}.data", make(rows, (CPU_CLOCK, PAGE_FAULTS))))
        assert ticks(t, path) == STORY, (how, ticks(t, path))
        said = words(t, path)
        assert re.search(r"A trace of the hardware, such as Intel PT \(1\.\d+ KiB\), is left out", said), said
    # alone
    path = imported(t, write(t, "alone.data", perf_data([hardware(4096)])))
    assert "A trace of the hardware, such as Intel PT (4.0 KiB), is left out" in words(t, path)


def test_data_weighs_by_the_period(t):
    rows = [sample(MAIN, 1000 + i, [0x400100 + i % 2], period=65 if i % 2 else 35, event=2) for i in range(20)]
    path = imported(t, write(t, "faults.data", perf_data([name(MAIN, "app", 0), *rows], (PAGE_FAULTS,))))
    got = report(t, path)
    assert got["headline"] == "app: 1,000 units in 2 call paths.", got["headline"]
    assert sorted(by_function(t, path).values()) == [350, 650]
    assert "Units are those of the event page-faults" in words(t, path)


def test_data_of_a_machine(t):
    """Of all processes the one that took most comes first, and not the idle one."""
    idle, busy, other = (0, 0), (7, 7), (8, 8)
    rows = [sample(idle, 10**6 * i, [0x400000]) for i in range(1, 49)]
    rows += [sample(other, 10**6 * 60, [0x400000]), sample(busy, 10**6 * 61, [0x400000]), sample(busy, 10**6 * 62, [0x400000])]
    names = [name(busy, "busy", 0), name(other, "other", 0)]
    path = imported(t, write(t, "all.data", perf_data(names + rows, on_exec=False)))
    assert words(t, path).count("busy and its processes (3 in total)") == 1, words(t, path)
    assert {(row[3], row[5]) for row in ticks(t, path)} == {(0, "swapper"), (7, "busy"), (8, "other")}
    assert sum(row[1] for row in ticks(t, path)) == 51 * 250000
    said = words(t, path)
    assert "Where threads waited is unknown" in said and "12 ms of the CPU time is that of idle CPUs (swapper)" in said, said


def test_a_file_with_another_build_id_names_nothing(t):
    program = build(t, "busy", BUSY, "-no-pie")
    r = run(["readelf", "-n", program])
    own = bytes.fromhex(re.search(r"Build ID: (\w+)", r.text)[1])
    r = run(["nm", program])
    hot = int(re.search(r"^(\w+) t hot$", r.text, re.M)[1], 16)
    r = run(["readelf", "-lW", program])
    offset, begin = (int(x, 16) for x in re.search(r"LOAD +(\w+) (\w+) .* R E", r.text).groups())
    for build_id, expected in ((own, {"hot": 250000}), (b"", {"hot": 250000}), (bytes(20), None), (own[::-1], None)):
        where = mapping(MAIN, begin, 0x1000, offset, program, 0, build_id)
        path = imported(t, write(t, "busy.data", perf_data([name(MAIN, "busy", 0), where, sample(MAIN, 1000000, [hot + 4])])))
        got = by_function(t, path)
        assert got == expected if expected else "hot" not in got, (build_id, got)


def test_damaged_data_is_refused_in_one_line(t):
    whole = perf_packed(story(), (CPU_CLOCK, PAGE_FAULTS))
    plain = perf_data(story(), (CPU_CLOCK, PAGE_FAULTS))
    at = plain.index(struct.pack("<IHH", 9, 2, len(sample(MAIN, 0, [1, 2]))))
    for name_of, content in (
        ("cut", plain[:-9]),
        ("unended", plain[:48] + bytes(8) + plain[56:]),
        ("sample", plain[: at + 48] + b"\xff" * 8 + plain[at + 56:]),
        ("packed", whole.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe")),
        ("hardware", perf_data([hardware(64)[:-8]])),
        ("ids", many_ids()),
    ):
        r = t.silt.command("import", "-f", write(t, name_of, content), "-o", t.path("x.silt"))
        assert r.code == 2 and len(r.errors.strip().splitlines()) == 1 and "byte" in r.errors, (name_of, r.errors)


# ---- perf itself -------------------------------------------------------------------------------------


def recorded(t, name_of, *options):
    """perf.data of a program, or None: perf is not here, or may not."""
    if not shutil.which("perf"):
        print("perf is not installed: only written files were read")
        return None
    data = t.path(name_of)
    r = run(["perf", "record", "-q", "-o", data, *options])
    if r.code:
        print(f"perf cannot record here: only written files were read: {r.errors.strip()[:200]}")
        return None
    return data


def perf_says(data):
    """By event: nanoseconds, or what is counted, of each function; how much in all."""
    r = run(["perf", "report", "-i", data, "--stdio", "-g", "none", "--no-children", "-F", "period,sym", "-w", "0,200"])
    events = {}
    for line in r.text.splitlines():
        if m := re.match(r"# Samples: .* of event '(.*)'", line):
            events[m[1]] = functions = {}
        elif m := re.match(r"^ +(\d+) +\[.\] (\S.*?)\s*$", line):
            functions[m[2]] = functions.get(m[2], 0) + int(m[1])
    return events


def test_figures_are_as_perf_report_tells_them(t):
    busy, crowd, touch = build(t, "busy", BUSY), build(t, "crowd", CROWD), build(t, "touch", TOUCH)
    for name_of, options, functions in (
        ("plain", ["-e", "cpu-clock", "-g", busy], ("hot", "warm")),
        ("no graph", ["-e", "task-clock", "-c", "1000000", busy], ("hot", "warm")),
        ("packed", ["-e", "cpu-clock", "-z", "-g", busy], ("hot", "warm")),
        ("threads", ["-e", "cpu-clock", "-F", "2000", "-g", crowd], ("spin_a", "spin_b")),
        ("machine", ["-a", "-e", "cpu-clock", "-g", "--", crowd], ("spin_a", "spin_b")),
        ("faults", ["-e", "page-faults", "-F", "200", "-g", touch], ("many",)),
        ("two", ["-e", "page-faults,cpu-clock", "-g", busy], ("hot", "warm")),
        ("python", ["-e", "cpu-clock", "-g", "python3", "-c", "sum(i * i % 7 for i in range(3000000))"], ()),
        ("sqlite", ["-e", "cpu-clock", "-g", "sqlite3", ":memory:",
                    "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x<400000) SELECT sum(x) FROM c"], ()),
    ):
        data = recorded(t, name_of, *options)
        if not data:
            return
        told = perf_says(data)
        wanted = told["page-faults"] if name_of == "faults" else next(v for k, v in told.items() if k in ("cpu-clock", "task-clock"))
        mine = by_function(t, imported(t, data))
        assert sum(mine.values()) == sum(wanted.values()), (name_of, sum(mine.values()), sum(wanted.values()))
        for function in functions:
            assert mine.get(function) == wanted[function], (name_of, function, mine.get(function), wanted[function])
        if name_of == "packed":
            continue
        # and as text
        r = run(["perf", "script", "-i", data, "-F", "+pid"])
        mine = by_function(t, imported(t, write(t, "script.txt", r.text)))
        assert sum(mine.values()) == sum(wanted.values()), (name_of, sum(mine.values()), sum(wanted.values()))
        for function in functions:
            assert mine.get(function) == wanted[function], (name_of, function, mine.get(function), wanted[function])


def test_a_pipe_of_perfs(t):
    data = recorded(t, "file", "-e", "cpu-clock", "-g", build(t, "busy", BUSY))
    if not data:
        return
    r = run(["sh", "-c", f"perf record -q -e cpu-clock -g -o - {t.path('busy')} > {t.path('pipe')}"])
    assert r.code == 0, r.errors
    told = perf_says(t.path("pipe"))["cpu-clock"]
    mine = by_function(t, imported(t, t.path("pipe")))
    assert mine["hot"] == told["hot"] and sum(mine.values()) == sum(told.values()), (mine, told)


DEEP = """
#include <stdlib.h>
static volatile double x;
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
        for (int i = 0; i < 200; i++)
                x += i;
        return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static int deep(int n, int *v)
{
        if (n)
                return deep(n - 1, v) + 1;
        qsort(v, 1000, sizeof(int), compare);
        return 0;
}
int main(void)
{
        int v[1000], sum = 0;
        for (int k = 0; k < 100; k++) {
                for (int i = 0; i < 1000; i++)
                        v[i] = rand();
                sum += deep(20, v);
        }
        return sum == 1;
}
"""


def test_copies_of_stacks_are_unwound(t):
    program = build(t, "deep", DEEP, "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
    data = recorded(t, "deep.data", "-e", "cpu-clock", "-F", "500", "--call-graph", "dwarf", program)
    if not data:
        return
    got = imported(t, data)
    paths = [row[6] for row in ticks(t, got) if row[6].startswith("compare < ")]
    assert len(paths) > 50
    for path in paths:
        assert path.count("deep < ") == 21 and " < main < " in path and path.endswith("_start"), path
    assert "cut short" not in words(t, got)
    # a file of that name that is another
    with open(program, "ab") as f:
        f.write(b"more")
    os.replace(build(t, "other", BUSY), program)
    said = words(t, imported(t, data))
    assert re.search(r"\d+ % of the call paths from copies of stacks are cut short", said), said


def test_code_made_at_run_time_is_named_by_its_map(t):
    script = write(t, "hot.js", "function hotjs(){let x=0;for(let i=0;i<3e7;i++)x+=i%7*i;return x}\nfor(let i=0;i<6;i++)hotjs()\n")
    if not shutil.which("node"):
        print("node is not installed")
        return
    data = recorded(t, "js.data", "-e", "cpu-clock", "-g", "node", "--perf-basic-prof", "--no-logfile-per-isolate", f"--logfile={t.path('v8.log')}", script)
    if not data:
        return
    told = {k.split()[0]: v for k, v in perf_says(data)["cpu-clock"].items() if "hotjs" in k}
    mine = {k.split()[0]: v for k, v in by_function(t, imported(t, data)).items() if "hotjs" in k}
    assert mine["JS:*hotjs"] == told["JS:*hotjs"] > 0, (mine, told)


def test_functions_of_the_kernel_have_names(t):
    data = recorded(t, "kernel.data", "-e", "cpu-clock:k", "-g", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ls /usr/bin > /dev/null; done")
    if not data or os.geteuid() != 0:
        return
    told = {}
    for function, value in perf_says(data)["cpu-clock:k"].items():
        # two names of one address: perf prefers __pi_memset, silt memset
        function = re.sub(r"^__pi_|(\.(isra|part|constprop|cold)(\.\d+)?)+$", "", function)
        told[function] = told.get(function, 0) + value
    assert by_function(t, imported(t, data)) == told
