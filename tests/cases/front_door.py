# SPDX-License-Identifier: MIT
"""What a new user meets first: `make` and `make demo` say how far they are, and what went wrong."""

import os
import shutil
import subprocess

from harness.place import open_terminal
from harness.process import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRESS = os.path.join(ROOT, "tools/progress.sh")
NINJA = "".join(f"[{i}/300] Compiling C object x{i}.c.o\n" for i in range(1, 301))


def progress(text, *options, every_s="0"):
    r = run([PROGRESS, *options, "silt: building"], stdin=text.encode(), env={"SILT_PROGRESS_S": every_s})
    assert not r.stdout, r.text
    return r.code, r.errors.splitlines()


def test_every_step_is_counted(t):
    code, lines = progress(NINJA)
    assert code == 0 and len(lines) == 301, lines[-3:]
    assert lines[6].startswith("silt: building: 7 of 300 steps, ") and lines[-1].startswith("silt: building: done in "), lines


def test_few_lines_without_a_terminal(t):
    """Nothing is said of what is done in less time than lines are apart."""
    code, lines = progress(NINJA, every_s="600")
    assert code == 0 and len(lines) == 1 and "done in" in lines[0], lines


def test_slow_commands_are_not_silent(t):
    argv = ["sh", "-c", f"for i in 1 2 3 4 5 6; do echo \"[$i/6] step\"; sleep 0.5; done | {PROGRESS} 'silt: building'"]
    lines = run(argv, env={"SILT_PROGRESS_S": "1"}).errors.splitlines()
    assert 3 <= len(lines) <= 6 and " of 6 steps, " in lines[0], lines


def test_silent_commands_are_spoken_for(t):
    """One that says nothing for long, halves of lines, and a last line without an end."""
    argv = ["sh", "-c", f"(sleep 2.5; printf '[1/2] st'; sleep 1.5; printf 'ep\n'; sleep 2.5; printf odd) | {PROGRESS} 'silt: building'"]
    lines = run(argv, env={"SILT_PROGRESS_S": "1"}).errors.splitlines()
    said = [x.rpartition(",")[0].removeprefix("silt: building: ") for x in lines]
    assert said[0] == "begun" and said.count("1 of 2 steps") >= 2 and lines[-2] == "odd", lines
    assert len(lines) >= 7 and "done in" in lines[-1], lines


def test_packages(t):
    text = ("dlstatus:1:12.5000:Retrieving file 1 of 2\npmstatus:gcc:40.0000:Preparing gcc:amd64\n"
            "pmconffile:/etc/x:0:'a' 'b' 0 0\npmstatus:g++:100:Installed g++\n")
    code, lines = progress(text)
    assert code == 0 and [x.rpartition(",")[0] for x in lines[:3]] == [
        "silt: building: 12 % downloaded", "silt: building: 40 % installed", "silt: building: 100 % installed"], lines
    assert len(lines) == 4, lines
    code, lines = progress(text + "progress: failed\n")
    assert code == 1 and lines[-1].startswith("silt: building: failed after "), lines


def test_what_compilers_say_passes(t):
    said = ["FAILED: x7.c.o ", "gcc -c x7.c", "x7.c:1:1: error: expected ';'", "ninja: build stopped: subcommand failed."]
    code, lines = progress(NINJA[:200] + "\n" + "\n".join(said) + "\n", every_s="600")
    assert [x for x in lines if x in said] == said, lines


def test_nothing_to_do(t):
    assert progress("ninja: no work to do.\n") == (0, [])
    assert progress("") == (0, [])


def test_lines_as_steps(t):
    code, lines = progress("The Meson build system\n[1/3] like ninja\n", "--lines")
    assert code == 0 and lines[1].startswith("silt: building: 2 steps, "), lines


def test_one_line_that_changes_on_a_terminal(t):
    master, slave = open_terminal()
    with subprocess.Popen([PROGRESS, "silt: building"], stdin=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        process.communicate(b"[1/2] a\nwarning: odd\n[2/2] b\n", timeout=600)
    seen = os.read(master, 65536).decode()
    os.close(master)
    lines = [line.rpartition("\033[K")[2].rstrip("\r") for line in seen.split("\n")]
    assert lines[0] == "warning: odd" and lines[1].startswith("silt: building: done in ") and lines[2:] == [""], seen
    assert "\r\033[Ksilt: building: 1 of 2 steps, " in seen, seen


def test_a_failing_build_fails(t):
    """The status of the command is not that of what reads its words."""
    folder = t.path("build")
    os.makedirs(folder)
    with open(folder + "/build.ninja", "w") as f:
        f.write("rule no\n  command = echo odd words; exit 3\nbuild x: no\n")
    r = run([os.path.join(ROOT, "tools/build.sh"), folder, "/usr/local", "x"])
    assert r.code != 0 and "odd words" in r.errors and "done" not in r.errors, (r.code, r.errors)


def test_a_reason_is_all_that_is_said(t):
    code, lines = progress("npm http fetch GET 200\nprogress: failed: no network: building without it\n", "--lines", every_s="600")
    assert code == 1 and lines == ["silt: building: no network: building without it"], lines


def fake(t, name, script):
    """A folder of the PATH with one command."""
    folder = t.path("bin")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + script)
    os.chmod(path, 0o755)
    return {"PATH": folder + ":" + os.environ["PATH"]}


def test_npm_fails_in_one_line(t):
    """Whatever npm writes about it."""
    for folder in ("tools", "web"):
        os.makedirs(t.path("tree/" + folder))
    for path in ("tools/web.sh", "tools/progress.sh", "web/package-lock.json"):
        shutil.copy(os.path.join(ROOT, path), t.path("tree/" + path))
    env = fake(t, "npm", """for i in 1 2 3; do echo "npm http fetch GET https://registry.example/x attempt $i failed with EAI_AGAIN"; done
echo 'npm error code EAI_AGAIN' >&2
echo 'npm error request to https://registry.example/x failed, reason: getaddrinfo EAI_AGAIN registry.example' >&2
echo 'npm error A complete log of this run can be found in: /tmp/npm/_logs/x.log' >&2
exit 1
""")
    r = run([t.path("tree/tools/web.sh"), "--packages", "building without the page"], env={**env, "SILT_PROGRESS_S": "600"})
    assert r.code == 1 and not r.text, r.text
    assert r.errors == ("silt: packages of the page: npm cannot install them (getaddrinfo EAI_AGAIN registry.example): "
                        "building without the page\n"), r.errors
    assert not os.path.exists(t.path("tree/web/node_modules/.made-from"))


def test_demo_needs_no_node(t):
    """`make demo` installs what it needs, which is less than `make` does, and far less than `make test` and `make test-all`."""
    env = fake(t, "dpkg-query", "exit 1\n")
    fake(t, "id", "echo 1000\n")
    fake(t, "apt-cache", "exit 1\n")
    wanted = {}
    for group in ("demo", "build", "gate", "test"):
        r = run([os.path.join(ROOT, "tools/setup.sh"), group], env=env)
        assert r.code == 1 and "apt-get install " in r.errors, r.errors
        wanted[group] = set(r.errors.partition("apt-get install ")[2].split())
    assert {"gcc", "meson", "libdw-dev"} <= wanted["demo"] <= wanted["build"] < wanted["gate"] < wanted["test"], wanted
    assert not wanted["demo"] & {"nodejs", "npm", "valgrind", "rustc"}, wanted["demo"]
