# SPDX-License-Identifier: MIT
"""Graphs that nobody asks for: every so often, and before memory runs out. And what blocks are, by their classes."""

import os
import re
import signal
import subprocess
import time

from harness.answer import parse
from harness.cgroup import MemoryGroup, limited
from harness.process import give_up, kill_family, run

MIB = 1 << 20
NODE_BYTES = 4096
LIST = f"""#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node {{ struct node *next; char bytes[{NODE_BYTES - 8}]; }} *list;
int main(int n_args, char **args) {{
        for (long i = 0, n = atol(args[n_args - 1]); i < n; i++) {{
                struct node *x = malloc(sizeof(*x));
                memset(x, 1, sizeof(*x));
                x->next = list;
                list = x;
                usleep(50);
        }}
        return 0;
}}
"""
CLASSES = """#include <memory>
#include <vector>
namespace app {
struct Base { virtual ~Base() {} int x[4]; };
struct Session : Base { char text[200]; };
template <class T> struct Cache : Base { T items[10]; };
}
namespace { struct Hidden : app::Base { long y; }; }
static auto &all = *new std::vector<std::unique_ptr<app::Base>>;
int main() {
        for (int i = 0; i < 300; i++) {
                all.emplace_back(new app::Session);
                if (i % 3 == 0)
                        all.emplace_back(new app::Cache<long>);
                if (i % 10 == 0)
                        all.emplace_back(new Hidden);
        }
}
"""


def build(t, text, suffix="c"):
    with open(t.path(f"made.{suffix}"), "w") as f:
        f.write(text)
    r = run(["gcc" if suffix == "c" else "g++", "-O1", "-g", t.path(f"made.{suffix}"), "-o", t.path("made")])
    assert r.code == 0, r.errors
    return t.path("made")


def snapshots(t):
    r = t.silt.command("report", t.path("t.silt"), "--json")
    assert r.code == 0, r.errors
    return [s["name"] for s in parse(r.text)["snapshots"]]


def test_every(t):
    r = t.silt.record(t.path("t.silt"), [build(t, LIST), "8000"], options=["-f", "--graph-every", "100ms"])
    assert r.code == 0, r.errors
    names = snapshots(t)
    assert len(names) >= 2 and names == [f"graph-{i + 1}" for i in range(len(names))], names
    r = t.silt.command("holders", t.path("t.silt"), "--json")
    assert r.code == 0 and '"static list"' in r.text, r.text[:2000]
    assert t.silt.command("verify", t.path("t.silt")).code == 0
    r = t.silt.command("run", "--graph-every", "99ms", "true")
    assert r.code == 125 and "at least 100ms" in r.errors, r.errors


def await_snapshot(t, silt, name):
    end = time.monotonic() + 30
    while name not in t.silt.command("report", t.path("t.silt"), "--json").text:
        give_up(end, f"no snapshot {name}")
        assert silt.poll() is None, "the recording is over"
        time.sleep(0.2)


def test_at_a_signal(t):
    """silt takes the one it was told to, and passes the other on; in a program that runs already, too."""
    script = "import signal, sys; signal.signal(signal.SIGUSR1, lambda *_: print('usr1', flush=True)); print('ready', flush=True)\nwhile 1: signal.pause()"
    for attach in (False, True):
        if os.path.exists(t.path("t.silt")):
            os.remove(t.path("t.silt"))  # or its snapshots are taken for those of the next
        program = subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE, text=True) if attach else None
        what = ["attach", str(program.pid)] if attach else ["run"]
        argv = [t.silt.path, what[0], "-f", "-o", t.path("t.silt"), "--graph-signal", "USR2", *what[1:], *([] if attach else ["python3", "-c", script])]
        silt = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        t.running += [silt] + ([program] if program else [])
        assert (program or silt).stdout.readline() == "ready\n"
        await_snapshot(t, silt, "{")
        for i in (1, 2):
            silt.send_signal(signal.SIGUSR2)
            await_snapshot(t, silt, f'"signal-{i}"')
        if not attach:
            silt.send_signal(signal.SIGUSR1)
            assert silt.stdout.readline() == "usr1\n"
        silt.terminate()
        silt.wait(30)
        if program:
            kill_family(program.pid)
        assert snapshots(t) == ["signal-1", "signal-2"]
        assert t.silt.command("leaks", t.path("t.silt")).code == 0
    r = t.silt.command("run", "--graph-signal", "TERM", "true")
    assert r.code == 125 and "not USR1 or USR2" in r.errors, r.errors


def test_before_memory_runs_out(t):
    program = build(t, LIST)
    with limited(t, MemoryGroup, 128 * MIB) as group:
        r = t.silt.record(t.path("t.silt"), ["sh", "-c", f"echo $$ >{group.door}; exec {program} 1000000"], options=["-f", "--leaks"])
        assert r.code == 137 and group.n_kills() == 1, (r.code, r.errors)
    assert "scarce" in snapshots(t), snapshots(t)
    r = t.silt.command("leaks", t.path("t.silt"), "--json")
    assert r.code == 0, r.errors
    held = parse(r.text)["still_reachable"]["bytes"]
    # a copy must fit beside it, and what is left is at most a quarter more than that
    assert 128 * MIB // 4 < held < 128 * MIB // 2, held
    t.notes.append(f"a graph of {held / MIB:.1f} MiB of 128")


PEAK = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile catalogue[2000], *volatile rest;
int main(void) {
        char c;
        for (int i = 0; i < 2000; i++)
                catalogue[i] = malloc(4096);
        rest = malloc(10000);
        puts("ready");
        fflush(stdout);
        while (read(0, &c, 1) > 0)
                ;
        for (int i = 0; i < 2000; i++)
                free(catalogue[i]);
        return 0;
}
"""


def test_near_the_peak(t):
    """The graph at the end does not say who held the most: one is taken when much is live for a while."""
    trace = t.path("t.silt")
    argv = [t.silt.path, "run", "-f", "-q", "-o", trace, "--leaks", build(t, PEAK)]
    silt = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.running.append(silt)
    assert silt.stdout.readline() == b"ready\n"
    await_snapshot(t, silt, '"high-1"')
    silt.stdin.close()
    assert silt.wait(30) == 0
    assert snapshots(t) == ["high-1", "exit"], snapshots(t)
    text = " ".join(t.silt.command("holders", trace).text.split())
    assert re.match(r"At the end 1[0-9.]+ KiB were live; the peak was 7\.8 MiB\. This is the graph nearest to the peak\. static catalogue → 2,000 blocks", text), text
    answer = parse(t.silt.command("holders", trace, "--json").text)
    assert answer["is_near_peak"] and answer["live"]["blocks"] >= 2001 and answer["end_bytes"] < 20000 < 2000 * 4096 < answer["peak_bytes"], answer
    text = " ".join(t.silt.command("leaks", trace).text.split())
    assert re.search(r"lost nothing: .* At the end 1[0-9.]+ KiB were live; the peak was 7\.8 MiB: 'silt holders' says who held it\.", text), text


def test_classes(t):
    r = t.silt.record(t.path("t.silt"), [build(t, CLASSES, "cc")], options=["-f", "--leaks"])
    assert r.code == 0, r.errors
    r = t.silt.command("holders", t.path("t.silt"), "--json", "--full")
    assert r.code == 0, r.errors
    seen = {g["type"]: g["blocks"] for g in parse(r.text)["holders"] if "type" in g}
    assert seen == {"app::Session": 300, "app::Cache<long>": 100, "(anonymous namespace)::Hidden": 30}, seen
    r = t.silt.command("holders", t.path("t.silt"))
    assert "300 app::Session" in " ".join(r.text.split()), r.text
