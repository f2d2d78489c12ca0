# SPDX-License-Identifier: MIT
"""Of several processes the one that holds the memory comes first, in every view; wrappers, launchers, servers that fork
and daemons do not stand in its way. `--process` finds one by pid, name, title or `main`."""
import json
import os
import re

from harness.process import run

BLOCK = 100000


def record(t, *argv, name="t.silt", options=()):
    r = t.silt.command("run", "-q", "-f", "--wait", *options, "-o", t.path(name), "--", *argv)
    assert r.code == 0, r.errors
    assert t.silt.command("verify", t.path(name)).code == 0
    return t.path(name)


def program(t):
    return t.context.helpers.build("which_process", ["which_process.c"])


def first(t, command, trace, *options):
    """The first sentence, or all that is said before the first gap."""
    r = t.silt.command(command, trace, *options)
    assert r.code in (0, 1) and r.stderr == b"", r.errors
    return " ".join(r.text.split("\n\n")[0].split())


def summary(t, trace, *options):
    r = t.silt.command("report", "--json", *options, trace)
    assert r.code == 0, r.errors
    return json.loads(r.text)


def pid_of(got, *command):
    """Of the process with these arguments behind its name."""
    found = [p["pid"] for p in got["processes"] if p["command"][1:] == list(command)]
    assert found, got["processes"]
    return found[-1]


def flame_title(t, trace, *options):
    r = t.silt.command("flame", "-f", "-o", t.path("f.svg"), trace, *options)
    assert r.code == 0, r.errors
    with open(t.path("f.svg")) as f:
        return " ".join(re.sub(r"<style.*?</style>|<[^>]*>", " ", f.read(), flags=re.S).split())


def check_names_first(t, trace, name, pid, n_others, peak_bytes):
    """Every view begins with the process that holds the memory, and counts that of all."""
    crowd = f"{name} (pid {pid}) and {n_others} other process{'' if n_others == 1 else 'es'}"
    assert re.match(rf"{re.escape(name)} .*\(pid {pid}\) held ", first(t, "report", trace)), first(t, "report", trace)
    assert crowd in first(t, "report", trace, "--tree"), first(t, "report", trace, "--tree")
    assert crowd in first(t, "source", trace, "build_index"), first(t, "source", trace, "build_index")
    assert crowd in flame_title(t, trace), flame_title(t, trace)
    limit = first(t, "check", trace, "--max-peak", str(peak_bytes // 2))
    assert limit.startswith(f"The check failed for {crowd}: peak "), limit
    assert t.silt.command("check", trace, "--max-peak", str(peak_bytes * 2)).code == 0
    same = json.loads(t.silt.command("diff", trace, trace, "--json").text)
    assert same["new"]["pid"] is None, same["new"]


def check_sums(t, trace, held_bytes):
    """As JSON the main process's figures stay, and the sum is beside them."""
    got, main, together = summary(t, trace), summary(t, trace, "--process", "main"), summary(t, trace, "--process", "all")
    assert got["totals"] == main["totals"], (got["totals"], main["totals"])
    assert got["totals_all"] == together["totals"] == together["totals_all"], (got["totals_all"], together["totals"])
    assert held_bytes <= got["totals_all"]["peak_live_bytes"] < held_bytes + 400000, got["totals_all"]
    assert "totals_all" not in main
    return got


def test_a_wrapper_script(t):
    trace = record(t, "/bin/sh", "-c", f"{program(t)} hold 80; true")
    got = check_sums(t, trace, 80 * BLOCK)
    assert got["totals"]["peak_live_bytes"] < BLOCK
    pid = pid_of(got, "hold", "80")
    check_names_first(t, trace, "which_process", pid, 1, 80 * BLOCK)
    text = first(t, "report", trace)
    assert f"(pid {pid}) held nearly all of the 7.6 MiB that both processes of sh " in text, text
    assert f"When pid {pid} exited, 7.6 MiB in 80 blocks were still allocated. When the last of them (pid {got['pid']}) exited, " in text, text
    found = got["findings"][0]
    assert found["text"].startswith(f"which_process (pid {pid}): build_index: ") and found["pid"] == pid, found
    assert found["process"] == "which_process" and f"--process {pid}" in found["next"], found
    # nothing is left when the wrapper ends, but a check of what is left means whoever held it
    failed = first(t, "check", trace, "--max-end", "1M")
    assert failed.startswith("The check failed") and "live at the end 7.6 MiB" in failed, failed


def test_a_launcher_that_becomes_the_program(t):
    trace = record(t, "/bin/sh", "-c", f"exec {program(t)} hold 30")
    got = check_sums(t, trace, 30 * BLOCK)
    text = first(t, "report", trace)
    assert " ran for " in text and " and peaked at 2.9 MiB " in text and "together" not in text, text
    assert got["findings"][0]["text"].startswith("build_index: "), got["findings"]


def test_what_it_was_before(t):
    """The first program of a process held more than the one it became."""
    trace = record(t, "/bin/sh", "-c", f"{program(t)} become 50; true")
    got = check_sums(t, trace, 50 * BLOCK)
    pid = pid_of(got, "hold", "1")
    image = [p["image"] for p in got["processes"] if p["command"][1:] == ["become", "50"]][0]
    text = first(t, "report", trace)
    assert text.startswith("which_process become 50 ") and "that both processes of sh " in text, text
    assert f"--process {pid}.{image}" in got["findings"][0]["next"], got["findings"][0]
    assert summary(t, trace, "--process", f"{pid}.{image}")["totals"]["peak_live_bytes"] == 50 * BLOCK
    assert summary(t, trace, "--process", str(pid))["totals"]["peak_live_bytes"] == BLOCK
    rows = t.silt.command("report", trace).text.partition("Processes (2)")[2].splitlines()
    row = [r for r in rows if r.split()[:1] == [str(pid)]]
    assert len(row) == 1 and "which_process hold 1" in row[0] and "4.8 MiB" in row[0], rows


def test_workers_with_titles(t):
    trace = record(t, program(t), "prefork", "20", "some-room-for-a-title")
    got = check_sums(t, trace, 81 * BLOCK)
    titles = sorted(p.get("title", "") for p in got["processes"])
    assert titles == ["pool: master process"] + ["pool: worker process"] * 4, titles
    text = first(t, "report", trace)
    assert re.match(r"4 processes named pool: worker process \(the largest: pid \d+, 1.9 MiB\) held 7.6 MiB of the 7.7 MiB", text), text
    assert summary(t, trace, "--process", "pool: master process")["totals"] == got["totals"]
    assert summary(t, trace, "--process", "master")["totals"] == got["totals"]
    for command in (["report"], ["flame", "-o", t.path("x.svg")], ["source"], ["check", "--max-peak", "1M"], ["diff"]):
        operands = [trace, "main"] if command[0] == "source" else [trace, trace] if command[0] == "diff" else [trace]
        for who, why in (("worker", "4 processes have this name: give the pid of one: "), ("nobody", "no such process: use all, main, or one of "),
                         ("1", "no such process"), ("x" * 4000, "no such process")):
            r = t.silt.command(*command, *operands, "--process", who)
            assert r.code == 2 and why in r.errors and r.errors.count("\n") == 1, (command, who, r.errors)
        r = t.silt.command(*command, *operands, "--process", "")
        assert r.code == 2 and "--process: '' is not a process" in r.errors, r.errors


def test_workers_that_run_on(t):
    """When recording stops before they do, what they inherited still counts once."""
    trace = record(t, program(t), "prefork", "20", "some-room-for-a-title", options=("--duration", "500ms"))
    totals = summary(t, trace)["totals_all"]
    assert totals["end_live_bytes"] == totals["peak_live_bytes"] == 81 * BLOCK, totals
    text = first(t, "report", trace)
    assert "When recording stopped, 7.7 MiB in 81 blocks were still allocated." in text, text


def test_a_daemon(t):
    trace = record(t, program(t), "daemon", "50")
    got = check_sums(t, trace, 51 * BLOCK)
    text = first(t, "report", trace)
    daemon = max(got["processes"], key=lambda p: p["totals"]["allocations"])["pid"]
    assert daemon != got["pid"] and f"which_process daemon 50 (pid {daemon}) held " in text, text
    assert got["findings"][0]["pid"] == daemon, got["findings"]


def test_a_parent_that_holds_most(t):
    trace = record(t, program(t), "parent", "90")
    got = check_sums(t, trace, 90 * BLOCK)
    check_names_first(t, trace, "which_process", got["pid"], 3, 90 * BLOCK)
    assert "that it and 3 other processes together held" in first(t, "report", trace)
    # what children inherited is told once
    assert all(f["pid"] == got["pid"] for f in got["findings"] if "pid" in f), got["findings"]


def test_findings_of_a_small_child(t):
    """What grows in a child is found, though its parent holds more."""
    trace = record(t, program(t), "leak", "200")
    got = summary(t, trace)
    child = [p["pid"] for p in got["processes"] if p["pid"] != got["pid"]][0]
    growing = [f for f in got["findings"] if f["kind"] == "growing"]
    assert growing and growing[0]["pid"] == child, got["findings"]
    assert "main" in growing[0]["text"], growing[0]


def test_what_many_left(t):
    """20 children keep 300 blocks and more each, which end with them: each at its own end. What they inherited is their parent's."""
    path = t.path("kids")
    with open(path + ".c", "w") as f:
        f.write("""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void keep(int n, size_t size) { for (int i = 0; i < n; i++) memset(malloc(size), 1, size); }
int main(void) {
        void *given = malloc(700);
        memset(given, 1, 700);
        keep(1000, 1000);
        for (int i = 0; i < 20; i++) {
                pid_t pid = fork();
                if (!pid) { free(given); keep(300 + i, 500); _exit(0); }
                waitpid(pid, NULL, 0);
        }
        return 0;
}
""")
    assert run(["gcc", "-O1", "-fno-builtin", path + ".c", "-o", path]).code == 0
    trace = record(t, path)
    n = sum(300 + i for i in range(20))
    for totals in (summary(t, trace)["totals_all"], summary(t, trace, "--process", "all")["totals"]):
        assert (totals["end_live_blocks"], totals["end_live_bytes"]) == (1001, 1000700), totals
        assert (totals["left_blocks"], totals["left_bytes"]) == (1001 + n, 1000700 + 500 * n), totals
    main = summary(t, trace, "--process", "main")
    assert "left_blocks" not in main["totals"], main["totals"]
    text = first(t, "report", trace)
    assert f"Together the 21 processes left 3.9 MiB in {1001 + n:,} blocks, each at its own end." in text, text
    assert "Peak and end of each with the blocks it inherited." in t.silt.command("report", trace).text
    refused = t.silt.command("report", trace, "--process", "kids")
    assert refused.code == 2 and "21 processes have this name" in refused.errors and "of its own at most)" in refused.errors, refused.errors


def test_one_process_is_as_before(t):
    trace = record(t, program(t), "hold", "10")
    got = summary(t, trace)
    assert "totals_all" not in got and not any("pid" in f or "process" in f for f in got["findings"]), got["findings"]
    texts = [t.silt.command("report", *options, trace).text for options in ([], ["--process", "main"])]
    assert " ran for " in texts[0] and "pid" not in texts[0].split("\n\n")[0], texts[0]
    assert texts[0].split("\n\n")[0] == texts[1].split("\n\n")[0]


def test_compilers_of_make(t):
    for i in range(4):
        with open(t.path(f"{i}.c"), "w") as f:
            f.write("int f%d(int x) { return x; }\n" % i)
    with open(t.path("Makefile"), "w") as f:
        f.write("all: " + " ".join(f"{i}.o" for i in range(4)) + "\n%.o: %.c\n\t/usr/bin/gcc -O1 -c $< -o $@\n")
    trace = record(t, "make", "-s", "-j2", "-C", os.path.dirname(t.path("Makefile")))
    text = first(t, "report", trace)
    assert re.match(r"(\d processes named )?cc1 .*(held|used up to) .* of make -s -j2 ", text), text
    rows = t.silt.command("report", trace).text.partition("Processes (")[2]
    assert " cc1 " in rows and "[exec]" not in rows, rows
