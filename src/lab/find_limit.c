/* SPDX-License-Identifier: MIT */
#include "lab/find_limit.h"

#include <errno.h>

#include "base/macros.h"
#include "base/units.h"

enum { FIND_MAX_RAISES = 12 }; /* each by a quarter: 14 times what it used */

static uint64_t round_to(uint64_t bytes, uint64_t granule_bytes) {
        return MAX((bytes + granule_bytes / 2) / granule_bytes, 1ull) * granule_bytes;
}

static int find_try(const struct find_plan *plan, uint64_t limit_bytes, struct find_answer *a,
                    struct find_step *ret, struct err *reterr) {
        *ret = (struct find_step){.limit_bytes = limit_bytes};
        while (ret->n_runs < plan->n_runs && ret->n_survived == ret->n_runs) {
                int r = plan->run(plan->ctx, limit_bytes, ret, reterr);

                if (r < 0)
                        return r;
                ret->n_runs++;
                ret->n_survived += ret->why == FIND_SURVIVED;
                a->n_runs++;
        }
        a->n_steps++;
        if (plan->tell)
                plan->tell(plan->ctx, ret);
        return 0;
}

static bool is_survived(const struct find_plan *plan, const struct find_step *s) {
        return s->n_survived == plan->n_runs;
}

int find_limit(const struct find_plan *plan, struct find_answer *ret, struct err *reterr) {
        uint64_t granule = MAX(plan->granule_bytes, 1ull);
        uint64_t at = round_to(plan->start_bytes, granule);
        struct find_answer a = {0};
        struct find_step step;
        int r;

        /* what it used may not be enough: a run is never quite like the other */
        for (unsigned i = 0; !a.survived.limit_bytes; i++) {
                if (i > FIND_MAX_RAISES) {
                        struct unit_text t;

                        return err_set(
                                reterr, -ERANGE,
                                "it does not survive with %s either: give more with --memory, or check that it ends the same way every time",
                                unit_bytes(&t, a.failed.limit_bytes));
                }
                r = find_try(plan, at, &a, &step, reterr);
                if (r < 0)
                        return r;
                if (is_survived(plan, &step)) {
                        a.survived = step;
                } else {
                        a.failed = step;
                        at = round_to(at + MAX(at / 4, granule), granule);
                }
        }
        while (a.survived.limit_bytes - a.failed.limit_bytes >
               MAX(a.survived.limit_bytes / plan->precision_parts, granule)) {
                at = round_to(a.failed.limit_bytes +
                                      (a.survived.limit_bytes - a.failed.limit_bytes) / 2,
                              granule);
                if (at <= a.failed.limit_bytes || at >= a.survived.limit_bytes)
                        break;
                r = find_try(plan, at, &a, &step, reterr);
                if (r < 0)
                        return r;
                if (is_survived(plan, &step))
                        a.survived = step;
                else
                        a.failed = step;
        }
        *ret = a;
        return 0;
}
