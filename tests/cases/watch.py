# SPDX-License-Identifier: MIT
"""silt attach --all-matching: processes come and go, each is recorded once, and all are as they were afterwards."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
import zlib

from attach._target import Attached, Target, build, bytes_of_code
from harness.process import TimedOut, give_up, kill_family, run, stat_fields

PATIENCE_S = 600
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Watch:
    """A watch of the programs called `prey…` of this test alone."""

    def __init__(self, t, *options, rules=None):
        self.t, self.folder, self.said = t, t.path("traces"), ""
        rules = rules or [f"name={prey_name(t)}*"]
        runtime = ["--runtime", t.silt.runtime] if t.silt.runtime else []
        argv = [t.silt.path, "attach", "-o", self.folder, "--look-every", "20ms", "--no-symbols", *runtime, *options]
        for rule in rules:
            argv += ["--all-matching", rule]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.said += line

    def await_words(self, pattern, n=1):
        end = time.monotonic() + PATIENCE_S
        while len(re.findall(pattern, self.said)) < n:
            give_up(end, f"{n} times '{pattern}' in {self.said!r}")
            assert self.process.poll() is None or re.search(pattern, self.said), f"it has ended: {self.said}"
            time.sleep(0.01)

    def await_recording(self, *pids):
        for pid in pids:
            self.await_words(rf"recording \S+ \(pid {pid}\)")

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        try:
            code = self.process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise TimedOut(f"the watch does not end: {self.said}") from None
        self.reader.join(timeout=PATIENCE_S)
        return code

    def traces(self, pid="*"):
        return sorted(glob.glob(os.path.join(self.folder, f"silt.*.{pid}.*T*.silt")))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                kill_family(self.process.pid)
        self.reader.join(timeout=PATIENCE_S)
        self.process.stderr.close()


def prey_name(t):
    """Of this test alone: others run beside it."""
    return f"prey{zlib.crc32(t.dir.encode()) % 1000000}"


def prey(t, suffix=""):
    path = t.path(prey_name(t) + suffix)
    if not os.path.exists(path):
        shutil.copy(build(t, "count.c"), path)
    return Target(t, [path])


def totals(t, trace):
    report, why = t.silt.report(trace)
    assert report, why
    assert t.silt.command("verify", trace).code == 0
    return report["totals"]


def socket_folders(pid):
    """Folders that recorders of this process have for their sockets."""
    links = [os.path.realpath(f"/proc/{r}/fd/{fd}") for r in recorders_of(pid) for fd in os.listdir(f"/proc/{r}/fd")]
    return {x for x in links if os.path.basename(x).startswith("silt-") and os.path.isdir(x)}


def test_come_and_go(t):
    """Those that are there, and those that come later; figures are exact, code is as it was."""
    with prey(t) as first, Watch(t) as watch:
        code = bytes_of_code(first.pid)
        watch.await_recording(first.pid)
        with prey(t, "-2") as second:
            watch.await_recording(second.pid)
            first.tell("make 500")
            second.tell("make 70")
            second.tell("drop 30")
            folders = socket_folders(second.pid)
            assert folders and all(map(os.path.exists, folders)), folders
            second.process.stdin.close()
            second.process.wait(timeout=PATIENCE_S)
            watch.await_words(rf"\(pid {second.pid}\): the recording ended")
            assert not any(map(os.path.exists, folders)), folders
        first.tell("drop 200")
        assert watch.end() == 0, watch.said
        assert bytes_of_code(first.pid) == code, "its code is not what it was"
        first.tell("make 5")
        (one,), (other,) = watch.traces(first.pid), watch.traces(second.pid)
        got = totals(t, one)
        assert (got["allocations"], got["frees"], got["bytes_allocated"]) == (500, 200, 5000), got
        got = totals(t, other)
        assert (got["allocations"], got["frees"]) == (70, 30), got
        assert re.search(r"recorded 2 processes, refused 0 times, removed 0 traces", watch.said), watch.said
        assert os.stat(watch.folder).st_mode & 0o77 == 0 and os.stat(one).st_mode & 0o77 == 0


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


def recorders_of(pid):
    """Processes that share the arena with this one. A recorder's own helpers, which look up names or hold a copy, share it too."""
    with open(f"/proc/{pid}/maps") as maps:
        shared = {tuple(line.split()[3:5]) for line in maps if line.split()[1] == "rw-s"}
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/comm") as comm:
                if comm.read() != "silt-recorder\n":
                    continue
            with open(f"/proc/{name}/maps") as maps:
                if shared & {tuple(line.split()[3:5]) for line in maps if line.split()[1] == "rw-s"}:
                    found[int(name)] = parent_of(name)
        except OSError:
            pass
    return [recorder for recorder, parent in found.items() if parent not in found]


def test_never_twice(t):
    """Somebody else's recording is left alone, until it ends; children are in their parent's."""
    with prey(t) as mine, prey(t) as other:
        silt = Attached(t, mine.pid).await_recording()
        with Watch(t) as watch:
            watch.await_recording(other.pid)
            other.tell("fork 100000")
            assert len(recorders_of(mine.pid)) == len(recorders_of(other.pid)) == 1
            assert not watch.traces(mine.pid), watch.said
            assert silt.end() == 0, silt.said
            watch.await_recording(mine.pid)
            assert len(recorders_of(mine.pid)) == 1
            assert watch.end() == 0, watch.said
        assert len(watch.traces()) == 2, watch.traces()


def test_killed_and_started_again(t):
    """A watch that is killed leaves its recordings running; the next takes them over, and ends them."""
    with prey(t) as target:
        code = bytes_of_code(target.pid)
        with Watch(t) as watch:
            watch.await_recording(target.pid)
            target.tell("make 100")
            watch.end(signal.SIGKILL)
        target.tell("make 10")
        with Watch(t) as watch:
            watch.await_words(rf"took over the recording of process {target.pid}")
            with prey(t, "-2") as later:
                watch.await_recording(later.pid)
                assert len(recorders_of(target.pid)) == 1
                with Watch(t) as second:  # of the same folder
                    assert second.process.wait(timeout=PATIENCE_S) == 2
                    second.reader.join(timeout=PATIENCE_S)
                    assert second.said.count("\n") == 1 and "another watch" in second.said, second.said
                target.tell("make 1")
                assert watch.end() == 0, watch.said
                assert not recorders_of(target.pid) and not recorders_of(later.pid)
        assert bytes_of_code(target.pid) == code, "its code is not what it was"
        (trace,) = watch.traces(target.pid)
        assert totals(t, trace)["allocations"] == 111


def test_bounds(t):
    """So many at once, the others wait; the oldest traces go, and it is said which."""
    with Watch(t, "--max-processes", "2", "--max-size", "1M", "--max-total", "2M") as watch:
        with prey(t) as a, prey(t) as b, prey(t) as c:
            watch.await_words("2 processes are being recorded, the most at once")
            watch.await_words("recording prey", 2)
            for one in (a, b, c):
                one.process.stdin.close()
                one.process.wait(timeout=PATIENCE_S)
        folder = watch.folder
        kept = os.path.join(folder, "silt.other.silt")
        for name in (kept, os.path.join(folder, "silt.old.77.20200101T000000.silt"), os.path.join(folder, "silt.new.78.20200101T000000.silt")):
            with open(name, "wb") as f:
                f.write(bytes(600_000))
        os.utime(os.path.join(folder, "silt.old.77.20200101T000000.silt"), (1000, 1000))
        os.utime(os.path.join(folder, "silt.new.78.20200101T000000.silt"), (2000, 2000))
        with prey(t) as d:
            watch.await_recording(d.pid)
            watch.await_words(r"removed silt\.old\.77\S+ \(\S+ KiB\), the oldest trace")
        assert watch.end() == 0, watch.said
        assert os.path.exists(kept), "a file that is not the watch's own"
        assert sum(os.path.getsize(x) for x in watch.traces()) <= 2 << 20


def test_refused(t):
    """Said once, tried again; what the rules do not name is left alone."""
    static = t.path(prey_name(t) + "-s")
    with open(static + ".c", "w") as f:
        f.write("#include <unistd.h>\nint main(void) { char c; return (int)read(0, &c, 1); }\n")
    subprocess.run(["gcc", "-static", "-O1", static + ".c", "-o", static], check=True)
    with subprocess.Popen([static], stdin=subprocess.PIPE) as refused, prey(t) as fine, Watch(t, rules=[f"name={prey_name(t)}*", f"user={os.getuid()}", "cmd=*prey*"]) as watch:
        watch.await_words(rf"\(pid {refused.pid}\) is not recorded: ")
        watch.await_recording(fine.pid)
        assert watch.end() == 0, watch.said
        assert watch.said.count("is not recorded") == 1 and re.search("refused [1-9][0-9]* times?,", watch.said), watch.said
        assert len(watch.traces()) == 1, watch.traces()
        refused.stdin.close()
    with prey(t) as left, Watch(t, "--duration", "1500ms", rules=[f"name={prey_name(t)}*", f"user={os.getuid() + 1}"]) as watch:
        assert watch.process.wait(timeout=PATIENCE_S) == 0
        watch.reader.join(timeout=PATIENCE_S)
        assert "recorded 0 processes" in watch.said, watch.said
        assert not recorders_of(left.pid)


def test_metrics(t):
    """One endpoint for all that are recorded, also for those that come later."""
    with prey(t) as first, Watch(t, "--metrics", "127.0.0.1:0") as watch:
        watch.await_recording(first.pid)
        watch.await_words(r"metrics: http://\S+")
        address = re.search(r"metrics: (http://\S+)", watch.said)[1]
        with prey(t, "-2") as second:
            watch.await_recording(second.pid)
            first.tell("make 500")
            second.tell("make 70")
            wanted = {(str(first.pid), "5000"), (str(second.pid), "700")}
            end, found = time.monotonic() + PATIENCE_S, set()
            while found != wanted:
                give_up(end, f"{wanted}, but {found}")
                with urllib.request.urlopen(address, timeout=PATIENCE_S) as scraped:
                    found = set(re.findall(r'^silt_heap_live_bytes\{.*pid="(\d+)".*\} (\d+)', scraped.read().decode(), re.M))
                time.sleep(0.2)
            assert watch.end() == 0, watch.said
        try:
            urllib.request.urlopen(address, timeout=PATIENCE_S).close()
            raise AssertionError("it answers still")
        except urllib.error.URLError:
            pass


def test_recording_killed(t):
    """One recording is killed, its hooks in place: the process is recorded again, the others go on, and all are as they were."""
    with prey(t) as one, prey(t) as other, Watch(t) as watch:
        code = bytes_of_code(one.pid)
        watch.await_recording(one.pid, other.pid)
        one.tell("make 7")
        (recorder,) = recorders_of(one.pid)
        for victim in (recorder, int(stat_fields(recorder)[1])):
            os.kill(victim, signal.SIGKILL)
        one.tell("make 8")
        watch.await_words(rf"recording \S+ \(pid {one.pid}\)", 2)
        one.tell("make 9")
        assert watch.end() == 0, watch.said
        assert bytes_of_code(one.pid) == code, "its code is not what it was"
        first, second = watch.traces(one.pid)
        assert totals(t, second if second.endswith(".2.silt") else first)["allocations"] == 9
        assert len(watch.traces(other.pid)) == 1 and watch.said.count(f"(pid {other.pid}): the recording ended") == 1


def test_exec(t):
    """A process that becomes another program is recorded again, if that one is wanted too."""
    with prey(t) as one, Watch(t) as watch:
        watch.await_recording(one.pid)
        one.tell("make 7")
        one.process.stdin.write(f"exec {t.path(prey_name(t))}\n".encode())
        one.process.stdin.flush()
        watch.await_words(rf"recording \S+ \(pid {one.pid}\)", 2)
        assert watch.end() == 0, watch.said
        traces = watch.traces(one.pid)
        assert len(traces) == 2 and sorted(totals(t, x)["allocations"] for x in traces)[1] >= 7, traces


PARENT = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
        char c;
        setvbuf(stdout, NULL, _IONBF, 0);
        puts("ready");
        if (read(0, &c, 1) == 1) {
                pid_t child = fork();
                while (!child) {
                        free(malloc(100));
                        usleep(10000);
                }
                printf("%d\\n", (int)child);
        }
        return read(0, &c, 1) == 1;
}
"""


def test_child_outlives_its_parent(t):
    """It is in the trace of its parent and, when that has been ended, can be recorded by itself."""
    program = t.path(prey_name(t))
    with open(program + ".c", "w") as f:
        f.write(PARENT)
    subprocess.run(["gcc", "-O0", program + ".c", "-o", program], check=True)
    with Target(t, [program]) as parent:
        with Watch(t) as watch:
            watch.await_recording(parent.pid)
            parent.process.stdin.write(b"x")
            parent.process.stdin.flush()
            child = int(parent.process.stdout.readline())
            end = time.monotonic() + PATIENCE_S
            while len(recorders_of(child)) != 1:
                give_up(end, "nobody records the child")
            parent.process.stdin.close()
            parent.process.wait(timeout=PATIENCE_S)
            os.kill(child, 0)
            recorders, traces = recorders_of(child), watch.traces(child)
            assert len(recorders) == 1 and traces == [], (recorders, traces)
            assert watch.end() == 0, watch.said
        assert not recorders_of(child)
        os.kill(child, 0)
        with Watch(t) as watch:
            watch.await_recording(child)
            assert watch.end() == 0, watch.said
        os.kill(child, signal.SIGKILL)
        assert len(watch.traces(child)) == 1


def service(t):
    """The unit, and what its line starts with the example's settings: as systemd takes it apart."""
    with open(os.path.join(t.context.build_dir, "share/systemd/silt-watch.service")) as f:
        unit = f.read()
    with open(os.path.join(ROOT, "share/systemd/silt-watch.default")) as f:
        settings = dict(line.rstrip("\n").split("=", 1) for line in f if line.startswith("SILT_"))
    words = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()
    argv = []
    for word in words[1:]:
        argv += settings[word[1:]].split() if word[1:] in settings else [t.path("traces") if word == "${STATE_DIRECTORY}" else word]
    return unit.replace(words[0], t.silt.path), argv


def test_service(t):
    """The unit is one that systemd accepts; its command line starts a watch, which says how it goes."""
    unit, argv = service(t)
    if shutil.which("systemd-analyze"):
        with open(t.path("silt-watch.service"), "w") as f:
            f.write(unit)
        r = run(["systemd-analyze", "verify", "--man=no", t.path("silt-watch.service")])
        assert r.code == 0 and not r.errors, r.errors
    argv[argv.index("name=example*")] = f"name={prey_name(t)}*"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, prey(t) as one:
        manager.settimeout(PATIENCE_S)
        manager.bind(t.path("notify"))
        watch = subprocess.Popen([t.silt.path, *argv], env={**os.environ, "NOTIFY_SOCKET": t.path("notify")}, stderr=subprocess.DEVNULL)
        t.running.append(watch)
        said = [manager.recv(1000).decode()]
        while "STATUS=recording 1 process, 0 waiting, 0 refused" not in said[-1]:
            said.append(manager.recv(1000).decode())
        assert said[0] == "READY=1" and "WATCHDOG=1" in said[-1], said
        watch.terminate()
        while not said[-1].startswith("STOPPING=1"):
            said.append(manager.recv(1000).decode())
        assert watch.wait(timeout=PATIENCE_S) == 0
        one.tell("make 1")


def test_command_line(t):
    for argv, why in ((["--all-matching", "x"], "name=PATTERN"), (["--all-matching", "name=x", "1"], "a pid"), (["--max-total", "1G", "1"], "without --all-matching"),
                      (["--all-matching", "name=x", "--max-total", "1M", "--max-size", "2M"], "no room"),
                      (["--all-matching", "name=x", "--max-processes", "0"], "--max-processes"), (["--all-matching", "name=x", "--max-total", "0"], "--max-total"),
                      (["--all-matching", "name=x", "-o", "/dev/null"], "not a folder")):
        r = t.silt.command("attach", *argv)
        assert r.code == 2 and r.errors.count("\n") == 1 and why in r.errors, (argv, r.code, r.errors)


def resident(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_memory_stays(t):
    """Hundreds of processes come and go: the watch is as large as in the beginning."""
    n = t.count(40, 5000)
    sizes = []
    with Watch(t, "--max-size", "1M", "--max-total", "8M", "--sample", "4K") as watch:
        for i in range(n):
            with prey(t) as one:
                one.tell("make 100")
                if i % 4 == 0:
                    watch.await_recording(one.pid)
            if i % 10 == 9:
                sizes.append(resident(watch.process.pid))
        assert watch.end() == 0, watch.said
    t.notes.append(f"{n} processes, {watch.said.count(': silt.')} lines of recordings, resident {sizes[0] >> 10} to {sizes[-1] >> 10} KiB")
    assert sizes[-1] <= sizes[0] + (1 << 20), sizes
    left = [p for p in os.listdir("/proc") if p.isdigit() and (f := stat_fields(p)) and int(f[3]) == watch.process.pid]
    assert not left, left


# a process is entered when it is a second old, and again five seconds after its recording has ended
for waiting in (test_come_and_go, test_never_twice, test_killed_and_started_again, test_recording_killed, test_exec, test_child_outlives_its_parent,
                test_memory_stays, test_refused):
    waiting.waits = True
