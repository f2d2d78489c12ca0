# SPDX-License-Identifier: MIT
"""silt top: the screen as a person sees it, its frames as programs read them, and that the process is as before."""

import os
import re
import signal
import subprocess
import time

from cases.cpu import needs_samples
from cases.tasks import Program, build
from harness.answer import parse
from harness.process import find_by_argument, give_up, run
from harness.terminal import Terminal
from harness.watch import one_line

PATIENCE_S = 600

# Holds 64 KiB more about every 5 ms, up to 64 MiB; 40 times that allocates and frees. Ends when its input does.
PROGRAM = """
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[1024];
__attribute__((noinline)) void *store_page(int i) { return kept[i % 1024] = memset(malloc(65536), 1, 65536); }
__attribute__((noinline)) void *grow_cache(int i) { free(kept[i % 1024]); return store_page(i); }
__attribute__((noinline)) void *read_line(void) { return memset(malloc(200), 1, 200); }
int main(void) {
        struct pollfd p = {.fd = 0, .events = POLLIN};
        for (int i = 0; poll(&p, 1, 5) == 0; i++) {
                grow_cache(i);
                for (int k = 0; k < 40; k++)
                        free(read_line());
        }
        return 0;
}
"""


def program(t):
    path = t.path("grower")
    if not os.path.exists(path):
        with open(path + ".c", "w") as f:
            f.write(PROGRAM)
        r = run(["gcc", "-g", "-O1", "-fno-builtin", path + ".c", "-o", path])
        assert r.code == 0, r.errors
    return path


def started(t):
    process = subprocess.Popen([program(t)], stdin=subprocess.PIPE)
    t.running.append(process)
    return process


def folder(t):
    path = t.path("tmp")
    os.makedirs(path, exist_ok=True)
    return path


def attached(pid):
    """Processes of silt that are attached to it."""
    return [p for p in find_by_argument("attach") if p in find_by_argument(str(pid))]


def children_called(name, parent):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                comm, rest = re.match(r"\d+ \((.*)\) (.*)", f.read()).groups()
        except OSError:
            continue
        if comm == name and int(rest.split()[1]) == parent:
            found.append(int(pid))
    return found


def is_left(t, process):
    """Nobody of silt is at the process any more, it runs, and ends as it does alone; nothing stays on the disk."""
    end = time.monotonic() + PATIENCE_S
    while attached(process.pid):
        give_up(end, f"still there: {attached(process.pid)}")
        time.sleep(0.05)
    assert process.poll() is None, f"the program ended: {process.returncode}"
    with open(f"/proc/{process.pid}/status") as f:
        assert re.search(r"^TracerPid:\t0$", f.read(), re.M)
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0


def screen(t, who, height=24, width=80, options=(), cwd=None, **env):
    return Terminal([t.silt.path, "top", *options, str(who)], width, t.path("state"), height,
                    {"TMPDIR": folder(t), **env}, cwd)


def click(x, y):
    """The left button goes down and up, as a terminal tells it."""
    return f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m"


def test_a_process_is_looked_at(t):
    process = started(t)
    with screen(t, process.pid) as s:
        lines = s.wait_shown(r"store_page\s+grower\.c")
        assert re.match(r"grower \(pid \d+\) (holds|has .* its blocks hold) about .* allocated since silt attached", " ".join(lines[:4])), lines
        assert "LIVE" in "\n".join(lines) and lines[-1].startswith("qQuit ?Help"), lines
        s.wait_shown("[▁▂▃▄▅▆▇█]")
        s.press("\r", r"CALLERS OF store_page(.|\n)*- store_page(.|\n)*- grow_cache(.|\n)*  main")
        s.press("s", r"SOURCE(.|\n)*malloc\(65536\)")
        s.press("\x1b", r"CALLERS OF store_page")
        s.press("\x1b", r"FUNCTION")
        s.press("\t", r"CALL PATH(.|\n)*store_page\s+grower\.c:\d+ ← grow_cache")
        s.press("\t\t\t\t", r"FUNCTION \(growth, rates: 10 s\)")
        lines = s.press("c", r"▼ALLOCS/S.*\n.*read_line")
        row = next(i for i, line in enumerate(lines) if "ALLOCS/S" in line)
        lines = s.press(click(lines[row].index("LIVE"), row), r"▼LIVE(.|\n)*store_page(.|\n)*read_line")
        row = next(i for i, line in enumerate(lines) if "ALLOCS/S" in line)
        s.press(click(70, row + 2), r"read_line")  # is chosen; once more goes in
        s.press(click(70, row + 2), r"CALLERS OF read_line")
        s.press("\x1b", r"FUNCTION")
        s.press("/line\r", r"Only through 'line'")
        s.press("\x1b", r"store_page")
        s.press("p", r"PID +LIVE +RESIDENT(.|\n)*%d .*grower" % process.pid)
        s.press("p", r"FUNCTION")
        s.press("t", r"FROM MAIN DOWN(.|\n)*- main")
        s.press("\x1b\t", r"CALL PATH")
        s.press("?", r"KEYS(.|\n)*report --at @NAME tells it(.|\n)*it may wait\)")  # lines are whole at 80 columns
        s.press("?", r"CALL PATH")
        s.press("f", r"FROZEN")
        for height, width in ((20, 60), (60, 200), (8, 30)):
            s.resize(height, width)
            lines = s.wait_shown(r"(?s)grower.*CALL PATH.*\nqQuit[^\n]*\Z")
            assert len(lines) == height and lines[-1].startswith("qQuit"), lines
            assert "FROZEN" in lines[-2], lines
        os.write(s.master, b"q")
        assert s.end() == 0 and s.is_restored()
        assert not s.cells.modes & {"1049", "1000", "1002", "1006"}, s.cells.modes
        assert 31 not in s.cells.inks and not any(30 < n < 38 for n in s.cells.inks), "colours in spite of NO_COLOR"
    is_left(t, process)
    assert os.listdir(folder(t)) == []


def bars(lines):
    """Columns of the timeline that have something, of the row that is full first."""
    return next(line for line in lines if line.endswith("heap"))[:-10]


def test_exact_for_a_while(t):
    process = started(t)
    with screen(t, process.pid, NO_COLOR="") as s:
        s.wait_shown(r"about .*(.|\n)*store_page")
        s.wait_shown(r" at ([2-9]|[1-9]\d)(\.\d+)? s| at \d[\d.]* min")  # or later, where the machine is busy
        s.press("x", r"Every event is recorded")
        lines = s.wait_shown(r"holds \d")
        assert "about" not in " ".join(lines[:2]) and "lost" not in " ".join(lines[:4]), lines
        assert bars(lines).strip()[:3].strip() and re.search(r"[^ ] +[^ ]", bars(lines)), ("what was before is gone", lines)
        s.wait_shown(r"holds about")
        assert any(30 < n < 38 for n in s.cells.inks), s.cells.inks
        os.kill(s.child.pid, signal.SIGTERM)
        assert s.end() == 0 and s.is_restored(), s.seen[-500:]
        assert "1049" not in s.cells.modes
    is_left(t, process)
    assert os.listdir(folder(t)) == []


def test_exact_on_a_screen_that_is_frozen(t):
    """The process is left when the ten seconds are over, and sampled again when the screen goes on."""
    process = started(t)
    with screen(t, process.pid) as s:
        s.wait_shown(r"about .*(.|\n)*store_page")
        s.press("x", r"holds \d(.|\n)*store_page")
        s.press("f", r"FROZEN")
        end = time.monotonic() + PATIENCE_S
        while attached(process.pid):
            give_up(end, "it is still recorded")
            s.more()
        assert "about" not in " ".join(s.cells.lines()[:2]), s.cells.lines()
        s.press("f", r"holds about")
        os.write(s.master, b"q")
        assert s.end() == 0
    is_left(t, process)


def test_a_mark_keeps_the_trace(t):
    process = started(t)
    here = t.path("here")
    os.mkdir(here)
    taken = f"{here}/silt.grower.{process.pid}.silt"
    with open(taken, "w") as f:
        f.write("somebody's")
    with screen(t, process.pid, cwd=here) as s:
        s.wait_shown("store_page")
        s.press("m", r"Marked as @1\.(.|\n)*will be kept")
        os.write(s.master, b"q")
        assert s.end() == 0, s.seen[-500:]
        name, = re.findall(r"silt: trace: (\S+)", s.seen)
    with open(taken) as f:
        assert f.read() == "somebody's"
    report, why = t.silt.report(os.path.join(here, name), "--at", "@1")
    assert report, why
    top = report["top"][0]["sites"][0]["stack"]
    assert any(frame["function"] == "store_page" for frame in top), top
    is_left(t, process)
    assert os.listdir(folder(t)) == [], os.listdir(folder(t))


def test_ends_that_nobody_chose(t):
    process = started(t)
    with screen(t, process.pid) as s:
        s.wait_shown("store_page")
        s.child.kill()  # the attaching child hears of it from the kernel
        s.child.wait()
    is_left(t, process)
    end = time.monotonic() + PATIENCE_S
    while os.listdir(folder(t)):
        give_up(end, f"left behind: {os.listdir(folder(t))}")
        time.sleep(0.05)
    process = started(t)
    with screen(t, process.pid) as s:
        s.wait_shown("store_page")
        process.stdin.close()
        s.wait_shown(r"no longer recorded; (.|\n)*in the end it held(.|\n)*store_page")
        s.press("\r", r"CALLERS OF store_page(.|\n)*grow_cache")
        s.press("x", r"no longer recorded\.")
        os.write(s.master, b"\x03")
        assert s.end() == 0 and s.is_restored()
    assert process.wait(PATIENCE_S) == 0


def test_terminals_with_less(t):
    process = started(t)
    with screen(t, process.pid, LC_ALL="C", LANG="C") as s:
        s.wait_shown("store_page")
        assert not re.search(r"[^\x00-\x7f]", s.seen), s.seen
        os.write(s.master, b"q")
        assert s.end() == 0
    with screen(t, process.pid, TERM="no-such-terminal") as s:
        assert s.end() == 2
        assert "silt: terminal 'no-such-terminal' has no description here" in s.seen, s.seen
    with screen(t, process.pid, TERM="dumb") as s:
        assert s.end() == 2
        assert "silt: terminal 'dumb' cannot show a screen: set TERM" in s.seen, s.seen
    r = run([t.silt.path, "top", str(process.pid)])
    assert r.code == 2 and r.text == "", r.text
    one_line(r.errors, "no terminal", "--batch")
    is_left(t, process)
    for who, word in ((("4194000",), "no such process"), (("4294967296",), "pid 4294967296: no such process"),
                      ((t.path("nothing.silt"),), "nothing.silt"), (("1", "2"), "leave out '2'")):
        r = t.silt.command("top", "--batch", *who)
        assert r.code == 2, r.text
        one_line(r.errors, word)


def frames(text):
    return [parse(line) for line in text.splitlines()]


def at_moment(t, trace, frame):
    """What the report says of that moment."""
    report, why = t.silt.report(trace, "--process", "all", "--to", f"{frame['at_s']:.6f}s")
    assert report, why
    return report["totals"]


def same_figures(frame, totals):
    assert (frame["live_bytes"], frame["live_blocks"], frame["allocations"], frame["frees"], frame["bytes_allocated"]) == (
        totals["end_live_bytes"], totals["end_live_blocks"], totals["allocations"], totals["frees"],
        totals["bytes_allocated"]), (frame, totals)


def test_figures_of_a_recording_that_goes_on(t):
    """Each frame is what the report says of that moment later. A name for each function, from the first frame on."""
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [program(t)]), stdin=subprocess.PIPE)
    t.running.append(recording)
    pid = None
    end = time.monotonic() + PATIENCE_S
    while not pid:
        give_up(end, "the program did not start")
        pid = next(iter(children_called(os.path.basename(program(t)), recording.pid)), None)
        time.sleep(0.05)
    r = t.silt.command("top", "--json", "--every", "500ms", "--frames", "4", str(pid))
    assert r.code == 0, r.errors
    got = frames(r.text)
    recording.stdin.close()
    assert recording.wait(PATIENCE_S) == 0
    assert len(got) == 4 and all(f["mode"] == "exact" and not f["attached"] for f in got), got
    assert got[0]["at_s"] < got[-1]["at_s"], "it did not go on"
    for frame in got:
        same_figures(frame, at_moment(t, trace, frame))
        assert all(row["function"] for row in frame["top"]), frame["top"]
        assert [p["pid"] for p in frame["processes"]] == [pid]
    assert sum(row["live_bytes"] for row in got[-1]["top"]) == got[-1]["live_bytes"]
    assert got[-1]["top"][0]["function"] == "store_page" and got[-1]["growth_bytes_per_s"] > 0, got[-1]
    assert "store_page" in got[-1]["sentence"], got[-1]["sentence"]
    last = frames(t.silt.command("top", "--json", trace).text)
    assert len(last) == 1 and last[0]["is_over"], last
    same_figures(last[0], at_moment(t, trace, {"at_s": 1e6}))
    text = t.silt.command("top", "--batch", trace)
    assert text.code == 0 and re.search(r"^grower .*no longer recorded; in the end it held", text.text), text.text
    assert re.search(r"MiB .*store_page$", text.text, re.M), text.text


# Maps 64 MiB and touches them; allocates much in one function and little in another. Ends when its input does.
MAPPER = """
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) void *grow_pool(void) {
        return memset(mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 64 << 20);
}
__attribute__((noinline)) void *often_called(void) { return memset(malloc(200), 1, 200); }
__attribute__((noinline)) void *seldom_called(void) { return memset(malloc(100), 1, 100); }
int main(void) {
        struct pollfd p = {.fd = 0, .events = POLLIN};
        void *pool = grow_pool();
        while (poll(&p, 1, 1) == 0) {
                for (int k = 0; k < 500; k++)
                        free(often_called());
                free(seldom_called());
        }
        return pool == 0;
}
"""


def test_memory_that_is_not_blocks(t):
    """The sentence begins with the largest part, and a filter has a rate of its own."""
    path = t.path("mapper")
    with open(path + ".c", "w") as f:
        f.write(MAPPER)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", path + ".c", "-o", path])
    assert r.code == 0, r.errors
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [path]), stdin=subprocess.PIPE)
    t.running.append(recording)
    end = time.monotonic() + PATIENCE_S
    told = r"mapper \(pid \d+\) has 6\d\.\d MiB resident, of which 64\.\d MiB were mapped by the program itself.* grow_pool; its blocks hold "
    while not re.match(told, text := " ".join(t.silt.command("top", "--batch", "--frames", "1", trace).text.split())):
        give_up(end, text)
    sentence, figures = re.match(told, text).group(), re.search(r"resident (\S+ MiB) allocates", text)[1]
    assert f"has {figures} resident" in sentence, text  # of one moment
    with screen(t, trace, width=200) as s:
        s.wait_shown(r"steady; it allocates [\d,]+ times a second, \d+ % of it in\s+often_called")
        lines = s.press("/seldom\r", r"Only through 'seldom'")
        assert "times a second" not in " ".join(lines[:3]), lines
        s.press("\x1b", r"often_called")
        s.press("/nobody\r", r"\n no call path has a function called so \(Esc: all\)")
        s.press("\x1b", r"often_called")
        s.press("M", r"▼MAPPED(.|\n)*64\.\d MiB [^\n]* grow_pool  mapper\.c")
        s.press("\r", r"CALLERS OF grow_pool(.|\n)*- grow_pool(.|\n)* main")
        s.press("M", r"▼LIVE(.|\n)*often_called")
        os.write(s.master, b"q")
        assert s.end() == 0
    recording.stdin.close()
    assert recording.wait(PATIENCE_S) == 0
    frame, = frames(t.silt.command("top", "--json", "--mapped", trace).text)
    mapped = parse(t.silt.command("report", "--json", trace, "--by", "mapped", "--group-by", "function").text)["groups"]
    assert frame["of"] == "mappings" and frame["top"], frame
    assert {r["function"]: r["live_bytes"] for r in frame["top"] if r["live_bytes"]} == {
        g["function"]: g["self"]["end_live_bytes"] for g in mapped if g["self"]["end_live_bytes"]}, (frame["top"], mapped)


def test_parts_of_another_moment(t):
    """They are looked at more seldom than what is resident in all: then the sentence says of when they are."""
    text = MAPPER.replace("while (poll(&p, 1, 1) == 0) {", "while (poll(&p, 1, 20) == 0) {\n                grow_pool();")
    path = t.path("climber")
    with open(path + ".c", "w") as f:
        f.write(text.replace("64 << 20", "3 << 20"))
    r = run(["gcc", "-g", "-O1", "-fno-builtin", path + ".c", "-o", path])
    assert r.code == 0, r.errors
    trace, end = t.path("t.silt"), time.monotonic() + PATIENCE_S
    recording = subprocess.Popen(t.silt.run_argv(trace, [path]), stdin=subprocess.PIPE)
    t.running.append(recording)
    told = r"climber \(pid \d+\) had (\S+ [KMG]iB) resident (a moment|\S+ m?s) ago, of which .* mapped by the program itself"
    while not (had := re.match(told, text := " ".join(t.silt.command("top", "--batch", "--frames", "1", trace).text.split()))):
        now = re.match(r"climber \(pid \d+\) has (\S+ [KMG]iB) resident, of which", text)
        assert not now or f"resident {now[1]} allocates" in text, text
        give_up(end, text)
    assert f"resident {had[1]} allocates" not in text, text
    recording.stdin.close()
    assert recording.wait(PATIENCE_S) == 0


# Touches 32 MiB and forks: both processes have the same pages. Ends when its input does.
FORKER = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
        char c, *shared = memset(malloc(32 << 20), 1, 32 << 20);
        int is_child = fork() == 0;
        while (read(0, &c, 1) > 0)
                ;
        return is_child && !shared[1];
}
"""


def test_processes_that_share_pages(t):
    """The kernel counts shared pages in each process: the sum is a bound, and is called one."""
    path = t.path("forker")
    with open(path + ".c", "w") as f:
        f.write(FORKER)
    r = run(["gcc", "-g", "-O1", "-fno-builtin", path + ".c", "-o", path])
    assert r.code == 0, r.errors
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [path]), stdin=subprocess.PIPE)
    t.running.append(recording)
    end = time.monotonic() + PATIENCE_S
    while not re.search(r"resident at most \d+\.\d MiB", text := t.silt.command("top", "--batch", "--frames", "1", trace).text):
        give_up(end, text)
    with screen(t, trace) as s:
        s.wait_shown(r"resident at most \d+\.\d MiB")
        os.write(s.master, b"q")
        assert s.end() == 0
    recording.stdin.close()
    assert recording.wait(PATIENCE_S) == 0
    assert "resident at most" not in t.silt.command("top", "--batch", trace).text


def test_keys_while_the_recorder_is_asked(t):
    """A graph may take long, and a recorder that is stopped never answers: the screen goes on, and can be left."""
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [program(t)]), stdin=subprocess.PIPE)
    t.running.append(recording)
    end = time.monotonic() + PATIENCE_S
    while "store_page" not in t.silt.command("top", "--batch", "--frames", "1", trace).text:
        give_up(end, "nothing is recorded")
    recorder, = children_called("silt-recorder", recording.pid)
    os.kill(recorder, signal.SIGSTOP)
    try:
        with screen(t, trace) as s:
            s.wait_shown(r"FUNCTION \(growth")
            s.press("a", r"its tasks are unknown")
            s.press("r", r"Taking a graph \.\.\.")
            s.press("?", r"KEYS \(Esc: back\)(.|\n)*Taking a graph \.\.\. \d+ s")
            s.press("\x1ba", r"FUNCTION \(growth")
            os.write(s.master, b"mr")  # no second one, and a mark that waits too
            s.press("p", r"RESIDENT +GROWTH +ALLOCS/S  PROCESS\n")
            s.resize(20, 60)  # names have their room, and figures give way
            s.wait_shown(r" PID +LIVE +RESIDENT  PROCESS\n +\d+ .*  \S*grower")
            s.press("a", r"TASKS BY TYPE \(Esc: back\)")
            os.write(s.master, b"q")
            assert s.end() == 0, s.seen[-500:]
        with screen(t, trace) as s:
            s.wait_shown(r"FUNCTION \(growth")
            s.press("ar", r"Taking a graph \.\.\.")
            os.kill(recorder, signal.SIGCONT)
            s.wait_shown(r"A graph was taken: it stopped the program for \d")
            os.write(s.master, b"q")
            assert s.end() == 0, s.seen[-500:]
    finally:
        os.kill(recorder, signal.SIGCONT)
    recording.stdin.close()
    assert recording.wait(PATIENCE_S) == 0


def test_a_recorder_that_does_not_write(t):
    """What is shown is of a moment ago, and the sentence does not say that it is so now. A recorder that dies leaves no end."""
    trace = t.path("t.silt")
    recording = subprocess.Popen(t.silt.run_argv(trace, [program(t)]), stdin=subprocess.PIPE)
    t.running.append(recording)
    end = time.monotonic() + PATIENCE_S
    while "store_page" not in t.silt.command("top", "--batch", "--frames", "1", trace).text:
        give_up(end, "nothing is recorded")
    recorder, = children_called("silt-recorder", recording.pid)
    top = subprocess.Popen([t.silt.path, "top", "--json", "--every", "250ms", trace], stdout=subprocess.PIPE, text=True)
    t.running.append(top)
    holds = r" holds? "  # "has 9.1 MiB resident, of which …; its blocks hold" while they are the smaller part
    assert re.search(holds, parse(top.stdout.readline())["sentence"])
    os.kill(recorder, signal.SIGSTOP)
    try:
        while re.search(holds, (frame := parse(top.stdout.readline()))["sentence"]):
            give_up(end, f"still: {frame}")
        assert re.search(r" held .* Nothing was written to the trace for \d", frame["sentence"]), frame
        assert frame["silent_s"] >= 10, frame
    finally:
        os.kill(recorder, signal.SIGCONT)
    while " held " in (frame := parse(top.stdout.readline()))["sentence"]:
        give_up(end, f"still: {frame}")
    os.kill(recorder, signal.SIGKILL)
    *_, last = top.stdout.read().splitlines()
    assert "when last seen it held" in last and "Incomplete: the end of the recording is missing" in last, last
    recording.stdin.close()
    recording.wait(PATIENCE_S)


def test_figures_of_programs_of_others(t):
    for argv in (["python3", "-S", "-c", "x = [str(i) * 9 for i in range(30000)]; import os; p = os.fork(); p and os.waitpid(p, 0)"],
                 ["sqlite3", ":memory:", "create table t(a, b); insert into t values (1, zeroblob(100000)); select count(*) from t"]):
        trace = t.path(argv[0] + ".silt")
        r = t.silt.record(trace, argv)
        assert r.code == 0, r.errors
        frame, = frames(t.silt.command("top", "--json", trace).text)
        report, why = t.silt.report(trace, "--process", "all")
        assert report, why
        same_figures(frame, report["totals"])
        groups = parse(t.silt.command("report", "--json", trace, "--process", "all", "--group-by", "function", "--by", "end").text)
        held = [g["self"]["end_live_bytes"] for g in groups["groups"] if g["self"]["end_live_bytes"]]
        assert [row["live_bytes"] for row in frame["top"] if row["live_bytes"]] == held[:20] and held, (argv, held)


def test_hostile_names(t):
    name = "\x1b]0;gotcha\x07\u202e\n"
    trace = t.path("t.silt")
    r = t.silt.record(trace, ["python3", "-S", "-c", f"import os; os.execvp('sleep', [{name!r}, '0.1'])"])
    assert r.code == 0, r.errors
    text = t.silt.command("top", "--batch", trace).text
    assert "gotcha" in text and not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text), text
    with screen(t, trace) as s:
        s.wait_shown("gotcha")
        assert "\x1b]0;" not in s.seen and "\u202e" not in s.seen
        os.write(s.master, b"q")
        assert s.end() == 0


def test_tasks(t):
    """Of the newest graph, which a key takes; on screens of three sizes, and as text and JSON, the same as silt tasks tells."""
    trace, n_kept = t.path("t.silt"), t.chance.randint(1000, 4000)
    argv = [build(t), str(n_kept), "300", "200", "50"]
    said = rf"{n_kept:,} tasks spawned at tasks\.rs:\d+ are finished\s+and\s+still\s+held\s+by a\s+JoinSet"
    with Program(t, t.silt.run_argv(trace, argv, ["-f"])):
        r = t.silt.command("top", "--batch", "--tasks", "--frames", "1", trace)
        pid = re.match(r"tasks \(pid (\d+)\): its tasks are unknown, as there is no\s+reference\s+graph: ", r.text)
        assert pid and f"'silt snapshot --graph {pid[1]}'" in " ".join(r.text.split()), r.text
        frame, = frames(t.silt.command("top", "--json", "--frames", "1", trace).text)
        assert frame["tasks"] is None and frame["task_groups"] is None, frame
        with screen(t, trace) as s:
            s.wait_shown(r"FUNCTION \(growth")
            os.write(s.master, b"r")  # nobody stops the program by chance: not here
            s.press("a", r"its tasks are unknown(.|\n)*Press\s+r to take one(.|\n)*ALIVE  FINISHED +BYTES TASKS BY TYPE")
            s.press("r", rf"^At \S+ m?s: {said}(.|\n)* - +{n_kept:,} .* tasks::kept  tasks\.rs:\d+  kept by a JoinSet(.|\n)* +200 +- .* tasks::waits  tasks\.rs:\d+\n"
                            rf"(.|\n)*\n{n_kept:,} tasks::kept, spawned at tasks\.rs:\d+ by .*; kept by a\nJoinSet; the oldest was .* then\."
                            r"\nA graph was taken: it stopped the program for \d.*\nqQuit \?Help aBack rTake a graph")
            for height, width, heads in ((20, 60, "BYTES TASKS BY"), (60, 200, "RUNNING     READY    OLDEST TASKS BY"), (8, 30, "ALIVE TASKS BY")):
                s.resize(height, width)
                lines = s.wait_shown(rf"(?s)\AAt .*{heads}.*tasks::kept.*\nqQuit[^\n]*\Z")
                assert len(lines) == height and all(len(line) <= width for line in lines), lines
            s.resize(24, 80)
            s.press("j", r"300 tasks::listed, spawned at")
            s.press("s", r"SOURCE(.|\n)*tokio::spawn\(listed\(n\)\)")
            s.press("\x1b", r"TASKS BY TYPE")
            s.press("a", r"FUNCTION \(growth")
            os.write(s.master, b"q")
            assert s.end() == 0
            assert not any(30 < n < 38 for n in s.cells.inks), s.cells.inks
    wanted = parse(t.silt.command("tasks", "--json", trace).text)
    frame, = frames(t.silt.command("top", "--json", trace).text)
    assert [(g["runs"], g["tasks"], g["waiting"], g["finished"], g["bytes"]) for g in frame["task_groups"]] == [
        (g["runs"] or "", g["tasks"], g["waiting"], g["finished"], g["bytes"]) for g in wanted["groups"]], (frame, wanted)
    assert frame["tasks"].endswith(wanted["sentence"]), (frame["tasks"], wanted["sentence"])
    text = t.silt.command("top", "--batch", "--tasks", trace).text
    assert re.match(rf"At \S+ m?s: {said}", text), text
    assert re.search(rf"^ +0 +{n_kept:,} .*  tasks::kept, spawned at", text, re.M), text


def test_time_alone(t):
    """What memory does is unknown, and not 0; callers are of time."""
    path, trace = t.path("spinner"), t.path("t.silt")
    with open(path + ".c", "w") as f:
        f.write("""
#include <time.h>
static volatile long sink;
__attribute__((noinline)) void find_route(void) { while (clock() < CLOCKS_PER_SEC / 2) for (int i = 0; i < 20000; i++) sink += i; sink++; }
__attribute__((noinline)) void serve(void) { find_route(); sink++; }
int main(void) { serve(); return 0; }
""")
    r = run(["gcc", "-g", "-O1", path + ".c", "-o", path])
    assert r.code == 0, r.errors
    r = t.silt.command("cpu", "run", "-f", "-o", trace, "--", path)
    needs_samples(r)
    assert r.code == 0, r.errors
    with screen(t, trace) as s:
        lines = s.wait_shown(r"▼CPU FUNCTION(.|\n)* % find_route  spinner\.c")
        shown = "\n".join(lines)
        assert "CPUs busy" in shown and "CPUs" in lines[5] and not re.search(r"heap|LIVE|GROWTH| 0 B|\b0x0\b", shown), shown
        s.press("l", r"▼CPU FUNCTION")
        s.press("\r", r"▼CPU CALLERS OF find_route(.|\n)* %  *- find_route(.|\n)* % .*serve(.|\n)* % .*main")
        os.write(s.master, b"q")
        assert s.end() == 0
    frame, = frames(t.silt.command("top", "--json", trace).text)
    unknown = ("live_bytes", "live_blocks", "peak_live_bytes", "allocations", "bytes_allocated", "growth_bytes_per_s")
    assert all(frame[key] is None for key in unknown), frame
    assert frame["top"][0]["function"] == "find_route" and frame["top"][0]["live_bytes"] is None and frame["top"][0]["cpus"] > 0, frame["top"][0]
    text = t.silt.command("top", "--batch", trace).text
    assert "CPUs busy" in text and not re.search(r"heap| 0 B\b", text), text
