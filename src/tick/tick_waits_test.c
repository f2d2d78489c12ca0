/* SPDX-License-Identifier: MIT */
/* Threads come, go, become other programs and wait: who is told of, once each, and all that was waited for is told exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tick/tick_waits.h"

/* Far above the numbers of real processes: nothing is read of these. */
enum { PID = 1 << 23 };

struct seen {
        uint32_t n_processes, n_ended, n_threads, n_names;
        struct ticker_process last;
        char name[64];
};

static uint32_t on_process(void *ctx, const struct ticker_process *p) {
        struct seen *s = ctx;

        s->last = *p;
        return s->n_processes++;
}

static void on_process_end(void *ctx, uint32_t process, uint64_t time_ns) {
        (void)process;
        (void)time_ns;
        ((struct seen *)ctx)->n_ended++;
}

static uint32_t on_thread(void *ctx, uint32_t process, pid_t tid, uint64_t time_ns) {
        (void)process;
        (void)tid;
        (void)time_ns;
        return ((struct seen *)ctx)->n_threads++;
}

static void on_thread_name(void *ctx, uint32_t thread, const char *name) {
        struct seen *s = ctx;

        (void)thread;
        s->n_names++;
        strncpy(s->name, name, sizeof(s->name) - 1);
}

static struct ticker_calls calls_of(struct seen *s) {
        return (struct ticker_calls){.ctx = s,
                                     .on_process = on_process,
                                     .on_process_end = on_process_end,
                                     .on_thread = on_thread,
                                     .on_thread_name = on_thread_name};
}

static void test_tasks(void **state) {
        struct seen s = {0};
        struct ticker_calls calls = calls_of(&s);
        struct tick_tasks k;

        (void)state;
        tick_tasks_init(&k, &calls);
        tick_tasks_exec(&k, PID, PID, "first", 1);
        assert_int_equal(s.n_processes, 1);
        assert_false(s.last.is_exec);
        assert_true(s.last.parent == UINT32_MAX);
        tick_tasks_fork(&k, &(struct tick_birth){PID, PID, PID, PID + 1, 2});
        tick_tasks_fork(&k, &(struct tick_birth){PID, PID, PID, PID + 1, 2}); /* told twice */
        assert_int_equal(s.n_threads, 2);
        assert_string_equal(s.name, "first");
        tick_tasks_name(&k, PID, PID + 1, "worker", 3);
        tick_tasks_fork(&k, &(struct tick_birth){PID, PID + 1, PID + 2, PID + 2, 4});
        assert_int_equal(s.n_processes, 2);
        assert_int_equal(s.last.parent, 0);
        assert_string_equal(s.name, "worker"); /* of the thread that forked */
        tick_tasks_exec(&k, PID + 2, PID + 2, "second", 5);
        assert_int_equal(s.n_processes, 3);
        assert_true(s.last.is_exec);
        assert_int_equal(s.last.parent, 1);
        assert_int_equal(k.living.n, 3);
        tick_tasks_exit(&k, PID, 6); /* the first thread may go before the others */
        assert_int_equal(s.n_ended, 0);
        tick_tasks_exit(&k, PID + 1, 7);
        assert_int_equal(s.n_ended, 1);
        tick_tasks_exit(&k, PID + 1, 8);
        assert_int_equal(s.n_ended, 1);
        assert_null(tick_tasks_find(&k, PID + 1));
        tick_tasks_get(&k, PID + 9, PID + 9, 9); /* whose beginning was lost */
        assert_true(s.last.was_there);
        assert_int_equal(s.n_processes, 4);
        tick_tasks_done(&k);
}

static void test_waits(void **state) {
        const uint64_t one[] = {0x1000, 0x2000};
        const struct ticker_path path = {.pcs = one, .n_pcs = 2};
        uint64_t sum_ns = 0, n = 0, now = 1000, next;
        struct seen s = {0};
        struct ticker_calls calls = calls_of(&s);
        struct tick_tasks k;
        struct tick_thread *t;
        struct ticker_tick tick;

        (void)state;
        tick_tasks_init(&k, &calls);
        t = tick_tasks_get(&k, PID, PID, 1);
        assert_true(tick_wait_due_ns(t) == UINT64_MAX);
        for (int i = 0; i < 100; i++) { /* each tenth has a path of its own */
                if (i % 10 == 9)
                        tick_wait_place(t, &path);
                tick_wait_begin(t, now, false);
                now += (uint64_t)i * 10 + 1;
                if (tick_wait_end(t, now, &tick)) {
                        assert_int_equal(tick.state, TICKER_BLOCKED);
                        assert_int_equal(tick.path.n_pcs, 2);
                        sum_ns += tick.weight_ns;
                        n += tick.n_samples;
                }
                now += 7; /* it ran */
        }
        assert_int_equal(sum_ns, now - 1000 - 700);
        assert_int_equal(n, 100);

        /* one that was made to leave is another sum; without a path of its own it has none in the end */
        tick_wait_begin(t, now, true);
        assert_false(tick_wait_end(t, now + 500, &tick));
        assert_false(tick_wait_take_bare(t, now, now + 500, &tick)); /* not for long yet */
        assert_true(tick_wait_take_bare(t, UINT64_MAX, now + 500, &tick));
        assert_int_equal(tick.state, TICKER_READY);
        assert_int_equal(tick.weight_ns, 500);
        assert_int_equal(tick.path.n_pcs + tick.path.n_kernel, 0);
        assert_false(tick_wait_take_bare(t, UINT64_MAX, now + 500, &tick));

        /* the time of a long one does not go to where the short ones are, nor the other way round */
        tick_wait_begin(t, now, false);
        assert_false(tick_wait_end(t, now + 5000000, &tick));
        tick_wait_begin(t, now, false);
        assert_false(tick_wait_end(t, now + 20000, &tick));
        tick_wait_place(t, &path);
        tick_wait_begin(t, now, false);
        assert_true(tick_wait_end(t, now + 21000, &tick));
        assert_int_equal(tick.weight_ns, 41000);
        tick_wait_place(t, &path);
        tick_wait_begin(t, now, false);
        assert_true(tick_wait_end(t, now + 100000000, &tick));
        assert_int_equal(tick.weight_ns, 100000000);
        assert_true(tick_wait_take_bare(t, UINT64_MAX, now, &tick));
        assert_int_equal(tick.weight_ns, 5000000);
        assert_int_equal(tick.path.n_pcs, 0);
        assert_false(tick_wait_take_bare(t, UINT64_MAX, now, &tick));

        /* a long one without a path is no other's; before it ends a look may tell where it is */
        tick_wait_begin(t, now, false);
        assert_false(tick_wait_wants_look(t, now + 1000));
        assert_true(tick_wait_wants_look(t, now + 100000000));
        assert_true(tick_wait_end(t, now + 100000000, &tick));
        assert_int_equal(tick.weight_ns, 100000000);
        assert_int_equal(tick.path.n_pcs, 0);
        assert_false(tick_wait_wants_look(t, now + 200000000));
        tick_wait_begin(t, now, false);
        tick_wait_place(t, &path);
        assert_false(tick_wait_wants_look(t, now + 100000000));
        assert_true(tick_wait_end(t, now + 1000, &tick));
        assert_int_equal(tick.weight_ns, 1000);

        /* nor does a path that ends where the copy did tell all */
        tick_wait_place(t, &(struct ticker_path){.pcs = one, .n_pcs = 2, .end = REMOTE_CUT});
        tick_wait_begin(t, now, false);
        assert_false(tick_wait_wants_look(t, now + 1000));
        assert_true(tick_wait_wants_look(t, now + 100000000));
        assert_true(tick_wait_end(t, now + 1000, &tick));
        assert_int_equal(tick.path.n_pcs, 2);

        /* a long one is told in parts, more and more rarely */
        tick_wait_place(t, &path);
        tick_wait_begin(t, now, false);
        sum_ns = n = 0;
        for (int i = 0; i < 50; i++) {
                next = tick_wait_due_ns(t);
                assert_true(tick_wait_take(t, next, &tick));
                assert_false(tick_wait_take(t, next, &tick));
                sum_ns += tick.weight_ns;
                n += tick.n_samples;
        }
        assert_int_equal(sum_ns, next - now);
        assert_int_equal(n, 1);
        assert_true(sum_ns > 50ull * 1000000000);
        tick_tasks_done(&k);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tasks),
                cmocka_unit_test(test_waits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
