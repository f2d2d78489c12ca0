/* SPDX-License-Identifier: MIT */
#include "report/gather.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "finding/joined.h"
#include "keep/lost_sites.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"
#include "show/opened.h"
#include "show/process_holders.h"
#include "task/task_findings.h"

const struct query_answer *report_site_answer(const struct report *r) {
        return report_answer_of(r, r->metric);
}

const struct query_answer *report_answer_of(const struct report *r, enum query_metric m) {
        switch (query_metric_time(m)) {
        case QUERY_CPU_TIME: return r->main_cpu ? r->main_cpu : r->cpu.answer;
        case QUERY_BLOCKED_TIME: return r->main_blocked ? r->main_blocked : r->blocked.answer;
        case QUERY_NO_TIME: break;
        }
        if (m == QUERY_MAPPED && (r->mapped_answer || m != r->metric))
                return r->mapped_answer;
        return r->answer;
}

bool report_is_windowed(const struct report *r) {
        return r->scope.from_ns > 0 || r->scope.to_ns < r->v->end_ns;
}

bool report_is_filtered(const struct report *r) {
        return !query_filter_is_empty(r->scope.filter);
}

bool report_counts_sizes(const struct report *r) {
        if (r->v->meta.flags & TRACE_IS_TOTALS)
                return false;
        return r->options->request->full || r->v->n_events <= SHOW_MAX_EVENTS ||
               query_filter_needs_events(r->scope.filter);
}

bool report_has_parts(const struct report *r, uint32_t stack) {
        uint64_t one;

        return map_get(&r->with_parts, stack, &one);
}

bool report_counts_lifetimes(const struct report *r) {
        if (r->whole.lacks_time)
                return false;
        return report_counts_sizes(r) ||
               (r->v->n_events <= REPORT_MAX_EVENTS_LIVED && !(r->v->meta.flags & TRACE_IS_TOTALS));
}

const struct trace_process_info *report_process(const struct report *r) {
        uint32_t process =
                r->scope.process == QUERY_ALL ? query_main_process(r->q) : r->scope.process;

        return &r->v->processes[process];
}

/* ---- quality --------------------------------------------------------------------------------- */

static double percent(uint64_t part, uint64_t whole) {
        return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

/* An event lost before a window is missing in it as well, so the whole recording counts. */
static bool is_exact(const struct report *r) {
        return r->answer->is_exact && r->v->finished && !query_damage(r->q)[0] &&
               r->v->n_damaged_bytes == 0 && r->v->n_unwritten_events == 0 &&
               r->whole.n_lost == 0 && r->v->meta.sample_bytes == 0;
}

static void gather_quality(struct report *r) {
        r->quality.is_exact = is_exact(r);
        r->quality.complete_stacks_pct = percent(r->whole.n_complete_stacks, r->whole.n_allocs);
        r->quality.bytes_per_event =
                r->v->n_events ? (double)r->v->file_bytes / (double)r->v->n_events : 0;
        name_quality_count(&r->quality.names, r->q, r->arena);
}

/* ---- sites ----------------------------------------------------------------------------------- */

static void gather_sites(struct report *r) {
        const struct query_group_options by = {.by = QUERY_BY_SITE,
                                               .metric = r->metric,
                                               .is_full = r->options->request->full};
        struct query_groups *g = query_group_answer(r->q, report_site_answer(r), &by);

        for (size_t i = 0; i < g->n; i++) {
                bool added;

                vec_push(&r->folded, (struct query_site){.stack = g->rows[i].stack,
                                                         .process = QUERY_ALL,
                                                         .f = g->rows[i].self});
                if (g->rows[i].has_parts)
                        map_put(&r->with_parts, g->rows[i].stack, 1, &added);
        }
        name_quality_count_lines(&r->quality.names, g, query_metric_time(r->metric));
        query_groups_free(g);
}

/* ---- beside it ------------------------------------------------------------------------------- */

/* Quality and overhead are those of the recording, whatever the window. */
static int gather_whole(struct report *r, struct err *reterr) {
        struct query_scope whole = {.process = r->scope.process, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        int x;

        if (r->scope.from_ns == 0 && r->scope.to_ns == UINT64_MAX && !report_is_filtered(r)) {
                r->whole = r->answer->totals;
                return 0;
        }
        x = query_ask(r->q, &whole, &a, reterr);
        if (x >= 0)
                r->whole = a->totals;
        return x;
}

/* What the selected blocks are a part of. */
static int gather_unfiltered(struct report *r, struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = r->scope;
        int x;

        if (!report_is_filtered(r)) {
                r->unfiltered = r->answer->totals;
                return 0;
        }
        if (query_answer_is_untold(r->answer)) /* the window as answered is empty */
                scope = r->options->resolved->scope;
        scope.of_mappings = false;
        scope.of_time = QUERY_NO_TIME;
        scope.filter = NULL;
        x = query_ask(r->q, &scope, &a, reterr);
        if (x >= 0)
                r->unfiltered = a->totals;
        return x;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* The same process (NULL: none is named), window and blocks, to be asked about further. */
static struct request base_request(const struct report *r, const char *process) {
        struct request asked = *r->options->request;

        if (asked.at.is_set)
                asked.to = asked.at;
        asked = (struct request){.process = (char *)process,
                                 .from = asked.from,
                                 .to = asked.to,
                                 .filter = asked.filter,
                                 .rules = asked.rules,
                                 .min_share_pct = -1};
        return request_copy(&asked);
}

/* To who waits for each; the process is the one that is looked into. */
static void pass_on(void *ctx, const struct finding *x) {
        struct report *r = ctx;
        struct finding with_process = *x;
        struct str text = {0};

        findings_add_text(r->q, r->looked_into, x->text, &text);
        with_process.text = str_text(&text);
        r->options->found(r->options->found_ctx, &with_process);
        str_done(&text);
}

static int find_in(struct report *r, const struct query_answer *a, const struct query_totals *whole,
                   const char *process, struct findings **ret, struct err *reterr) {
        struct request base = base_request(r, process);
        bool is_sum = a == r->all; /* of what it has, most is told of single processes */
        bool with_time = r->has_time && (is_sum || !r->all); /* once, of all of them */
        struct lost_sites lost = {.q = r->q, .process = a->scope.process};
        int x;

        r->looked_into = a->scope.process;
        x = findings_make(
                &(struct finding_source){.q = r->q,
                                         .found = is_sum || !r->options->found ? NULL : pass_on,
                                         .found_ctx = r,
                                         .names = r->names,
                                         .answer = a,
                                         .whole = whole,
                                         .complete_stacks_pct =
                                                 percent(whole->n_complete_stacks, whole->n_allocs),
                                         .request = &base,
                                         .is_windowed = report_is_windowed(r),
                                         .lost = report_is_windowed(r) ? NULL : lost_sites_bytes,
                                         .lost_ctx = &lost,
                                         .cpu = with_time ? &r->cpu : NULL,
                                         .blocked = with_time ? &r->blocked : NULL},
                ret, reterr);
        lost_sites_done(&lost);
        request_done(&base);
        return x;
}

/* What is in one of several processes. */
static int find_in_process(struct report *r, uint32_t process, struct findings **ret,
                           struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = r->all->scope;
        struct str word = {0};
        int x;

        scope.process = process;
        x = query_ask(r->q, &scope, &a, reterr);
        if (x < 0)
                return x;
        query_add_process_word(r->q, process, &word);
        x = find_in(r, a, &a->totals, str_text(&word), ret, reterr);
        str_done(&word);
        return x;
}

static bool is_heir(const struct query_answer *all, uint32_t process) {
        return query_own_peak_bytes(all, process) < all->processes[process].peak_bytes / 2;
}

/* Of several processes each is looked into that holds a good part of the memory: what happens in one of them is lost in their
 * sum, where whoever ends gives all back, and many that begin look like growth. */
static int find_in_all(struct report *r, struct err *reterr) {
        uint32_t processes[HOLDERS_MAX];
        size_t n = holders_of(r->q, r->all, processes);
        struct findings_parts crowd = {.q = r->q};
        int x = 0;

        for (size_t i = 0; i < n && x >= 0; i++) {
                x = find_in_process(r, processes[i], &crowd.parts[crowd.n].found, reterr);
                if (x < 0)
                        break;
                crowd.parts[crowd.n].is_heir = is_heir(r->all, processes[i]);
                crowd.parts[crowd.n++].process = processes[i];
        }
        if (x >= 0)
                x = find_in(r, r->all, &r->all->totals, NULL, &crowd.together, reterr);
        if (x >= 0)
                r->findings = findings_join(&crowd);
        else
                findings_parts_done(&crowd);
        return x;
}

static int gather_findings(struct report *r, struct err *reterr) {
        int x = r->all ? find_in_all(r, reterr)
                       : find_in(r, r->answer, &r->whole, r->options->request->process,
                                 &r->findings, reterr);

        if (x >= 0 && !report_is_filtered(r))
                task_findings_add(r->findings, r->q, &r->frames, r->all ? r->all : r->answer);
        return x;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The summary as JSON tells of the main process, and of the sum beside it. */
static int gather_all(struct report *r, struct err *reterr) {
        struct query_scope scope = r->scope;
        int x;

        if (r->v->n_processes < 2)
                return 0;
        if (r->scope.process == QUERY_ALL) {
                r->all = r->answer;
                return 0;
        }
        if (r->options->request->process)
                return 0;
        scope.process = QUERY_ALL;
        x = query_ask(r->q, &scope, &r->beside, reterr);
        r->all = r->beside;
        return x;
}

static int gather_mapped(struct report *r, struct err *reterr) {
        struct query_scope scope = r->scope;

        scope.of_mappings = true;
        if (origin_is_import(&r->v->meta)) /* unknown: JSON has no such list */
                return 0;
        if (query_filter_needs_events(scope.filter) && r->metric != QUERY_MAPPED)
                return 0;
        return query_ask(r->q, &scope, &r->mapped_answer, reterr);
}

static int ask_time(struct report *r, const struct query_scope *of, enum query_time time,
                    struct query_answer **ret, struct err *reterr) {
        struct query_scope scope = *of;

        scope.of_time = time;
        return query_ask(r->q, &scope, ret, reterr);
}

static int gather_time(struct report *r, struct err *reterr) {
        struct query_scope scope = r->all ? r->all->scope : r->scope;
        struct err own = {0};
        int x;

        if (!query_has_ticks(r->q))
                return 0;
        scope.of_time = QUERY_CPU_TIME;
        x = time_parts_gather(r->q, r->names, &scope, &r->cpu, &own);
        scope.of_time = QUERY_BLOCKED_TIME;
        if (x >= 0)
                x = time_parts_gather(r->q, r->names, &scope, &r->blocked, &own);
        if (x >= 0 && r->beside)
                x = ask_time(r, &r->scope, QUERY_CPU_TIME, &r->main_cpu, &own);
        if (x >= 0 && r->beside)
                x = ask_time(r, &r->scope, QUERY_BLOCKED_TIME, &r->main_blocked, &own);
        r->has_time = x >= 0;
        if (x < 0 && (query_metric_time(r->metric) || x != -EINVAL)) {
                *reterr = own;
                return x;
        }
        return 0;
}

int report_gather(struct query *q, const struct show_options *o, struct names *names,
                  struct report *ret, struct err *reterr) {
        uint64_t max_events = o->request->full ? UINT64_MAX : SHOW_MAX_EVENTS;
        struct report *r = ret;
        int x;

        *r = (struct report){.options = o,
                             .q = q,
                             .v = query_view(q),
                             .names = names,
                             .frames = {q, names, o->request->full},
                             .arena = arena_new()};
        r->metric = o->resolved->metric;
        r->frames.is_of_time = query_metric_time(r->metric) != QUERY_NO_TIME;
        r->scope = o->resolved->scope;
        r->scope.of_mappings = false;     /* the summary is of blocks, with mappings beside them, */
        r->scope.of_time = QUERY_NO_TIME; /* and time */
        x = query_ask(q, &r->scope, &r->answer, reterr);
        if (x >= 0)
                x = gather_all(r, reterr);
        if (x >= 0)
                r->scope = r->answer->scope;
        if (x >= 0)
                x = gather_whole(r, reterr);
        if (x >= 0)
                x = gather_unfiltered(r, reterr);
        if (x >= 0)
                x = query_threads(q, &r->scope, max_events, &r->threads, &r->n_threads,
                                  &r->threads_have_figures, reterr);
        if (x >= 0)
                x = query_mappings(q, &r->scope, &r->mappings, &r->n_mappings, &r->mapped, reterr);
        if (x >= 0)
                x = query_resident(q, &r->scope, &r->resident, reterr);
        if (x >= 0)
                x = gather_mapped(r, reterr);
        if (x >= 0)
                x = gather_time(r, reterr);
        if (x < 0) {
                report_done(r);
                return x;
        }
        if (o->is_brief)
                return 0;
        gather_quality(r);
        gather_sites(r);
        x = gather_findings(r, reterr);
        if (x < 0)
                report_done(r);
        return x;
}

void report_done(struct report *r) {
        query_answer_free(r->answer);
        query_answer_free(r->beside);
        query_answer_free(r->mapped_answer);
        time_parts_done(&r->cpu);
        time_parts_done(&r->blocked);
        query_answer_free(r->main_cpu);
        query_answer_free(r->main_blocked);
        free(r->threads);
        free(r->mappings);
        vec_free(&r->folded);
        map_done(&r->with_parts);
        findings_free(r->findings);
        arena_free(r->arena);
        *r = (struct report){0};
}
