/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/units.h"
#include "flame/flame.h"
#include "flame/flame_timeline.h"
#include "flame/graph.h"
#include "flame/text_cut.h"
#include "query/testing/fabric.h"
#include "request/testing/request_made.h"
#include "show/escape.h"
#include "show/opened.h"
#include "show/testing/server_trace.h"

#define TRACE_PATH "flame_test.silt"
#define OLD_PATH "flame_test.old.silt"

static const char *const metrics[] = {"peak", "end", "allocated", "count", "temporary", "growth"};

/* ---- texts that fit ------------------------------------------------------------------------------ */

static void check_cut(const char *name, size_t cells, const char *expected) {
        struct str s = {0};

        text_cut_add_name(&s, name, cells);
        assert_string_equal(str_text(&s), expected);
        assert_true(text_cut_cells(str_text(&s)) <= cells);
        str_done(&s);
}

static void test_cut(void **state) {
        (void)state;
        check_cut("main", 4, "main");
        check_cut("main", 3, "");
        check_cut("f", 1, "f");
        check_cut("f", 0, "");
        check_cut("abcdefghij", 10, "abcdefghij");
        check_cut("abcdefghij", 7, "abc…hij");
        check_cut("abcdefghij", 6, "abc…ij");
        check_cut("abcdefghij", 4, "");
        /* the last part stays whole while the first can still be told */
        check_cut("shop::Sessions::remember", 14, "shop:…remember");
        check_cut("shop::Sessions::remember", 12, "sho…remember");
        check_cut("shop::Sessions::remember", 10, "shop:…mber");
        /* a "::" inside of brackets is no part */
        check_cut("f<std::string>(abcdefgh)", 11, "f<std…efgh)");
        /* characters are not taken apart; wide ones take two cells */
        check_cut("äöüäöüäöü", 5, "äö…öü");
        check_cut("漢字漢字漢字", 7, "漢…字");
        assert_int_equal(text_cut_cells("漢字"), 4);
        assert_int_equal(text_cut_cells("e\xcc\x81"), 1);
        check_cut("\xff\xfe\xff\xfe\xff\xfe", 5, "\xff\xfe…\xff\xfe");
}

static void test_cut_any(void **state) {
        static const char *const pieces[] = {"a",  "::",   "<", ">", "->", "ü",
                                             "漢", "\xff", "(", ")", " "};

        (void)state;
        srand(7);
        for (int i = 0; i < 5000; i++) {
                struct str name = {0}, s = {0};
                size_t cells = (size_t)rand() % 40;

                for (int n = rand() % 60; n > 0; n--)
                        str_add(&name, pieces[(size_t)rand() % ARRAY_SIZE(pieces)]);
                text_cut_add_name(&s, str_text(&name), cells);
                assert_true(text_cut_cells(str_text(&s)) <= cells);
                if (text_cut_cells(str_text(&name)) <= cells)
                        assert_string_equal(str_text(&s), str_text(&name));
                str_done(&name);
                str_done(&s);
        }
}

static void test_lines(void **state) {
        size_t skip;

        (void)state;
        assert_int_equal(text_cut_line("one two three", 8, &skip), 7);
        assert_int_equal(skip, 1);
        assert_int_equal(text_cut_line("unbreakable", 4, &skip), 4);
        assert_int_equal(skip, 0);
        assert_int_equal(text_cut_line("short", 80, &skip), 5);
}

/* ---- hostile texts ------------------------------------------------------------------------------- */

static void check_escape(void (*add)(struct str *, const char *), const char *text,
                         const char *expected) {
        struct str s = {0};

        add(&s, text);
        assert_string_equal(str_text(&s), expected);
        str_done(&s);
}

static void test_escape(void **state) {
        (void)state;
        check_escape(escape_add_xml, "<a b=\"c\" d='e'>&",
                     "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
        check_escape(escape_add_xml, "]]>", "]]&gt;");
        check_escape(escape_add_xml, "a\x01\x1b\x7f", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
        check_escape(escape_add_xml, "\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd");
        check_escape(escape_add_xml, "\xed\xa0\x80",
                     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");         /* surrogate */
        check_escape(escape_add_xml, "\xef\xbf\xbf", "\xef\xbf\xbd"); /* U+FFFF */
        check_escape(escape_add_xml, "\xe2\x80\xae", "\xef\xbf\xbd"); /* turns text around */
        check_escape(escape_add_xml, "ü漢😀", "ü漢😀");
        check_escape(escape_add_xml, "\xe2\x80\xa8", "\xef\xbf\xbd"); /* U+2028 */
}

/* ---- graphs ---------------------------------------------------------------------------------------- */

struct made {
        struct opened opened[GRAPH_N_SIDES];
        struct show_options ask[GRAPH_N_SIDES];
        struct request request;
        struct request_resolved resolved[GRAPH_N_SIDES];
        struct view view[GRAPH_N_SIDES];
        struct query_tree *tree[GRAPH_N_SIDES];
        struct graph_part part[GRAPH_N_SIDES];
        struct text_pool texts;
        struct graph graph;
};

static void make(struct made *m, const char *const *paths, size_t n_paths, const char *metric,
                 bool is_reversed, double min_share) {
        struct graph_source of[GRAPH_N_SIDES];
        struct err e = {0};

        *m = (struct made){.request = REQUEST_DEFAULT};
        assert_int_equal(request_set(&m->request, "by", metric, &e), 0);
        if (strcmp(metric, "growth") == 0) /* from where on something is released too */
                assert_int_equal(request_set(&m->request, "from", "15ms", &e), 0);
        text_pool_init(&m->texts);
        for (size_t i = 0; i < n_paths; i++) {
                struct query_tree_options o = {.kind = is_reversed ? QUERY_BOTTOM_UP
                                                                   : QUERY_TOP_DOWN};

                assert_int_equal(opened_init(&m->opened[i], paths[i], &m->request.rules, &e), 0);
                m->ask[i] = (struct show_options){.request = &m->request};
                assert_int_equal(show_resolve(&m->ask[i], m->opened[i].q, REQUEST_ALL,
                                              &m->resolved[i], &e),
                                 0);
                view_init(&m->view[i], stdout, m->opened[i].q, &m->ask[i], "");
                m->view[i].s.utf8 = true;
                o.metric = m->view[i].metric;
                assert_int_equal(query_tree(m->opened[i].q, &m->view[i].scope, &o, &m->tree[i], &e),
                                 0);
                m->part[i] = (struct graph_part){.tree = m->tree[i]};
                of[i] = (struct graph_source){&m->view[i], &m->part[i], 1};
        }
        graph_make(&m->graph, of, n_paths, &(struct graph_bounds){min_share, FLAME_MAX_FRAMES},
                   &m->texts);
}

static void unmake(struct made *m) {
        graph_done(&m->graph);
        text_pool_done(&m->texts);
        request_done(&m->request);
        for (int i = 0; i < GRAPH_N_SIDES; i++) {
                query_tree_free(m->tree[i]);
                request_resolved_done(&m->resolved[i]);
                if (m->opened[i].q)
                        opened_done(&m->opened[i]);
        }
}

/* Children lie side by side inside their parent, widest first; what is left of it is its own. */
static void check_layout(const struct graph *g) {
        const struct graph_frame *f = g->frames.items;
        double slack = 1e-9 * f[0].width;

        for (size_t i = 0; i < g->frames.n; i++) {
                double at = f[i].begin, sum = 0;

                assert_true(f[i].own >= 0 && (i == 0 || f[i].width > 0));
                for (uint32_t k = 0; k < f[i].n_children; k++) {
                        const struct graph_frame *c = &f[f[i].first_child + k];

                        assert_int_equal(c->parent, i);
                        assert_int_equal(c->depth, f[i].depth + 1);
                        assert_true(c->begin >= at - slack && c->begin <= at + slack);
                        assert_true(k == 0 || c->is_rest || c->width <= c[-1].width);
                        at += c->width;
                        sum += c->width;
                }
                if (!f[i].is_rest)
                        assert_true(sum + f[i].own <= f[i].width + slack &&
                                    sum + f[i].own >= f[i].width - slack);
        }
}

static int64_t sum_of_children(const struct graph *g, const struct graph_frame *f) {
        int64_t sum = 0;

        for (uint32_t k = 0; k < f->n_children; k++)
                sum += g->frames.items[f->first_child + k].is.value;
        return sum;
}

static void check_values(const struct made *m, bool is_signed) {
        const struct graph *g = &m->graph;
        uint64_t whole = query_metric_whole(&m->tree[0]->answer->totals, m->view[0].metric);

        if (!is_signed) {
                assert_true(g->frames.items[0].width == (double)whole);
                assert_int_equal(g->frames.items[0].is.value, whole);
        }
        assert_int_equal(sum_of_children(g, &g->frames.items[0]), g->frames.items[0].is.value);
        for (size_t i = 1; i < g->frames.n; i++) {
                const struct graph_frame *f = &g->frames.items[i];
                double own = (double)(f->is.value - sum_of_children(g, f));

                assert_true(is_signed ||
                            f->width == (double)f->is.value); /* as wide as it has bytes */
                assert_true(f->is_rest || (own < 0 ? -own : own) == f->own);
        }
}

static void write_random(const char *path, unsigned seed) {
        struct fabric_options o = {.seed = seed,
                                   .n_stacks = 5 + seed % 60,
                                   .slice_events = 50,
                                   .max_processes = 1 + seed % 3,
                                   .max_threads = 2,
                                   .checkpoint_every = 3,
                                   .max_step_us = 100,
                                   .with_names = true,
                                   .with_paths = seed % 2};
        struct fabric *f = fabric_new(path, &o);

        fabric_run(f, 800);
        fabric_end(f);
}

static void test_sums(void **state) {
        static const double shares[] = {0, 0.0001, 0.02, 0.3};
        const char *paths[] = {TRACE_PATH};
        size_t n_shrunk = 0;

        (void)state;
        for (unsigned seed = 0; seed < 24; seed++) {
                const char *metric = metrics[seed % ARRAY_SIZE(metrics)];
                struct made m;

                write_random(TRACE_PATH, seed);
                make(&m, paths, 1, metric, seed / 6 % 2, shares[seed / 6]);
                check_layout(&m.graph);
                check_values(&m, strcmp(metric, "growth") == 0);
                for (size_t i = 0; i < m.graph.frames.n; i++)
                        n_shrunk += m.graph.frames.items[i].is.value < 0;
                unmake(&m);
        }
        assert_true(n_shrunk > 0);
}

/* ---- two traces -------------------------------------------------------------------------------------- */

/* main calls functions that ask for so many bytes each; 0: it does not. */
static void write_builds(const char *path, const char *const *functions, const uint64_t *bytes,
                         size_t n) {
        struct fabric_options o = {.seed = 1,
                                   .n_stacks = 1,
                                   .slice_events = 100,
                                   .max_processes = 1,
                                   .max_threads = 1,
                                   .max_step_us = 5};
        struct fabric *f = fabric_new(path, &o);
        uint32_t thread = fabric_thread(f, 0, "main");
        uint32_t main_stack = fabric_frame(f, 0, "/bin/x", "main", "x.c", 1);

        for (size_t i = 0; i < n; i++)
                if (bytes[i])
                        fabric_alloc(f, 0, thread,
                                     fabric_frame(f, main_stack, "/bin/x", functions[i], "x.c", 2),
                                     bytes[i]);
        fabric_end(f);
}

static const struct graph_frame *frame_named(const struct graph *g, const char *name) {
        for (size_t i = 0; i < g->frames.n; i++)
                if (strcmp(g->texts->items.items[g->frames.items[i].name], name) == 0)
                        return &g->frames.items[i];
        fail_msg("no frame '%s'", name);
        return NULL;
}

static void check_pair(const struct graph *g, const char *name, int64_t was, int64_t is,
                       double width, int hue) {
        const struct graph_frame *f = frame_named(g, name);

        assert_int_equal(f->was.value, was);
        assert_int_equal(f->is.value, is);
        assert_true(f->width == width);
        assert_int_equal(f->hue, hue);
}

static void test_difference(void **state) {
        static const char *const old_names[] = {"same", "grew", "shrank",
                                                "gone", "made", "clone.part.0"};
        static const char *const new_names[] = {"same", "grew", "shrank", "gone", "made", "clone"};
        const uint64_t old_bytes[] = {1000, 500, 800, 300, 0, 70},
                       new_bytes[] = {1000, 1000, 760, 0, 400, 70};
        const char *paths[] = {TRACE_PATH, OLD_PATH};
        struct made m;

        (void)state;
        write_builds(OLD_PATH, old_names, old_bytes, ARRAY_SIZE(old_bytes));
        write_builds(TRACE_PATH, new_names, new_bytes, ARRAY_SIZE(new_bytes));
        make(&m, paths, 2, "end", false, 0);
        check_layout(&m.graph);
        check_pair(&m.graph, "same", 1000, 1000, 1000, HUE_SAME);
        check_pair(&m.graph, "grew", 500, 1000, 1000, HUE_SAME + 3);
        check_pair(&m.graph, "shrank", 800, 760, 800, HUE_SAME - 1);
        check_pair(&m.graph, "gone", 300, 0, 300, HUE_GONE);
        check_pair(&m.graph, "made", 0, 400, 400, HUE_NEW);
        check_pair(&m.graph, "clone", 70, 70, 70, HUE_SAME);
        check_pair(&m.graph, "main", 2670, 3230, 1000 + 1000 + 800 + 300 + 400 + 70, HUE_SAME + 2);
        assert_int_equal(m.graph.frames.n, 8);
        unmake(&m);
}

static int change_hue(int64_t was, int64_t is) {
        struct graph g = {.metric = QUERY_END, .has_old = true};
        struct graph_frame f = {.was = {was, 0},
                                .is = {is, 0},
                                .width = (double)(is > was ? is : was)};

        return graph_change_hue(&g, &f);
}

/* New and gone are colours of their own; the more something grew, the farther from "same" it is, and never less. */
static void test_steps(void **state) {
        (void)state;
        assert_int_equal(change_hue(100, 100), HUE_SAME);
        assert_int_equal(change_hue(0, 1), HUE_NEW);
        assert_int_equal(change_hue(1, 0), HUE_GONE);
        assert_true(change_hue(100, 178) < change_hue(100, 1000)); /* +78 %, +900 % */
        assert_true(change_hue(100, 1000000) < HUE_NEW);
        assert_true(change_hue(1000000, 1) > HUE_GONE);
        srand(9);
        for (int i = 0; i < 20000; i++) {
                int64_t was = 1 + rand() % 100000, less = 1 + rand() % 1000000,
                        more = less + rand() % 1000000;

                assert_true(change_hue(was, less) <= change_hue(was, more));
                assert_int_equal(change_hue(was, less) - HUE_SAME,
                                 HUE_SAME - change_hue(less, was));
        }
}

static void test_differences(void **state) {
        const char *paths[] = {TRACE_PATH, OLD_PATH};

        (void)state;
        for (unsigned seed = 0; seed < 12; seed++) {
                struct made m;

                write_random(TRACE_PATH, seed);
                write_random(OLD_PATH, seed % 3 ? seed + 100 : seed);
                make(&m, paths, 2, metrics[seed % ARRAY_SIZE(metrics)], seed / 6,
                     seed % 4 ? 0.001 : 0.1);
                check_layout(&m.graph);
                for (size_t i = 0; i < m.graph.frames.n && seed % 3 == 0; i++)
                        assert_int_equal(graph_change(&m.graph, &m.graph.frames.items[i]), 0);
                unmake(&m);
        }
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

/* So many functions called by main, each with a chain of calls below it. */
static void write_many(const char *path, unsigned n_functions, unsigned depth) {
        struct fabric_options o = {.seed = 1,
                                   .n_stacks = 1,
                                   .slice_events = 100000,
                                   .max_processes = 1,
                                   .max_threads = 1,
                                   .max_step_us = 5};
        struct fabric *f = fabric_new(path, &o);
        uint32_t thread = fabric_thread(f, 0, "main");
        uint32_t main_stack = fabric_frame(f, 0, "/bin/x", "main", "x.c", 1);
        char(*names)[32] = calloc(n_functions, sizeof(*names));

        assert_non_null(names);
        for (unsigned i = 0; i < n_functions; i++) {
                uint32_t stack = main_stack;

                snprintf(names[i], sizeof(names[i]), "function_%u", i);
                for (unsigned k = 0; k < depth; k++)
                        stack = fabric_frame(f, stack, "/bin/x", names[i], "x.c", k);
                fabric_alloc(f, 0, thread, stack, 1000 + i % 7);
        }
        fabric_end(f);
        free(names);
}

static void test_bounds(void **state) {
        const char *paths[] = {TRACE_PATH};
        struct made m;

        (void)state;
        write_many(TRACE_PATH, FLAME_MAX_FRAMES + 3000, 1);
        make(&m, paths, 1, "end", false, 0);
        check_layout(&m.graph);
        check_values(&m, false);
        assert_true(m.graph.frames.n <= 2 * FLAME_MAX_FRAMES);
        assert_true(m.graph.n_rest >= 3000);
        unmake(&m);

        write_many(TRACE_PATH, 2, FLAME_MAX_DEPTH + 50);
        make(&m, paths, 1, "end", false, 0);
        check_layout(&m.graph);
        check_values(&m, false);
        assert_int_equal(m.graph.max_depth, FLAME_MAX_DEPTH + 1);
        unmake(&m);
}

static void test_long_names(void **state) {
        const char *paths[] = {TRACE_PATH};
        const uint64_t bytes[] = {100};
        char name[10001], *names[] = {name};
        struct made m;

        (void)state;
        memset(name, 'x', sizeof(name) - 1);
        name[0] = 'b';
        name[sizeof(name) - 2] = 'e';
        name[sizeof(name) - 1] = 0;
        write_builds(TRACE_PATH, (const char *const *)names, bytes, 1);
        make(&m, paths, 1, "end", false, 0);
        assert_int_equal(m.graph.frames.n, 3);
        assert_int_equal(text_cut_cells(m.texts.items.items[m.graph.frames.items[2].name]),
                         FLAME_MAX_NAME);
        assert_int_equal(m.texts.items.items[m.graph.frames.items[2].name][0], 'b');
        unmake(&m);
}

/* ---- pictures ------------------------------------------------------------------------------------------ */

static char *draw(struct flame_options o, const char *asked) {
        struct request request = request_made(asked);
        struct flame_result result = {0};
        struct err e = {0};
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        o.ask.path = TRACE_PATH;
        o.ask.request = &request;
        assert_int_equal(flame_draw(out, &o, &result, &e), 0);
        fclose(out);
        request_done(&request);
        return text;
}

static size_t count_of(const char *text, const char *part) {
        size_t n = 0;

        for (; (text = strstr(text, part)); text++)
                n++;
        return n;
}

static void assert_has(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("'%s' is not in the picture: %.3000s", part, text);
}

static void test_sentences(void **state) {
        struct flame_options o = FLAME_OPTIONS_DEFAULT;
        char *text;

        (void)state;
        server_trace_write(TRACE_PATH);
        text = draw(o, "");
        assert_has(text, " live at the peak (");
        assert_has(text, " % under ");
        free(text);
        o.is_reversed = true;
        text = draw(o, "by=count");
        assert_has(text, " % made by ");
        free(text);
        o.title = "A <title> of my own";
        text = draw(o, "by=growth&from=1ms");
        assert_has(text, "A &lt;title&gt; of my own");
        assert_has(text, " of growth of ");
        assert_has(text, "From 1 ms on.");
        free(text);
}

/* Half of all goes through a path: its innermost function is named, not the one that has a little more. */
static void test_named_frame(void **state) {
        struct fabric_options o = {.seed = 1,
                                   .n_stacks = 1,
                                   .slice_events = 100,
                                   .max_processes = 1,
                                   .max_threads = 1,
                                   .max_step_us = 5};
        struct fabric *f = fabric_new(TRACE_PATH, &o);
        uint32_t thread = fabric_thread(f, 0, "main");
        uint32_t top = fabric_frame(f, 0, "/bin/x", "main", "x.c", 1);
        uint32_t big = fabric_frame(f, top, "/bin/x", "big", "x.c", 2);
        struct flame_options ask = FLAME_OPTIONS_DEFAULT;
        char *text;

        (void)state;
        fabric_alloc(f, 0, thread, big, 50);
        fabric_alloc(f, 0, thread,
                     fabric_frame(f, fabric_frame(f, big, "/bin/x", "deep", "x.c", 3),
                                  "/lib/libstdc++.so.6", "operator new(unsigned long)", "", 0),
                     550);
        fabric_alloc(f, 0, thread, fabric_frame(f, top, "/bin/x", "other", "x.c", 4), 400);
        fabric_end(f);
        text = draw(ask, "");
        assert_has(text, ": 55 % under deep");
        free(text);
        ask.is_reversed = true;
        text = draw(ask, "");
        assert_has(text, ": 55 % requested by deep");
        free(text);
        ask.is_reversed = false;
        text = draw(ask, "full"); /* drawn, but nobody to name */
        assert_has(text, ">operator new(unsigned long)</text>");
        assert_has(text, ": 55 % under deep");
        free(text);
}

static void test_same_twice(void **state) {
        char *a, *b;

        (void)state;
        write_random(TRACE_PATH, 5);
        a = draw(FLAME_OPTIONS_DEFAULT, "");
        b = draw(FLAME_OPTIONS_DEFAULT, "");
        assert_string_equal(a, b);
        free(a);
        free(b);
}

static void test_hostile_names(void **state) {
        static const char *const names[] = {"</title><script>alert(1)</script>",
                                            "]]><script>alert(2)</script>",
                                            "\"onload=\"alert(3)",
                                            "a\x01\x02\x1b[31m",
                                            "\xff\xfe\xc0\x80",
                                            "-->",
                                            "&amp;&#0;&bogus;",
                                            "\xef\xbf\xbf\xe2\x80\xae",
                                            "${x}`\\u003c\\",
                                            "'+alert(4)+'"};
        struct fabric_options f = {.seed = 1,
                                   .n_stacks = 1,
                                   .slice_events = 100,
                                   .max_processes = 1,
                                   .max_threads = 1,
                                   .max_step_us = 5};
        struct flame_options o = FLAME_OPTIONS_DEFAULT;
        struct fabric *fabric = fabric_new(TRACE_PATH, &f);
        uint32_t thread = fabric_thread(fabric, 0, "main"), stack = 0;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                stack = fabric_frame(fabric, stack, names[(i + 3) % ARRAY_SIZE(names)], names[i],
                                     names[(i + 5) % ARRAY_SIZE(names)], 1);
                fabric_alloc(fabric, 0, thread, stack, 1000);
        }
        fabric_end(fabric);
        for (int form = 0; form < 4; form++) {
                char *text;

                o.title = names[form];
                text = draw(o, form & 2 ? "full" : "");
                assert_int_equal(count_of(text, "script>"), 0);
                assert_int_equal(count_of(text, "]]>"), 0);
                assert_int_equal(count_of(text, "onload=\""), 0);
                for (const char *p = text; *p; p++)
                        assert_true((unsigned char)*p >= 0x20 || *p == '\n');
                free(text);
        }
}

/* A trace may claim any time: the axis says it, to the nanosecond that a double does not have. */
static void test_end_of_time(void **state) {
        struct timeline t = {.curves = {{.end_ns = UINT64_MAX, .to_ns = UINT64_MAX, .highest = 1}},
                             .n = 1};
        struct unit_text whole, half;
        struct str picture = {0}, wanted = {0};
        struct query *q = NULL;

        (void)state;
        write_random(TRACE_PATH, 1);
        assert_int_equal(query_open(TRACE_PATH, &q, NULL), 0);
        t.q = q;
        timeline_draw(&picture, &t, 1200, 10, 0);
        str_addf(&wanted, ">%s</text>", unit_duration(&whole, UINT64_MAX));
        assert_non_null(strstr(str_text(&picture), str_text(&wanted)));
        str_clear(&wanted);
        str_addf(&wanted, ">%s</text>", unit_duration(&half, UINT64_MAX / 2));
        assert_non_null(strstr(str_text(&picture), str_text(&wanted)));
        query_free(q);
        unlink(TRACE_PATH);
        str_done(&picture);
        str_done(&wanted);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cut),         cmocka_unit_test(test_cut_any),
                cmocka_unit_test(test_lines),       cmocka_unit_test(test_escape),
                cmocka_unit_test(test_sums),        cmocka_unit_test(test_difference),
                cmocka_unit_test(test_differences), cmocka_unit_test(test_steps),
                cmocka_unit_test(test_bounds),      cmocka_unit_test(test_long_names),
                cmocka_unit_test(test_sentences),   cmocka_unit_test(test_named_frame),
                cmocka_unit_test(test_same_twice),  cmocka_unit_test(test_hostile_names),
                cmocka_unit_test(test_end_of_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
