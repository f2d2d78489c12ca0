/* SPDX-License-Identifier: MIT */
#include "query/meeting.h"

#include <stdlib.h>

#include "base/vec.h"
#include "name/name.h"

#define MEET_SHARE 0.9        /* of the bytes: with so much of them the paths have not parted */
#define MEET_PART_SHARE 0.2   /* a few callers with so much each are allocators of their own, */
#define MEET_PARTS_SHARE 0.95 /* where that is all but so much */
#define MEET_MIN_SHARE 0.002  /* smaller branches are put together */

#define NO_FRAME ((struct query_frame){.function = "", .file = "", .module = ""})

enum {
        MEET_MAX_DEPTH = 64,
        MEET_MAX_PARTS = 3,
        MEET_PART_PATHS = 4, /* that lead to an allocator of its own */
};

struct meeting_search {
        struct query *q;
        enum query_metric metric;
        VEC(struct query_meeting) found;
        VEC(const struct query_node *) todo;
};

static int64_t value_of(const struct meeting_search *s, const struct query_node *n) {
        return query_figure_of(&n->total, s->metric).value;
}

/* The largest call path at or below it. */
static uint32_t stack_of(const struct query_node *n) {
        while (!n->stack && n->n_children)
                n = &n->children[0];
        return n->stack;
}

static const struct query_node *first_child(const struct query_node *n) {
        return n->n_children && !n->children[0].is_rest ? &n->children[0] : NULL;
}

/* Whether nearly all that begin has goes on to n's first caller: the paths have not parted. */
static bool goes_on(const struct meeting_search *s, const struct query_node *begin,
                    const struct query_node *n) {
        const struct query_node *next = first_child(n);

        return next && (double)value_of(s, next) >= MEET_SHARE * (double)value_of(s, begin);
}

/* How many of its callers are allocators of their own, to which several paths lead; 0: they are just callers. */
static size_t count_parts(const struct meeting_search *s, const struct query_node *n) {
        double whole = (double)value_of(s, n), told = 0;
        size_t k = 0;

        for (; k < n->n_children && k < MEET_MAX_PARTS && !n->children[k].is_rest; k++) {
                double part = (double)value_of(s, &n->children[k]);

                if (part < MEET_PART_SHARE * whole || n->children[k].n_sites < MEET_PART_PATHS)
                        break;
                told += part;
        }
        return told >= MEET_PARTS_SHARE * whole ? k : 0;
}

/* Where paths never part, or one function calls itself all the way, what was asked for is told by who asked. */
static void name_alone(struct meeting_search *s, struct query_meeting *m) {
        size_t asker = query_requester(s->q, m->stack), i = 0;
        uint32_t stack = m->stack;
        const struct trace_view *v = query_view(s->q);

        m->is_alone = true;
        m->caller = NO_FRAME;
        m->caller_bytes = 0;
        while (stack && stack < v->n_stacks && asker != SIZE_MAX) {
                struct query_frame frames[16];
                size_t n = query_location_frames(s->q, v->stacks[stack].location, frames,
                                                 ARRAY_SIZE(frames));

                if (asker < i + MIN(n, ARRAY_SIZE(frames))) {
                        m->frame = frames[asker - i];
                        return;
                }
                i += n;
                stack = v->stacks[stack].parent;
        }
}

/* Who called it, machinery left out. */
static const struct query_node *caller_of(struct meeting_search *s, const struct query_node *at) {
        const struct query_node *c = first_child(at);

        while (c && first_child(c)) {
                const struct query_frame *f = &c->frame;
                const struct name_frame frame = {f->function, f->file,    f->module, f->offset,
                                                 f->line,     f->inlined, f->guess};
                enum name_kind kind = name_look(query_names(s->q), &frame).kind;

                if (kind != NAME_ALLOCATOR && kind != NAME_MACHINERY)
                        break;
                c = first_child(c);
        }
        return c;
}

/* What is too small to be looked at. */
static void push_rest(struct meeting_search *s, const struct query_node *n) {
        for (size_t i = 0; i < s->found.n; i++)
                if (s->found.items[i].is_rest) {
                        query_figures_add(&s->found.items[i].f, &n->total);
                        s->found.items[i].n_paths += n->n_sites;
                        return;
                }
        if (value_of(s, n) > 0)
                vec_push(&s->found, (struct query_meeting){.frame = NO_FRAME,
                                                           .caller = NO_FRAME,
                                                           .f = n->total,
                                                           .n_paths = n->n_sites,
                                                           .is_rest = true});
}

/* Paths that end at a node. */
static void push_self(struct meeting_search *s, const struct query_node *n) {
        struct query_meeting m = {.frame = n->frame,
                                  .is_task = n->is_task,
                                  .caller = NO_FRAME,
                                  .f = n->self,
                                  .stack = n->stack,
                                  .n_paths = 1,
                                  .is_alone = true};

        if (query_figure_of(&m.f, s->metric).value > 0)
                vec_push(&s->found, m);
}

static void push_meeting(struct meeting_search *s, const struct query_node *at) {
        struct query_meeting m = {.frame = at->frame,
                                  .is_task = at->is_task,
                                  .caller = NO_FRAME,
                                  .stack = stack_of(at),
                                  .n_paths = at->n_sites,
                                  .f = at->total};
        const struct query_node *caller = caller_of(s, at);

        if (caller) {
                m.caller = caller->frame;
                m.caller_is_task = caller->is_task;
                m.caller_bytes = value_of(s, caller);
        }
        if (!caller || m.n_paths == 1)
                name_alone(s, &m);
        if (query_figure_of(&m.f, s->metric).value > 0)
                vec_push(&s->found, m);
}

/* Its callers from the first-th on, each for itself, and what ends at it. */
static void look_at_others(struct meeting_search *s, const struct query_node *n, size_t first) {
        push_self(s, n);
        for (size_t i = first; i < n->n_children; i++)
                if (n->children[i].is_rest)
                        push_rest(s, &n->children[i]);
                else
                        vec_push(&s->todo, &n->children[i]);
}

/* From a node outwards to where its paths part; what leaves them on the way is told for itself. */
static void meet(struct meeting_search *s, const struct query_node *begin) {
        const struct query_node *at = begin;

        for (; goes_on(s, begin, at); at = first_child(at))
                look_at_others(s, at, 1);
        if (count_parts(s, at))
                look_at_others(s, at, 0);
        else
                push_meeting(s, at);
}

static int larger_first(const void *a, const void *b, void *metric) {
        const struct query_meeting *x = a, *y = b;
        int order = query_figures_compare(&x->f, &y->f, *(enum query_metric *)metric);

        return order ? order : x->stack < y->stack ? -1 : x->stack > y->stack;
}

struct query_meetings *query_meet(struct query *q, const struct query_answer *a,
                                  enum query_metric metric) {
        const struct query_tree_options o = {.kind = QUERY_BOTTOM_UP,
                                             .merge = QUERY_MERGE_FUNCTION,
                                             .metric = metric,
                                             .is_full = true,
                                             .min_share = MEET_MIN_SHARE,
                                             .max_depth = MEET_MAX_DEPTH};
        _cleanup_(query_tree_freep) struct query_tree *t = query_tree_answer(q, a, &o);
        struct meeting_search s = {.q = q, .metric = metric};
        struct query_meetings *ret = calloc(1, sizeof(*ret));

        if (!ret)
                abort();
        look_at_others(&s, t->root, 0);
        while (s.todo.n)
                meet(&s, s.todo.items[--s.todo.n]);
        if (s.found.n)
                qsort_r(s.found.items, s.found.n, sizeof(s.found.items[0]), larger_first, &metric);
        vec_free(&s.todo);
        ret->items = s.found.items;
        ret->n = s.found.n;
        return ret;
}

struct query_meetings *query_meetings_free(struct query_meetings *m) {
        if (!m)
                return NULL;
        free(m->items);
        free(m);
        return NULL;
}
