/* SPDX-License-Identifier: MIT */
#include "diff/check_measure.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "diff/check_growth.h"
#include "diff/culprits.h"
#include "diff/diff_words.h"
#include "diff/paired.h"
#include "query/spent_time.h"
#include "show/frame.h"
#include "show/process_holders.h"

enum { MEASURE_ALIKE_PCT = 10 }; /* by which lengths of recordings may differ */
/* ---- one function ---------------------------------------------------------------------------- */

/* The nodes of the tree that asked for most themselves. */
static void blame_nodes(struct check *c, struct check_result *r, const struct query_tree *tree) {
        int64_t above = INT64_MAX;
        struct name_frame f;

        while (r->n_culprits < CHECK_CULPRITS) {
                const struct query_node *most = NULL;

                for (size_t i = 0; i < tree->n_nodes; i++) {
                        const struct query_node *n = &tree->nodes[i];

                        if (!n->is_rest && n->self.peak_bytes > 0 && n->self.peak_bytes < above &&
                            (!most || n->self.peak_bytes > most->self.peak_bytes))
                                most = n;
                }
                if (!most)
                        break;
                above = most->self.peak_bytes;
                f = frame_of(&most->frame);
                culprit_add_frame(r, &c->side, &f, most->is_task, (double)above);
        }
}

static int measure_function(struct check *c, struct check_result *r, struct err *reterr) {
        const struct query_tree_options o = {.kind = QUERY_CALLEES,
                                             .metric = QUERY_PEAK,
                                             .function = r->limit->function};
        _cleanup_(query_tree_freep) struct query_tree *tree = NULL;
        struct err why = {0};
        int x = query_tree(c->side.q, &c->side.answer->scope, &o, &tree, &why);

        if (x == -ENOENT) {
                snprintf(r->remark, sizeof(r->remark), "it is on no call path");
                r->status = CHECK_UNTOLD; /* a slip in the name must not pass for a limit kept */
                return 0;
        }
        if (x < 0)
                return err_set(reterr, x, "--max: %s", why.text);
        r->measured = (double)tree->root->total.peak_bytes;
        if (tree->n_functions > 1)
                snprintf(r->remark, sizeof(r->remark), "%zu functions have this name",
                         tree->n_functions);
        if (r->measured > r->limit->limit) {
                r->status = CHECK_FAILED;
                blame_nodes(c, r, tree);
        }
        return 0;
}

/* ---- compared -------------------------------------------------------------------------------- */

/* What flows grows with time. */
static void note_lengths(const struct diff *d, struct check_result *r) {
        uint64_t base_ns = side_duration_ns(&d->sides[NAME_OLD]);
        uint64_t now_ns = side_duration_ns(&d->sides[NAME_NEW]);
        struct unit_text t, u;

        if (d->sides[NAME_OLD].answer->totals.lacks_time ||
            d->sides[NAME_NEW].answer->totals.lacks_time)
                return;
        if (d->metric != QUERY_PEAK && d->metric != QUERY_END &&
            fabs((double)now_ns - (double)base_ns) * 100 > (double)base_ns * MEASURE_ALIKE_PCT)
                snprintf(r->remark, sizeof(r->remark), "recorded for %s, the base for %s",
                         unit_duration(&t, now_ns), unit_duration(&u, base_ns));
}

/* Above the base by more than the limit, and by more than chance. */
static bool is_above(const struct diff *d, const struct check_result *r) {
        bool counts = d->metric == QUERY_COUNT || d->metric == QUERY_TEMPORARY;
        double more = r->measured - r->base;

        return more > fabs(r->base) * r->limit->limit / 100 &&
               more >= (query_metric_time(d->metric) ? DIFF_MIN_NS
                        : counts                     ? DIFF_MIN_COUNT
                                                     : DIFF_MIN_BYTES);
}

static int compare(struct check *c, struct check_result *r, const struct request *asked,
                   struct err *reterr) {
        const struct check_options *o = c->options;
        struct limit *limit = &o->limits.items[r->limit - o->limits.items];
        struct diff_options options = DIFF_OPTIONS_DEFAULT;
        struct diff d;
        int x;

        options.sources[NAME_OLD] = (struct diff_source){o->against, asked};
        options.sources[NAME_NEW] = (struct diff_source){o->source.path, asked};
        x = diff_gather(&d, &options, reterr);
        if (!limit->metric)
                limit->metric = query_metric_name(x < 0 ? QUERY_PEAK : d.metric);
        if (x == -ENODATA) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the traces do not both have it");
                return 0;
        }
        if (x < 0)
                return x;
        limit->of_unit = query_metric_unit(d.sides[NAME_NEW].q, d.metric);
        r->base = diff_total(&d, NAME_OLD);
        r->measured = diff_total(&d, NAME_NEW);
        note_lengths(&d, r);
        str_clear(&c->base_doubt);
        side_add_doubt(&d.sides[NAME_OLD], &c->base_doubt);
        if (is_above(&d, r) && d.total_is_chance && !o->strict)
                snprintf(r->remark, sizeof(r->remark), "%s",
                         query_metric_time(d.metric)
                                 ? "within what samples can be wrong by"
                                 : "chance: the work is the same, and both fluctuate by more");
        else if (is_above(&d, r))
                r->status = CHECK_FAILED;
        for (size_t i = 0;
             i < d.functions.n && r->status == CHECK_FAILED && r->n_culprits < CHECK_CULPRITS;
             i++) {
                const struct diff_row *row = &d.functions.items[i];

                if (diff_change(&d, row) > 0 && row->has[NAME_NEW])
                        culprit_add(r, &d.sides[NAME_NEW], row->stacks[NAME_NEW],
                                    diff_change(&d, row));
        }
        diff_done(&d);
        return 0;
}

static int measure_against(struct check *c, struct check_result *r, struct err *reterr) {
        struct request asked = request_copy(c->options->source.request);
        int x = r->limit->metric ? request_set(&asked, "by", r->limit->metric, reterr) : 0;

        if (x >= 0)
                x = compare(c, r, &asked, reterr);
        request_done(&asked);
        return x;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Where the figure is not known, the least that it is may still be above the limit. */
static void tell_least(struct check_result *r, bool is_unknown, double least, const char *why) {
        if (!is_unknown)
                return;
        r->measured = least;
        if (least > r->limit->limit)
                snprintf(r->remark, sizeof(r->remark), "at least: %s", why);
        else {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "%s", why);
        }
}

static void measure_plain(struct check *c, struct check_result *r) {
        const struct query_totals *t = &c->side.answer->totals;
        enum query_metric metric = QUERY_PEAK;

        switch (r->limit->kind) {
        case LIMIT_PEAK:
                r->measured = t->lacks_live ? 0 : (double)t->peak_bytes;
                tell_least(r, t->lacks_peak, r->measured,
                           t->lacks_live
                                   ? "the trace does not know what was live"
                                   : "the trace is of one moment, and does not know its peak");
                break;
        case LIMIT_RSS:
                r->measured = (double)t->peak_rss_bytes;
                if (!t->peak_rss_bytes) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark),
                                 "the trace has no figures for resident memory");
                }
                break;
        case LIMIT_ALLOCATED:
                r->measured = (double)t->alloc_bytes;
                metric = QUERY_ALLOCATED;
                tell_least(r, (t->lacks_blocks && !t->lacks_live) || t->lacks_traffic,
                           (double)t->peak_bytes, "the trace does not know what was allocated");
                if (t->lacks_traffic)
                        metric = QUERY_PEAK; /* by which culprits are known */
                break;
        case LIMIT_ALLOCATIONS:
                r->measured = (double)t->n_allocs;
                metric = QUERY_COUNT;
                if (t->lacks_blocks || t->lacks_traffic) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark), "%s",
                                 t->lacks_traffic ? "the trace has only what was live"
                                                  : "the trace has no numbers of blocks");
                }
                break;
        case LIMIT_TEMPORARY_SHARE:
                r->measured = t->n_allocs ? 100 * (double)t->n_temporary / (double)t->n_allocs : 0;
                metric = QUERY_TEMPORARY;
                if (t->lacks_events) {
                        r->status = CHECK_UNTOLD;
                        snprintf(r->remark, sizeof(r->remark),
                                 "the trace has totals and no events");
                }
                break;
        default: break;
        }
        if (r->status != CHECK_UNTOLD && r->measured > r->limit->limit) {
                r->status = CHECK_FAILED;
                culprits_find(c, r, c->side.answer, metric);
        }
}

/* What it left of what it allocated itself. */
static uint64_t own_end_bytes(const struct query_answer *a) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < a->n_sites; i++) {
                const struct query_figures *f = &a->sites[i].f;

                if (f->alloc_bytes > f->free_bytes)
                        bytes +=
                                MIN(f->alloc_bytes - f->free_bytes, (uint64_t)MAX(f->end_bytes, 0));
        }
        return bytes;
}

/* A process that ended before the others has left what it held, though their sum no longer has it. */
static int measure_left(struct check *c, struct check_result *r, uint32_t process,
                        struct query_answer **worst, struct err *reterr) {
        const struct trace_process_info *p = &c->side.v->processes[process];
        struct query_scope scope = c->side.answer->scope;
        struct query_answer *a;
        struct str name = {0};
        int x;

        if (!p->has_end || p->end.ended == TRACE_ENDED_STOPPED || p->end.ended == TRACE_ENDED_EXEC)
                return 0;
        scope.process = process;
        x = query_ask(c->side.q, &scope, &a, reterr);
        if (x < 0)
                return x;
        if ((double)own_end_bytes(a) <= r->measured) {
                query_answer_free(a);
                return 0;
        }
        r->measured = (double)own_end_bytes(a);
        query_add_process_name(c->side.q, process, &name);
        err_make_one_line(name.bytes);
        snprintf(r->remark, sizeof(r->remark), "when %s (pid %u) ended", str_text(&name),
                 p->start.pid);
        str_done(&name);
        query_answer_free(*worst);
        *worst = a;
        return 0;
}

static int measure_end(struct check *c, struct check_result *r, struct err *reterr) {
        const struct query_answer *all = c->side.answer;
        _cleanup_(query_answer_freep) struct query_answer *worst = NULL;
        uint32_t processes[HOLDERS_MAX];
        bool is_of_all = all->scope.process == QUERY_ALL && !side_is_windowed(&c->side);
        size_t n = is_of_all ? holders_of(c->side.q, all, processes) : 0;
        int x = 0;

        r->measured = (double)all->totals.end_bytes;
        for (size_t i = 0; i < n && x >= 0; i++)
                x = measure_left(c, r, processes[i], &worst, reterr);
        if (x >= 0 && r->measured > r->limit->limit) {
                r->status = CHECK_FAILED;
                culprits_find(c, r, worst ? worst : all, QUERY_END);
        }
        return x;
}

/* What a call path lost with all that hung from it counts for it, so the sum of them is the figure. */
static void blame_leaks(struct check *c, struct check_result *r, const struct kept_leaks *l) {
        for (size_t i = l->records.n; i-- > 0 && r->n_culprits < CHECK_CULPRITS;) {
                const struct loss_record *x = &l->records.items[i];

                if (x->class == LEAK_DEFINITE && !x->is_suppressed)
                        culprit_add(r, &c->side, x->stack == REACH_NO_SITE ? 0 : x->stack,
                                    (double)(x->bytes + x->indirect_bytes));
        }
}

/* A trace without a graph is no pass with a remark: who asks for leaks has not recorded what is needed. */
static int measure_leaked(struct check *c, struct check_result *r, struct err *reterr) {
        const char *path = c->options->source.path;
        struct kept_leaks l = {0};
        struct unit_text t;
        int x;

        if (!query_filter_is_empty(c->options->source.request->filter))
                return err_set(
                        reterr, -EINVAL,
                        "--max-leaked counts all call paths of the process: leave out filters, or use --suppressions");
        x = kept_leaks_open(&l, c->side.q, path, c->side.answer->scope.process,
                            &c->options->suppressions, reterr);
        if (x >= 0) {
                r->measured = (double)kept_leaks_lost_bytes(&l);
                if (!l.is_at_exit)
                        snprintf(r->remark, sizeof(r->remark), "by the graph taken after %s",
                                 unit_duration(&t, l.graph.info.time_ns));
                if (r->measured > r->limit->limit) {
                        r->status = CHECK_FAILED;
                        blame_leaks(c, r, &l);
                }
        }
        kept_leaks_done(&l);
        return x;
}

/* The sum of a clock's samples is good to a period for each time a thread runs: it is held against the limit as it is. */
static int measure_time(struct check *c, struct check_result *r, enum query_metric m,
                        struct err *reterr) {
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct query_scope scope = c->side.answer->scope;
        int x;

        if (!query_has_ticks(c->side.q)) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the trace has no samples of time");
                return 0;
        }
        scope.of_time = query_metric_time(m);
        x = query_ask(c->side.q, &scope, &a, reterr);
        if (x < 0)
                return x;
        r->measured = (double)a->totals.alloc_bytes;
        if (r->measured <= r->limit->limit)
                return 0;
        r->status = CHECK_FAILED;
        c->side.frames.is_of_time = true; /* for the names of those to blame */
        culprits_find(c, r, a, m);
        c->side.frames.is_of_time = c->side.answer->scope.of_time != QUERY_NO_TIME;
        return 0;
}

static bool is_about_time(const struct limit *l) {
        return l->kind == LIMIT_CPU || l->kind == LIMIT_BLOCKED;
}

static int measure(struct check *c, struct check_result *r, struct err *reterr) {
        if (query_is_blank(c->side.q)) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark),
                         "nothing of what the program did is in the trace");
                return 0;
        }
        if (r->limit->kind == LIMIT_GROWTH && c->side.answer->totals.lacks_time) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the trace has no times");
                return 0;
        }
        if (query_is_of_time(c->side.q) && r->limit->kind != LIMIT_AGAINST &&
            !is_about_time(r->limit)) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark),
                         "the trace has samples of time and no allocations");
                return 0;
        }
        if (c->side.v->meta.unit != TRACE_UNIT_BYTES && r->limit->kind != LIMIT_AGAINST) {
                r->status = CHECK_UNTOLD;
                snprintf(
                        r->remark, sizeof(r->remark), "%s",
                        c->side.v->meta.unit != TRACE_UNIT_NS ? "the trace has nothing about memory"
                        : is_about_time(r->limit)
                                ? "the trace has sums of time and does not say of which: use --against"
                                : "the trace has time and nothing about memory");
                return 0;
        }
        if (c->side.answer->totals.lacks_live &&
            (r->limit->kind == LIMIT_END || r->limit->kind == LIMIT_GROWTH ||
             r->limit->kind == LIMIT_FUNCTION)) {
                r->status = CHECK_UNTOLD;
                snprintf(r->remark, sizeof(r->remark), "the trace does not know what was live");
                return 0;
        }
        switch (r->limit->kind) {
        case LIMIT_CPU: return measure_time(c, r, QUERY_CPU, reterr);
        case LIMIT_BLOCKED: return measure_time(c, r, QUERY_BLOCKED, reterr);
        case LIMIT_LEAKED: return measure_leaked(c, r, reterr);
        case LIMIT_END: return measure_end(c, r, reterr);
        case LIMIT_GROWTH: return check_measure_growth(c, r, reterr);
        case LIMIT_FUNCTION: return measure_function(c, r, reterr);
        case LIMIT_AGAINST: return measure_against(c, r, reterr);
        default: measure_plain(c, r); return 0;
        }
}

int check_measure(struct check *c, const struct check_options *o, struct err *reterr) {
        const struct query_filter *filter = o->source.request->filter;
        int r;

        *c = (struct check){.options = o};
        r = side_open(&c->side, &o->source, NULL, reterr);
        if (r >= 0)
                r = side_ask(&c->side, reterr);
        for (size_t i = 0; i < o->limits.n && r >= 0; i++) {
                struct check_result *result = vec_add(&c->results);

                result->limit = &o->limits.items[i];
                r = measure(c, result, reterr);
        }
        opened_end_progress(&c->side.opened);
        if (r < 0) {
                check_done(c);
                return r;
        }
        side_add_doubt(&c->side, &c->doubt);
        if (!c->doubt.n && !query_filter_is_empty(filter) && !c->side.answer->totals.n_allocs &&
            !c->side.answer->totals.peak_bytes)
                str_addf(&c->doubt, "No block has %s: check the spelling.",
                         query_filter_text(filter));
        return 0;
}

void check_done(struct check *c) {
        for (size_t i = 0; i < c->results.n; i++)
                for (size_t k = 0; k < c->results.items[i].n_culprits; k++) {
                        free(c->results.items[i].culprits[k].name);
                        free(c->results.items[i].culprits[k].place);
                }
        vec_free(&c->results);
        str_done(&c->doubt);
        str_done(&c->base_doubt);
        side_done(&c->side);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

size_t check_count(const struct check *c, enum check_status s) {
        size_t n = 0;

        for (size_t i = 0; i < c->results.n; i++)
                n += c->results.items[i].status == s;
        return n;
}

enum check_status check_status_of(const struct check *c) {
        bool is_whole = c->doubt.n == 0 && c->base_doubt.n == 0;

        if (check_count(c, CHECK_FAILED))
                return CHECK_FAILED;
        if (check_count(c, CHECK_UNTOLD) || !is_whole)
                return CHECK_UNTOLD;
        return CHECK_OK;
}

const char *check_status_name(enum check_status s) {
        return s == CHECK_OK ? "ok" : s == CHECK_FAILED ? "failed" : "unknown";
}
