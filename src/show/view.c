/* SPDX-License-Identifier: MIT */
#include "show/view.h"

#include <ctype.h>
#include <string.h>

#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "query/trace_times.h"
#include "show/estimate.h"
#include "show/process_holders.h"
#include "trace/being_written.h"

int show_resolve(struct show_options *o, struct query *q, enum request_whom whom,
                 struct request_resolved *ret, struct err *reterr) {
        int r = request_resolve(o->request, q, whom, ret, reterr);

        o->resolved = ret;
        if (r >= 0 && ret->note[0])
                err_set(reterr, 0, "%s", ret->note);
        return r;
}

void view_init(struct view *v, FILE *out, struct query *q, const struct show_options *o,
               const char *schema) {
        *v = (struct view){.o = o, .q = q, .v = query_view(q), .out = out};
        v->metric = o->resolved->metric;
        v->frames = (struct frame_names){q, query_names(q), o->request->full,
                                         query_metric_time(v->metric) != QUERY_NO_TIME};
        v->scope = o->resolved->scope;
        if (!o->json)
                style_init(&v->s, out);
        if (o->width)
                v->s.width = o->width;
        json_init(&v->j, out);
        v->schema = schema;
}

/* ---- metrics --------------------------------------------------------------------------------- */

bool metric_is_count(enum query_metric m) {
        return m == QUERY_COUNT || m == QUERY_TEMPORARY;
}

const char *metric_text(enum query_metric m, int64_t value, struct unit_text *t) {
        if (query_metric_time(m))
                return unit_duration(t, (uint64_t)value);
        if (metric_is_count(m))
                return unit_count(t, (uint64_t)value);
        return m == QUERY_GROWTH ? unit_weight_signed(t, value) : unit_weight(t, (uint64_t)value);
}

double metric_share_pct(int64_t value, uint64_t whole) {
        return whole ? 100.0 * (double)value / (double)whole : 0;
}

void view_add_state(const struct view *v, struct str *to) {
        struct unit_text t;

        if (unit_weights() != UNIT_BYTES && v->metric != QUERY_GROWTH &&
            !query_metric_time(v->metric)) {
                str_add(to, "in total"); /* nothing is live, nothing was allocated */
                return;
        }
        switch (v->metric) {
        case QUERY_PEAK: str_add(to, "live at the peak"); break;
        case QUERY_END:
                if (v->scope.to_ns < v->v->end_ns)
                        str_addf(to, "live at %s", query_moment_text(v->q, &t, v->scope.to_ns));
                else
                        str_add(to, "still allocated at the end");
                break;
        case QUERY_ALLOCATED: str_add(to, "allocated"); break;
        case QUERY_COUNT: str_add(to, "allocations"); break;
        case QUERY_TEMPORARY: str_add(to, "temporary allocations"); break;
        case QUERY_GROWTH: str_add(to, "of growth"); break;
        case QUERY_CPU: str_add(to, "of CPU time"); break;
        case QUERY_BLOCKED: str_add(to, "blocked"); break;
        case QUERY_MAPPED:
                str_add(to, "mapped by the program itself");
                if (v->scope.is_moment)
                        str_addf(to, " at %s",
                                 query_moment_text(v->q, &t, MIN(v->scope.to_ns, v->v->end_ns)));
                break;
        case QUERY_N_METRICS: break;
        }
}

void view_add_whole(const struct view *v, const struct query_totals *t, struct str *to) {
        struct unit_text n;

        str_addf(to, "%s ", metric_text(v->metric, (int64_t)query_metric_whole(t, v->metric), &n));
        view_add_state(v, to);
        if (metric_is_count(v->metric) && query_metric_whole(t, v->metric) == 1)
                to->bytes[--to->n] = '\0'; /* of "allocations" */
}

void view_add_unfinished(const struct trace_view *v, bool is_being_written, struct str *to) {
        struct unit_text t;

        if (is_being_written)
                str_addf(to, "the recording goes on: these are the figures of its first %s",
                         unit_duration(&t, v->end_ns));
        else
                str_addf(
                        to,
                        "the end of the recording is missing: the trace was cut off, or its recorder died, and what came after %s is unknown",
                        unit_duration(&t, v->end_ns));
}

void view_add_missing_end(const struct trace_view *v, const char *path, struct str *to) {
        size_t begin = to->n;

        if (v->finished || (path && trace_is_being_written(path)))
                return;
        view_add_unfinished(v, false, to);
        to->bytes[begin] = (char)toupper((unsigned char)to->bytes[begin]);
        str_add(to, ". ");
}

void view_add_lost(uint64_t n_lost, uint64_t n_unknown_frees, struct str *to) {
        struct unit_text n;

        str_addf(to, "%s event%s could not be recorded", unit_count(&n, n_lost),
                 n_lost == 1 ? "" : "s");
        if (n_unknown_frees)
                str_addf(
                        to,
                        ": %s free%s of addresses that were not allocated may be %s whose allocation was lost",
                        unit_count(&n, n_unknown_frees), n_unknown_frees == 1 ? "" : "s",
                        n_unknown_frees == 1 ? "that of a block" : "those of blocks");
}

void view_add_unwritten(uint64_t n_events, struct str *to) {
        struct unit_text n;

        str_addf(
                to,
                "%s event%s could not be written to the trace (was the disk full?): totals are correct, but detail is missing",
                unit_count(&n, n_events), n_events == 1 ? "" : "s");
}

void view_add_missing(const struct trace_view *v, uint64_t known_from_ns, struct str *to) {
        struct unit_text t;

        if (v->meta.flags & TRACE_IS_TOTALS)
                str_add(to, "This recording has totals and no events");
        else
                str_addf(to, "Detail before %s was dropped (--max-size)",
                         unit_duration(&t, known_from_ns));
}

void view_add_untold(const struct trace_view *v, uint64_t known_from_ns, struct str *to) {
        struct unit_text t;

        if (v->meta.flags & TRACE_IS_TOTALS) {
                str_add(to,
                        "is unknown: this recording has totals and no events: do not ask for sizes, threads or lifetimes");
                return;
        }

        str_addf(to, "is unknown: detail before %s was dropped (--max-size): ",
                 unit_duration(&t, known_from_ns));
        str_addf(to, "start the window at %s, or do not filter by size, thread or lifetime",
                 unit_duration(&t, known_from_ns));
}

void view_add_nothing(const struct view *v, const struct query_answer *a, struct str *to) {
        bool is_filtered = !query_filter_is_empty(v->scope.filter);
        struct unit_text t;

        if (query_is_blank(v->q)) {
                str_add(to,
                        "Nothing of what the program did is in the trace: it was cut off, or has just begun.");
                return;
        }
        if (query_answer_is_untold(a)) {
                str_add(to, "What was ");
                view_add_state(v, to);
                str_add(to, " ");
                view_add_untold(v->v, a->known_from_ns, to);
                str_add(to, ".");
                return;
        }
        if (v->metric == QUERY_GROWTH && !a->known_from_ns) {
                str_addf(to, "Nothing %sgrew: try another %smetric (--by), window or process.",
                         is_filtered ? "that the filter matches " : "",
                         is_filtered ? "filter, " : "");
                return;
        }
        if (a->known_from_ns && v->v->meta.flags & TRACE_IS_TOTALS) {
                str_add(to, "That needs events, and this recording has totals only.");
                return;
        }
        if (a->known_from_ns)
                str_addf(
                        to,
                        "Among the blocks allocated since %s (detail before that was dropped), nothing was ",
                        unit_duration(&t, a->known_from_ns));
        else
                str_addf(to, "Nothing %swas ", is_filtered ? "that the filter matches " : "");
        if (query_metric_time(v->metric))
                str_add(to, v->metric == QUERY_CPU ? "seen on a CPU" : "seen blocked");
        else if (v->metric == QUERY_TEMPORARY)
                str_add(to, "temporary");
        else if (v->metric == QUERY_COUNT)
                str_add(to, "allocated");
        else
                view_add_state(v, to);
        str_addf(to, ": try another %smetric (--by), window or process.",
                 is_filtered ? "filter, " : "");
}

/* What rounding adds to all of it. */
#define VIEW_MAX_SHARE_PCT 101

void view_add_share(struct str *to, int64_t value, uint64_t whole) {
        double pct = metric_share_pct(value, whole);

        if (!whole)
                return;
        if (pct > VIEW_MAX_SHARE_PCT) /* no share of what is left of a growth tells anything */
                str_add(to, " (other parts shrank)");
        else if (pct > 0 && pct < 1)
                str_add(to, " (under 1 %)");
        else
                str_addf(to, " (%.0f %%)", pct < 100 && pct > 99 ? 99.0 : MIN(pct, 100));
}

void view_add_part(const struct view *v, int64_t value, const struct query_totals *t,
                   struct str *to) {
        uint64_t whole = query_metric_whole(t, v->metric);
        struct unit_text n;

        str_add(to, metric_text(v->metric, value, &n));
        if (whole) {
                str_add(to, " of the ");
                view_add_whole(v, t, to);
                view_add_share(to, value, whole);
        } else {
                str_add(to, " ");
                view_add_state(v, to);
                if (v->metric == QUERY_GROWTH)
                        str_add(to, " (other parts shrank)");
        }
}

const char *view_verb(const struct view *v) {
        if (v->metric == QUERY_BLOCKED)
                return "waited";
        if (unit_weights() != UNIT_BYTES)
                return "took";
        return metric_is_count(v->metric)  ? "made"
               : v->metric == QUERY_MAPPED ? "mapped"
                                           : "requested";
}

/* ---- names ----------------------------------------------------------------------------------- */

void view_add_name(const struct view *v, const struct query_frame *f, bool is_task,
                   struct str *to) {
        struct name_frame n = frame_of(f);

        frame_add_function(to, &v->frames, &n, is_task, v->o->request->full, v->s.utf8);
}

void view_add_place(const struct view *v, const struct query_frame *f, struct str *to) {
        struct name_frame n = frame_of(f);

        frame_add_place(to, &n, v->o->request->full);
}

static void add_window(const struct view *v, struct str *to) {
        struct unit_text a, b;

        if (v->scope.from_ns >= v->scope.to_ns)
                return; /* nothing of it is known: the first sentence said so */
        if (v->scope.from_ns > 0 && v->scope.to_ns < v->v->end_ns)
                str_addf(to, "From %s to %s. ", query_moment_text(v->q, &a, v->scope.from_ns),
                         query_moment_text(v->q, &b, v->scope.to_ns));
        else if (v->scope.from_ns > 0)
                str_addf(to, "From %s on. ", query_moment_text(v->q, &a, v->scope.from_ns));
        else if (v->scope.to_ns < v->v->end_ns)
                str_addf(to, "Up to %s. ", query_moment_text(v->q, &b, v->scope.to_ns));
}

static void add_crowd(const struct view *v, struct str *to) {
        struct unit_text t;

        if (!holder_add_crowd(v->q, v->answer, to))
                str_addf(to, "All %s processes", unit_count(&t, query_n_pids(v->q)));
        str_add(to, " together. ");
}

static void add_process(const struct view *v, struct str *to) {
        struct str name = {0};

        query_add_process_name(v->q, v->scope.process, &name);
        style_add_clean(to, str_text(&name));
        if (origin_knows_pids(&v->v->meta)) /* imported: most sources tell none */
                str_addf(to, " (pid %u)", v->v->processes[v->scope.process].start.pid);
        str_add(to, " only. ");
        str_done(&name);
}

void view_add_scope(const struct view *v, struct str *to) {
        const char *filter = query_filter_text(v->scope.filter);

        if (v->scope.process == QUERY_ALL && query_n_pids(v->q) > 1)
                add_crowd(v, to);
        else if (v->v->n_processes > 1 && v->scope.process != QUERY_ALL)
                add_process(v, to);
        add_window(v, to);
        if (filter[0])
                str_addf(to, "Only %s with %s.",
                         v->scope.of_mappings ? "mappings"
                         : v->scope.of_time   ? "samples"
                                              : "blocks",
                         filter);
}

void view_print_first(const struct view *v, struct str *sentence) {
        fputs(v->s.bold, v->out);
        style_wrap(&v->s, str_text(sentence), 0);
        fputs(v->s.plain, v->out);
        str_clear(sentence);
        view_add_scope(v, sentence);
        if (sentence->n) {
                fputs(v->s.dim, v->out);
                style_wrap(&v->s, str_text(sentence), 0);
                fputs(v->s.plain, v->out);
        }
        str_clear(sentence);
}

void view_add_doubts(const struct view *v, const struct query_answer *a, struct str *to) {
        const char *damage = query_damage(v->q);

        if (damage[0])
                str_addf(to, "Incomplete: %s.\n", damage);
        if (query_answer_is_untold(a))
                return; /* the first sentence says it */
        if (query_sample_bytes(v->q) && !v->scope.of_mappings && !v->scope.of_time) {
                estimate_add_sentence(to, v->q, a->totals.is_tallied);
                str_add(to, "\n");
        }
        if (a->known_from_ns) {
                view_add_missing(v->v, a->known_from_ns, to);
                str_add(to, ": blocks allocated earlier are not counted.\n");
        } else if (a->is_moved) {
                view_add_missing(v->v, v->v->detail_from_ns, to);
                str_add(to, ": figures are for the nearest known window.\n");
        } else if (!a->is_exact) {
                str_addf(to, "%s\n", view_inexact(a));
        }
}

const char *view_inexact(const struct query_answer *a) {
        return a->lacks_heirs
                       ? "What a process left to its children when it ended is not counted: --process "
                         "tells what each of them held."
                       : "Parts of the file that these figures need are missing: they are "
                         "approximate.";
}

void view_print_doubts(const struct view *v, const struct query_answer *a) {
        struct str text = {0};

        view_add_doubts(v, a, &text);
        for (const char *line = str_text(&text), *end; *line; line = end + 1) {
                end = strchrnul(line, '\n');
                fprintf(v->out, "\n%.*s\n", (int)(end - line), line);
        }
        str_done(&text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void view_begin(struct view *v) {
        json_object(&v->j);
        json_put_string(&v->j, "schema", v->schema);
}

void view_end(struct view *v) {
        json_end(&v->j);
}
