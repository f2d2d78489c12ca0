/* SPDX-License-Identifier: MIT */
/* The same random events through the rings and the recorder's pipeline, and through ledger/trace_maker.h: the same events,
 * rows, moves, counts, peaks and checkpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ledger/trace_maker.h"
#include "pipeline/testing/fake_target.h"
#include "pipeline/testing/fake_writer.h"

enum {
        N_ADDRESSES = 60,
        N_SITES = 9,
        N_THREADS = 3,
        MAX_PROCESSES = 4,
        N_STEPS = 4000,
        STEP_NS = 200000, /* beyond what the pipeline takes for an inversion */
};

struct both {
        struct trace_writer *recorded, *made;
        struct fake_target t;
        struct trace_maker *m;
        struct fake_thread fakes[MAX_PROCESSES * N_THREADS];
        uint32_t threads[MAX_PROCESSES * N_THREADS]; /* of the maker; UINT32_MAX: none yet */
        uint32_t idx[MAX_PROCESSES];
        bool is_live[MAX_PROCESSES][N_ADDRESSES];
        uint32_t n_processes;
        uint64_t now, random;
};

static uint32_t draw(struct both *b, uint32_t below) {
        b->random = b->random * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(b->random >> 33) % below;
}

/* As fake_alloc has it: two frames in no module. */
static uint32_t make_stack(struct both *b, uint64_t site) {
        uint64_t pcs[2] = {0x5000, 0x10000 + site};
        uint32_t stack = 0, location;

        for (int i = 0; i < 2; i++) {
                assert_int_equal(
                        trace_maker_add_location(b->m, &(struct trace_location){UINT32_MAX, pcs[i]},
                                                 &location),
                        0);
                assert_int_equal(trace_maker_add_stack(b->m, stack, location, &stack), 0);
        }
        return stack;
}

static uint64_t address_of(uint32_t i) {
        return 0x100000 + (uint64_t)i * 4096;
}

/* The pipeline numbers threads as their first records come. */
static uint32_t make_thread(struct both *b, uint32_t process, uint32_t i) {
        uint32_t *thread = &b->threads[process * N_THREADS + i];

        if (*thread == UINT32_MAX)
                assert_int_equal(trace_maker_add_thread(b->m,
                                                        &(struct trace_thread){.process = process,
                                                                               .tid = 100 + i,
                                                                               .start_ns = b->now},
                                                        NULL, thread),
                                 0);
        return *thread;
}

static void begin_threads(struct both *b, uint32_t process) {
        for (uint32_t i = 0; i < N_THREADS; i++) {
                b->threads[process * N_THREADS + i] = UINT32_MAX;
                fake_add_thread(&b->t, &b->fakes[process * N_THREADS + i], b->idx[process],
                                1000 + process * N_THREADS + i);
        }
}

static void pump(struct both *b) {
        for (int i = 0; i < 4; i++)
                pipeline_pump(b->t.pipeline);
}

static void step_fork(struct both *b, uint32_t parent, uint32_t thread) {
        uint32_t child = b->n_processes++, id;
        struct fake_thread *fake = &b->fakes[parent * N_THREADS + thread];

        make_thread(b, parent, thread);
        fake_put_words(fake, b->now, WIRE_FORK, NULL, 0);
        b->idx[child] = fake_fork(&b->t, b->idx[parent], b->now, true);
        b->t.now = b->now + 10 * STEP_NS;
        pump(b);
        fake_put_words(fake, b->now + 1000, WIRE_FORK_DONE, NULL, 0);
        pump(b);
        begin_threads(b, child);
        assert_int_equal(trace_maker_begin_process(b->m,
                                                   &(struct trace_process){.pid = 7 + child,
                                                                           .parent = parent,
                                                                           .image = 1,
                                                                           .start_ns = b->now,
                                                                           .exe = ""},
                                                   true, &id),
                         0);
        assert_int_equal(id, child);
        memcpy(b->is_live[child], b->is_live[parent], sizeof(b->is_live[child]));
}

static void step_realloc(struct both *b, uint32_t p, uint32_t thread, uint32_t i, uint32_t to,
                         const struct trace_maker_block *block, uint32_t site) {
        struct fake_thread *fake = &b->fakes[p * N_THREADS + thread];

        fake_realloc_begin(fake, b->now - 10, address_of(i));
        fake_realloc_end(fake, b->now, block->address, block->size_bytes, WIRE_REALLOC_OK, site);
        assert_int_equal(trace_maker_reallocate(b->m, b->now, make_thread(b, p, thread),
                                                address_of(i), block),
                         0);
        b->is_live[p][i] = false;
        b->is_live[p][to] = true;
}

static void step(struct both *b, bool has_forks) {
        uint32_t p = draw(b, b->n_processes), thread = draw(b, N_THREADS);
        uint32_t i = draw(b, N_ADDRESSES), to = draw(b, 3) ? draw(b, N_ADDRESSES) : i;
        uint32_t site = draw(b, N_SITES);
        struct fake_thread *fake = &b->fakes[p * N_THREADS + thread];
        struct trace_maker_block block = {.size_bytes = draw(b, 5000)};

        b->now += STEP_NS + draw(b, 50) * (draw(b, 40) ? 1000 : 40000000);
        b->t.now = b->now; /* a full ring is drained at once, in small builds often */
        if (has_forks && b->n_processes < MAX_PROCESSES && !draw(b, 300)) {
                step_fork(b, p, thread);
                return;
        }
        if (!b->is_live[p][i]) {
                block.address = address_of(i);
                fake_alloc(fake, b->now, block.address, block.size_bytes, site);
                block.stack = make_stack(b, site);
                assert_int_equal(trace_maker_allocate(b->m, b->now, make_thread(b, p, thread),
                                                      &block),
                                 0);
                b->is_live[p][i] = true;
        } else if (draw(b, 4) || (to != i && b->is_live[p][to])) {
                fake_free(fake, b->now, address_of(i));
                assert_int_equal(trace_maker_release(b->m, b->now, make_thread(b, p, thread),
                                                     address_of(i), 0),
                                 0);
                b->is_live[p][i] = false;
        } else {
                block.address = address_of(to);
                block.stack = make_stack(b, site);
                step_realloc(b, p, thread, i, to, &block, site);
        }
}

static void both_begin(struct both *b, uint64_t seed) {
        uint32_t id;

        *b = (struct both){.random = seed * 77 + 5, .now = 1000000};
        b->recorded = fake_writer_new(false);
        b->made = fake_writer_new(false);
        fake_target_init(&b->t, b->recorded, NULL);
        b->t.now = b->now;
        assert_int_equal(trace_maker_new(b->made, 0, &b->m), 0);
        b->idx[0] = fake_add_image(&b->t, b->recorded);
        assert_int_equal(trace_maker_begin_process(b->m,
                                                   &(struct trace_process){.pid = 7,
                                                                           .parent =
                                                                                   TRACE_NO_PROCESS,
                                                                           .image = 1,
                                                                           .exe = ""},
                                                   false, &id),
                         0);
        b->n_processes = 1;
        begin_threads(b, 0);
}

static void both_end(struct both *b) {
        fake_target_done(&b->t);
        trace_maker_free(b->m);
        fake_writer_free(b->recorded);
        fake_writer_free(b->made);
}

/* Both end a slice here; the maker's own quarter seconds would come elsewhere than the recorder's timer. */
static void both_end_slice(struct both *b) {
        b->now += STEP_NS;
        b->t.now = b->now + 10 * STEP_NS;
        pump(b);
        pipeline_end_slice(b->t.pipeline, b->now, true);
        trace_maker_end_slice(b->m, b->now);
}

/* ---- what both said ----------------------------------------------------------------------------- */

static int compare_sites(const void *a, const void *b) {
        const struct trace_site *x = a, *y = b;

        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int compare_moves(const void *a, const void *b) {
        const struct trace_move *x = a, *y = b;

        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int compare_counts(const void *a, const void *b) {
        const struct trace_counts *x = a, *y = b;

        return x->process < y->process ? -1 : x->process > y->process;
}

/* Rows of a whole recording added up: both cut it into slices of their own. */
struct sums {
        VEC(struct trace_site) sites;
        VEC(struct trace_counts) counts;
        VEC(struct trace_move) moves;
};

static void sums_add_site(struct sums *s, const struct trace_site *x) {
        struct trace_site *t = NULL;

        for (size_t i = 0; i < s->sites.n && !t; i++)
                if (compare_sites(&s->sites.items[i], x) == 0)
                        t = &s->sites.items[i];
        if (!t) {
                vec_push(&s->sites, *x);
                return;
        }
        t->n_allocs += x->n_allocs, t->alloc_bytes += x->alloc_bytes;
        t->n_frees += x->n_frees, t->free_bytes += x->free_bytes;
        t->n_temporary += x->n_temporary, t->n_reallocs += x->n_reallocs;
        t->n_inherited += x->n_inherited, t->inherited_bytes += x->inherited_bytes;
        t->n_inherited_frees += x->n_inherited_frees;
        t->inherited_free_bytes += x->inherited_free_bytes;
        for (int i = 0; i < TRACE_N_LIFE_BUCKETS; i++)
                t->n_life[i] += x->n_life[i];
}

/* A site at the peak of its process: what it had when the slice of the peak began, and what the row adds. */
static void sums_place_peaks(struct sums *s, const struct trace_writer *w, bool is_all) {
        struct sums before = {0};
        uint64_t best[MAX_PROCESSES + 1] = {0};

        for (size_t i = 0; i < s->sites.n; i++) {
                int64_t *to =
                        is_all ? &s->sites.items[i].all_peak_bytes : &s->sites.items[i].peak_bytes;
                *to = 0;
        }
        for (size_t k = 0; k < w->slices.n; k++) {
                const struct fake_slice *slice = &w->slices.items[k];

                for (size_t c = 0; c < slice->counts.n; c++) {
                        const struct trace_counts *x = &slice->counts.items[c];
                        uint32_t place =
                                x->process == TRACE_NO_PROCESS ? MAX_PROCESSES : x->process;

                        if ((x->process == TRACE_NO_PROCESS) != is_all ||
                            x->peak_bytes <= best[place])
                                continue;
                        best[place] = x->peak_bytes;
                        for (size_t i = 0; i < s->sites.n; i++) {
                                struct trace_site *t = &s->sites.items[i];
                                int64_t at = 0;

                                if (!is_all && t->process != x->process)
                                        continue;
                                for (size_t j = 0; j < before.sites.n; j++) {
                                        const struct trace_site *old = &before.sites.items[j];

                                        if (compare_sites(old, t) == 0)
                                                at = (int64_t)(old->alloc_bytes - old->free_bytes +
                                                               (is_all ? old->inherited_free_bytes
                                                                       : old->inherited_bytes));
                                }
                                for (size_t j = 0; j < slice->sites.n; j++)
                                        if (compare_sites(&slice->sites.items[j], t) == 0)
                                                at += is_all ? slice->sites.items[j].all_peak_bytes
                                                             : slice->sites.items[j].peak_bytes;
                                *(is_all ? &t->all_peak_bytes : &t->peak_bytes) = at;
                        }
                }
                for (size_t j = 0; j < slice->sites.n; j++)
                        sums_add_site(&before, &slice->sites.items[j]);
        }
        vec_free(&before.sites);
}

static void sums_add_move(struct sums *s, const struct trace_move *x) {
        for (size_t i = 0; i < s->moves.n; i++) {
                struct trace_move *t = &s->moves.items[i];

                if (compare_moves(t, x) != 0)
                        continue;
                t->n_foreign_frees += x->n_foreign_frees, t->foreign_bytes += x->foreign_bytes;
                t->n_grown += x->n_grown, t->copied_bytes += x->copied_bytes;
                t->grown_bytes += x->grown_bytes, t->in_place_bytes += x->in_place_bytes;
                t->n_shrunk += x->n_shrunk;
                return;
        }
        vec_push(&s->moves, *x);
}

static struct sums sums_of(const struct trace_writer *w) {
        struct sums s = {0};

        for (size_t k = 0; k < w->slices.n; k++) {
                for (size_t i = 0; i < w->slices.items[k].sites.n; i++)
                        sums_add_site(&s, &w->slices.items[k].sites.items[i]);
                for (size_t i = 0; i < w->slices.items[k].moves.n; i++)
                        sums_add_move(&s, &w->slices.items[k].moves.items[i]);
        }
        qsort(s.sites.items, s.sites.n, sizeof(s.sites.items[0]), compare_sites);
        if (s.moves.n)
                qsort(s.moves.items, s.moves.n, sizeof(s.moves.items[0]), compare_moves);
        for (size_t i = 0; i < s.sites.n; i++)
                s.sites.items[i].peak_blocks = s.sites.items[i].all_peak_blocks = 0;
        sums_place_peaks(&s, w, false);
        sums_place_peaks(&s, w, true);
        for (size_t i = 0; i < w->checkpoint.counts.n; i++)
                vec_push(&s.counts, w->checkpoint.counts.items[i]);
        qsort(s.counts.items, s.counts.n, sizeof(s.counts.items[0]), compare_counts);
        return s;
}

static void sums_done(struct sums *s) {
        vec_free(&s->sites);
        vec_free(&s->counts);
        vec_free(&s->moves);
}

static void expect_same_rows(const struct both *b) {
        struct sums x = sums_of(b->recorded), y = sums_of(b->made);

        assert_int_equal(x.sites.n, y.sites.n);
        for (size_t i = 0; i < x.sites.n; i++)
                assert_memory_equal(&x.sites.items[i], &y.sites.items[i], sizeof(x.sites.items[i]));
        assert_int_equal(x.counts.n, y.counts.n);
        for (size_t i = 0; i < x.counts.n; i++)
                assert_memory_equal(&x.counts.items[i], &y.counts.items[i],
                                    sizeof(x.counts.items[i]));
        assert_int_equal(x.moves.n, y.moves.n);
        for (size_t i = 0; i < x.moves.n; i++)
                assert_memory_equal(&x.moves.items[i], &y.moves.items[i], sizeof(x.moves.items[i]));
        sums_done(&x);
        sums_done(&y);
}

static void expect_same_events(const struct both *b) {
        assert_int_equal(b->recorded->events.n, b->made->events.n);
        for (size_t i = 0; i < b->recorded->events.n; i++)
                assert_memory_equal(&b->recorded->events.items[i], &b->made->events.items[i],
                                    sizeof(struct trace_event));
}

static void run(uint64_t seed, bool has_forks) {
        struct both *b = test_calloc(1, sizeof(*b));

        both_begin(b, seed);
        for (int i = 0; i < N_STEPS; i++) {
                step(b, has_forks);
                if (!draw(b, 20)) {
                        b->t.now = b->now + 10 * STEP_NS;
                        pump(b);
                }
                if (!draw(b, 150))
                        both_end_slice(b);
        }
        b->t.now = b->now + FAKE_HZ;
        pump(b);
        pipeline_finish(b->t.pipeline, b->now);
        trace_maker_finish(b->m, b->now);
        assert_int_equal(trace_maker_n_late(b->m), 0);
        assert_true(!has_forks || b->n_processes > 1);
        expect_same_events(b);
        expect_same_rows(b);
        both_end(b);
        test_free(b);
}

static void test_one_process(void **state) {
        for (uint64_t seed = 1; seed <= 8; seed++)
                run(seed, false);
}

static void test_forks(void **state) {
        for (uint64_t seed = 20; seed <= 28; seed++)
                run(seed, true);
}

/* Releases of what is unknown and addresses handed out twice: the recorder waits a moment for what may explain them, so times differ, but
 * no count does. */
static void test_hostile(void **state) {
        for (uint64_t seed = 40; seed <= 44; seed++) {
                struct both *b = test_calloc(1, sizeof(*b));
                struct pipeline_totals totals;
                struct trace_counts c;

                both_begin(b, seed);
                for (int i = 0; i < 1000; i++) {
                        uint32_t at = draw(b, 12), site = draw(b, N_SITES);
                        struct trace_maker_block block = {.address = address_of(at),
                                                          .size_bytes = draw(b, 900),
                                                          .stack = make_stack(b, site)};

                        b->now += STEP_NS;
                        if (draw(b, 2)) {
                                fake_alloc(&b->fakes[0], b->now, block.address, block.size_bytes,
                                           site);
                                trace_maker_allocate(b->m, b->now, make_thread(b, 0, 0), &block);
                        } else {
                                fake_free(&b->fakes[0], b->now, block.address);
                                trace_maker_release(b->m, b->now, make_thread(b, 0, 0),
                                                    block.address, 0);
                        }
                        b->t.now = b->now + 10 * STEP_NS;
                        pump(b);
                }
                b->t.now = b->now + FAKE_HZ;
                pump(b);
                pipeline_finish(b->t.pipeline, b->now);
                assert_true(pipeline_get_totals(b->t.pipeline, 0, &totals));
                assert_true(trace_maker_get_counts(b->m, 0, &c));
                assert_true(c.n_unknown_frees > 0 && c.n_implicit_frees > 0);
                totals.counts.peak_ns = c.peak_ns;
                totals.counts.n_inversions = c.n_inversions;
                assert_memory_equal(&totals.counts, &c, sizeof(c));
                both_end(b);
                test_free(b);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_process),
                cmocka_unit_test(test_forks),
                cmocka_unit_test(test_hostile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
