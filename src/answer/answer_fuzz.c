/* SPDX-License-Identifier: MIT */
/* Any name and any query of a URL, asked of a recording: refused in one line, or answered with one document of JSON that is
 * whole. The first line of the input is the name, the rest the query.
 *
 * seeds: src/answer/answer_seeds
 * covers: src/answer/asked.c src/answer/view_answers.c src/answer/trace_answer.c
 * covers: src/answer/timeline_answer.c src/answer/table_answer.c src/answer/detail_answer.c src/answer/heat_answer.c
 * covers: src/answer/threads_answer.c src/answer/columns.c src/answer/column_paths.c src/answer/columns_answer.c
 * covers: src/answer/sql_answer.c */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/answerer.h"
#include "keep/testing/graph_trace.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_NAME = 32, N_EVENTS = 400, N_STEPS = 20 };

static struct answerer *answerer;
static struct asker *asker;

/* Where the time of its first thread went, moments with a name, and what it did not see. */
static void put_more(struct fabric *f, uint32_t main, unsigned i) {
        struct trace_writer *w = fabric_writer(f);
        uint64_t now_ns = fabric_now_ns(f);

        trace_put_tick(w, &(struct trace_tick){.time_ns = now_ns,
                                               .weight_ns = 1000000 + i,
                                               .stack = main,
                                               .n_samples = 1 + i % 2,
                                               .state = i % TRACE_N_TICK_STATES});
        if (i == 2)
                trace_put_note(w, now_ns, "snapshot: loaded");
        else if (i == 4)
                trace_put_note(w, now_ns, "mark 100: half");
        else if (i == 6)
                trace_put_note(w, now_ns, "limit lost 100 0 7: 7 events of pid 100 were lost");
}

/* has_more false: blocks alone. */
static void make_trace(const char *path, uint64_t seed, bool has_more) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 12,
                                         .slice_events = 40,
                                         .max_processes = 3,
                                         .max_threads = 2,
                                         .checkpoint_every = 4,
                                         .max_step_us = 4000,
                                         .with_names = true,
                                         .with_paths = true,
                                         .passes_on = true};
        struct fabric *f = fabric_new(path, &o);
        uint32_t main = fabric_frame(f, 0, "/bin/x", "main", "a.c", 3);

        for (unsigned i = 0; i < N_STEPS; i++) {
                fabric_run(f, N_EVENTS / N_STEPS);
                if (has_more)
                        put_more(f, main, i);
        }
        graph_trace_put_drawn(f, seed);
        fabric_end(f);
}

/* Two small recordings, an older and a newer one. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
        static char old_path[] = "/tmp/answer_fuzz.XXXXXX", new_path[] = "/tmp/answer_fuzz.XXXXXX";
        struct err e = {0};

        (void)argc, (void)argv;
        close(mkstemp(old_path));
        close(mkstemp(new_path));
        make_trace(old_path, 1, false);
        make_trace(new_path, 2, true);
        if (answerer_new(&(struct answerer_options){.path = new_path, .old_path = old_path},
                         &answerer, &e) < 0)
                abort();
        asker = asker_new(answerer);
        unlink(old_path);
        unlink(new_path);
        return 0;
}

/* Brackets pair up outside of strings, and nothing comes behind the last one. */
static void check_document(const char *text, size_t n) {
        char open[64];
        size_t depth = 0, i = 0;
        bool in_string = false;

        for (; i < n; i++) {
                char c = text[i];

                if (in_string) {
                        if (c == '\\')
                                i++;
                        else if (c == '"')
                                in_string = false;
                } else if (c == '"') {
                        in_string = true;
                } else if (c == '{' || c == '[') {
                        if (depth == sizeof(open))
                                abort();
                        open[depth++] = c;
                } else if (c == '}' || c == ']') {
                        if (!depth || open[--depth] != (c == '}' ? '{' : '['))
                                abort();
                        if (!depth)
                                break;
                }
        }
        if (n == 0 || text[0] != '{' || i == n)
                abort();
        for (i++; i < n; i++)
                if (text[i] != '\n')
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const uint8_t *end = memchr(data, '\n', size < MAX_NAME ? size : MAX_NAME);
        char name[MAX_NAME + 1] = "";
        struct err e = {0};
        char *text = NULL;
        size_t n = 0;
        FILE *out;

        if (!end)
                return 0;
        memcpy(name, data, (size_t)(end - data));
        out = open_memstream(&text, &n);
        if (!out)
                abort();
        if (answer(asker, name, (const char *)end + 1, size - (size_t)(end + 1 - data), out, &e) <
            0) {
                if (!e.text[0] || strchr(e.text, '\n'))
                        abort();
                fclose(out);
        } else {
                fclose(out);
                check_document(text, n);
        }
        free(text);
        return 0;
}
