/* SPDX-License-Identifier: MIT */
/* Blocks as they are found from outside, beside what the program knows of them itself: it allocates and frees by chance, in several threads, tells its blocks and waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/malloc_heap.h"
#include "attach/testing/malloc_heap_fake.h"
#include "base/map.h"
#include "base/testing/seed.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

enum { N_THREADS = 3, N_SLOTS = 3000, N_STEPS = 20000, MAX_OTHERS = 12 };

/* Shared with the parent. */
struct told {
        struct malloc_block blocks[(N_THREADS + 1) * N_SLOTS];
        pthread_barrier_t barrier;
        unsigned seed;
};

static struct told *told;

static size_t draw_size(unsigned *state) {
        unsigned kind = (unsigned)rand_r(state) % 100;

        if (kind < 70)
                return (size_t)rand_r(state) % 200;
        if (kind < 97)
                return (size_t)rand_r(state) % 5000;
        if (kind < 99)
                return (size_t)rand_r(state) % 100000;
        return 150000 + (size_t)rand_r(state) % 1000000;
}

static void work(unsigned who) {
        struct malloc_block *mine = told->blocks + (size_t)who * N_SLOTS;
        unsigned state = told->seed + who;

        for (unsigned i = 0; i < N_STEPS; i++) {
                struct malloc_block *b = &mine[(unsigned)rand_r(&state) % N_SLOTS];
                size_t n_bytes = draw_size(&state);
                void *p;

                if (b->address && rand_r(&state) % 3) {
                        free((void *)b->address);
                        *b = (struct malloc_block){0};
                        continue;
                }
                p = realloc((void *)b->address, MAX(n_bytes, (size_t)1));
                if (!p)
                        abort();
                *b = (struct malloc_block){(uint64_t)p, malloc_usable_size(p)};
        }
}

static void *thread(void *arg) {
        work((unsigned)(uintptr_t)arg);
        pthread_barrier_wait(&told->barrier);
        for (;;)
                pause();
        return NULL;
}

static pid_t start(void) {
        pthread_barrierattr_t shared;
        pid_t pid;

        pthread_barrierattr_init(&shared);
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&told->barrier, &shared, N_THREADS + 2);
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (uintptr_t i = 1; i <= N_THREADS; i++) {
                        pthread_t t;

                        if (pthread_create(&t, NULL, thread, (void *)i) != 0)
                                _exit(1);
                }
                thread(NULL);
        }
        pthread_barrier_wait(&told->barrier);
        return pid;
}

static void check(const struct malloc_heap *h, size_t n_before) {
        struct map found = {0};
        size_t n_told = 0;

        for (size_t i = 0; i < h->blocks.n; i++) {
                bool is_new;

                *map_put(&found, h->blocks.items[i].address, 0, &is_new) =
                        h->blocks.items[i].size_bytes;
                assert_true(is_new);
        }
        for (size_t i = 0; i < (N_THREADS + 1) * N_SLOTS; i++) {
                const struct malloc_block *b = &told->blocks[i];
                uint64_t size_bytes;

                if (!b->address)
                        continue;
                n_told++;
                if (!map_get(&found, b->address, &size_bytes))
                        fail_msg("block %zu of %llu bytes was not found", i,
                                 (unsigned long long)b->size_bytes);
                assert_int_equal(size_bytes, b->size_bytes);
        }
        /* what the test itself had, and a few of the C library's own for threads */
        assert_in_range(h->blocks.n, n_told, n_told + n_before + MAX_OTHERS);
        map_done(&found);
}

static void test_all_are_found(void **state) {
        (void)state;
        if (IS_SANITIZED)
                return; /* malloc is not the C library's */
        for (unsigned i = 0; i < 5; i++) {
                struct malloc_heap h;
                char path[64];
                size_t n_before;
                pid_t pid;
                int fd;

                told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                            -1, 0);
                assert_true(told != MAP_FAILED);
                told->seed = (unsigned)seed_of_run() * 100 + i * 10;
                fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
                assert_true(malloc_heap_read(&h, getpid(), fd,
                                             true)); /* it changes meanwhile: about so many */
                n_before = h.blocks.n;
                malloc_heap_done(&h);
                close(fd);
                pid = start();
                snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                assert_true(fd >= 0);
                assert_true(malloc_heap_read(&h, pid, fd, true));
                assert_true(h.arenas.n > 1);
                assert_int_equal(h.n_unknown_mapped, 0);
                assert_int_equal(h.unwalked_bytes, 0);
                check(&h, n_before);
                malloc_heap_done(&h);
                close(fd);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                munmap(told, sizeof(*told));
        }
}

/* ---- made by hand ------------------------------------------------------------------------------------------- */

enum { N_READS = 400 };

/* Whether all was found, and nothing else; how much was not walked. */
static uint64_t walk_fake(struct heap_fake *f, size_t n_expected) {
        struct heap_fake_reader r = {.fake = f, .n_reads_left = N_READS};
        struct malloc_memory m = heap_fake_memory(&r);
        struct malloc_heap h;
        uint64_t unwalked_bytes;

        assert_true(malloc_heap_walk(&h, &m, true));
        assert_int_equal(h.blocks.n, n_expected);
        for (size_t i = 0; n_expected == HEAP_FAKE_BLOCKS && i < h.blocks.n; i++) {
                assert_int_equal(h.blocks.items[i].address, heap_fake_blocks[i].address);
                assert_int_equal(h.blocks.items[i].size_bytes, heap_fake_blocks[i].size_bytes);
        }
        unwalked_bytes = h.unwalked_bytes;
        malloc_heap_done(&h);
        return unwalked_bytes;
}

static void test_by_hand(void **state) {
        static struct heap_fake f;

        (void)state;
        heap_fake_fill(&f);
        assert_int_equal(walk_fake(&f, HEAP_FAKE_BLOCKS), 0);
}

/* Lists and heaps that lead round and round: each is walked once. */
static void test_circles(void **state) {
        static struct heap_fake f;
        uint64_t fast = FAKE_MAIN + 16 + 8 * (48 / 16 - 2), link;

        (void)state;
        heap_fake_fill(&f);
        link = *fake_word(&f.arenas, fast) + 16;
        *fake_word(&f.arenas, link) =
                (link - 16) ^ link >> 12; /* so the other one is no more free */
        assert_int_equal(walk_fake(&f, HEAP_FAKE_BLOCKS + 1), 0);
        heap_fake_fill(&f);
        *fake_word(&f.arenas, FAKE_OTHER + 8) = FAKE_OTHER;
        assert_int_equal(walk_fake(&f, HEAP_FAKE_BLOCKS), 0);
}

/* A heap that says it is larger than what is there. */
static void test_no_more_than_there_is(void **state) {
        static struct heap_fake f;

        (void)state;
        heap_fake_fill(&f);
        *fake_word(&f.arenas, FAKE_OTHER + 16) = (uint64_t)64 << 20;
        assert_int_equal(walk_fake(&f, HEAP_FAKE_BLOCKS), 0);
        *fake_word(&f.arenas, heap_fake_blocks[2].address - 8) =
                0; /* no header: nothing leads to the top */
        assert_int_equal(walk_fake(&f, HEAP_FAKE_BLOCKS - 3), 4096);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_are_found),
                                           cmocka_unit_test(test_by_hand),
                                           cmocka_unit_test(test_circles),
                                           cmocka_unit_test(test_no_more_than_there_is)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
