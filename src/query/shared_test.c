/* SPDX-License-Identifier: MIT */
/* Four threads ask random questions, each with a query of its own over one reader: their answers are those of one thread. What
 * they share is found by ThreadSanitizer, which this test is built with in build-tsan. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"
#include "query/testing/fabric.h"
#include "query/testing/questions.h"

#define TRACE_PATH "shared_test.silt"

enum { N_THREADS = 4, N_ASKED = 60, N_FILTERS = 4 };

static uint64_t draw(uint64_t *random, uint64_t below) {
        *random = *random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (*random >> 33) % below : 0;
}

struct asker {
        struct query *q;
        uint64_t seed;
        uint64_t digests[N_ASKED];
        int failed;
};

/* Filters are one thread's. */
static struct query_filter *draw_filter(uint64_t *random) {
        static const char *const conditions[N_FILTERS][2] = {{"function", "a"},
                                                             {"asked-by", "e"},
                                                             {"size", "16..400"},
                                                             {"thread", "0"}};
        struct query_filter *f = query_filter_new();
        uint64_t i = draw(random, 2 * N_FILTERS);
        struct err e = {0};

        if (i < N_FILTERS)
                query_filter_add(f, conditions[i][0], conditions[i][1], &e);
        return f;
}

static void *ask(void *p) {
        struct asker *a = p;
        uint64_t random = a->seed, end_ns = query_view(a->q)->end_ns;
        struct err e = {0};

        for (unsigned i = 0; i < N_ASKED; i++) {
                _cleanup_(query_filter_freep) struct query_filter *f = draw_filter(&random);
                struct query_scope scope = query_whole(a->q);
                /* rows of slices know no single blocks */
                enum question question = (enum question)draw(&random, QUESTION_CURSORS);

                scope.filter = f;
                if (draw(&random, 2))
                        scope.process = QUERY_ALL;
                if (draw(&random, 2))
                        scope.from_ns = draw(&random, end_ns);
                if (draw(&random, 8) == 0) {
                        question = QUESTION_CURSORS;
                        scope.filter = NULL;
                }
                if (question_ask(a->q, question, &scope, &a->digests[i], &e) < 0)
                        a->failed++;
        }
        return NULL;
}

static void test_threads(void **state) {
        const struct fabric_options o = {.seed = 7,
                                         .n_stacks = 40,
                                         .slice_events = 100,
                                         .max_processes = 3,
                                         .max_threads = 3,
                                         .checkpoint_every = 7,
                                         .with_paths = true};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        struct asker askers[N_THREADS], alone = {0};
        pthread_t threads[N_THREADS];
        struct query *q = NULL;
        struct err e = {0};

        (void)state;
        fabric_run(f, 4000);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        for (unsigned i = 0; i < N_THREADS; i++)
                askers[i] = (struct asker){.q = query_open_shared(q), .seed = i + 1};
        for (unsigned i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
        for (unsigned i = 0; i < N_THREADS; i++)
                pthread_join(threads[i], NULL);
        for (unsigned i = 0; i < N_THREADS; i++) {
                alone = (struct asker){.q = q, .seed = i + 1};
                ask(&alone);
                assert_int_equal(alone.failed, 0);
                assert_int_equal(askers[i].failed, 0);
                assert_memory_equal(alone.digests, askers[i].digests, sizeof(alone.digests));
        }
        query_free(q); /* before those that share with it */
        for (unsigned i = 0; i < N_THREADS; i++)
                query_free(askers[i].q);
}

/* Queries come and go in their threads while others read. */
static void *open_and_ask(void *p) {
        struct asker *a = p;

        for (unsigned i = 0; i < 5; i++) {
                struct query *q = query_open_shared(a->q);
                struct query_scope scope = query_whole(q);
                struct err e = {0};

                if (question_ask(q, QUESTION_TREE, &scope, &a->digests[i], &e) < 0)
                        a->failed++;
                query_free(q);
        }
        return NULL;
}

static void test_comings(void **state) {
        struct asker askers[N_THREADS];
        pthread_t threads[N_THREADS];
        struct query *q = NULL;
        struct err e = {0};

        (void)state;
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        for (unsigned i = 0; i < N_THREADS; i++)
                askers[i] = (struct asker){.q = query_open_shared(q)};
        query_free(q);
        for (unsigned i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, open_and_ask, &askers[i]), 0);
        for (unsigned i = 0; i < N_THREADS; i++)
                pthread_join(threads[i], NULL);
        for (unsigned i = 0; i < N_THREADS; i++) {
                assert_int_equal(askers[i].failed, 0);
                assert_int_equal(askers[i].digests[0], askers[0].digests[0]);
                assert_int_equal(askers[i].digests[4], askers[0].digests[0]);
                query_free(askers[i].q);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_comings),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
