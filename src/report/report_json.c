/* SPDX-License-Identifier: MIT */
/* The report for programs: schema silt.report/1. Fields may be added; what stands here keeps its
 * meaning. */
#include "base/json.h"
#include "bill/bill_summary.h"
#include "query/spent_time.h"
#include "report/allocators.h"
#include "report/finding_holders.h"
#include "report/gather.h"
#include "report/headline.h"
#include "report/late_start.h"
#include "report/limit_lines.h"
#include "report/marks.h"
#include "report/post_mortem.h"
#include "report/resident_memory.h"
#include "report/time_text.h"
#include "report/unseen_processes.h"
#include "show/estimate.h"
#include "show/show_json.h"
#include "show/view.h"
#include "trace/loss_note.h"

static double seconds(uint64_t ns) {
        return (double)ns / 1e9;
}

/* ---- stacks and sites ------------------------------------------------------------------------ */

static void put_top_metric(struct json *j, struct report *r, enum query_metric m) {
        const struct query_answer *a = report_answer_of(r, m);

        if (!a) /* conditions on single blocks: nothing is known of mappings; no samples of time */
                return;
        query_sort_sites(a->sites, a->n_sites, m);
        json_object(j);
        json_put_string(j, "metric", query_metric_name(m));
        if (query_metric_time(m))
                json_put_string(j, "unit", "nanoseconds");
        if (query_metric_time(m) && m == r->metric) { /* as tables tell them: one for each line */
                struct query_answer folded = *a;

                query_sort_sites(r->folded.items, r->folded.n, m);
                folded.sites = r->folded.items;
                folded.n_sites = r->folded.n;
                show_put_sites(j, r->q, &folded, m, show_n_top(r->options));
        } else {
                show_put_sites(j, r->q, a, m, show_n_top(r->options));
        }
        json_end(j);
}

static void put_findings(struct json *j, const struct report *r) {
        struct finding_holders holders;

        finding_holders_find(&holders, r, true);
        show_put_findings(j, r->q, r->options->path, r->findings, holders.of);
        finding_holders_done(&holders);
}

static void put_top(struct json *j, struct report *r) {
        json_key(j, "top");
        json_array(j);
        if (!r->options->is_brief)
                put_top_metric(j, r, r->metric);
        for (unsigned m = 0; m < QUERY_N_METRICS && !r->options->is_brief; m++)
                if (m != r->metric)
                        put_top_metric(j, r, (enum query_metric)m);
        json_end(j);
}

/* ---- time and sizes -------------------------------------------------------------------------- */

static int put_timeline(struct json *j, const struct report *r, struct err *reterr) {
        struct query_column columns[REPORT_JSON_COLUMNS];
        bool is_told = !r->options->is_brief;
        int x = is_told ? query_timeline(r->q, &r->scope, REPORT_JSON_COLUMNS, SHOW_MAX_EVENTS,
                                         columns, reterr)
                        : 0;

        show_put_timeline(j, columns, is_told && x >= 0 ? REPORT_JSON_COLUMNS : 0);
        return x;
}

static int put_histogram(struct json *j, const struct report *r, const char *key,
                         enum query_histogram_kind kind, struct err *reterr) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = NULL;
        int x;

        json_key(j, key);
        if (r->options->is_brief ||
            !(kind == QUERY_SIZES ? report_counts_sizes(r) : report_counts_lifetimes(r))) {
                json_null(j);
                return 0;
        }
        x = query_histogram(r->q, &r->scope, kind, kind == QUERY_SIZES, &h, reterr);
        if (x < 0) {
                json_null(j);
                return x;
        }
        json_object(j);
        show_put_histogram(j, h);
        json_end(j);
        return 0;
}

/* As --histogram tells them; null where there are too many events to count them. */
static int put_histograms(struct json *j, const struct report *r, struct err *reterr) {
        int x = put_histogram(j, r, "sizes", QUERY_SIZES, reterr);

        return x < 0 ? x : put_histogram(j, r, "lifetimes", QUERY_LIFETIMES, reterr);
}

static void put_notes(struct json *j, const struct report *r) {
        const char *damage = query_damage(r->q);

        json_key(j, "notes");
        json_array(j);
        if (damage[0])
                json_string(j, damage);
        else if (!r->v->finished)
                json_string(
                        j,
                        "the trace is incomplete: it is still being written, or its recorder died");
        if (query_answer_is_untold(r->answer)) {
                struct str text = {0};

                str_add(&text, "what the filter matches ");
                view_add_untold(r->v, r->answer->known_from_ns, &text);
                json_string(j, str_text(&text));
                str_done(&text);
        } else if (r->answer->is_moved)
                json_string(
                        j,
                        r->v->meta.flags & TRACE_IS_TOTALS
                                ? "this recording has totals and no events: the nearest known window is shown instead"
                                : "detail in this window was dropped (--max-size): the nearest known window is shown instead");
        if (!r->answer->is_exact)
                json_string(j, "parts of the file that the figures need are missing");
        for (size_t i = 0; i < r->v->n_notes; i++) {
                struct query_moment m;
                struct query_hold h;
                struct trace_limit l;
                struct trace_loss loss;

                if (!query_moment_of(&r->v->notes[i], &m) && !query_hold_of(&r->v->notes[i], &h) &&
                    !trace_loss_parse(r->v->notes[i].text, &loss))
                        json_string(j, trace_limit_parse(r->v->notes[i].text, &l)
                                               ? l.text
                                               : r->v->notes[i].text);
        }
        json_end(j);
}

static void put_holds(struct json *j, const struct report *r) {
        for (size_t i = 0; i < r->v->n_notes; i++) {
                struct query_hold h;

                if (query_hold_of(&r->v->notes[i], &h))
                        json_put_double(j, h.is_leaving ? "detach_pause_s" : "attach_pause_s",
                                        seconds(h.held_ns), 6);
        }
}

/* What a recording of totals does not say. */
static void put_quality(struct json *j, const struct report *r) {
        json_key(j, "quality");
        json_object(j);
        if (r->whole.lacks_events || r->whole.is_imported || query_is_of_time(r->q))
                json_put_null(j, "complete_stacks_pct");
        else
                json_put_double(j, "complete_stacks_pct", r->quality.complete_stacks_pct, 3);
        json_put_double(j, "symbolized_frames_pct", r->quality.names.symbolized_frames_pct, 3);
        json_put_double(j, "guessed_frames_pct", r->quality.names.guessed_frames_pct, 3);
        json_put_uint(j, "inversions", r->whole.n_inversions);
        json_put_uint(j, "unwritten_events", r->v->n_unwritten_events);
        json_put_uint(j, "damaged_bytes", r->v->n_damaged_bytes);
        json_put_uint(j, "dropped_events", r->v->n_dropped_events);
        json_put_double(j, "detail_from_s", seconds(r->v->detail_from_ns), 6);
        json_key(j, "exact");
        json_bool(j, r->quality.is_exact);
        name_quality_put(j, &r->quality.names);
        json_end(j);
        json_key(j, "overhead");
        json_object(j);
        json_put_uint(j, "trace_bytes", r->v->file_bytes);
        if (r->whole.is_imported)
                json_put_null(j, "runtime_bytes");
        else
                json_put_uint(j, "runtime_bytes", r->whole.runtime_bytes);
        if (r->whole.lacks_events)
                json_put_null(j, "bytes_per_event");
        else
                json_put_double(j, "bytes_per_event", r->quality.bytes_per_event, 3);
        if (r->whole.is_imported)
                json_put_null(j, "blocked_s");
        else
                json_put_double(j, "blocked_s", seconds(r->whole.blocked_ns), 6);
        json_put_uint(j, "events", r->v->n_events);
        if (r->v->cost.time_ns) { /* older traces do not say */
                json_put_uint(j, "recorder_peak_bytes", r->v->cost.recorder_peak_bytes);
                json_put_double(j, "recorder_cpu_s", seconds(r->v->cost.recorder_cpu_ns), 6);
        }
        put_holds(j, r);
        json_end(j);
        allocators_put(j, r);
        late_start_put(j, r);
}

static void put_filter(struct json *j, const struct report *r) {
        json_put_string(j, "filter", query_filter_text(r->scope.filter));
        if (!report_is_filtered(r))
                return;
        json_key(j, "unfiltered");
        json_object(j);
        if (r->unfiltered.lacks_blocks)
                json_put_null(j, "allocations");
        else
                json_put_uint(j, "allocations", r->unfiltered.n_allocs);
        if (show_knows_allocated(r->unfiltered.lacks_blocks, r->unfiltered.lacks_live))
                json_put_uint(j, "bytes_allocated", r->unfiltered.alloc_bytes);
        else
                json_put_null(j, "bytes_allocated");
        if (r->unfiltered.lacks_live) {
                json_put_null(j, "peak_live_bytes");
                json_put_null(j, "end_live_bytes");
        } else {
                json_put_uint(j, "peak_live_bytes", r->unfiltered.peak_bytes);
                json_put_uint(j, "end_live_bytes", r->unfiltered.end_bytes);
        }
        json_end(j);
        json_put_double(j, "known_from_s", seconds(r->answer->known_from_ns), 6);
}

int report_json(FILE *out, struct report *r, struct err *reterr) {
        struct json j;
        int x;

        json_init(&j, out);
        json_object(&j);
        json_put_string(&j, "schema", "silt.report/1");
        show_put_args(&j, "command", r->v->meta.args, r->v->meta.n_args);
        show_put_pid(&j, r->v, 0);
        show_put_time(&j, r->q, "duration_s", r->v->end_ns);
        show_put_time(&j, r->q, "run_time_s", headline_run_ns(r));
        json_put_string(&j, "unit", unit_weight_name());
        json_key(&j, "has_times");
        json_bool(&j, !r->whole.lacks_time);
        json_put_string(&j, "mode", query_estimate_bytes(r->q) ? "sampled" : "exact");
        estimate_put(&j, r->q, r->answer);
        json_key(&j, "window");
        json_object(&j);
        json_put_double(&j, "from_s", seconds(r->scope.from_ns), 6);
        json_put_double(&j, "to_s", seconds(MIN(r->scope.to_ns, r->v->end_ns)), 6);
        json_end(&j);
        put_filter(&j, r);
        headline_put(&j, r);
        post_mortem_put(&j, r);
        show_put_totals(&j, "totals", r->q, &r->answer->totals);
        if (r->all)
                show_put_totals(&j, "totals_all", r->q, &r->all->totals);
        if (r->options->is_brief)
                json_put_null(&j, "quality");
        else
                put_quality(&j, r);
        limits_put(&j, r);
        json_put_string(&j, "ended", show_ended_name(report_process(r)->end.ended));
        show_put_processes(&j, r->q, r->answer);
        if (r->findings)
                put_findings(&j, r);
        else
                json_put_null(&j, "findings");
        put_top(&j, r);
        if (r->whole.lacks_events || r->whole.lacks_threads)
                json_put_null(&j, "threads");
        else
                show_put_threads(&j, r->q, r->threads, r->n_threads, r->threads_have_figures);
        if (r->whole.is_imported) {
                json_put_null(&j, "mappings");
        } else {
                show_put_mappings(&j, r->q, &r->mapped, r->mappings, r->n_mappings,
                                  show_n_top(r->options));
        }
        x = time_put(&j, r, reterr);
        resident_put(&j, r);
        bill_summary_put(&j, r->q, r->names, r->scope.process);
        if (x >= 0)
                x = put_timeline(&j, r, reterr);
        if (x >= 0)
                x = put_histograms(&j, r, reterr);
        marks_put(&j, r->v);
        unseen_put_json(&j, r);
        put_notes(&j, r);
        json_end(&j);
        return x;
}
