/* SPDX-License-Identifier: MIT */
#include "fleet/site_taker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "name/stable.h"
#include "show/frame.h"

#define MS_NS 1000000ull

/* ---- call paths as functions ---------------------------------------------------------------------- */

struct path_namer {
        struct frame_names names;
        struct frame_stack stack;
        VEC(struct str) texts; /* kept for the next */
        VEC(const char *) frames;
};

static void path_namer_init(struct path_namer *n, struct query *q, struct names *names) {
        *n = (struct path_namer){.names = {.q = q, .names = names}};
}

static void path_namer_done(struct path_namer *n) {
        for (size_t i = 0; i < n->texts.n; i++)
                str_done(&n->texts.items[i]);
        vec_free(&n->texts);
        vec_free(&n->frames);
        frame_stack_done(&n->stack);
}

/* Names without what changes from build to build; code without one as the file it is in. */
static void add_function(struct path_namer *n, const struct name_frame *f, struct str *to) {
        str_clear(to);
        if (f->function[0] && !f->guess) {
                stable_add_function(to, name_full(n->names.names, f->function));
        } else {
                str_add(to, "[");
                if (f->module[0])
                        stable_add_module(to, f->module);
                else
                        str_add(to, "unknown");
                str_add(to, "]");
        }
}

static uint32_t number_path(struct path_namer *n, struct fleet_batch *b, uint32_t stack) {
        size_t used = 0;

        frame_stack_fill(&n->stack, &n->names, stack, false);
        for (size_t i = 0; i < n->stack.shown.n && used < FLEET_MAX_FRAMES; i++) {
                const struct name_frame *f =
                        &n->stack.frames.items[n->stack.shown.items[i].frame_idx];

                if (used == n->texts.n)
                        (void)vec_add(&n->texts);
                add_function(n, f, &n->texts.items[used]);
                /* how many unnamed functions of a file follow each other is nobody's name */
                if (used && n->texts.items[used].bytes[0] == '[' &&
                    strcmp(str_text(&n->texts.items[used]), str_text(&n->texts.items[used - 1])) ==
                            0)
                        continue;
                used++;
        }
        vec_clear(&n->frames);
        for (size_t i = 0; i < used; i++)
                vec_push(&n->frames, str_text(&n->texts.items[i]));
        if (!used)
                vec_push(&n->frames, "[unknown]");
        return fleet_batch_path(b, n->frames.items, n->frames.n);
}

/* ---- figures -------------------------------------------------------------------------------------- */

static struct site_sum *sum_of(struct site_taker *t, uint32_t stack) {
        while (t->sums.n <= stack)
                (void)vec_add(&t->sums);
        return &t->sums.items[stack];
}

/* More than before, or nothing: parts of a damaged file may be missing now that were there. */
static uint64_t since(uint64_t *before, uint64_t now) {
        uint64_t more = now > *before ? now - *before : 0;

        *before = now;
        return more;
}

struct path_figures {
        int64_t live_bytes, live_blocks;
        uint64_t alloc_bytes, n_allocs;
        double var;
        uint32_t path_idx;
};
typedef VEC(struct path_figures) figures_list;

static void add_figures(struct path_figures *to, const struct path_figures *f) {
        to->live_bytes += f->live_bytes;
        to->live_blocks += f->live_blocks;
        to->alloc_bytes += f->alloc_bytes;
        to->n_allocs += f->n_allocs;
        to->var += f->var;
}

/* All call paths that hold or allocated something, those with the same functions as one; numbers are of `all`. */
static void add_up(struct site_taker *t, struct query *q, const struct query_answer *a,
                   struct fleet_batch *all, figures_list *ret) {
        struct path_namer namer;

        path_namer_init(&namer, q, t->names);
        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_figures *f = &a->sites[i].f;
                struct site_sum *sum = sum_of(t, a->sites[i].stack);
                struct path_figures figures = {
                        .live_bytes = f->end_bytes,
                        .live_blocks = f->end_blocks,
                        .alloc_bytes = since(&sum->alloc_bytes, f->alloc_bytes),
                        .n_allocs = since(&sum->n_allocs, f->n_allocs),
                        .var = f->var[QUERY_END],
                };
                uint32_t path;

                if (!figures.live_bytes && !figures.live_blocks && !figures.n_allocs)
                        continue;
                path = number_path(&namer, all, a->sites[i].stack);
                while (ret->n <= path) {
                        struct path_figures *new = vec_add(ret);

                        new->path_idx = (uint32_t)(ret->n - 1);
                }
                add_figures(&ret->items[path], &figures);
        }
        path_namer_done(&namer);
}

static int compare_live(const void *x, const void *y) {
        const struct path_figures *a = x, *b = y;

        if (a->live_bytes != b->live_bytes)
                return a->live_bytes > b->live_bytes ? -1 : 1;
        return a->path_idx < b->path_idx ? -1 : a->path_idx > b->path_idx;
}

static int compare_allocated(const void *x, const void *y) {
        const struct path_figures *a = x, *b = y;

        if (a->alloc_bytes != b->alloc_bytes)
                return a->alloc_bytes > b->alloc_bytes ? -1 : 1;
        return a->path_idx < b->path_idx ? -1 : a->path_idx > b->path_idx;
}

static void put_site(struct fleet_batch *b, uint32_t path_idx, const struct path_figures *f) {
        fleet_batch_add_site(b, &(struct fleet_site){.path_idx = path_idx,
                                                     .live_bytes = f->live_bytes,
                                                     .live_blocks = f->live_blocks,
                                                     .alloc_bytes = f->alloc_bytes,
                                                     .n_allocs = f->n_allocs,
                                                     .error_bytes = sqrt(MAX(f->var, 0.0))});
}

static void copy_path(struct fleet_batch *b, const struct fleet_batch *all,
                      const struct path_figures *f) {
        const struct fleet_path *p = &all->paths.items[f->path_idx];
        const char *frames[FLEET_MAX_FRAMES];

        for (size_t i = 0; i < p->n_frames; i++)
                frames[i] = all->texts.items[p->frames[i]];
        put_site(b, fleet_batch_path(b, frames, p->n_frames), f);
}

/* Half of the places are for those that hold most, then come those of the rest that allocated most. */
static void put_sites(struct site_taker *t, const struct fleet_batch *all, figures_list *figures,
                      struct fleet_batch *b) {
        size_t n_live = figures->n > t->max_paths ? t->max_paths / 2 : figures->n;
        size_t n = MIN(figures->n, t->max_paths);
        struct path_figures other = {0};

        if (figures->n)
                qsort(figures->items, figures->n, sizeof(figures->items[0]), compare_live);
        if (figures->n > n_live)
                qsort(figures->items + n_live, figures->n - n_live, sizeof(figures->items[0]),
                      compare_allocated);
        for (size_t i = 0; i < n; i++)
                copy_path(b, all, &figures->items[i]);
        for (size_t i = n; i < figures->n; i++)
                add_figures(&other, &figures->items[i]);
        if (figures->n > n)
                put_site(b, fleet_batch_path(b, (const char *[]){"(other)"}, 1), &other);
}

static uint64_t resident_at(struct query *q, uint64_t at_ns) {
        struct query_scope moment = {.process = QUERY_ALL,
                                     .from_ns = at_ns ? at_ns - 1 : 0,
                                     .to_ns = at_ns};
        struct query_column column;

        if (query_timeline(q, &moment, 1, 0, &column, NULL) < 0 || !column.has_rss)
                return 0;
        return column.rss_bytes;
}

/* Of samples: what call paths add up to. Counts are known for the end alone, and would tell of the whole in its period. */
static struct query_totals estimated(const struct query_answer *a) {
        struct query_totals totals = a->totals;

        totals.n_allocs = totals.alloc_bytes = totals.n_frees = 0;
        for (size_t i = 0; i < a->n_sites; i++) {
                totals.n_allocs += a->sites[i].f.n_allocs;
                totals.alloc_bytes += a->sites[i].f.alloc_bytes;
                totals.n_frees += a->sites[i].f.n_frees;
        }
        return totals;
}

static void take_totals(struct site_taker *t, struct query *q, const struct query_answer *a,
                        struct fleet_snapshot *s) {
        struct query_totals totals = query_sample_bytes(q) ? estimated(a) : a->totals;

        s->live_bytes = (int64_t)MIN(totals.end_bytes, (uint64_t)INT64_MAX);
        s->live_blocks = (int64_t)MIN(totals.end_blocks, (uint64_t)INT64_MAX);
        s->peak_bytes = totals.peak_bytes;
        s->alloc_bytes = since(&t->alloc_bytes, totals.alloc_bytes);
        s->n_allocs = since(&t->n_allocs, totals.n_allocs);
        s->n_frees = since(&t->n_frees, totals.n_frees);
        s->n_failed = since(&t->n_failed, totals.n_failed);
        s->n_lost = since(&t->n_lost, totals.n_lost);
        s->error_bytes = sqrt(MAX(totals.var[QUERY_END], 0.0));
}

static int ask(struct query *q, uint64_t to_ns, struct query_answer **ret, struct err *reterr) {
        struct query_scope scope = {.process = QUERY_ALL, .to_ns = to_ns};

        return query_ask(q, &scope, ret, reterr);
}

/* Wherever that is: what it hides is unknown. */
bool site_taker_is_damaged(struct query *q) {
        return query_damage(q)[0] || query_view(q)->n_unwritten_events;
}

int site_taker_take(struct site_taker *t, struct query *q, uint64_t at_ms, bool is_last,
                    struct fleet_batch *b, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        _cleanup_(fleet_batch_freep) struct fleet_batch *all = NULL;
        uint64_t end_ns = query_view(q)->end_ns, at_ns = is_last ? end_ns : at_ms * MS_NS;
        figures_list figures = {0};
        struct fleet_snapshot *s;
        int r = ask(q, is_last ? UINT64_MAX : at_ns, &a, reterr);

        if (r < 0)
                return r;
        s = fleet_batch_add_snapshot(b);
        s->recording_ms = at_ms;
        s->unix_ms = query_view(q)->meta.started_unix_ns / MS_NS + at_ms;
        s->period_ms = at_ms - t->last_ms;
        s->rss_bytes = resident_at(q, at_ns);
        s->sample_bytes = query_sample_bytes(q);
        s->is_last = is_last;
        s->is_damaged = site_taker_is_damaged(q);
        s->is_late = query_view(q)->n_priors > 0;
        take_totals(t, q, a, s);
        all = fleet_batch_new(&b->run);
        add_up(t, q, a, all, &figures);
        put_sites(t, all, &figures, b);
        vec_free(&figures);
        t->last_ms = at_ms;
        return 0;
}

/* What was taken up to that moment. */
static int go_on(struct site_taker *t, struct query *q, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct fleet_snapshot unused;
        int r = ask(q, t->last_ms * MS_NS, &a, reterr);

        if (r < 0)
                return r;
        take_totals(t, q, a, &unused);
        for (size_t i = 0; i < a->n_sites; i++)
                *sum_of(t, a->sites[i].stack) =
                        (struct site_sum){a->sites[i].f.n_allocs, a->sites[i].f.alloc_bytes};
        return 0;
}

int site_taker_init(struct site_taker *t, struct query *q, const struct name_sources *rules,
                    size_t max_paths, uint64_t last_ms, struct err *reterr) {
        int r;

        *t = (struct site_taker){.max_paths = max_paths, .last_ms = last_ms};
        r = names_load(rules, &t->names, reterr);
        return r >= 0 && last_ms ? go_on(t, q, reterr) : r;
}

void site_taker_done(struct site_taker *t) {
        vec_free(&t->sums);
        t->names = names_free(t->names);
}

/* ---- whose it is ----------------------------------------------------------------------------------- */

static void add_build(const struct trace_view *v, const char *exe, struct str *to) {
        for (size_t i = 0; i < v->n_modules; i++) {
                const struct trace_module *m = &v->modules[i];

                if (!exe[0] || strcmp(m->path, exe) != 0)
                        continue;
                for (uint32_t k = 0; k < m->build_id_len; k++)
                        str_addf(to, "%02x", m->build_id[k]);
                return;
        }
}

void site_taker_build(struct query *q, struct str *ret) {
        const struct trace_view *v = query_view(q);
        uint32_t process = query_main_process(q);

        str_clear(ret);
        if (process < v->n_processes && v->processes[process].start.exe)
                add_build(v, v->processes[process].start.exe, ret);
}

void site_taker_run(struct query *q, const char *service, const char *host, struct str *build,
                    struct fleet_run *ret) {
        const struct trace_view *v = query_view(q);
        uint32_t process = query_main_process(q);

        ret->program = process < v->n_processes ? frame_base(query_process_name(q, process)) : "";
        ret->pid = v->meta.pid;
        ret->service = service && service[0] ? service : ret->program[0] ? ret->program : "unknown";
        ret->host = host && host[0]                   ? host
                    : v->meta.host && v->meta.host[0] ? v->meta.host
                                                      : "unknown";
        site_taker_build(q, build);
        ret->build = str_text(build);
        ret->id = fleet_run_id(ret->host, v->meta.started_unix_ns, v->meta.pid);
}
