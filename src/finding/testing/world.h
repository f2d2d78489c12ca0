/* SPDX-License-Identifier: MIT */
/* A server made of events, for tests of findings: what goes on beside, what a test adds to it, and what is expected to be found. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "finding/finding.h"
#include "query/testing/fabric.h"

/* Tests run side by side: each its own, named before this is included. */
#ifndef TRACE_PATH
#define TRACE_PATH "finding_test.silt"
#endif
#define EXE "/usr/bin/server"

enum { N_ROUNDS = 12 };

/* A finding when it was found. */
struct passed_on {
        const char *kind;
        enum finding_severity severity;
        char *text;
};

/* A server: a table of entries that are replaced one by one, a request with scratch memory, and what a test adds. */
struct world {
        uint64_t random;
        struct fabric *f;
        uint32_t thread, other_thread, main, serve, load, refresh, scratch;
        unsigned n_steps, step_us, n_requests; /* a step */
        VEC(uint64_t) table;
        uint64_t kept_bytes, n_kept;
        struct query *q;
        struct query_answer *answer;
        struct findings *found;
        VEC(struct passed_on) passed_on;
};

static inline uint64_t draw(struct world *w, uint64_t from, uint64_t to) {
        w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
        return from + (w->random >> 33) % (to - from + 1);
}

static inline uint32_t frame(struct world *w, uint32_t caller, const char *function,
                             const char *file) {
        return fabric_frame(w->f, caller, EXE, function, file, 10);
}

static inline uint64_t alloc(struct world *w, uint32_t stack, uint64_t size_bytes) {
        return fabric_alloc(w->f, 0, w->thread, stack, size_bytes);
}

static inline void release(struct world *w, uint64_t seq) {
        fabric_free(w->f, 0, w->thread, seq);
}

/* For good. */
static inline void keep(struct world *w, uint32_t stack, uint64_t size_bytes) {
        alloc(w, stack, size_bytes);
        w->kept_bytes += size_bytes;
        w->n_kept++;
}

static inline void begin(struct world *w, unsigned round) {
        struct fabric_options o = {.seed = round + 1, .max_processes = 1, .max_threads = 2};
        uint32_t start;

        w->f = fabric_new(TRACE_PATH, &o);
        w->thread = fabric_thread(w->f, 0, "server");
        w->other_thread = fabric_thread(w->f, 0, "other");
        start = frame(w, 0, "_start", "");
        w->main = frame(w, start, "main", "main.c");
        w->serve = frame(w, w->main, "serve", "main.c");
        w->load = frame(w, w->main, "load_table", "table.c");
        w->refresh = frame(w, w->serve, "refresh_entry", "table.c");
        w->scratch = frame(w, w->serve, "parse_request", "parse.c");
        w->n_steps = (unsigned)draw(w, 150, 400);
        w->step_us =
                (unsigned)(draw(w, 1, 3) == 1 ? draw(w, 2000, 5000) : draw(w, 100000, 600000000));
        w->n_requests = (unsigned)draw(w, 2, 12);
        w->kept_bytes = w->n_kept = 0;
        vec_clear(&w->table);
        for (uint64_t i = draw(w, 50, 300); i > 0; i--)
                vec_push(&w->table, alloc(w, w->load, draw(w, 100, 2000)));
}

/* What goes on beside: requests come and go, entries are replaced. */
static inline void step(struct world *w) {
        for (unsigned i = 0; i < w->n_requests; i++) {
                uint64_t request = alloc(w, w->scratch, draw(w, 50, 500));
                uint64_t at = draw(w, 0, w->table.n - 1),
                         fresh = alloc(w, w->refresh, draw(w, 100, 2000));

                release(w, w->table.items[at]);
                release(w, request);
                w->table.items[at] = fresh;
        }
        fabric_wait(w->f, w->step_us);
}

/* What was told before all was known. */
static inline void pass_on(void *ctx, const struct finding *x) {
        struct world *w = ctx;
        struct passed_on p = {x->kind, x->severity, strdup(x->text)};

        assert_non_null(p.text);
        assert_true(x->text[0]);
        vec_push(&w->passed_on, p);
}

/* Whoever waits for each gets all of those that are told in the end; their texts may have become longer, behind the first sentence's end. */
static inline void check_passed_on(struct world *w) {
        for (size_t i = 0; i < w->found->n; i++) {
                const struct finding *x = &w->found->items[i];
                size_t k = 0;

                while (k < w->passed_on.n && (strcmp(w->passed_on.items[k].kind, x->kind) != 0 ||
                                              w->passed_on.items[k].severity != x->severity ||
                                              strncmp(w->passed_on.items[k].text, x->text,
                                                      strlen(w->passed_on.items[k].text) - 1) != 0))
                        k++;
                assert_true(k < w->passed_on.n);
        }
}

static inline void end(struct world *w) {
        struct query_scope scope;
        struct err err = {0};

        fabric_end(w->f);
        assert_int_equal(query_open(TRACE_PATH, &w->q, &err), 0);
        scope = query_whole(w->q);
        assert_int_equal(query_ask(w->q, &scope, &w->answer, &err), 0);
        assert_int_equal(findings_make(&(struct finding_source){.q = w->q,
                                                                .names = query_names(w->q),
                                                                .answer = w->answer,
                                                                .whole = &w->answer->totals,
                                                                .complete_stacks_pct = 100,
                                                                .found = pass_on,
                                                                .found_ctx = w},
                                       &w->found, &err),
                         0);
        check_passed_on(w);
}

static inline void done(struct world *w) {
        w->found = findings_free(w->found);
        query_answer_free(w->answer);
        w->q = query_free(w->q);
        vec_free(&w->table);
        for (size_t i = 0; i < w->passed_on.n; i++)
                free(w->passed_on.items[i].text);
        vec_free(&w->passed_on);
}

/* ---- expectations ---------------------------------------------------------------------------- */

static inline void complain(const struct world *w, const char *what) {
        print_error("%s; %u steps of %u us, %u requests each; found:\n", what, w->n_steps,
                    w->step_us, w->n_requests);
        for (size_t i = 0; i < w->found->n; i++)
                print_error("  %s: %s\n", w->found->items[i].kind, w->found->items[i].text);
        fail();
}

static inline double number(const struct world *w, const struct finding *x, const char *name) {
        for (size_t i = 0; i < x->n_numbers; i++)
                if (strcmp(x->numbers[i].name, name) == 0)
                        return x->numbers[i].value;
        complain(w, name);
        return 0;
}

static inline const struct finding *first(const struct world *w, const char *kind,
                                          const char *function) {
        const struct finding *x = w->found->items;

        if (w->found->n == 0 || strcmp(x->kind, kind) != 0 || strcmp(x->function, function) != 0)
                complain(w, kind);
        assert_non_null(strstr(x->text, function));
        assert_true(x->has_site && x->next);
        return x;
}

static inline void none(const struct world *w, const char *kind) {
        for (size_t i = 0; i < w->found->n; i++)
                if (strcmp(w->found->items[i].kind, kind) == 0)
                        complain(w, "told and not true");
}

static inline void no_alarm(const struct world *w) {
        none(w, "growing");
        none(w, "leak");
        none(w, "large-site");
        none(w, "short-peak");
}

static inline void near(const struct world *w, double got, double expected, double tolerance) {
        if (fabs(got - expected) > fabs(expected) * tolerance) {
                print_error("%g, not %g\n", got, expected);
                complain(w, "wrong figure");
        }
}
