/* SPDX-License-Identifier: MIT */
/* What the program mapped itself, answered as blocks are: by call path, at the moment of the largest sum, at the window's ends.
 * A range that may be touched is a block, a call that maps is an allocation. The first pass finds the moment, the second one looks
 * at everything then: of a part (a filter) too the moment is that of all. */
#include "query/mapped_answer.h"

#include <errno.h>

#include "base/map.h"
#include "query/mapping_walk.h"
#include "query/pick.h"
#include "query/rss.h"
#include "query/timeline.h"

struct level {
        uint64_t bytes, ranges;
};

/* The highest level, and after which change it was reached; 0: when the window began. */
struct highest {
        struct level level;
        uint64_t step, time_ns;
};

struct moment_search {
        uint64_t n_steps;
        bool in_window;
        struct level *levels;  /* one a process, and one of all */
        struct highest *peaks; /* likewise */
        size_t n_processes;
};

/* Sums of a damaged trace come round. */
static void level_change(struct level *l, const struct mapping_change *c) {
        l->bytes += (uint64_t)c->by_bytes;
        l->ranges += (uint64_t)(int64_t)c->n_ranges;
}

static void see(struct highest *h, const struct level *l, uint64_t step, uint64_t time_ns) {
        if (l->bytes > h->level.bytes)
                *h = (struct highest){*l, step, time_ns};
}

static void search_change(void *ctx, const struct mapping_change *c) {
        struct moment_search *s = ctx;

        s->n_steps++;
        if (c->range->is_reserved)
                return;
        level_change(&s->levels[c->process], c);
        level_change(&s->levels[s->n_processes], c);
        if (!s->in_window)
                return;
        see(&s->peaks[c->process], &s->levels[c->process], s->n_steps, c->time_ns);
        see(&s->peaks[s->n_processes], &s->levels[s->n_processes], s->n_steps, c->time_ns);
}

static int find_moments(struct query *q, const struct query_scope *scope, struct moment_search *s,
                        struct err *reterr) {
        struct mapping_walk w;
        int r;

        s->n_processes = q->view->n_processes;
        s->levels = calloc(s->n_processes + 1, sizeof(s->levels[0]));
        s->peaks = calloc(s->n_processes + 1, sizeof(s->peaks[0]));
        if (!s->levels || !s->peaks)
                abort();
        r = mapping_walk_init(&w, q, scope, reterr);
        if (r < 0)
                return r;
        w.ctx = s;
        w.change = search_change;
        mapping_walk_to(&w, scope->from_ns);
        for (size_t i = 0; i <= s->n_processes; i++)
                s->peaks[i] = (struct highest){s->levels[i], 0, scope->from_ns};
        s->n_steps = 0;
        s->in_window = true;
        mapping_walk_to(&w, scope->to_ns);
        mapping_walk_done(&w);
        return query_end(q, reterr);
}

/* ---- by call path ---------------------------------------------------------------------------- */

struct mapped_sites {
        VEC(struct query_site) sites; /* of each process apart */
        VEC(struct level) live;       /* one each */
        struct map by_key;
        const struct pick *pick;
        uint64_t n_steps, peak_step; /* of the window; peak_step UINT64_MAX: its end */
        bool in_window;
};

static size_t site_of(struct mapped_sites *s, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&s->by_key, (uint64_t)process << 32 | stack, s->sites.n, &added);

        if (added) {
                vec_push(&s->sites, (struct query_site){.stack = stack, .process = process});
                vec_push(&s->live, (struct level){0});
        }
        return (size_t)*idx;
}

static void keep_peak(struct mapped_sites *s) {
        for (size_t i = 0; i < s->sites.n; i++) {
                s->sites.items[i].f.peak_bytes = (int64_t)s->live.items[i].bytes;
                s->sites.items[i].f.peak_blocks = (int64_t)s->live.items[i].ranges;
        }
}

static bool is_picked(const struct mapped_sites *s, uint32_t process, uint32_t stack) {
        return pick_has_stack(s->pick, stack) && pick_has_process(s->pick, process);
}

static void add_flow(struct query_figures *f, const struct mapping_change *c) {
        if (c->by_bytes > 0)
                f->alloc_bytes += (uint64_t)c->by_bytes;
        else
                f->free_bytes += 0 - (uint64_t)c->by_bytes;
        f->n_frees += c->by_bytes < 0 && c->n_ranges < 0;
}

static void sites_change(void *ctx, const struct mapping_change *c) {
        struct mapped_sites *s = ctx;

        if (!c->range->is_reserved && is_picked(s, c->process, c->range->stack)) {
                size_t i = site_of(s, c->process, c->range->stack);

                level_change(&s->live.items[i], c);
                if (s->in_window && !c->is_handed_on)
                        add_flow(&s->sites.items[i].f, c);
        }
        s->n_steps++;
        if (s->in_window && s->n_steps == s->peak_step)
                keep_peak(s);
}

static void sites_call(void *ctx, const struct trace_mapping *m, uint64_t size_bytes) {
        struct mapped_sites *s = ctx;

        size_t i;

        (void)size_bytes;
        if (!s->in_window || !is_picked(s, m->process, m->stack))
                return;
        i = site_of(s, m->process, m->stack);
        s->sites.items[i].f.n_allocs++;
}

static int find_sites(struct query *q, const struct query_scope *scope, struct mapped_sites *s,
                      struct err *reterr) {
        struct mapping_walk w;
        int r = mapping_walk_init(&w, q, scope, reterr);

        if (r < 0)
                return r;
        w.ctx = s;
        w.change = sites_change;
        w.called = sites_call;
        mapping_walk_to(&w, scope->from_ns);
        for (size_t i = 0; i < s->sites.n; i++) {
                s->sites.items[i].f.begin_bytes = (int64_t)s->live.items[i].bytes;
                s->sites.items[i].f.begin_blocks = (int64_t)s->live.items[i].ranges;
        }
        if (s->peak_step == 0)
                keep_peak(s);
        s->n_steps = 0;
        s->in_window = true;
        mapping_walk_to(&w, scope->to_ns);
        mapping_walk_done(&w);
        for (size_t i = 0; i < s->sites.n; i++) {
                s->sites.items[i].f.end_bytes = (int64_t)s->live.items[i].bytes;
                s->sites.items[i].f.end_blocks = (int64_t)s->live.items[i].ranges;
        }
        if (s->peak_step == UINT64_MAX)
                keep_peak(s);
        return query_end(q, reterr);
}

/* Sites that never had anything that could be touched are no answer. */
static void drop_idle(struct mapped_sites *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->sites.n; i++) {
                const struct query_figures *f = &s->sites.items[i].f;

                if (f->peak_bytes || f->begin_bytes || f->end_bytes || f->alloc_bytes)
                        s->sites.items[n++] = s->sites.items[i];
        }
        s->sites.n = n;
}

static void merge_processes(struct mapped_sites *s) {
        struct mapped_sites all = {0};

        for (size_t i = 0; i < s->sites.n; i++) {
                size_t to = site_of(&all, QUERY_ALL, s->sites.items[i].stack);

                query_figures_add(&all.sites.items[to].f, &s->sites.items[i].f);
        }
        vec_free(&s->sites);
        vec_free(&all.live);
        map_done(&all.by_key);
        s->sites.items = all.sites.items;
        s->sites.n = all.sites.n;
        s->sites.cap = all.sites.cap;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void totals_add(struct query_totals *t, const struct query_figures *f) {
        t->n_allocs += f->n_allocs;
        t->alloc_bytes += f->alloc_bytes;
        t->n_frees += f->n_frees;
        t->peak_bytes += (uint64_t)f->peak_bytes;
        t->peak_blocks += (uint64_t)f->peak_blocks;
        t->begin_bytes += (uint64_t)f->begin_bytes;
        t->begin_blocks += (uint64_t)f->begin_blocks;
        t->end_bytes += (uint64_t)f->end_bytes;
        t->end_blocks += (uint64_t)f->end_blocks;
        t->n_sites++;
}

/* Each process for itself; of a part, what it had of the common moment. */
static int fill_totals(struct query *q, struct query_answer *a, const struct mapped_sites *s,
                       const struct moment_search *m, bool is_moment, struct err *reterr) {
        uint64_t all_rss = 0;
        int r;

        for (size_t i = 0; i < s->sites.n; i++) {
                const struct query_site *site = &s->sites.items[i];

                totals_add(&a->totals, &site->f);
                totals_add(&a->processes[site->process], &site->f);
                if (a->held_bytes)
                        a->held_bytes[site->process] += site->f.peak_bytes;
        }
        a->totals.peak_ns =
                is_moment ? MIN(a->scope.to_ns, q->view->end_ns) : m->peaks[a->n_processes].time_ns;
        for (size_t p = 0; p < a->n_processes; p++) {
                a->processes[p].peak_ns = a->totals.peak_ns;
                if (s->pick || is_moment)
                        continue;
                a->processes[p].peak_bytes = m->peaks[p].level.bytes;
                a->processes[p].peak_blocks = m->peaks[p].level.ranges;
                a->processes[p].peak_ns = m->peaks[p].time_ns;
        }
        r = rss_find_peaks(q, &a->scope, a->processes, &all_rss, reterr);
        a->totals.peak_rss_bytes = a->scope.process == QUERY_ALL
                                           ? all_rss
                                           : a->processes[a->scope.process].peak_rss_bytes;
        return r;
}

static int refuse_blocks(struct err *reterr) {
        return err_about(
                reterr, "by",
                err_set(reterr, -EINVAL,
                        "mapped is not about blocks: leave out conditions on threads, sizes, lifetimes and moments of blocks"));
}

int mapped_ask(struct query *q, const struct query_scope *scope, bool is_split,
               struct query_answer **ret, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = calloc(1, sizeof(*a));
        struct moment_search m = {0};
        struct mapped_sites s = {0};
        size_t n = q->view->n_processes;
        int r = pick_get(q, scope->filter, &s.pick, reterr);

        if (r < 0)
                return r;
        if (s.pick && s.pick->needs_events)
                return refuse_blocks(reterr);
        if (!a || !(a->processes = calloc(n + 1, sizeof(a->processes[0]))))
                abort();
        if (scope->process == QUERY_ALL && !s.pick &&
            !(a->held_bytes = calloc(n + 1, sizeof(a->held_bytes[0]))))
                abort();
        a->scope = *scope;
        a->n_processes = n;
        a->is_exact = true;
        r = find_moments(q, scope, &m, reterr);
        if (r >= 0) {
                s.peak_step = scope->is_moment ? UINT64_MAX : m.peaks[n].step;
                r = find_sites(q, scope, &s, reterr);
        }
        if (r >= 0) {
                drop_idle(&s);
                r = fill_totals(q, a, &s, &m, scope->is_moment, reterr);
        }
        if (r >= 0 && !is_split)
                merge_processes(&s);
        a->n_sites = s.sites.n;
        a->sites = TAKE_PTR(s.sites.items);
        vec_free(&s.live);
        map_done(&s.by_key);
        free(m.levels);
        free(m.peaks);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}

/* ---- over time ------------------------------------------------------------------------------- */

struct drawing {
        struct timeline *t;
        const struct pick *pick;
        uint64_t bytes;
};

static void draw_change(void *ctx, const struct mapping_change *c) {
        struct drawing *d = ctx;

        if (c->range->is_reserved || !pick_has_stack(d->pick, c->range->stack) ||
            !pick_has_process(d->pick, c->process))
                return;
        d->bytes += (uint64_t)c->by_bytes;
        if (c->time_ns >= d->t->from_ns)
                timeline_step_to(d->t, c->time_ns, d->bytes);
        else
                d->t->level = d->bytes;
}

int mapped_draw(struct timeline *t, const struct pick *pick, struct err *reterr) {
        struct drawing d = {.t = t, .pick = pick};
        struct mapping_walk w;
        int r;

        if (pick && pick->needs_events)
                return refuse_blocks(reterr);
        r = mapping_walk_init(&w, t->q, t->scope, reterr);
        if (r < 0)
                return r;
        t->level = 0;
        t->time_ns = t->from_ns;
        w.ctx = &d;
        w.change = draw_change;
        mapping_walk_to(&w, t->to_ns);
        mapping_walk_done(&w);
        return 0;
}
