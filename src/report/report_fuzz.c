/* SPDX-License-Identifier: MIT */
/* Any bytes as a trace to report on: what the reader lets through, damaged as it may be, can be asked and printed.
 * No crash, no hang, no more memory than docs/trace-format.md allows and as much again for the answers; an error is
 * one line, and nothing was printed then.
 *
 * The last byte chooses: bit 0 makes the checksums right first; bits 2 to 5 JSON, all processes, blocks, full; bits
 * 6 and 7 a window; bit 1 that the byte before chooses a view (low half) and a filter (high half), or in place of one a metric or a
 * child. Else the metric goes by the input's length.
 *
 * seeds: src/report/report_seeds
 * covers: src/report/report_blocks.c src/report/chart.c src/show/frame.c
 * covers: src/finding/facts.c src/finding/finding.c src/finding/growing.c src/finding/growth.c src/finding/large.c
 * covers: src/finding/left.c src/finding/moves.c src/finding/notes.c src/finding/peak.c src/finding/place.c src/finding/series.c
 * covers: src/finding/slack.c src/finding/temporary.c
 * covers: src/report/gather.c src/report/report_json.c src/show/stack_text.c src/report/threads_mappings.c src/report/report_text.c
 * covers: src/query/answer.c src/query/block.c src/query/process_sum.c src/query/inherited_frees.c src/query/mappings.c
 * covers: src/query/window_peak.c src/query/query.c src/query/replay.c src/query/replay_shares.c src/query/site_state.c src/query/threads.c
 * covers: src/query/living_heirs.c src/query/block_life.c src/query/pick.c
 * covers: src/query/timeline.c src/query/figures.c src/query/group.c src/query/histogram.c src/query/history.c
 * covers: src/query/call_path.c src/query/size_class.c src/query/tree.c src/report/report_groups.c src/report/report_histogram.c
 * covers: src/query/moves_by_path.c src/query/moves_cut.c
 * covers: src/show/show_json.c src/show/json_findings.c src/show/json_groups.c src/show/json_histogram.c src/show/json_tree.c
 * covers: src/show/json_mappings.c src/show/json_processes.c src/show/json_timeline.c src/show/name_quality.c
 * covers: src/report/site_list.c
 * covers: src/report/report_tree.c src/show/view.c src/show/chain.c src/report/process_tree.c src/report/site_forest.c
 * covers: src/report/post_mortem.c src/report/post_mortem_facts.c
 * covers: src/report/finding_text.c src/report/headline.c src/report/late_start.c src/report/sizes_lifetimes.c src/report/totals_text.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/heap_peak.h"
#include "base/macros.h"
#include "query/pages.h"
#include "query/query.h"
#include "query/query_internal.h"
#include "report/report.h"
#include "request/testing/request_made.h"
#include "trace/rehash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N_FILTERS = 8 };

static void choose_filter(struct request *o, unsigned n) {
        static const char *const filters[N_FILTERS][2] = {
                {"function", "a"},         {"not-module", "lib"}, {"size", "10..500"},
                {"lifetime", "2us.."},     {"alive-at", "40us"},  {"thread", "r"},
                {"asked-by", "main|shop"}, {"process", "100"}};
        struct err err = {0};

        if (n == 0 || n > N_FILTERS)
                return;
        o->filter = query_filter_new(); /* by itself: a condition on processes is no key */
        if (query_filter_add(o->filter, filters[n - 1][0], filters[n - 1][1], &err) < 0)
                abort();
}

/* No metric in particular, with or without a filter; some metric; the process that came second. */
static void choose_question(struct request *o, unsigned n) {
        static const char *const questions[] = {"",           "by=cpu",       "by=blocked",
                                                "by=mapped",  "by=temporary", "function=a",
                                                "process=101"};
        _Static_assert(N_FILTERS + ARRAY_SIZE(questions) == 15, "half a byte");

        if (n <= N_FILTERS)
                return;
        o->has_metric = false;
        o->metric = QUERY_PEAK;
        request_ask(o, questions[n - N_FILTERS - 1]);
}

static void choose_view(struct request *o, uint8_t n) {
        static const char *const views[] = {"group-by=site",
                                            "group-by=function",
                                            "group-by=module",
                                            "group-by=line",
                                            "group-by=crate",
                                            "group-by=component",
                                            "group-by=thread",
                                            "group-by=size",
                                            "group-by=process",
                                            "tree",
                                            "bottom-up",
                                            "callers=main",
                                            "callees=a%7Ce",
                                            "histogram=size",
                                            "histogram=lifetime",
                                            "", /* the summary */
                                            ""};

        if (o->shape == REQUEST_SUMMARY)
                request_ask(o, views[n & 15]);
        o->max_depth = n % 3;
        if (n % 5 == 2)
                request_ask(o, "process=main");
        choose_filter(o, n >> 4);
        choose_question(o, n >> 4);
}

static void choose(struct request *o, uint8_t choice, size_t n) {
        enum query_metric metric = (enum query_metric)(n % QUERY_N_METRICS);
        struct err err = {0};

        o->has_metric = true;
        if (query_metric_parse(query_metric_name(metric), &o->metric, &err) < 0 ||
            o->metric != metric)
                abort();
        request_ask(o, choice & 8 ? "process=all" : "");
        request_ask(o, choice & 16 ? "blocks" : "");
        request_ask(o, choice & 64 ? "from=3us" : "");
        request_ask(o, choice & 128 ? "to=50us" : "");
        o->full = choice & 32;
}

static int make_file(const uint8_t *data, size_t n, uint8_t choice) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        uint8_t *copy = malloc(n + 1);

        if (n)
                memcpy(copy, data, n);
        if (choice & 1)
                trace_rehash(copy, n);
        if (fd < 0 || fs_write_all(fd, copy, n) < 0)
                abort();
        free(copy);
        return fd;
}

static void must_be_one_line(const struct err *err) {
        if (!err->text[0] || strchr(err->text, '\n'))
                abort();
}

/* What findings are made of, asked alone: a window that cuts slices, too. */
static void ask_moves(struct query *q, const struct request *o) {
        struct query_scope scope = query_whole(q);
        struct query_moves *m = NULL;
        struct err err = {0};

        if (o->process)
                scope.process = QUERY_ALL;
        if (o->from.is_set) /* late, so that there is something before it */
                scope.from_ns = query_view(q)->end_ns / 8 * 5;
        else if (o->to.is_set)
                scope.to_ns = o->to.ns;
        scope.filter = o->filter;
        if (query_moves(q, &scope, &m, &err) < 0)
                must_be_one_line(&err);
        query_moves_free(m);
}

/* Ranges lie apart, in order, and are together what the sums say. */
static void ask_ranges(struct query *q) {
        struct query_scope scope = query_whole(q);
        struct query_mapped_range *ranges = NULL;
        struct query_mapping *rows = NULL;
        struct query_mapped sum = {0};
        struct err err = {0};
        uint64_t bytes = 0;
        size_t n = 0, n_rows;

        scope.to_ns = query_view(q)->end_ns;
        if (query_mappings(q, &scope, &rows, &n_rows, &sum, &err) < 0 ||
            query_mapped_ranges(q, scope.process, scope.to_ns, &ranges, &n, &err) < 0)
                must_be_one_line(&err);
        for (size_t i = 0; i < n; i++) {
                if (ranges[i].begin >= ranges[i].end || (i && ranges[i - 1].end > ranges[i].begin))
                        abort();
                bytes += ranges[i].end - ranges[i].begin;
        }
        if (bytes != sum.end_bytes)
                abort();
        free(ranges);
        free(rows);
}

/* Every block is in the first slice that has later ones. */
static void ask_slices(struct query *q) {
        size_t n = query_view(q)->n_slices;

        for (uint64_t seq = 0; seq < 100; seq += 33) {
                size_t at = query_slice_of_seq(q, seq);
                const struct trace_slice_info *s = trace_slice(q->reader, at < n ? at : 0);

                if (at > n || (at < n && s->first_seq + s->n_allocs <= seq))
                        abort();
        }
}

static bool refuse(void *ctx, uint64_t done, uint64_t total) {
        (void)ctx;
        (void)done;
        (void)total;
        return false;
}

/* Who is late or refused is told which, and the next question is answered. */
static void ask_late(struct query *q) {
        struct query_scope scope = query_whole(q);
        struct query_answer *a = NULL;
        struct err err = {0};
        int r;

        query_set_deadline(q, 1);
        if (query_tell_progress(q, 0, 1, &err) != -ETIME)
                abort();
        must_be_one_line(&err);
        query_set_deadline(q, 0);
        query_set_progress(q, refuse, NULL);
        r = query_ask(q, &scope, &a, &err);
        if (r < 0)
                must_be_one_line(&err);
        if (query_tell_progress(q, 0, 1, &err) != -ECANCELED)
                abort();
        query_set_progress(q, NULL, NULL);
        if (query_tell_progress(q, 1, 1, &err) < 0)
                abort();
        query_answer_free(a);
}

/* What a report does not ask, or only where there is much. */
static void ask_parts(const char *path, const struct request *o) {
        struct query *q = NULL;
        struct err err = {0};

        if (query_open(path, &q, &err) < 0)
                return;
        if (!query_unit_name(q)[0] || !query_bytes_read(q))
                abort();
        if (query_view(q)->n_processes > 0) {
                ask_moves(q, o);
                ask_ranges(q);
                ask_slices(q);
                ask_late(q);
        }
        query_free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct request request = REQUEST_DEFAULT;
        struct show_options options = {.request = &request};
        uint8_t choice = n ? data[--n] : 0;
        uint8_t view = choice & 2 && n ? data[--n] : 0;
        int fd = make_file(data, n, choice);
        char path[32], *text = NULL;
        size_t n_text = 0;
        FILE *out = open_memstream(&text, &n_text);
        struct err err = {0};
        int r;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        options.path = path;
        options.json = choice & 4;
        choose(&request, choice, n);
        if (choice & 2)
                choose_view(&request, view);
        heap_peak_begin();
        r = report_print(out, &options, &err);
        if (heap_peak_bytes() > 2 * (512 * n + (64u << 20)))
                abort();
        fclose(out);
        if (r < 0 && (!err.text[0] || strchr(err.text, '\n') || n_text))
                abort();
        ask_parts(path, &request);
        request_done(&request);
        free(text);
        close(fd);
        return 0;
}
