/* SPDX-License-Identifier: MIT */
/* exec and spawn with arguments that cannot be read, or are too large: prints what each call answers, as `name value` lines.
 * "large": how many of the sizes around the kernel's limit go through, by posix_spawn, by fork and execve with an environment
 * of its own, and by fork and execv. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern int execveat(int, const char *, char *const[], char *const[], int);

static char *const good_argv[] = {"true", NULL};
static char *const good_envp[] = {"A=1", "LD_PRELOAD=", "LD_LIBRARY_PATH=", NULL};
static const char *path = "/bin/true";

static void say(const char *name, const char *what, int value) {
        char line[128];
        int n = snprintf(line, sizeof(line), "%s_%s %d\n", name, what, value);

        if (write(1, line, (size_t)n) != n)
                _exit(9);
}

/* What a vfork child does, apart: its parent's variables are its own. */
static pid_t begin_sharing(const char *file, char *const *argv, char *const *envp) {
        pid_t pid = vfork();

        if (pid == 0) {
                execve(file, argv, envp);
                _exit(errno);
        }
        return pid;
}

/* The answers of all calls, each in a child: 0 is that of a program that ran, 200 and more a signal. */
static void try_all(const char *what, const char *file, char *const *argv, char *const *envp) {
        static const char *const names[] = {"execve", "execveat",    "execvpe",     "fexecve",
                                            "vfork",  "posix_spawn", "posix_spawnp"};
        int fd = open(path, O_RDONLY | O_CLOEXEC), status, r;
        pid_t pid;

        for (int i = 0; i < 7; i++) {
                if (((i == 2 || i == 6) && file != path) || (i >= 5 && strcmp(what, "argv") == 0))
                        continue; /* libc looks at it itself */
                r = 0;
                if (i >= 5) {
                        r = i == 5 ? posix_spawn(&pid, file, NULL, NULL, argv, envp)
                                   : posix_spawnp(&pid, file, NULL, NULL, argv, envp);
                } else if (i == 4) {
                        pid = begin_sharing(file, argv, envp);
                } else if ((pid = fork()) == 0) {
                        switch (i) {
                        case 0: execve(file, argv, envp); break;
                        case 1: execveat(AT_FDCWD, file, argv, envp, 0); break;
                        case 2: execvpe(file, argv, envp); break;
                        case 3: fexecve(fd, argv, envp); break;
                        }
                        _exit(errno);
                }
                if (r == 0) {
                        waitpid(pid, &status, 0);
                        r = WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
                }
                say(names[i], what, r);
        }
        close(fd);
}

static void try_pointers(void) {
        char *pages =
                mmap(NULL, 3 * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *gone = pages + 65536, *edge = gone - 4;
        char **cut = (char **)(gone - 2 * sizeof(char *));
        char *half[] = {"A=1", gone, "B=2", NULL}, *wild[] = {(char *)16, NULL};
        char *end[] = {"A=1", edge, NULL};

        memcpy(edge, "LD_P", 4); /* the rest of LD_PRELOAD is not there */
        munmap(gone, 65536);
        mprotect(gone + 65536, 65536, PROT_NONE);
        try_all("good", path, good_argv, good_envp);
        try_all("null", path, good_argv, NULL);
        try_all("envp", path, good_argv, (char *const *)gone);
        try_all("envp_forbidden", path, good_argv, (char *const *)(gone + 65536));
        try_all("envp_odd", path, good_argv, (char *const *)0xfff0000000000003);
        try_all("envp_entry", path, good_argv, half);
        try_all("envp_wild", path, good_argv, wild);
        try_all("envp_text", path, good_argv, end);
        try_all("argv", path, (char *const *)gone, good_envp);
        try_all("argv_entry", path, half, good_envp);
        try_all("path", gone, good_argv, good_envp);
        memcpy(edge, "/bin", 4);
        try_all("path_cut", edge, good_argv, good_envp);
        cut[0] = cut[1] = "A=1";
        try_all("envp_cut", path, good_argv, cut);
}

static int answer(int pid) {
        int status;

        waitpid(pid, &status, 0);
        return WEXITSTATUS(status) == 0;
}

/* One argument takes 128 KiB at most. */
static void try_sizes(void) {
        enum { N = 24, CHUNK = 100000, STEP = 48 };
        int n_spawned = 0, n_own = 0, n_inherited = 0;
        static char text[N][CHUNK + 1], last[131072];
        char *argv[N + 3] = {"true"}, *envp[] = {"A=1", NULL};
        long limit = 2 << 20, from;
        pid_t pid;

        setrlimit(RLIMIT_STACK, &(struct rlimit){8 << 20, 8 << 20});
        for (char **e = environ; *e; e++)
                if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "SILT_", 5))
                        limit -= (long)strlen(*e) + 1 + (long)sizeof(*e);
        for (int i = 0; i < 20; i++) {
                memset(text[i], 'x', CHUNK);
                argv[i + 1] = text[i];
        }
        from = limit - 20 * (CHUNK + 1 + 8) - 1200;
        argv[21] = last;
        for (long size = from; size < from + 1600; size += STEP) {
                memset(last, 'y', (size_t)size);
                last[size] = '\0';
                if (posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0)
                        n_spawned += answer(pid);
                if ((pid = fork()) == 0) {
                        execv(path, argv);
                        _exit(errno == E2BIG ? 1 : 2);
                }
                n_inherited += answer(pid);
                /* as much again in an environment of its own, which tells nothing of silt */
                memset(last, 'y', (size_t)size + (2 << 20) - limit - 16);
                last[size + (2 << 20) - limit - 16] = '\0';
                n_own += answer(begin_sharing(path, argv, envp));
        }
        say("n", "spawned", n_spawned);
        say("n", "inherited", n_inherited);
        say("n", "own", n_own);
}

int main(int argc, char **argv) {
        if (argc > 1 && strcmp(argv[1], "large") == 0)
                try_sizes();
        else
                try_pointers();
        return 19;
}
