/* SPDX-License-Identifier: MIT */
/* Any bytes as the graph of a trace, to silt holders, silt leaks and the holders of findings: told, or refused in one line with nothing printed. The last byte chooses: bit 0
 * JSON, bit 1 why, bit 2 a graph before it, bit 3 everything, bit 4 leaks instead of holders, bit 5 entries of suppressions, bit 6 a chunk that contradicts its graph, bit 7 a process that
 * the trace does not have.
 *
 * seeds: src/keep/holders_seeds
 * covers: src/keep/held_graph.c src/keep/holders.c src/keep/holders_json.c src/keep/holders_text.c src/keep/holders_why.c src/keep/holders_neighbours.c
 * covers: src/keep/held_by.c src/keep/borrowers.c src/keep/nearest_places.c src/keep/root_places.c src/keep/site_texts.c
 * covers: src/keep/leaks.c src/keep/leaks_json.c src/keep/leaks_text.c src/keep/loss_records.c src/keep/kept_graph.c
 * covers: src/reach/holder_growth.c src/reach/site_tree.c src/reach/why.c src/reach/neighbours.c src/reach/dominators.c src/verify/verify_graph.c */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keep/held_by.h"
#include "keep/holders.h"
#include "keep/kept_graph.h"
#include "keep/leaks.h"
#include "keep/testing/graph_trace.h"
#include "show/opened.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_STACKS = 20 };

static void check_refusal(int r, const struct err *err, size_t n_text) {
        if (r < 0 && (!err->text[0] || strchr(err->text, '\n') || n_text))
                abort();
}

static void ask_leaks(const char *path, unsigned choice) {
        struct request request = REQUEST_DEFAULT;
        struct leaks_options o = LEAKS_OPTIONS_DEFAULT;
        struct err err = {0};
        char *text = NULL;
        size_t n_text = 0;
        FILE *out = open_memstream(&text, &n_text);
        int r;

        o.view.path = path;
        o.view.request = &request;
        o.view.json = choice & 1;
        o.shows_reachable = choice & 2;
        o.is_full = choice & 8;
        o.gen_suppressions = choice & 32;
        r = leaks_print(out, &o, &err);
        fclose(out);
        check_refusal(r, &err, n_text);
        request_done(&request);
        free(text);
}

static void ask_holders(const char *path, unsigned choice) {
        struct request request = REQUEST_DEFAULT;
        struct holders_options o = HOLDERS_OPTIONS_DEFAULT;
        struct err err = {0};
        char *text = NULL;
        size_t n_text = 0;
        FILE *out = open_memstream(&text, &n_text);
        int r;

        o.view.path = path;
        o.view.request = &request;
        o.view.json = choice & 1;
        o.why = choice & 2 ? "open|insert" : NULL;
        o.is_full = choice & 8;
        r = holders_print(out, &o, &err);
        fclose(out);
        check_refusal(r, &err, n_text);
        request_done(&request);
        free(text);
}

/* What the verifier finds nothing wrong with can be read. */
static void check_verified(const char *path) {
        struct heap_graph heap;
        struct trace_graph info;
        struct query *q = NULL;
        struct err err = {0};
        static FILE *null;
        bool is_sound;

        if (!null)
                null = fopen("/dev/null", "we");
        is_sound = trace_verify(path, null, &err) == 0;
        if (query_open(path, &q, &err) < 0)
                abort();
        for (size_t i = 0; i < query_n_graphs(q); i++) {
                int r = kept_graph_read(q, i, &info, &heap, &err);

                if (r < 0 && is_sound)
                        abort();
                if (r == 0)
                        heap_graph_done(&heap);
        }
        query_free(q);
}

/* Of a group, or of one of the paths. */
static void ask_neighbours(struct opened *t, unsigned choice) {
        struct request request = REQUEST_DEFAULT;
        struct holders_options o = {.view = {.request = &request}};
        struct holders_neighbours of = {.graph = choice & 4 ? 1 : 0, .group = 1 + choice % 7};
        struct err err = {0};
        char *text = NULL;
        size_t n_text = 0;
        FILE *out = open_memstream(&text, &n_text);
        int r;

        o.why = choice & 2 ? "open|insert" : NULL;
        r = holders_write_neighbours(out, t->q, t->names, &o, &of, &err);
        fclose(out);
        check_refusal(r, &err, n_text);
        free(text);
}

static void ask_findings(const char *path, unsigned choice) {
        struct name_sources rules = {0};
        struct held_by *h;
        struct opened t;
        struct err err = {0};

        if (opened_init(&t, path, &rules, &err) < 0)
                abort();
        h = held_by_new(t.q, &(struct frame_names){.q = t.q, .names = t.names}, 0);
        for (uint32_t stack = 0; h && stack < MIN(query_view(t.q)->n_stacks, (uint32_t)MAX_STACKS);
             stack++) {
                struct str text = {0};

                if (held_by_add(h, stack, stack % 2, &text) != (text.n > 0))
                        abort();
                str_done(&text);
        }
        held_by_free(h);
        ask_neighbours(&t, choice);
        opened_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        unsigned choice = n ? data[--n] : 0;
        struct draw d = draw_from(choice);
        bytes_buf before = {0};
        struct graph_bytes graphs[2] = {{0},
                                        {data, n, choice >> 7,
                                         graph_trace_has_heads(data, n) != (choice >> 6 & 1)}};
        char path[] = "/tmp/holders_fuzz.XXXXXX";

        close(mkstemp(path));
        if (choice & 4) {
                graph_trace_draw(&d, &before);
                graphs[0] = (struct graph_bytes){before.items, before.n, 0,
                                                 graph_trace_has_heads(before.items, before.n)};
        }
        graph_trace_write(path, graphs, 2);
        check_verified(path);
        if (choice & 16)
                ask_leaks(path, choice);
        else
                ask_holders(path, choice);
        ask_findings(path, choice);
        vec_free(&before);
        unlink(path);
        return 0;
}
