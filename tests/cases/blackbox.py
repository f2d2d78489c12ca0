# SPDX-License-Identifier: MIT
"""The post-mortem of programs that the kernel killed (docs/lab.md, "The black box"): version 1 of the cgroups for real, version 2 played by a
thread that keeps its files and kills at the limit."""

import os
import re
import shutil
import signal
import threading
import time
from collections import Counter

from harness.cases import skip
from harness.cgroup import MemoryGroup, limited
from harness.process import run
from harness.watch import children

MIB = 1 << 20
LIMIT = 64 * MIB

RUST = """use std::{thread::sleep, time::Duration};
static mut KEPT: Vec<Vec<u8>> = Vec::new();
#[inline(never)]
#[allow(static_mut_refs)]
fn hoard() { unsafe { KEPT.push(vec![1u8; 16384]) } }
fn main() { loop { hoard(); sleep(Duration::from_micros(100)); } }
"""


def program(t, way, pause_us):
    return [t.context.helpers.build("blackbox", ["blackbox.c"], flags=["-D_GNU_SOURCE"], link=["-lpthread"]), way, str(pause_us)]


def rust_program(t):
    if not shutil.which("rustc"):
        skip("there is no rustc")
    with open(t.path("hoard.rs"), "w") as f:
        f.write(RUST)
    r = run(["rustc", "-g", "-O", t.path("hoard.rs"), "-o", t.path("hoard")], timeout_s=300)
    assert r.code == 0, r.errors
    return [t.path("hoard")]


def post_mortem(t, trace):
    report, why = t.silt.report(trace)
    assert report, why
    r = t.silt.command("report", trace, env={**os.environ, "COLUMNS": "4000"})
    assert r.code == 0, r.errors
    assert t.silt.command("verify", trace).code == 0, t.silt.command("verify", trace).text
    p = report["post_mortem"]
    if p:
        # the text wraps at 120 cells at most: words are compared
        assert " ".join(r.text.split()).startswith(" ".join(p["text"].split())), (r.text[:2000], p["text"])
    return p, report


def check_killed(p, report, group_path, limit, has_line):
    """All that a post-mortem has, of whatever the program was."""
    assert p and p["killed"] == "process", p
    assert any(x["kind"] == "killed" and x["severity"] == "problem" for x in report["findings"]), report["findings"]
    limit_of = p["limit"]
    assert (limit_of["kind"], limit_of["limit_bytes"]) == ("cgroup", limit), limit_of
    assert group_path.endswith(limit_of["path"]), (limit_of, group_path)
    assert limit_of["kills"] >= 1 and limit_of["usage_bytes"] <= limit, limit_of
    assert 0.9 * limit <= limit_of["had_bytes"] <= limit, limit_of
    one = next(x for x in report["processes"] if x["pid"] == p["pid"] and x["ended"] == "oom")
    assert p["live_bytes"] == one["totals"]["end_live_bytes"], (p["live_bytes"], one["totals"])
    if has_line:
        assert f"Killed process {p['pid']} (" in p["kernel_line"], p["kernel_line"]
        # the kernel tells the reason of ten kills in five seconds at most
        assert p["kernel_reason"] is None or limit_of["path"] in p["kernel_reason"], p["kernel_reason"]
    assert p["text"].startswith("The kernel killed ") and " for lack of memory after " in p["text"], p["text"]


def check_blocks(p, limit, function="hoard"):
    """Nearly all of it in blocks of one function."""
    largest = p["largest"]
    assert largest["kind"] == "blocks" and largest["function"].split("::")[-1] == function, largest
    assert largest["bytes"] <= largest["of_bytes"] == p["live_bytes"], largest
    assert largest["bytes"] > 0.98 * p["live_bytes"] and p["live_bytes"] > 0.7 * limit, p
    assert re.search(rf"were live, (nearly )?all of them allocated by (\S+::)?{function} \(", p["text"]), p["text"]


def check_steady(p):
    """Rates of the group and of the function that fills it are about the same; what twice the limit would do is arithmetic."""
    growth = p["growth"]
    assert growth["shape"] == "steady" and growth["over_s"] <= 20, growth
    assert abs(p["largest"]["bytes_per_s"] - growth["bytes_per_s"]) < 0.35 * growth["bytes_per_s"], (p["largest"], growth)
    assert abs(p["twice_the_limit_lasts_s"] * growth["bytes_per_s"] - p["limit"]["limit_bytes"]) < 0.01 * p["limit"]["limit_bytes"], p
    assert p["needed_bytes"] is None and "No limit would do" in p["text"], p["text"]


def check_complete(p):
    """With --leaks, however fast it was: what is known of slope, need and holders is told, and what is not, why."""
    growth, largest = p["growth"], p["largest"]
    assert growth["shape"] in ("steady", "level", "step") and growth["bytes_per_s"] > 0 and growth["over_s"] > 0, growth
    if growth["shape"] == "steady":
        assert "No limit would do" in p["text"], p
        # of the process alone: more may have grown beside it
        assert (p["twice_the_limit_lasts_s"] or 0) > 0 or growth["of"] != "cgroup" and "would have lasted is unknown" in p["text"], p
    else:
        assert (p["needed_bytes"] or 0) > 0 or "unknown" in p["text"], p
    if p["graph"]:
        assert largest["held_by"] == "static kept" and "held by static kept" in p["text"], p
    else:
        assert p["no_graph"] and p["no_graph"] in p["text"], p
    return growth["shape"], bool(p["graph"])


def counted(told):
    """What check_complete() returned, in words."""
    return ", ".join(f"{n} {shape}, {'with' if has_graph else 'without'} graph" for (shape, has_graph), n in sorted(Counter(told).items()))


def is_numbered_as_machine():
    return os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"


def kernel_log_is_readable():
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
        return is_numbered_as_machine()
    except OSError:
        return False


def record_outside(t, group, argv, options=()):
    """Only the program is in the group."""
    return t.silt.record(t.path("t.silt"), ["sh", "-c", f"echo $$ >{group.door}; exec \"$@\"", "sh", *argv], options=["-f", *options])


def one_kill(t, argv, inside=False, code=137, options=(), limit=LIMIT):
    """Killed for real: the post-mortem, the report and the group's path."""
    with limited(t, MemoryGroup, limit) as group:
        if inside:
            r = t.silt.record(t.path("t.silt"), argv, options=["-f", *options], preexec_fn=group.enter)
        else:
            r = record_outside(t, group, argv, options)
        assert r.code == code and group.n_kills() >= 1, (r.code, r.errors)
        path = group.path
    p, report = post_mortem(t, t.path("t.silt"))
    if inside and r.stderr:  # while a large program is dying, the kernel may kill the recorder too
        assert p["killed"] == "recorder" and p["limit"]["limit_bytes"] == limit and path.endswith(p["limit"]["path"]), p
        assert p["text"].startswith("The kernel killed silt's recorder and the program for lack of memory after "), p["text"]
        return p
    check_killed(p, report, path, limit, kernel_log_is_readable())
    return p


def test_a_list_that_grows(t):
    """With the graph of holders, which was made while a copy still fitted."""
    p = one_kill(t, program(t, "list", 500), options=["--leaks"])
    check_blocks(p, LIMIT)
    check_steady(p)
    assert p["graph"]["name"] == "scarce" and p["largest"]["held_by"] == "static kept", p
    assert "held by static kept" in p["text"], p["text"]
    assert p["limit"]["recorder_bytes"] == 0, p["limit"]


def test_kills(t):
    """Again and again, slow and fast, one thread and eight, silt inside and outside: complete every time."""
    n_runs, ways = t.count(4, 100), [("list", 300), ("list", 0), ("threads", 2000), ("threads", 0)]
    n_inside = n_both = 0
    told = []
    for i in range(n_runs):
        way, pause_us = ways[i % len(ways)]
        inside = i // len(ways) % 2 == (i % 2)
        p = one_kill(t, program(t, way, pause_us), inside=inside, options=["--leaks"])
        n_inside += inside
        if p["killed"] == "recorder":  # what it had not written by then is lost: the post-mortem is of what was
            n_both += 1
            assert "What the program did after that is not recorded." in p["text"], p["text"]
            assert p["largest"] is None or p["largest"]["function"] == "hoard", p["largest"]
            continue
        check_blocks(p, LIMIT)
        told.append(check_complete(p))
        assert (p["limit"]["recorder_bytes"] > 0) == ("silt's recorder ran in the same group" in p["text"]), p["text"]
    t.notes.append(f"{n_runs} kills, {n_inside} with silt inside the group, each with a post-mortem; in {n_both} the kernel killed the recorder too; {counted(told)}")


def test_without_a_copy(t):
    """Too fast, or no room: the reason is said, and what was live is known."""
    p = one_kill(t, program(t, "list", 0), options=["--leaks"])
    check_blocks(p, LIMIT)
    assert p["graph"] or p["no_graph"], p
    if not p["graph"]:
        assert p["no_graph"] in p["text"], p["text"]


def test_a_child(t):
    """The child is named, and its parent went on."""
    p = one_kill(t, program(t, "fork", 300), code=49)
    check_blocks(p, LIMIT)
    assert f"The kernel killed blackbox (pid {p['pid']}) for lack" in p["text"], p["text"]


def test_own_mappings(t):
    """Memory that the program mapped itself is told as that."""
    p = one_kill(t, program(t, "map", 3000))
    largest = p["largest"]
    assert largest["kind"] == "mappings" and largest["function"] == "map_more", largest
    assert 0.8 * LIMIT < largest["bytes"] <= largest["of_bytes"] == p["mapped_bytes"], p
    # what to look at next is that
    killed = next(f for f in post_mortem(t, t.path("t.silt"))[1]["findings"] if f["kind"] == "killed")
    assert "--by mapped" in killed["next"], killed
    assert p["live_bytes"] < MIB and "it had mapped" in p["text"] and "all of them in map_more (" in p["text"], p["text"]


def test_tmpfs(t):
    """What is in the group and in no process."""
    p = one_kill(t, program(t, "tmpfs", 5000))
    assert p["limit"]["shmem_bytes"] > 0.5 * p["limit"]["usage_bytes"] > 0, p["limit"]
    assert re.search(r"The group's memory included [0-9.]+ MiB of shared memory and tmpfs", p["text"]), p["text"]
    # a busy machine may look at it long before it is full; then the report says so
    is_early = p["limit"]["usage_bytes"] < 0.75 * p["limit"]["had_bytes"]
    assert ("at the last look, when" in p["text"]) == is_early, p
    assert is_early or p["text"].index("tmpfs") < p["text"].index("At the end"), p["text"]
    assert "There is no graph" not in p["text"], p["text"]


def test_the_program_that_was_killed_is_named(t):
    """The shell that was started had become another program: the closing words name that, as the kernel does."""
    argv = program(t, "list", 300)
    with limited(t, MemoryGroup, LIMIT) as group:
        r = t.silt.command("run", "-f", "-o", t.path("n.silt"), "--", "sh", "-c", f"echo $$ >{group.door}; exec \"$@\"", "sh", *argv)
        assert r.code == 137 and group.n_kills() >= 1, (r.code, r.errors)
    assert f"silt: the kernel killed '{argv[0]}' (pid " in r.errors, r.errors


def test_jemalloc_and_rust(t):
    library = run(["gcc", "-print-file-name=libjemalloc.so.2"]).text.strip()
    if os.path.isabs(library):
        p = one_kill(t, ["env", f"LD_PRELOAD={library}", *program(t, "list", 300)], limit=96 * MIB)
        check_blocks(p, 96 * MIB)
    check_blocks(one_kill(t, rust_program(t)), LIMIT)


def test_nobody_was_killed(t):
    """By the kernel, that is: others may kill too."""
    for code, script in ((0, "exit 0"), (137, "kill -9 $$")):
        r = t.silt.record(t.path("t.silt"), ["sh", "-c", script], options=["-f"])
        assert r.code == code, r.errors
        assert post_mortem(t, t.path("t.silt"))[0] is None


def test_the_recorder_was_killed(t):
    """Small blocks cost the recorder more than the program: what stands on disk says whom the kernel chose."""
    with limited(t, MemoryGroup, 128 * MIB) as group:
        r = t.silt.record(t.path("t.silt"), [t.victim("leak"), t.path("tally"), "8"], options=["-f"], preexec_fn=group.enter)
        assert r.code == 137, (r.code, r.errors)
    p, _ = post_mortem(t, t.path("t.silt"))
    if not r.stderr:
        return check_killed(p, post_mortem(t, t.path("t.silt"))[1], group.path, 128 * MIB, kernel_log_is_readable())
    assert p["killed"] == "recorder" and p["text"].startswith("The kernel killed silt's recorder and the program"), p["text"]
    assert p["limit"]["recorder_bytes"] > 10 * MIB and "silt's recorder ran in the same group and had" in p["text"], p
    return None


# ---- version 2 -----------------------------------------------------------------------------------------------------------

class Played:
    """A system with a memory cgroup of version 2, /job, inside of another, in files: silt reads them instead of the kernel's. A thread keeps them as the
    kernel would, and kills at the limit. others: what other processes in the group have, by what the program has."""

    def __init__(self, t, limit, high="max", outer="max", inside=False, group="/outer/job", others=lambda usage: 0, wait_s=0):
        self.dir, self.limit, self.inside, self.group = t.path("system"), limit, inside, group
        self.others, self.wait_s = others, wait_s
        shutil.rmtree(self.dir, ignore_errors=True)
        for folder in ("proc/pressure", "cgroup/outer/job"):
            os.makedirs(os.path.join(self.dir, folder))
        self.write("kmsg", "6,1,1,-;before the recording\n4,2,2,-;Out of memory: Killed process 1 (init) total-vm:1kB\n")
        self.write("proc/vmstat", "oom_kill 0\n")
        self.write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
        self.write("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
        self.high, self.outer = high, outer
        self.n_high = self.peak = self.n_kills = self.silts_bytes = 0
        self.over = threading.Event()
        self.update(0)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path + ".new", "w") as f:
            f.write(text)
        os.replace(path + ".new", path)

    def update(self, usage):
        """The sum of all that is in the group."""
        self.peak = max(self.peak, usage)
        self.n_high += self.high != "max" and usage > self.high
        for group, limit in (("outer", self.outer), ("outer/job", self.limit)):
            at = f"cgroup/{group}/memory."
            self.write(at + "max", f"{limit}\n")
            self.write(at + "current", f"{usage}\n")
            self.write(at + "high", f"{self.high}\n")
            self.write(at + "peak", f"{self.peak}\n")
            self.write(at + "swap.max", "0\n")
            self.write(at + "swap.current", "0\n")
            self.write(at + "stat", f"anon {usage}\nfile 0\nkernel 4096\nshmem 0\ninactive_file 0\n")
            self.write(at + "pressure", f"some avg10=0.00 avg60=0.00 avg300=0.00 total={self.n_high * 1000}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
            self.write(at + "events", f"low 0\nhigh {self.n_high}\nmax {self.n_kills}\noom {self.n_kills}\noom_kill {self.n_kills}\noom_group_kill 0\n")

    def enter(self, pid):
        folder = os.path.join(self.dir, "proc", str(pid))
        if not os.path.exists(folder):
            os.mkdir(folder)
            self.write(f"proc/{pid}/cgroup", "0::/outer/job\n")

    def pid(self):
        """The program's, which came in by itself; silt's processes, if they are to be inside, are let in with it."""
        pids = [int(name) for name in os.listdir(os.path.join(self.dir, "proc")) if name.isdigit()]
        for pid in pids:
            with open(f"/proc/{pid}/status") as f:
                supervisor = int(next(line.split()[1] for line in f if line.startswith("PPid:")))
            self.silts = [supervisor, *(x for x in children(supervisor) if x != pid)] if self.inside else []
            for x in self.silts:
                self.enter(x)
            return pid
        return None

    def usage(self, pid):
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        with open(f"/proc/{pid}/statm") as f:
            usage = int(f.read().split()[1]) * page_bytes
        self.silts_bytes = 0
        for x in self.silts:
            with open(f"/proc/{x}/statm") as f:
                resident, shared = (int(word) for word in f.read().split()[1:3])
                self.silts_bytes += (resident - shared) * page_bytes
        return usage + self.silts_bytes + self.others(usage)

    def kill(self, pid):
        self.n_kills += 1
        self.update(self.limit)
        with open(os.path.join(self.dir, "kmsg"), "a") as f:
            f.write("4,10,10,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/outer/job,"
                    f"task_memcg=/outer/job,task=a,pid=2,b,pid={pid},uid=0\n SUBSYSTEM=x\n"
                    f"3,11,11,-;Memory cgroup out of memory: Killed process {pid} (a,pid=2,b) total-vm:1kB, anon-rss:1kB\n"
                    "3,12,12,-;Memory cgroup out of memory: Killed process 99999999 (stranger) total-vm:1kB\n")
        os.kill(pid, signal.SIGKILL)

    def play(self):
        pid = None
        while not self.over.wait(0.001):
            pid = pid or self.pid()
            try:
                usage = self.usage(pid) if pid else 0
            except OSError:
                return
            self.update(min(usage, self.limit))
            if usage >= self.limit:
                self.over.wait(self.wait_s)
                return self.kill(pid)
        return None

    def record(self, t, argv, options=()):
        script = f'mkdir {self.dir}/proc/$$; echo "0::{self.group}" >{self.dir}/proc/$$/cgroup; exec "$@"'
        player = threading.Thread(target=self.play)
        player.start()
        try:
            return t.silt.record(t.path("t.silt"), ["sh", "-c", script, "sh", *argv], options=["-f", *options],
                                 env={**os.environ, "SILT_TEST_SYSTEM": self.dir})
        finally:
            self.over.set()
            player.join()


def played_kill(t, argv, options=(), **how):
    played = Played(t, LIMIT, **how)
    r = played.record(t, argv, options)
    assert r.code == 137 and played.n_kills == 1, (r.code, r.errors)
    p, report = post_mortem(t, t.path("t.silt"))
    check_killed(p, report, "/outer/job", LIMIT, True)
    assert p["limit"]["version"] == 2 and p["limit"]["swap_limit_bytes"] == 0 and p["limit"]["times_at_limit"] == 1, p["limit"]
    assert not any("99999999" in note or "(init)" in note for note in report["notes"]), report["notes"]
    return p


def test_version_2(t):
    """One thread and eight, silt inside the group and outside."""
    n_runs, n_inside, told = t.count(4, 100), 0, []
    for i in range(n_runs):
        inside = i // 2 % 2 == 1
        p = played_kill(t, program(t, ("list", "threads")[i % 2], (500, 3000)[i % 2]), inside=inside, options=["--leaks"])
        n_inside += inside
        check_blocks(p, LIMIT)
        told.append(check_complete(p))
        assert (p["limit"]["recorder_bytes"] > 0) == ("silt's recorder ran in the same group" in p["text"]) == inside, p
    t.notes.append(f"{n_runs} kills, {n_inside} with silt inside the group, each with a complete post-mortem; {counted(told)}")


def test_version_2_unseen(t):
    """Nobody looked while it was in its group: the kernel's line says whom it killed, and which group was full."""
    if not is_numbered_as_machine():
        skip("processes have numbers of their own here, which are not those of the kernel's log")
    p = played_kill(t, program(t, "list", 500), ["--leaks"], group="/")
    check_blocks(p, LIMIT)
    check_complete(p)


def test_version_2_waits_at_the_limit(t):
    """The kernel takes its time to kill what fills a group at once: how fast it grew is told of the time before that, in blocks as in the group."""
    for group in ("/", "/outer/job"):
        p = played_kill(t, program(t, "wait", 0), group=group, others=lambda usage: LIMIT // 20 if usage > LIMIT // 2 else 0, wait_s=0.25)
        growth = p["growth"]
        assert growth["shape"] in ("steady", "step") and 0.2 < growth.get("full_for_s", 0) < 0.5, p
        assert growth["bytes_per_s"] * growth["over_s"] > 0.1 * LIMIT, growth
        assert "before memory was full" in p["text"] and "had not grown" not in p["text"], p["text"]
        assert p["largest"]["bytes_per_s"] > 0.5 * growth["bytes_per_s"], p


class Late:
    """Others that take what is left of the group once the program has what it holds, in more time than it took for that."""

    def __init__(self, ready):
        self.ready, self.begin, self.since = ready, None, None

    def __call__(self, usage):
        now = time.monotonic()
        self.begin = self.begin or now
        if not self.since and os.path.exists(self.ready):
            self.since = now
        return int(LIMIT * (now - self.since) / (6 * (self.since - self.begin) + 4)) if self.since else 0


def test_version_2_unseen_with_others(t):
    """Nobody looked, and the process was half of the group: what the group did, and what would do, is unknown."""
    p = played_kill(t, program(t, "list", 500), group="/", others=lambda usage: LIMIT // 2)
    growth = p["growth"]
    assert growth["shape"] in ("steady", "step") and growth["of"] in ("process", "blocks"), p
    assert p["twice_the_limit_lasts_s"] is None and p["needed_bytes"] is None and "is unknown" in p["text"], p
    assert "The group" not in p["text"], p["text"]
    # it holds what it has, and others fill the group
    ready = t.path("ready")
    script = f"import time; kept = b'x' * (24 << 20); open({ready!r}, 'w').close(); time.sleep(1000)"
    p = played_kill(t, ["python3", "-c", script], group="/", others=Late(ready))
    assert (p["growth"]["shape"], p["growth"]["of"], p["needed_bytes"]) == ("level", "process", None), p
    assert re.search(r"The process had not grown over the last .*; silt did not look at the rest of the group near the end, so how much is needed is unknown\.", p["text"]), p


def test_version_2_with_holders(t):
    """The outer group has a limit too, but is not the one that is full. memory.high is hit early: a graph is made then, and another before the end."""
    names = []
    while "scarce" not in names and len(names) < 3:  # on a busy machine the end may come before the second is made
        p = played_kill(t, program(t, "list", 500), options=["--leaks"], high=LIMIT // 8, outer=LIMIT * 4)
        check_blocks(p, LIMIT)
        check_steady(p)
        assert p["graph"]["name"] in ("pressed", "scarce") and p["largest"]["held_by"] == "static kept", p
        names.append(p["graph"]["name"])
    assert names[-1] == "scarce", names
    assert p["limit"]["times_at_high"] > 0 and p["limit"]["high_bytes"] == LIMIT // 8, p["limit"]
    report, why = t.silt.report(t.path("t.silt"))
    assert report and "pressed" in [s["name"] for s in report["snapshots"]], (why, report and report["snapshots"])
