/* SPDX-License-Identifier: MIT */
/* A trace whose events another thread makes columns of and packs is the same as one without, byte for byte: whatever comes between two
 * slices, with a bound, with the disk full for a while, with a worker that comes and goes. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "trace/testing/trace_file.h"

enum { N_SLICES = 12, N_EVENTS = 20000 }; /* enough events for a slice to be pending */

static void take_file(bytes_buf *to) {
        struct stat st;
        int fd = open(file_path, O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        vec_reserve(to, (size_t)st.st_size);
        to->n = (size_t)st.st_size;
        assert_int_equal(fs_read_at(fd, to->items, to->n, 0), st.st_size);
        close(fd);
}

static void expect_same(const bytes_buf *a, const bytes_buf *b) {
        assert_true(a->n > 0);
        assert_int_equal(a->n, b->n);
        assert_memory_equal(a->items, b->items, a->n);
}

/* ---- whole programs ---------------------------------------------------------------------------- */

static void write_program(const struct trace_fake_options *o, uint64_t max_bytes, bool has_worker,
                          bytes_buf *to) {
        struct trace_writer *w = file_writer(o->flags);
        struct trace_fake f;
        struct err err = {0};

        if (max_bytes)
                trace_writer_bound(w, max_bytes);
        trace_writer_set_worker(w, has_worker);
        trace_fake_run(&f, o, w);
        assert_int_equal(trace_writer_finish(w, &err), 0);
        assert_true(max_bytes == 0 || trace_writer_n_thinned(w) > 0);
        trace_writer_free(w);
        trace_fake_done(&f);
        take_file(to);
        file_expect_valid();
}

static void expect_same_program(const struct trace_fake_options *o, uint64_t max_bytes) {
        bytes_buf without = {0}, with = {0};

        write_program(o, max_bytes, false, &without);
        write_program(o, max_bytes, true, &with);
        expect_same(&without, &with);
        vec_free(&without);
        vec_free(&with);
}

static void test_same_bytes(void **state) {
        static const uint32_t flags[] = {0, TRACE_HAS_ADDRESSES | TRACE_HAS_FREE_STACKS,
                                         TRACE_IS_SAMPLED};

        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                expect_same_program(&(struct trace_fake_options){.seed = 7 + i,
                                                                 .n_stacks = 500,
                                                                 .n_threads = 3,
                                                                 .n_slices = N_SLICES,
                                                                 .n_events = N_EVENTS,
                                                                 .flags = flags[i],
                                                                 .has_child = true},
                                    0);
}

static void test_same_bytes_within_a_bound(void **state) {
        expect_same_program(&(struct trace_fake_options){.seed = 11,
                                                         .n_stacks = 300,
                                                         .n_threads = 2,
                                                         .n_slices = 3 * N_SLICES,
                                                         .n_events = N_EVENTS,
                                                         .moment_every = 3},
                            1 << 20);
}

/* ---- between slices ---------------------------------------------------------------------------- */

struct steps {
        struct trace_writer *w;
        uint64_t now_ns, n_allocs;
};

static void step_slice(struct steps *x, uint32_t n) {
        struct trace_site site = {.process = 0, .stack = 1, .n_allocs = n, .alloc_bytes = 64 * n};
        struct trace_counts counts = {.n_allocs = n, .alloc_bytes = 64 * n};

        for (uint32_t i = 0; i < n; i++) {
                x->now_ns += 100 + i % 7 * 311;
                assert_int_equal(trace_put_alloc(x->w, 0, x->now_ns, 1, 64, 0), x->n_allocs++);
        }
        site.peak_blocks = site.all_peak_blocks = n;
        site.peak_bytes = site.all_peak_bytes = 64 * (int64_t)n;
        counts.live_blocks = counts.peak_blocks = x->n_allocs;
        counts.live_bytes = counts.peak_bytes = 64 * x->n_allocs;
        counts.peak_ns = x->now_ns;
        counts.n_complete_stacks = n;
        trace_end_slice(x->w, x->now_ns + 1, &site, 1, &counts, 1);
        x->now_ns = trace_slice_begin_ns(x->w);
}

static void steps_begin(struct steps *x, bool has_worker) {
        *x = (struct steps){.w = file_writer(0)};
        trace_writer_set_worker(x->w, has_worker);
        trace_add_module(x->w, &(struct trace_module){.path = "/bin/x"});
        trace_add_location(x->w, &(struct trace_location){.module = 0, .offset = 16});
        trace_add_stack(x->w, 0, 0);
        trace_add_process(x->w, &(struct trace_process){.parent = TRACE_NO_PROCESS,
                                                        .pid = 1,
                                                        .exe = "/bin/x"});
        trace_add_thread(x->w, &(struct trace_thread){.process = 0, .tid = 1});
}

/* Whatever writes, waits for the slice before it. */
static void write_steps(bool has_worker, bytes_buf *to) {
        static const uint8_t bytes[100] = {1, 2, 3};
        struct trace_site site = {.stack = 1};
        struct trace_counts counts = {0};
        struct steps x;
        struct err err;

        steps_begin(&x, has_worker);
        for (int i = 0; i < N_SLICES; i++) {
                step_slice(&x, i == 5 ? 10 : N_EVENTS);
                trace_add_stack(x.w, 1, 0);
                trace_put_note(x.w, x.now_ns, "a note");
                if (i % 4 == 0)
                        assert_true(trace_put_graph(x.w,
                                                    &(struct trace_graph){.time_ns = x.now_ns,
                                                                          .n_bytes = 100},
                                                    bytes));
                if (i % 4 == 1)
                        assert_true(trace_put_bill(x.w,
                                                   &(struct trace_bill){.time_ns = x.now_ns,
                                                                        .n_bytes = 100},
                                                   bytes));
                if (i % 4 == 2) {
                        site.n_allocs = counts.n_allocs = counts.n_complete_stacks = x.n_allocs;
                        site.alloc_bytes = counts.alloc_bytes = 64 * x.n_allocs;
                        counts.live_blocks = counts.peak_blocks = x.n_allocs;
                        counts.live_bytes = counts.peak_bytes = 64 * x.n_allocs;
                        counts.peak_ns = x.now_ns;
                        trace_put_checkpoint(x.w, &site, 1, &counts, 1);
                }
                if (i % 4 == 3)
                        assert_false(trace_writer_is_behind(x.w));
                if (has_worker && i == 7) /* off and on again */
                        trace_writer_set_worker(x.w, false);
                if (has_worker && i == 8)
                        trace_writer_set_worker(x.w, true);
        }
        assert_int_equal(trace_writer_finish(x.w, &err), 0);
        trace_writer_free(x.w);
        take_file(to);
}

static void test_what_comes_between(void **state) {
        bytes_buf without = {0}, with = {0};

        write_steps(false, &without);
        write_steps(true, &with);
        expect_same(&without, &with);
        vec_free(&without);
        vec_free(&with);
}

/* ---- any events ------------------------------------------------------------------------------- */

enum worker_way {
        WORKER_NEVER,
        WORKER_ALWAYS,
        WORKER_COMES_AND_GOES,
        WORKER_SEES_FORKS,
};

enum {
        ANY_LIVE = 256,
        ANY_STACKS = 300,
        ANY_THREADS = 5,
        ANY_SLICES = 5,
        ANY_MAX_EVENTS = 90000, /* of a slice: more than the worker's queue has room for */
        ANY_CHANGE = 7000,      /* events from one change of the worker to the next, about */
};

struct any {
        struct trace_writer *w;
        uint64_t rng, way_rng, now_ns, n_allocs;
        enum worker_way way;
        bool has_worker;
        struct {
                uint64_t seq, size_bytes;
                uint32_t stack;
        } live[ANY_LIVE];
        uint32_t n_live;
};

static uint32_t any_number(uint64_t *rng, uint32_t below) {
        *rng ^= *rng << 13;
        *rng ^= *rng >> 7;
        *rng ^= *rng << 17;
        return (uint32_t)((*rng >> 20) % below);
}

/* Draws of its own: the events are the same whatever the worker does. */
static void any_change_worker(struct any *x) {
        pid_t pid;
        int status;

        if (x->way <= WORKER_ALWAYS || any_number(&x->way_rng, ANY_CHANGE))
                return;
        if (x->way == WORKER_COMES_AND_GOES) {
                x->has_worker = !x->has_worker;
                assert_int_equal(trace_writer_set_worker(x->w, x->has_worker), x->has_worker);
                return;
        }
        pid = fork();
        if (pid == 0)
                _exit(0);
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static void any_event(struct any *x) {
        uint32_t r = any_number(&x->rng, 100), thread = any_number(&x->rng, ANY_THREADS);
        uint32_t stack = 1 + any_number(&x->rng, ANY_STACKS);
        uint64_t size_bytes = 16ull << any_number(&x->rng, 40), address = x->rng;
        uint32_t k = x->n_live ? any_number(&x->rng, x->n_live) : 0;

        x->now_ns += any_number(&x->rng, 3000);
        trace_put_weights(x->w, 1 + r, 2 + r);
        if (r < 3) {
                trace_put_other(x->w, thread, x->now_ns, TRACE_FAILED, size_bytes, 0, 0);
        } else if (r < 50 && x->n_live) {
                trace_put_free(x->w, thread, x->now_ns, x->live[k].seq, x->live[k].stack,
                               x->live[k].size_bytes, stack);
                x->live[k] = x->live[--x->n_live];
        } else if (r < 55 && x->n_live) {
                x->live[k].seq =
                        trace_put_realloc(x->w, thread, x->now_ns, x->live[k].seq, x->live[k].stack,
                                          x->live[k].size_bytes, stack, size_bytes, address);
                x->live[k].stack = stack;
                x->live[k].size_bytes = size_bytes;
                assert_int_equal(x->live[k].seq, x->n_allocs++);
        } else {
                k = x->n_live < ANY_LIVE ? x->n_live++ : k;
                x->live[k].seq =
                        trace_put_alloc(x->w, thread, x->now_ns, stack, size_bytes, address);
                x->live[k].stack = stack;
                x->live[k].size_bytes = size_bytes;
                assert_int_equal(x->live[k].seq, x->n_allocs++);
        }
}

static void write_any(uint64_t seed, uint32_t flags, enum worker_way way, bytes_buf *to) {
        struct any x = {.w = file_writer(flags), .rng = seed, .way_rng = seed, .way = way};
        struct err err;

        x.has_worker = way != WORKER_NEVER;
        assert_int_equal(trace_writer_set_worker(x.w, x.has_worker), x.has_worker);
        for (uint32_t i = 0; i < ANY_SLICES; i++) {
                uint32_t n = any_number(&x.rng, 4) ? any_number(&x.rng, ANY_MAX_EVENTS) : i;

                for (uint32_t k = 0; k < n; k++) {
                        any_event(&x);
                        any_change_worker(&x);
                }
                assert_int_equal(trace_slice_n_events(x.w), n);
                trace_end_slice(x.w, x.now_ns, NULL, 0, NULL, 0);
                x.now_ns = trace_slice_begin_ns(x.w);
        }
        assert_int_equal(trace_writer_finish(x.w, &err), 0);
        trace_writer_free(x.w);
        take_file(to);
}

static void test_any_events(void **state) {
        static const uint32_t flags[] = {0, TRACE_HAS_ADDRESSES | TRACE_HAS_FREE_STACKS,
                                         TRACE_IS_SAMPLED};

        for (uint64_t seed = 1; seed <= 6; seed++) {
                uint64_t mixed = seed * 0x9e3779b97f4a7c15u;
                bytes_buf without = {0};

                write_any(mixed, flags[seed % 3], WORKER_NEVER, &without);
                for (enum worker_way way = WORKER_ALWAYS; way <= WORKER_SEES_FORKS; way++) {
                        bytes_buf with = {0};

                        write_any(mixed, flags[seed % 3], way, &with);
                        expect_same(&without, &with);
                        vec_free(&with);
                }
                vec_free(&without);
        }
}

/* ---- trouble ----------------------------------------------------------------------------------- */

static void limit_file_size(rlim_t max_bytes) {
        struct rlimit l;

        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
        l.rlim_cur = max_bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* What could not be written is counted and added up, as it is without a worker. */
static void test_disk_full_for_a_while(void **state) {
        struct trace_reader *t;
        struct steps x;
        struct err err = {0};
        struct stat st;

        steps_begin(&x, true);
        step_slice(&x, N_EVENTS);
        trace_writer_settle(x.w);
        assert_int_equal(stat(file_path, &st), 0);
        limit_file_size((rlim_t)st.st_size + 100);
        step_slice(&x, N_EVENTS);
        step_slice(&x, N_EVENTS);
        assert_true(trace_writer_is_behind(x.w));
        assert_int_equal(trace_writer_n_unwritten(x.w), 2 * N_EVENTS);
        limit_file_size(RLIM_INFINITY);
        step_slice(&x, N_EVENTS);
        assert_false(trace_writer_is_behind(x.w));
        assert_int_equal(trace_writer_finish(x.w, &err), -EFBIG);
        trace_writer_free(x.w);

        t = file_reader();
        assert_int_equal(trace_view(t)->n_slices, 3);
        assert_int_equal(trace_view(t)->n_events, 4 * N_EVENTS);
        assert_int_equal(trace_view(t)->n_unwritten_events, 2 * N_EVENTS);
        trace_reader_free(t);
        file_expect_valid();
}

/* A writer that nobody finishes has all slices that ended. */
static void test_settled_when_freed(void **state) {
        struct trace_reader *t;
        struct steps x;

        steps_begin(&x, true);
        step_slice(&x, N_EVENTS);
        step_slice(&x, N_EVENTS);
        trace_writer_free(x.w);
        t = file_reader();
        assert_int_equal(trace_view(t)->n_slices, 2);
        assert_int_equal(trace_view(t)->n_events, 2 * N_EVENTS);
        trace_reader_free(t);
}

/* No room for a stack: no thread can be had. */
static void test_without_a_thread(void **state) {
        bytes_buf without = {0}, with = {0};
        pthread_attr_t before, huge;
        struct steps x;
        struct err err;

        write_steps(false, &without);
        assert_int_equal(pthread_getattr_default_np(&before), 0);
        assert_int_equal(pthread_getattr_default_np(&huge), 0);
        assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 60), 0);
        assert_int_equal(pthread_setattr_default_np(&huge), 0);
        steps_begin(&x, false);
        assert_false(trace_writer_set_worker(x.w, true));
        assert_int_equal(trace_writer_finish(x.w, &err), 0);
        trace_writer_free(x.w);
        write_steps(true, &with);
        assert_int_equal(pthread_setattr_default_np(&before), 0);
        expect_same(&without, &with);
        vec_free(&without);
        vec_free(&with);
}

/* Whoever is killed leaves every slice but the last that ended. */
static void test_killed(void **state) {
        struct trace_reader *t;
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                struct steps x;

                steps_begin(&x, true);
                for (int i = 0; i < N_SLICES; i++)
                        step_slice(&x, 4 * N_EVENTS);
                kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        t = file_reader();
        assert_in_range(trace_view(t)->n_slices, N_SLICES - 1, N_SLICES);
        assert_int_equal(trace_view(t)->n_events, trace_view(t)->n_slices * 4 * N_EVENTS);
        trace_reader_free(t);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_same_bytes, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_same_bytes_within_a_bound, file_setup,
                                                file_teardown),
                cmocka_unit_test_setup_teardown(test_what_comes_between, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_disk_full_for_a_while, file_setup,
                                                file_teardown),
                cmocka_unit_test_setup_teardown(test_settled_when_freed, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_any_events, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_without_a_thread, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_killed, file_setup, file_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
