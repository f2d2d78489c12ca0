/* SPDX-License-Identifier: MIT */
/* Says what it holds: for snapshots. Each line of stdin is a command; the answer is what is held afterwards:
 *   +N BYTES  allocates N blocks, -N releases the N newest; mark NAME marks the moment; fork starts a child that does the same
 * until its stdin ends. "BYTES BLOCKS" is the answer. With an argument, so many threads allocate and release all the while. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "silt/silt.h"

enum { MAX_BLOCKS = 1 << 20 };

static void *blocks[MAX_BLOCKS];
static size_t sizes[MAX_BLOCKS], n_blocks;
static unsigned long long held_bytes;
static atomic_bool is_over;

__attribute__((noinline)) static void hold(size_t bytes) {
        blocks[n_blocks] = malloc(bytes);
        memset(blocks[n_blocks], 1, bytes);
        sizes[n_blocks++] = bytes;
        held_bytes += bytes;
}

static void drop(void) {
        held_bytes -= sizes[--n_blocks];
        free(blocks[n_blocks]);
}

/* What it holds at any moment is nothing or one block of 64 bytes. In bursts: a trace that is read in a moment is enough. */
static void *churn(void *arg) {
        (void)arg;
        for (unsigned i = 1; !atomic_load(&is_over); i++) {
                void *volatile p = malloc(64);

                free(p);
                if (i % 512 == 0)
                        usleep(500);
        }
        return NULL;
}

/* Reads and writes without stdio: its buffers are allocated. */
static size_t read_line(char *line, size_t cap) {
        size_t n = 0;

        while (n + 1 < cap && read(0, line + n, 1) == 1 && line[n] != '\n')
                n++;
        line[n] = 0;
        return n;
}

static void answer(void) {
        char text[64];
        int n = snprintf(text, sizeof(text), "%llu %zu\n", held_bytes, n_blocks);

        (void)!write(1, text, (size_t)n);
}

int main(int argc, char **argv) {
        pthread_t threads[64];
        int n_threads = argc > 1 ? atoi(argv[1]) : 0;
        char line[256];
        size_t n, bytes;

        for (int i = 0; i < n_threads; i++)
                pthread_create(&threads[i], NULL, churn, NULL);
        answer();
        while (read_line(line, sizeof(line))) {
                if (sscanf(line, "+%zu %zu", &n, &bytes) == 2)
                        while (n--)
                                hold(bytes);
                else if (sscanf(line, "-%zu", &n) == 1)
                        while (n--)
                                drop();
                else if (strncmp(line, "mark ", 5) == 0)
                        silt_mark(line + 5);
                else if (strcmp(line, "fork") == 0 && fork() > 0) {
                        wait(NULL);
                        break;
                }
                answer();
        }
        atomic_store(&is_over, true);
        for (int i = 0; i < n_threads; i++)
                pthread_join(threads[i], NULL);
        return 0;
}
