/* SPDX-License-Identifier: MIT */
/* What the first sentence says of time: where most of it went, and who waited for whom. */
#include "base/kernel_id.h"
#include "base/macros.h"
#include "query/testing/fabric.h"
#include "report/testing/report_words.h"
#include "trace/writer.h"

#define TRACE_PATH "spent_words_test.silt"
#define APP "/usr/bin/app"
#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define MS UINT64_C(1000000)

enum { MAX_FRAMES = 6, MAX_SPENT = 6 };

struct frame {
        const char *module, *function;
};

struct spent {
        struct frame path[MAX_FRAMES]; /* outermost first */
        uint64_t cpu_ms, blocked_ms;
};

static char *tell(const struct spent *all) {
        const struct fabric_options o = {.seed = 1,
                                         .slice_events = 300,
                                         .max_processes = 1,
                                         .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);

        fabric_thread(f, 0, "main");
        for (const struct spent *x = all; x->path[0].module; x++) {
                struct trace_tick tick = {.n_samples = 100};

                for (size_t i = 0; i < MAX_FRAMES && x->path[i].module; i++)
                        tick.stack = fabric_frame(f, tick.stack, x->path[i].module,
                                                  x->path[i].function, "", 0);
                for (int state = TRACE_ON_CPU; state <= TRACE_BLOCKED; state++) {
                        fabric_wait(f, 1000);
                        tick.time_ns = fabric_now_ns(f);
                        tick.state = (uint8_t)state;
                        tick.weight_ns = (state == TRACE_ON_CPU ? x->cpu_ms : x->blocked_ms) * MS;
                        if (tick.weight_ns)
                                trace_put_tick(fabric_writer(f), &tick);
                }
        }
        fabric_end(f);
        return report_words(TRACE_PATH);
}

#define MAIN                                                                                       \
        { APP, "main" }
#define CALL(name)                                                                                 \
        {KERNEL_ID_PATH, "do_syscall_64"}, {                                                       \
                KERNEL_ID_PATH, "__x64_sys_" name                                                  \
        }

/* Many functions of the kernel's do little each, and together more than any function of the program. */
static void test_what_takes_most(void **state) {
        static const struct spent calls[MAX_SPENT] = {{{MAIN,
                                                        {APP, "answer"},
                                                        {LIBC, "write"},
                                                        CALL("write"),
                                                        {KERNEL_ID_PATH, "tcp_ack"}},
                                                       .cpu_ms = 400},
                                                      {{MAIN,
                                                        {APP, "answer"},
                                                        {LIBC, "write"},
                                                        CALL("write"),
                                                        {KERNEL_ID_PATH, "skb_put"}},
                                                       .cpu_ms = 300},
                                                      {{MAIN, {APP, "find_route"}}, .cpu_ms = 300}};
        static const struct spent own[MAX_SPENT] = {
                {{MAIN, {APP, "answer"}, {LIBC, "write"}, CALL("write")}, .cpu_ms = 400},
                {{MAIN, {APP, "find_route"}}, .cpu_ms = 600}};
        static const struct spent little[MAX_SPENT] = {
                {{MAIN, {APP, "answer"}, {LIBC, "write"}, CALL("write")}, .cpu_ms = 290},
                {{MAIN, {APP, "a"}}, .cpu_ms = 250},
                {{MAIN, {APP, "b"}}, .cpu_ms = 240},
                {{MAIN, {APP, "c"}}, .cpu_ms = 220}};
        _cleanup_free_ char *of_calls = tell(calls), *of_own = tell(own), *of_little = tell(little);

        (void)state;
        assert_says(of_calls, true, " used 1 s of CPU time (");
        assert_says(of_calls, true,
                    ": 70 % of it in system calls, most of it for answer (through write).");
        assert_says(of_own, true, ": 60 % of it in find_route, called by main.");
        assert_says(of_little, true, ": 25 % of it in a, called by main.");
}

/* "Most" is more than a half; who has less than a fifth is not named. */
static void test_who_waits_for_locks(void **state) {
        static const struct spent half[MAX_SPENT] = {
                {{MAIN, {APP, "find_route"}}, .cpu_ms = 1000},
                {{MAIN, {APP, "a"}, {LIBC, "pthread_mutex_lock"}, {LIBC, "__lll_lock_wait"}},
                 .blocked_ms = 600},
                {{MAIN, {APP, "b"}, {LIBC, "pthread_mutex_lock"}, {LIBC, "__lll_lock_wait"}},
                 .blocked_ms = 400}};
        static const struct spent third[MAX_SPENT] = {
                {{MAIN, {APP, "find_route"}}, .cpu_ms = 1000},
                {{MAIN, {APP, "a"}, {LIBC, "pthread_mutex_lock"}}, .blocked_ms = 400},
                {{MAIN, {APP, "b"}, {LIBC, "pthread_mutex_lock"}}, .blocked_ms = 350},
                {{MAIN, {APP, "c"}, {LIBC, "pthread_mutex_lock"}}, .blocked_ms = 250}};
        /* one thread polls for all, and the others wait for that, not for each other */
        static const struct spent turn[MAX_SPENT] = {{{MAIN, {APP, "find_route"}}, .cpu_ms = 1000},
                                                     {{MAIN,
                                                       {APP, "async_io::driver::main_loop"},
                                                       {APP, "async_io::reactor::Reactor::lock"},
                                                       {APP, "std::sync::mutex::Mutex<T>::lock"},
                                                       {LIBC, "syscall"}},
                                                      .blocked_ms = 1000}};
        _cleanup_free_ char *of_half = tell(half), *of_third = tell(third), *of_turn = tell(turn);

        (void)state;
        assert_says(of_half, true, " Threads waited 1 s for locks, most of it in a.");
        assert_says(of_third, true, " Threads waited 1 s for locks, 40 % of it in a.");
        assert_says(of_turn, false, "for locks");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_takes_most),
                cmocka_unit_test(test_who_waits_for_locks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
