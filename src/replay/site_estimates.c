/* SPDX-License-Identifier: MIT */
#include "replay/site_estimates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/cursor.h"

/* ---- which sites -------------------------------------------------------------------------------- */

struct site_sum {
        int64_t peak_bytes, peak_blocks, most_bytes;
        uint64_t n_allocs;
        uint32_t text, stack;
};

struct sorting {
        struct map by_text; /* text → sum, by number */
        VEC(struct site_sum) sums;
        struct map by_stack; /* stack → sum */
        struct text_pool texts;
};

static uint32_t text_of(struct text_pool *pool, const struct frame_names *names,
                        struct frame_stack *frames, uint32_t stack) {
        struct str text = {0};
        uint32_t n;

        frame_stack_fill(frames, names, stack, false);
        if (frames->shown.n) {
                const struct name_frame *f =
                        &frames->frames.items[frames->shown.items[0].frame_idx];

                frame_add_function(&text, names, f, frames->shown.items[0].is_task, true, true);
                str_addf(&text, ":%u %s", f->line, f->module);
        }
        n = text_pool_add(pool, str_text(&text));
        str_done(&text);
        return n;
}

static void add_site(struct sorting *s, uint32_t text, const struct query_site *site) {
        bool is_new;
        uint64_t *i = map_put(&s->by_text, text, s->sums.n, &is_new);
        struct site_sum *sum;

        if (is_new)
                vec_push(&s->sums, (struct site_sum){.text = text, .stack = site->stack});
        sum = &s->sums.items[*i];
        sum->peak_bytes += site->f.peak_bytes;
        sum->peak_blocks += site->f.peak_blocks;
        sum->n_allocs += site->f.n_allocs;
        if (site->f.peak_bytes > sum->most_bytes) {
                sum->most_bytes = site->f.peak_bytes;
                sum->stack = site->stack;
        }
        *map_put(&s->by_stack, site->stack, 0, NULL) = *i;
}

static int by_peak(const void *x, const void *y) {
        const struct site_estimate *a = x, *b = y;

        if (a->peak_bytes != b->peak_bytes)
                return a->peak_bytes > b->peak_bytes ? -1 : 1;
        return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void keep_largest(struct site_estimates *e, const struct sorting *s, size_t n_top) {
        e->rows = calloc(s->sums.n + 1, sizeof(e->rows[0]));
        if (!e->rows)
                abort();
        for (size_t i = 0; i < s->sums.n; i++) {
                const struct site_sum *sum = &s->sums.items[i];

                if (sum->peak_bytes > 0)
                        e->rows[e->n++] = (struct site_estimate){
                                .stack = sum->stack,
                                .peak_bytes = (uint64_t)sum->peak_bytes,
                                .peak_blocks =
                                        (uint64_t)(sum->peak_blocks > 0 ? sum->peak_blocks : 0),
                                .n_allocs = sum->n_allocs,
                        };
        }
        qsort(e->rows, e->n, sizeof(e->rows[0]), by_peak);
        e->n = MIN(e->n, MIN(n_top, (size_t)SITE_ESTIMATES_MAX));
}

/* Stack → row of e; stacks of other sites are not in it. */
static void map_rows(const struct site_estimates *e, const struct sorting *s,
                     const struct query_answer *a, struct map *ret) {
        struct map rows = {0}; /* sum → row */

        for (size_t i = 0; i < e->n; i++) {
                uint64_t sum = 0;

                map_get(&s->by_stack, e->rows[i].stack, &sum);
                *map_put(&rows, sum, 0, NULL) = i;
        }
        for (size_t i = 0; i < a->n_sites; i++) {
                uint64_t sum = 0, row;

                if (map_get(&s->by_stack, a->sites[i].stack, &sum) && map_get(&rows, sum, &row))
                        *map_put(ret, a->sites[i].stack, 0, NULL) = row;
        }
        map_done(&rows);
}

static void choose(struct site_estimates *e, const struct frame_names *names,
                   const struct query_answer *a, size_t n_top, struct map *ret_rows) {
        struct frame_stack frames = {0};
        struct sorting s = {0};

        text_pool_init(&s.texts);
        for (size_t i = 0; i < a->n_sites; i++)
                add_site(&s, text_of(&s.texts, names, &frames, a->sites[i].stack), &a->sites[i]);
        keep_largest(e, &s, n_top);
        map_rows(e, &s, a, ret_rows);
        frame_stack_done(&frames);
        text_pool_done(&s.texts);
        map_done(&s.by_text);
        map_done(&s.by_stack);
        vec_free(&s.sums);
}

/* ---- by events ---------------------------------------------------------------------------------- */

/* What glibc sets aside for a block beyond a pool of blocks of 8 bytes' alignment. */
static uint64_t pool_saves(uint64_t size_bytes) {
        uint64_t chunk = ALIGN_UP(size_bytes + 8, 16);

        return MAX(chunk, 32u) - MAX(ALIGN_UP(size_bytes, 8), 8u);
}

struct pass {
        struct site_estimates *e;
        const uint32_t *row_of; /* by stack; UINT32_MAX: none */
        size_t n_stacks;
        int64_t live_bytes, peak_bytes;
        int64_t others[SITE_ESTIMATES_MAX]; /* live bytes without the site's */
        int64_t gone[SITE_ESTIMATES_MAX], brief[SITE_ESTIMATES_MAX];
        int64_t pool[SITE_ESTIMATES_MAX]; /* that a pool would save now */
};

static uint32_t row_of(const struct pass *p, uint32_t stack) {
        return stack < p->n_stacks ? p->row_of[stack] : UINT32_MAX;
}

static void take_peak(struct pass *p, uint64_t time_ns) {
        if (p->live_bytes <= p->peak_bytes)
                return;
        p->peak_bytes = p->live_bytes;
        p->e->peak_ns = time_ns;
        for (size_t i = 0; i < p->e->n; i++)
                p->e->rows[i].pool_bytes = (uint64_t)MAX(p->pool[i], 0);
}

/* One event: something goes, something comes, and only then is the sum what it was at that moment. */
struct change {
        uint32_t less_row, more_row;
        uint64_t less_bytes, more_bytes, time_ns;
        bool has_less, has_more;
};

static void apply(struct pass *p, const struct change *c) {
        int64_t more = c->has_more ? (int64_t)c->more_bytes : 0;
        int64_t less = c->has_less ? (int64_t)c->less_bytes : 0;
        size_t n = p->e->n;

        p->live_bytes += more - less;
        for (size_t i = 0; i < n; i++)
                p->others[i] += more - less;
        if (c->has_less && c->less_row < n) {
                p->others[c->less_row] += less;
                p->pool[c->less_row] -= (int64_t)pool_saves(c->less_bytes);
        }
        if (c->has_more && c->more_row < n) {
                p->others[c->more_row] -= more;
                p->pool[c->more_row] += (int64_t)pool_saves(c->more_bytes);
                p->brief[c->more_row] = MAX(p->brief[c->more_row], p->others[c->more_row] + more);
        }
        for (size_t i = 0; more && i < n; i++)
                p->gone[i] = MAX(p->gone[i], p->others[i]);
        take_peak(p, c->time_ns);
}

static void take_event(struct pass *p, const struct trace_event *e) {
        struct change c = {.time_ns = e->time_ns};

        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC) {
                c.has_more = true;
                c.more_row = row_of(p, e->stack);
                c.more_bytes = e->size_bytes;
                c.has_less = e->op == TRACE_REALLOC;
                c.less_row = row_of(p, e->old_stack);
                c.less_bytes = e->old_size_bytes;
        } else if (e->op == TRACE_FREE || e->other == TRACE_IMPLICIT_FREE) {
                c.has_less = true;
                c.less_row = row_of(p, e->stack);
                c.less_bytes = e->size_bytes;
        } else {
                return;
        }
        apply(p, &c);
}

static bool take_inherited(void *ctx, const struct query_block *b) {
        struct pass *p = ctx;
        struct change c = {.has_more = true, .more_bytes = b->size_bytes};
        int64_t brief;

        c.more_row = row_of(p, b->stack);
        brief = c.more_row < p->e->n ? p->brief[c.more_row] : 0;
        apply(p, &c);
        if (c.more_row < p->e->n) /* they were there already: nothing came while they did */
                p->brief[c.more_row] = brief;
        return true;
}

static int pass_events(struct pass *p, struct query *q, const struct query_scope *scope,
                       bool *ret_is_exact, struct err *reterr) {
        const struct trace_view *v = query_view(q);
        _cleanup_(query_cursor_freep) struct query_cursor *c = NULL;
        const struct query_row *row;
        int r = 0;

        if (scope->process < v->n_processes &&
            v->processes[scope->process].start.parent != TRACE_NO_PROCESS &&
            v->processes[scope->process].start.image == 1)
                r = query_held_blocks(q, scope, take_inherited, p, ret_is_exact, reterr);
        if (r >= 0)
                r = query_cursor_open(q, scope, QUERY_ROWS_EVENTS, &c, reterr);
        while (r >= 0 && (r = query_cursor_next(c, &row, reterr)) > 0)
                take_event(p, row->event.event);
        if (r >= 0)
                *ret_is_exact &= query_cursor_is_exact(c);
        return r;
}

static void keep_pass(struct site_estimates *e, const struct pass *p) {
        e->peak_bytes = (uint64_t)MAX(p->peak_bytes, 0);
        for (size_t i = 0; i < e->n; i++) {
                e->rows[i].gone_peak_bytes = (uint64_t)MAX(p->gone[i], 0);
                e->rows[i].brief_peak_bytes = (uint64_t)MAX(MAX(p->brief[i], p->gone[i]), 0);
        }
}

static int estimate_by_events(struct site_estimates *e, struct query *q, const struct map *rows,
                              const struct query_scope *scope, struct err *reterr) {
        size_t n_stacks = query_view(q)->n_stacks;
        uint32_t *row_of_stack = malloc((n_stacks + 1) * sizeof(row_of_stack[0]));
        struct pass *p = calloc(1, sizeof(*p));
        bool is_exact = true;
        int r;

        if (!row_of_stack || !p)
                abort();
        for (size_t i = 0; i < n_stacks; i++) {
                uint64_t row;

                row_of_stack[i] = map_get(rows, i, &row) ? (uint32_t)row : UINT32_MAX;
        }
        *p = (struct pass){.e = e, .row_of = row_of_stack, .n_stacks = n_stacks};
        r = pass_events(p, q, scope, &is_exact, reterr);
        keep_pass(e, p);
        e->is_exact = is_exact;
        free(row_of_stack);
        free(p);
        return r;
}

/* ---- without events ----------------------------------------------------------------------------- */

/* At the moment of the peak alone: elsewhere it may be higher than that. */
static void estimate_by_peak(struct site_estimates *e) {
        for (size_t i = 0; i < e->n; i++) {
                struct site_estimate *row = &e->rows[i];

                row->gone_peak_bytes = e->peak_bytes - MIN(row->peak_bytes, e->peak_bytes);
                row->brief_peak_bytes = e->peak_bytes;
        }
}

/* ---- what history knows ------------------------------------------------------------------------- */

static int add_untouched(struct site_estimates *e, struct query *q, const struct map *rows,
                         const struct query_scope *scope, struct err *reterr) {
        struct query_residency *looks = NULL;
        size_t n = 0;
        uint64_t row;
        int r = query_residency(q, scope, &looks, &n, reterr);

        for (size_t i = 0; r >= 0 && i < n; i++)
                if (map_get(rows, looks[i].stack, &row))
                        e->rows[row].untouched_bytes += query_residency_slack_bytes(&looks[i]);
        free(looks);
        return r;
}

static int add_moves(struct site_estimates *e, struct query *q, const struct map *rows,
                     const struct query_scope *scope, struct err *reterr) {
        _cleanup_(query_moves_freep) struct query_moves *m = NULL;
        uint64_t row;
        int r = query_moves(q, scope, &m, reterr);

        if (r < 0)
                return r;
        e->knows_moves = m->is_known;
        for (size_t i = 0; i < m->n; i++)
                if (map_get(rows, m->rows[i].stack, &row)) {
                        e->rows[row].n_grown += m->rows[i].n_grown;
                        e->rows[row].copied_bytes += m->rows[i].copied_bytes;
                }
        return 0;
}

static int by_saving(const void *x, const void *y) {
        const struct site_estimate *a = x, *b = y;

        if (a->gone_peak_bytes != b->gone_peak_bytes)
                return a->gone_peak_bytes < b->gone_peak_bytes ? -1 : 1;
        return by_peak(x, y);
}

int site_estimates_make(struct site_estimates *e, struct query *q, const struct frame_names *names,
                        uint32_t process, size_t n_top, struct err *reterr) {
        const struct trace_view *v = query_view(q);
        struct query_scope scope = {.process = process, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct map rows = {0};
        bool has_events = !(v->meta.flags & (TRACE_IS_TOTALS | TRACE_IS_SAMPLED)) &&
                          !v->detail_from_ns && process != QUERY_ALL;
        int r = query_ask(q, &scope, &a, reterr);

        *e = (struct site_estimates){.is_sampled = v->meta.flags & TRACE_IS_SAMPLED};
        if (r < 0)
                return r;
        choose(e, names, a, n_top, &rows);
        e->peak_bytes = a->totals.peak_bytes;
        e->peak_error = e->is_sampled ? sqrt(a->totals.var[QUERY_PEAK]) : 0;
        e->peak_ns = a->totals.peak_ns;
        e->n_lost = a->totals.n_lost;
        e->has_no_peak = a->totals.lacks_peak;
        if (has_events)
                r = estimate_by_events(e, q, &rows, &scope, reterr);
        else
                estimate_by_peak(e);
        if (r >= 0)
                r = add_untouched(e, q, &rows, &scope, reterr);
        if (r >= 0)
                r = add_moves(e, q, &rows, &scope, reterr);
        qsort(e->rows, e->n, sizeof(e->rows[0]), by_saving);
        map_done(&rows);
        return r;
}

void site_estimates_done(struct site_estimates *e) {
        free(e->rows);
        *e = (struct site_estimates){0};
}
