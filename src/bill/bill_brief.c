/* SPDX-License-Identifier: MIT */
#include "bill/bill_brief.h"

#include "bill/bill_series.h"
#include "bill/bill_words.h"

/* Points of the processes alive, each one's newest: a recording of days has many looks, and none of the others is read. */
static void read_newest(struct bill_series *s, struct query *q, uint32_t process) {
        const struct trace_view *v = query_view(q);
        struct map seen = {0};

        *s = (struct bill_series){.is_of_all = process == QUERY_ALL && v->n_processes > 1};
        for (size_t i = query_n_bills(q); i-- > 0;) {
                const struct trace_bill *info = query_bill(q, i);
                struct resident x = {0};
                struct err unsaid = {0};
                bool added;

                if (info->process >= v->n_processes || v->processes[info->process].has_end ||
                    (process != QUERY_ALL && info->process != process))
                        continue;
                map_put(&seen, info->process, 1, &added);
                if (!added || bill_read_resident(q, i, &x, &unsaid) < 0)
                        continue;
                vec_push(&s->points,
                         (struct bill_point){.bill_idx = i,
                                             .process = x.process,
                                             .time_ns = x.time_ns,
                                             .rss_bytes = x.rss_bytes,
                                             .pss_bytes = MIN(x.pss_bytes, x.rss_bytes)});
                resident_done(&x);
        }
        map_done(&seen);
}

bool bill_brief_read(struct bill_brief *b, struct query *q, struct names *names, uint32_t process,
                     bool utf8) {
        struct bill_keys keys = {.frames = {.q = q, .names = names}};
        struct bill_moment newest = {0};
        struct bill_series series;
        struct err unsaid = {0};
        struct bill bill = {0};
        bool has;

        *b = (struct bill_brief){0};
        read_newest(&series, q, process);
        for (size_t i = 0; i < series.points.n; i++) {
                vec_push(&newest.points, i);
                newest.time_ns = MAX(newest.time_ns, series.points.items[i].time_ns);
        }
        has = newest.points.n > 0 && bill_make(&bill, q, &keys, &series, &newest, &unsaid) >= 0;
        if (has) {
                b->time_ns = newest.time_ns;
                b->resident_bytes = bill.resident_bytes;
                b->block_bytes = (uint64_t)MAX(bill.parts[BILL_LIVE].bytes, (int64_t)0);
                b->own_bytes = (uint64_t)MAX(bill.parts[BILL_RUNTIME].bytes, (int64_t)0);
                b->largest_bytes = bill_add_largest(&bill, &keys.frames, utf8, &b->largest);
        }
        bill_done(&bill);
        bill_keys_done(&keys);
        bill_moment_done(&newest);
        bill_series_done(&series);
        return has;
}

void bill_brief_done(struct bill_brief *b) {
        str_done(&b->largest);
        *b = (struct bill_brief){0};
}
