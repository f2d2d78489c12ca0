/* SPDX-License-Identifier: MIT */
#include "query/process_ends.h"

#include <stdlib.h>

#include "query/query_internal.h"

static int end_compare(const void *a, const void *b, void *query) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        uint64_t end_x = query_process_gone_ns(query, x), end_y = query_process_gone_ns(query, y);

        if (end_x != end_y)
                return end_x < end_y ? -1 : 1;
        return x < y ? -1 : x > y;
}

void process_ends_init(struct process_ends *e, const struct query *q) {
        size_t n = q->view->n_processes;

        *e = (struct process_ends){.q = q, .order = calloc(n + 1, sizeof(e->order[0]))};
        if (!e->order)
                abort();
        for (uint32_t p = 0; p < n; p++)
                if (query_process_gone_ns(q, p) != UINT64_MAX)
                        e->order[e->n++] = p;
        qsort_r(e->order, e->n, sizeof(e->order[0]), end_compare, (void *)q);
}

void process_ends_done(struct process_ends *e) {
        free(e->order);
        *e = (struct process_ends){0};
}

uint64_t process_ends_next_ns(const struct process_ends *e) {
        return e->next < e->n ? query_process_gone_ns(e->q, e->order[e->next]) : UINT64_MAX;
}

uint32_t process_ends_take(struct process_ends *e, uint64_t time_ns) {
        return process_ends_next_ns(e) < time_ns ? e->order[e->next++] : TRACE_NO_PROCESS;
}
