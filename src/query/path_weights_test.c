/* SPDX-License-Identifier: MIT */
/* Mappings, pages and made-up numbers, grouped and put into trees by the code that does so for blocks: against plain sums. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/path_weights.h"
#include "query/query.h"
#include "query/testing/brute_path.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

#define TRACE_PATH "weights_test.silt"

enum { N_MAPPED = 60, MAX_TEXTS = 2000 };

static uint64_t random_state;

static uint64_t draw(uint64_t below) {
        random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
        return below ? (random_state >> 33) % below : 0;
}

static void put_rows(struct fabric *f, const uint32_t *stacks, unsigned n_stacks) {
        for (unsigned i = 0; i < N_MAPPED; i++) {
                struct trace_mapping m = {.stack = stacks[draw(n_stacks)],
                                          .op = TRACE_MMAP,
                                          .prot = i % 4 ? 3 : 0,
                                          .time_ns = fabric_now_ns(f),
                                          .address = 0x100000 * (1 + draw(30)),
                                          .size_bytes = 4096 * (1 + draw(200))};
                struct trace_residency row = {.stack = stacks[draw(n_stacks)],
                                              .time_ns = fabric_now_ns(f),
                                              .peak_ns = fabric_now_ns(f),
                                              .now = {1, 100000, 50000},
                                              .peak = {2, 65536 * (1 + draw(90)), 70000},
                                              .seen = {5, 6553600, 90000}};

                row.max_touched_bytes = draw(row.peak.bytes);
                if (draw(5) == 0)
                        m.op = TRACE_MUNMAP;
                trace_put_mapping(fabric_writer(f), &m);
                trace_put_residency(fabric_writer(f), &row);
                fabric_run(f, 20);
        }
}

static struct query *open_trace(uint64_t seed) {
        static const char *const functions[] = {"main", "run",  "pool_grow",           "read_all",
                                                "load", "save", "io::buffer::reserve", "cache_put"};
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 10,
                                         .slice_events = 100,
                                         .max_processes = 1,
                                         .max_threads = 2,
                                         .with_paths = true};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t stacks[20] = {0};
        struct query *q = NULL;
        struct err e = {0};

        random_state = seed;
        for (unsigned i = 0; i < ARRAY_SIZE(stacks); i++)
                stacks[i] = fabric_frame(f, i ? stacks[draw(i)] : 0,
                                         draw(3) ? "/bin/app" : "/lib/libio.so",
                                         functions[draw(ARRAY_SIZE(functions))], "x.c",
                                         1 + (uint32_t)draw(3));
        put_rows(f, stacks, ARRAY_SIZE(stacks));
        fabric_end(f);
        assert_int_equal(query_open(TRACE_PATH, &q, &e), 0);
        return q;
}

/* ---- plain sums ------------------------------------------------------------------------------ */

struct sums {
        struct {
                char *text;
                int64_t self[QUERY_MAX_VALUES], total[QUERY_MAX_VALUES];
        } rows[MAX_TEXTS];
        size_t n;
};

static size_t sums_at(struct sums *s, const char *text) {
        size_t i = 0;

        while (i < s->n && strcmp(s->rows[i].text, text) != 0)
                i++;
        assert_true(i < MAX_TEXTS);
        if (i == s->n)
                s->rows[s->n++].text = strdup(text);
        return i;
}

static void add(int64_t *to, const int64_t *values) {
        for (unsigned i = 0; i < QUERY_MAX_VALUES; i++)
                to[i] += values[i];
}

static void sums_done(struct sums *s) {
        for (size_t i = 0; i < s->n; i++)
                free(s->rows[i].text);
        free(s);
}

static enum brute_by brute_by_of(enum query_by by) {
        return by == QUERY_BY_FUNCTION ? BRUTE_FUNCTION
               : by == QUERY_BY_MODULE ? BRUTE_MODULE
                                       : BRUTE_SOURCE_LINE;
}

static struct sums *sum_groups(struct query *q, const struct query_weights *w, enum query_by by) {
        struct sums *s = calloc(1, sizeof(*s));

        for (size_t i = 0; i < w->n; i++) {
                const int64_t *values = w->rows[i].f.values;
                struct brute_path p = brute_path(query_names(q), query_view(q), w->rows[i].stack,
                                                 brute_by_of(by), false);

                add(s->rows[sums_at(s, p.n ? p.texts[0] : "no stack")].self, values);
                if (p.n == 0)
                        add(s->rows[sums_at(s, "no stack")].total, values);
                for (size_t k = 0; k < p.n; k++) {
                        bool is_first = true;

                        for (size_t j = 0; j < k; j++)
                                is_first &= strcmp(p.texts[j], p.texts[k]) != 0;
                        if (is_first)
                                add(s->rows[sums_at(s, p.texts[k])].total, values);
                }
                brute_path_done(&p);
        }
        return s;
}

static char *row_text(struct query *q, const struct query_group *row, enum query_by by) {
        return row->n_sites && row->stack == 0
                       ? strdup("no stack")
                       : brute_frame_text(query_names(q), &row->frame, brute_by_of(by));
}

static void check_groups(struct query *q, const struct query_weights *w, enum query_by by) {
        struct query_group_options o = {.by = by, .metric = QUERY_VALUE(draw(w->n_values))};
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        struct sums *s = sum_groups(q, w, by);
        struct err e = {0};

        assert_int_equal(query_group_weights(q, w, &o, &g, &e), 0);
        assert_int_equal(g->n, s->n);
        for (size_t i = 0; i < g->n; i++) {
                char *text = row_text(q, &g->rows[i], by);
                size_t at = sums_at(s, text);

                assert_int_equal(g->n, s->n); /* it was there */
                assert_memory_equal(g->rows[i].self.values, s->rows[at].self,
                                    sizeof(s->rows[at].self));
                assert_memory_equal(g->rows[i].total.values, s->rows[at].total,
                                    sizeof(s->rows[at].total));
                if (i)
                        assert_true(query_figure_of(&g->rows[i - 1].self, o.metric).value >=
                                    query_figure_of(&g->rows[i].self, o.metric).value);
                free(text);
        }
        sums_done(s);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void check_node(struct query *q, const struct query_node *n, const char *above,
                       const struct sums *s, size_t *n_met) {
        int64_t sum[QUERY_MAX_VALUES] = {0};
        char path[4000] = "";

        add(sum, n->self.values);
        for (size_t i = 0; i < n->n_children; i++)
                add(sum, n->children[i].total.values);
        assert_memory_equal(sum, n->total.values, sizeof(sum));
        if (above) {
                char *text = brute_frame_text(query_names(q), &n->frame, BRUTE_FUNCTION);
                size_t i = 0;

                snprintf(path, sizeof(path), "%s;%s", above, text);
                free(text);
                while (i < s->n && strcmp(s->rows[i].text, path) != 0)
                        i++;
                assert_true(i < s->n);
                assert_memory_equal(n->total.values, s->rows[i].total, sizeof(s->rows[i].total));
                assert_memory_equal(n->self.values, s->rows[i].self, sizeof(s->rows[i].self));
                (*n_met)++;
        }
        for (size_t i = 0; i < n->n_children; i++)
                check_node(q, &n->children[i], path, s, n_met);
}

/* Every node is a path from the outside, with what begins so. */
static void check_tree(struct query *q, const struct query_weights *w) {
        struct query_tree_options o = {.metric = QUERY_VALUE(draw(w->n_values))};
        _cleanup_(query_tree_freep) struct query_tree *t = NULL;
        struct sums *s = calloc(1, sizeof(*s));
        struct err e = {0};
        size_t n_met = 0;

        for (size_t i = 0; i < w->n; i++) {
                struct brute_path p = brute_path(query_names(q), query_view(q), w->rows[i].stack,
                                                 BRUTE_FUNCTION, false);
                char path[4000] = "";

                for (size_t k = p.n; k-- > 0;) {
                        size_t at, n = strlen(path);

                        snprintf(path + n, sizeof(path) - n, ";%s", p.texts[k]);
                        at = sums_at(s, path);
                        add(s->rows[at].total, w->rows[i].f.values);
                        if (k == 0)
                                add(s->rows[at].self, w->rows[i].f.values);
                }
                brute_path_done(&p);
        }
        assert_int_equal(query_tree_weights(q, w, &o, &t, &e), 0);
        check_node(q, t->root, NULL, s, &n_met);
        assert_int_equal(n_met, s->n);
        sums_done(s);
}

static void check_all(struct query *q, const struct query_weights *w) {
        static const enum query_by by[] = {QUERY_BY_FUNCTION, QUERY_BY_MODULE, QUERY_BY_LINE};

        for (unsigned i = 0; i < ARRAY_SIZE(by); i++)
                check_groups(q, w, by[i]);
        check_tree(q, w);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void test_mappings(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 10; seed++) {
                struct query *q = open_trace(seed);
                _cleanup_(query_weights_freep) struct query_weights *w = NULL;
                _cleanup_free_ struct query_mapping *rows = NULL;
                struct query_scope scope = query_whole(q);
                struct query_mapped sum;
                struct err e = {0};
                size_t n;

                if (seed % 2)
                        scope.from_ns = draw(query_view(q)->end_ns);
                assert_int_equal(query_weigh_mappings(q, &scope, &w, &e), 0);
                assert_int_equal(query_mappings(q, &scope, &rows, &n, &sum, &e), 0);
                assert_int_equal(w->n, n);
                for (size_t i = 0; i < n; i++) {
                        assert_int_equal(w->rows[i].stack, rows[i].stack);
                        assert_int_equal(w->rows[i].f.values[QUERY_MAPPING_PEAK],
                                         rows[i].peak_bytes);
                        assert_int_equal(w->rows[i].f.values[QUERY_MAPPING_END], rows[i].end_bytes);
                        assert_int_equal(w->rows[i].f.values[QUERY_MAPPING_CALLS], rows[i].n_calls);
                }
                check_all(q, w);
                query_free(q);
        }
}

static void test_residency(void **state) {
        struct query *q = open_trace(3);
        struct query_scope scope = query_whole(q);
        struct query_weights *w = NULL;
        struct err e = {0};

        (void)state;
        assert_int_equal(query_weigh_residency(q, &scope, &w, &e), 0);
        assert_true(w->n > 5);
        assert_string_equal(w->values[QUERY_RESIDENCY_SLACK].name, "slack");
        check_all(q, w);
        query_weights_free(w);
        query_free(q);
}

static void test_moves(void **state) {
        struct query *q = open_trace(5);
        struct query_scope scope = query_whole(q);
        struct query_weights *w = NULL;
        struct err e = {0};

        (void)state;
        assert_int_equal(query_weigh_moves(q, &scope, &w, &e), 0);
        assert_non_null(w);
        assert_true(w->n > 0);
        check_all(q, w);
        query_weights_free(w);
        query_free(q);
}

/* Numbers of somebody else: samples of a CPU, say. Negative ones too. */
static struct query_weights *make_up(struct query *q) {
        static const struct query_value values[] = {{"samples", false}, {"change", true}};
        struct query_weights *w = query_weights_new(values, ARRAY_SIZE(values));

        for (unsigned i = 0; i < 200; i++) {
                const int64_t of[] = {(int64_t)draw(1000), (int64_t)draw(2000) - 1000};

                query_weights_add(w, (uint32_t)draw(query_view(q)->n_stacks), 0, of);
        }
        return w;
}

static void test_made_up(void **state) {
        struct query *q = open_trace(4);
        struct query_group_options o = {.by = QUERY_BY_SIZE, .metric = QUERY_VALUE(0)};
        struct query_weights *w = make_up(q);
        struct query_groups *g = NULL;
        struct err e = {0};

        (void)state;
        check_all(q, w);
        assert_int_equal(query_group_weights(q, w, &o, &g, &e), -EINVAL);
        query_weights_free(w);
        query_free(q);
}

static void test_history(void **state) {
        enum { N_COLUMNS = 7, N_GROUPS = 3 };
        struct query *q = open_trace(6);
        struct query_group_options o = {.by = QUERY_BY_FUNCTION, .metric = QUERY_VALUE(1)};
        struct query_weights *columns[N_COLUMNS];
        struct query_weights_history *h = NULL;
        struct err e = {0};

        (void)state;
        for (unsigned c = 0; c < N_COLUMNS; c++)
                columns[c] = make_up(q);
        assert_int_equal(query_history_weights(q, (const struct query_weights *const *)columns,
                                               N_COLUMNS, &o, N_GROUPS, &h, &e),
                         0);
        assert_int_equal(h->n_groups, N_GROUPS);
        for (unsigned c = 0; c < N_COLUMNS; c++) {
                struct sums *s = sum_groups(q, columns[c], o.by);
                int64_t told = 0, all = 0;

                for (unsigned i = 0; i < N_GROUPS; i++) {
                        char *text = row_text(q, &h->groups->rows[i], o.by);

                        assert_int_equal(h->values[i * N_COLUMNS + c],
                                         s->rows[sums_at(s, text)].self[1]);
                        free(text);
                }
                for (size_t i = 0; i < s->n; i++)
                        all += s->rows[i].self[1];
                for (unsigned i = 0; i <= N_GROUPS; i++)
                        told += h->values[i * N_COLUMNS + c];
                assert_int_equal(all, told);
                sums_done(s);
                query_weights_free(columns[c]);
        }
        query_weights_history_free(h);
        query_free(q);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_mappings), cmocka_unit_test(test_residency),
                cmocka_unit_test(test_moves),    cmocka_unit_test(test_made_up),
                cmocka_unit_test(test_history),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
