/* SPDX-License-Identifier: MIT */
#include "flame/process_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "flame/text_cut.h"
#include "show/style.h"

/* A pid, with all its images. */
struct family {
        uint32_t pid;
        uint32_t process; /* its image with most of the metric; of equals the last */
        uint64_t weight;
};
typedef VEC(struct family) family_vec;

static int family_compare(const void *a, const void *b) {
        const struct family *x = a, *y = b;

        if (x->weight != y->weight)
                return x->weight > y->weight ? -1 : 1;
        return x->process < y->process ? -1 : x->process > y->process;
}

static void find_families(const struct view *v, const struct query_answer *a, family_vec *ret) {
        struct map by_pid = {0};

        for (uint32_t i = 0; i < v->v->n_processes && i < a->n_processes; i++) {
                const struct query_totals *t = &a->processes[i];
                uint64_t weight = query_metric_whole(t, v->metric), *at;
                bool added;

                if (!t->n_allocs && !t->peak_bytes && !t->end_bytes)
                        continue;
                at = map_put(&by_pid, v->v->processes[i].start.pid, ret->n, &added);
                if (added)
                        vec_push(ret, (struct family){v->v->processes[i].start.pid, i, 0});
                if (weight >= ret->items[*at].weight) {
                        ret->items[*at].process = i;
                        ret->items[*at].weight = weight;
                }
        }
        map_done(&by_pid);
        if (ret->n > 1)
                qsort(ret->items, ret->n, sizeof(ret->items[0]), family_compare);
}

/* ---- names ---------------------------------------------------------------------------------------- */

static char *keep_cut(struct str *s, size_t cells, struct arena *arena) {
        struct str cut = {0};
        char *text;

        text_cut_add_name(&cut, str_text(s), cells);
        text = arena_strdup(arena, str_text(&cut));
        str_done(&cut);
        str_clear(s);
        return text;
}

static void name_one(struct part *p, const struct view *v, const struct family *f,
                     struct arena *arena) {
        const struct trace_process *start = &v->v->processes[f->process].start;
        struct str s = {0};

        style_add_clean(&s, query_process_name(v->q, f->process));
        if (!s.n)
                str_add(&s, "process");
        p->name = keep_cut(&s, 60, arena);
        str_addf(&s, "process %u: ", start->pid);
        for (uint32_t i = 0; i < start->n_args && s.n < FLAME_MAX_NAME; i++) {
                str_add(&s, i ? " " : "");
                style_add_clean(&s, start->args[i]);
        }
        p->place = keep_cut(&s, FLAME_MAX_NAME, arena);
        p->pid = start->pid;
        str_done(&s);
}

static void name_rest(struct part *p, size_t n, struct arena *arena) {
        struct str s = {0};
        struct unit_text t;

        str_addf(&s, "%s more process%s", unit_count(&t, n), n == 1 ? "" : "es");
        p->name = keep_cut(&s, 60, arena);
        p->place = "";
        str_done(&s);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

/* The blocks of these pids. */
static int ask(struct part *p, const struct view *v, const struct family *of, size_t n,
               struct err *reterr) {
        struct query_filter *filter = query_filter_copy(v->scope.filter);
        struct query_scope scope = v->scope;
        struct str pids = {0};
        int r;

        for (size_t i = 0; i < n; i++)
                str_addf(&pids, "%s%u", i ? "," : "", of[i].pid);
        r = query_filter_add(filter, "process", str_text(&pids), reterr);
        scope.filter = filter;
        if (r >= 0)
                r = query_ask(v->q, &scope, &p->answer, reterr);
        query_filter_free(filter);
        str_done(&pids);
        if (r >= 0)
                p->answer->scope.filter = v->scope.filter;
        return r;
}

size_t parts_count(const struct view *v, const struct query_answer *whole) {
        family_vec families = {0};
        size_t n;

        if (v->scope.process != QUERY_ALL)
                return 1;
        find_families(v, whole, &families);
        n = families.n;
        vec_free(&families);
        return n;
}

int parts_ask(struct parts *p, const struct view *v, const struct query_answer *whole,
              struct arena *arena, struct err *reterr) {
        family_vec families = {0};
        size_t n_alone;
        int r = 0;

        find_families(v, whole, &families);
        n_alone = families.n <= FLAME_MAX_PROCESSES + 1 ? families.n : FLAME_MAX_PROCESSES;
        for (size_t i = 0; r >= 0 && i < families.n; i += i < n_alone ? 1 : families.n) {
                struct part part = {0};

                r = ask(&part, v, &families.items[i], i < n_alone ? 1 : families.n - i, reterr);
                if (r >= 0 && i < n_alone)
                        name_one(&part, v, &families.items[i], arena);
                else if (r >= 0)
                        name_rest(&part, families.n - i, arena);
                if (r >= 0)
                        vec_push(&p->items, part);
        }
        vec_free(&families);
        return r;
}

void parts_done(struct parts *p) {
        for (size_t i = 0; i < p->items.n; i++)
                query_answer_free(p->items.items[i].answer);
        vec_free(&p->items);
}
