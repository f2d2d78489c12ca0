/* SPDX-License-Identifier: MIT */
#include "report/headline.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "query/resident_peak.h"
#include "query/spent_time.h"
#include "query/trace_times.h"
#include "report/late_start.h"
#include "report/resident_memory.h"
#include "report/time_text.h"
#include "show/estimate.h"
#include "show/frame.h"
#include "show/process_holders.h"
#include "show/view.h"

enum {
        HEADLINE_MAX_COMMAND = 72,
        HEADLINE_MAX_HOLDER = 40,
        HEADLINE_MIN_RATED = 1000,
        HEADLINE_JSON_WIDTH = 1000,
};

/* A rate is of a time that is known to a tenth. */
#define HEADLINE_MIN_RATE_NS 1000000u
#define HEADLINE_MIN_RATE_STEPS 10u
#define HEADLINE_MOMENT_NS 1000000000u /* between two without times */

#define HEADLINE_MIN_EXCESS 0.005 /* of the peak: less does not show in the curve */

/* Before figures that samples give. */
static const char *about(const struct report *r) {
        return query_sample_bytes(r->q) ? "about " : "";
}

static const char *plural(uint64_t n) {
        return n == 1 ? "" : "s";
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t end_of(const struct report *r) {
        return query_run_end_ns(r->q, r->scope.process);
}

static uint64_t begin_of(const struct report *r) {
        return r->scope.process == QUERY_ALL ? 0 : report_process(r)->start.start_ns;
}

/* It came later than the recording began. The first process did not: what comes before it is silt's starting. */
static bool is_late(const struct report *r) {
        return r->scope.process != 0 && begin_of(r) > end_of(r) / 100;
}

uint64_t headline_span_ns(const struct report *r) {
        uint64_t begin = MAX(is_late(r) ? begin_of(r) : 0, r->scope.from_ns);
        uint64_t end = MIN(end_of(r), r->scope.to_ns);

        return end > begin ? end - begin : 0;
}

uint64_t headline_run_ns(const struct report *r) {
        return end_of(r) - (is_late(r) ? MIN(begin_of(r), end_of(r)) : 0);
}

const char *headline_rate(const struct report *r, uint64_t n, struct unit_text *t) {
        uint64_t span_ns = headline_span_ns(r), rate, unit = 1;

        if (span_ns < HEADLINE_MIN_RATE_NS || n == 0 || r->whole.lacks_time ||
            span_ns / HEADLINE_MIN_RATE_STEPS < query_clock_step_ns(r->q))
                return "";
        rate = unit_nearest((double)n * 1e9 / (double)span_ns);
        while (rate / unit >= 1000)
                unit *= 10;
        return unit_count(t, (rate + unit / 2) / unit * unit);
}

/* It was there before the recording, or lived on after it. */
static bool is_part_of_life(const struct report *r) {
        return late_start_is_there(r) || report_process(r)->end.ended == TRACE_ENDED_STOPPED;
}

/* "ran for 2.1 s", or, of one that came later, "ran from 1.2 s to 2.1 s": one clock for all times that are told. */
static void add_run(const struct report *r, struct str *to) {
        const char *ran = is_part_of_life(r) ? "was recorded" : "ran";
        uint64_t begin = begin_of(r), end = end_of(r);
        struct unit_text a, b;

        if (is_late(r))
                str_addf(to, " %s from %s to %s", ran, unit_duration(&a, begin),
                         unit_duration(&b, end));
        else
                str_addf(to, " %s for %s", ran, unit_duration(&a, end));
}

static void add_window(const struct report *r, struct str *to) {
        struct unit_text a, b;

        str_addf(to, "From %s to %s, ",
                 r->scope.from_ns ? query_moment_text(r->q, &a, r->scope.from_ns) : "0",
                 query_moment_text(r->q, &b, MIN(r->scope.to_ns, r->v->end_ns)));
}

/* ---- who ------------------------------------------------------------------------------------- */

static void add_command(const struct style *s, const struct trace_process *p,
                        const struct trace_meta *meta, size_t max_cells, struct str *to) {
        uint32_t n_args = meta && meta->n_args ? meta->n_args : p->n_args;
        const char *const *args = meta && meta->n_args ? meta->args : p->args;
        struct str raw = {0}, clean = {0};

        for (uint32_t i = 0; i < n_args && raw.n < 4096; i++)
                str_addf(&raw, "%s%s", i ? " " : "",
                         !args[i][0] ? "''"
                         : i         ? args[i]
                                     : frame_base(args[i]));
        if (n_args == 0)
                str_add(&raw, p->exe[0] ? frame_base(p->exe) : "the program");
        style_add_clean(&clean, str_text(&raw));
        style_add_cut(s, to, str_text(&clean), max_cells);
        str_done(&raw);
        str_done(&clean);
}

/* Several images of one pid are one process. */
static bool is_of_several(const struct report *r) {
        return r->scope.process == QUERY_ALL && query_n_pids(r->q) > 1;
}

/* It was not asked for by its number or name. */
static bool is_main(const struct report *r) {
        return r->scope.process == QUERY_ALL || !r->options->request->process ||
               strcmp(r->options->request->process, "main") == 0;
}

static void add_subject(const struct style *s, const struct report *r, struct str *to) {
        const struct trace_process *p = &report_process(r)->start;
        struct unit_text t;

        add_command(s, p, is_main(r) ? &r->v->meta : NULL, HEADLINE_MAX_COMMAND, to);
        if (is_of_several(r))
                str_addf(to, " and its processes (%s in total)",
                         unit_count(&t, query_n_pids(r->q)));
        else if (!is_main(r))
                str_addf(to, " (pid %u)", p->pid);
}

/* "redis-server *:6379 (pid 812)"; of several alike "16 processes called cc1plus (the largest: pid 812, 61.0 MiB)". */
static void add_holder(const struct style *s, const struct report *r, const struct holder *h,
                       struct str *to) {
        const struct trace_process_info *p = &r->v->processes[h->process];
        struct str name = {0};
        struct unit_text a;

        if (h->n > 1) {
                query_add_process_name(r->q, h->process, &name);
                str_addf(to, "%s processes named ", unit_count(&a, h->n));
                style_add_clean(to, str_text(&name));
                str_addf(to, " (the largest: pid %u, %s)", p->start.pid,
                         unit_bytes(&a, h->largest_bytes));
        } else if (p->title) {
                style_add_clean(&name, query_process_name(r->q, h->process));
                style_add_cut(s, to, str_text(&name), HEADLINE_MAX_HOLDER);
                str_addf(to, " (pid %u)", p->start.pid);
        } else {
                add_command(s, &p->start, NULL, HEADLINE_MAX_HOLDER, to);
                str_addf(to, " (pid %u)", p->start.pid);
        }
        str_done(&name);
}

/* Whose processes they are, unless that was said just now. */
static void add_family(const struct style *s, const struct report *r, const struct holder *h,
                       struct str *to) {
        size_t n = query_n_pids(r->q);
        bool is_first = r->v->processes[h->process].start.pid == r->v->processes[0].start.pid;
        struct str own = {0}, first = {0};
        struct unit_text t;

        if (is_first && h->n == 1) {
                str_addf(to, "it and %s other process%s", unit_count(&t, n - 1),
                         n == 2 ? "" : "es");
                return;
        }
        str_addf(to, n == 2 ? "both processes" : "all %s processes", unit_count(&t, n));
        add_command(s, &r->v->processes[h->process].start, NULL, HEADLINE_MAX_HOLDER, &own);
        add_command(s, &report_process(r)->start, &r->v->meta, HEADLINE_MAX_HOLDER, &first);
        if (strcmp(str_text(&own), str_text(&first)) != 0)
                str_addf(to, " of %s", str_text(&first));
        str_done(&own);
        str_done(&first);
}

/* Far less of the largest was resident, or found to be, than its blocks were: what was never touched is not held. */
static bool is_requested_only(const struct report *r, const struct holder *h,
                              struct query_resident_peak *ret) {
        struct query_scope scope = {.process = h->process, .to_ns = UINT64_MAX};

        if (report_is_windowed(r) || h->process >= r->answer->n_processes)
                return false;
        query_resident_peak(r->q, &scope, &r->answer->processes[h->process], ret);
        return ret->is_less || ret->is_unknown;
}

/* Of several processes the one comes first that holds the memory. */
static void add_held(const struct style *s, const struct report *r, const struct holder *h,
                     struct str *to) {
        const struct query_totals *t = &r->answer->totals;
        struct query_resident_peak peak = {0};
        bool is_requested = is_requested_only(r, h, &peak);
        const char *held = is_requested ? "requested" : "held";
        struct unit_text a, b;

        add_holder(s, r, h, to);
        if (strcmp(unit_bytes(&a, h->bytes), unit_bytes(&b, t->peak_bytes)) == 0)
                str_addf(to, " %s %sall of the %s%s", held,
                         h->bytes < t->peak_bytes ? "nearly " : "", about(r), b.s);
        else
                str_addf(to, " %s %s%s of the %s", held, about(r), unit_bytes(&a, h->bytes),
                         unit_bytes(&b, t->peak_bytes));
        estimate_add_error(to, sqrt(t->var[QUERY_PEAK]), (double)t->peak_bytes, s->utf8);
        str_add(to, " that ");
        add_family(s, r, h, to);
        str_addf(to, " together %s at the peak, after %s",
                 is_requested ? "had in live blocks" : "held", unit_duration(&a, t->peak_ns));
        if (!report_is_windowed(r))
                str_addf(to, " of %s", unit_duration(&b, end_of(r)));
        if (is_requested)
                str_addf(
                        to,
                        peak.is_exact ? "; at most %s of %s resident"
                        : peak.is_unknown
                                ? "; no sample found more than %s of %s resident, and none was taken after the peak"
                                : "; no sample found more than %s of %s resident",
                        unit_bytes(&a, peak.bytes),
                        h->n > 1 ? "the largest of them" : "its memory");
}

/* Where blocks are not most of it, the one comes first that has the memory: it may be another. */
static bool add_resident(const struct style *s, const struct report *r, const struct holder *h,
                         struct str *to) {
        struct holder most = {.process = resident_process(r), .n = 1};
        const struct query_totals *t = &r->answer->totals;
        struct str parts = {0};
        struct unit_text a, b;
        size_t begin;
        bool is_told = resident_add(r, most.process, " used", s->utf8, &parts);

        if (is_told) {
                add_holder(s, r, &most, to);
                str_addf(to, "%s. ", str_text(&parts));
                begin = to->n;
                add_family(s, r, &most, to);
                to->bytes[begin] = (char)toupper((unsigned char)to->bytes[begin]);
                str_addf(to, " together used up to %s, counting shared pages in each",
                         unit_bytes(&a, t->peak_rss_bytes));
                str_addf(to, "; their blocks peaked at %s%s", about(r),
                         unit_bytes(&a, t->peak_bytes));
                estimate_add_error(to, sqrt(t->var[QUERY_PEAK]), (double)t->peak_bytes, s->utf8);
                str_addf(to, " after %s of %s", unit_duration(&a, t->peak_ns),
                         unit_duration(&b, end_of(r)));
                if (h->process != most.process) {
                        str_addf(to, ", %s of it in ", unit_bytes(&a, h->bytes));
                        add_holder(s, r, h, to);
                }
        }
        str_done(&parts);
        return is_told;
}

/* ---- how it ended ---------------------------------------------------------------------------- */

/* Of several processes the end is that of the last one; NULL: some lived on. */
static const struct trace_process_info *last_of_several(const struct report *r) {
        const struct trace_process_info *last = report_process(r);

        if (!is_of_several(r))
                return NULL;
        for (size_t i = 0; i < r->v->n_processes; i++) {
                const struct trace_process_info *p = &r->v->processes[i];

                if (!p->has_end || p->end.ended == TRACE_ENDED_STOPPED)
                        return NULL;
                if (p->end.end_ns > last->end.end_ns)
                        last = p;
        }
        return last;
}

static void add_end_of(const struct report *r, const struct trace_process_end *end, const char *who,
                       struct str *to) {
        const char *name;

        switch ((enum trace_ended)end->ended) {
        case TRACE_ENDED_EXIT:
                str_addf(to, "When %s exited", who);
                if (end->status > 0)
                        str_addf(to, " with status %d", end->status);
                break;
        case TRACE_ENDED_SIGNAL:
                name = sigabbrev_np(end->status);
                str_addf(to, "When signal %d (%s) ended %s", end->status, name ? name : "?", who);
                break;
        case TRACE_ENDED_OOM:
                str_addf(to, "When the kernel killed %s because memory ran out", who);
                break;
        case TRACE_ENDED_STOPPED: str_add(to, "When recording stopped"); break;
        case TRACE_ENDED_EXEC: str_addf(to, "When %s executed another program", who); break;
        case TRACE_ENDED_UNKNOWN:
                str_add(to, r->v->finished ? "When the recording ended"
                                           : "At the end of the trace so far");
                break;
        }
}

static void add_ending(const struct report *r, struct str *to) {
        const struct trace_process_info *last = last_of_several(r);
        char who[64];

        if (report_is_windowed(r)) {
                str_add(to, "At the end of the window");
        } else if (last) {
                snprintf(who, sizeof(who), "the last of them (pid %u)", last->start.pid);
                add_end_of(r, &last->end, who, to);
        } else
                add_end_of(r, &report_process(r)->end, "it", to);
}

static void add_left(const struct report *r, struct str *to) {
        const struct query_totals *t = &r->answer->totals;
        struct unit_text a, b;

        str_add(to, ". ");
        add_ending(r, to);
        if (t->lacks_blocks && t->end_bytes)
                str_addf(to, ", %s %s still allocated.", unit_bytes(&a, t->end_bytes),
                         t->end_bytes == 1 ? "was" : "were");
        else if (t->end_blocks == 0 && r->answer->lacks_heirs)
                str_add(to,
                        ", none of these blocks was left but what ended processes left to their "
                        "children, which is not counted.");
        else if (t->end_blocks == 0 || t->lacks_blocks)
                /* what is small may be there and in no sample */
                str_add(to, query_sample_bytes(r->q) && t->n_allocs > t->n_frees
                                    ? ", none of the sampled blocks was still allocated."
                                    : ", everything had been freed.");
        else
                str_addf(to, ", %s%s in %s block%s %s still allocated.", about(r),
                         unit_bytes(&a, t->end_bytes), unit_count(&b, t->end_blocks),
                         plural(t->end_blocks), t->end_blocks == 1 ? "was" : "were");
}

/* Whoever held the memory may have ended before the others, and left it. */
static void add_left_by(const struct report *r, const struct holder *h, struct str *to) {
        const struct trace_process_info *p = &r->v->processes[h->process];
        const struct query_totals *t = &r->answer->processes[h->process];
        const struct trace_process_info *last = last_of_several(r);
        struct unit_text a, b;
        char who[32];

        if (h->n > 1 || !p->has_end || p->end.ended == TRACE_ENDED_STOPPED || !t->end_blocks ||
            t->end_bytes > t->alloc_bytes || report_is_windowed(r) || p == last)
                return;
        snprintf(who, sizeof(who), "pid %u", p->start.pid);
        str_add(to, ". ");
        add_end_of(r, &p->end, who, to);
        str_addf(to, ", %s%s in %s block%s %s still allocated", about(r),
                 unit_bytes(&a, t->end_bytes), unit_count(&b, t->end_blocks), plural(t->end_blocks),
                 t->end_blocks == 1 ? "was" : "were");
}

/* What is live when the last of them ends lacks what those before it left: a leak in many short lives. */
static void add_left_in_all(const struct report *r, struct str *to) {
        const struct query_totals *t = &r->answer->totals;
        struct unit_text a, b, c;

        if (!t->has_left || report_is_windowed(r) || t->left_blocks <= t->end_blocks)
                return;
        str_addf(to, " Together the %s processes left %s%s in %s block%s, each at its own end.",
                 unit_count(&a, query_n_pids(r->q)), about(r), unit_bytes(&b, t->left_bytes),
                 unit_count(&c, t->left_blocks), plural(t->left_blocks));
}

/* ---- the sentence ---------------------------------------------------------------------------- */

static void add_allocations(const struct report *r, struct str *to) {
        const struct query_totals *t = &r->answer->totals;
        struct unit_text n;
        uint64_t n_allocs = query_metric_whole(t, QUERY_COUNT); /* an estimate's of an estimate */
        uint64_t pct =
                n_allocs ? unit_nearest(100.0 * (double)t->n_temporary / (double)n_allocs) : 0;
        const char *rate;

        str_addf(to, " %s made %s%s allocation%s", is_of_several(r) ? "They" : "It",
                 t->is_tallied ? "" : about(r), unit_count(&n, t->n_allocs), plural(t->n_allocs));
        rate = headline_rate(r, t->n_allocs, &n);
        if (rate[0] && t->n_allocs >= HEADLINE_MIN_RATED)
                str_addf(to, ", %s per second", rate);
        if (t->n_allocs == 1)
                str_add(to, t->n_temporary ? ", which was temporary" : "");
        else if (pct >= 1)
                str_addf(to, ", %s%llu %% of them temporary", about(r), (unsigned long long)pct);
        str_add(to, ".");
}

/* Of a part of the blocks: what they are, and how much of the whole. */
static void add_filtered(const struct report *r, struct str *to) {
        const struct query_totals *t = &r->answer->totals, *all = &r->unfiltered;
        struct unit_text a, b;

        if (unit_weights() != UNIT_BYTES) {
                str_addf(to, ", only call paths with %s: %s of the %s",
                         query_filter_text(r->scope.filter), unit_weight(&a, t->alloc_bytes),
                         unit_weight(&b, all->alloc_bytes));
                view_add_share(to, (int64_t)t->alloc_bytes, all->alloc_bytes);
                str_add(to, ".");
                return;
        }

        str_addf(to, ", only blocks with %s: ", query_filter_text(r->scope.filter));
        if (query_answer_is_untold(r->answer)) {
                str_add(to, "what they are ");
                view_add_untold(r->v, r->answer->known_from_ns, to);
                str_add(to, ".");
                return;
        }
        if (t->lacks_live) {
                str_addf(to, "%s of the %s", unit_bytes(&a, t->alloc_bytes),
                         unit_bytes(&b, all->alloc_bytes));
                view_add_share(to, (int64_t)t->alloc_bytes, all->alloc_bytes);
                str_add(to, " allocated.");
                return;
        }
        if (t->n_allocs == 0 && t->begin_blocks == 0 && t->peak_blocks == 0) {
                if (r->answer->known_from_ns)
                        str_addf(to,
                                 "of those allocated since %s (detail before that was dropped), ",
                                 unit_duration(&a, r->answer->known_from_ns));
                str_add(to, "there are none.");
                return;
        }
        str_addf(to, "%s%s of the %s", about(r), unit_bytes(&a, t->peak_bytes),
                 unit_bytes(&b, all->peak_bytes));
        view_add_share(to, (int64_t)t->peak_bytes, all->peak_bytes);
        str_addf(to, " live at its peak, %s %s", t->lacks_time ? "at" : "after",
                 query_moment_text(r->q, &a, t->peak_ns));
        add_left(r, to);
        if (t->lacks_blocks)
                return;
        str_addf(to, " They are %s of", unit_count(&a, t->n_allocs));
        str_addf(to, " its %s allocation%s", unit_count(&a, all->n_allocs), plural(all->n_allocs));
        view_add_share(to, (int64_t)t->n_allocs, all->n_allocs);
        str_add(to, ".");
}

/* Without times: what was held at a single moment, or at the highest of several; of other weights than bytes, their sum. */
static void add_sums(const struct report *r, struct str *to) {
        const struct query_totals *t = &r->answer->totals;
        uint64_t n_moments = r->v->end_ns / HEADLINE_MOMENT_NS;
        struct unit_text a, b;

        if (unit_weights() != UNIT_BYTES) {
                str_addf(to, ": %s in %s call path%s", unit_weight(&a, t->alloc_bytes),
                         unit_count(&b, t->n_sites), plural(t->n_sites));
                if (t->counts_samples)
                        str_addf(to, ", %s sample%s", unit_count(&b, t->n_allocs),
                                 plural(t->n_allocs));
                str_add(to, ".");
                return;
        }
        if (t->lacks_live) {
                str_addf(to, " allocated %s", unit_bytes(&a, t->alloc_bytes));
                if (!t->lacks_blocks)
                        str_addf(to, " in %s allocation%s", unit_count(&b, t->n_allocs),
                                 plural(t->n_allocs));
                str_add(to, ". What was live is unknown.");
                return;
        }
        if (n_moments <= 1 || t->lacks_peak) {
                str_addf(to, " held %s", unit_bytes(&a, t->end_bytes));
                if (!t->lacks_blocks)
                        str_addf(to, " in %s block%s", unit_count(&b, t->end_blocks),
                                 plural(t->end_blocks));
                str_add(to, ".");
                return;
        }
        str_addf(to, " peaked at %s at %s", unit_bytes(&a, t->peak_bytes),
                 query_moment_text(r->q, &b, t->peak_ns));
        str_addf(to, " of %s", unit_count(&a, n_moments));
        if (!t->lacks_events)
                str_add(to, " (times are unknown)");
        add_left(r, to);
        if (!t->lacks_blocks && !t->lacks_traffic)
                add_allocations(r, to);
}

/* Of time alone: memory is not spoken of. */
static void add_time(const struct style *s, const struct report *r, struct str *to) {
        bool windowed = report_is_windowed(r);

        if (windowed)
                add_window(r, to);
        add_subject(s, r, to);
        if (report_is_filtered(r))
                str_addf(to, ", only samples with %s:", query_filter_text(r->scope.filter));
        else if (!windowed) {
                add_run(r, to);
                str_add(to, " and");
        }
        time_add_headline(s, r, true, to);
}

static void add_sentence(const struct style *s, const struct report *r, struct str *to);

/* What it did with its memory, and, where that was recorded too, with its time. */
static void add_sentences(const struct style *s, const struct report *r, struct str *to) {
        if (r->has_time && query_metric_time(r->metric)) {
                add_time(s, r, to);
                return;
        }
        add_sentence(s, r, to);
        if (!r->has_time || !r->cpu.ns)
                return;
        str_add(to, is_of_several(r) ? " They" : " It");
        time_add_headline(s, r, false, to);
}

static void add_sentence(const struct style *s, const struct report *r, struct str *to) {
        const struct query_totals *t = &r->answer->totals;
        bool windowed = report_is_windowed(r);
        struct unit_text a, b;
        struct holder h;

        if (windowed && !report_is_filtered(r))
                add_window(r, to);
        if (is_of_several(r) && !report_is_filtered(r) && holder_find(r->q, r->answer, &h)) {
                if (windowed || !add_resident(s, r, &h, to)) {
                        add_held(s, r, &h, to);
                        if (!windowed &&
                            resident_add(r, r->scope.process, ". Together they used", s->utf8, to))
                                str_add(to, ", counting shared pages in each");
                }
                add_left_by(r, &h, to);
                add_left(r, to);
                add_left_in_all(r, to);
                add_allocations(r, to);
                return;
        }
        add_subject(s, r, to);
        if (report_is_filtered(r)) {
                add_filtered(r, to);
                return;
        }
        if ((t->lacks_time || t->lacks_peak || unit_weights() != UNIT_BYTES) &&
            (t->n_allocs || t->peak_bytes)) {
                add_sums(r, to);
                return;
        }
        if (query_is_blank(r->q)) {
                str_add(to, ": nothing of what it did is in the trace.");
                return;
        }
        if (!windowed && !t->lacks_time)
                add_run(r, to);
        if (t->n_allocs == 0 && t->peak_bytes == 0) {
                if (query_is_of_time(r->q)) {
                        str_add(to, "; allocations were not recorded.");
                        return;
                }
                str_add(to, windowed                       ? " allocated nothing."
                            : unit_weights() != UNIT_BYTES ? ": nothing was counted."
                            : t->lacks_live                ? " allocated nothing."
                            : t->lacks_time                ? " held nothing."
                                            : " and made no allocations that silt could see.");
                return;
        }
        if (!windowed && resident_add(r, r->scope.process, " and used", s->utf8, to))
                str_add(to, ". Blocks");
        else
                str_add(to, windowed ? "" : " and");
        str_addf(to, " peaked at %s%s", about(r), unit_bytes(&a, t->peak_bytes));
        estimate_add_error(to, sqrt(t->var[QUERY_PEAK]), (double)t->peak_bytes, s->utf8);
        str_addf(to, " after %s", unit_duration(&b, t->peak_ns));
        add_left(r, to);
        if (!t->lacks_blocks && !t->lacks_traffic)
                add_allocations(r, to);
}

/* A launcher's own memory is rarely what people want to know about. */
static void print_larger_process(const struct style *s, const struct report *r) {
        const struct query_totals *own = &r->answer->totals;
        uint32_t larger = QUERY_ALL;
        uint64_t bytes = own->peak_bytes + own->peak_bytes / 2; /* a little more is no news */
        struct str text = {0};
        struct unit_text t;

        if (r->scope.process == QUERY_ALL || !is_main(r) || report_is_filtered(r))
                return;
        for (uint32_t i = 0; i < r->answer->n_processes; i++)
                if (i != r->scope.process && r->answer->processes[i].peak_bytes > bytes) {
                        larger = i;
                        bytes = r->answer->processes[i].peak_bytes;
                }
        if (larger == QUERY_ALL)
                return;
        str_add(&text, "Another process held more: ");
        style_add_clean(&text, frame_base(r->v->processes[larger].start.n_args
                                                  ? r->v->processes[larger].start.args[0]
                                                  : r->v->processes[larger].start.exe));
        str_addf(&text, " peaked at %s. Use --process %u to see it, --process all to see all.",
                 unit_bytes(&t, bytes), r->v->processes[larger].start.pid);
        style_wrap(s, str_text(&text), 0);
        str_done(&text);
}

void headline_put(struct json *j, const struct report *r) {
        const struct style plain = {.width = HEADLINE_JSON_WIDTH,
                                    .utf8 = true,
                                    .bold = "",
                                    .dim = "",
                                    .plain = "",
                                    .alarm = ""};
        struct report all = *r; /* the sentence is the one of the text */
        struct str text = {0};

        if (r->beside) {
                all.answer = r->beside;
                all.scope = r->beside->scope;
        }
        add_sentences(&plain, &all, &text);
        json_put_string(j, "headline", str_text(&text));
        str_done(&text);
}

/* The curve below is one of estimates, and its highest point is above the peak told: without a word that looks like a mistake. */
static void add_curve(const struct report *r, struct str *to) {
        const struct query_answer *a = r->answer;
        struct unit_text top, more;

        if (!query_sample_bytes(r->q) ||
            a->peak_excess_bytes < HEADLINE_MIN_EXCESS * (double)a->totals.peak_bytes)
                return;
        str_addf(
                to,
                "%sThe curve below reaches %s, %s more than this peak: the highest of many estimates is too high by chance, and the peak is corrected for that.",
                to->n ? " " : "",
                unit_bytes(&top, a->totals.peak_bytes + unit_nearest(a->peak_excess_bytes)),
                unit_bytes(&more, unit_nearest(a->peak_excess_bytes)));
}

void headline_print(const struct style *s, const struct report *r) {
        struct str text = {0};

        add_sentences(s, r, &text);
        fputs(s->bold, s->out);
        style_wrap(s, str_text(&text), 0);
        fputs(s->plain, s->out);
        str_clear(&text);
        if (r->has_time && query_metric_time(r->metric)) {
                str_done(&text);
                return;
        }
        estimate_add_sentence(&text, r->q, r->answer->totals.is_tallied);
        add_curve(r, &text);
        if (r->answer->known_from_ns && !query_answer_is_untold(r->answer)) {
                str_add(&text, text.n ? " " : "");
                view_add_missing(r->v, r->answer->known_from_ns, &text);
                str_add(&text, ": blocks allocated earlier are not counted.");
        }
        late_start_add_sentences(r, &text);
        if (text.n)
                style_wrap(s, str_text(&text), 0);
        str_done(&text);
        print_larger_process(s, r);
}
