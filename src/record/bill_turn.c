/* SPDX-License-Identifier: MIT */
#include "record/bill_turn.h"

#include "base/macros.h"

#define MS 1000000ull

enum {
        FIRST_NS = 50 * MS, /* of a process's age; then an eighth of it apart */
        AGE_SHARE = 8,
        GROWN_SHARE = 8, /* memory that has grown by an eighth is worth another look */
        GROWN_BYTES = 1 << 20,
        GROWN_GAP_SHARE = 64, /* but not sooner than a 64th of the age */
        LITTLE_SHARE =
                64, /* of all memory: a stream of small processes would leave no look for others */
};

static bool has_grown(const struct bill_turn *t) {
        return t->anon_bytes > t->high_bytes + t->high_bytes / GROWN_SHARE + GROWN_BYTES;
}

/* Without a share: by its age alone. */
static uint64_t wished_ns(const struct bill_turn *t) {
        if (!t->n_bills)
                return t->began_ns + FIRST_NS;
        return t->last_ns + MAX((t->last_ns - MIN(t->began_ns, t->last_ns)) / AGE_SHARE, FIRST_NS);
}

uint64_t bill_turn_due(const struct bill_turn *t, const struct bill_share *s, uint64_t now_ns) {
        uint64_t due_ns = MAX(wished_ns(t), s->not_before_ns), grown_ns;

        if (!has_grown(t) || t->anon_bytes - t->high_bytes < s->all_bytes / LITTLE_SHARE)
                return due_ns;
        grown_ns = t->n_bills
                           ? t->last_ns + MAX((now_ns - MIN(t->began_ns, now_ns)) / GROWN_GAP_SHARE,
                                              FIRST_NS / 2)
                           : wished_ns(t);
        return MIN(due_ns, MAX(grown_ns, s->not_before_grown_ns));
}

uint64_t bill_turn_weight(const struct bill_turn *t, uint64_t now_ns) {
        uint64_t wished = wished_ns(t), age_ns = now_ns - MIN(t->began_ns, now_ns),
                 waited_ns = now_ns - MIN(wished, now_ns);

        if (has_grown(t))
                return t->anon_bytes - t->high_bytes;
        return (uint64_t)((double)t->anon_bytes * (double)MIN(waited_ns, age_ns) /
                          (double)MAX(age_ns, (uint64_t)1));
}
