/* SPDX-License-Identifier: MIT */
/* Figures of chosen lines of source: what each asked for itself, and what was asked for through it, by whom. */
#include <string.h>

#include "query/call_path.h"
#include "query/query_internal.h"
#include "query/spent_time.h"

struct lining {
        const struct query_lines_options *o;
        struct query *q;
        struct call_paths paths;
        bool *is_touched;   /* by location: has a frame that is meant */
        uint64_t *seen;     /* by line: the path it was counted for last */
        struct map by_call; /* line << 32 | key → index into calls */
        VEC(struct query_call) calls;
        uint64_t n_paths;
        struct query_lines *ret;
};

struct query_lines *query_lines_free(struct query_lines *l) {
        if (!l)
                return NULL;
        free(l->self);
        free(l->total);
        free(l->calls);
        free(l);
        return NULL;
}

static void *new_table(size_t n, size_t item_bytes) {
        void *p = calloc(n + 1, item_bytes);

        if (!p)
                abort();
        return p;
}

static void find_touched(struct lining *l) {
        const struct trace_view *v = l->q->view;

        for (size_t i = 0; i < v->n_symbols; i++)
                if (v->symbols[i].location < v->n_locations &&
                    (l->o->line_of[i] != QUERY_NO_LINE || l->o->is_subject[i]))
                        l->is_touched[v->symbols[i].location] = true;
}

static bool path_is_touched(const struct lining *l, uint32_t stack) {
        const struct trace_view *v = l->q->view;

        for (size_t n = 0; stack && stack < v->n_stacks && n < CALL_PATH_MAX_FRAMES; n++) {
                if (v->stacks[stack].location < v->n_locations &&
                    l->is_touched[v->stacks[stack].location])
                        return true;
                stack = v->stacks[stack].parent;
        }
        return false;
}

/* The line of a frame; frames without a symbol have none. */
static uint32_t line_of(const struct lining *l, uint32_t number) {
        return number < l->q->view->n_symbols ? l->o->line_of[number] : (uint32_t)QUERY_NO_LINE;
}

static bool is_subject(const struct lining *l, uint32_t number) {
        return number < l->q->view->n_symbols && l->o->is_subject[number];
}

static void add_call(struct lining *l, uint32_t line, const struct call_path_frame *callee,
                     const struct query_figures *f) {
        uint32_t key = call_paths_key(&l->paths, callee->number);
        bool added;
        uint64_t *idx = map_put(&l->by_call, (uint64_t)line << 32 | key, l->calls.n, &added);

        if (added)
                vec_push(&l->calls,
                         (struct query_call){.line = line,
                                             .frame = call_paths_frame(l->q, callee->number),
                                             .is_task = callee->is_task});
        query_figures_add(&l->calls.items[*idx].total, f);
}

/* From the outermost frame inwards, so that a line that is on the path twice is told by its first call. */
static void line_path(struct lining *l, const struct query_figures *f) {
        const struct call_paths *p = &l->paths;
        size_t n_inside = p->folded.n; /* shown frames that are farther in */
        bool has_subject = false;

        l->n_paths++;
        for (size_t i = p->all.n; i-- > 0;) {
                uint32_t line = line_of(l, p->all.items[i].number);

                has_subject |= is_subject(l, p->all.items[i].number);
                while (n_inside && p->folded.items[n_inside - 1].frame_idx >= i)
                        n_inside--;
                if (line == QUERY_NO_LINE || l->seen[line] == l->n_paths)
                        continue;
                l->seen[line] = l->n_paths;
                query_figures_add(&l->ret->total[line], f);
                if (n_inside)
                        add_call(l, line, &p->shown.items[n_inside - 1], f);
        }
        if (has_subject)
                query_figures_add(&l->ret->subject_total, f);
}

static void line_site(struct lining *l, const struct query_site *site) {
        uint32_t asker, line;

        if (!path_is_touched(l, site->stack))
                return;
        call_paths_load(&l->paths, site->stack);
        if (l->paths.asker == UINT32_MAX)
                return;
        asker = l->paths.all.items[l->paths.asker].number;
        line = line_of(l, asker);
        if (line != QUERY_NO_LINE)
                query_figures_add(&l->ret->self[line], &site->f);
        if (is_subject(l, asker))
                query_figures_add(&l->ret->subject_self, &site->f);
        line_path(l, &site->f);
}

static int call_compare(const void *a, const void *b, void *metric) {
        const struct query_call *x = a, *y = b;
        int order = x->line < y->line ? -1 : x->line > y->line;

        if (!order)
                order = query_figures_compare(&x->total, &y->total,
                                              *(const enum query_metric *)metric);
        if (!order)
                order = strcmp(x->frame.function, y->frame.function);
        return order ? order : x->frame.offset < y->frame.offset ? -1 : 1;
}

struct query_lines *query_lines_of(struct query *q, const struct query_answer *a,
                                   const struct query_lines_options *o) {
        struct query_lines *ret = new_table(1, sizeof(*ret));
        struct lining l = {.o = o, .q = q, .ret = ret};
        enum query_metric metric = o->metric;

        ret->n_lines = o->n_lines;
        ret->self = new_table(o->n_lines, sizeof(ret->self[0]));
        ret->total = new_table(o->n_lines, sizeof(ret->total[0]));
        l.is_touched = new_table(q->view->n_locations, sizeof(bool));
        l.seen = new_table(o->n_lines, sizeof(uint64_t));
        call_paths_init(&l.paths, q, CALL_PATH_BY_FUNCTION, false);
        l.paths.is_of_time = query_metric_time(o->metric);
        find_touched(&l);
        for (size_t i = 0; i < a->n_sites; i++)
                line_site(&l, &a->sites[i]);
        if (l.calls.n > 1)
                qsort_r(l.calls.items, l.calls.n, sizeof(l.calls.items[0]), call_compare, &metric);
        ret->calls = l.calls.items;
        ret->n_calls = l.calls.n;
        call_paths_done(&l.paths);
        map_done(&l.by_call);
        free(l.is_touched);
        free(l.seen);
        return ret;
}
