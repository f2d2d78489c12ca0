/* SPDX-License-Identifier: MIT */
/* freeze PID N [HOLD_MS]: copies a process N times, and holds each copy so long. Prints "PAUSE_US THREADS PARTIAL" for each, or an error. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/frozen.h"
#include "attach/frozen_check.h"

enum { MAX_REFUSALS = 20 };

/* All of its stacks are there. */
static int read_stacks(const struct frozen *f) {
        for (size_t i = 0; i < f->threads.n; i++) {
                uint64_t word;

                if (pread(f->mem_fd, &word, sizeof(word), (off_t)f->threads.items[i].sp) !=
                    (ssize_t)sizeof(word)) {
                        printf("no stack of thread %d\n", (int)f->threads.items[i].tid);
                        return -EIO;
                }
        }
        return 0;
}

static int freeze(pid_t pid, unsigned hold_ms, struct err *reterr) {
        struct frozen f;
        unsigned n_partial = 0;
        int r = frozen_make(&f, pid, NULL, NULL, reterr), r_end;

        if (r < 0)
                return r;
        for (size_t i = 0; i < f.threads.n; i++)
                n_partial += f.threads.items[i].is_partial;
        printf("%" PRIu64 " %zu %u\n", f.pause_ns / 1000, f.threads.n, n_partial);
        r = read_stacks(&f);
        poll(NULL, 0, (int)hold_ms);
        r_end = frozen_end(&f, reterr);
        return r < 0 ? r : r_end;
}

int main(int argc, char **argv) {
        pid_t pid = argc > 2 ? (pid_t)atoi(argv[1]) : 0;
        int n = argc > 2 ? atoi(argv[2]) : 0, n_refusals = 0, r = 0;
        unsigned hold_ms = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
        struct err err = {0};

        setvbuf(stdout, NULL, _IOLBF, 0);
        r = frozen_check(pid, &err);
        for (int i = 0; i < n && r == 0; i++) {
                r = freeze(pid, hold_ms, &err);
                /* on a busy machine its threads may not all stop in time: as the message says */
                if (r == -ETIMEDOUT && n_refusals++ < MAX_REFUSALS) {
                        err = (struct err){0};
                        r = 0;
                        i--;
                }
        }
        if (r < 0)
                fprintf(stderr, "freeze: %s\n", err.text);
        return r < 0 ? 2 : 0;
}
