/* SPDX-License-Identifier: MIT */
/* Ticks, answered as blocks are: each is an allocation of the nanoseconds that it stands for, which nobody frees. */
#include "query/time_answer.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "query/pick.h"
#include "query/rss.h"
#include "trace/limit.h"

enum query_time query_metric_time(enum query_metric m) {
        return m == QUERY_CPU       ? QUERY_CPU_TIME
               : m == QUERY_BLOCKED ? QUERY_BLOCKED_TIME
                                    : QUERY_NO_TIME;
}

uint32_t query_metric_unit(const struct query *q, enum query_metric m) {
        return query_metric_time(m) ? (uint32_t)TRACE_UNIT_NS : q->view->meta.unit;
}

bool query_has_ticks(const struct query *q) {
        return trace_n_tick_spans(q->reader) > 0;
}

bool query_is_of_time(const struct query *q) {
        return query_has_ticks(q) && q->view->n_events == 0;
}

bool query_is_of_weights(const struct query *q) {
        return q->view->meta.unit != TRACE_UNIT_BYTES;
}

/* False: no other tool recorded it. */
static bool find_imported(const struct query *q, struct trace_limit *ret) {
        const struct trace_view *v = query_view(q);

        for (size_t i = 0; i < v->n_notes; i++)
                if (trace_limit_parse(v->notes[i].text, ret) && ret->kind == LIMIT_IMPORTED)
                        return true;
        return false;
}

bool query_is_imported(const struct query *q) {
        return find_imported(q, &(struct trace_limit){0});
}

uint64_t query_clock_step_ns(const struct query *q) {
        struct trace_limit l;

        return find_imported(q, &l) ? l.count : 0;
}

bool query_is_blank(const struct query *q) {
        return !q->view->finished && !q->view->n_slices && !query_has_ticks(q);
}

static const struct trace_module *find_module(const struct query *q, const char *path) {
        for (size_t i = 0; i < q->view->n_modules; i++)
                if (strcmp(q->view->modules[i].path, path) == 0)
                        return &q->view->modules[i];
        return NULL;
}

bool query_is_same_module(const struct query *q, const char *a, const char *b) {
        const struct trace_module *x, *y;

        if (strcmp(a, b) == 0)
                return true;
        x = find_module(q, a);
        y = x && x->build_id_len ? find_module(q, b) : NULL;
        return y && x->build_id_len == y->build_id_len &&
               memcmp(x->build_id, y->build_id, MIN(x->build_id_len, sizeof(x->build_id))) == 0;
}

/* ---- ticks of a scope ------------------------------------------------------------------------ */

typedef bool (*walk_fn)(void *ctx, const struct trace_tick_span *span,
                        const struct trace_tick *tick);

struct tick_walk {
        const struct query *q;
        const struct query_scope *scope;
        const struct pick *pick;
        const struct trace_tick_span *span;
        uint64_t to_ns;
        struct map outside; /* call path of a wait → without the kernel's frames */
};

static bool state_is_asked(enum query_time time, uint8_t state) {
        switch (time) {
        case QUERY_CPU_TIME: return state == TRACE_ON_CPU;
        case QUERY_BLOCKED_TIME: return state == TRACE_BLOCKED;
        case QUERY_NO_TIME: break;
        }
        return true;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static bool is_kernel(const struct query *q, uint32_t stack) {
        uint32_t location = q->view->stacks[stack].location, module;

        if (location >= q->view->n_locations)
                return false;
        module = q->view->locations[location].module;
        return module < q->view->n_modules &&
               strcmp(q->view->modules[module].path, "[kernel]") == 0;
}

static bool is_fault(const struct query *q, uint32_t stack) {
        uint32_t location = q->view->stacks[stack].location;

        for (uint32_t i = q->symbol_begin[location]; i < q->symbol_begin[location + 1]; i++)
                if (strstr(q->view->symbols[i].function, "page_fault") ||
                    strcmp(q->view->symbols[i].function, "el0_da") == 0)
                        return true;
        return false;
}

/* Of some waits the kernel's part of the call path was sampled, of others it was not: by what called the kernel they are one. A page fault
 * is no call, and is told by the kernel's part alone. */
static uint32_t find_outside(const struct query *q, uint32_t stack) {
        const struct trace_view *v = q->view;
        uint32_t outermost = 0, at = stack;

        while (at && at < v->n_stacks && is_kernel(q, at)) {
                outermost = at;
                at = v->stacks[at].parent;
        }
        return !outermost || !at || at >= v->n_stacks || is_fault(q, outermost) ? stack : at;
}

static uint32_t outside_of(struct tick_walk *w, uint32_t stack) {
        bool added;
        uint64_t *at = map_put(&w->outside, stack, 0, &added);

        if (added)
                *at = find_outside(w->q, stack);
        return (uint32_t)*at;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static bool walk_has(const struct query *q, const struct tick_walk *w,
                     const struct trace_tick *tick) {
        uint32_t process = q->view->threads[tick->thread].start.process;

        return state_is_asked(w->scope->of_time, tick->state) && process < q->view->n_processes &&
               (w->scope->process == QUERY_ALL || w->scope->process == process) &&
               pick_has_process(w->pick, process) && pick_has_stack(w->pick, tick->stack) &&
               (!w->pick || !w->pick->threads || w->pick->threads[tick->thread]) &&
               (w->span->is_merged ||
                (tick->time_ns >= w->scope->from_ns && tick->time_ns < w->to_ns));
}

/* Of a span without times the part that lies in the window. */
static void take_share(const struct tick_walk *w, struct trace_tick *tick) {
        uint64_t begin_ns = MAX(w->span->begin_ns, w->scope->from_ns),
                 end_ns = MIN(w->span->end_ns, w->to_ns);
        uint64_t length_ns = w->span->end_ns - w->span->begin_ns;

        if (!w->span->is_merged || end_ns - begin_ns == length_ns)
                return;
        tick->weight_ns =
                (uint64_t)((__uint128_t)tick->weight_ns * (end_ns - begin_ns) / length_ns);
        tick->n_samples =
                (uint32_t)((__uint128_t)tick->n_samples * (end_ns - begin_ns) / length_ns);
        tick->time_ns = begin_ns;
}

static int refuse_blocks(const struct query_filter *f, struct err *reterr) {
        static const char *const of_blocks[] = {"size",      "lifetime", "older-than",
                                                "allocated", "alive-at", "freed-before"};

        for (size_t i = 0; i < query_filter_n(f); i++)
                for (size_t k = 0; k < ARRAY_SIZE(of_blocks); k++)
                        if (strcmp(query_filter_condition(f, i).kind, of_blocks[k]) == 0)
                                return err_about(
                                        reterr, of_blocks[k],
                                        err_set(reterr, -EINVAL,
                                                "time is not about blocks: leave out conditions on their sizes, lifetimes and moments"));
        return 0;
}

static void walk_done(struct tick_walk *w) {
        map_done(&w->outside);
}

static int walk(struct query *q, const struct query_scope *scope, walk_fn fn, void *ctx,
                struct err *reterr) {
        _cleanup_(walk_done) struct tick_walk w = {.q = q, .scope = scope, .to_ns = scope->to_ns};
        size_t n_spans = trace_n_tick_spans(q->reader);
        int r = refuse_blocks(scope->filter, reterr);

        if (r >= 0)
                r = pick_get(q, scope->filter, &w.pick, reterr);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_spans && query_go_on(q, i, n_spans); i++) {
                const struct trace_tick *rows;
                struct err e = {0};
                size_t n;

                w.span = trace_tick_span(q->reader, i);
                if (w.span->end_ns <= scope->from_ns || w.span->begin_ns >= w.to_ns)
                        continue;
                if (trace_read_ticks(q->reader, i, &rows, &n, &e) < 0) {
                        query_note_damage(q, &e);
                        continue;
                }
                for (size_t k = 0; k < n; k++) {
                        struct trace_tick tick = rows[k];

                        if (tick.state == TRACE_BLOCKED)
                                tick.stack = outside_of(&w, tick.stack);
                        if (!walk_has(q, &w, &tick))
                                continue;
                        take_share(&w, &tick);
                        if (!fn(ctx, w.span, &tick))
                                return query_end(q, reterr);
                }
        }
        return query_end(q, reterr);
}

struct telling_each {
        query_tick_fn fn;
        void *ctx;
};

static bool tell_each(void *ctx, const struct trace_tick_span *span,
                      const struct trace_tick *tick) {
        const struct telling_each *e = ctx;

        (void)span;
        return e->fn(e->ctx, tick);
}

int query_each_tick(struct query *q, const struct query_scope *scope, query_tick_fn fn, void *ctx,
                    struct err *reterr) {
        struct telling_each e = {fn, ctx};

        return walk(q, scope, tell_each, &e, reterr);
}

/* ---- by column ------------------------------------------------------------------------------- */

/* A wait that ends behind a window may have begun in it. A long one is told in parts, each at most an eighth of what was before. */
enum { PART_SHARE = 8 };
#define SHORT_PART_NS 2000000000u

struct filling {
        uint64_t from_ns, to_ns; /* of the columns */
        uint64_t looks_to_ns;
        size_t n;
        time_part_fn fn;
        void *ctx;
};

/* Evenly over [begin, end), so far as that lies in the columns. */
static void fill_evenly(const struct filling *f, const struct trace_tick *tick, uint64_t begin_ns,
                        uint64_t end_ns) {
        double width_ns = (double)(f->to_ns - f->from_ns) / (double)f->n;
        double each = (double)tick->weight_ns / (double)(end_ns - begin_ns);
        uint64_t at_ns = MAX(begin_ns, f->from_ns), last_ns = MIN(end_ns, f->to_ns);
        double at, last;

        if (at_ns >= last_ns)
                return;
        at = (double)(at_ns - f->from_ns) / width_ns;
        last = (double)(last_ns - f->from_ns) / width_ns;
        for (size_t i = (size_t)at; i < f->n && (double)i < last; i++)
                f->fn(f->ctx, tick, i,
                      (MIN((double)i + 1, last) - MAX((double)i, at)) * width_ns * each);
}

static bool fill_tick(void *ctx, const struct trace_tick_span *span,
                      const struct trace_tick *tick) {
        const struct filling *f = ctx;
        uint64_t end_ns = MAX(tick->time_ns, 1u);

        if (span->is_merged) {
                uint64_t begin_ns = MAX(span->begin_ns, f->from_ns);

                fill_evenly(f, tick, begin_ns,
                            MAX(MIN(span->end_ns, f->looks_to_ns), begin_ns + 1));
        } else {
                fill_evenly(f, tick, end_ns - MIN(MAX(tick->weight_ns, 1u), end_ns), end_ns);
        }
        return true;
}

int time_each_part(struct query *q, const struct query_scope *scope, size_t n, time_part_fn fn,
                   void *ctx, struct err *reterr) {
        struct filling f = {.from_ns = scope->from_ns, .n = n, .fn = fn, .ctx = ctx};
        struct query_scope longer = *scope;

        f.to_ns = MAX(MIN(scope->to_ns, q->view->end_ns), f.from_ns + 1);
        longer.to_ns = f.to_ns + MAX(q->view->end_ns / PART_SHARE, (uint64_t)SHORT_PART_NS);
        f.looks_to_ns = longer.to_ns;
        return n ? walk(q, &longer, fill_tick, &f, reterr) : 0;
}

static void add_part(void *ctx, const struct trace_tick *tick, size_t column, double ns) {
        (void)tick;
        ((double *)ctx)[column] += ns;
}

int query_time_columns(struct query *q, const struct query_scope *scope, size_t n, double *ret_ns,
                       struct err *reterr) {
        memset(ret_ns, 0, n * sizeof(ret_ns[0]));
        return time_each_part(q, scope, n, add_part, ret_ns, reterr);
}

/* ---- the answer ------------------------------------------------------------------------------ */

struct time_sites {
        struct query *q;
        enum query_time time;
        bool is_split;
        VEC(struct query_site) sites;
        struct map by_key;
        struct query_answer *answer;
};

/* Looks at CPUs come at even distances: a sum of n of them has an error of about √n. Waits are measured from end to end. */
void time_add(struct query_figures *f, const struct trace_tick *tick, enum query_time time) {
        double n = MAX(tick->n_samples, 1u), each_ns = (double)tick->weight_ns / n;

        f->n_allocs += tick->n_samples;
        f->alloc_bytes += tick->weight_ns;
        if (time != QUERY_BLOCKED_TIME)
                f->var[QUERY_CPU] += each_ns * each_ns * n;
}

static void totals_add(struct query_totals *t, const struct trace_tick *tick) {
        t->n_allocs += tick->n_samples;
        t->alloc_bytes += tick->weight_ns;
}

static bool add_tick(void *ctx, const struct trace_tick *tick) {
        struct time_sites *s = ctx;
        uint32_t process = s->q->view->threads[tick->thread].start.process;
        uint32_t key = s->is_split ? process : QUERY_ALL;
        bool added;
        uint64_t *idx = map_put(&s->by_key, (uint64_t)key << 32 | tick->stack, s->sites.n, &added);

        if (added)
                vec_push(&s->sites,
                         (struct query_site){.stack = tick->stack,
                                             .process = key,
                                             .f = {.lacks_events = true, .lacks_blocks = true}});
        time_add(&s->sites.items[*idx].f, tick, s->time);
        totals_add(&s->answer->totals, tick);
        totals_add(&s->answer->processes[process], tick);
        return true;
}

static void totals_begin(struct query_totals *t) {
        t->lacks_events = t->lacks_blocks = true;
}

int time_ask(struct query *q, const struct query_scope *scope, bool is_split,
             struct query_answer **ret, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = calloc(1, sizeof(*a));
        struct time_sites s = {.q = q, .time = scope->of_time, .is_split = is_split, .answer = a};
        uint64_t all_rss = 0;
        int r;

        if (!a || !(a->processes = calloc(q->view->n_processes + 1, sizeof(a->processes[0]))))
                abort();
        a->scope = *scope;
        a->n_processes = q->view->n_processes;
        a->is_exact = true;
        totals_begin(&a->totals);
        for (size_t i = 0; i < a->n_processes; i++)
                totals_begin(&a->processes[i]);
        r = query_each_tick(q, scope, add_tick, &s, reterr);
        if (r >= 0)
                r = rss_find_peaks(q, &a->scope, a->processes, &all_rss, reterr);
        a->totals.peak_rss_bytes = all_rss;
        a->totals.n_sites = s.sites.n;
        for (size_t i = 0; i < s.sites.n; i++)
                a->totals.var[QUERY_CPU] += s.sites.items[i].f.var[QUERY_CPU];
        a->n_sites = s.sites.n;
        a->sites = TAKE_PTR(s.sites.items);
        map_done(&s.by_key);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}
