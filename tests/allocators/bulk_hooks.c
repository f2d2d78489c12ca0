/* SPDX-License-Identifier: MIT */
/* hooks ROUNDS: extent hooks of the program's own take a lock, and jemalloc calls them while it holds its control lock (an arena
 * is destroyed). Another thread holds that lock of the program's while it allocates: whoever took jemalloc's lock there would wait
 * for ever. */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static extent_hooks_t *theirs, ours;
static pthread_barrier_t begin;
static _Atomic int is_done;

static void *hook_alloc(extent_hooks_t *h, void *at, size_t n, size_t align, bool *zero,
                        bool *commit, unsigned arena) {
        void *p;

        (void)h;
        pthread_mutex_lock(&lock);
        p = theirs->alloc(theirs, at, n, align, zero, commit, arena);
        pthread_mutex_unlock(&lock);
        return p;
}

static bool hook_dalloc(extent_hooks_t *h, void *p, size_t n, bool commit, unsigned arena) {
        bool is_kept;

        (void)h;
        pthread_mutex_lock(&lock);
        is_kept = theirs->dalloc && theirs->dalloc(theirs, p, n, commit, arena);
        pthread_mutex_unlock(&lock);
        return is_kept;
}

static void hook_destroy(extent_hooks_t *h, void *p, size_t n, bool commit, unsigned arena) {
        (void)h;
        pthread_mutex_lock(&lock);
        if (theirs->destroy)
                theirs->destroy(theirs, p, n, commit, arena);
        pthread_mutex_unlock(&lock);
}

static void *allocate_locked(void *arg) {
        unsigned arena = *(unsigned *)arg;

        /* a thread's first call takes all of jemalloc's locks by itself */
        dallocx(mallocx(100, MALLOCX_ARENA(arena)), 0);
        pthread_barrier_wait(&begin);
        while (!is_done) {
                pthread_mutex_lock(&lock);
                for (unsigned i = 0; i < 100; i++)
                        dallocx(mallocx(100, MALLOCX_ARENA(arena)), 0);
                pthread_mutex_unlock(&lock);
        }
        return NULL;
}

int main(int argc, char **argv) {
        unsigned n_rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 0, plain = 0;
        size_t n = sizeof(theirs), n_arena = sizeof(plain);
        extent_hooks_t *to = &ours;
        pthread_t thread;

        if (mallctl("arena.0.extent_hooks", &theirs, &n, NULL, 0) ||
            mallctl("arenas.create", &plain, &n_arena, NULL, 0))
                return 2;
        ours = *theirs;
        ours.alloc = hook_alloc;
        ours.dalloc = hook_dalloc;
        ours.destroy = hook_destroy;
        pthread_barrier_init(&begin, NULL, 2);
        pthread_create(&thread, NULL, allocate_locked, &plain);
        pthread_barrier_wait(&begin);
        for (unsigned i = 0; i < n_rounds; i++) {
                unsigned arena;
                char name[64];

                if (mallctl("arenas.create", &arena, &n_arena, &to, sizeof(to)))
                        return 3;
                for (unsigned k = 0; k < 4; k++)
                        mallocx(1 << 20, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
                snprintf(name, sizeof(name), "arena.%u.destroy", arena);
                if (mallctl(name, NULL, NULL, NULL, 0))
                        return 4;
        }
        is_done = 1;
        pthread_join(thread, NULL);
        printf("in_bulk %u\n", 4 * n_rounds);
        return 0;
}
