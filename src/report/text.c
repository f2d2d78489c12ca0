/* SPDX-License-Identifier: MIT */
/* The report for people: the answer first, then what it rests on. */
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "report/chart.h"
#include "report/frame.h"
#include "report/gather.h"
#include "report/sites.h"
#include "report/style.h"
#include "report/tables.h"

enum { TEXT_CHART_ROWS = 10, TEXT_MAX_FINDINGS = 7 };

static const char *plural(uint64_t n) {
        return n == 1 ? "" : "s";
}

/* ---- the first sentence ---------------------------------------------------------------------- */

static void add_subject(const struct report *r, struct str *to) {
        const struct trace_process *p = &report_process(r)->start;
        bool main_process = r->options->pid == 0;
        uint32_t n_args = main_process && r->v->meta.n_args ? r->v->meta.n_args : p->n_args;
        const char *const *args = main_process && r->v->meta.n_args ? r->v->meta.args : p->args;
        struct unit_text t;

        for (uint32_t i = 0; i < n_args && to->n < 200; i++)
                str_addf(to, "%s%s", i ? " " : "", args[i]);
        if (n_args == 0)
                str_add(to, p->exe[0] ? frame_base(p->exe) : "the program");
        if (r->scope.process == QUERY_ALL)
                str_addf(to, " and its processes (%s in all)", unit_count(&t, r->v->n_processes));
        else if (!main_process)
                str_addf(to, " (pid %u)", p->pid);
}

static void add_how_it_ended(const struct report *r, const struct trace_process_end *end,
                             struct str *to) {
        const char *name;

        switch ((enum trace_ended)end->ended) {
        case TRACE_ENDED_EXIT:
                str_add(to, "when it exited");
                if (end->status > 0)
                        str_addf(to, " with status %d", end->status);
                break;
        case TRACE_ENDED_SIGNAL:
                name = sigabbrev_np(end->status);
                str_addf(to, "when signal %d (%s) ended it", end->status, name ? name : "?");
                break;
        case TRACE_ENDED_OOM: str_add(to, "when the kernel killed it for want of memory"); break;
        case TRACE_ENDED_STOPPED: str_add(to, "when recording stopped"); break;
        case TRACE_ENDED_EXEC: str_add(to, "when it became another program"); break;
        case TRACE_ENDED_UNKNOWN:
                str_add(to, r->v->finished ? "when the recording ended"
                                           : "as far as the recording goes");
                break;
        }
}

static void add_ending(const struct report *r, struct str *to) {
        const struct trace_process_info *p = report_process(r);
        struct unit_text t;

        if (report_is_windowed(r)) {
                str_add(to, "at the end of the window");
                return;
        }
        add_how_it_ended(r, &p->end, to);
        /* since the recording began, as the peak's time is: one sentence, one clock */
        if (p->has_end && p->end.end_ns > 0)
                str_addf(to, " after %s", unit_duration(&t, p->end.end_ns));
}

static void add_temporary(const struct query_totals *t, struct str *to) {
        struct unit_text n;
        uint64_t pct = t->n_allocs
                               ? unit_nearest(100.0 * (double)t->n_temporary / (double)t->n_allocs)
                               : 0;

        str_addf(to, " It made %s allocation%s", unit_count(&n, t->n_allocs), plural(t->n_allocs));
        if (pct >= 1)
                str_addf(to, ", %llu %% of them temporary", (unsigned long long)pct);
        str_add(to, ".");
}

static void add_share(uint64_t part, uint64_t whole, struct str *to) {
        double pct = whole ? 100.0 * (double)part / (double)whole : 0;

        if (pct > 0 && pct < 1)
                str_add(to, " (under 1 %)");
        else if (whole)
                str_addf(to, " (%.0f %%)", pct > 99 && pct < 100 ? 99.0 : pct);
}

/* Of a part of the blocks: what they are, and how much of the whole. */
static void add_filtered(const struct report *r, struct str *to) {
        const struct query_totals *t = &r->answer->totals, *all = &r->unfiltered;
        struct unit_text a, b;

        str_addf(to, ", only blocks with %s: ", query_filter_text(r->scope.filter));
        if (query_answer_is_untold(r->answer)) {
                str_add(to, "what they are ");
                report_add_untold(r->answer->known_from_ns, to);
                str_add(to, ".");
                return;
        }
        if (t->n_allocs == 0 && t->begin_blocks == 0 && t->peak_blocks == 0) {
                if (r->answer->known_from_ns)
                        str_addf(to, "of those allocated since %s, whose detail is kept, ",
                                 unit_duration(&a, r->answer->known_from_ns));
                str_add(to, "there are none.");
                return;
        }
        str_addf(to, "%s of the %s", unit_bytes(&a, t->peak_bytes),
                 unit_bytes(&b, all->peak_bytes));
        add_share(t->peak_bytes, all->peak_bytes, to);
        str_addf(to, " live when it peaked after %s; ", unit_duration(&a, t->peak_ns));
        if (t->end_blocks == 0)
                str_add(to, "all of them were released ");
        else
                str_addf(to, "%s in %s block%s %s still allocated ", unit_bytes(&a, t->end_bytes),
                         unit_count(&b, t->end_blocks), plural(t->end_blocks),
                         t->end_blocks == 1 ? "was" : "were");
        add_ending(r, to);
        str_addf(to, ". They are %s of", unit_count(&a, t->n_allocs));
        str_addf(to, " its %s allocation%s", unit_count(&a, all->n_allocs), plural(all->n_allocs));
        add_share(t->n_allocs, all->n_allocs, to);
        str_add(to, ".");
}

static void print_headline(const struct style *s, const struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        struct unit_text a, b, c;
        struct str text = {0};

        add_subject(r, &text);
        if (report_is_filtered(r)) {
                add_filtered(r, &text);
        } else if (t->n_allocs == 0 && t->peak_bytes == 0) {
                str_add(&text, report_is_windowed(r) ? " allocated nothing in this window."
                                                     : " allocated nothing that silt could see.");
        } else {
                str_addf(&text, " peaked at %s", unit_bytes(&a, t->peak_bytes));
                str_addf(&text, " after %s; ", unit_duration(&b, t->peak_ns));
                if (t->end_blocks == 0)
                        str_add(&text, "everything was released ");
                else
                        str_addf(&text, "%s in %s block%s %s still allocated ",
                                 unit_bytes(&a, t->end_bytes), unit_count(&c, t->end_blocks),
                                 plural(t->end_blocks), t->end_blocks == 1 ? "was" : "were");
                add_ending(r, &text);
                str_add(&text, ".");
                add_temporary(t, &text);
        }
        fputs(s->bold, s->out);
        style_wrap(s, str_text(&text), 0);
        fputs(s->plain, s->out);
        if (r->v->meta.sample_bytes)
                fprintf(s->out, "Sampled every %s: figures by call path are estimates.\n",
                        unit_bytes(&a, r->v->meta.sample_bytes));
        if (r->answer->known_from_ns && !query_answer_is_untold(r->answer))
                fprintf(s->out,
                        "Detail before %s was dropped (--max-size): blocks allocated earlier are not counted.\n",
                        unit_duration(&a, r->answer->known_from_ns));
        str_done(&text);
}

static void print_findings(const struct style *s, const struct report *r) {
        size_t n = MIN(r->findings.n, (size_t)TEXT_MAX_FINDINGS);

        if (n)
                fputc('\n', s->out);
        for (size_t i = 0; i < n; i++) {
                fprintf(s->out, "  %s ", s->utf8 ? "•" : "*");
                style_wrap(s, r->findings.items[i].text, 4);
        }
}

/* ---- totals ---------------------------------------------------------------------------------- */

enum { TOTALS_LABEL_WIDTH = 17, TOTALS_GAP = 3, TOTALS_MAX = 12 };

struct totals_table {
        struct str cells[TOTALS_MAX];
        size_t n;
};

static void totals_add(struct totals_table *t, const char *label, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

static void totals_add(struct totals_table *t, const char *label, const char *fmt, ...) {
        struct str *cell = &t->cells[t->n++];
        char value[128];
        va_list args;

        va_start(args, fmt);
        vsnprintf(value, sizeof(value), fmt, args);
        va_end(args);
        str_addf(cell, "%-*s%s", TOTALS_LABEL_WIDTH, label, value);
}

/* Column after column, as many as fit. */
static void totals_print(const struct style *s, struct totals_table *t) {
        size_t width = 0, n_columns, n_rows;

        for (size_t i = 0; i < t->n; i++)
                width = MAX(width, str_width(str_text(&t->cells[i])) + TOTALS_GAP);
        n_columns = MIN(MAX((s->width - 2) / width, 1u), 3u);
        n_rows = (t->n + n_columns - 1) / n_columns;
        for (size_t row = 0; row < n_rows; row++) {
                struct str line = {0};

                for (size_t i = row; i < t->n; i += n_rows) {
                        style_pad_to(&line, 0, 2 + i / n_rows * width);
                        str_add(&line, str_text(&t->cells[i]));
                }
                fprintf(s->out, "%s\n", str_text(&line));
                str_done(&line);
        }
}

static void print_totals(const struct style *s, const struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        struct totals_table table = {0};
        struct unit_text a, b;

        totals_add(&table, report_is_filtered(r) ? "live at the peak" : "peak live", "%s",
                   unit_bytes(&a, t->peak_bytes));
        totals_add(&table, "  in", "%s block%s", unit_count(&b, t->peak_blocks),
                   plural(t->peak_blocks));
        totals_add(&table, "live at the end", "%s", unit_bytes(&a, t->end_bytes));
        totals_add(&table, "  in", "%s block%s", unit_count(&b, t->end_blocks),
                   plural(t->end_blocks));
        totals_add(&table, "peak resident", "%s",
                   t->peak_rss_bytes ? unit_bytes(&a, t->peak_rss_bytes) : "unknown");
        totals_add(&table, "allocated", "%s", unit_bytes(&a, t->alloc_bytes));
        totals_add(&table, "allocations", "%s", unit_count(&a, t->n_allocs));
        totals_add(&table, "frees", "%s", unit_count(&a, t->n_frees));
        totals_add(&table, "reallocations", "%s", unit_count(&a, t->n_reallocs));
        totals_add(&table, "temporary", "%s", unit_count(&a, t->n_temporary));
        totals_add(&table, "call paths", "%s", unit_count(&a, t->n_sites));
        totals_add(&table, "threads", "%s", unit_count(&a, t->n_threads));
        style_heading(s, report_is_windowed(r) && report_is_filtered(r)
                                 ? "Totals of these blocks in the window"
                         : report_is_filtered(r) ? "Totals of these blocks"
                         : report_is_windowed(r) ? "Totals of the window"
                                                 : "Totals");
        totals_print(s, &table);
        for (size_t i = 0; i < table.n; i++)
                str_done(&table.cells[i]);
}

/* ---- timeline -------------------------------------------------------------------------------- */

/* The peak of a part of the blocks is not the process's. False: there is nothing to draw. */
static bool mark_highest(struct chart *c) {
        c->peak_bytes = 0;
        for (size_t i = 0; i < c->n_columns; i++)
                if (c->columns[i].live_bytes > c->peak_bytes) {
                        c->peak_bytes = c->columns[i].live_bytes;
                        c->peak_ns = c->columns[i].begin_ns;
                }
        return c->peak_bytes > 0;
}

static int print_timeline(const struct style *s, const struct report *r, struct err *reterr) {
        size_t n = chart_n_columns(s);
        _cleanup_free_ struct query_column *columns = calloc(n, sizeof(*columns));
        struct chart chart = {columns, n, r->answer->totals.peak_ns, r->answer->totals.peak_bytes,
                              TEXT_CHART_ROWS};
        int x;

        if (!columns)
                abort();
        if (r->answer->totals.peak_bytes == 0 && !report_is_filtered(r))
                return 0;
        x = query_timeline(r->q, &r->scope, n, r->options->full ? UINT64_MAX : REPORT_MAX_EVENTS,
                           columns, reterr);
        if (x < 0)
                return x;
        if (report_is_filtered(r) && !mark_highest(&chart))
                return 0;
        style_heading(s, "Live bytes over time");
        chart_draw(s, &chart);
        return 0;
}

/* ---- quality, overhead, notes ---------------------------------------------------------------- */

static void print_recording(const struct style *s, const struct report *r) {
        const struct report_quality *q = &r->quality;
        const struct query_totals *t = &r->whole;
        struct unit_text a, b, c;

        style_heading(s, "Recording");
        fprintf(s->out, "  stacks complete %.1f %%, frames named %.1f %%", q->complete_stacks_pct,
                q->symbolized_frames_pct);
        if (q->guessed_frames_pct >= 0.05)
                fprintf(s->out, " (%.1f %% guessed)", q->guessed_frames_pct);
        fprintf(s->out, ", %s event%s lost\n", unit_count(&a, t->n_lost), plural(t->n_lost));
        fprintf(s->out, "  trace %s for %s events, %.2f bytes each\n",
                unit_bytes(&a, r->v->file_bytes), unit_count(&b, r->v->n_events),
                q->bytes_per_event);
        if (r->v->n_dropped_events)
                fprintf(s->out,
                        "  detail kept from %s on, that of %s older events was dropped (--max-size)\n",
                        unit_duration(&a, r->v->detail_from_ns),
                        unit_count(&b, r->v->n_dropped_events));
        fprintf(s->out, "  silt in the program: %s of memory at most, threads waited %s for it\n",
                unit_bytes(&a, t->runtime_bytes),
                t->blocked_ns ? unit_duration(&b, t->blocked_ns) : "0 s");
        if (r->v->cost.time_ns)
                fprintf(s->out, "  silt beside it: %s of memory at most, %s of CPU time\n",
                        unit_bytes(&a, r->v->cost.recorder_peak_bytes),
                        unit_duration(&b, r->v->cost.recorder_cpu_ns));
        if (t->n_implicit_frees)
                fprintf(s->out,
                        "  %s release%s nobody saw, made up because the address was handed out again\n",
                        unit_count(&c, t->n_implicit_frees), plural(t->n_implicit_frees));
        if (t->n_prior_frees)
                fprintf(s->out, "  %s release%s of blocks older than the recording\n",
                        unit_count(&c, t->n_prior_frees), plural(t->n_prior_frees));
}

static void print_note(const struct style *s, const char *text) {
        fprintf(s->out, "  %s ", s->utf8 ? "•" : "*");
        style_wrap(s, text, 4);
}

static void print_notes(const struct style *s, const struct report *r) {
        const char *damage = query_damage(r->q);
        struct str text = {0};
        struct str naming = {0};
        bool unfinished = !r->v->finished;

        if (!report_naming_note(r, &naming) && !damage[0] && !unfinished && !r->v->n_notes &&
            !r->answer->is_moved && r->quality.is_exact)
                return;
        style_heading(s, "Notes");
        if (damage[0])
                print_note(s, damage);
        else if (unfinished)
                print_note(
                        s,
                        "The trace has no end yet: it is still being written, or its recorder died.");
        if (r->answer->is_moved) {
                struct unit_text a, b, c;

                str_addf(
                        &text,
                        "Event detail before %s was dropped (--max-size): these are the figures from %s to %s, "
                        "the nearest there are.",
                        unit_duration(&a, r->v->detail_from_ns),
                        unit_duration(&b, r->scope.from_ns),
                        unit_duration(&c, MIN(r->scope.to_ns, r->v->end_ns)));
                print_note(s, str_text(&text));
                str_clear(&text);
        }
        if (!r->answer->is_exact)
                print_note(
                        s,
                        "Parts that these figures need are missing from the file: they are as near as the rest "
                        "allows.");
        else if (!r->quality.is_exact)
                print_note(
                        s,
                        "The figures are not exact: a part of what happened is not in the trace.");
        if (naming.n)
                print_note(s, str_text(&naming));
        for (size_t i = 0; i < r->v->n_notes; i++)
                print_note(s, r->v->notes[i].text);
        str_done(&text);
        str_done(&naming);
}

/* In the words of valgrind's memcheck, for those who look for them. */
static void print_heap_summary(const struct style *s, const struct report *r) {
        const struct query_totals *t = &r->answer->totals;
        bool has_ended = report_process(r)->end.ended != TRACE_ENDED_UNKNOWN &&
                         report_process(r)->end.ended != TRACE_ENDED_STOPPED;
        const char *where = report_is_windowed(r) ? "the window's end"
                            : has_ended           ? "exit"
                                                  : "the end";
        struct unit_text a, b, c;

        fprintf(s->out, "\nHEAP SUMMARY:\n");
        fprintf(s->out, "    in use at %s: %s bytes in %s blocks\n", where,
                unit_count(&a, t->end_bytes), unit_count(&b, t->end_blocks));
        fprintf(s->out, "  total heap usage: %s allocs, %s frees, %s bytes allocated\n",
                unit_count(&a, t->n_allocs), unit_count(&b, t->n_frees),
                unit_count(&c, t->alloc_bytes));
        fprintf(s->out, "  reachability not examined\n");
}

int report_text(FILE *out, struct report *r, struct err *reterr) {
        struct style s;
        int x;

        style_init(&s, out);
        print_headline(&s, r);
        if (query_answer_is_untold(r->answer)) /* every figure would be a 0 that means nothing */
                return 0;
        print_findings(&s, r);
        print_totals(&s, r);
        x = print_timeline(&s, r, reterr);
        if (x < 0)
                return x;
        sites_print(&s, r);
        tables_print_threads(&s, r);
        tables_print_mappings(&s, r);
        tables_print_processes(&s, r);
        print_recording(&s, r);
        print_notes(&s, r);
        print_heap_summary(&s, r);
        return 0;
}
