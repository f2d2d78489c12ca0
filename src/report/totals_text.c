/* SPDX-License-Identifier: MIT */
#include "report/totals_text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "keep/leak_summary.h"
#include "report/headline.h"
#include "show/estimate.h"

enum { TOTALS_LABEL_WIDTH = 15, TOTALS_GAP = 3, TOTALS_MAX = 12, TOTALS_MAX_COLUMNS = 3 };

struct totals_table {
        struct str cells[TOTALS_MAX];
        size_t n;
};

/* Before estimates. */
static const char *tilde(const struct report *r) {
        return query_sample_bytes(r->q) ? "~" : "";
}

static void add(struct totals_table *t, const char *label, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

static void add(struct totals_table *t, const char *label, const char *fmt, ...) {
        struct str *cell = &t->cells[t->n++];
        char value[128];
        va_list args;

        va_start(args, fmt);
        vsnprintf(value, sizeof(value), fmt, args);
        va_end(args);
        str_addf(cell, "%-*s%s", TOTALS_LABEL_WIDTH, label, value);
}

/* var: of the bytes, in a recording of samples. */
static void add_blocks(struct totals_table *t, const struct style *s, const struct report *r,
                       const char *label, uint64_t bytes, uint64_t blocks, double var) {
        struct unit_text a, b;
        struct str error = {0};

        estimate_add_error(&error, sqrt(var), (double)bytes, s->utf8);
        if (r->answer->totals.lacks_blocks)
                add(t, label, "%s", unit_bytes(&a, bytes));
        else
                add(t, label, "%s%s%s in %s block%s", tilde(r), unit_bytes(&a, bytes),
                    str_text(&error), unit_count(&b, blocks), blocks == 1 ? "" : "s");
        str_done(&error);
}

/* What stands together stays so: memory, calls, the rest; of two columns the rest is in the first. */
static struct str *cell_at(struct totals_table *t, size_t n_columns, size_t column, size_t row) {
        static const unsigned char two[TOTALS_MAX] = {0, 1, 2, 3, 10, 11, 4, 5, 6, 7, 8, 9};
        size_t i = column * (TOTALS_MAX / n_columns) + row;

        return &t->cells[n_columns == 2 ? two[i] : i];
}

/* How wide each of n_columns is; their sum. */
static size_t measure(struct totals_table *t, size_t n_columns, size_t *ret_widths) {
        size_t sum = 0;

        for (size_t k = 0; k < n_columns; k++) {
                ret_widths[k] = 0;
                for (size_t i = 0; i < TOTALS_MAX / n_columns; i++)
                        ret_widths[k] = MAX(ret_widths[k],
                                            str_width(str_text(cell_at(t, n_columns, k, i))));
                sum += ret_widths[k] + (k ? TOTALS_GAP : 0);
        }
        return sum;
}

static void print_table(const struct style *s, struct totals_table *t) {
        size_t widths[TOTALS_MAX_COLUMNS], n_columns = TOTALS_MAX_COLUMNS, n_rows;

        while (n_columns > 1 && measure(t, n_columns, widths) + 2 > s->width)
                n_columns--;
        measure(t, n_columns, widths);
        n_rows = TOTALS_MAX / n_columns;
        for (size_t row = 0; row < n_rows; row++) {
                struct str line = {0};
                size_t at = 2;

                for (size_t k = 0; k < n_columns; k++) {
                        style_pad_to(&line, 0, at);
                        str_add(&line, str_text(cell_at(t, n_columns, k, row)));
                        at += widths[k] + TOTALS_GAP;
                }
                fprintf(s->out, "%s\n", str_text(&line));
                str_done(&line);
        }
}

static const char *title(const struct report *r) {
        if (report_is_filtered(r))
                return report_is_windowed(r) ? "Totals of these blocks in the window"
                                             : "Totals of these blocks";
        return report_is_windowed(r) ? "Totals of the window" : "Totals";
}

void totals_print(const struct style *s, const struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        struct totals_table table = {0};
        struct unit_text a;
        const char *rate;

        bool lacks_calls = t->lacks_blocks || t->lacks_traffic;
        const char *counted = t->is_tallied ? "" : tilde(r);

        if (unit_weights() != UNIT_BYTES)
                return; /* the headline has all of it */

        if (t->lacks_peak)
                add(&table, "peak live", "unknown");
        else
                add_blocks(&table, s, r, report_is_filtered(r) ? "at the peak" : "peak live",
                           t->peak_bytes, t->peak_blocks, t->var[QUERY_PEAK]);
        if (t->lacks_live)
                add(&table, "at the end", "unknown");
        else
                add_blocks(&table, s, r, "at the end", t->end_bytes, t->end_blocks,
                           t->var[QUERY_END]);
        if (lacks_calls && !t->lacks_live)
                add(&table, "allocated", "unknown");
        else
                add(&table, "allocated", "%s%s in total", counted, unit_bytes(&a, t->alloc_bytes));
        add(&table, "peak resident", "%s",
            t->peak_rss_bytes ? unit_bytes(&a, t->peak_rss_bytes) : "unknown");
        if (lacks_calls)
                add(&table, "allocations", "unknown");
        else
                add(&table, "allocations", "%s%s", counted, unit_count(&a, t->n_allocs));
        rate = headline_rate(r, t->n_allocs, &a);
        add(&table, "  per second", "%s",
            lacks_calls || t->lacks_time ? "unknown"
            : rate[0]                    ? rate
                                         : "-");
        if (t->lacks_events)
                add(&table, "  temporary", "unknown");
        else if (t->n_allocs)
                add(&table, "  temporary", "%s%s (%.1f %%)", tilde(r),
                    unit_count(&a, t->n_temporary),
                    100.0 * (double)t->n_temporary /
                            (double)MAX(query_metric_whole(t, QUERY_COUNT), 1u));
        else
                add(&table, "  temporary", "0");
        add(&table, "frees", "%s%s", counted,
            lacks_calls || t->lacks_live ? "unknown" : unit_count(&a, t->n_frees));
        add(&table, "reallocations", "%s%s", counted,
            t->lacks_events || t->lacks_reallocs ? "unknown" : unit_count(&a, t->n_reallocs));
        add(&table, "call paths", "%s", unit_count(&a, t->n_sites));
        add(&table, report_is_windowed(r) ? "window" : "run time", "%s",
            t->lacks_time ? "unknown" : unit_duration(&a, headline_span_ns(r)));
        add(&table, "threads", "%s",
            t->lacks_events || t->lacks_threads ? "unknown" : unit_count(&a, t->n_threads));
        style_heading(s, "%s", title(r));
        print_table(s, &table);
        for (size_t i = 0; i < table.n; i++)
                str_done(&table.cells[i]);
}

/* ---- as memcheck tells it -------------------------------------------------------------------- */

/* What was left at the end by what became of it. */
static void print_leak_summary(const struct style *s, const struct report *r) {
        const struct finding_left *left = &r->findings->left;
        uint64_t end_bytes = r->answer->totals.end_bytes;
        uint64_t calm_bytes = left->start_up_bytes + left->steady_bytes + left->rising_bytes +
                              left->later_bytes + left->collected_bytes;
        struct unit_text t;

        if (end_bytes == 0 || report_is_windowed(r) || report_is_filtered(r) ||
            r->answer->totals.lacks_events || left->is_unknown)
                return;
        fprintf(s->out, "LEAK SUMMARY:\n");
        fprintf(s->out, "    growing or left behind: %s byte%s\n",
                unit_count(&t, end_bytes - MIN(end_bytes, calm_bytes)),
                unit_s(end_bytes - MIN(end_bytes, calm_bytes)));
        fprintf(s->out, "    startup memory, or built once: %s byte%s\n",
                unit_count(&t, left->start_up_bytes), unit_s(left->start_up_bytes));
        if (left->rising_bytes)
                fprintf(s->out, "    never freed and still growing: %s byte%s\n",
                        unit_count(&t, left->rising_bytes), unit_s(left->rising_bytes));
        if (left->collected_bytes)
                fprintf(s->out, "    in heaps of garbage collectors: %s byte%s\n",
                        unit_count(&t, left->collected_bytes), unit_s(left->collected_bytes));
        fprintf(s->out, "    in steady caches, or allocated late: %s byte%s\n",
                unit_count(&t, left->steady_bytes + left->later_bytes),
                unit_s(left->steady_bytes + left->later_bytes));
}

/* By the graph of the trace, if it has one of this process at its end. */
static bool print_lost(const struct style *s, const struct report *r) {
        struct kept_leaks l = {0};
        bool is_there = false;

        if ((query_n_graphs(r->q) || kept_leaks_are_told(r->q)) && !report_is_windowed(r) &&
            !report_is_filtered(r) &&
            kept_leaks_open(&l, r->q, "", r->answer->scope.process, NULL, NULL) >= 0)
                is_there = l.is_at_exit;
        if (is_there) {
                fputc('\n', s->out);
                leak_summary_print(s->out, &l);
        }
        kept_leaks_done(&l);
        return is_there;
}

/* In the words of valgrind's memcheck, for those who look for them: lines stay whole where the screen has 72 columns. */
void totals_print_heap_summary(const struct style *s, const struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        bool has_ended = report_process(r)->end.ended != TRACE_ENDED_UNKNOWN &&
                         report_process(r)->end.ended != TRACE_ENDED_STOPPED;
        const char *where = report_is_windowed(r) ? "the window's end"
                            : has_ended           ? "exit"
                                                  : "the end";
        struct unit_text a, b, c;

        if (t->lacks_live)
                return; /* nothing of what it tells is known */
        fprintf(s->out, "\nHEAP SUMMARY:\n");
        fprintf(s->out, "    in use at %s: %s%s bytes in %s blocks\n", where,
                query_sample_bytes(r->q) ? "about " : "", unit_count(&a, t->end_bytes),
                unit_count(&b, t->end_blocks));
        if (t->lacks_traffic)
                return;
        fprintf(s->out, "  total heap usage: %s allocs, %s frees,%s%s bytes allocated\n",
                unit_count(&a, t->n_allocs), unit_count(&b, t->n_frees),
                s->width < 72 ? "\n    " : " ", unit_count(&c, t->alloc_bytes));
        if (print_lost(s, r))
                return;
        fprintf(s->out, "  reachability not examined\n");
        print_leak_summary(s, r);
}
