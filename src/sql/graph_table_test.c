/* SPDX-License-Identifier: MIT */
/* Tables of graphs, of graphs drawn by chance: against the graph itself, and each way to find rows against reading all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/vec.h"
#include "keep/held_graph.h"
#include "keep/kept_graph.h"
#include "keep/testing/graph_trace.h"
#include "name/name.h"
#include "sql/sql.h"
#include "sql/testing/sql_ask.h"

#define TRACE_PATH "sql_graph_test.silt"
enum { N_TRACES = 12, N_GRAPHS = 2 };

struct setting {
        struct query *q;
        struct names *names;
        struct sql *sql;
        struct str text;
};

static void set_begin(struct setting *s, const struct graph_bytes *graphs, size_t n) {
        struct err err = {0};

        *s = (struct setting){0};
        graph_trace_write(TRACE_PATH, graphs, n);
        assert_int_equal(query_open(TRACE_PATH, &s->q, &err), 0);
        assert_int_equal(names_load(&(struct name_sources){0}, &s->names, &err), 0);
        query_set_names(s->q, s->names);
        assert_int_equal(sql_open(&(struct sql_options){.trace = {s->q, s->names, TRACE_PATH},
                                                        .process = QUERY_ALL},
                                  &s->sql, &err),
                         0);
}

static void set_end(struct setting *s) {
        sql_free(s->sql);
        query_free(s->q);
        names_free(s->names);
        str_done(&s->text);
        unlink(TRACE_PATH);
}

static const char *ask(struct setting *s, const char *statement) {
        return sql_ask_text(s->sql, statement, &s->text);
}

static void expect(struct setting *s, const char *expected, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

static void expect(struct setting *s, const char *expected, const char *fmt, ...) {
        char statement[1000];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(statement, sizeof(statement), fmt, ap);
        va_end(ap);
        if (strcmp(ask(s, statement), expected) != 0)
                fail_msg("%s\nis\n%s\nnot\n%s", statement, str_text(&s->text), expected);
}

/* ---- against the graph ------------------------------------------------------------------------- */

static void check_nodes(struct setting *s, size_t i, const struct kept_graph *k,
                        const struct held_graph *h) {
        static const char *const classes[] = {"reachable", "possible", "indirect", "definite"};
        const struct heap_graph *g = &k->heap;
        struct str expected = {0};
        uint64_t bytes = 0;

        for (uint32_t b = 0; b < g->graph.n_blocks; b++) {
                uint32_t above = h->holders.dominators.parent[b];

                bytes += g->blocks[b].size_bytes;
                str_addf(&expected, "%s%u|%llu|%llu|%s|%llu|", b ? "\n" : "", b,
                         (unsigned long long)g->blocks[b].address,
                         (unsigned long long)g->blocks[b].size_bytes,
                         classes[k->classes.of_block[b]],
                         (unsigned long long)h->holders.dominators.retained_bytes[b]);
                if (g->blocks[b].site == REACH_NO_SITE)
                        str_add(&expected, "-|");
                else
                        str_addf(&expected, "%u|", g->blocks[b].site);
                if (above < g->graph.n_blocks)
                        str_addf(&expected, "%u", above);
                else
                        str_add(&expected, "-");
                str_addf(&expected, "|%d|%zu",
                         above != REACH_NONE && above >= g->graph.n_blocks &&
                                 above != reach_above_all(&g->graph),
                         i);
        }
        expect(s, str_text(&expected),
               "SELECT id, address, bytes, class, retained_bytes, stack, dominator, "
               "held_by IS NOT NULL, graph FROM nodes(%zu)",
               i);
        str_clear(&expected);
        str_addf(&expected, "%u|%llu|%llu|%u|0", g->graph.n_blocks, (unsigned long long)bytes,
                 (unsigned long long)reach_n_edges(&g->graph), g->graph.n_roots);
        expect(s, str_text(&expected),
               "SELECT blocks, bytes, edges, roots, process FROM graphs WHERE id = %zu", i);
        str_done(&expected);
}

static void check_edges(struct setting *s, size_t i, const struct kept_graph *k) {
        const struct reach_graph *g = &k->heap.graph;
        struct str expected = {0};

        for (uint32_t n = 0; n < reach_n_nodes(g); n++)
                for (uint64_t e = g->first[n]; e < g->first[n + 1]; e++) {
                        if (expected.n)
                                str_add(&expected, "\n");
                        if (n < g->n_blocks)
                                str_addf(&expected, "%u|0|-|", n);
                        else
                                str_add(&expected, "-|1|1|");
                        str_addf(&expected, "%u|%d", reach_edge_block(g->edges[e]),
                                 reach_edge_kind(g->edges[e]) != EDGE_START);
                }
        expect(s, str_text(&expected),
               "SELECT from_node, root IS NOT NULL, is_borrowed + 1 > 0, to_node, is_interior "
               "FROM edges(%zu)",
               i);
        str_done(&expected);
}

/* What the blocks of a group keep: walked up from every block. */
static uint64_t count_retained(const struct held_graph *h, uint32_t group) {
        const uint32_t *parent = h->holders.dominators.parent, *group_of = h->holders.tree.group_of;
        uint64_t n = 0;

        for (uint32_t b = 0; b < h->heap.graph.n_blocks; b++) {
                bool is_below = false;

                if (parent[b] == REACH_NONE)
                        continue;
                for (uint32_t at = b; at != REACH_NONE && !is_below; at = parent[at])
                        is_below = group_of[at] == group;
                n += is_below;
        }
        return n;
}

static void check_holders(struct setting *s, size_t i, const struct held_graph *h) {
        const struct site_tree *t = &h->holders.tree;
        struct str expected = {0};

        for (uint32_t k = 1; k < t->n; k++) {
                const struct site_group *x = &t->groups[k];

                str_addf(&expected, "%s%u|", k > 1 ? "\n" : "", k);
                if (x->parent == 0)
                        str_add(&expected, "-|");
                else
                        str_addf(&expected, "%u|", x->parent);
                str_addf(&expected, "%llu|%llu|%llu|%llu|%llu|%llu|%d",
                         (unsigned long long)x->outermost_weight,
                         (unsigned long long)count_retained(h, k), (unsigned long long)x->own_bytes,
                         (unsigned long long)x->n_blocks, (unsigned long long)x->tree_bytes,
                         (unsigned long long)x->tree_blocks, x->kind == GROUP_BLOCKS);
        }
        expect(s, str_text(&expected),
               "SELECT id, parent, retained_bytes, retained_blocks, own_bytes, own_blocks, "
               "tree_bytes, tree_blocks, kind = 'blocks' FROM holders(%zu)",
               i);
        str_clear(&expected);
        str_addf(&expected, "%llu|%llu", (unsigned long long)t->groups[0].tree_blocks,
                 (unsigned long long)t->groups[0].tree_bytes);
        expect(s, str_text(&expected),
               "SELECT ifnull(sum(tree_blocks), 0), ifnull(sum(tree_bytes), 0) FROM holders(%zu) "
               "WHERE parent IS NULL",
               i);
        str_done(&expected);
        expect(s, "0", "SELECT count(*) FROM holders(%zu) WHERE name IS NULL OR name = ''", i);
}

/* Each way to find rows, against reading all. */
static void check_ways(struct setting *s, struct draw *d, size_t i, uint32_t n_blocks) {
        static const char *const conditions[] = {
                "to_node = %u",
                "from_node = %u",
                "from_node = %u OR to_node = %u",
                "from_node BETWEEN %u AND %u",
                "to_node BETWEEN %u AND %u",
                "from_node > %u AND to_node < %u",
                "from_node < %u AND to_node = %u",
                "to_node > %u + 0.5",
                "from_node IS NULL AND to_node >= %u",
                "to_node = -1 - %u",
                "to_node IN (%u, %u)",
        };
        static const char rows[] =
                "SELECT count(*), sum(rowid %% 1000003), total(from_node), total(to_node) FROM edges(%zu) "
                "WHERE ";

        for (size_t k = 0; k < sizeof(conditions) / sizeof(conditions[0]); k++) {
                unsigned x = (unsigned)draw_below(d, n_blocks + 2);
                unsigned y = (unsigned)draw_below(d, n_blocks + 2);
                char statement[1000], plain[1000], *at;
                struct str expected = {0};
                int n = snprintf(statement, sizeof(statement), rows, i);

                /* NOLINTNEXTLINE: the formats are those above */
                snprintf(statement + n, sizeof(statement) - (size_t)n, conditions[k], x, y);
                /* with a plus before it, SQLite does not hand the condition down */
                at = plain;
                for (const char *c = statement; *c; c++) {
                        if (c - statement >= n &&
                            (strncmp(c, "from_node", 9) == 0 || strncmp(c, "to_node", 7) == 0))
                                *at++ = '+';
                        *at++ = *c;
                }
                *at = '\0';
                str_add(&expected, ask(s, plain));
                assert_null(strstr(str_text(&expected), "error"));
                expect(s, str_text(&expected), "%s", statement);
                str_done(&expected);
        }
        for (int k = 0; k < 5; k++) {
                unsigned x = (unsigned)draw_below(d, n_blocks + 2);
                struct str expected = {0};

                str_addf(&expected, "%d", x < n_blocks);
                expect(s, str_text(&expected), "SELECT count(*) FROM nodes(%zu) WHERE id = %u", i,
                       x);
                str_done(&expected);
        }
}

static void test_graphs(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= N_TRACES; seed++) {
                struct graph_bytes graphs[N_GRAPHS];
                bytes_buf bytes[N_GRAPHS] = {0};
                struct draw d = draw_from(seed);
                struct setting s;

                for (size_t i = 0; i < N_GRAPHS; i++) {
                        graph_trace_draw(&d, &bytes[i]);
                        graphs[i] = (struct graph_bytes){bytes[i].items, bytes[i].n, 0};
                }
                set_begin(&s, graphs, N_GRAPHS);
                for (size_t i = 0; i < N_GRAPHS; i++) {
                        struct frame_names names = {s.q, s.names, false};
                        struct kept_graph k = {0};
                        struct held_graph h;
                        struct site_texts texts;
                        struct err err = {0};

                        site_texts_init(&texts);
                        texts.has_lines = true;
                        assert_int_equal(held_graph_open(&h, s.q, &names, i, &texts, &err), 0);
                        assert_int_equal(kept_graph_read(s.q, i, &k.info, &k.heap, &err), 0);
                        assert_int_equal(leak_classes_find(&k.heap.graph, &k.classes), 0);
                        check_nodes(&s, i, &k, &h);
                        check_edges(&s, i, &k);
                        check_holders(&s, i, &h);
                        check_ways(&s, &d, i, k.heap.graph.n_blocks);
                        kept_graph_done(&k);
                        held_graph_done(&h);
                        site_texts_done(&texts);
                }
                /* the newest one; both in one statement, one of them after the other was read; more than are kept */
                expect(&s, "1|1", "SELECT min(graph), max(graph) FROM nodes");
                expect(&s, "1",
                       "SELECT (SELECT count(*) FROM nodes) = (SELECT count(*) FROM nodes(1))");
                expect(&s, "1",
                       "SELECT (SELECT sum(blocks) FROM graphs) = (SELECT count(*) FROM graphs g, "
                       "nodes(g.id))");
                expect(&s, "1",
                       "SELECT (SELECT sum(blocks) FROM graphs) = (SELECT count(*) FROM graphs g "
                       "JOIN nodes n ON n.graph = g.id)");
                expect(&s, "2", "SELECT count(DISTINCT graph) FROM nodes WHERE graph IN (0, 1)");
                set_end(&s);
                for (size_t i = 0; i < N_GRAPHS; i++)
                        vec_free(&bytes[i]);
        }
}

/* Refused, and not an empty table. */
static void test_refused(void **state) {
        static const char *const tables[] = {"nodes", "edges", "holders"};
        const struct graph_bytes none = {0};
        struct setting s;

        (void)state;
        set_begin(&s, &none, 1);
        expect(&s, "0", "SELECT count(*) FROM graphs");
        for (size_t i = 0; i < 3; i++) {
                char statement[100];

                snprintf(statement, sizeof(statement), "SELECT * FROM %s", tables[i]);
                assert_non_null(
                        strstr(ask(&s, statement), "error: " TRACE_PATH " has no reference graph"));
                snprintf(statement, sizeof(statement), "SELECT * FROM %s(0)", tables[i]);
                assert_non_null(strstr(ask(&s, statement), "error: there is no graph '0'"));
                snprintf(statement, sizeof(statement), "SELECT * FROM %s('x')", tables[i]);
                assert_non_null(strstr(ask(&s, statement), "error: there is no graph 'x'"));
        }
        set_end(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_graphs),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
