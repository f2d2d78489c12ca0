/* SPDX-License-Identifier: MIT */
/* Random histories of a family of processes, written into rings and pumped at random moments, against a plain model that
 * adds everything up: counts, peaks, who was live at each peak, what slices and checkpoints say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pipeline/testing/family_model.h"

enum { N_STEPS = 6000 };

static uint64_t rng_state;

static uint32_t rng(uint32_t below) {
        rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)(rng_state >> 33) % below;
}

static uint64_t address_of(const struct model *m, uint32_t i) {
        return 0x10000 + (uint64_t)i * m->stride_bytes;
}

/* When the thread says it is: never before what it said last. */
static uint64_t time_of(struct model *m, struct model_thread *t) {
        uint64_t early = m->jitter ? rng(m->jitter) : 0;

        t->last_time = m->time - early > t->last_time ? m->time - early : t->last_time + 1;
        return t->last_time;
}

/* ---- steps -------------------------------------------------------------------------------------- */

static uint32_t pick_address(struct model_process *p, bool is_live) {
        uint32_t start = rng(N_ADDRESSES);

        for (uint32_t i = 0; i < N_ADDRESSES; i++) {
                uint32_t a = (start + i) % N_ADDRESSES;

                if (!p->is_reserved[a] && (p->blocks[a].size_bytes != 0) == is_live)
                        return a;
        }
        return UINT32_MAX;
}

static void step_alloc(struct model *m, struct model_process *p, struct model_thread *t) {
        uint32_t a = pick_address(p, false), site = rng(N_SITES);
        uint64_t size_bytes = 1 + rng(1000);

        if (a == UINT32_MAX)
                return;
        fake_alloc(&t->fake, time_of(m, t), address_of(m, a), size_bytes, site);
        model_alloc(m, p, t, a, size_bytes, site);
        p->counts.n_complete_stacks++;
        model_peak(m, p);
}

static void step_free(struct model *m, struct model_process *p, struct model_thread *t) {
        uint32_t a = pick_address(p, true);

        if (a == UINT32_MAX)
                return;
        fake_free(&t->fake, time_of(m, t), address_of(m, a));
        model_move(m, p, t, a, true);
        model_free(m, p, t, a);
}

static void step_realloc_begin(struct model *m, struct model_process *p, struct model_thread *t) {
        uint32_t a = pick_address(p, true);

        if (a == UINT32_MAX)
                return;
        p->is_reserved[a] = true;
        t->moving = a + 1;
        fake_realloc_begin(&t->fake, time_of(m, t), address_of(m, a));
}

static void step_realloc_end(struct model *m, struct model_process *p, struct model_thread *t) {
        uint32_t old = t->moving - 1, new = rng(2) ? old : pick_address(p, false),
                 site = rng(N_SITES);
        uint64_t size_bytes = 1 + rng(1000), old_bytes;

        t->moving = 0;
        p->is_reserved[old] = false;
        switch (rng(5)) {
        case 0:
                fake_realloc_end(&t->fake, time_of(m, t), 0, size_bytes, WIRE_REALLOC_FAILED, site);
                p->counts.n_failed++;
                break;
        case 1:
                fake_realloc_end(&t->fake, time_of(m, t), 0, 0, WIRE_REALLOC_RELEASED, site);
                model_move(m, p, t, old, true);
                model_free(m, p, t, old);
                break;
        default:
                if (new == UINT32_MAX)
                        new = old;
                fake_realloc_end(&t->fake, time_of(m, t), address_of(m, new), size_bytes,
                                 WIRE_REALLOC_OK, site);
                model_move(m, p, t, old, false);
                old_bytes = p->blocks[old].size_bytes;
                model_free(m, p, t, old);
                model_alloc(m, p, t, new, size_bytes, site);
                t->has_latest = false;
                if (size_bytes > old_bytes) {
                        model_grow(&p->moves[site], old_bytes, size_bytes);
                        p->moves[site].in_place_bytes += new == old ? old_bytes : 0;
                }
                p->counts.n_reallocs++;
                p->sites[site].n_reallocs++;
                p->counts.n_complete_stacks++;
                model_peak(m, p);
        }
}

static void step_odd(struct model *m, struct model_process *p, struct model_thread *t) {
        uint32_t a = pick_address(p, true);

        switch (rng(4)) {
        case 0:
                fake_free(&t->fake, time_of(m, t), 0x7f0000000008 + rng(50) * 16);
                p->counts.n_unknown_frees++;
                break;
        case 1:
                fake_put_words(&t->fake, time_of(m, t), WIRE_FAILED, (uint64_t[]){123}, 1);
                p->counts.n_failed++;
                break;
        case 2: /* something that does not count here; the stacks that follow are named anew */
                fake_lose(&t->fake, time_of(m, t), 1);
                p->counts.n_lost++;
                break;
        default:
                if (a == UINT32_MAX)
                        break;
                p->counts.n_wrong_sizes++;
                fake_put_words(&t->fake, time_of(m, t), WIRE_FREE_SIZED,
                               (uint64_t[]){address_of(m, a), p->blocks[a].size_bytes + 1}, 2);
                model_move(m, p, t, a, true);
                model_free(m, p, t, a);
        }
}

static void step_fork(struct model *m, struct model_process *p, struct model_thread *t) {
        uint32_t id = m->n_processes;
        struct model_process *child = &m->p[id];
        bool is_exact = rng(4) != 0;

        for (uint32_t i = 0; i < N_THREADS; i++)
                if (id >= MAX_PROCESSES || p->threads[i].moving || m->jitter)
                        return;
        m->n_processes++;
        fake_put_words(&t->fake, m->time, WIRE_FORK, NULL, 0);
        if (!is_exact) {
                /* only exact when nothing happens before it is seen */
                m->t.now = m->time += 1000000;
                pipeline_pump(m->t.pipeline);
        }
        child->idx = fake_fork(&m->t, p->idx, is_exact ? m->time : m->time - 1000, is_exact);
        child->is_alive = true;
        child->parent = (uint32_t)(p - m->p);
        memcpy(child->blocks, p->blocks, sizeof(p->blocks));
        for (int i = 0; i < N_SITES; i++) {
                struct trace_site *s = &p->sites[i];

                child->sites[i].n_inherited = s->n_inherited + s->n_allocs - s->n_frees;
                child->sites[i].inherited_bytes =
                        s->inherited_bytes + s->alloc_bytes - s->free_bytes;
        }
        child->counts.live_blocks = p->counts.live_blocks;
        child->counts.live_bytes = p->counts.live_bytes;
        model_peak(m, child);
        m->time += 10;
        fake_put_words(&t->fake, m->time, WIRE_FORK_DONE, NULL, 0);
        if (!is_exact) {
                m->t.now = m->time += 1000000;
                pipeline_pump(m->t.pipeline);
        }
        /* processes are numbered as they start: the recorder must have seen this one before the next */
        m->t.now = m->time += 200000;
        pipeline_pump(m->t.pipeline);
}

/* Lets everything so far become final. */
static void settle(struct model *m) {
        m->time += 1000000;
        m->t.now = m->time;
        for (int i = 0; i < 6; i++)
                pipeline_pump(m->t.pipeline);
}

static void step_end(struct model *m, struct model_process *p) {
        size_t n_slices;

        settle(m);
        n_slices = m->w->slices.n;
        pipeline_end_process(m->t.pipeline, p->idx, m->time);
        settle(m);
        model_end(m, p);
        /* an end that may pass something on ends its slice */
        m->end_slice[p - m->p] = m->w->slices.n - (m->w->slices.n > n_slices);
}

static void open_thread(struct model *m, struct model_process *p, struct model_thread *t) {
        t->tid = 1000 + ++m->n_tids;
        fake_add_thread(&m->t, &t->fake, p->idx, t->tid);
        if (m->n_tokens)
                fake_use_tokens(&t->fake, t->tokens, m->n_tokens);
        t->is_open = true;
        t->last_seq = UINT64_MAX;
        t->has_latest = false;
}

/* It ends, its blocks stay; whoever comes next gets its ring. */
static void step_thread_end(struct model *m, struct model_thread *t) {
        struct wire_slot *slot = t->fake.slot;

        m->t.dead_tid = t->tid;
        atomic_store(&slot->state, (atomic_load(&slot->state) & ~0xffull) | WIRE_SLOT_EXITING);
        for (int i = 0; wire_slot_phase(atomic_load(&slot->state)) != WIRE_SLOT_FREE; i++) {
                assert_true(i < 100);
                m->t.now = m->time += FAKE_HZ / 10;
                pipeline_pump(m->t.pipeline);
        }
        t->is_open = false;
}

static void step(struct model *m) {
        struct model_process *p = &m->p[rng(m->n_processes)];
        struct model_thread *t = &p->threads[rng(N_THREADS)];
        uint32_t what = rng(1000);

        m->time += 1 + rng(400);
        if (!p->is_alive)
                return;
        if (!t->is_open)
                open_thread(m, p, t);
        if (t->moving && rng(2))
                step_realloc_end(m, p, t);
        else if (t->moving)
                return;
        else if (what < 450)
                step_alloc(m, p, t);
        else if (what < 850)
                step_free(m, p, t);
        else if (what < 930)
                step_realloc_begin(m, p, t);
        else if (what < 980)
                step_odd(m, p, t);
        else if (what < 990)
                step_fork(m, p, t);
        else if (what < 993 && (p != &m->p[0] || m->n_processes > 4))
                step_end(m, p);
        else if (what >= 996)
                step_thread_end(m, t);
}

/* ---- comparison --------------------------------------------------------------------------------- */

static uint32_t site_of(const struct model *m, uint32_t stack) {
        return (uint32_t)(m->w->locations.items[m->w->stacks.items[stack].location].offset -
                          0x10000);
}

static void compare_counts(const struct trace_counts *a, const struct trace_counts *b) {
        assert_int_equal(a->n_allocs, b->n_allocs);
        assert_int_equal(a->n_frees, b->n_frees);
        assert_int_equal(a->n_reallocs, b->n_reallocs);
        assert_int_equal(a->n_failed, b->n_failed);
        assert_int_equal(a->n_unknown_frees, b->n_unknown_frees);
        assert_int_equal(a->n_implicit_frees, 0);
        assert_int_equal(a->alloc_bytes, b->alloc_bytes);
        assert_int_equal(a->n_temporary, b->n_temporary);
        assert_int_equal(a->n_wrong_sizes, b->n_wrong_sizes);
        assert_int_equal(a->n_lost, b->n_lost);
        assert_int_equal(a->n_complete_stacks, b->n_complete_stacks);
        assert_int_equal(a->live_blocks, b->live_blocks);
        assert_int_equal(a->live_bytes, b->live_bytes);
        assert_int_equal(a->peak_bytes, b->peak_bytes);
        assert_int_equal(a->peak_blocks, b->peak_blocks);
}

static void compare_site(const struct trace_site *a, const struct trace_site *b) {
        assert_int_equal(a->n_allocs, b->n_allocs);
        assert_int_equal(a->alloc_bytes, b->alloc_bytes);
        assert_int_equal(a->n_frees, b->n_frees);
        assert_int_equal(a->free_bytes, b->free_bytes);
        assert_int_equal(a->n_temporary, b->n_temporary);
        assert_int_equal(a->n_reallocs, b->n_reallocs);
        assert_int_equal(a->n_inherited, b->n_inherited);
        assert_int_equal(a->inherited_bytes, b->inherited_bytes);
}

static void site_add(struct trace_site *to, const struct trace_site *s) {
        to->n_allocs += s->n_allocs;
        to->alloc_bytes += s->alloc_bytes;
        to->n_frees += s->n_frees;
        to->free_bytes += s->free_bytes;
        to->n_temporary += s->n_temporary;
        to->n_reallocs += s->n_reallocs;
        to->n_inherited += s->n_inherited;
        to->inherited_bytes += s->inherited_bytes;
}

static void move_add(struct trace_move *to, const struct trace_move *x) {
        to->n_foreign_frees += x->n_foreign_frees;
        to->foreign_bytes += x->foreign_bytes;
        to->n_grown += x->n_grown;
        to->copied_bytes += x->copied_bytes;
        to->grown_bytes += x->grown_bytes;
        to->in_place_bytes += x->in_place_bytes;
        to->n_shrunk += x->n_shrunk;
}

/* What a reader makes of the slices: sums, and live by site at the highest peak. */
struct replay {
        struct trace_site sum[MAX_PROCESSES][N_SITES];
        struct trace_move moves[MAX_PROCESSES][N_SITES];
        int64_t own[MAX_PROCESSES][N_SITES]; /* before the slice */
        uint64_t peak[MAX_PROCESSES], all_peak;
        int64_t at_peak[MAX_PROCESSES][N_SITES], at_all_peak[MAX_PROCESSES][N_SITES];
};

static void replay_peaks(const struct model *m, struct replay *r, const struct fake_slice *slice) {
        static struct trace_site rows[MAX_PROCESSES][N_SITES];

        memset(rows, 0, sizeof(rows));
        for (size_t i = 0; i < slice->sites.n; i++)
                rows[slice->sites.items[i].process][site_of(m, slice->sites.items[i].stack)] =
                        slice->sites.items[i];
        for (size_t i = 0; i < slice->counts.n; i++) {
                const struct trace_counts *c = &slice->counts.items[i];
                uint32_t k = c->process;

                if (k == TRACE_NO_PROCESS ||
                    (slice->counts.n == 1 && r->all_peak == r->peak[k] && k == 0)) {
                        if (c->peak_bytes > r->all_peak) {
                                r->all_peak = c->peak_bytes;
                                for (k = 0; k < MAX_PROCESSES; k++)
                                        for (int x = 0; x < N_SITES; x++)
                                                r->at_all_peak[k][x] =
                                                        r->own[k][x] + rows[k][x].all_peak_bytes;
                        }
                        k = c->process;
                }
                if (k == TRACE_NO_PROCESS || c->peak_bytes <= r->peak[k])
                        continue;
                r->peak[k] = c->peak_bytes;
                for (int x = 0; x < N_SITES; x++)
                        r->at_peak[k][x] =
                                (int64_t)(r->sum[k][x].inherited_bytes + r->sum[k][x].alloc_bytes -
                                          r->sum[k][x].free_bytes) +
                                rows[k][x].peak_bytes;
        }
}

static void compare_slices(const struct model *m) {
        struct replay *r = calloc(1, sizeof(*r));

        assert_non_null(r);
        for (size_t i = 0; i < m->w->slices.n; i++) {
                const struct fake_slice *slice = &m->w->slices.items[i];

                replay_peaks(m, r, slice);
                for (size_t k = 0; k < slice->sites.n; k++)
                        site_add(&r->sum[slice->sites.items[k].process]
                                        [site_of(m, slice->sites.items[k].stack)],
                                 &slice->sites.items[k]);
                for (size_t k = 0; k < slice->moves.n; k++)
                        move_add(&r->moves[slice->moves.items[k].process]
                                          [site_of(m, slice->moves.items[k].stack)],
                                 &slice->moves.items[k]);
                for (size_t k = 0; k < slice->sites.n; k++) {
                        const struct trace_site *x = &slice->sites.items[k];

                        r->own[x->process][site_of(m, x->stack)] +=
                                (int64_t)(x->alloc_bytes - x->free_bytes + x->inherited_free_bytes);
                }
                for (uint32_t k = 0; k < m->n_processes; k++)
                        if (m->end_slice[k] <= i)
                                memset(r->own[k], 0, sizeof(r->own[k]));
        }
        assert_int_equal(r->all_peak, m->all_peak);
        for (uint32_t k = 0; k < m->n_processes; k++)
                for (int x = 0; x < N_SITES; x++) {
                        compare_site(&r->sum[k][x], &m->p[k].sites[x]);
                        assert_memory_equal(&r->moves[k][x], &m->p[k].moves[x],
                                            sizeof(r->moves[k][x]));
                        assert_int_equal(r->at_peak[k][x], m->p[k].at_peak[x]);
                        assert_int_equal(r->at_all_peak[k][x], m->at_all_peak[k][x]);
                }
        free(r);
}

static void compare_checkpoint(const struct model *m) {
        static struct trace_site sum[MAX_PROCESSES][N_SITES];

        memset(sum, 0, sizeof(sum));
        for (size_t i = 0; i < m->w->checkpoint.sites.n; i++) {
                const struct trace_site *s = &m->w->checkpoint.sites.items[i];

                site_add(&sum[s->process][site_of(m, s->stack)], s);
        }
        for (uint32_t k = 0; k < m->n_processes; k++)
                for (int x = 0; x < N_SITES; x++)
                        compare_site(&sum[k][x], &m->p[k].sites[x]);
        /* and a row for all of them, where they are several */
        assert_int_equal(m->w->checkpoint.counts.n, m->n_processes + (m->n_processes > 1));
        for (size_t i = 0; i < m->w->checkpoint.counts.n; i++)
                if (m->w->checkpoint.counts.items[i].process != TRACE_NO_PROCESS)
                        compare_counts(&m->w->checkpoint.counts.items[i],
                                       &m->p[m->w->checkpoint.counts.items[i].process].counts);
}

static struct model *model_new(uint64_t seed, uint32_t jitter) {
        struct model *m = calloc(1, sizeof(*m));

        assert_non_null(m);
        rng_state = seed;
        m->w = fake_writer_new(false);
        m->w->wants_checkpoints = rng(2);
        m->jitter = jitter;
        /* addresses side by side, and such that share whatever a table takes of them */
        m->stride_bytes = (uint64_t[]){16, 32, 4096, 1 << 16, 1 << 20, (uint64_t)1 << 32}[seed % 6];
        m->n_tokens = (uint32_t[]){0, 1, 5, 64}[seed / 2 % 4];
        fake_target_init(&m->t, m->w, NULL);
        m->time = m->t.now = 1000000;
        memset(m->end_slice, 0xff, sizeof(m->end_slice));
        m->p[0].idx = fake_add_image(&m->t, m->w);
        m->p[0].is_alive = true;
        m->p[0].parent = UINT32_MAX;
        m->n_processes = 1;
        return m;
}

static void model_run(struct model *m) {
        for (int i = 0; i < N_STEPS; i++) {
                step(m);
                if (rng(50) == 0) {
                        m->t.now = m->time;
                        pipeline_pump(m->t.pipeline);
                }
                if (rng(400) == 0)
                        pipeline_end_slice(m->t.pipeline, m->time, false);
        }
        settle(m);
}

static void model_free_all(struct model *m) {
        assert_int_equal(m->t.n_broken, 0);
        fake_target_done(&m->t);
        fake_writer_free(m->w);
        free(m);
}

static void test_random_histories(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 60; seed++) {
                struct model *m = model_new(seed, 0);

                model_run(m);
                for (uint32_t k = 0; k < m->n_processes; k++) {
                        struct pipeline_totals t;

                        if (!pipeline_get_totals(m->t.pipeline, k, &t)) {
                                assert_false(m->p[k].is_alive); /* the checkpoint has it */
                                continue;
                        }
                        compare_counts(&t.counts, &m->p[k].counts);
                        assert_int_equal(t.counts.n_inversions, 0);
                }
                pipeline_finish(m->t.pipeline, m->time);
                compare_slices(m);
                compare_checkpoint(m);
                model_free_all(m);
        }
}

/* Clocks read early: every release still finds its allocation. */
static void test_inverted_histories(void **state) {
        uint64_t n_inversions = 0;

        (void)state;
        for (uint64_t seed = 1; seed <= 60; seed++) {
                struct model *m = model_new(seed, 20 + (uint32_t)seed * 5);
                const struct trace_counts *want = &m->p[0].counts;
                struct pipeline_totals t;

                model_run(m);
                assert_true(pipeline_get_totals(m->t.pipeline, 0, &t));
                assert_int_equal(t.counts.n_allocs, want->n_allocs);
                assert_int_equal(t.counts.n_frees, want->n_frees);
                assert_int_equal(t.counts.n_reallocs, want->n_reallocs);
                assert_int_equal(t.counts.alloc_bytes, want->alloc_bytes);
                assert_int_equal(t.counts.live_blocks, want->live_blocks);
                assert_int_equal(t.counts.live_bytes, want->live_bytes);
                assert_int_equal(t.counts.n_unknown_frees, want->n_unknown_frees);
                assert_int_equal(t.counts.n_implicit_frees, 0);
                n_inversions += t.counts.n_inversions;
                model_free_all(m);
        }
        assert_true(n_inversions > 150);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random_histories),
                cmocka_unit_test(test_inverted_histories),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
