/* SPDX-License-Identifier: MIT */
/* A program to be stopped and continued: `pauser ROUNDS [FILE]`. Says its pid, allocates and releases
 * 10 bytes ROUNDS times with a millisecond in between, or until FILE is there, and says how often it
 * was told to go on and how many rounds it did. The status is 17. Nothing else allocates. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t n_continued;

static void on_continue(int sig) {
        (void)sig;
        n_continued++;
}

static void say(const char *fmt, long n) {
        char line[64];
        int length = snprintf(line, sizeof(line), fmt, n);

        if (write(1, line, (size_t)length) != length)
                _exit(98);
}

int main(int argc, char **argv) {
        struct sigaction action = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
        long n_rounds = argc > 1 ? atol(argv[1]) : 0, n_done = 0;

        sigaction(SIGCONT, &action, NULL);
        say("ready %ld\n", getpid());
        for (; n_done < n_rounds && (argc < 3 || access(argv[2], F_OK) != 0); n_done++) {
                struct timespec left = {0, 1000000};
                void *block = malloc(10);

                while (nanosleep(&left, &left) != 0)
                        ;
                free(block);
        }
        say("continued %ld\n", n_continued);
        say("rounds %ld\n", n_done);
        return 17;
}
