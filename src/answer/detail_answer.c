/* SPDX-License-Identifier: MIT */
/* Everything about the blocks the keys select: silt.detail/1. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answers.h"
#include "base/units.h"
#include "base/vec.h"
#include "query/spent_time.h"
#include "show/show_json.h"
#include "show/view.h"

enum { HISTORY_COLUMNS = 200, WITHOUT_COLUMNS = 400, N_BLOCKS = 10, N_THREADS = 50 };

struct detail {
        struct question *k;
        struct view view;
        struct query_answer *answer;
        struct query_totals unfiltered;
        bool is_time; /* figures are of time: there are no blocks */
        bool reads_events;
        VEC(char *) unknown; /* what is not told, and why */
};

static void say_unknown(struct detail *d, const char *what) {
        struct str s = {0};
        struct unit_text n;

        str_addf(&s, "%s: %s events would have to be read", what,
                 unit_count(&n, d->k->v->n_events));
        vec_push(&d->unknown, strdup(str_text(&s)));
        str_done(&s);
}

static int ask(struct detail *d, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *all = NULL;
        struct query_scope scope;
        int r = query_ask(d->k->q, &d->k->resolved.scope, &d->answer, reterr);

        if (r < 0)
                return r;
        query_sort_sites(d->answer->sites, d->answer->n_sites, d->k->resolved.metric);
        scope = d->answer->scope;
        scope.filter = NULL;
        r = query_ask(d->k->q, &scope, &all, reterr);
        if (r >= 0)
                d->unfiltered = all->totals;
        return r;
}

/* ---- in words ------------------------------------------------------------------------------------ */

/* "serve (server.c:88) requested 31.2 MiB live at the peak (7 %), in 12,011 blocks." */
static void put_sentence(struct detail *d) {
        enum query_metric m = d->k->resolved.metric;
        uint64_t whole = query_metric_whole(&d->answer->totals, m);
        uint64_t all = query_metric_whole(&d->unfiltered, m);
        struct str s = {0};

        if (whole == 0) {
                view_add_nothing(&d->view, d->answer, &s);
        } else {
                view_add_whole(&d->view, &d->answer->totals, &s);
                view_add_share(&s, (int64_t)whole, all);
                str_add(&s, ".");
        }
        json_put_string(&d->k->j, "sentence", str_text(&s));
        str_done(&s);
}

/* ---- over time ----------------------------------------------------------------------------------- */

static int put_history(struct detail *d, struct err *reterr) {
        const struct query_group_options by = {.by = QUERY_BY_SITE,
                                               .metric = d->k->resolved.metric};
        _cleanup_(query_history_freep) struct query_history *h = NULL;
        struct json *j = &d->k->j;
        int r = query_history(d->k->q, &d->answer->scope, &by, 0, HISTORY_COLUMNS, 0, &h, reterr);

        if (r < 0)
                return r;
        json_key(j, "history");
        json_object(j);
        json_key(j, "at_s");
        json_array(j);
        for (size_t i = 0; i < h->n_columns; i++)
                json_double(j, answer_seconds(h->at_ns[i]), 6);
        json_end(j);
        json_key(j, "live_bytes");
        json_array(j);
        for (size_t i = 0; i < h->n_columns; i++)
                json_int(j, h->live_bytes[i]);
        json_end(j);
        json_key(j, "live_blocks");
        if (d->k->v->meta.flags & TRACE_LACKS_BLOCKS) {
                json_null(j);
        } else {
                json_array(j);
                for (size_t i = 0; i < h->n_columns; i++)
                        json_int(j, h->live_blocks[i]);
                json_end(j);
        }
        json_end(j);
        return 0;
}

static int put_histogram(struct detail *d, const char *key, enum query_histogram_kind kind,
                         struct err *reterr) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        struct json *j = &d->k->j;
        int r;

        if (d->is_time || !d->reads_events ||
            (kind == QUERY_LIFETIMES && d->k->v->meta.flags & TRACE_LACKS_TIME)) {
                answer_put_null(j, key);
                if (!d->is_time)
                        say_unknown(d, key);
                return 0;
        }
        r = query_histogram(d->k->q, &d->answer->scope, kind, true, &h, reterr);
        if (r < 0)
                return r;
        json_key(j, key);
        json_object(j);
        show_put_histogram(j, h);
        json_end(j);
        return 0;
}

/* ---- who, and examples --------------------------------------------------------------------------- */

static int compare_threads(const void *a, const void *b) {
        const struct query_thread *x = a, *y = b;
        uint64_t n = x->n_allocs + x->n_frees, m = y->n_allocs + y->n_frees;

        if (n != m)
                return n > m ? -1 : 1;
        return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int put_threads(struct detail *d, struct err *reterr) {
        _cleanup_free_ struct query_thread *threads = NULL;
        struct json *j = &d->k->j;
        bool has_figures = false;
        size_t n = 0;
        int r;

        if (d->is_time || !d->reads_events) {
                answer_put_null(j, "threads");
                if (!d->is_time)
                        say_unknown(d, "threads");
                return 0;
        }
        r = query_threads(d->k->q, &d->answer->scope, UINT64_MAX, &threads, &n, &has_figures,
                          reterr);
        if (r < 0)
                return r;
        if (n > 1)
                qsort(threads, n, sizeof(threads[0]), compare_threads);
        json_key(j, "threads");
        json_array(j);
        for (size_t i = 0; i < n && i < N_THREADS; i++) {
                const struct trace_thread_info *info = &d->k->v->threads[threads[i].thread];

                if (threads[i].n_allocs + threads[i].n_frees == 0)
                        break;
                json_object(j);
                json_put_string(j, "name", info->name);
                json_put_uint(j, "tid", info->start.tid);
                json_put_uint(j, "allocations", threads[i].n_allocs);
                json_put_uint(j, "frees", threads[i].n_frees);
                json_end(j);
        }
        json_end(j);
        return 0;
}

struct examples {
        struct detail *d;
        unsigned n;
};

static bool put_block(void *ctx, const struct query_block *b) {
        struct examples *x = ctx;
        struct json *j = &x->d->k->j;
        const struct trace_view *v = x->d->k->v;

        json_object(j);
        answer_put_seconds(j, "time_s", b->time_ns);
        json_put_uint(j, "bytes", b->size_bytes);
        show_put_time(j, x->d->k->q, "age_s", b->age_ns);
        answer_put_bool(j, "live", b->is_live);
        json_put_string(j, "thread", b->thread < v->n_threads ? v->threads[b->thread].name : "");
        json_put_uint(j, "site", b->stack);
        json_end(j);
        return ++x->n < N_BLOCKS;
}

static int put_blocks(struct detail *d, struct err *reterr) {
        struct examples x = {d, 0};
        struct json *j = &d->k->j;
        int r;

        if (d->is_time || !d->reads_events) {
                answer_put_null(j, "blocks");
                if (!d->is_time)
                        say_unknown(d, "blocks");
                return 0;
        }
        json_key(j, "blocks");
        json_array(j);
        r = query_blocks(d->k->q, &d->answer->scope, put_block, &x, reterr);
        json_end(j);
        return r;
}

/* ---- without them -------------------------------------------------------------------------------- */

/* All blocks but those; NULL: no filter says that. */
static struct query_filter *filter_of_others(const struct query_filter *f) {
        static const char *const kinds[] = {"site", "function", "module", "file", "asked-by"};
        struct query_filter *others;
        struct query_condition c;
        struct err e = {0};
        char not_kind[32];
        bool is_kind = false;

        if (query_filter_n(f) != 1)
                return NULL;
        c = query_filter_condition(f, 0);
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                is_kind |= strcmp(c.kind, kinds[i]) == 0;
        if (!is_kind)
                return NULL;
        others = query_filter_new();
        snprintf(not_kind, sizeof(not_kind), "not-%s", c.kind);
        if (query_filter_add(others, not_kind, c.value, &e) < 0)
                others = query_filter_free(others);
        return others;
}

static int put_without(struct detail *d, struct err *reterr) {
        _cleanup_(query_filter_freep) struct query_filter *others =
                filter_of_others(d->answer->scope.filter);
        struct query_scope scope = d->answer->scope;
        struct query_column columns[WITHOUT_COLUMNS];
        struct json *j = &d->k->j;
        size_t most = 0;
        int r;

        if (!others || d->is_time || d->unfiltered.lacks_peak ||
            d->k->v->meta.unit != TRACE_UNIT_BYTES) {
                answer_put_null(j, "without");
                return 0;
        }
        scope.filter = others;
        r = query_timeline(d->k->q, &scope, WITHOUT_COLUMNS,
                           d->reads_events ? ANSWER_MAX_EVENTS : 0, columns, reterr);
        if (r < 0)
                return r;
        for (size_t i = 1; i < WITHOUT_COLUMNS; i++)
                if (columns[i].live_bytes > columns[most].live_bytes)
                        most = i;
        json_key(j, "without");
        json_object(j);
        json_put_uint(j, "peak_live_bytes", columns[most].live_bytes);
        answer_put_seconds(j, "peak_at_s", columns[most].begin_ns);
        json_put_uint(j, "end_live_bytes",
                      d->unfiltered.end_bytes -
                              MIN(d->unfiltered.end_bytes, d->answer->totals.end_bytes));
        json_end(j);
        return 0;
}

/* ---- the other weight ---------------------------------------------------------------------------- */

static int ask_totals(struct detail *d, enum query_time of, bool is_filtered,
                      struct query_totals *ret, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = d->k->resolved.scope;
        int r;

        scope.of_time = of;
        scope.of_mappings = false;
        if (!is_filtered)
                scope.filter = NULL;
        r = query_ask(d->k->q, &scope, &a, reterr);
        if (r >= 0)
                *ret = a->totals;
        return r;
}

/* How long the code on these call paths ran and waited in the window, and how much it allocated; null: nobody looked, or the filter
 * is on single blocks, or on a call path, which is of one weight. */
static int put_both(struct detail *d, struct err *reterr) {
        struct query_totals cpu, all_cpu, blocked, memory = {0};
        struct json *j = &d->k->j;
        struct err e = {0};
        int r = -EINVAL;

        if (query_has_ticks(d->k->q) && !query_filter_has_sites(d->k->resolved.scope.filter)) {
                r = ask_totals(d, QUERY_CPU_TIME, true, &cpu, &e);
                if (r >= 0)
                        r = ask_totals(d, QUERY_CPU_TIME, false, &all_cpu, &e);
                if (r >= 0)
                        r = ask_totals(d, QUERY_BLOCKED_TIME, true, &blocked, &e);
                if (r >= 0 && !query_is_of_time(d->k->q))
                        r = ask_totals(d, QUERY_NO_TIME, true, &memory, &e);
        }
        if (r == -EINVAL) {
                answer_put_null(j, "both");
                return 0;
        }
        if (r < 0) {
                *reterr = e;
                return r;
        }
        json_key(j, "both");
        json_object(j);
        answer_put_seconds(j, "cpu_s", cpu.alloc_bytes);
        answer_put_seconds(j, "all_cpu_s", all_cpu.alloc_bytes);
        answer_put_seconds(j, "blocked_s", blocked.alloc_bytes);
        if (query_is_of_time(d->k->q)) {
                answer_put_null(j, "allocations");
                answer_put_null(j, "bytes_allocated");
        } else {
                json_put_uint(j, "allocations", memory.n_allocs);
                json_put_uint(j, "bytes_allocated", memory.alloc_bytes);
        }
        json_end(j);
        return 0;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static void put_unknown(struct detail *d) {
        struct json *j = &d->k->j;

        json_key(j, "unknown");
        json_array(j);
        for (size_t i = 0; i < d->unknown.n; i++)
                json_string(j, d->unknown.items[i]);
        json_end(j);
}

static int put_detail(struct detail *d, struct err *reterr) {
        uint32_t stack = d->answer->n_sites ? d->answer->sites[0].stack : 0;
        struct json *j = &d->k->j;
        size_t requester;
        int r;

        json_object(j);
        json_put_string(j, "schema", "silt.detail/1");
        put_sentence(d);
        json_put_string(j, "metric", query_metric_name(d->k->resolved.metric));
        show_put_totals(j, "totals", d->k->q, &d->answer->totals);
        show_put_totals(j, "unfiltered", d->k->q, &d->unfiltered);
        json_put_uint(j, "site", stack);
        show_put_stack(j, d->k->q, stack);
        /* of time: the innermost frame, where it went */
        requester = d->is_time && stack ? 0 : query_requester(d->k->q, stack);
        if (requester == SIZE_MAX)
                answer_put_null(j, "requester");
        else
                json_put_uint(j, "requester", requester);
        json_put_uint(j, "stacks_in_all", d->answer->n_sites);
        r = put_history(d, reterr);
        if (r >= 0)
                r = put_histogram(d, "sizes", QUERY_SIZES, reterr);
        if (r >= 0)
                r = put_histogram(d, "lifetimes", QUERY_LIFETIMES, reterr);
        if (r >= 0)
                r = put_threads(d, reterr);
        if (r >= 0)
                r = put_blocks(d, reterr);
        if (r >= 0)
                r = put_without(d, reterr);
        if (r >= 0)
                r = put_both(d, reterr);
        put_unknown(d);
        json_end(j);
        return r;
}

int answer_detail(struct question *k, struct err *reterr) {
        struct detail d = {.k = k,
                           .is_time = k->resolved.scope.of_time,
                           .reads_events = k->asked->request.full ||
                                           k->v->n_events <= ANSWER_MAX_EVENTS ||
                                           query_filter_needs_events(k->resolved.scope.filter)};
        int r = ask(&d, reterr);

        if (r >= 0) {
                view_init(&d.view, k->out, k->q, &k->options, "");
                d.view.s.utf8 = true;
                r = put_detail(&d, reterr);
        }
        query_answer_free(d.answer);
        for (size_t i = 0; i < d.unknown.n; i++)
                free(d.unknown.items[i]);
        vec_free(&d.unknown);
        return r;
}
