/* SPDX-License-Identifier: MIT */
#include "query/internal.h"

int query_anon(struct query *q, uint32_t process, struct query_anon *ret, struct err *reterr) {
        const struct trace_sample *s;
        size_t n;
        int r;

        *ret = (struct query_anon){0};
        r = trace_read_samples(q->reader, &s, &n, reterr);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                if (s[i].process != process)
                        continue;
                if (!ret->n_samples++)
                        ret->first_bytes = s[i].anon_bytes;
                ret->last_ns = MAX(ret->last_ns, s[i].time_ns);
                if (s[i].anon_bytes > ret->peak_bytes) {
                        ret->peak_bytes = s[i].anon_bytes;
                        ret->peak_ns = s[i].time_ns;
                }
        }
        return r;
}
