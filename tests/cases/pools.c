/* SPDX-License-Identifier: MIT */
/* An arena whose blocks are told to silt: what it did is known exactly. Also under -std=c99 -pedantic, and as C++.
 *   pools ROUNDS THREADS [fork] */
#include <pthread.h>
#include <silt/silt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { N_BLOCKS = 100, BLOCK_BYTES = 48, MAX_THREADS = 16 };

struct arena {
        char *memory;
        size_t used;
};

struct job {
        int n_rounds;
        char name[16];
};

static NOINLINE void *arena_take(struct arena *a, size_t size_bytes) {
        void *block = a->memory + a->used;

        a->used += (size_bytes + 15) / 16 * 16;
        silt_alloc(block, size_bytes);
        return block;
}

static void arena_reset(struct arena *a) {
        silt_free_range(a->memory, a->memory + a->used);
        a->used = 0;
}

static NOINLINE void fill(struct arena *a) {
        char *first = (char *)arena_take(a, BLOCK_BYTES);

        for (int i = 1; i < N_BLOCKS; i++)
                *(char *)arena_take(a, BLOCK_BYTES) = (char)i;
        silt_free(first);
}

/* The last round's blocks stay, the first of them was given back. */
static void *work(void *ctx) {
        struct job *job = (struct job *)ctx;
        struct arena a = {(char *)malloc(N_BLOCKS * BLOCK_BYTES), 0};

        silt_thread_name(job->name);
        for (int i = 0; i < job->n_rounds; i++) {
                arena_reset(&a);
                fill(&a);
        }
        return a.memory;
}

/* A child releases what it inherited. */
static int in_child(char *memory) {
        pid_t pid = fork();
        int status = 1;

        if (pid == 0) {
                silt_mark("in the child");
                silt_free_range(memory, memory + N_BLOCKS * BLOCK_BYTES);
                _exit(0);
        }
        waitpid(pid, &status, 0);
        return status;
}

int main(int argc, char **argv) {
        static struct job jobs[MAX_THREADS];
        pthread_t threads[MAX_THREADS];
        int n_threads = argc > 2 ? atoi(argv[2]) : 1;
        void *memory = NULL;

        silt_mark("begin");
        for (int i = 0; i < n_threads && i < MAX_THREADS; i++) {
                jobs[i].n_rounds = atoi(argv[1]);
                snprintf(jobs[i].name, sizeof(jobs[i].name), "pool-%d", i);
                pthread_create(&threads[i], NULL, work, &jobs[i]);
        }
        for (int i = 0; i < n_threads && i < MAX_THREADS; i++)
                pthread_join(threads[i], &memory);
        silt_mark("warm-up done");
        return argc > 3 && strcmp(argv[3], "fork") == 0 ? in_child((char *)memory) : 0;
}
