/* SPDX-License-Identifier: MIT */
/* stacks: call paths as the trace has them, a frame upon another. call_paths: every frame of each, functions that were inlined too. */
#include <stdlib.h>

#include "sql/all_tables.h"
#include "sql/path_text.h"

/* ---- stacks ------------------------------------------------------------------------------------ */

enum { STACK_ID, STACK_PARENT, STACK_LOCATION, STACK_DEPTH, STACK_PATH };

struct stack_cursor {
        struct sql_cursor c;
        size_t i, end;
        bool by_parent; /* i is one of the stacks of a caller; 0: there are no more */
};

/* Which call paths a call path is the caller's of. */
struct stack_children {
        uint32_t *first, *next; /* of each stack: its first child; its next sibling. 0: none */
};

static const struct stack_children *children_of(struct sql_space *space) {
        const struct trace_view *v = space->view;
        struct stack_children *x = space->children;

        if (x)
                return x;
        x = malloc(sizeof(*x));
        if (!x)
                abort();
        x->first = calloc(v->n_stacks + 1, sizeof(uint32_t));
        x->next = calloc(v->n_stacks + 1, sizeof(uint32_t));
        if (!x->first || !x->next)
                abort();
        for (size_t i = v->n_stacks; i-- > 1;) {
                x->next[i] = x->first[v->stacks[i].parent];
                x->first[v->stacks[i].parent] = (uint32_t)i;
        }
        space->children = x;
        return x;
}

void stack_children_done(struct sql_space *space) {
        if (!space->children)
                return;
        free(space->children->first);
        free(space->children->next);
        free(space->children);
        space->children = NULL;
}

static double n_stacks(struct sql_space *space) {
        return (double)space->view->n_stacks;
}

static double n_parents(struct sql_space *space) {
        return (double)space->view->n_stacks / 2 + 1;
}

static void stack_settle(struct stack_cursor *s) {
        s->c.is_eof = s->by_parent ? s->i == 0 : s->i >= s->end;
        s->c.rowid = (int64_t)s->i;
}

static int stack_next(struct sql_cursor *base, struct err *reterr) {
        struct stack_cursor *s = (struct stack_cursor *)base;

        (void)reterr;
        s->i = s->by_parent ? children_of(base->space)->next[s->i] : s->i + 1;
        stack_settle(s);
        return 0;
}

static int stack_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct stack_cursor *s = (struct stack_cursor *)base;
        const struct sql_range *parent = &ask->ranges[STACK_PARENT];
        size_t n = base->space->view->n_stacks;

        (void)reterr;
        s->by_parent = parent->is_set && !ask->ranges[STACK_ID].is_set;
        if (s->by_parent) {
                bool is_there = parent->low == parent->high && parent->low >= 0 &&
                                (uint64_t)parent->low < n;

                s->i = is_there ? children_of(base->space)->first[parent->low] : 0;
        } else {
                sql_range_clip(&ask->ranges[STACK_ID], n, &s->i, &s->end);
                s->i = MAX(s->i, (size_t)1); /* 0 is the empty one */
        }
        stack_settle(s);
        return 0;
}

/* Parents come before their children, so this ends. */
static int64_t depth_of(const struct trace_view *v, uint32_t stack) {
        int64_t depth = 0;

        for (; stack && stack < v->n_stacks; stack = v->stacks[stack].parent)
                depth++;
        return depth;
}

static void stack_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct stack_cursor *s = (const struct stack_cursor *)base;
        const struct trace_view *v = base->space->view;
        const struct trace_stack *x = &v->stacks[s->i];

        switch (column) {
        case STACK_ID: sql_result_count(to, s->i); break;
        case STACK_PARENT: sqlite3_result_int64(to, x->parent); break;
        case STACK_LOCATION: sqlite3_result_int64(to, x->location); break;
        case STACK_DEPTH: sqlite3_result_int64(to, depth_of(v, (uint32_t)s->i)); break;
        case STACK_PATH:
                sqlite3_result_text(to, path_text(base->space, (uint32_t)s->i), -1,
                                    SQLITE_TRANSIENT);
                break;
        default: break;
        }
}

static const struct sql_column stack_columns[] = {
        [STACK_ID] = {"id", "its number in this trace", SQL_IS_KEY | SQL_IS_RANGE | SQL_IS_SOUGHT},
        [STACK_PARENT] = {"parent", "the call path of the caller; 0: there is none",
                          SQL_IS_EQUAL | SQL_IS_SOUGHT, n_parents},
        [STACK_LOCATION] = {"location", "of its innermost frame: frames.location"},
        [STACK_DEPTH] = {"depth", "frames, inlined ones not counted"},
        [STACK_PATH] = {"path", "the functions in one text, to compare traces by", .type = "TEXT"},
};

const struct sql_table sql_stacks = {
        .name = "stacks",
        .help = "call paths: a frame and the call path of its caller",
        SQL_COLUMNS(stack_columns),
        .cursor_bytes = sizeof(struct stack_cursor),
        .n_rows = n_stacks,
        .row_cost = 1,
        .begin = stack_begin,
        .next = stack_next,
        .column = stack_column,
};

/* ---- call_paths -------------------------------------------------------------------------------- */

enum {
        PATH_STACK,
        PATH_LEVEL,
        PATH_DEPTH,
        PATH_FUNCTION,
        PATH_FILE,
        PATH_LINE,
        PATH_MODULE,
        PATH_IS_INLINED,
        PATH_LOCATION,
};

enum { PATH_USUAL_FRAMES = 20, PATH_MAX_INLINED = 256 };

struct path_cursor {
        struct sql_cursor c;
        size_t stack, end;
        uint32_t at;   /* the stack whose location the frames are of */
        int64_t level; /* callers between */
        size_t i, n;   /* frames of the location */
        struct query_frame frames[PATH_MAX_INLINED];
};

static double n_path_rows(struct sql_space *space) {
        return (double)space->view->n_stacks * PATH_USUAL_FRAMES;
}

static void path_load(struct path_cursor *p) {
        const struct trace_view *v = p->c.space->view;

        p->i = 0;
        p->n = MIN(query_known_frames(p->c.space->trace.q, v->stacks[p->at].location, p->frames,
                                      PATH_MAX_INLINED),
                   (size_t)PATH_MAX_INLINED);
}

/* To the next frame from p->at on that is there. */
static void path_settle(struct path_cursor *p) {
        const struct trace_view *v = p->c.space->view;

        while (p->i >= p->n) {
                p->at = v->stacks[p->at].parent;
                p->level++;
                if (p->at == 0 || p->at >= v->n_stacks) {
                        p->level = 0;
                        p->at = (uint32_t)++p->stack;
                        if (p->stack >= p->end) {
                                p->c.is_eof = true;
                                return;
                        }
                }
                path_load(p);
        }
}

static int path_next(struct sql_cursor *base, struct err *reterr) {
        struct path_cursor *p = (struct path_cursor *)base;

        (void)reterr;
        base->rowid++;
        p->i++;
        path_settle(p);
        return 0;
}

static int path_begin(struct sql_cursor *base, const struct sql_ask *ask, struct err *reterr) {
        struct path_cursor *p = (struct path_cursor *)base;

        (void)reterr;
        sql_range_clip(&ask->ranges[PATH_STACK], base->space->view->n_stacks, &p->stack, &p->end);
        p->stack = MAX(p->stack, (size_t)1);
        p->level = 0;
        p->at = (uint32_t)p->stack;
        base->is_eof = p->stack >= p->end;
        if (base->is_eof)
                return 0;
        path_load(p);
        path_settle(p);
        return 0;
}

static void path_column(struct sql_cursor *base, sqlite3_context *to, int column) {
        const struct path_cursor *p = (const struct path_cursor *)base;
        const struct query_frame *f = &p->frames[p->i];

        switch (column) {
        case PATH_STACK: sql_result_count(to, p->stack); break;
        case PATH_LEVEL: sqlite3_result_int64(to, p->level); break;
        case PATH_DEPTH: sql_result_count(to, p->i); break;
        case PATH_FUNCTION: sql_result_name(to, f->function); break;
        case PATH_FILE: sql_result_name(to, f->file); break;
        case PATH_LINE:
                if (f->line)
                        sqlite3_result_int64(to, f->line);
                break;
        case PATH_MODULE: sql_result_name(to, f->module); break;
        case PATH_IS_INLINED: sqlite3_result_int64(to, f->inlined); break;
        case PATH_LOCATION: sqlite3_result_int64(to, f->location); break;
        default: break;
        }
}

static const struct sql_column path_columns[] = {
        [PATH_STACK] = {"stack", "the call path: stacks.id",
                        SQL_IS_EQUAL | SQL_IS_RANGE | SQL_IS_SOUGHT, n_stacks},
        [PATH_LEVEL] = {"level", "0 called the allocator, 1 called that, and so on"},
        [PATH_DEPTH] = {"depth", "of those at one place in code: 0 is the innermost inlined one"},
        [PATH_FUNCTION] = {"function", "as the trace has it; empty: unknown", .type = "TEXT"},
        [PATH_FILE] = {"file", "of source", .type = "TEXT"},
        [PATH_LINE] = {"line", "in it"},
        [PATH_MODULE] = {"module", "the program or library", .type = "TEXT"},
        [PATH_IS_INLINED] = {"is_inlined", "into the next one"},
        [PATH_LOCATION] = {"location", "frames.location"},
};

const struct sql_table sql_call_paths = {
        .name = "call_paths",
        .help = "every frame of each call path, inlined functions too",
        SQL_COLUMNS(path_columns),
        .cursor_bytes = sizeof(struct path_cursor),
        .n_rows = n_path_rows,
        .row_cost = 1,
        .begin = path_begin,
        .next = path_next,
        .column = path_column,
};
