/* SPDX-License-Identifier: MIT */
/* Opening, asking, and who prints what. */
#include "diff/diff.h"

#include <errno.h>
#include <string.h>

#include "diff/chance.h"
#include "diff/diff_text.h"
#include "diff/paired.h"

static bool is_flow(enum query_metric m) {
        return m != QUERY_PEAK && m != QUERY_END;
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

static int set_scale(struct diff *d, struct err *reterr) {
        for (unsigned side = 0; side < NAME_N_SIDES; side++) {
                uint64_t ns = side_duration_ns(&d->sides[side]);

                d->scale[side] = 1;
                if (!diff_request(d->options)->per_second)
                        continue;
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

static int gather(struct diff *d, struct err *reterr) {
        const struct diff_options *o = d->options;
        int r = set_metric(d, reterr);

        for (unsigned side = 0; side < NAME_N_SIDES && r >= 0; side++) {
                r = side_open(&d->sides[side], &o->sources[side], side ? &d->sides[0] : NULL,
                              reterr);
                if (r >= 0 && side == NAME_NEW)
                        r = check_sites(d, reterr);
                if (r >= 0)
                        r = side_ask(&d->sides[side], reterr);
        }
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
