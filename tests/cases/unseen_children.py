# SPDX-License-Identifier: MIT
"""Children that silt cannot enter are counted and said, with the reason, however they were started: in the closing words, where
the report opens, and in JSON. Children that it can enter are in the trace instead."""
import json
import os
import shutil

from harness.cases import skip
from harness.process import run

NOTHING = "int main(void) { return 0; }\n"

STARTER = """
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static int start(const char *how, char **argv) {
        int status = 0;
        pid_t pid = 0;
        if (!strcmp(how, "system")) return system(argv[0]) != 0;
        if (!strcmp(how, "popen")) return pclose(popen(argv[0], "r")) != 0;
        if (!strcmp(how, "become")) { execv(argv[0], argv); return 1; }
        if (!strcmp(how, "spawn") && posix_spawn(&pid, argv[0], NULL, NULL, argv, environ)) return 1;
        if (!strcmp(how, "spawnp") && posix_spawnp(NULL, argv[0], NULL, NULL, argv, environ)) return 1;
        if (!strcmp(how, "vfork") && (pid = vfork()) == 0) { execv(argv[0], argv); _exit(1); }
        if (!strcmp(how, "vforkp") && (pid = vfork()) == 0) { execlp(argv[0], argv[0], NULL); _exit(1); }
        if (!strcmp(how, "fork") && (pid = fork()) == 0) { execve(argv[0], argv, environ); _exit(1); }
        return waitpid(pid ? pid : -1, &status, 0) < 0 || status != 0;
}
int main(int argc, char **argv) {
        for (int i = atoi(argv[2]); i > 0; i--)
                if (start(argv[1], argv + 3)) return 1;
        return argc < 4;
}
"""


# A child that shares the memory of a parent that goes on, and allocates all the while.
SHARER = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static _Alignas(16) char stack[65536];
static int child(void *argv) { execv(((char **)argv)[0], argv); _exit(9); }
int main(int argc, char **argv) {
        long n_blocks = 0;
        for (int i = atoi(argv[1]); i > 0; i--) {
                int status, pid = clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD, argv + 2);
                while (waitpid(pid, &status, WNOHANG) == 0)
                        for (int k = 0; k < 50; k++, n_blocks++) { void *volatile p = malloc(32); free(p); }
                if (status) return 1;
        }
        fprintf(stderr, "blocks %ld\\n", n_blocks);
        return 0;
}
"""


def build(t, name, source, *options, compiler="gcc"):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run([compiler, "-w", path + ".c", "-o", path, *options])
    return path if r.code == 0 else None


def record(t, how, n, program, code=0):
    starter = t.path("starter")
    if not os.path.exists(starter):
        assert build(t, "starter", STARTER)
    argv = t.silt.run_argv(t.path("t.silt"), [starter, how, str(n), program], ["--wait", "-f", "--no-symbols"])
    r = run([a for a in argv if a != "-q"])
    assert r.code == code, (how, program, r.errors)
    report, why = t.silt.report(t.path("t.silt"))
    assert report, why
    return r.errors, report


def check_unseen(t, how, n, program, reason):
    words, report = record(t, how, n, program)
    found = [(u["processes"], reason in u["reason"]) for u in report["unseen_processes"] if u["program"].endswith(os.path.basename(program))]
    assert found == [(n, True)] and len(report["unseen_processes"]) == 1, (how, program, report["unseen_processes"], report["notes"])
    counted = "1 process was not seen" if n == 1 else f"{n} processes were not seen"
    assert counted in words and reason in words, (how, words)
    text = " ".join(t.silt.command("report", t.path("t.silt")).text.split())
    assert f"{counted}:" in text[:700] and reason in text[:700], (how, text[:700])
    assert t.silt.command("verify", t.path("t.silt")).code == 0


def test_static_children_by_every_way(t):
    program = build(t, "static", NOTHING, "-static")
    if not program:
        skip("no static libc")
    for how in ("spawn", "spawnp", "vfork", "fork", "system", "popen"):
        check_unseen(t, how, 3, program, "static executable")
    check_unseen(t, "become", 1, program, "static executable")
    os.environ["PATH"] = f"{os.path.dirname(program)}:{os.environ['PATH']}"
    for how in ("spawnp", "vforkp"):
        check_unseen(t, how, 2, "static", "static executable")


def test_what_makes_a_program_unseen(t):
    kinds = {"pie": (build(t, "pie", NOTHING, "-static-pie"), "static executable")}
    if shutil.which("musl-gcc"):
        kinds["musl"] = (build(t, "musl", NOTHING, compiler="musl-gcc"), "not glibc's")
    if os.geteuid() == 0 and build(t, "suid", NOTHING):
        os.chown(t.path("suid"), 65534, 65534)
        os.chmod(t.path("suid"), 0o4755)
        os.chmod(os.path.dirname(t.path("suid")), 0o755)
        kinds["suid"] = (t.path("suid"), "set-user-id")
    if kinds["pie"][0]:
        with open(t.path("script"), "w") as f:
            f.write(f"#!{kinds['pie'][0]}\n")
        os.chmod(t.path("script"), 0o755)
        kinds["script"] = (t.path("script"), "static executable")
    for program, reason in kinds.values():
        if program:
            for how in ("spawn", "vfork", "fork"):
                check_unseen(t, how, 2, program, reason)


def test_what_can_be_entered_is_not_called_unseen(t):
    program = build(t, "dynamic", NOTHING)
    for how in ("spawn", "spawnp", "vfork", "fork", "system", "become"):
        words, report = record(t, how, 2 if how != "become" else 1, program)
        assert report["unseen_processes"] == [] and "not seen" not in words, (how, words, report["unseen_processes"])
    loader = next((p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(p)), None)
    if loader:
        _, report = record(t, "vfork", 1, loader, code=1)  # it says how it is used
        assert report["unseen_processes"] == [], report["unseen_processes"]


def test_an_exec_that_fails_is_not_counted(t):
    """Another machine's program, where the kernel cannot run it."""
    program = t.path("foreign")
    with open(program, "wb") as f:
        f.write(b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little") + (0x1234).to_bytes(2, "little") + bytes(300))
    os.chmod(program, 0o755)
    for how in ("vfork", "fork", "spawn"):
        words, report = record(t, how, 1, program, code=1)
        assert report["unseen_processes"] == [] and "not seen" not in words, (how, words, report["unseen_processes"])


def test_many_are_one_line(t):
    program = build(t, "static", NOTHING, "-static")
    if not program:
        skip("no static libc")
    n = t.count(300, 12000)
    _, report = record(t, "vfork", n, program)
    assert [u["processes"] for u in report["unseen_processes"]] == [n], report["unseen_processes"]
    assert [(l["kind"], l["count"]) for l in report["limits"]] == [("not-followed", n)], report["limits"]
    assert len(report["notes"]) < 6, len(report["notes"])


def test_children_beside_a_running_parent(t):
    """They leave the parent's ring alone: all of its blocks are there, and that there may be such children is said."""
    program, sharer = build(t, "static", NOTHING, "-static"), build(t, "sharer", SHARER, "-Wl,-z,now")
    if not program:
        skip("no static libc")
    argv = t.silt.run_argv(t.path("t.silt"), [sharer, "60", program], ["-f", "--no-symbols"])
    r = run([a for a in argv if a != "-q"])
    assert r.code == 0, (r.code, r.errors)
    report, why = t.silt.report(t.path("t.silt"))
    assert report, why
    told = int(r.errors.split("blocks ")[1].split()[0])
    assert (report["totals"]["allocations"], report["totals"]["lost_events"]) == (told, 0), (report["totals"], r.errors)
    assert any("from children that share its memory" in note for note in report["notes"]), report["notes"]


test_children_beside_a_running_parent.native_alone = "the emulator makes other processes of them"
