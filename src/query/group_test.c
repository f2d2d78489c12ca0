/* SPDX-License-Identifier: MIT */
/* Groups and trees against sums over plain texts: every group, every node, on random traces and windows.
 * `group_test TRACE…` does the same on recorded traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/vec.h"
#include "query/query.h"
#include "query/testing/brute.h"
#include "query/testing/brute_path.h"
#include "query/testing/fabric.h"
#include "query/through.h"

#define TRACE_PATH "group_test.silt"

struct setting {
        const char *path;
        struct query *q;
        const struct trace_view *v;
        struct names *names;
        uint64_t random;
        bool is_recorded;
        unsigned n_groups, n_nodes, n_rests; /* looked at */
};

static uint64_t draw(struct setting *s, uint64_t below) {
        s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (s->random >> 33) % below : 0;
}

static struct query_scope draw_scope(struct setting *s) {
        struct query_scope scope = query_whole(s->q);
        uint64_t end_ns = s->v->end_ns;

        if (draw(s, 2))
                scope.process = (uint32_t)draw(s, s->v->n_processes);
        /* a recorder learns late that a process has ended: events do not tell the peak of all together */
        if (draw(s, 3) == 0 && !(s->is_recorded && s->v->n_processes > 1))
                scope.process = QUERY_ALL;
        if (draw(s, 3))
                scope.from_ns = draw(s, end_ns / 1000 + 5) * 1000;
        if (draw(s, 3))
                scope.to_ns =
                        scope.from_ns + 1 + draw(s, end_ns - MIN(end_ns, scope.from_ns) + 3000);
        return scope;
}

/* Field by field: this file must not share the adding up with what it tests. */
static void add(struct query_figures *to, const struct query_figures *f) {
        uint64_t *a = (uint64_t *)to;
        const uint64_t *b = (const uint64_t *)f;

        _Static_assert(sizeof(*to) % sizeof(uint64_t) == 0, "figures are 64-bit numbers");
        for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
                a[i] += b[i];
}

static void expect_equal(const struct query_figures *expected, const struct query_figures *actual,
                         const char *what) {
        if (memcmp(expected, actual, sizeof(*expected)) == 0)
                return;
        for (size_t i = 0; i < sizeof(*expected) / sizeof(uint64_t); i++)
                fprintf(stderr, "%s: field %zu: expected %lld, got %lld\n", what, i,
                        ((const long long *)expected)[i], ((const long long *)actual)[i]);
        fail();
}

/* The value of a metric, once more. Those from QUERY_CPU on are of time, which these recordings lack. */
static int64_t value_of(const struct query_figures *f, enum query_metric m) {
        switch (m) {
        case QUERY_MAPPED:
        case QUERY_PEAK: return f->peak_bytes;
        case QUERY_END: return f->end_bytes;
        case QUERY_CPU:
        case QUERY_BLOCKED:
        case QUERY_ALLOCATED: return (int64_t)f->alloc_bytes;
        case QUERY_COUNT: return (int64_t)f->n_allocs;
        case QUERY_TEMPORARY: return (int64_t)f->n_temporary;
        case QUERY_GROWTH: return f->end_bytes - f->begin_bytes;
        case QUERY_N_METRICS: break;
        }
        return 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

struct expected_group {
        char *text;
        struct query_figures self, total;
        bool is_met;
};

struct expected_groups {
        VEC(struct expected_group) items;
};

static struct expected_group *expected_at(struct expected_groups *e, const char *text) {
        struct expected_group *g;

        for (size_t i = 0; i < e->items.n; i++)
                if (strcmp(e->items.items[i].text, text) == 0)
                        return &e->items.items[i];
        g = vec_add(&e->items);
        g->text = strdup(text);
        return g;
}

static enum brute_by brute_by_of(enum query_by by) {
        switch (by) {
        case QUERY_BY_FUNCTION: return BRUTE_FUNCTION;
        case QUERY_BY_MODULE: return BRUTE_MODULE;
        case QUERY_BY_LINE: return BRUTE_SOURCE_LINE;
        case QUERY_BY_CRATE: return BRUTE_CRATE;
        case QUERY_BY_COMPONENT: return BRUTE_COMPONENT;
        default: return BRUTE_FRAME_LINE;
        }
}

static bool is_passing(const char *text) {
        return strncmp(text, BRUTE_PASSES, strlen(BRUTE_PASSES)) == 0;
}

static const char *without_passing(const char *text) {
        return is_passing(text) ? text + strlen(BRUTE_PASSES) : text;
}

/* The frame that asked: the first one that is shown when things are folded. By component: that does not pass on. */
static char *asker_text(struct setting *s, uint32_t stack, enum query_by by) {
        struct brute_path p = brute_path(s->names, s->v, stack, brute_by_of(by), false);
        size_t i = 0;
        char *text;

        while (i < p.n && is_passing(p.texts[i]))
                i++;
        text = strdup(i < p.n ? p.texts[i] : p.n ? without_passing(p.texts[0]) : "no stack");

        brute_path_done(&p);
        return text;
}

static char *whole_text(struct setting *s, uint32_t stack, bool is_full) {
        struct brute_path p = brute_path(s->names, s->v, stack,
                                         is_full ? BRUTE_ADDRESS : BRUTE_FRAME_LINE, is_full);
        char *text = brute_path_text(&p), number[16];

        brute_path_done(&p);
        if (text[0] && !is_full)
                return text;
        free(text);
        snprintf(number, sizeof(number), "%u", stack); /* each stack for itself */
        return strdup(number);
}

static void expect_site(struct setting *s, struct expected_groups *e,
                        const struct query_group_options *o, const struct query_site *site) {
        char *self = o->by == QUERY_BY_SITE ? whole_text(s, site->stack, o->is_full)
                                            : asker_text(s, site->stack, o->by);
        struct brute_path p =
                brute_path(s->names, s->v, site->stack, brute_by_of(o->by), o->is_full);

        add(&expected_at(e, self)->self, &site->f);
        if (o->by == QUERY_BY_SITE || p.n == 0)
                add(&expected_at(e, self)->total, &site->f);
        for (size_t i = 0; i < p.n && o->by != QUERY_BY_SITE; i++) {
                const char *text = without_passing(p.texts[i]);
                bool is_first = !is_passing(p.texts[i]) || strcmp(text, self) == 0;

                for (size_t k = 0; k < i; k++)
                        if (!is_passing(p.texts[k]) || strcmp(text, self) == 0)
                                is_first &= strcmp(without_passing(p.texts[k]), text) != 0;
                if (is_first)
                        add(&expected_at(e, text)->total, &site->f);
        }
        brute_path_done(&p);
        free(self);
}

static char *row_text(struct setting *s, const struct query_group_options *o,
                      const struct query_group *row) {
        struct query_frame f = row->frame;
        char text[400];

        if (o->by == QUERY_BY_SITE)
                return whole_text(s, row->stack, o->is_full);
        if (o->by == QUERY_BY_CRATE || o->by == QUERY_BY_COMPONENT) {
                snprintf(text, sizeof(text), "%s %s", query_by_name(o->by), row->name);
                return strdup(row->n_sites && row->stack == 0 ? "no stack" : text);
        }
        if (row->n_sites && row->stack == 0)
                return strdup("no stack");
        return brute_frame_text(s->names, &f, brute_by_of(o->by));
}

static void check_order(const struct query_groups *g) {
        for (size_t i = 1; i < g->n; i++) {
                const struct query_group *x = &g->rows[i - 1], *y = &g->rows[i];
                enum query_metric m = g->options.metric;

                if (g->options.by_total)
                        assert_true(value_of(&x->total, m) >= value_of(&y->total, m));
                else
                        assert_true(value_of(&x->self, m) >= value_of(&y->self, m));
        }
}

static void check_groups(struct setting *s, const struct query_scope *scope,
                         const struct query_answer *expected_sites, enum query_by by) {
        struct query_group_options o = {.by = by,
                                        .metric = (enum query_metric)draw(s, QUERY_CPU),
                                        .by_total = draw(s, 2),
                                        .is_full = draw(s, 3) == 0};
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        struct query_figures sum = {0}, sum_expected = {0};
        struct expected_groups e = {0};
        struct err err = {0};

        for (size_t i = 0; i < expected_sites->n_sites; i++) {
                expect_site(s, &e, &o, &expected_sites->sites[i]);
                add(&sum_expected, &expected_sites->sites[i].f);
        }
        assert_int_equal(query_group(s->q, scope, &o, &g, &err), 0);
        for (size_t i = 0; i < g->n; i++) {
                char *text = row_text(s, &o, &g->rows[i]);
                struct expected_group *x = expected_at(&e, text);

                assert_false(x->is_met); /* each group has one row */
                x->is_met = true;
                expect_equal(&x->self, &g->rows[i].self, text);
                expect_equal(&x->total, &g->rows[i].total, text);
                add(&sum, &g->rows[i].self);
                s->n_groups++;
                free(text);
        }
        for (size_t i = 0; i < e.items.n; i++) {
                if (!e.items.items[i]
                             .is_met) /* only sites that neither did nor held anything may be missing */
                        expect_equal(&(struct query_figures){0}, &e.items.items[i].total,
                                     e.items.items[i].text);
                free(e.items.items[i].text);
        }
        vec_free(&e.items);
        expect_equal(&sum_expected, &sum, "sum of selves");
        check_order(g);
}

static void check_processes(struct setting *s, const struct query_scope *scope) {
        struct query_group_options o = {.by = QUERY_BY_PROCESS, .metric = QUERY_PEAK};
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_figures *expected = calloc(s->v->n_processes + 1, sizeof(*expected));
        struct err err = {0};

        assert_int_equal(brute_ask_split(s->path, scope, &a, &err), 0);
        for (size_t i = 0; i < a->n_sites; i++)
                add(&expected[a->sites[i].process], &a->sites[i].f);
        assert_int_equal(query_group(s->q, scope, &o, &g, &err), 0);
        for (size_t i = 0; i < g->n; i++) {
                expect_equal(&expected[g->rows[i].process], &g->rows[i].self, "process");
                expected[g->rows[i].process] = (struct query_figures){0};
        }
        for (size_t p = 0; p < s->v->n_processes; p++) /* none is missing */
                expect_equal(&(struct query_figures){0}, &expected[p], "process without a row");
        check_order(g);
        free(expected);
}

/* ---- trees ----------------------------------------------------------------------------------- */

struct expected_tree {
        struct setting *s;
        const struct query_tree_options *o;
        const struct query_answer *sites;
        struct brute_path *paths; /* of each site, from the root on */
        uint64_t weight;
};

static bool is_about_function(const struct query_tree_options *o) {
        return o->kind == QUERY_CALLERS || o->kind == QUERY_CALLEES;
}

/* How frames are told apart; the innermost may be another way than its callers. */
static enum brute_by tree_by(const struct query_tree_options *o, bool is_asker) {
        static const enum brute_by by[] = {BRUTE_FUNCTION, BRUTE_FRAME_LINE, BRUTE_ADDRESS,
                                           BRUTE_FUNCTION};

        return o->merge == QUERY_MERGE_ASKER && is_asker ? BRUTE_FRAME_LINE : by[o->merge];
}

static struct brute_path expected_path(const struct expected_tree *e, uint32_t stack) {
        struct brute_path p, asker;

        if (is_about_function(e->o))
                return brute_path_from(e->s->names, e->s->v, stack, tree_by(e->o, false),
                                       e->o->is_full, e->o->function, e->o->kind == QUERY_CALLERS);
        p = brute_path(e->s->names, e->s->v, stack, tree_by(e->o, false), e->o->is_full);
        asker = brute_path(e->s->names, e->s->v, stack, tree_by(e->o, true), e->o->is_full);
        if (p.n) {
                char *other = p.texts[0];

                p.texts[0] = asker.texts[0];
                asker.texts[0] = other;
        }
        brute_path_done(&asker);
        for (size_t i = 0; e->o->kind == QUERY_TOP_DOWN && i < p.n / 2; i++) {
                char *other = p.texts[p.n - 1 - i];

                p.texts[p.n - 1 - i] = p.texts[i];
                p.texts[i] = other;
        }
        p.has_function = true;
        return p;
}

static bool begins_with(const struct brute_path *p, char *const *texts, size_t n) {
        if (p->n < n)
                return false;
        for (size_t i = 0; i < n; i++)
                if (strcmp(p->texts[i], texts[i]) != 0)
                        return false;
        return true;
}

/* What the sites below a path of texts have: those that end there, and all. */
static uint64_t expect_node(const struct expected_tree *e, char *const *texts, size_t n,
                            struct query_figures *ret_self, struct query_figures *ret_total) {
        uint64_t weight = 0;

        *ret_self = *ret_total = (struct query_figures){0};
        for (size_t i = 0; i < e->sites->n_sites; i++) {
                const struct query_figures *f = &e->sites->sites[i].f;

                if (!e->paths[i].has_function || !begins_with(&e->paths[i], texts, n))
                        continue;
                add(ret_total, f);
                if (e->paths[i].n == n)
                        add(ret_self, f);
                weight += (uint64_t)llabs(value_of(f, e->o->metric));
        }
        return weight;
}

static void check_children(struct expected_tree *e, const struct query_node *node, char **texts,
                           size_t depth);

static void check_child(struct expected_tree *e, const struct query_node *c, char **texts,
                        size_t depth) {
        bool is_asker = e->o->kind == QUERY_BOTTOM_UP ? depth == 0 : c->n_children == 0;
        struct query_figures self, total;
        uint64_t weight;

        texts[depth] = brute_frame_text(e->s->names, &c->frame, tree_by(e->o, is_asker));
        weight = expect_node(e, texts, depth + 1, &self, &total);
        expect_equal(&self, &c->self, texts[depth]);
        expect_equal(&total, &c->total, texts[depth]);
        assert_true((double)weight >= e->o->min_share * (double)e->weight);
        assert_true(!e->o->max_depth || depth < e->o->max_depth);
        e->s->n_nodes++;
        check_children(e, c, texts, depth + 1);
        free(texts[depth]);
}

static void check_children(struct expected_tree *e, const struct query_node *node, char **texts,
                           size_t depth) {
        struct query_figures sum = node->self, last = {0};
        uint64_t n_sites = node->n_sites;

        for (size_t i = 0; i < node->n_children; i++) {
                const struct query_node *c = &node->children[i];

                add(&sum, &c->total);
                n_sites -= c->n_sites;
                if (c->is_rest) {
                        assert_int_equal(i, node->n_children - 1);
                        assert_int_equal(c->n_children, 0);
                        assert_true(c->n_rest > 0);
                        assert_true(e->o->min_share > 0 || e->o->max_depth > 0);
                        e->s->n_rests++;
                        continue;
                }
                if (i)
                        assert_true(value_of(&last, e->o->metric) >=
                                    value_of(&c->total, e->o->metric));
                last = c->total;
                check_child(e, c, texts, depth);
        }
        expect_equal(&node->total, &sum, "self and children");
        if (depth)
                assert_int_equal(n_sites > 0, node->stack != 0); /* those that end here */
}

/* A name that no function has is a pattern. */
static bool is_known(const struct trace_view *v, const char *function) {
        for (size_t i = 0; i < v->n_symbols; i++)
                if (!v->symbols[i].guess && strcmp(v->symbols[i].function, function) == 0)
                        return true;
        return false;
}

static void check_tree(struct setting *s, const struct query_scope *scope,
                       const struct query_answer *expected_sites) {
        static const char *const functions[] = {"walk", "helper", "operator new(unsigned long)",
                                                "shop::Cart::add(int)", "main"};
        struct query_tree_options o = {.kind = (enum query_tree_kind)draw(s, 4),
                                       .metric = (enum query_metric)draw(s, QUERY_CPU),
                                       .is_full = draw(s, 4) == 0,
                                       .min_share = draw(s, 2) ? 0 : (double)draw(s, 20) / 100,
                                       .max_depth = draw(s, 2) ? 0 : 1 + (uint32_t)draw(s, 4)};
        struct expected_tree e = {.s = s, .o = &o, .sites = expected_sites};
        _cleanup_(query_tree_freep) struct query_tree *t = NULL;
        struct query_figures self, total;
        struct err err = {0};
        char *texts[4096];
        int r;

        o.merge = (enum query_merge)draw(s, is_about_function(&o) ? 3 : 4);
        if (is_about_function(&o))
                for (uint64_t i = draw(s, 5), n = i + 5; i < n; i++)
                        if (!o.function || !is_known(s->v, o.function))
                                o.function = functions[i % 5];
        e.paths = calloc(expected_sites->n_sites + 1, sizeof(e.paths[0]));
        for (size_t i = 0; i < expected_sites->n_sites; i++)
                e.paths[i] = expected_path(&e, expected_sites->sites[i].stack);
        e.weight = expect_node(&e, NULL, 0, &self, &total);
        if (!o.function && draw(s, 2))
                t = query_tree_answer(s->q, expected_sites, &o);
        r = t ? 0 : query_tree(s->q, scope, &o, &t, &err);
        if (r < 0) { /* then no path has the function */
                assert_non_null(o.function);
                assert_int_equal(r, -2);
                expect_equal(&(struct query_figures){0}, &total, o.function);
        } else {
                expect_equal(&self, &t->root->self, "root");
                expect_equal(&total, &t->root->total, "root");
                check_children(&e, t->root, texts, 0);
        }
        if (o.function) { /* the same without a tree */
                struct query_figures through = {0};

                r = query_through(s->q, expected_sites, o.function, o.metric, &through, &err);
                assert_true(r == 0 || r == -2);
                expect_equal(&total, &through, o.function);
        }
        for (size_t i = 0; i < expected_sites->n_sites; i++)
                brute_path_done(&e.paths[i]);
        free(e.paths);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static void check_scope(struct setting *s, const struct query_scope *scope) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct err err = {0};

        assert_int_equal(brute_ask(s->path, scope, &a, &err), 0);
        for (unsigned by = 0; by <= QUERY_BY_COMPONENT; by++)
                check_groups(s, scope, a, (enum query_by)by);
        check_processes(s, scope);
        for (unsigned i = 0; i < 6; i++)
                check_tree(s, scope, a);
}

/* Some of the fabric's functions pass on, some of those are of a component that others do not pass on. */
static struct names *load_names(void) {
        static const char rules[] =
                "pass shop shop::Cart::**\ncomponent shop shop::**\npass walkers walk\n"
                "pass shop helper\ncomponent network ** in libnet.so*\n";
        _cleanup_close_ int fd = memfd_create("components", MFD_CLOEXEC);
        struct names *names = NULL;
        struct err err = {0};
        char path[32];

        assert_true(fd >= 0 && fs_write_all(fd, rules, strlen(rules)) == 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        assert_int_equal(names_load(&(struct name_sources){.components = {path}, .n_components = 1},
                                    &names, &err),
                         0);
        return names;
}

static void check_trace(const char *path, uint64_t seed, unsigned n_windows, struct setting *sums) {
        struct setting s = {.path = path,
                            .random = seed,
                            .is_recorded = strcmp(path, TRACE_PATH) != 0};
        struct query_scope scope;
        struct err err = {0};

        assert_int_equal(query_open(path, &s.q, &err), 0);
        s.v = query_view(s.q);
        s.names = load_names();
        query_set_names(s.q, s.names);
        scope = query_whole(s.q);
        check_scope(&s, &scope);
        for (unsigned i = 1; i < n_windows; i++) {
                scope = draw_scope(&s);
                check_scope(&s, &scope);
        }
        sums->n_groups += s.n_groups;
        sums->n_nodes += s.n_nodes;
        sums->n_rests += s.n_rests;
        query_free(s.q);
        names_free(s.names);
}

static void test_random(void **state) {
        struct setting sums = {0};

        (void)state;
        for (uint64_t seed = 1; seed <= 12; seed++) {
                struct fabric_options o = {.seed = seed,
                                           .n_stacks = 10 + 6 * (unsigned)seed,
                                           .slice_events = 60,
                                           .max_processes = 1 + (unsigned)seed % 4,
                                           .max_threads = 1 + (unsigned)seed % 3,
                                           .checkpoint_every = (unsigned)seed % 5,
                                           .max_step_us = 3,
                                           .with_paths = seed % 6 != 0};
                struct fabric *f = fabric_new(TRACE_PATH, &o);

                fabric_run(f, 1200);
                fabric_end(f);
                check_trace(TRACE_PATH, seed, 10, &sums);
        }
        print_message("%u groups, %u nodes, %u rests\n", sums.n_groups, sums.n_nodes, sums.n_rests);
        assert_true(sums.n_groups > 5000 && sums.n_nodes > 5000 && sums.n_rests > 500);
}

static void test_size_classes(void **state) {
        uint64_t min, max, next = 0;

        (void)state;
        for (uint64_t size = 0; size < 100000; size++) { /* without gap, each size in its own */
                query_size_class(size, &min, &max);
                assert_true(min <= size && size <= max);
                if (size == next) {
                        assert_int_equal(min, next);
                        assert_true(max <= 16 || max - min < 16 || (max - min + 1) * 4 <= min - 1);
                        next = max + 1;
                }
        }
        query_size_class(128, &min, &max);
        assert_int_equal(min, 113);
        query_size_class(129, &min, &max);
        assert_int_equal(max, 160);
        query_size_class(1 << 20, &min, &max);
        assert_int_equal(min, (1 << 20) - (1 << 17) + 1);
        assert_int_equal(max, 1 << 20);
        query_size_class(UINT64_MAX, &min, &max);
        assert_true(min < max && max == UINT64_MAX);
}

/* A function that calls itself counts once, in groups and from its outermost call on. */
static void test_recursion(void **state) {
        const struct fabric_options o = {.seed = 1, .max_processes = 1, .max_threads = 1};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t main = fabric_frame(f, 0, "/bin/x", "main", "x.c", 1);
        uint32_t a = fabric_frame(f, main, "/bin/x", "walk", "x.c", 2);
        uint32_t b = fabric_frame(f, a, "/bin/x", "step", "x.c", 3);
        uint32_t c = fabric_frame(f, b, "/bin/x", "walk", "x.c", 2);
        struct query_group_options by = {.by = QUERY_BY_FUNCTION,
                                         .metric = QUERY_END,
                                         .by_total = true};
        struct query_tree_options callees = {.kind = QUERY_CALLEES,
                                             .metric = QUERY_END,
                                             .function = "walk"};
        struct query_groups *g;
        struct query_tree *t;
        struct query_scope scope;
        const struct query_node *n;
        struct err err = {0};
        struct query *q;

        (void)state;
        fabric_alloc(f, 0, fabric_thread(f, 0, "main"), c, 100);
        fabric_alloc(f, 0, 0, b, 10);
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &err), 0);
        scope = query_whole(q);
        assert_int_equal(query_group(q, &scope, &by, &g, &err), 0);
        assert_int_equal(g->n, 3);
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(g->rows[i].total.end_bytes, 110);
                assert_int_equal(g->rows[i].self.end_bytes,
                                 strcmp(g->rows[i].frame.function, "walk") == 0   ? 100
                                 : strcmp(g->rows[i].frame.function, "step") == 0 ? 10
                                                                                  : 0);
        }
        query_groups_free(g);

        assert_int_equal(query_tree(q, &scope, &callees, &t, &err), 0);
        n = t->root;
        for (unsigned i = 0; i < 3; i++) { /* walk, step, walk */
                assert_int_equal(n->n_children, 1);
                n = &n->children[0];
                assert_string_equal(n->frame.function, i == 1 ? "step" : "walk");
                assert_int_equal(n->total.end_bytes, i == 2 ? 100 : 110);
        }
        assert_int_equal(n->n_children, 0);
        query_tree_free(t);
        callees.kind = QUERY_CALLERS;
        assert_int_equal(query_tree(q, &scope, &callees, &t, &err), 0);
        n = &t->root->children[0].children[0];
        assert_string_equal(n->frame.function, "main");
        assert_int_equal(n->total.end_bytes, 110);
        query_tree_free(t);
        callees.function = "wal[jk]$";
        assert_int_equal(query_tree(q, &scope, &callees, &t, &err), 0);
        assert_int_equal(t->n_functions, 1);
        query_tree_free(t);
        callees.function = "nobody";
        assert_int_equal(query_tree(q, &scope, &callees, &t, &err), -2);
        callees.function = "a[";
        assert_true(query_tree(q, &scope, &callees, &t, &err) < 0);
        query_free(q);
}

/* Of a window that a tick ends behind: time, and no sample of its own. */
static void test_time_of_no_samples_is_not_idle(void **state) {
        const struct query_figures none = {0}, some = {.alloc_bytes = 497803};

        (void)state;
        assert_true(query_figures_are_idle(&none));
        assert_false(query_figures_are_idle(&some));
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_size_classes),
                cmocka_unit_test(test_recursion),
                cmocka_unit_test(test_time_of_no_samples_is_not_idle),
        };
        struct setting sums = {0};

        if (argc == 1)
                return cmocka_run_group_tests(tests, NULL, NULL);
        for (int i = 1; i < argc; i++)
                check_trace(argv[i], 1, 3, &sums);
        printf("%u groups, %u nodes as expected\n", sums.n_groups, sums.n_nodes);
        return 0;
}
