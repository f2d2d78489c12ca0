/* SPDX-License-Identifier: MIT */
/* The report for people: the answer first, then what it rests on. */
#include "base/units.h"
#include "bill/bill_summary.h"
#include "query/spent_time.h"
#include "query/trace_times.h"
#include "report/allocators.h"
#include "report/chart.h"
#include "report/finding_text.h"
#include "report/gather.h"
#include "report/headline.h"
#include "report/limit_lines.h"
#include "report/marks.h"
#include "report/post_mortem.h"
#include "report/process_tree.h"
#include "report/site_list.h"
#include "report/sizes_lifetimes.h"
#include "report/threads_mappings.h"
#include "report/time_text.h"
#include "report/totals_text.h"
#include "show/estimate.h"
#include "show/style.h"
#include "show/view.h"
#include "trace/fail_note.h"
#include "trace/loss_note.h"

/* A wide chart is a little higher. */
static unsigned chart_rows(const struct style *s) {
        return s->width >= 160 ? 14 : s->width >= 110 ? 12 : 10;
}

static const char *plural(uint64_t n) {
        return n == 1 ? "" : "s";
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

/* A single sum without a time: nothing to draw. */
static bool has_one_moment(const struct report *r) {
        return unit_weights() != UNIT_BYTES || r->whole.lacks_peak ||
               (r->whole.lacks_time && r->v->end_ns < 2000000000u);
}

static int print_timeline(const struct style *s, const struct report *r, struct err *reterr) {
        size_t n = chart_n_columns(s);
        _cleanup_free_ struct query_column *columns = calloc(n, sizeof(*columns));
        struct chart chart = {
                r->q,         columns, n, r->answer->totals.peak_ns, r->answer->totals.peak_bytes,
                chart_rows(s)};
        int x;

        if (!columns)
                abort();
        if ((r->answer->totals.peak_bytes == 0 && !report_is_filtered(r)) || has_one_moment(r))
                return 0;
        x = query_timeline(r->q, &r->scope, n,
                           r->options->request->full ? UINT64_MAX : SHOW_MAX_EVENTS, columns,
                           reterr);
        if (x < 0)
                return x;
        if (report_is_filtered(r) && !mark_highest(&chart))
                return 0;
        marks_gather(r, &chart);
        if (r->whole.lacks_time)
                style_heading(s, "Live bytes by %s", query_moment_name(r->q));
        else
                style_heading(s, "Live bytes over time");
        chart_draw(s, &chart);
        return 0;
}

/* ---- quality, overhead, notes ---------------------------------------------------------------- */

static void print_line(const struct style *s, struct str *text) {
        fputs("  ", s->out);
        style_wrap(s, str_text(text), 2);
        str_clear(text);
}

/* Samples are taken where it matters what they cost. */
static void print_share(const struct style *s, const struct report *r, struct str *text) {
        struct estimate_cost c = estimate_cost(r->q);
        struct unit_text a, b;

        if (!c.target_ns)
                return;
        str_addf(
                text,
                "together about %.1f %% of the program's CPU time of %s: %s inside it, the rest in the recorder",
                c.pct, unit_duration(&a, c.target_ns - MIN(c.inside_ns, c.target_ns)),
                unit_duration(&b, c.inside_ns));
        print_line(s, text);
}

/* Of a program that was attached to. */
static void print_holds(const struct style *s, const struct report *r, struct str *text) {
        for (size_t i = 0; i < r->v->n_notes; i++) {
                struct query_hold h;
                struct unit_text a;

                if (query_hold_of(&r->v->notes[i], &h))
                        str_addf(text, "%s%s to %s",
                                 text->n ? ", " : "the program's threads were stopped for ",
                                 unit_duration(&a, h.held_ns), h.is_leaving ? "detach" : "attach");
        }
        if (text->n)
                print_line(s, text);
}

static void print_cost(const struct style *s, const struct report *r, struct str *text) {
        const struct query_totals *t = &r->whole;
        struct unit_text a, b;

        if (!t->is_imported && !query_is_of_time(r->q)) { /* else it was recorded from outside */
                str_addf(text,
                         "silt in the program: at most %s of memory; threads waited %s for it",
                         unit_bytes(&a, t->runtime_bytes),
                         t->blocked_ns ? unit_duration(&b, t->blocked_ns) : "0 s");
                print_line(s, text);
        }
        print_holds(s, r, text);
        if (!r->v->cost.time_ns)
                return;
        str_addf(text, "the recorder: at most %s of memory, %s of CPU time",
                 unit_bytes(&a, r->v->cost.recorder_peak_bytes),
                 unit_duration(&b, r->v->cost.recorder_cpu_ns));
        print_line(s, text);
        if (query_sample_bytes(r->q))
                print_share(s, r, text);
}

static void print_recording(const struct style *s, const struct report *r) {
        const struct report_quality *q = &r->quality;
        const struct query_totals *t = &r->whole;
        struct unit_text a, b;
        struct str text = {0};

        style_heading(s, "Recording");
        if (!t->is_imported && !query_is_of_time(r->q))
                str_addf(&text, "stacks complete %.1f %%, ", q->complete_stacks_pct);
        str_addf(&text, "frames named %.1f %%", q->names.symbolized_frames_pct);
        if (q->names.guessed_frames_pct >= 0.05)
                str_addf(&text, " (%.1f %% guessed)", q->names.guessed_frames_pct);
        if (!t->is_imported && !query_is_of_time(r->q))
                str_addf(&text, ", %s event%s lost", unit_count(&a, t->n_lost), plural(t->n_lost));
        print_line(s, &text);
        if (query_is_of_time(r->q))
                str_addf(&text, "trace %s, samples of time and no allocations",
                         unit_bytes(&a, r->v->file_bytes));
        else if (r->v->meta.flags & TRACE_IS_TOTALS)
                str_addf(&text, "trace %s, totals and no events", unit_bytes(&a, r->v->file_bytes));
        else if (r->has_time)
                str_addf(&text, "trace %s, %s event%s and samples of time",
                         unit_bytes(&a, r->v->file_bytes), unit_count(&b, r->v->n_events),
                         plural(r->v->n_events));
        else
                str_addf(&text, "trace %s for %s events, %.2f bytes each",
                         unit_bytes(&a, r->v->file_bytes), unit_count(&b, r->v->n_events),
                         q->bytes_per_event);
        print_line(s, &text);
        if (r->v->n_dropped_events) {
                str_addf(&text,
                         "detail kept since %s; that of %s older events was dropped (--max-size)",
                         unit_duration(&a, r->v->detail_from_ns),
                         unit_count(&b, r->v->n_dropped_events));
                print_line(s, &text);
        }
        if (allocators_tell(r, &text))
                print_line(s, &text);
        print_cost(s, r, &text);
        if (t->n_implicit_frees) {
                str_addf(&text,
                         "%s free%s not seen, inferred because the address was allocated again",
                         unit_count(&a, t->n_implicit_frees), plural(t->n_implicit_frees));
                print_line(s, &text);
        }
        if (t->n_prior_frees) {
                str_addf(&text, "%s free%s of blocks older than the recording",
                         unit_count(&a, t->n_prior_frees), plural(t->n_prior_frees));
                print_line(s, &text);
        }
        str_done(&text);
}

static void print_note(const struct style *s, const char *text) {
        fprintf(s->out, "  %s ", s->utf8 ? "•" : "*");
        style_wrap(s, text, 4);
}

static bool note_is_mark(const struct trace_note *note) {
        struct query_moment m;
        struct query_hold h;

        return query_moment_of(note, &m) || query_hold_of(note, &h);
}

/* It says something here: it is no mark, no limit that stands at the top, and no failed allocation, which the findings tell. */
static bool note_is_told(const struct trace_note *note, const struct trace_note *const *limits) {
        struct trace_fail fail;
        struct trace_loss loss;

        if (trace_loss_parse(note->text, &loss)) /* the summary has them */
                return false;
        if (trace_fail_parse(note->text, &fail) && !fail.number)
                return false;
        for (int i = 0; i < LIMIT_N_KINDS; i++)
                if (limits[i] == note)
                        return false;
        return !note_is_mark(note);
}

static bool has_notes(const struct report *r, const struct trace_note *const *limits) {
        for (size_t i = 0; i < r->v->n_notes; i++)
                if (note_is_told(&r->v->notes[i], limits))
                        return true;
        return false;
}

/* Nothing is missing but what was not asked for. */
static bool is_only_sampled(const struct report *r) {
        return query_estimate_bytes(r->q) && r->answer->is_exact && r->whole.n_lost == 0 &&
               r->v->n_unwritten_events == 0;
}

static void print_notes(const struct style *s, const struct report *r) {
        const char *damage = query_damage(r->q);
        const struct trace_note *limits[LIMIT_N_KINDS];
        struct trace_limit limit;
        struct str text = {0};
        struct str naming = {0};

        limits_told_notes(r, limits);
        if (!name_quality_add_note(&r->quality.names, r->q, &naming) && !damage[0] &&
            !has_notes(r, limits) && !r->answer->is_moved &&
            (r->quality.is_exact || is_only_sampled(r)))
                return;
        style_heading(s, "Notes");
        if (r->answer->is_moved) {
                struct unit_text b, c;

                view_add_missing(r->v, r->v->detail_from_ns, &text);
                str_addf(&text, ": figures are for the nearest known window, %s to %s.",
                         query_moment_text(r->q, &b, r->scope.from_ns),
                         query_moment_text(r->q, &c, MIN(r->scope.to_ns, r->v->end_ns)));
                print_note(s, str_text(&text));
                str_clear(&text);
        }
        if (!r->answer->is_exact)
                print_note(s, view_inexact(r->answer));
        else if (!r->quality.is_exact && !query_estimate_bytes(r->q))
                print_note(s, "The figures are not exact: some events are not in the trace.");
        if (naming.n)
                print_note(s, str_text(&naming));
        for (size_t i = 0; i < r->v->n_notes; i++)
                if (note_is_told(&r->v->notes[i], limits))
                        print_note(s, trace_limit_parse(r->v->notes[i].text, &limit)
                                              ? limit.text
                                              : r->v->notes[i].text);
        str_done(&text);
        str_done(&naming);
}

/* Asked about time: nothing of memory is told but what stands beside it. */
static int print_time(const struct style *s, struct report *r, struct err *reterr) {
        int x;

        post_mortem_print(s, r);
        limits_print(s, r);
        headline_print(s, r);
        finding_text_print(s, r);
        x = time_tables_print(s, r, false, reterr);
        if (x < 0)
                return x;
        sites_print(s, r);
        print_recording(s, r);
        print_notes(s, r);
        return 0;
}

int report_text(FILE *out, struct report *r, struct err *reterr) {
        struct style s;
        int x;

        style_init(&s, out);
        if (r->has_time && query_metric_time(r->metric))
                return print_time(&s, r, reterr);
        if (!query_answer_is_untold(r->answer)) {
                post_mortem_print(&s, r);
                limits_print(&s, r);
        }
        headline_print(&s, r);
        /* every figure would be a 0 that means nothing */
        if (query_answer_is_untold(r->answer) || query_is_blank(r->q))
                return 0;
        finding_text_print(&s, r);
        totals_print(&s, r);
        if (!report_is_windowed(r) && !report_is_filtered(r))
                bill_summary_print(&s, r->q, r->names, r->scope.process, r->options->path);
        x = print_timeline(&s, r, reterr);
        if (x >= 0 && r->has_time)
                x = time_tables_print(&s, r, true, reterr);
        if (x < 0)
                return x;
        sites_print(&s, r);
        x = sizes_lifetimes_print(&s, r, reterr);
        if (x < 0)
                return x;
        tables_print_threads(&s, r);
        tables_print_mappings(&s, r);
        process_tree_print(&s, r);
        print_recording(&s, r);
        print_notes(&s, r);
        if (!r->whole.lacks_blocks && !query_is_of_time(r->q))
                totals_print_heap_summary(&s, r);
        return 0;
}
