# SPDX-License-Identifier: MIT
"""Threads in silt tasks: where they were spawned, where they wait, what their stacks touch (threads_spawned.c)."""

import os
import shutil
import signal
import subprocess
import time

from cases import cpu
from harness.answer import parse
from harness.cases import skip
from harness.process import kill_family, run

HERE = os.path.dirname(os.path.abspath(__file__))
N_POOL, N_SHORT, TOUCHED = 12, 4, 200000


def line_of(mark):
    with open(os.path.join(HERE, "threads_spawned.c"), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if f"/* {mark} */" in line)


def program(t):
    return t.context.helpers.build("threads_spawned", ["threads_spawned.c"], flags=["-pthread", "-g"])


def start(t, argv):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    t.running.append(process)
    assert process.stdout.readline() == b"ready\n", "the program has ended"
    return process


def threads_of(t, who):
    r = t.silt.command("tasks", str(who), "--json")
    assert r.code == 0, r.errors
    return parse(r.text)


def pool_waits(answer):
    """The pool's group, once all of it waits and its stacks are known; else None."""
    for g in answer["threads"]["groups"]:
        waits = g["waits"][0] if g["waits"] else {"in": "", "threads": 0}
        if waits["in"].startswith("pthread_cond_wait") and waits["threads"] == N_POOL and g["known_stacks"] == N_POOL:
            return g
    return None


def until_pool_waits(t, who):
    end = time.monotonic() + 60
    pool = None
    while not pool:
        r = t.silt.command("tasks", str(who), "--json")
        assert time.monotonic() < end, r.text + r.errors
        if r.code == 0:  # of a trace there is nothing to read at first
            answer = parse(r.text)
            pool = pool_waits(answer)
        time.sleep(0.1)
    assert N_POOL * TOUCHED <= pool["stack_bytes"] <= N_POOL * (TOUCHED + 65536), pool["stack_bytes"]
    assert pool["alive"] == N_POOL and pool["runs"] == "wait_for_work", pool
    assert pool["waits"][0]["called_by"].startswith("wait_for_work at threads_spawned.c:"), pool["waits"]
    assert answer["sentence"].startswith(f"{N_POOL} threads "), answer["sentence"]
    assert "wait in pthread_cond_wait" in answer["sentence"] and "stacks touch 2." in answer["sentence"], answer["sentence"]
    return answer, pool


def test_of_a_process(t):
    """Nobody records it: where they were spawned is not known, and not guessed."""
    process = start(t, [program(t)])
    try:
        answer, pool = until_pool_waits(t, process.pid)
        threads = answer["threads"]
        assert threads["threads"] == threads["alive"] == N_POOL + 1 and threads["unknown_spawns"] == N_POOL + 1, threads
        assert pool["spawned"] is None and "stack" not in pool, pool
        assert "spawned is unknown" in threads["sentence"] and "'silt run --cpu'" in threads["sentence"], threads["sentence"]
        sleeper = next(g for g in threads["groups"] if g["names"][0]["name"] == "sleeper")
        assert sleeper["waits"][0]["in"] == "pause", sleeper
    finally:
        process.stdin.close()
        assert process.wait(60) == 0
        kill_family(process)


def test_of_a_recording(t):
    """Threads on a fresh stack are known by the place that spawned them, those on one that was kept are not."""
    cpu.needs_samples(run([t.silt.path, "run", "-q", "-f", "--cpu", "-o", t.path("can.silt"), "--", "true"]))
    trace = t.path("t.silt")
    process = start(t, [t.silt.path, "run", "-q", "-f", "--cpu", "-o", trace, "--", program(t)])
    try:
        until_pool_waits(t, trace)
    finally:
        process.stdin.close()
        assert process.wait(60) == 0
        kill_family(process)
    answer = threads_of(t, trace)
    threads = answer["threads"]
    by_place = {g["spawned"]: g for g in threads["groups"] if g["spawned"]}
    pool = by_place[f"spawned at threads_spawned.c:{line_of('the pool')}"]
    short = by_place[f"spawned at threads_spawned.c:{line_of('short ones')}"]
    assert pool["threads"] == N_POOL and short["threads"] == short["ended"] == 1, by_place
    assert threads["threads"] == N_POOL + N_SHORT + 1 and threads["unknown_spawns"] == N_SHORT, threads
    assert sum(g["threads"] for g in threads["groups"]) == threads["threads"], threads
    assert answer["graph"] is None and answer["tasks"] == 0, answer
    assert "spawned is unknown" not in threads["sentence"], threads["sentence"]
    r = t.silt.command("tasks", trace)
    assert r.code == 0 and " threads " in r.text and "called by wait_for_work" in " ".join(r.text.split()), r.text


RUST_WAITS = {"condvar": "Condvar::wait", "recv": "recv", "park": "park", "lock": "lock", "write": "write", "barrier": "Barrier::wait", "read": "read"}


def until_rust_waits(t, who, groups_are):
    """Each thread waits in what it is named after, and called it by its own function."""
    end, wrong = time.monotonic() + 60, "nothing yet"
    while wrong:
        assert time.monotonic() < end, wrong
        time.sleep(0.1)
        r = t.silt.command("tasks", str(who), "--json")
        if r.code != 0:  # of a trace there is nothing to read at first
            continue
        groups = parse(r.text)["threads"]["groups"]
        waits = [(w["in"], w["called_by"] or "", w["threads"]) for g in groups for w in g["waits"]]
        wrong = [(name, waits) for name, word in RUST_WAITS.items()
                 if not [n for in_, by, n in waits if word in in_ and by.startswith("thread_waits::wait_" + name) and n == 1]]
        wrong = wrong or ([] if len(groups) == groups_are else [g["names"] for g in groups])


def test_rust_waits(t):
    """As people call them, not as the system call that all are; of a process that nobody records, too, whose frame pointers nobody tells."""
    if not shutil.which("rustc"):
        skip("there is no rustc")
    path, trace = t.context.helpers.build("thread_waits", ["thread_waits.rs"], flags=["-C", "debuginfo=1"]), t.path("t.silt")
    process = start(t, [path])
    try:
        until_rust_waits(t, process.pid, len(RUST_WAITS))  # closures of one function are not one
    finally:
        kill_family(process)
    cpu.needs_samples(run([t.silt.path, "run", "-q", "-f", "--cpu", "-o", t.path("can.silt"), "--", "true"]))
    process = start(t, [t.silt.path, "run", "-q", "-f", "--cpu", "-o", trace, "--", path])
    try:
        until_rust_waits(t, trace, 1)  # one line spawns them
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        kill_family(process)


REAL = {  # programs that nobody here wrote, which wait for ever, and how many threads they have at least beside the first
    "node": (["node", "-e", "setInterval(() => {}, 1e9); console.log('ready')"], 4),
    "java": (["java", "-Xshare:auto", "{dir}/Waits.java"], 8),
    "python3": (["python3", "-c", "import threading as t\nfor i in range(9): t.Thread(target=t.Event().wait, daemon=True).start()\n"
                                  "print('ready', flush=True); input()"], 9),
}
JAVA = "class Waits { public static void main(String[] a) throws Exception { System.out.println(\"ready\"); System.in.read(); } }"


def stacks_by_the_kernel(pid):
    """{tid: resident bytes of the mapping that its stack pointer is in}; of the first thread, and of one that runs, there is none."""
    with open(f"/proc/{pid}/smaps") as f:
        maps, rss = [], {}
        for line in f:
            words = line.split()
            if words[0].count("-") == 1 and words[0][-1] != ":":
                maps.append(tuple(int(x, 16) for x in words[0].split("-")))
            elif words[0] == "Rss:":
                rss[maps[-1]] = int(words[1]) * 1024
    found = {}
    for tid in map(int, os.listdir(f"/proc/{pid}/task")):
        with open(f"/proc/{pid}/task/{tid}/syscall") as f:
            words = f.read().split()
        if tid != pid and len(words) > 2:
            sp = int(words[-2], 16)
            found[tid] = next(rss[m] for m in maps if m[0] <= sp < m[1])
    return found


def check_stacks(t, name):
    """What silt says lies between what the kernel says before and after: stacks only grow, and these threads wait."""
    if not shutil.which(name):
        skip(f"there is no {name}")
    argv, least = REAL[name]
    with open(t.path("Waits.java"), "w") as f:
        f.write(JAVA)
    process = start(t, [word.replace("{dir}", t.dir) for word in argv])
    try:
        end = time.monotonic() + 60
        while True:
            before = stacks_by_the_kernel(process.pid)
            threads = threads_of(t, process.pid)["threads"]
            after = stacks_by_the_kernel(process.pid)
            if before == after and len(before) == threads["alive"] or time.monotonic() > end:
                break
            time.sleep(0.2)
    finally:
        kill_family(process)
    assert before == after, "its threads do not come to rest"
    assert threads["alive"] == len(before) >= least, (threads, before)
    assert sum(g["known_stacks"] for g in threads["groups"]) == len(before), threads
    assert threads["stack_bytes"] == sum(g["stack_bytes"] for g in threads["groups"]) == sum(before.values()), (threads["stack_bytes"], before)


def test_stacks_of_node(t):
    check_stacks(t, "node")


def test_stacks_of_java(t):
    check_stacks(t, "java")


def test_stacks_of_python(t):
    check_stacks(t, "python3")


def test_stopped_thread_is_no_crash(t):
    """A process that stands still is told as it is."""
    process = start(t, [program(t)])
    try:
        os.kill(process.pid, signal.SIGSTOP)
        assert threads_of(t, process.pid)["threads"]["alive"] == N_POOL + 1
    finally:
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.close()
        assert process.wait(60) == 0
        kill_family(process)
