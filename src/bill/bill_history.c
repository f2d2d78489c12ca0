/* SPDX-License-Identifier: MIT */
#include "bill/bill_history.h"

#include <stdlib.h>

/* The parts of each bill, made once: of several processes a bill belongs to many moments. */
struct reading {
        struct query *q;
        const struct bill_series *s;
        struct bill_history_moment *of_point;
        bool *is_known;
};

static int read_point(struct reading *x, size_t point, struct err *reterr) {
        struct bill_history_moment *to = &x->of_point[point];
        struct bill_moment one = {0};
        struct bill b = {0};
        int r;

        if (x->is_known[point])
                return 0;
        vec_push(&one.points, point);
        r = bill_make(&b, x->q, NULL, x->s, &one, reterr);
        to->resident_bytes = b.resident_bytes;
        for (unsigned k = 0; k < BILL_N_KINDS; k++)
                to->bytes[k] = b.parts[k].bytes;
        x->is_known[point] = r >= 0;
        bill_done(&b);
        bill_moment_done(&one);
        return r;
}

/* By the same rule as the bill of one moment: of each process the bill nearest to it. */
static int add_moment(struct bill_history *h, struct reading *x, uint64_t time_ns,
                      struct err *reterr) {
        struct bill_history_moment sum = {.time_ns = time_ns};
        struct bill_moment m;
        int r = 0;

        bill_find_near(x->s, x->q, time_ns, &m);
        for (size_t i = 0; i < m.points.n && r >= 0; i++) {
                const struct bill_history_moment *of = &x->of_point[m.points.items[i]];

                r = read_point(x, m.points.items[i], reterr);
                sum.resident_bytes += of->resident_bytes;
                for (unsigned k = 0; k < BILL_N_KINDS; k++)
                        sum.bytes[k] += of->bytes[k];
        }
        if (r >= 0 && m.points.n)
                vec_push(&h->moments, sum);
        bill_moment_done(&m);
        return r;
}

int bill_history_read(struct bill_history *h, struct query *q, const struct bill_series *s,
                      struct err *reterr) {
        size_t n = MIN(s->points.n, (size_t)BILL_HISTORY_MAX_MOMENTS);
        struct reading x = {.q = q, .s = s};
        int r = 0;

        *h = (struct bill_history){0};
        x.of_point = calloc(MAX(s->points.n, (size_t)1), sizeof(x.of_point[0]));
        x.is_known = calloc(MAX(s->points.n, (size_t)1), sizeof(x.is_known[0]));
        if (!x.of_point || !x.is_known)
                abort();
        for (size_t i = 0; i < n && r >= 0; i++) {
                /* the first and the last are among them */
                size_t point = n > 1 ? i * (s->points.n - 1) / (n - 1) : 0;

                r = query_tell_progress(q, i, n, reterr);
                if (r >= 0)
                        r = add_moment(h, &x, s->points.items[point].time_ns, reterr);
        }
        free(x.of_point);
        free(x.is_known);
        return r;
}

void bill_history_done(struct bill_history *h) {
        vec_free(&h->moments);
}

bool bill_history_has(const struct bill_history *h, enum bill_kind k) {
        for (size_t i = 0; i < h->moments.n; i++)
                if (h->moments.items[i].bytes[k])
                        return true;
        return false;
}
