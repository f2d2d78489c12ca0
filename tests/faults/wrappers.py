# SPDX-License-Identifier: MIT
"""silt under other tools and other tools under silt: timeout, nice, setsid, env, scripts, xargs, make, gdb. The same
output and status as without silt, every process in the trace with its parent, and their figures exact."""

import os
import re
import subprocess

from harness.process import outlived, run
from harness.watch import told, whole

CREW = ["3", "20", "0"]  # threads, rounds, pause
CREW_STATUS = 23


def crew(t):
    return [t.victim("crew"), *CREW]


def by_program(report, name):
    """The processes whose program is `name`; the last image of each."""
    last = {}
    for p in report["processes"]:
        last[p["pid"]] = p
    return [p for p in last.values() if p["command"] and os.path.basename(p["command"][0]) == name]


def check_crew(t, trace, n_crews, stdout):
    """Each of the crews has the figures it told, and nothing was lost."""
    report = whole(t, trace)
    crews = by_program(report, "crew")
    assert len(crews) == n_crews, f"{len(crews)} crews, not {n_crews}: {[p['command'] for p in report['processes']]}"
    own = told(stdout)
    for p in crews:
        got = p["totals"]
        assert (got["allocations"], got["frees"]) == (own["allocations"], own["frees"]), f"pid {p['pid']}: {got}, told {own}"
    for p in report["processes"]:
        assert p["totals"]["lost_events"] == 0, p
    return report


def compare(t, bare_argv, silt_argv, **kwargs):
    """Both command lines: the same status, output and complaints. The output."""
    trace = t.path("t.silt")
    if os.path.exists(trace):
        os.unlink(trace)
    bare, seen = run(bare_argv, **kwargs), run(silt_argv, **kwargs)
    assert seen.code == bare.code, f"status {seen.code}, without silt {bare.code}: {seen.errors}"
    assert sorted(seen.stdout.splitlines()) == sorted(bare.stdout.splitlines()), f"{seen.text!r}, without silt {bare.text!r}"
    assert seen.stderr == bare.stderr, f"{seen.errors!r}, without silt {bare.errors!r}"
    assert not outlived(trace, 20), "the recorder still ran 20 s later"
    return bare


def inside(t, argv):
    return t.silt.run_argv(t.path("t.silt"), argv)


def both_ways(t, wrapper):
    """wrapper silt run crew, and silt run wrapper crew."""
    n_runs = t.count(1, 20)
    argv = [*wrapper, *crew(t)]
    for _ in range(n_runs):
        for silt_argv in ([*wrapper, *inside(t, crew(t))], inside(t, argv)):
            bare = compare(t, argv, silt_argv)
            assert bare.code == CREW_STATUS, bare.code
            check_crew(t, t.path("t.silt"), 1, bare.stdout)
    t.notes.append(f"{n_runs} runs each way, 0 failures")


def test_timeout_that_does_not_come(t):
    both_ways(t, ["timeout", "100"])


def test_nice(t):
    both_ways(t, ["nice", "-n", "3"])


def test_setsid(t):
    both_ways(t, ["setsid", "--wait"])


def test_env(t):
    both_ways(t, ["env", "SOME=thing"])


def test_empty_environment(t):
    """env -i drops the runtime's variables too; the program is followed all the same."""
    both_ways(t, ["env", "-i"])


def endless(t):
    return [t.victim("crew"), "3", "1000000", "100"]


def test_timeout_outside(t):
    """timeout ends silt, which passes it on."""
    n_runs = t.count(1, 10)
    for _ in range(n_runs):
        compare(t, ["timeout", "1", *endless(t)], ["timeout", "1", *inside(t, endless(t))])
        report = whole(t, t.path("t.silt"))
        assert report["ended"] == "signal" and report["totals"]["allocations"] > 100, report["totals"]
        assert report["totals"]["lost_events"] == 0, report["totals"]
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_timeout_outside_by_sigkill(t):
    """timeout kills its group, and with it silt and the program. The recorder ends the trace."""
    n_runs = t.count(1, 10)
    for _ in range(n_runs):
        compare(t, ["timeout", "-s", "KILL", "1", *endless(t)], ["timeout", "-s", "KILL", "1", *inside(t, endless(t))])
        report = whole(t, t.path("t.silt"))
        assert report["totals"]["allocations"] > 100 and report["totals"]["lost_events"] == 0, report["totals"]
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_timeout_inside(t):
    n_runs = t.count(1, 10)
    for _ in range(n_runs):
        argv = ["timeout", "1", *endless(t)]
        compare(t, argv, inside(t, argv))
        report = whole(t, t.path("t.silt"))
        assert report["ended"] == "exit", report["ended"]
        (found,) = by_program(report, "crew")
        assert found["totals"]["allocations"] > 100 and found["parent"] == report["pid"], found
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_shell_script(t):
    """Pipes, a subshell, a background job, a function, exec at the end."""
    script = t.path("script")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nset -e\ncrew() { \"$@\" || test $? -eq 23; }\n"
                "crew \"$@\" | sort\n(crew \"$@\"; echo subshell)\ncrew \"$@\" >/dev/null &\nwait $!\n"
                "echo \"$0 $#\" >&2\nexec \"$@\"\n")
    os.chmod(script, 0o755)
    n_runs = t.count(1, 20)
    for _ in range(n_runs):
        bare = compare(t, [script, *crew(t)], inside(t, [script, *crew(t)]))
        assert bare.code == CREW_STATUS, bare.code
        report = check_crew(t, t.path("t.silt"), 4, bare.stdout)
        assert report["ended"] == "exit" and os.path.basename(report["processes"][0]["command"][0]) in ("sh", "script"), report
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_xargs(t):
    """16 crews, 8 at a time."""
    items = "\n".join(str(i) for i in range(16)).encode()
    argv = ["xargs", "-P", "8", "-I", "{}", "sh", "-c", f"{' '.join(crew(t))} || echo item {{}} $?"]
    n_runs = t.count(1, 10)
    for _ in range(n_runs):
        bare = compare(t, argv, inside(t, argv), stdin=items)
        assert bare.text.count("item ") == 16, bare.text
        check_crew(t, t.path("t.silt"), 16, bare.stdout)
    t.notes.append(f"{n_runs} runs, 0 failures")


def small_project(folder, n_files):
    """C files, a header and a Makefile whose product says a sum."""
    os.makedirs(folder)
    names = [f"part{i}" for i in range(n_files)]
    for i, name in enumerate(names):
        with open(os.path.join(folder, name + ".c"), "w") as f:
            f.write(f"#include <stdio.h>\n#include <stdlib.h>\nint {name}(void);\nint {name}(void) {{ return atoi(\"{i}\"); }}\n")
    with open(os.path.join(folder, "main.c"), "w") as f:
        f.write("#include <stdio.h>\n" + "".join(f"int {n}(void);\n" for n in names) +
                "int main(void) { printf(\"%d\\n\", " + " + ".join(n + "()" for n in names) + "); return 0; }\n")
    with open(os.path.join(folder, "Makefile"), "w") as f:
        f.write("OBJECTS := " + " ".join(n + ".o" for n in [*names, "main"]) + "\nprog: $(OBJECTS)\n"
                "\t/usr/bin/gcc -o $@ $(OBJECTS)\n\t./$@ | tee sum\n%.o: %.c\n\t/usr/bin/gcc -O2 -c -o $@ $<\n")


def contents(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def check_tree(report, n_objects):
    """make runs gcc, which runs cc1 and as, and once collect2, which runs ld."""
    processes = {p["pid"]: p for p in report["processes"]}
    programs = {pid: os.path.basename(p["command"][0]) for pid, p in processes.items()}
    count = {}
    for pid, p in processes.items():
        name = programs[pid]
        count[name] = count.get(name, 0) + 1
        assert p["parent"] in processes or name == "make", f"{name} (pid {pid}) has the unknown parent {p['parent']}"
        if name in ("cc1", "as", "collect2"):
            assert programs[p["parent"]] == "gcc", f"{name} (pid {pid}) is a child of {programs[p['parent']]}"
        if name in ("ld", "collect2") or name == "gcc":
            assert p["totals"]["allocations"] > 10, p
    expected = {"make": 1, "cc1": n_objects, "as": n_objects, "gcc": n_objects + 1, "collect2": 1, "prog": 1, "tee": 1}
    for name, n in expected.items():
        assert count.get(name) == n, f"{count.get(name)} processes of {name}, not {n}: {count}"


def test_make(t):
    """make -j8: all compilers are followed, everything built is byte for byte the same."""
    n_runs, n_files = t.count(1, 5), 12
    for i in range(n_runs):
        results = []
        for kind in ("bare", "silt"):
            work = t.path("work")  # the same path for both: object files may hold it
            small_project(work, n_files)
            argv = ["make", "-j8", "-C", work, "--no-print-directory"]
            r = run(inside(t, argv) if kind == "silt" else argv)
            assert r.code == 0, f"{kind}: {r.code}: {r.errors}"
            results.append((sorted(r.stdout.splitlines()), r.stderr, contents(work)))
            os.rename(work, t.path(f"{kind}{i}"))
        assert results[0] == results[1], "make under silt built something else, or said something else"
        assert results[1][2]["sum"] == b"66\n", results[1][2]["sum"]
        assert not outlived(t.path("t.silt"), 20)
        report = whole(t, t.path("t.silt"))
        check_tree(report, n_files + 1)
        assert all(p["totals"]["lost_events"] == 0 for p in report["processes"])
        os.unlink(t.path("t.silt"))
    t.notes.append(f"{n_runs} runs, 0 failures, {len(report['processes'])} processes")


def plain(text):
    """gdb's words without what differs from run to run."""
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    text = re.sub(r"(process|Thread ADDRESS|LWP) \(?(LWP )?\d+\)?", r"\1 N", text)
    return re.sub(r"\[(New|Switching|Detaching|Thread).*\n", "", text)


# what it says of threads would stand in the middle of what they say
GDB = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set print thread-events off"]


def test_gdb_inside(t):
    """A debugger is recorded with the program it runs: both are followed."""
    n_runs = t.count(1, 5)
    argv = [*GDB, "-ex", "run", "--args", *crew(t)]
    for _ in range(n_runs):
        trace = t.path("t.silt")
        bare, seen = run(argv), t.silt.record(trace, argv, options=["-f"])
        assert seen.code == bare.code, f"{seen.code}, without silt {bare.code}: {seen.errors}"
        assert plain(seen.text) == plain(bare.text), f"{plain(seen.text)}, without silt {plain(bare.text)}"
        assert plain(seen.errors) == plain(bare.errors), f"{seen.errors}, without silt {bare.errors}"
        assert "exited with code 027" in seen.text, seen.text
        check_crew(t, trace, 1, bare.stdout)
    t.notes.append(f"{n_runs} runs, 0 failures")


def test_gdb_inside_at_a_crash(t):
    """The debugger sees the crash where it is, and the same functions on the stack."""
    argv = [*GDB, "-ex", "run", "-ex", "bt", "--args", t.victim("crash", flags=["-Wno-infinite-recursion"]), "segv", t.path("tally")]
    bare, seen = run(argv), t.silt.record(t.path("t.silt"), argv)
    functions = [re.findall(r"^#\d+ .*?(\w+) \(", r.text, re.M) for r in (bare, seen)]
    assert functions[0] == functions[1] and functions[0][0] == "write_nowhere", functions
    assert seen.code == bare.code, f"{seen.code}, without silt {bare.code}"
    (found,) = by_program(whole(t, t.path("t.silt")), "crash")
    assert (found["totals"]["allocations"], found["totals"]["frees"]) == (5004, 2500), found["totals"]


def test_gdb_outside(t):
    """A debugger on silt itself, which lets the children go: the program is recorded."""
    bare = run(crew(t))
    seen = run([*GDB, "-ex", "run", "--args", *inside(t, crew(t))])
    assert "exited with code 027" in seen.text, f"{seen.text}{seen.errors}"
    assert told(seen.stdout) == told(bare.stdout), seen.text
    assert not outlived(t.path("t.silt"), 20)
    check_crew(t, t.path("t.silt"), 1, bare.stdout)


def test_gdb_attached_to_the_target(t):
    """It stops, shows its stack and goes on; nothing is lost."""
    enough = t.path("enough")
    process = subprocess.Popen(t.silt.run_argv(t.path("t.silt"), [t.victim("pauser"), "60000", enough]),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pid = process.stdout.readline().split()[1].decode()
    for _ in range(2):
        r = run([*GDB, "-p", pid, "-ex", "bt"])
        assert "main (" in r.text, f"{r.text}{r.errors}"
    with open(enough, "w"):
        pass
    out, err = process.communicate(timeout=600)
    n_rounds = told(out)["rounds"]
    assert (process.returncode, err) == (17, b"") and n_rounds > 10, (process.returncode, out, err)
    totals = whole(t, t.path("t.silt"))["totals"]
    assert (totals["allocations"], totals["frees"], totals["lost_events"]) == (n_rounds, n_rounds, 0), totals


for many in (test_gdb_inside_at_a_crash, test_gdb_outside, test_gdb_attached_to_the_target):
    many.soak_repeats = 5
