/* SPDX-License-Identifier: MIT */
/* Arenas made by hand, whole, broken and changing, and those of this process held against what its C library says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/prior_scan.h"
#include "attach/testing/arenas_fake.h"
#include "base/macros.h"

enum { HELD_BYTES = 8192 + 4096, SYSTEM_OFF = 2184, NEXT_OFF = 2160, TOP_OFF = 96, BINS_OFF = 112 };

static bool read_fake(struct fake *f, struct arenas_found *ret) {
        struct fake_reader r = {.fake = f, .n_reads_left = 100000};

        return fake_read_all(&r, ret);
}

static void test_whole(void **state) {
        struct arenas_found found;
        struct fake f;
        uint64_t free_bytes = fake_fill(&f);

        assert_true(read_fake(&f, &found));
        assert_int_equal(found.n_arenas, 2);
        assert_int_equal(found.held_bytes, HELD_BYTES);
        assert_int_equal(found.free_bytes, free_bytes);
        assert_int_equal(found.n_free, FAKE_FULL_FREE_CHUNKS);
        assert_true(found.is_whole);
        assert_true(found.has_mmapped);
        assert_int_equal(found.n_mmapped, 2);
        assert_int_equal(found.mmapped_bytes, 8192);
}

/* A library that nobody has asked for anything yet; one that has a single arena, and no memory. */
static void test_begin(void **state) {
        struct arenas_found found;
        struct fake f;

        memset(&f, 0, sizeof(f));
        assert_false(read_fake(&f, &found));
        fake_init(&f);
        *fake_word(&f, FAKE_MAIN + NEXT_OFF) = FAKE_MAIN;
        *fake_word(&f, FAKE_MAIN + TOP_OFF) = FAKE_MAIN + TOP_OFF;
        *fake_word(&f, FAKE_MAIN + SYSTEM_OFF) = 0;
        assert_true(read_fake(&f, &found));
        assert_int_equal(found.n_arenas, 1);
        assert_int_equal(found.held_bytes + found.free_bytes, 0);
        assert_true(found.is_whole);
        assert_false(found.has_mmapped);
}

static void test_params(void **state) {
        struct arenas_found found;
        struct fake f;

        fake_fill(&f);
        fake_put_params(&f, FAKE_PARAMS_WORD, false, 1, 4096); /* of before 2.35 */
        assert_true(read_fake(&f, &found));
        assert_true(found.has_mmapped);
        assert_int_equal(found.n_mmapped, 1);
        assert_int_equal(found.mmapped_bytes, 4096);
        fake_put_params(&f, FAKE_PARAMS_WORD + 20, true, 1, 4096); /* which of them is it */
        assert_true(read_fake(&f, &found));
        assert_false(found.has_mmapped);
        assert_int_equal(found.mmapped_bytes, 0);
        f.data[FAKE_PARAMS_WORD + 2] = 1 << 30; /* a threshold that cannot have come by itself */
        memset(&f.data[FAKE_PARAMS_WORD + 20], 0, 96);
        assert_true(read_fake(&f, &found));
        assert_false(found.has_mmapped);
        memset((uint8_t *)&f.data[FAKE_PARAMS_WORD] + 52, 1, 1); /* it was set */
        assert_true(read_fake(&f, &found));
        assert_true(found.has_mmapped);
        fake_put_params(&f, FAKE_PARAMS_WORD, true, 1, 4095);
        assert_true(read_fake(&f, &found));
        assert_false(found.has_mmapped);
        fake_put_params(&f, FAKE_PARAMS_WORD, true, 1, 1 << 20); /* more than there is */
        assert_true(read_fake(&f, &found));
        assert_false(found.has_mmapped);
}

/* The rest of a list is not told of, nor is any other. */
static void test_broken_lists(void **state) {
        const struct {
                uint64_t addr, value;
                uint64_t lost_bytes;
        } breaks[] = {
                {FAKE_HEAP + 1024 + 24, FAKE_HEAP + 64, 64},       /* points elsewhere */
                {FAKE_HEAP + 1104 + 16, FAKE_HEAP + 1024 + 8, 64}, /* no chunk is there */
                {FAKE_HEAP + 1104 + 16, 0, 64},                    /* nothing */
                {FAKE_HEAP + 1104 + 16, UINT64_MAX - 15, 64},      /* the end of it all */
                {FAKE_HEAP + 1104 + 16, FAKE_HEAP + 1104, 64},     /* itself */
                {FAKE_HEAP + 1024 + 8, 80 | 1, 64},                /* of another bin */
                {FAKE_HEAP + 1024 + 8, 64 | 3, 64},                /* a mapping */
                {FAKE_HEAP + 64 + 8, 1 << 20 | 1, 640},            /* beyond its memory */
                {FAKE_HEAP + 64 + 8, 8192 | 1, 640},               /* a little beyond */
                {FAKE_HEAP + 64 + 8, 16 | 1, 640},                 /* too small */
                {FAKE_HEAP + 2048 + 8, 512 | 1, 1040},             /* not large */
                {FAKE_HEAP + 1264 + 16, 0x1234567890, 48},         /* no link, mixed or not */
                {FAKE_HEAP + 1200 + 8, 64 | 1, 48},                /* of another bin */
                {FAKE_OTHER + 2304 + 8, 64 | 1, 32},               /* the plain one's */
                {FAKE_HEAP + 4096 + 8, 1 << 20 | 1, 4096},         /* the top */
        };

        for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                struct arenas_found found;
                struct fake f;
                uint64_t free_bytes = fake_fill(&f);

                *fake_word(&f, breaks[i].addr) = breaks[i].value;
                assert_true(read_fake(&f, &found));
                assert_false(found.is_whole);
                assert_int_equal(found.held_bytes, HELD_BYTES);
                assert_int_equal(found.free_bytes, free_bytes - breaks[i].lost_bytes);
        }
}

/* Lists without end are followed no further than there is memory. */
static void test_circles(void **state) {
        struct arenas_found found;
        struct fake f;

        fake_fill(&f);
        *fake_word(&f, FAKE_OTHER + 2304 + 16) = FAKE_OTHER + 2304 + 64;
        assert_true(read_fake(&f, &found));
        assert_false(found.is_whole);
        assert_true(found.free_bytes <= HELD_BYTES);
        fake_init(&f);
        for (uint64_t i = 1; i < 4; i++) /* each within the other */
                fake_put(&f, FAKE_MAIN, 1, FAKE_HEAP + 64 * i, 8000);
        assert_true(read_fake(&f, &found));
        assert_false(found.is_whole);
        assert_int_equal(found.n_free, 3); /* two tops, and the first of them */
        fake_fill(&f);
        *fake_word(&f, FAKE_MAIN + BINS_OFF + 16 * 40) = FAKE_HEAP + 1104; /* in two bins */
        *fake_word(&f, FAKE_MAIN + BINS_OFF + 16 * 40 + 8) = FAKE_HEAP + 1104;
        assert_true(read_fake(&f, &found));
        assert_false(found.is_whole);
        assert_true(found.free_bytes <= HELD_BYTES);
}

/* What is not an arena beyond doubt is none. */
static void test_not_arenas(void **state) {
        const struct {
                uint64_t addr, value;
        } breaks[] = {
                {FAKE_MAIN + NEXT_OFF, 0},
                {FAKE_MAIN + NEXT_OFF, FAKE_HEAP},
                {FAKE_MAIN + NEXT_OFF, 0x123400000000},
                {FAKE_MAIN + NEXT_OFF, FAKE_THREAD + 1},
                {FAKE_THREAD + NEXT_OFF, FAKE_THREAD}, /* a ring without the main one */
                {FAKE_THREAD + NEXT_OFF, FAKE_MAIN + 8},
                {FAKE_OTHER, FAKE_THREAD + 16}, /* its heap names another */
                {FAKE_MAIN + SYSTEM_OFF, UINT64_MAX},
                {FAKE_MAIN + SYSTEM_OFF + 8, 8},
                {FAKE_THREAD + SYSTEM_OFF, 1 << 30},
                {FAKE_MAIN + BINS_OFF + 16 * 126, FAKE_HEAP + 64},
                {FAKE_MAIN + BINS_OFF + 16 * 126 + 8, 0},
                {FAKE_MAIN + BINS_OFF + 16 * 3, 0},
                {FAKE_MAIN + BINS_OFF + 16 * 3 + 8, FAKE_HEAP + 8},
                {FAKE_THREAD + BINS_OFF + 16 * 3, 0},
                {FAKE_THREAD + BINS_OFF + 16 * 126, FAKE_HEAP + 64},
        };

        for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
                struct arenas_found found;
                struct fake f;

                fake_fill(&f);
                *fake_word(&f, breaks[i].addr) = breaks[i].value;
                assert_false(read_fake(&f, &found));
        }
}

/* Something that looks like one comes first: the real one is found. */
static void test_likeness(void **state) {
        struct arenas_found found;
        struct fake f;

        fake_fill(&f);
        for (size_t i = 0; i < FAKE_ARENA_WORD; i++)
                f.data[i] = FAKE_DATA + 8 * i - 16;
        for (size_t i = 300; i < FAKE_WORDS; i++)
                f.data[i] = FAKE_DATA + 8 * (i & ~(size_t)1) - 16;
        assert_true(read_fake(&f, &found));
        assert_int_equal(found.held_bytes, HELD_BYTES);
        assert_false(found.has_mmapped);
}

/* The time may be over at any moment. */
static void test_time_is_over(void **state) {
        struct arenas_found found, before = {0};
        unsigned n_whole = 0;

        for (unsigned n = 0; n < 20; n++) {
                struct fake f;
                struct fake_reader r = {.fake = &f, .n_reads_left = n};
                uint64_t free_bytes = fake_fill(&f);

                if (!fake_read_all(&r, &found))
                        continue;
                assert_int_equal(found.held_bytes, HELD_BYTES);
                assert_true(found.free_bytes >= before.free_bytes);
                assert_int_equal(found.is_whole, found.free_bytes == free_bytes);
                n_whole += found.is_whole;
                before = found;
        }
        assert_true(n_whole > 0 && n_whole < 20);
}

/* While it is read the first chunk of a bin is taken, in two steps: it is read again, head and page. */
static void take_first(struct fake *f, unsigned n_reads) {
        uint64_t bin = FAKE_MAIN + BINS_OFF + 16 * 3;

        if (n_reads == 3) { /* its page, after the other's, the other arena and the top's */
                *fake_word(f, FAKE_HEAP + 1104 + 16) = 0x6162636465666768; /* a text */
        } else if (n_reads > 3 && *fake_word(f, bin) == FAKE_HEAP + 1104) {
                *fake_word(f, bin) = FAKE_HEAP + 1024;
                *fake_word(f, FAKE_HEAP + 1024 + 24) = bin - 16;
        }
}

static void test_change(void **state) {
        struct arenas_found found;
        struct fake f;
        struct fake_reader r = {.fake = &f, .n_reads_left = 1000, .between = take_first};
        uint64_t free_bytes = fake_fill(&f);

        assert_true(fake_read_all(&r, &found));
        assert_true(found.is_whole);
        assert_int_equal(found.free_bytes, free_bytes - 64);
}

/* ---- the real one ----------------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void test_own(void **state) {
        skip(); /* another malloc */
}

static void test_own_full(void **state) {
        skip();
}
#else
static void scatter(unsigned seed) {
        char *blocks[3000];

        for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
                seed = seed * 1103515245 + 12345;
                blocks[i] = malloc(1 + seed / 65536 % (i % 10 ? 300 : 5000));
        }
        for (size_t i = 0; i < ARRAY_SIZE(blocks); i += 2)
                free(blocks[i]);
}

static void *scatter_apart(void *arg) {
        scatter((unsigned)(uintptr_t)arg);
        return NULL;
}

/* A child that does nothing has them as they were when it was forked. */
static void look_at_child(void) {
        struct mallinfo2 said;
        struct prior prior;
        struct target t;
        pid_t child;

        said = mallinfo2();
        child = fork();
        if (child == 0)
                for (;;)
                        pause();
        assert_true(child > 0);
        assert_int_equal(target_open(&t, child, NULL), 0);
        for (unsigned i = 0; i < 100; i++) { /* a machine that is busy may not have the time */
                prior_look(&t, &prior);
                if (prior.arenas.is_whole)
                        break;
        }
        target_close(&t);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_true(prior.has_arenas);
        assert_true(prior.arenas.n_arenas > 1);
        assert_int_equal(prior.arenas.held_bytes, said.arena);
        assert_int_equal(prior.arenas.free_bytes, said.fordblks);
        assert_true(prior.arenas.has_mmapped);
        assert_int_equal(prior.arenas.n_mmapped, said.hblks);
        assert_int_equal(prior.arenas.mmapped_bytes, said.hblkhd);
}

static void test_own(void **state) {
        char *large = malloc(3 << 20);
        pthread_t threads[3];

        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                pthread_create(&threads[i], NULL, scatter_apart, (void *)(i + 2));
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                pthread_join(threads[i], NULL);
        scatter(1);
        look_at_child();
        free(large);
}

/* Steps between the sizes of the C library's bins. */
static size_t step_after(size_t size) {
        return size < 1024     ? 16
               : size < 3072   ? 64
               : size < 10752  ? 512
               : size < 45056  ? 4096
               : size < 163840 ? 32768
                               : 262144;
}

/* Free blocks of each size between live ones, which stay. */
static void *fill_bins(void *arg) {
        enum {
                N_EACH = 9,
                N_MAX = 1200
        }; /* the first seven of a small size go to the thread's cache */
        void *blocks[N_MAX], *volatile between;
        size_t n = 0;

        (void)arg;
        for (size_t size = 24; size < 1 << 20; size += step_after(size))
                for (size_t k = 0; k < (size < 1024 ? N_EACH : 1); k++) {
                        assert_true(n < N_MAX);
                        blocks[n++] = malloc(size);
                        between = malloc(24);
                }
        for (size_t i = 0; i < n; i++)
                free(blocks[i]);
        between = malloc(4 << 20);
        free(between); /* sorts what was released */
        return NULL;
}

/* Hardly any bin is empty, as in a server that has run for long. A thread has an arena of its own, without what the others left. */
static void test_own_full(void **state) {
        pthread_t thread;

        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        pthread_create(&thread, NULL, fill_bins, NULL);
        pthread_join(thread, NULL);
        look_at_child();
}
#endif

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole),    cmocka_unit_test(test_begin),
                cmocka_unit_test(test_params),   cmocka_unit_test(test_broken_lists),
                cmocka_unit_test(test_circles),  cmocka_unit_test(test_not_arenas),
                cmocka_unit_test(test_likeness), cmocka_unit_test(test_time_is_over),
                cmocka_unit_test(test_change), /* before threads leave arenas to take over */
                cmocka_unit_test(test_own_full), cmocka_unit_test(test_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
