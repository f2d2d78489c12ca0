/* SPDX-License-Identifier: MIT */
/* What the command line tests run: a program that tells how it was started, and reacts to what is
 * done to it. The first argument names what it does. Output is by write(2), unbuffered. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t n_signals[65];

static void say(const char *fmt, long a, long b) {
        char line[256];
        int n = snprintf(line, sizeof(line), fmt, a, b);

        if (write(1, line, (size_t)n) != n)
                _exit(98);
}

static void note(int sig) {
        n_signals[sig]++;
}

static void wait_ms(long ms) {
        struct timespec left = {ms / 1000, ms % 1000 * 1000000};

        while (nanosleep(&left, &left) != 0)
                ;
}

/* Catches the usual signals and tells each; ends with status 40 + n of the first one after 300 ms
 * of quiet. */
static int catch_signals(void) {
        static const int caught[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
        int first = 0, n_seen = 0;

        for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
                signal(caught[i], note);
        say("ready %ld\n", getpid(), 0);
        for (int quiet = 0; quiet < 30 || !first; quiet++) {
                int n = 0;

                free(malloc(10));
                wait_ms(10);
                for (int sig = 1; sig < 65; sig++) {
                        if (n_signals[sig] && !first)
                                first = sig;
                        n += n_signals[sig];
                }
                if (n != n_seen)
                        quiet = 0;
                n_seen = n;
        }
        for (int sig = 1; sig < 65; sig++)
                if (n_signals[sig])
                        say("signal %ld times %ld\n", sig, n_signals[sig]);
        return 40 + first;
}

/* Allocates 100 bytes every millisecond until killed, or for `ms`. */
static int allocate_for(long ms) {
        say("ready %ld\n", getpid(), 0);
        for (long i = 0; ms < 0 || i < ms; i++) {
                void *p = malloc(100);
                wait_ms(1);
                free(p);
        }
        say("done %ld\n", getpid(), 0);
        return 17;
}

/* The same until there is a file of that name. */
static int allocate_until(const char *path) {
        say("ready %ld\n", getpid(), 0);
        while (access(path, F_OK) != 0) {
                void *p = malloc(100);
                wait_ms(1);
                free(p);
        }
        return 17;
}

/* n_pairs blocks of all sizes, each released once 64 more were allocated, and n_kept of 50 bytes spread among
 * them. */
static int churn(long n_pairs, long n_kept) {
        static void *recent[64], *kept;
        unsigned x = 1;

        for (long i = 0; i < n_pairs; i++) {
                x = x * 1103515245 + 12345;
                free(recent[i % 64]);
                recent[i % 64] = malloc(x >> 16 & 4095);
                if (i * n_kept / n_pairs != (i + 1) * n_kept / n_pairs)
                        kept = malloc(50);
        }
        for (int i = 0; i < 64; i++) {
                free(recent[i]);
                recent[i] = NULL;
        }
        return kept == NULL;
}

/* 2,000 blocks of 300 bytes, then a line of generations: each forks the next and waits for it, which releases 125 of the
 * first blocks, makes as many larger, and churns. All have done with memory when the first one ends. */
static int fork_and_churn(long n_generations, long n_pairs) {
        static void *blocks[2000];

        for (int i = 0; i < 2000; i++)
                blocks[i] = malloc(300);
        for (long n = 0; n < n_generations; n++) {
                int status;
                pid_t child = fork();

                if (child != 0)
                        return child < 0 || waitpid(child, &status, 0) != child || status != 0;
                for (long i = n; i < 2000; i += 8)
                        if (i % 16 < 8)
                                free(blocks[i]);
                        else
                                blocks[i] = realloc(blocks[i], 500);
                churn(n_pairs, 25);
        }
        return 0;
}

/* Children that have 5,000,000 bytes each and take them with them: one after another, or all at the same time. */
static int fork_in_turn(long n_children, bool are_together) {
        int came[2], go[2], status;
        char byte = 0;

        if (pipe(came) < 0 || pipe(go) < 0)
                return 1;
        for (long i = 0; i < n_children; i++) {
                pid_t child = fork();

                if (child == 0) {
                        void *volatile block = malloc(5000000);

                        close(go[1]);
                        if (are_together)
                                (void)!(write(came[1], &byte, 1) + read(go[0], &byte, 1));
                        _exit(block == NULL);
                }
                if (child < 0 || (!are_together && (waitpid(child, &status, 0) != child || status)))
                        return 1;
        }
        for (long i = 0; are_together && i < n_children; i++)
                if (read(came[0], &byte, 1) != 1)
                        return 1;
        close(go[1]);
        while (are_together && wait(&status) > 0)
                if (status)
                        return 1;
        return 0;
}

/* 100 blocks of 1,000 bytes at once; 200 of 10 after 1.5 s, then half of the first are freed; 1.5 s
 * later the end. */
__attribute__((noinline)) static void *allocate_early(void) {
        void *block = malloc(1000);

        __asm__ volatile("" : "+r"(block)); /* no tail call */
        return block;
}

__attribute__((noinline)) static void *allocate_late(void) {
        void *block = malloc(10);

        __asm__ volatile("" : "+r"(block));
        return block;
}

static int in_phases(void) {
        static void *early[100], *late[200];

        for (int i = 0; i < 100; i++)
                early[i] = allocate_early();
        wait_ms(1500);
        for (int i = 0; i < 200; i++)
                late[i] = allocate_late();
        for (int i = 0; i < 50; i++)
                free(early[i]);
        wait_ms(1500);
        return late[0] == NULL;
}

/* How this process was started, line by line, the same with and without silt. */
static int tell_start(int argc, char **argv) {
        extern char **environ;
        sigset_t blocked;

        say("argc %ld\n", argc, 0);
        for (int i = 0; i < argc; i++) {
                write(1, argv[i], strlen(argv[i]));
                write(1, "\n", 1);
        }
        for (int fd = 0; fd < 64; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        say("fd %ld flags %ld\n", fd, fcntl(fd, F_GETFD));
        sigprocmask(SIG_BLOCK, NULL, &blocked);
        for (int sig = 1; sig < 32; sig++) {
                struct sigaction action;
                if (sigismember(&blocked, sig))
                        say("blocked %ld\n", sig, 0);
                if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
                        say("ignored %ld\n", sig, 0);
        }
        mode_t mask = umask(0);
        umask(mask);
        say("umask %ld\n", mask, 0);
        say("children %ld\n", waitpid(-1, NULL, WNOHANG), 0);
        for (char **e = environ; *e; e++)
                if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "SILT_", 5) != 0) {
                        write(1, *e, strlen(*e));
                        write(1, "\n", 1);
                }
        return 0;
}

/* The terminal is this program's: it is in the foreground and may read from it. */
static int tell_terminal(void) {
        char line[64];

        say("foreground %ld\n", tcgetpgrp(0) == getpgrp(), 0);
        ssize_t n = read(0, line, sizeof(line));
        say("read %ld\n", n, 0);
        return 0;
}

static int leave_daemon(void) {
        if (fork() == 0) {
                setsid();
                for (int fd = 0; fd < 3; fd++)
                        close(fd);
                for (int i = 0; i < 300; i++) {
                        free(malloc(33));
                        wait_ms(10);
                }
                _exit(0);
        }
        return 21;
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "signals") == 0)
                return catch_signals();
        if (strcmp(what, "allocate") == 0)
                return allocate_for(argc > 2 ? atol(argv[2]) : -1);
        if (strcmp(what, "allocate-until") == 0)
                return allocate_until(argv[2]);
        if (strcmp(what, "churn") == 0)
                return churn(atol(argv[2]), atol(argv[3]));
        if (strcmp(what, "forks") == 0)
                return fork_and_churn(atol(argv[2]), atol(argv[3]));
        if (strcmp(what, "turns") == 0 || strcmp(what, "together") == 0)
                return fork_in_turn(atol(argv[2]), what[1] == 'o');
        if (strcmp(what, "phases") == 0)
                return in_phases();
        if (strcmp(what, "start") == 0)
                return tell_start(argc, argv);
        if (strcmp(what, "terminal") == 0)
                return tell_terminal();
        if (strcmp(what, "daemon") == 0)
                return leave_daemon();
        if (strcmp(what, "once") == 0)
                return malloc(10) ? 0 : 1;
        if (strcmp(what, "status") == 0)
                return atoi(argv[2]);
        if (strcmp(what, "raise") == 0) {
                signal(atoi(argv[2]), SIG_DFL);
                raise(atoi(argv[2]));
        }
        return 99;
}
