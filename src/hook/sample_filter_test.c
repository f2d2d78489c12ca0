/* SPDX-License-Identifier: MIT */
/* Threads whose blocks are of one class: while a block is alive its bit is set, whatever the others do, and when all are
 * gone it is not. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "hook/sample_filter.h"

#define CHECK(x)                                                                                   \
        do {                                                                                       \
                if (!(x)) {                                                                        \
                        fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
                        exit(1);                                                                   \
                }                                                                                  \
        } while (0)

enum { N_THREADS = 4, N_ROUNDS = 500000, N_LOOKS = 8 };

static void *block_of(size_t class) {
        return (void *)((uintptr_t)0x40000000 + class * 64);
}

static void test_one_class(void) {
        size_t class = sample_class((uintptr_t)block_of(7));

        CHECK(class == 7 && !sample_may_have(block_of(7)));
        CHECK(sample_enter_class(class) && sample_enter_class(class));
        CHECK(sample_may_have(block_of(7)));
        CHECK(!sample_may_have(block_of(6)) && !sample_may_have(block_of(8)));
        CHECK(sample_may_have((char *)block_of(7) + 48 + ((size_t)SAMPLE_N_CLASSES << 6)));
        sample_leave_class(class);
        CHECK(sample_may_have(block_of(7)));
        sample_leave_class(class);
        CHECK(!sample_may_have(block_of(7)));
}

/* One that has more than can be counted stays set, and so does one of the early arena. */
static void test_stuck(void) {
        for (int i = 0; i < 300; i++)
                CHECK(sample_enter_class(9));
        for (int i = 0; i < 300; i++)
                sample_leave_class(9);
        CHECK(sample_may_have(block_of(9)));
        sample_mark_early(block_of(10));
        CHECK(sample_enter_class(10));
        sample_leave_class(10);
        sample_clear_classes();
        CHECK(sample_may_have(block_of(9)) && sample_may_have(block_of(10)));
}

/* A thread was interrupted while it cleared the bit: its handler goes without. */
static void test_clearing(void) {
        sample_classes[11] = SAMPLE_CLASS_CLEARING;
        CHECK(!sample_enter_class(11));
        sample_classes[11] = 0;
        CHECK(sample_enter_class(11) && sample_may_have(block_of(11)));
        sample_clear_classes();
        CHECK(!sample_may_have(block_of(11)));
}

static void *live_and_die(void *ctx) {
        (void)ctx;
        for (int i = 0; i < N_ROUNDS; i++) {
                if (!sample_enter_class(20))
                        continue;
                for (int look = 0; look < N_LOOKS; look++)
                        CHECK(sample_may_have(block_of(20)));
                sample_leave_class(20);
        }
        return NULL;
}

static void test_threads(void) {
        pthread_t threads[N_THREADS];

        for (int i = 0; i < N_THREADS; i++)
                CHECK(pthread_create(&threads[i], NULL, live_and_die, NULL) == 0);
        for (int i = 0; i < N_THREADS; i++)
                CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(!sample_may_have(block_of(20)) && sample_classes[20] == 0);
}

int main(void) {
        test_one_class();
        test_stuck();
        test_clearing();
        test_threads();
        return 0;
}
