/* SPDX-License-Identifier: MIT */
/* There and back: random traces, exported in a format and imported again, have every figure that the format can carry, for each
 * call path and in all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "export/export.h"
#include "import/import.h"
#include "query/query.h"
#include "query/testing/fabric.h"
#include "trace/foreign.h"

enum { N_SEEDS = 40, N_EVENTS = 1500 };

/* What a format carries. */
enum carried {
        ALLOCS = 1, /* how many, and their bytes */
        PEAK = 2,   /* what was live at the peak: bytes */
        END = 4,    /* what was live at the end: bytes */
        BLOCKS = 8, /* of both, in blocks too */
        TEMPORARY = 16,
        PATHS = 32, /* all of it by call path; else in all */
};

static const struct {
        const char *format;
        unsigned carries;
} formats[] = {
        {"heaptrack", ALLOCS | PEAK | END | BLOCKS | TEMPORARY | PATHS},
        {"pprof", ALLOCS | END | BLOCKS | PATHS},
        {"dhat", ALLOCS | PEAK | END | BLOCKS | PATHS},
        {"massif", PEAK | END},
        {"jeprof", ALLOCS | END | BLOCKS},
};

/* Code without a name is called by its address where a format has no other place for that. */
static bool add_function(void *ctx, const struct query_frame *f) {
        bool is_named =
                f->function[0] && !strstr(f->function, "+0x") && strncmp(f->function, "0x", 2) != 0;

        if (is_named || !f->inlined) /* what was inlined and has no name, nobody misses */
                str_addf(ctx, "%s;", is_named ? f->function : "?");
        return true;
}

static void add_figures(struct str *to, const struct query_figures *f, unsigned carries) {
        if (carries & ALLOCS)
                str_addf(to, " allocations %llu %llu", (unsigned long long)f->n_allocs,
                         (unsigned long long)f->alloc_bytes);
        if (carries & PEAK)
                str_addf(to, " peak %lld", (long long)f->peak_bytes);
        if (carries & END)
                str_addf(to, " end %lld", (long long)f->end_bytes);
        if (carries & PEAK && carries & BLOCKS)
                str_addf(to, " at the peak %lld", (long long)f->peak_blocks);
        if (carries & END && carries & BLOCKS)
                str_addf(to, " at the end %lld", (long long)f->end_blocks);
        if (carries & TEMPORARY)
                str_addf(to, " temporary %llu", (unsigned long long)f->n_temporary);
}

static int compare_texts(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

struct path_sum {
        char *path;
        struct query_figures f;
};

static int compare_paths(const void *a, const void *b) {
        const struct path_sum *x = a, *y = b;

        return strcmp(x->path, y->path);
}

/* Paths that are the same by the names of their functions are one: formats do not tell more apart. */
static char *figures_of(const char *path, unsigned carries) {
        struct query *q = NULL;
        struct query_answer *a = NULL;
        struct query_scope scope;
        struct query_figures all = {0};
        VEC(struct path_sum) sums = {0};
        VEC(char *) lines = {0};
        struct str text = {0}, line = {0};
        struct err err = {0};

        if (query_open(path, &q, &err) < 0)
                fail_msg("%s", err.text);
        scope = query_whole(q);
        if (query_ask(q, &scope, &a, &err) < 0)
                fail_msg("%s", err.text);
        for (size_t i = 0; i < a->n_sites; i++) {
                str_clear(&line);
                query_each_frame(q, a->sites[i].stack, add_function, &line);
                vec_push(&sums, (struct path_sum){strdup(str_text(&line)), a->sites[i].f});
                query_figures_add(&all, &a->sites[i].f);
        }
        qsort(sums.items, sums.n, sizeof(sums.items[0]), compare_paths);
        for (size_t i = 0, k; i < sums.n && carries & PATHS; i = k) {
                struct query_figures f = sums.items[i].f;

                for (k = i + 1; k < sums.n && !strcmp(sums.items[k].path, sums.items[i].path); k++)
                        query_figures_add(&f, &sums.items[k].f);
                str_clear(&line);
                str_add(&line, sums.items[i].path);
                add_figures(&line, &f, carries);
                vec_push(&lines, strdup(str_text(&line)));
        }
        str_clear(&line);
        str_add(&line, "all");
        add_figures(&line, &all, carries);
        vec_push(&lines, strdup(str_text(&line)));
        qsort(lines.items, lines.n, sizeof(lines.items[0]), compare_texts);
        for (size_t i = 0; i < lines.n; i++) {
                str_addf(&text, "%s\n", lines.items[i]);
                free(lines.items[i]);
        }
        for (size_t i = 0; i < sums.n; i++)
                free(sums.items[i].path);
        vec_free(&sums);
        vec_free(&lines);
        str_done(&line);
        query_answer_free(a);
        query_free(q);
        return text.bytes;
}

static unsigned n_threads(uint64_t seed) {
        return 1 + (unsigned)(seed % 3);
}

static void make_trace(const char *path, uint64_t seed) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 20 + (unsigned)(seed % 60),
                                         .slice_events = 300,
                                         .max_processes = 1,
                                         .max_threads = n_threads(seed),
                                         .max_step_us = 2000,
                                         .by_maker = true,
                                         .with_names = true};
        struct fabric *f = fabric_new(path, &o);

        fabric_run(f, N_EVENTS);
        fabric_end(f);
}

static void export_to(const char *trace, const char *format, const char *to) {
        struct request request = REQUEST_DEFAULT;
        struct export_options o = {.path = trace, .request = &request};
        struct export_told told;
        struct err err = {0};
        FILE *out = fopen(to, "w");

        assert_non_null(out);
        if (export_format_find(format, &o.format, &err) < 0 ||
            export_write(out, &o, &told, &err) < 0)
                fail_msg("%s: %s", format, err.text);
        fclose(out);
        request_done(&request);
}

static void import_from(const char *from, const char *to) {
        const char *const paths[] = {from};
        struct err err = {0};
        FILE *out = fopen(to, "w+");

        assert_non_null(out);
        if (import_files(paths, 1, NULL, fileno(out), NULL, &err) < 0)
                fail_msg("%s: %s", from, err.text);
        fclose(out);
}

/* The first lines that differ. */
static void compare_lines(const char *format, uint64_t seed, char *before, char *after) {
        char *x, *y;

        while ((x = strsep(&before, "\n")) && (y = strsep(&after, "\n")))
                if (strcmp(x, y) != 0)
                        fail_msg("%s, seed %llu:\n%s\n%s", format, (unsigned long long)seed, x, y);
        assert_ptr_equal(before, after);
}

static void test_there_and_back(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
                make_trace("round_trip.silt", seed);
                for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
                        /* heaptrack knows no threads, whose blocks come and go in between */
                        unsigned carries =
                                formats[i].carries & ~(n_threads(seed) > 1 ? TEMPORARY : 0u);
                        char *before, *after;

                        export_to("round_trip.silt", formats[i].format, "round_trip.there");
                        import_from("round_trip.there", "round_trip.back");
                        before = figures_of("round_trip.silt", carries);
                        after = figures_of("round_trip.back", carries);
                        compare_lines(formats[i].format, seed, before, after);
                        free(before);
                        free(after);
                }
        }
        unlink("round_trip.silt");
        unlink("round_trip.there");
        unlink("round_trip.back");
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back)};

        return cmocka_run_group_tests_name("import/round_trip", tests, NULL, NULL);
}
