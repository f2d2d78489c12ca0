/* SPDX-License-Identifier: MIT */
/* Traces written without a recorder: whatever the caller does, the verifier finds nothing wrong with them, and the sums are those
 * of a plain count beside them. That events are counted as the recorder does is pipeline/maker_equal_test.c's. */
#include <errno.h>

#include "ledger/trace_maker.h"
#include "trace/testing/trace_file.h"

enum { N_STACKS = 20, N_ADDRESSES = 50, N_PROCESSES = 5, N_THREADS = 3 };

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
        return (uint32_t)(trace_fake_random(&random_state) % below);
}

static uint32_t begin_process(struct trace_maker *m, uint32_t parent, bool inherits,
                              uint64_t start_ns) {
        uint32_t id = UINT32_MAX;

        assert_int_equal(trace_maker_begin_process(m,
                                                   &(struct trace_process){.pid = 100,
                                                                           .parent = parent,
                                                                           .image = 1,
                                                                           .start_ns = start_ns,
                                                                           .exe = "/bin/made"},
                                                   inherits, &id),
                         0);
        return id;
}

static void add_stacks(struct trace_maker *m) {
        uint32_t module = trace_maker_add_module(m, &(struct trace_module){.path = "/bin/made"});
        uint32_t location, stack, again;

        for (uint32_t i = 0; i < N_STACKS; i++) {
                struct trace_location l = {i % 4 ? module : UINT32_MAX, 0x1000 + i * 16};

                assert_int_equal(trace_maker_add_location(m, &l, &location), 0);
                assert_int_equal(trace_maker_add_location(m, &l, &again), 0);
                assert_int_equal(location, again);
                assert_int_equal(trace_maker_add_stack(m, draw(i + 1), location, &stack), 0);
                assert_int_equal(stack, i + 1);
        }
}

static struct trace_maker *maker_open(uint32_t flags, struct trace_writer **ret) {
        struct trace_maker *m = NULL;

        *ret = file_writer(flags);
        assert_int_equal(trace_maker_new(*ret, flags, &m), 0);
        add_stacks(m);
        return m;
}

static void maker_close(struct trace_maker *m, struct trace_writer *w, uint64_t end_ns) {
        struct err err = {0};

        trace_maker_finish(m, end_ns);
        if (trace_writer_finish(w, &err) < 0)
                fail_msg("%s", err.text);
        trace_maker_free(m);
        trace_writer_free(w);
}

/* ---- events ------------------------------------------------------------------------------------- */

struct family {
        uint32_t n_processes, n_alive;
        bool is_alive[N_PROCESSES];
        uint32_t threads[N_PROCESSES][N_THREADS];
        bool is_live[N_PROCESSES][N_ADDRESSES];
        uint64_t n_allocs[N_PROCESSES], n_frees[N_PROCESSES], n_unknown[N_PROCESSES],
                n_implicit[N_PROCESSES];
        uint64_t now;
};

static void family_add(struct family *f, struct trace_maker *m, uint32_t parent, bool inherits) {
        uint32_t id = begin_process(m, parent, inherits, f->now);

        assert_int_equal(id, f->n_processes);
        f->n_processes++;
        f->n_alive++;
        f->is_alive[id] = true;
        for (uint32_t i = 0; i < N_THREADS; i++)
                assert_int_equal(trace_maker_add_thread(m,
                                                        &(struct trace_thread){.process = id,
                                                                               .tid = i,
                                                                               .start_ns = f->now},
                                                        i ? NULL : "main", &f->threads[id][i]),
                                 0);
        if (inherits)
                memcpy(f->is_live[id], f->is_live[parent], sizeof(f->is_live[id]));
}

static void family_event(struct family *f, struct trace_maker *m, uint32_t p) {
        uint32_t i = draw(N_ADDRESSES), to = draw(3) ? i : draw(N_ADDRESSES);
        uint32_t thread = f->threads[p][draw(N_THREADS)];
        uint64_t time_ns = draw(30) ? f->now : f->now - draw(2000);
        struct trace_maker_block block = {.address = 64 + to * 16,
                                          .size_bytes = draw(9) ? draw(500) : draw(300000),
                                          .stack = draw(N_STACKS + 1),
                                          .is_cut = !draw(5)};

        switch (draw(5)) {
        case 0:
        case 1:
                assert_int_equal(trace_maker_allocate(m, time_ns, thread, &block), 0);
                f->n_implicit[p] += f->is_live[p][to];
                f->n_allocs[p]++;
                f->is_live[p][to] = true;
                break;
        case 2:
        case 3:
                assert_int_equal(trace_maker_release(m, time_ns, thread, 64 + i * 16, 0), 0);
                f->n_unknown[p] += !f->is_live[p][i];
                f->n_frees[p] += f->is_live[p][i];
                f->is_live[p][i] = false;
                break;
        default:
                assert_int_equal(trace_maker_reallocate(m, time_ns, thread, 64 + i * 16, &block),
                                 0);
                f->n_unknown[p] += !f->is_live[p][i];
                f->n_frees[p] += f->is_live[p][i];
                f->is_live[p][i] = false;
                f->n_implicit[p] += f->is_live[p][to];
                f->n_allocs[p]++;
                f->is_live[p][to] = true;
                break;
        }
}

static void family_expect(const struct family *f, const struct trace_maker *m, uint32_t p) {
        struct trace_counts c;

        assert_true(trace_maker_get_counts(m, p, &c));
        assert_int_equal(c.n_allocs, f->n_allocs[p]);
        assert_int_equal(c.n_frees, f->n_frees[p]);
        assert_int_equal(c.n_unknown_frees, f->n_unknown[p]);
        assert_int_equal(c.n_implicit_frees, f->n_implicit[p]);
}

static void family_step(struct family *f, struct trace_maker *m) {
        uint32_t p = draw(f->n_processes);

        if (!f->is_alive[p])
                return;
        f->now += draw(8) ? draw(3000) : draw(20000000);
        if (!draw(800) && f->n_processes < N_PROCESSES)
                family_add(f, m, p, draw(4) != 0);
        else if (!draw(900) && f->n_alive > 1) {
                family_expect(f, m, p);
                assert_int_equal(trace_maker_end_process(
                                         m, &(struct trace_process_end){.process = p,
                                                                        .ended = TRACE_ENDED_EXIT,
                                                                        .end_ns = f->now,
                                                                        .n_threads = N_THREADS}),
                                 0);
                f->now += 2000; /* the end has a place of its own in the order of events */
                f->is_alive[p] = false;
                f->n_alive--;
        } else
                family_event(f, m, p);
}

static void test_events(void **state) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
                struct family *f = test_calloc(1, sizeof(*f));
                uint32_t flags = seed % 2 ? TRACE_HAS_ADDRESSES : 0;
                struct trace_writer *w;
                struct trace_maker *m;

                random_state = seed * 0x9e3779b97f4a7c15ull;
                m = maker_open(flags, &w);
                f->now = 5000;
                family_add(f, m, TRACE_NO_PROCESS, false);
                for (int i = 0; i < 6000; i++) {
                        family_step(f, m);
                        if (!draw(700))
                                trace_maker_end_slice(m, f->now);
                }
                for (uint32_t p = 0; p < f->n_processes; p++)
                        if (f->is_alive[p])
                                family_expect(f, m, p);
                assert_true(trace_maker_n_late(m) > 0);
                maker_close(m, w, f->now);
                file_expect_valid();
                test_free(f);
        }
}

/* A slice takes so many events and no more. */
static void test_full_slice(void **state) {
        struct trace_writer *w;
        struct trace_maker *m = maker_open(0, &w);
        struct trace_reader *t;
        uint32_t thread;

        begin_process(m, TRACE_NO_PROCESS, false, 0);
        assert_int_equal(trace_maker_add_thread(m, &(struct trace_thread){0}, NULL, &thread), 0);
        for (uint64_t i = 0; i < TRACE_MAX_SLICE_EVENTS + 1000; i++)
                assert_int_equal(trace_maker_allocate(m, i, thread,
                                                      &(struct trace_maker_block){.address = 16 + i,
                                                                                  .size_bytes = 1}),
                                 0);
        maker_close(m, w, 1000000);
        file_expect_valid();
        t = file_reader();
        assert_true(trace_view(t)->n_slices >= 2);
        assert_int_equal(trace_view(t)->n_events, TRACE_MAX_SLICE_EVENTS + 1000);
        trace_reader_free(t);
}

/* Nothing that is refused leaves a trace. */
static void test_refused(void **state) {
        struct trace_maker_block good = {.address = 16, .size_bytes = 8, .stack = 1}, bad;
        struct trace_maker_total total = {.n_allocs = 1, .alloc_bytes = 1};
        struct trace_maker *m, *none = NULL;
        struct trace_writer *w;
        uint32_t thread, id;

        m = maker_open(0, &w);
        assert_int_equal(trace_maker_new(w, TRACE_IS_SAMPLED, &none), -EINVAL);
        assert_int_equal(trace_maker_allocate(m, 0, 0, &good), -EINVAL);
        assert_int_equal(trace_maker_add_thread(m, &(struct trace_thread){0}, NULL, &thread),
                         -EINVAL);
        assert_int_equal(trace_maker_begin_process(m, &(struct trace_process){.parent = 3}, false,
                                                   &id),
                         -EINVAL);
        begin_process(m, TRACE_NO_PROCESS, false, 0);
        assert_int_equal(trace_maker_add_thread(m, &(struct trace_thread){0}, NULL, &thread), 0);
        bad = good, bad.address = 0;
        assert_int_equal(trace_maker_allocate(m, 0, thread, &bad), -EINVAL);
        bad = good, bad.stack = N_STACKS + 1;
        assert_int_equal(trace_maker_allocate(m, 0, thread, &bad), -EINVAL);
        bad = good, bad.size_bytes = (uint64_t)1 << 48;
        assert_int_equal(trace_maker_allocate(m, 0, thread, &bad), -ERANGE);
        assert_int_equal(trace_maker_reallocate(m, 0, thread, 16, &bad), -ERANGE);
        assert_int_equal(trace_maker_allocate(m, 0, thread + 1, &good), -EINVAL);
        assert_int_equal(trace_maker_release(m, 0, thread, 16, 2), -EINVAL);
        assert_int_equal(trace_maker_release(m, 0, thread, 0, 0), 0);
        assert_int_equal(trace_maker_put_totals(m, 0, &total, 1), -EINVAL);
        assert_int_equal(trace_maker_add_stack(m, 0, 1000, &id), -EINVAL);
        assert_int_equal(trace_maker_add_stack(m, 1000, 0, &id), -EINVAL);
        assert_int_equal(trace_maker_add_location(m, &(struct trace_location){7, 1}, &id), -EINVAL);
        assert_int_equal(trace_slice_n_events(w), 0);
        maker_close(m, w, 1000);
        file_expect_valid();
}

/* Ticks alone make slices, a quarter second each; one of a process that has ended is kept. */
static void test_ticks(void **state) {
        struct trace_writer *w;
        struct trace_maker *m = maker_open(0, &w);
        struct trace_tick tick = {.weight_ns = 1000, .n_samples = 1, .stack = 1};
        uint32_t process = begin_process(m, TRACE_NO_PROCESS, false, 0), thread;
        struct trace_reader *written;
        struct trace_tick bad;
        size_t n = 0;

        assert_int_equal(trace_maker_add_thread(m, &(struct trace_thread){process, 7, 0}, "was",
                                                &thread),
                         0);
        assert_int_equal(trace_maker_name_thread(m, thread, "is"), 0);
        assert_int_equal(trace_maker_name_thread(m, thread + 1, "is"), -EINVAL);
        for (uint32_t i = 1; i <= 4; i++) {
                tick.time_ns = i * 200000000;
                assert_int_equal(trace_maker_tick(m, &tick), 0);
        }
        trace_maker_end_process(m, &(struct trace_process_end){.process = process,
                                                               .end_ns = tick.time_ns});
        assert_int_equal(trace_maker_tick(m, &tick), 0);
        bad = tick, bad.thread++;
        assert_int_equal(trace_maker_tick(m, &bad), -EINVAL);
        bad = tick, bad.stack = N_STACKS + 1;
        assert_int_equal(trace_maker_tick(m, &bad), -EINVAL);
        bad = tick, bad.state = TRACE_N_TICK_STATES;
        assert_int_equal(trace_maker_tick(m, &bad), -EINVAL);
        bad = tick, bad.weight_ns = TRACE_TICK_MAX_NS + 1;
        assert_int_equal(trace_maker_tick(m, &bad), -ERANGE);
        maker_close(m, w, tick.time_ns);
        file_expect_valid();
        written = file_reader();
        for (size_t i = 0; i < trace_n_tick_spans(written); i++)
                n += trace_tick_span(written, i)->n;
        assert_int_equal(n, 5);
        assert_true(trace_n_tick_spans(written) >= 2);
        assert_string_equal(trace_view(written)->threads[thread].name, "is");
        trace_reader_free(written);
}

/* ---- totals ------------------------------------------------------------------------------------- */

struct sums {
        struct trace_maker_total sites[N_PROCESSES][N_STACKS + 1];
        uint64_t live[N_PROCESSES], peak[N_PROCESSES], all_peak;
        bool is_over[N_PROCESSES];
};

static void sums_grow(struct sums *s, uint32_t p, uint32_t stack) {
        struct trace_maker_total *x = &s->sites[p][stack];
        uint64_t n = draw(40), n_live;

        *x = (struct trace_maker_total){
                p, stack, x->n_allocs + n, x->alloc_bytes + n * 50, x->n_frees, x->free_bytes};
        n_live = x->n_allocs - x->n_frees;
        n = n_live ? draw((uint32_t)n_live + 1) : 0;
        x->n_frees += n;
        x->free_bytes += n * 50;
}

static void sums_settle(struct sums *s) {
        uint64_t all = 0;

        for (uint32_t p = 0; p < N_PROCESSES; p++) {
                s->live[p] = 0;
                for (uint32_t i = 0; i <= N_STACKS; i++)
                        s->live[p] += s->sites[p][i].alloc_bytes - s->sites[p][i].free_bytes;
                s->peak[p] = MAX(s->peak[p], s->live[p]);
                all += s->is_over[p] ? 0 : s->live[p];
        }
        s->all_peak = MAX(s->all_peak, all);
}

static void expect_checkpoint(const struct sums *s, uint32_t n_processes) {
        struct trace_reader *t = file_reader();
        const struct trace_site *sites;
        const struct trace_counts *counts;
        size_t slice, n_sites, n_counts;

        assert_int_equal(trace_view(t)->n_events, 0);
        for (size_t i = 0; i < trace_view(t)->n_slices; i++)
                assert_true(trace_slice(t, i)->has_events == !trace_slice(t, i)->n_sites &&
                            trace_slice(t, i)->is_dropped);
        assert_int_equal(trace_read_checkpoint(t, trace_view(t)->n_slices - 1, &slice, &sites,
                                               &n_sites, &counts, &n_counts, NULL),
                         0);
        assert_int_equal(slice, trace_view(t)->n_slices - 1);
        for (size_t i = 0; i < n_sites; i++) {
                const struct trace_maker_total *x = &s->sites[sites[i].process][sites[i].stack];

                assert_int_equal(sites[i].n_allocs, x->n_allocs);
                assert_int_equal(sites[i].alloc_bytes, x->alloc_bytes);
                assert_int_equal(sites[i].n_frees, x->n_frees);
                assert_int_equal(sites[i].free_bytes, x->free_bytes);
        }
        for (size_t i = 0; i < n_counts; i++)
                assert_int_equal(counts[i].peak_bytes, counts[i].process == TRACE_NO_PROCESS
                                                               ? s->all_peak
                                                               : s->peak[counts[i].process]);
        assert_true(n_counts >= n_processes);
        trace_reader_free(t);
}

static void test_totals(void **state) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
                struct sums *s = test_calloc(1, sizeof(*s));
                uint32_t n_processes = seed % 3 ? 1 : 2;
                struct trace_maker_total given[N_PROCESSES * N_STACKS];
                struct trace_writer *w;
                struct trace_maker *m;

                random_state = seed * 0x9e3779b97f4a7c15ull;
                m = maker_open(TRACE_IS_TOTALS, &w);
                for (uint32_t p = 0; p < n_processes; p++)
                        begin_process(m, TRACE_NO_PROCESS, false, 0);
                for (uint64_t k = 1; k <= 30; k++) {
                        size_t n = 0;

                        for (uint32_t p = 0; p < n_processes; p++)
                                for (uint32_t i = 0; i < N_STACKS && !s->is_over[p]; i++)
                                        if (draw(2)) {
                                                sums_grow(s, p, i);
                                                given[n++] = s->sites[p][i];
                                        }
                        assert_int_equal(trace_maker_put_totals(m, k * 1000000, given, n), 0);
                        sums_settle(s);
                        if (n_processes == 2 && k == 20) {
                                assert_int_equal(
                                        trace_maker_end_process(
                                                m, &(struct trace_process_end){.process = 1,
                                                                               .end_ns = 20000000}),
                                        0);
                                s->is_over[1] = true;
                        }
                }
                maker_close(m, w, 31000000);
                file_expect_valid();
                expect_checkpoint(s, n_processes);
                test_free(s);
        }
}

static void test_totals_refused(void **state) {
        struct trace_maker_total x = {.stack = 1, .n_allocs = 5, .alloc_bytes = 500}, y = x;
        struct trace_maker_total twice[2] = {x, x};
        struct trace_maker_block block = {.address = 16, .size_bytes = 8};
        struct trace_writer *w;
        struct trace_maker *m = maker_open(TRACE_IS_TOTALS, &w);
        uint32_t thread;

        begin_process(m, TRACE_NO_PROCESS, false, 0);
        assert_int_equal(trace_maker_add_thread(m, &(struct trace_thread){0}, NULL, &thread), 0);
        assert_int_equal(trace_maker_allocate(m, 0, thread, &block), -EINVAL);
        assert_int_equal(trace_maker_put_totals(m, 1000, twice, 2), -EINVAL);
        assert_int_equal(trace_maker_put_totals(m, 1000, &x, 1), 0);
        y.n_allocs = 4;
        assert_int_equal(trace_maker_put_totals(m, 2000, &y, 1), -ERANGE);
        y = x, y.alloc_bytes = 600;
        assert_int_equal(trace_maker_put_totals(m, 2000, &y, 1), -ERANGE);
        y = x, y.n_frees = 6, y.free_bytes = 500;
        assert_int_equal(trace_maker_put_totals(m, 2000, &y, 1), -ERANGE);
        y = x, y.process = 1;
        assert_int_equal(trace_maker_put_totals(m, 2000, &y, 1), -EINVAL);
        y = x, y.stack = N_STACKS + 1;
        assert_int_equal(trace_maker_put_totals(m, 2000, &y, 1), -EINVAL);
        maker_close(m, w, 3000);
        file_expect_valid();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_events, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_full_slice, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_refused, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_ticks, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_totals, file_setup, file_teardown),
                cmocka_unit_test_setup_teardown(test_totals_refused, file_setup, file_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
