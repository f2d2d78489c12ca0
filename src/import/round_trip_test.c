/* SPDX-License-Identifier: MIT */
/* There and back: random traces, exported in a format and imported again, have every figure that the format can carry, for each
 * call path and in all. What that is, the table of docs/formats.md, "There and back", says: it is the rule of this test. */
#include <fcntl.h>
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
#include "query/spent_time.h"
#include "query/testing/fabric.h"
#include "trace/writer.h"

enum { N_SEEDS = 24, N_EVENTS = 1500, N_TICKS = 600, MAX_RULES = 32 };

static const char trace[] = "round_trip.silt", there[] = "round_trip.there",
                  back[] = "round_trip.back";

/* ---- the rule ------------------------------------------------------------------------------------ */

/* Of a call path, or of all. The words of the table. */
enum figure {
        ALLOCATIONS,
        ALLOCATED,
        PEAK,
        PEAK_BLOCKS,
        END,
        END_BLOCKS,
        TEMPORARY,
        CPU_TIME,
        CPU_SAMPLES,
        BLOCKED_TIME,
        WAITS,
        WEIGHT,
        WEIGHT_SAMPLES,
        N_FIGURES,
        WHEN_PEAK = N_FIGURES, /* of all alone */
        HOW_LONG,
        EACH_SAMPLE,
        N_WORDS,
};
static const char *const words[N_WORDS] = {
        [ALLOCATIONS] = "allocations",
        [ALLOCATED] = "bytes allocated",
        [PEAK] = "peak",
        [PEAK_BLOCKS] = "peak blocks",
        [END] = "end",
        [END_BLOCKS] = "end blocks",
        [TEMPORARY] = "temporary",
        [CPU_TIME] = "CPU time",
        [CPU_SAMPLES] = "CPU samples",
        [BLOCKED_TIME] = "blocked time",
        [WAITS] = "waits",
        [WEIGHT] = "weight",
        [WEIGHT_SAMPLES] = "samples",
        [WHEN_PEAK] = "when the peak was",
        [HOW_LONG] = "how long it ran",
        [EACH_SAMPLE] = "each sample",
};

/* What is written as one figure may be read as another. */
struct carried {
        enum figure before, after;
        bool of_all;        /* and of no call path */
        bool of_one_thread; /* where no other one allocates */
};

struct rule {
        char format[40], by[40], sample_type[40]; /* "" the format's own choice */
        struct carried carried[N_WORDS];
        size_t n_carried;
};

static struct rule rules[MAX_RULES];
static size_t n_rules;

static bool is_of_time(const struct rule *r) {
        return r->n_carried &&
               ((r->carried[0].before >= CPU_TIME && r->carried[0].before <= WAITS) ||
                r->carried[0].before == EACH_SAMPLE);
}

static enum figure word_of(const char *text) {
        for (size_t i = 0; i < N_WORDS; i++)
                if (strcmp(words[i], text) == 0)
                        return (enum figure)i;
        fail_msg("the table has '%s', which is no figure", text);
        return N_WORDS;
}

static char *trim(char *text) {
        size_t n;

        text += strspn(text, " `");
        for (n = strlen(text); n && strchr(" `", text[n - 1]); n--)
                text[n - 1] = '\0';
        return text;
}

/* "peak, end as weight" */
static void read_cell(struct rule *r, char *cell, struct carried like) {
        char *part;

        while ((part = strsep(&cell, ","))) {
                char *as = strstr(part, " as ");

                if (!trim(part)[0])
                        continue;
                if (as)
                        *as = '\0';
                like.before = word_of(trim(part));
                like.after = as ? word_of(trim(as + 4)) : like.before;
                assert_true(r->n_carried < N_WORDS);
                r->carried[r->n_carried++] = like;
        }
}

static void read_row(char *row) {
        struct rule *r = &rules[n_rules];
        char *by, *type, *cells[5] = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cells); i++)
                if (!(cells[i] = strsep(&row, "|")))
                        fail_msg("a row of the table has fewer than four cells");
        cells[1] = trim(cells[1]);
        type = strstr(cells[1], "`--sample-type ");
        if (type) {
                type = trim(type + strlen("`--sample-type "));
                snprintf(r->sample_type, sizeof(r->sample_type), "%s", type);
        }
        cells[1][strcspn(cells[1], "`")] = '\0'; /* "`pprof`, of time" */
        by = strstr(cells[1], " --by ");
        if (by) {
                *by = '\0';
                snprintf(r->by, sizeof(r->by), "%s", by + strlen(" --by "));
        }
        assert_true(n_rules < MAX_RULES - 1);
        snprintf(r->format, sizeof(r->format), "%s", cells[1]);
        read_cell(r, cells[2], (struct carried){.of_one_thread = false});
        read_cell(r, cells[3], (struct carried){.of_one_thread = true});
        read_cell(r, cells[4], (struct carried){.of_all = true});
        n_rules++;
}

static int read_rules(void **state) {
        FILE *f = fopen(FORMATS_DOCUMENT, "re");
        char *line = NULL;
        size_t cap = 0;
        bool is_there = false;

        (void)state;
        assert_non_null(f);
        while (getline(&line, &cap, f) > 0) {
                line[strcspn(line, "\n")] = '\0';
                if (line[0] == '#')
                        is_there = strcmp(line, "### There and back") == 0;
                else if (is_there && strncmp(line, "| `", 3) == 0)
                        read_row(line);
        }
        free(line);
        fclose(f);
        assert_true(n_rules > 0);
        return 0;
}

/* ---- what a trace has ---------------------------------------------------------------------------- */

struct path_sum {
        char *path;
        int64_t values[N_FIGURES];
};
typedef VEC(struct path_sum) path_sums;

/* How call paths are told apart. */
struct path_text {
        struct str text;
        bool has_every_frame; /* also those that were inlined and have no name: text alone does not tell them from others */
        bool by_place; /* heap_v2 has addresses, and which file lies where */
};

/* Code without a name is called by its address where a format has no other place for that. */
static bool add_function(void *ctx, const struct query_frame *f) {
        struct path_text *p = ctx;
        bool is_named =
                f->function[0] && !strstr(f->function, "+0x") && strncmp(f->function, "0x", 2) != 0;

        if (is_named || !f->inlined || p->has_every_frame)
                str_addf(&p->text, "%s;", is_named ? f->function : "?");
        return true;
}

static void add_places(struct str *to, const struct trace_view *v, uint32_t stack) {
        for (; stack; stack = v->stacks[stack].parent) {
                const struct trace_location *l = &v->locations[v->stacks[stack].location];

                str_addf(to, "%s+%llx;", l->module < v->n_modules ? v->modules[l->module].path : "",
                         (unsigned long long)l->offset);
        }
}

static void take_blocks(int64_t *to, const struct query_figures *f) {
        to[ALLOCATIONS] = to[WEIGHT_SAMPLES] = (int64_t)f->n_allocs;
        to[ALLOCATED] = to[WEIGHT] = (int64_t)f->alloc_bytes;
        to[PEAK] = f->peak_bytes;
        to[PEAK_BLOCKS] = f->peak_blocks;
        to[END] = f->end_bytes;
        to[END_BLOCKS] = f->end_blocks;
        to[TEMPORARY] = (int64_t)f->n_temporary;
}

static void take_figures(int64_t *to, const struct query_figures *f, enum query_time of_time) {
        if (of_time == QUERY_NO_TIME) {
                take_blocks(to, f);
                return;
        }
        to[of_time == QUERY_CPU_TIME ? CPU_TIME : BLOCKED_TIME] = (int64_t)f->alloc_bytes;
        to[of_time == QUERY_CPU_TIME ? CPU_SAMPLES : WAITS] = (int64_t)f->n_allocs;
}

static void must(int r, const char *what, const struct err *err) {
        if (r < 0)
                fail_msg("%s: %s", what, err->text);
}

static void add_paths(path_sums *sums, struct query *q, enum query_time of_time,
                      struct path_text *path) {
        struct query_scope scope = query_whole(q);
        struct query_answer *a = NULL;
        struct err err = {0};

        scope.process = QUERY_ALL;
        scope.of_time = of_time;
        must(query_ask(q, &scope, &a, &err), "ask", &err);
        for (size_t i = 0; i < a->n_sites; i++) {
                struct path_sum sum = {0};

                str_clear(&path->text);
                if (path->by_place)
                        add_places(&path->text, query_view(q), a->sites[i].stack);
                else
                        query_each_frame(q, a->sites[i].stack, add_function, path);
                take_figures(sum.values, &a->sites[i].f, of_time);
                sum.path = strdup(str_text(&path->text));
                vec_push(sums, sum);
        }
        query_answer_free(a);
}

static void add_sum(struct path_sum *to, const struct path_sum *x) {
        for (size_t i = 0; i < N_FIGURES; i++)
                to->values[i] += x->values[i];
}

static int compare_paths(const void *a, const void *b) {
        const struct path_sum *x = a, *y = b;

        return strcmp(x->path, y->path);
}

static bool is_carried(const struct carried *c, bool is_all, unsigned n_threads) {
        return c->before < N_FIGURES && (is_all || !c->of_all) &&
               (n_threads == 1 || !c->of_one_thread);
}

/* Figures that are 0 leave nothing: a format may leave out their call path. */
static void add_line(struct str *to, const struct path_sum *s, const struct rule *rule,
                     bool is_back, bool is_all, unsigned n_threads) {
        struct str line = {0};
        bool has_any = false;

        for (size_t i = 0; i < rule->n_carried; i++) {
                const struct carried *c = &rule->carried[i];
                int64_t value;

                if (!is_carried(c, is_all, n_threads))
                        continue;
                value = s->values[is_back ? c->after : c->before];
                str_addf(&line, " %s %lld", words[c->before], (long long)value);
                has_any |= value != 0;
        }
        if (has_any)
                str_addf(to, "%s%s\n", s->path, str_text(&line));
        str_done(&line);
}

static bool carries(const struct rule *rule, enum figure f) {
        for (size_t i = 0; i < rule->n_carried; i++)
                if (rule->carried[i].before == f)
                        return true;
        return false;
}

/* In milliseconds: formats have no finer ones. */
static void add_times(struct str *to, struct query *q, const struct rule *rule) {
        struct query_scope scope = query_whole(q);
        struct query_answer *a = NULL;
        struct err err = {0};

        must(query_ask(q, &scope, &a, &err), "ask", &err);
        if (carries(rule, WHEN_PEAK))
                str_addf(to, "peak at %llu ms\n", (unsigned long long)a->totals.peak_ns / 1000000);
        if (carries(rule, HOW_LONG))
                str_addf(to, "ran for %llu ms\n",
                         (unsigned long long)query_run_end_ns(q, QUERY_ALL) / 1000000);
        query_answer_free(a);
}

struct tick_list {
        struct query *q;
        VEC(char *) lines;
        uint64_t first_ns;
};

static bool find_first(void *ctx, const struct trace_tick *t) {
        struct tick_list *l = ctx;

        l->first_ns = MIN(l->first_ns, t->time_ns);
        return true;
}

static bool add_tick(void *ctx, const struct trace_tick *t) {
        struct tick_list *l = ctx;
        const struct trace_view *v = query_view(l->q);
        const struct trace_thread *thread = &v->threads[t->thread].start;
        struct path_text line = {0};

        str_addf(&line.text, "%020llu %u/%u state %u for %llu ns in ",
                 (unsigned long long)(t->time_ns - l->first_ns),
                 v->processes[thread->process].start.pid, thread->tid, t->state,
                 (unsigned long long)t->weight_ns);
        query_each_frame(l->q, t->stack, add_function, &line);
        vec_push(&l->lines, line.text.bytes);
        return true;
}

static int compare_texts(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Times count from the first: where a program began, text of samples does not say. */
static void add_ticks(struct str *to, struct query *q) {
        struct tick_list l = {.q = q, .first_ns = UINT64_MAX};
        struct query_scope scope = query_whole(q);
        struct err err = {0};

        scope.process = QUERY_ALL;
        must(query_each_tick(q, &scope, find_first, &l, &err), "ticks", &err);
        must(query_each_tick(q, &scope, add_tick, &l, &err), "ticks", &err);
        qsort(l.lines.items, l.lines.n, sizeof(l.lines.items[0]), compare_texts);
        for (size_t i = 0; i < l.lines.n; i++) {
                str_addf(to, "%s\n", l.lines.items[i]);
                free(l.lines.items[i]);
        }
        vec_free(&l.lines);
}

static void add_sums(struct str *to, path_sums *sums, const struct rule *rule, bool is_back,
                     unsigned n_threads) {
        struct path_sum all = {.path = (char[]){"all"}};

        qsort(sums->items, sums->n, sizeof(sums->items[0]), compare_paths);
        for (size_t i = 0, k; i < sums->n; i = k) {
                struct path_sum sum = sums->items[i];

                for (k = i + 1; k < sums->n && !strcmp(sums->items[k].path, sum.path); k++)
                        add_sum(&sum, &sums->items[k]);
                add_line(to, &sum, rule, is_back, false, n_threads);
                add_sum(&all, &sum);
        }
        add_line(to, &all, rule, is_back, true, n_threads);
}

/* Everything of the trace that the rule names. Paths that are the same by the names of their functions are one: formats do not tell more
 * apart. */
static char *figures_of(const char *path, const struct rule *rule, bool is_back,
                        unsigned n_threads) {
        struct path_text line = {.has_every_frame = strcmp(rule->format, "folded") == 0 ||
                                                    strcmp(rule->format, "perf-script") == 0,
                                 .by_place = strcmp(rule->format, "jeprof") == 0 ||
                                             strcmp(rule->format, "gperftools") == 0};
        struct query *q = NULL;
        path_sums sums = {0};
        struct str text = {0};
        struct err err = {0};

        must(query_open(path, &q, &err), path, &err);
        for (enum query_time of = QUERY_NO_TIME; of <= QUERY_BLOCKED_TIME; of++)
                if (of == QUERY_NO_TIME ? !query_is_of_time(q) : query_has_ticks(q))
                        add_paths(&sums, q, of, &line);
        add_sums(&text, &sums, rule, is_back, n_threads);
        add_times(&text, q, rule);
        if (carries(rule, EACH_SAMPLE))
                add_ticks(&text, q);
        for (size_t i = 0; i < sums.n; i++)
                free(sums.items[i].path);
        vec_free(&sums);
        str_done(&line.text);
        query_free(q);
        assert_true(text.n > 0);
        return text.bytes;
}

/* ---- random traces ------------------------------------------------------------------------------- */

static void make_memory(uint64_t seed, unsigned n_threads) {
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 20 + (unsigned)(seed % 60),
                                         .slice_events = 300,
                                         .max_processes = 1,
                                         .max_threads = n_threads,
                                         .max_step_us = 2000,
                                         .by_maker = true,
                                         .with_names = true};
        struct fabric *f = fabric_new(trace, &o);

        fabric_run(f, N_EVENTS);
        fabric_end(f);
}

static uint64_t draw(uint64_t *random) {
        *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
        return *random >> 16;
}

static void put_random_tick(struct fabric *f, uint64_t *random, const uint32_t *stacks,
                            size_t n_stacks, unsigned n_threads) {
        struct trace_tick tick = {.time_ns = fabric_now_ns(f),
                                  .thread = (uint32_t)(draw(random) % n_threads),
                                  .stack = stacks[draw(random) % n_stacks],
                                  .n_samples = 1,
                                  .state = (uint8_t)(draw(random) % TRACE_N_TICK_STATES)};

        tick.weight_ns = 1 + draw(random) % (tick.state == TRACE_ON_CPU ? 2000000 : 20000000);
        tick.weight_ns = MIN(tick.weight_ns, tick.time_ns);
        trace_put_tick(fabric_writer(f), &tick);
}

static void make_time(uint64_t seed, unsigned n_threads) {
        static const char *const names[] = {"main",           "serve", "parse(int)",
                                            "wait_for<a, b>", "spin",  "copy"};
        const struct fabric_options o = {.seed = seed,
                                         .n_stacks = 1,
                                         .slice_events = 300,
                                         .max_processes = 1,
                                         .max_threads = n_threads,
                                         .max_step_us = 10};
        struct fabric *f = fabric_new(trace, &o);
        uint64_t random = seed * 0x9e3779b97f4a7c15 + 1;
        uint32_t stacks[20];

        for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
                stacks[i] = fabric_frame(f, i ? stacks[draw(&random) % i] : 0, "/bin/app",
                                         names[i ? draw(&random) % ARRAY_SIZE(names) : 0],
                                         "/src/app.c", (uint32_t)(1 + draw(&random) % 90));
        for (unsigned i = 0; i < n_threads; i++)
                fabric_thread(f, 0, i ? "worker" : "main");
        fabric_wait(f, 30000);
        for (unsigned i = 0; i < N_TICKS; i++) {
                fabric_wait(f, 1 + draw(&random) % 3000);
                put_random_tick(f, &random, stacks, ARRAY_SIZE(stacks), n_threads);
        }
        fabric_end(f);
}

/* ---- there and back ------------------------------------------------------------------------------ */

static void export_as(const char *format, const char *by) {
        struct request request = REQUEST_DEFAULT;
        struct export_options o = {.path = trace, .request = &request};
        struct export_told told;
        struct err err = {0};
        FILE *out = fopen(there, "we");

        assert_non_null(out);
        if (by[0])
                must(request_set(&request, "by", by, &err), by, &err);
        must(export_format_find(format, &o.format, &err), format, &err);
        must(export_write(out, &o, &told, &err), format, &err);
        export_told_done(&told);
        fclose(out);
        request_done(&request);
}

static void import_back(const struct rule *r) {
        const struct import_options o = {.sample_type = r->sample_type[0] ? r->sample_type : NULL};
        const char *const paths[] = {there};
        struct err err = {0};
        FILE *out = fopen(back, "w+e");

        assert_non_null(out);
        must(import_files(paths, 1, &o, fileno(out), NULL, &err), r->format, &err);
        fclose(out);
}

/* The first lines that differ. */
static void compare_lines(const struct rule *rule, uint64_t seed, char *before, char *after) {
        char *x = NULL, *y = NULL;

        do {
                x = strsep(&before, "\n"), y = strsep(&after, "\n");
                if ((x || y) && (!x || !y || strcmp(x, y) != 0))
                        fail_msg("%s --by '%s', seed %llu:\n%s\n%s", rule->format, rule->by,
                                 (unsigned long long)seed, x ? x : "(none)", y ? y : "(none)");
        } while (x && y);
}

static void test_formats_carry_what_the_table_says(void **state) {
        (void)state;
        for (uint64_t seed = 1; seed <= 2 * N_SEEDS; seed++) {
                unsigned n_threads = 1 + (unsigned)(seed / 2 % 3);
                bool of_time = seed % 2 == 0;

                (of_time ? make_time : make_memory)(seed, n_threads);
                for (size_t i = 0; i < n_rules; i++) {
                        const struct rule *r = &rules[i];
                        char *before, *after;

                        if (is_of_time(r) != of_time)
                                continue;
                        export_as(r->format, r->by);
                        import_back(r);
                        before = figures_of(trace, r, false, n_threads);
                        after = figures_of(back, r, true, n_threads);
                        compare_lines(r, seed, before, after);
                        free(before);
                        free(after);
                }
        }
}

static bool has_rule(const char *format) {
        for (size_t i = 0; i < n_rules; i++)
                if (strcmp(rules[i].format, format) == 0)
                        return true;
        return false;
}

/* A format that is read again has a row. */
static void test_the_table_is_whole(void **state) {
        struct str names = {0};
        char *rest, *name;

        (void)state;
        make_memory(1, 1);
        export_add_names(&names);
        rest = names.bytes;
        while ((name = strsep(&rest, ","))) {
                int fd;

                name = trim(name);
                export_as(name, "");
                fd = open(there, O_RDONLY | O_CLOEXEC);
                assert_true(fd >= 0);
                if ((import_title(fd) != NULL) != has_rule(name))
                        fail_msg("%s is read again, or in the table, but not both", name);
                close(fd);
        }
        str_done(&names);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_formats_carry_what_the_table_says),
                cmocka_unit_test(test_the_table_is_whole),
        };
        int r = cmocka_run_group_tests_name("import/round_trip", tests, read_rules, NULL);

        unlink(trace);
        unlink(there);
        unlink(back);
        return r;
}
