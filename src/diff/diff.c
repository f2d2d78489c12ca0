/* SPDX-License-Identifier: MIT */
/* Opening, asking, and who prints what. */
#include "diff/diff.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "diff/chance.h"
#include "diff/diff_text.h"
#include "diff/paired.h"
#include "query/spent_time.h"

static bool is_flow(enum query_metric m) {
        return m != QUERY_PEAK && m != QUERY_END && m != QUERY_MAPPED;
}

static int set_metric(struct diff *d, struct err *reterr) {
        const struct request *asked = diff_request(d->options);

        d->metric = request_metric(asked);
        if (asked->per_second && !is_flow(d->metric))
                return err_about(
                        reterr, "per-second",
                        err_set(reterr, -EINVAL,
                                "%s is not a rate: use allocated, count, temporary or growth",
                                query_metric_name(d->metric)));
        return 0;
}

/* What a recording does not have is not 0. */
static int check_recorded(const struct diff *d, const struct diff_side *side,
                          const struct diff_side *other, struct err *reterr) {
        bool is_time = query_metric_time(d->metric) != QUERY_NO_TIME;
        int r = 0;

        if (is_time && !query_has_ticks(side->q))
                r = err_set(reterr, -ENODATA,
                            "'%s' has no samples of time: record with silt run --cpu",
                            side->source->path);
        else if (!is_time && query_is_of_time(side->q) && query_has_ticks(other->q))
                r = err_set(reterr, -ENODATA,
                            "'%s' has only samples of time: use --by cpu or --by blocked",
                            side->source->path);
        else if (!is_time && query_is_of_time(side->q))
                return err_set(
                        reterr, -ENODATA,
                        "cannot compare: '%s' has samples of time, '%s' has memory: compare each with one of its kind",
                        side->source->path, other->source->path);
        return r < 0 ? err_about(reterr, "by", r) : 0;
}

/* Of an imported profile without a single sample of the kind nobody knows that there was none. */
static int check_kind_of_time(const struct diff *d, const struct diff_side *s, struct err *reterr) {
        const struct request *asked = diff_request(d->options);
        bool is_cpu = d->metric == QUERY_CPU;

        if (!query_metric_time(d->metric) || !query_is_imported(s->q) ||
            s->answer->totals.alloc_bytes || side_is_windowed(s) || asked->process ||
            !query_filter_is_empty(asked->filter))
                return 0;
        return err_about(reterr, "by",
                         err_set(reterr, -ENODATA, "'%s' has no samples of %s: use --by %s",
                                 s->source->path, is_cpu ? "CPU time" : "time blocked",
                                 is_cpu ? "blocked" : "cpu"));
}

static bool lacks_peak(const struct diff_side *s) {
        return s->answer->totals.lacks_peak;
}

static bool lacks_live(const struct diff_side *s) {
        return s->answer->totals.lacks_live;
}

/* Of recordings of time alone it is time that is compared; where one does not know its peak, what both had in the end. */
static int settle_metric(struct diff *d, struct err *reterr) {
        const struct diff_side *old = &d->sides[NAME_OLD], *new = &d->sides[NAME_NEW];
        int r;

        if (old->resolved.scope.of_time && new->resolved.scope.of_time)
                d->metric = new->resolved.metric;
        else if (d->metric == QUERY_PEAK && (lacks_live(old) || lacks_live(new)))
                d->metric = QUERY_ALLOCATED;
        else if (d->metric == QUERY_PEAK && (lacks_peak(old) || lacks_peak(new)))
                d->metric = QUERY_END;
        r = check_recorded(d, old, new, reterr);
        if (r >= 0)
                r = check_recorded(d, new, old, reterr);
        if (r >= 0)
                r = check_kind_of_time(d, old, reterr);
        return r < 0 ? r : check_kind_of_time(d, new, reterr);
}

static int set_scale(struct diff *d, struct err *reterr) {
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                uint64_t ns = side_duration_ns(&d->sides[side]);

                d->scale[side] = 1;
                if (!diff_request(d->options)->per_second)
                        continue;
                if (d->sides[side].answer->totals.lacks_time)
                        return err_about(
                                reterr, "per-second",
                                err_set(reterr, -ENOTSUP,
                                        "%s: the recording has no times, so no rates are known: leave it out",
                                        d->sides[side].source->path));
                if (ns == 0)
                        return err_about(reterr, "per-second",
                                         err_set(reterr, -ERANGE,
                                                 "%s: the window has no length: leave it out",
                                                 d->sides[side].source->path));
                d->scale[side] = 1e9 / (double)ns;
        }
        return 0;
}

/* Two windows of one trace share its query. */
static int check_sites(const struct diff *d, struct err *reterr) {
        if (d->sides[NAME_OLD].q == d->sides[NAME_NEW].q ||
            !query_filter_has_sites(diff_request(d->options)->filter))
                return 0;
        return err_about(
                reterr, "site",
                err_set(reterr, -EINVAL,
                        "numbers of call paths are those of one trace: use function or asked-by"));
}

static const char *what_it_has(const struct diff_side *s) {
        static const char *const names[] = {"memory", "numbers of samples", "sums of time",
                                            "weights of an unknown unit"};

        return query_is_of_time(s->q) ? "samples of time" : names[s->v->meta.unit];
}

/* Samples are no bytes. Sums and samples of time are both time, but only sums have no states. */
static int check_units(const struct diff *d, struct err *reterr) {
        const struct diff_side *old = &d->sides[NAME_OLD], *new = &d->sides[NAME_NEW];
        const struct diff_side *samples = query_is_of_time(old->q)   ? old
                                          : query_is_of_time(new->q) ? new
                                                                     : NULL;
        bool is_sum = MAX(old->v->meta.unit, new->v->meta.unit) == TRACE_UNIT_NS;

        if (old->v->meta.unit == new->v->meta.unit)
                return 0;
        if (samples && is_sum)
                return err_set(
                        reterr, -EINVAL,
                        "cannot compare: '%s' has %s, '%s' has %s: make sums of the samples with 'silt export %s --format pprof'",
                        old->source->path, what_it_has(old), new->source->path, what_it_has(new),
                        samples->source->path);
        return err_set(
                reterr, -EINVAL,
                "cannot compare: '%s' has %s, '%s' has %s: compare each with one of its kind",
                old->source->path, what_it_has(old), new->source->path, what_it_has(new));
}

static int gather(struct diff *d, struct err *reterr) {
        const struct diff_options *o = d->options;
        int r = set_metric(d, reterr);

        for (unsigned side = 0; side < NAME_N_SIDES && r >= 0; side++) {
                r = side_open(&d->sides[side], &o->sources[side], side ? &d->sides[0] : NULL,
                              reterr);
                if (r >= 0 && side == NAME_NEW)
                        r = check_sites(d, reterr);
                if (r >= 0 && side == NAME_NEW)
                        r = check_units(d, reterr);
                if (r >= 0)
                        r = side_ask(&d->sides[side], reterr);
        }
        if (r >= 0)
                r = settle_metric(d, reterr);
        if (r >= 0)
                r = set_scale(d, reterr);
        if (r >= 0) {
                diff_pair_sides(d);
                r = o->is_strict ? 0 : chance_find(d, reterr);
        }
        for (unsigned side = 0; side < NAME_N_SIDES; side++)
                opened_end_progress(&d->sides[side].opened);
        return r;
}

int diff_gather(struct diff *d, const struct diff_options *o, struct err *reterr) {
        int r;

        *d = (struct diff){.options = o};
        r = gather(d, reterr);
        if (r < 0)
                diff_done(d);
        return r;
}

void diff_done(struct diff *d) {
        diff_unpair(d);
        side_done(&d->sides[NAME_NEW]); /* may use the other's trace */
        side_done(&d->sides[NAME_OLD]);
}

int diff_print(FILE *out, const struct diff_options *o, bool *ret_found, struct err *reterr) {
        struct diff d;
        int r = diff_gather(&d, o, reterr);

        if (r < 0)
                return r;
        *ret_found = diff_is_found(&d);
        if (o->json)
                diff_json(out, &d);
        else
                diff_text(out, &d);
        diff_done(&d);
        return 0;
}
