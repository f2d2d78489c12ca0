/* SPDX-License-Identifier: MIT */
/* Figures of lines against plain sums: random traces, random choices of which symbol lies on which line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "name/name.h"
#include "query/query.h"
#include "query/testing/fabric.h"

#define TRACE_PATH "lines_test.silt"

enum { MAX_FRAMES = 4096, MAX_LINES = 7, MAX_CALLS = 4096 };

static uint64_t seed = 1;

static uint64_t draw(uint64_t below) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        return (seed >> 33) % below;
}

/* Field by field: this file must not share the adding up with what it tests. */
static void add(struct query_figures *to, const struct query_figures *f) {
        uint64_t *a = (uint64_t *)to;
        const uint64_t *b = (const uint64_t *)f;

        for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
                a[i] += b[i];
}

struct call {
        uint32_t line;
        const char *function, *module;
        uint32_t location; /* of code without a name */
        struct query_figures total;
};

struct sums {
        struct query_figures self[MAX_LINES], total[MAX_LINES], subject_self, subject_total;
        struct call calls[MAX_CALLS];
        size_t n_calls;
};

struct path {
        struct name_frame frames[MAX_FRAMES];
        int64_t symbols[MAX_FRAMES]; /* -1: none */
        uint32_t locations[MAX_FRAMES];
        size_t n;
};

static void path_fill(struct path *p, const struct trace_view *v, uint32_t stack) {
        p->n = 0;
        for (; stack; stack = v->stacks[stack].parent) {
                uint32_t location = v->stacks[stack].location;
                const struct trace_location *l = &v->locations[location];
                const char *module = l->module < v->n_modules ? v->modules[l->module].path : "";
                size_t before = p->n;

                for (size_t i = 0; i < v->n_symbols; i++) {
                        const struct trace_symbol *s = &v->symbols[i];

                        if (s->location != location)
                                continue;
                        p->symbols[p->n] = (int64_t)i;
                        p->locations[p->n] = location;
                        p->frames[p->n++] =
                                (struct name_frame){s->function, s->file,    module,  l->offset,
                                                    s->line,     s->inlined, s->guess};
                }
                if (p->n > before)
                        continue;
                p->symbols[p->n] = -1;
                p->locations[p->n] = location;
                p->frames[p->n++] = (struct name_frame){"", "", module, l->offset, 0, false, false};
        }
}

static void add_call(struct sums *s, uint32_t line, const struct path *p, size_t frame,
                     const struct query_figures *f) {
        const struct name_frame *callee = &p->frames[frame];
        bool named = callee->function[0] && !callee->guess;
        struct call *c;

        for (size_t i = 0; i < s->n_calls; i++) {
                c = &s->calls[i];
                if (c->line == line && c->location == (named ? 0 : p->locations[frame] + 1) &&
                    (!named || (strcmp(c->function, callee->function) == 0 &&
                                strcmp(c->module, callee->module) == 0))) {
                        add(&c->total, f);
                        return;
                }
        }
        assert_true(s->n_calls < MAX_CALLS);
        c = &s->calls[s->n_calls++];
        *c = (struct call){line, named ? callee->function : "", callee->module,
                           named ? 0 : p->locations[frame] + 1, *f};
}

static void sum_site(struct sums *s, struct query *q, const struct query_site *site,
                     const struct query_lines_options *o, struct path *p) {
        struct name_stack folded = {0};
        bool done[MAX_LINES] = {0}, has_subject = false;
        size_t asker;

        path_fill(p, query_view(q), site->stack);
        if (p->n == 0)
                return;
        name_fold(query_names(q), p->frames, p->n, &folded);
        asker = folded.items[0].frame_idx;
        if (p->symbols[asker] >= 0) {
                if (o->line_of[p->symbols[asker]] != QUERY_NO_LINE)
                        add(&s->self[o->line_of[p->symbols[asker]]], &site->f);
                if (o->is_subject[p->symbols[asker]])
                        add(&s->subject_self, &site->f);
        }
        for (size_t i = p->n; i-- > 0;) {
                int64_t symbol = p->symbols[i];
                size_t callee = SIZE_MAX;

                if (symbol < 0)
                        continue;
                has_subject |= o->is_subject[symbol];
                if (o->line_of[symbol] == QUERY_NO_LINE || done[o->line_of[symbol]])
                        continue;
                done[o->line_of[symbol]] = true;
                add(&s->total[o->line_of[symbol]], &site->f);
                for (size_t k = 0; k < folded.n; k++)
                        if (folded.items[k].frame_idx < i)
                                callee = folded.items[k].frame_idx;
                if (callee != SIZE_MAX)
                        add_call(s, o->line_of[symbol], p, callee, &site->f);
        }
        if (has_subject)
                add(&s->subject_total, &site->f);
        name_stack_done(&folded);
}

static void check(struct query *q, const struct query_lines *l, const struct sums *s) {
        assert_memory_equal(l->self, s->self, l->n_lines * sizeof(s->self[0]));
        assert_memory_equal(l->total, s->total, l->n_lines * sizeof(s->total[0]));
        assert_memory_equal(&l->subject_self, &s->subject_self, sizeof(s->subject_self));
        assert_memory_equal(&l->subject_total, &s->subject_total, sizeof(s->subject_total));
        assert_int_equal(l->n_calls, s->n_calls);
        for (size_t i = 0; i < l->n_calls; i++) {
                const struct query_call *c = &l->calls[i];
                bool named = c->frame.function[0] && !c->frame.guess, is_met = false;

                for (size_t k = 0; k < s->n_calls; k++)
                        is_met |=
                                s->calls[k].line == c->line &&
                                s->calls[k].location == (named ? 0 : c->frame.location + 1) &&
                                (!named || (strcmp(s->calls[k].function, c->frame.function) == 0 &&
                                            strcmp(s->calls[k].module, c->frame.module) == 0)) &&
                                memcmp(&s->calls[k].total, &c->total, sizeof(c->total)) == 0;
                assert_true(is_met);
                assert_true(
                        i == 0 || l->calls[i - 1].line < c->line ||
                        (l->calls[i - 1].line == c->line &&
                         query_figures_compare(&l->calls[i - 1].total, &c->total, QUERY_END) <= 0));
        }
        (void)q;
}

static void check_once(struct query *q) {
        const struct trace_view *v = query_view(q);
        uint32_t *line_of = calloc(v->n_symbols + 1, sizeof(uint32_t));
        bool *is_subject = calloc(v->n_symbols + 1, sizeof(bool));
        struct query_lines_options o = {line_of, is_subject, 1 + draw(MAX_LINES), QUERY_END};
        struct query_scope scope = query_whole(q);
        struct sums *s = calloc(1, sizeof(*s));
        struct path *p = malloc(sizeof(*p));
        struct query_answer *a;
        struct query_lines *l;
        struct err err = {0};

        for (size_t i = 0; i < v->n_symbols; i++) {
                line_of[i] = draw(3) ? (uint32_t)QUERY_NO_LINE : (uint32_t)draw(o.n_lines);
                is_subject[i] = draw(5) == 0;
        }
        scope.from_ns = draw(2) ? draw(v->end_ns / 1000 + 1) * 1000 : 0;
        assert_int_equal(query_ask(q, &scope, &a, &err), 0);
        l = query_lines_of(q, a, &o);
        for (size_t i = 0; i < a->n_sites; i++)
                sum_site(s, q, &a->sites[i], &o, p);
        check(q, l, s);
        query_lines_free(l);
        query_answer_free(a);
        free(s);
        free(p);
        free(line_of);
        free(is_subject);
}

static void test_random(void **state) {
        (void)state;
        for (unsigned i = 0; i < 20; i++) {
                struct fabric_options o = {.seed = 100 + i,
                                           .n_stacks = 60,
                                           .slice_events = 40,
                                           .max_processes = 1 + i % 3,
                                           .max_threads = 2,
                                           .checkpoint_every = 3,
                                           .max_step_us = 500,
                                           .with_names = true,
                                           .with_paths = true};
                struct fabric *f = fabric_new(TRACE_PATH, &o);
                struct query *q;
                struct err err = {0};

                fabric_run(f, 600);
                fabric_end(f);
                assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
                for (unsigned k = 0; k < 10; k++)
                        check_once(q);
                query_free(q);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
