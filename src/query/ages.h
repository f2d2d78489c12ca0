/* SPDX-License-Identifier: MIT */
/* How old what is alive is: by call path, the bytes alive at one moment and their ages, from one pass over the events.
 *
 *   query_ages(q, &answer->scope, QUERY_PEAK, &ages, &err);
 *   query_ages_put(ages, answer, NULL, NULL);   // every site has aged_bytes and aged_byte_s, which add up in groups and trees
 *   query_mean_age_s(node->total.peak_bytes, is_sampled, node->total.aged_bytes, …, &age_s)
 */
#pragma once

#include "query/query.h"

/* The blocks of one call path that a process held at the moment. */
struct query_age {
        uint32_t process, stack;
        int64_t bytes;
        double byte_s; /* each byte's age in seconds, added up */
};

struct query_ages {
        struct query_age *rows;
        size_t n;
};

/* Whether a metric is of blocks alive at one moment: QUERY_PEAK and QUERY_END. */
static inline bool query_metric_has_ages(enum query_metric m) {
        return m == QUERY_PEAK || m == QUERY_END;
}

/* At the scope's peak, or at its end. A block whose allocation is not among the events is in no row. */
int query_ages(struct query *q, const struct query_scope *scope, enum query_metric m,
               struct query_ages **ret, struct err *reterr);
struct query_ages *query_ages_free(struct query_ages *a);
DEFINE_CLEANUP(struct query_ages, query_ages_free)

/* Gives the sites of an answer their ages: those of the processes that `has` says (NULL: all). */
typedef bool (*query_ages_fn)(void *ctx, uint32_t process);
void query_ages_put(const struct query_ages *ages, struct query_answer *a, query_ages_fn has,
                    void *ctx);

/* The mean age of `bytes`, weighted by them. False: nothing is alive, or some of it has no known age. Of samples, what was
 * alive at the peak may be told lower than the blocks that were seen. */
bool query_mean_age_s(int64_t bytes, bool is_sampled, int64_t aged_bytes, double aged_byte_s,
                      double *ret);
