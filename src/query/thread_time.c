/* SPDX-License-Identifier: MIT */
#include "query/thread_time.h"

#include <errno.h>

#include "query/query_internal.h"
#include "query/spent_time.h"
#include "query/trace_origin.h"

static bool add_tick(void *ctx, const struct trace_tick *tick) {
        struct query_thread_time *t = &((struct query_thread_time *)ctx)[tick->thread];

        t->n_samples += tick->n_samples;
        switch (tick->state) {
        case TRACE_ON_CPU: t->cpu_ns += tick->weight_ns; break;
        case TRACE_BLOCKED: t->blocked_ns += tick->weight_ns; break;
        default: t->ready_ns += tick->weight_ns; break;
        }
        return true;
}

int query_thread_times(struct query *q, const struct query_scope *scope,
                       struct query_thread_time **ret, struct err *reterr) {
        struct query_scope all = *scope;
        struct query_thread_time *t;
        struct err e = {0};
        int r;

        *ret = NULL;
        if (!query_has_ticks(q))
                return 0;
        all.of_time = QUERY_NO_TIME; /* in any state */
        t = calloc(query_view(q)->n_threads + 1, sizeof(*t));
        if (!t)
                abort();
        r = query_each_tick(q, &all, add_tick, t, &e);
        if (r < 0) {
                free(t);
                if (r == -EINVAL)
                        return 0;
                *reterr = e;
                return r;
        }
        *ret = t;
        return 0;
}

int query_time_in_all(struct query *q, struct query_thread_time *ret, struct err *reterr) {
        const struct query_scope all = {.process = QUERY_ALL, .to_ns = UINT64_MAX};
        struct query_thread_time *threads;
        int r = query_thread_times(q, &all, &threads, reterr);

        *ret = (struct query_thread_time){0};
        if (r < 0 || !threads)
                return r;
        for (size_t i = 0; i < query_view(q)->n_threads; i++) {
                ret->cpu_ns += threads[i].cpu_ns;
                ret->blocked_ns += threads[i].blocked_ns;
                ret->ready_ns += threads[i].ready_ns;
                ret->n_samples += threads[i].n_samples;
        }
        free(threads);
        return 0;
}

bool query_knows_waits(const struct query *q, const struct query_thread_time *in_all) {
        return !origin_is_import(&query_view(q)->meta) || in_all->blocked_ns || in_all->ready_ns;
}
