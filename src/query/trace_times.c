/* SPDX-License-Identifier: MIT */
#include "query/trace_times.h"

#include <stdio.h>

#include "query/query_internal.h"

bool query_has_times(const struct query *q) {
        return !query_lacks_time(q);
}

const char *query_moment_name(const struct query *q) {
        return query_lacks_events(q) ? "moment" : "event";
}

const char *query_moment_text(const struct query *q, struct unit_text *t, uint64_t ns) {
        struct unit_text n;

        if (query_has_times(q))
                return unit_duration(t, ns);
        snprintf(t->s, sizeof(t->s), "%s %s", query_moment_name(q),
                 unit_count(&n, ns / 1000000000u));
        return t->s;
}
