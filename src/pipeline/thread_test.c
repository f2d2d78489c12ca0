/* SPDX-License-Identifier: MIT */
/* Threads that write through the runtime's own end of the ring while the pipeline lends, drains, orders and frees their
 * slots. Under ThreadSanitizer: nothing but the positions and states is shared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "pipeline/testing/fake_target.h"
#include "pipeline/testing/fake_writer.h"
#include "wire/ring_writer.h"

enum { N_THREADS = 4, N_PAIRS = 30000 };

struct shared {
        struct fake_target target;
        struct ring_clock clock;
        struct wire_patience patience;
        _Atomic uint32_t n_done;
        _Atomic uint64_t box; /* an address on its way from one thread to another */
};

struct writer {
        struct shared *shared;
        struct fake_thread fake;
        uint32_t no;
};

static void write_alloc(struct ring_writer *w, uint64_t address, uint64_t size_bytes) {
        uint64_t *words = ring_writer_reserve(w, 6);

        assert_non_null(words);
        words[0] = wire_word0(ring_writer_time(w), WIRE_ALLOC);
        words[1] = address;
        words[2] = size_bytes;
        words[3] = wire_stack_word(0, 2, 0, 0);
        words[4] = 0x4000 + address % 5;
        words[5] = 0x5000;
        ring_writer_commit(w, words + 6);
}

static void write_free(struct ring_writer *w, uint64_t address) {
        uint64_t *words = ring_writer_reserve(w, 2);

        assert_non_null(words);
        words[0] = wire_word0(ring_writer_time(w), WIRE_FREE);
        words[1] = address;
        ring_writer_commit(w, words + 2);
}

static void *run_writer(void *arg) {
        struct writer *me = arg;
        struct ring_writer w;

        ring_writer_init(&w, me->shared->target.header, me->fake.slot, &me->shared->clock,
                         &me->shared->patience, false);
        for (uint64_t i = 1; i <= N_PAIRS; i++) {
                uint64_t address = (uint64_t)(me->no + 1) << 32 | i * 16, other;

                write_alloc(&w, address, i);
                other = atomic_exchange(&me->shared->box,
                                        address); /* whoever comes next releases it */
                if (other)
                        write_free(&w, other);
        }
        atomic_store(&me->fake.slot->state,
                     (atomic_load(&me->fake.slot->state) & ~0xffull) | WIRE_SLOT_EXITING);
        atomic_fetch_add(&me->shared->n_done, 1);
        return NULL;
}

static void test_threads(void **state) {
        static struct shared shared;
        static struct writer writers[N_THREADS];
        struct trace_writer *w = fake_writer_new(true);
        pthread_t threads[N_THREADS];
        struct pipeline_totals totals;
        uint32_t idx;

        (void)state;
        fake_target_init(&shared.target, w, NULL);
        shared.clock = (struct ring_clock){.kind = WIRE_CLOCK_COUNTER, .ns_per_tick_q16 = 65536};
        atomic_init(&shared.patience.left_ns, 600000000000u);
        idx = fake_add_image(&shared.target, w);
        for (uint32_t i = 0; i < N_THREADS; i++) {
                writers[i] = (struct writer){.shared = &shared, .no = i};
                fake_add_thread(&shared.target, &writers[i].fake, idx, 100 + i);
                assert_int_equal(pthread_create(&threads[i], NULL, run_writer, &writers[i]), 0);
        }
        while (atomic_load(&shared.n_done) < N_THREADS ||
               pipeline_has_pending(shared.target.pipeline))
                pipeline_pump(shared.target.pipeline);
        for (uint32_t i = 0; i < N_THREADS; i++)
                pthread_join(threads[i], NULL);
        assert_true(pipeline_get_totals(shared.target.pipeline, 0, &totals));
        assert_int_equal(totals.counts.n_allocs, N_THREADS * N_PAIRS);
        assert_int_equal(totals.counts.n_frees, N_THREADS * N_PAIRS - 1);
        assert_int_equal(totals.counts.n_unknown_frees, 0);
        assert_int_equal(totals.counts.n_implicit_frees, 0);
        assert_int_equal(totals.counts.n_lost, 0);
        assert_int_equal(totals.counts.live_blocks, 1);
        fake_target_done(&shared.target);
        fake_writer_free(w);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
