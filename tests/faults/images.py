# SPDX-License-Identifier: MIT
"""exec and spawn answer as they do alone: to pointers that lead nowhere, to sizes at the limit, for programs that the runtime
cannot enter."""

import os
import shutil

from harness.cases import skip
from harness.process import run
from harness.watch import alone, same, told, whole

SHELL = ["sh", "-c", '"$@"; exit $?', "sh"]

LEAVES = """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
        free(malloc((size_t)argc * 100));
        if (getenv("LD_PRELOAD") || getenv("SILT_RENDEZVOUS")) return 3;
        return write(1, "ran\\n", 4) == 4 && argv[argc] == 0 ? 23 : 2;
}
"""

# without a library: 23 and "ran" where the environment tells nothing of silt
BARE_32 = """
static int call(int n, int a, const void *b, int c) {
        int r;
        __asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
        return r;
}
__attribute__((used)) static void begin(int *stack) {
        const char **e = (const char **)(stack + stack[0] + 2);
        for (; *e; e++)
                if (e[0][0] == 'L' && e[0][3] == 'P' && e[0][4] == 'R')
                        call(1, 3, 0, 0);
        call(4, 1, "ran\\n", 4);
        call(1, 23, 0, 0);
}
__asm__(".globl _start; _start: mov %esp, %eax; push %eax; push %eax; call begin");
"""

CALLER = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
        const char *how = argc > 2 ? argv[1] : "";
        int status = 0, fd;
        pid_t pid;
        argv += 2;
        if (!strcmp(how, "spawn") && posix_spawn(&pid, argv[0], NULL, NULL, argv, environ)) return 90;
        if (!strcmp(how, "spawnp") && posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ)) return 91;
        if (strncmp(how, "spawn", 5)) {
                pid = !strcmp(how, "vfork") ? vfork() : fork();
                if (!pid) {
                        if (!strcmp(how, "fd")) { fd = open(argv[0], O_RDONLY); fexecve(fd, argv, environ); }
                        if (!strcmp(how, "path")) { fd = open(argv[0], O_PATH | O_CLOEXEC); fexecve(fd, argv, environ); }
                        if (!strcmp(how, "search")) execvp(argv[0], argv);
                        execv(argv[0], argv);
                        _exit(92);
                }
        }
        waitpid(pid, &status, 0);
        return WEXITSTATUS(status);
}
"""
WAYS = ["fork", "vfork", "fd", "path", "search", "spawn", "spawnp"]


def build(t, name, source, *compiler):
    path = t.path(name)
    with open(path + ".c", "w") as f:
        f.write(source)
    r = run([*compiler, "-w", path + ".c", "-o", path])
    return path if r.code == 0 else None


def test_pointers_that_lead_nowhere(t):
    program = t.victim("pointers")
    bare = alone([program])
    answers = told(bare.stdout)
    assert answers["execve_envp"] == answers["posix_spawn_envp_cut"] == 14 and answers["execve_good"] == 0, answers
    r = t.silt.record(t.path("t.silt"), [program])
    same(bare, r.code, r.stdout, r.errors)
    whole(t, t.path("t.silt"))


def test_sizes_at_the_limit(t):
    """What silt adds to an environment is left out where it is too much."""
    program = t.victim("pointers")
    bare = alone([program, "large"])
    answers = told(bare.stdout)
    assert all(0 < answers[x] < 34 for x in ("n_spawned", "n_inherited", "n_own")), answers
    r = t.silt.record(t.path("t.silt"), [program, "large"])
    same(bare, r.code, r.stdout, r.errors)
    whole(t, t.path("t.silt"))


def runs_unharmed(t, argv):
    """By every way there is: with status, output and errors as alone. The report says that it was not seen."""
    caller = build(t, "caller", CALLER, "gcc")
    for via in (SHELL, *([caller, way] for way in WAYS)):
        bare = alone([*via, *argv])
        assert bare.code == 23 and bare.stdout.endswith(b"ran\n"), (via, argv, bare.code, bare.errors)
        r = t.silt.record(t.path("t.silt"), [*via, *argv], ["-f"])
        same(bare, r.code, r.stdout, r.errors)
        assert r.stderr == bare.stderr, f"{via}: words the program did not say: {r.errors}"
        whole(t, t.path("t.silt"))
        assert "1 process was not seen" in " ".join(t.silt.command("report", t.path("t.silt")).text.split()), via


def test_musl(t):
    program = not t.context.runner and shutil.which("musl-gcc") and build(t, "leaves", LEAVES, "musl-gcc")
    if not program:
        skip("no musl-gcc here")
    runs_unharmed(t, [program])


def test_a_script_that_musl_runs(t):
    program = not t.context.runner and shutil.which("musl-gcc") and build(t, "leaves", LEAVES, "musl-gcc")
    if not program:
        skip("no musl-gcc here")
    for name, head in (("script", program), ("second", t.path("script"))):
        with open(t.path(name), "w") as f:
            f.write(f"#! {head} word\n")
        os.chmod(t.path(name), 0o755)
        runs_unharmed(t, [t.path(name)])


def test_a_loader_of_another_name(t):
    """Whose it is nobody knows: a program of a C library that is neither."""
    if t.context.runner:
        skip("the loader is that of this machine")
    loader = t.path("ld-other.so")
    with open("/proc/self/maps") as f:
        own = next(line.split()[-1] for line in f if "/ld-linux" in line)
    shutil.copy(own, loader)
    program = build(t, "leaves", LEAVES, "gcc", "-Wl,--dynamic-linker=" + loader)
    assert program
    runs_unharmed(t, [program])


def test_a_program_for_another_machine(t):
    """Which an emulator runs, with a loader of its own."""
    if t.context.runner:
        skip("the emulator is there already")
    emulator, compiler = shutil.which("qemu-aarch64"), "aarch64-linux-gnu-gcc"
    if not emulator or not shutil.which(compiler) or os.uname().machine == "aarch64":
        skip("no other machine's compiler and emulator here")
    program = build(t, "leaves", LEAVES.replace('getenv("LD_PRELOAD")', "0"), compiler)
    os.environ["QEMU_LD_PREFIX"] = "/usr/aarch64-linux-gnu"  # it has the environment from the kernel, as it is
    try:
        runs = run([program]).code == 23
    except OSError:
        runs = False
    if runs:
        runs_unharmed(t, [program])
    else:  # without binfmt_misc the kernel refuses it, and a shell says so
        argv = ["sh", "-c", f"{program}; echo $?"]
        bare = alone(argv)
        r = t.silt.record(t.path("t.silt"), argv)
        same(bare, r.code, r.stdout, r.errors)
        assert r.stderr == bare.stderr, f"words the program did not say: {r.errors}"


def test_32_bits(t):
    """Its loader would say that the runtime is of the wrong class."""
    program = not t.context.runner and build(t, "leaves", BARE_32, "gcc", "-m32", "-nostdlib", "-static", "-fno-pic",
                                             "-fno-stack-protector", "-no-pie")
    if not program:
        skip("no compiler for 32 bits here")
    try:
        runs = run([program]).code == 23
    except OSError:
        runs = False
    if not runs:
        skip("this kernel does not run programs of 32 bits")
    runs_unharmed(t, [program])


def test_when_recording_is_over(t):
    """A program that was recorded starts others for as long as it lives."""
    program = not t.context.runner and shutil.which("musl-gcc") and build(t, "leaves", LEAVES, "musl-gcc")
    if not program:
        skip("no musl-gcc here")
    r = t.silt.record(t.path("t.silt"), ["sh", "-c", 'sleep 1; "$1"; exit $?', "sh", program], ["--duration", "200ms"])
    assert r.code == 23 and r.stdout == b"ran\n", (r.code, r.errors)
