/* SPDX-License-Identifier: MIT */
#include "finding/facts.h"

#include <math.h>
#include <string.h>

#include "finding/rules.h"
#include "query/spent_time.h"

/* The standard error of an estimate that a finding may rest on: sixteen samples have it. */
#define FACTS_MAX_ERROR 0.25

/* Work is uneven when at some moment its part is so far from that of the time. */
#define FACTS_UNEVEN 0.04

struct course course_new(struct arena *a, size_t n) {
        return (struct course){arena_alloc(a, n * sizeof(int64_t)),
                               arena_alloc(a, n * sizeof(int64_t)),
                               arena_alloc(a, n * sizeof(int64_t)),
                               arena_alloc(a, n * sizeof(int64_t)), NULL};
}

/* Figures of a damaged trace may be anything: sums of them come round. */
static void add(int64_t *to, const int64_t *from, size_t n) {
        for (size_t i = 0; i < n; i++)
                to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)from[i]);
}

void course_add(struct course *to, const struct course *c, size_t n) {
        add(to->bytes, c->bytes, n);
        add(to->blocks, c->blocks, n);
        add(to->n_allocs, c->n_allocs, n);
        add(to->n_frees, c->n_frees, n);
}

double *course_values(struct arena *a, const int64_t *values, size_t n) {
        double *v = arena_alloc(a, (n + 1) * sizeof(v[0]));

        for (size_t i = 0; i < n; i++)
                v[i] = (double)values[i];
        return v;
}

/* The time in which there was something to see: a process holds nothing before it began and after it ended. */
static struct query_scope life_scope(const struct finding_source *s) {
        const struct trace_view *v = query_view(s->q);
        struct query_scope scope = s->answer->scope;

        scope.to_ns = MIN(scope.to_ns, v->end_ns);
        if (scope.process < v->n_processes) {
                const struct trace_process_info *p = &v->processes[scope.process];

                scope.from_ns = MAX(scope.from_ns, p->start.start_ns);
                if (p->has_end && p->end.end_ns > scope.from_ns)
                        scope.to_ns = MIN(scope.to_ns,
                                          p->end.end_ns + 1); /* with what happened at its end */
        }
        if (scope.from_ns >= scope.to_ns)
                scope.from_ns = s->answer->scope.from_ns;
        scope.to_ns = MAX(scope.to_ns, scope.from_ns + 1);
        return scope;
}

static size_t columns_for(const struct finding_source *s) {
        return query_view(s->q)->n_stacks > FACTS_MANY_STACKS ? FACTS_FEW_COLUMNS : FACTS_COLUMNS;
}

uint64_t facts_max_events(const struct query *q) {
        return query_view(q)->n_events <= 4ull * FACTS_MAX_EVENTS ? FACTS_MAX_EVENTS : 0;
}

static int ask_history(struct facts *f, const struct query_scope *scope, struct err *reterr) {
        const struct query_group_options by = {.by = QUERY_BY_SITE,
                                               .metric = QUERY_ALLOCATED,
                                               .is_full = true};

        return query_history(f->q, scope, &by, FACTS_MAX_SITES, f->n_columns,
                             facts_max_events(f->q), &f->h, reterr);
}

static bool has_events(const struct query_history *h, size_t column) {
        for (size_t i = column; i < (h->n_groups + 1) * h->n_columns; i += h->n_columns)
                if (h->n_allocs[i] != h->n_allocs[i - 1] || h->n_frees[i] != h->n_frees[i - 1])
                        return true;
        return false;
}

/* When the process was seen alive last: by an event, to the column, or by a sample of its memory. A recorder on a busy
 * machine may see its end long after. */
static uint64_t alive_until_ns(struct facts *f) {
        const struct query_history *h = f->h;
        struct query_anon anon = {0};
        struct err err = {0};
        size_t last = h->n_columns - 1;

        if (h->at_ns[last] < h->groups->answer->scope.to_ns ||
            query_anon(f->q, h->groups->answer->scope.process, &anon, &err) < 0 ||
            anon.n_samples == 0)
                return UINT64_MAX;
        while (last > 0 && !has_events(h, last))
                last--;
        return MAX(h->at_ns[last], anon.last_ns);
}

/* Cuts off the end that was seen too late; false: there is none. */
static bool cut_to_life(struct facts *f, struct query_scope *scope) {
        const struct trace_view *v = query_view(f->q);
        uint64_t alive_ns;

        if (scope->process >= v->n_processes || scope->filter ||
            !v->processes[scope->process].has_end ||
            v->processes[scope->process].end.end_ns > scope->to_ns)
                return false;
        alive_ns = alive_until_ns(f);
        if (alive_ns >= scope->to_ns || alive_ns <= scope->from_ns)
                return false;
        scope->to_ns = alive_ns;
        return true;
}

/* What follows from the history. */
static void take_history(struct facts *f, uint64_t from_ns) {
        f->rows = f->h->groups->rows;
        f->n_rows = f->h->groups->n;
        f->n_told = f->h->n_groups;
        f->at_s = arena_alloc(f->arena, f->n_columns * sizeof(f->at_s[0]));
        for (size_t i = 0; i < f->n_columns; i++)
                f->at_s[i] = (double)(f->h->at_ns[i] - MIN(f->h->at_ns[i], from_ns)) / 1e9;
        f->total = course_new(f->arena, f->n_columns);
        for (size_t row = 0; row <= f->n_told; row++) {
                struct course c = facts_course(f, row);

                course_add(&f->total, &c, f->n_columns);
        }
}

/* ---- by work --------------------------------------------------------------------------------- */

static bool is_uneven(const struct facts *f) {
        size_t last = f->n_columns - 1;
        double all = (double)f->total.n_allocs[last], span = f->at_s[last];

        for (size_t i = 0; i < last && all > 0; i++)
                if (fabs((double)f->total.n_allocs[i] / all - f->at_s[i] / span) > FACTS_UNEVEN)
                        return true;
        return false;
}

static void gather_by_work(struct facts *f) {
        const struct query_scope *scope = &f->h->groups->answer->scope;
        struct facts *w = arena_alloc(f->arena, sizeof(*w));
        struct err err = {0};

        *w = (struct facts){.q = f->q, .arena = f->arena, .n_columns = f->n_columns};
        if (!is_uneven(f) ||
            query_history_by_work(f->q, f->h, facts_max_events(f->q), &w->h, &err) < 0)
                return;
        take_history(w, scope->from_ns);
        f->by_work = w;
        f->total.by_work = &w->total;
}

struct course facts_course_new(struct facts *f) {
        struct course c = course_new(f->arena, f->n_columns), *w;

        if (f->by_work) {
                w = arena_alloc(f->arena, sizeof(*w));
                *w = course_new(f->arena, f->n_columns);
                c.by_work = w;
        }
        return c;
}

void facts_add_row(struct facts *f, struct course *to, uint32_t row) {
        struct course c = facts_course(f, row), w;

        course_add(to, &c, f->n_columns);
        if (to->by_work) {
                w = facts_course(f->by_work, row);
                course_add((struct course *)to->by_work, &w, f->n_columns);
        }
}

void facts_begin(struct facts *f, const struct finding_source *source, struct arena *arena) {
        *f = (struct facts){.source = source,
                            .q = source->q,
                            .names = source->names,
                            .arena = arena,
                            .totals = &source->answer->totals,
                            .n_columns = columns_for(source),
                            .begin_s = (double)life_scope(source).from_ns / 1e9};
}

static bool is_nameless_file(void *ctx, const struct query_frame *f) {
        size_t *n = ctx, length = strlen(f->function);

        *n += f->offset >> 62 && !f->file[0] && f->function[0] == '[' &&
                              f->function[length - 1] == ']'
                      ? 1
                      : 2;
        return true;
}

/* As ltrace without -i: one frame, which is "[program]". */
static bool facts_name_no_sites(const struct facts *f) {
        for (size_t row = 0; row < f->n_rows; row++) {
                size_t n = 0;

                query_each_frame(f->q, f->rows[row].stack, is_nameless_file, &n);
                if (n > 1)
                        return false;
        }
        return query_is_imported(f->q);
}

int facts_gather(struct facts *f, struct err *reterr) {
        struct query_scope scope = life_scope(f->source);
        int r = ask_history(f, &scope, reterr);

        if (r < 0)
                return r;
        if (cut_to_life(f, &scope)) {
                f->h = query_history_free(f->h);
                r = ask_history(f, &scope, reterr);
                if (r < 0)
                        return r;
        }
        take_history(f, scope.from_ns);
        f->is_claimed = arena_alloc(f->arena, f->n_rows + 1);
        f->is_collected = arena_alloc(f->arena, f->n_rows + 1);
        for (size_t row = 0; row < f->n_rows; row++)
                map_put(&f->row_of_stack, f->rows[row].stack, row, NULL);
        f->names_no_sites = facts_name_no_sites(f);
        gather_by_work(f);
        return 0;
}

void facts_done(struct facts *f) {
        if (f->by_work) /* it has the groups of the other */
                query_history_free(f->by_work->h);
        query_history_free(f->h);
        vec_free(&f->found);
        vec_free(&f->steps);
        map_done(&f->row_of_stack);
}

size_t facts_column_of_time(const struct facts *f, double share) {
        size_t i = 0;

        while (i + 1 < f->n_columns && f->at_s[i] < f->at_s[f->n_columns - 1] * share)
                i++;
        return i;
}

size_t facts_column_of_work(const struct facts *f, double share) {
        size_t i = 0;

        while (i + 1 < f->n_columns &&
               (double)f->total.n_allocs[i] < (double)f->total.n_allocs[f->n_columns - 1] * share)
                i++;
        return i;
}

bool is_sure(const struct facts *f, double bytes, double var) {
        return !query_sample_bytes(f->q) || sqrt(MAX(var, 0.0)) <= FACTS_MAX_ERROR * bytes;
}

uint32_t facts_row_of_stack(const struct facts *f, uint32_t stack) {
        uint64_t row;

        return map_get(&f->row_of_stack, stack, &row) ? (uint32_t)row : FACTS_NO_ROW;
}
