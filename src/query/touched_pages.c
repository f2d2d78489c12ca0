/* SPDX-License-Identifier: MIT */
/* What looks at the pages of large blocks showed: of each site the last row before the window's end. */
#include <stdlib.h>

#include "base/map.h"
#include "query/pick.h"
#include "query/query_internal.h"

static struct query_look look_of(const struct trace_look *l, uint64_t at_ns) {
        return (struct query_look){at_ns, l->n_blocks, l->bytes, l->touched_bytes};
}

static struct query_residency residency_of(const struct trace_residency *row) {
        return (struct query_residency){.process = row->process,
                                        .stack = row->stack,
                                        .peak = look_of(&row->peak, row->peak_ns),
                                        .last = look_of(&row->now, row->time_ns),
                                        .max_touched_bytes = row->max_touched_bytes,
                                        .seen_blocks = row->seen.n_blocks,
                                        .seen_bytes = row->seen.bytes,
                                        .seen_touched_bytes = row->seen.touched_bytes};
}

static int residency_compare(const void *a, const void *b) {
        const struct query_residency *x = a, *y = b;
        uint64_t p = query_residency_slack_bytes(x), q = query_residency_slack_bytes(y);

        if (p != q)
                return p > q ? -1 : 1;
        if (x->peak.bytes != y->peak.bytes)
                return x->peak.bytes > y->peak.bytes ? -1 : 1;
        if (x->process != y->process)
                return x->process < y->process ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

int query_residency(struct query *q, const struct query_scope *scope, struct query_residency **ret,
                    size_t *ret_n, struct err *reterr) {
        VEC(struct query_residency) found = {0};
        const struct trace_residency *rows;
        struct map by_site = {0};
        const struct pick *pick;
        size_t n;
        int r = pick_get(q, scope->filter, &pick, reterr);

        if (r < 0)
                return r;
        r = trace_read_residency(q->reader, &rows, &n, reterr);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                const struct trace_residency *row = &rows[i];
                uint64_t *place;

                if ((scope->process != QUERY_ALL && row->process != scope->process) ||
                    row->time_ns >= scope->to_ns || !pick_has_process(pick, row->process) ||
                    !pick_has_stack(pick, row->stack))
                        continue;
                place = map_put(&by_site, (uint64_t)row->process << 32 | row->stack, found.n, NULL);
                if (*place == found.n)
                        vec_add(&found);
                found.items[*place] = residency_of(row);
        }
        if (found.n)
                qsort(found.items, found.n, sizeof(found.items[0]), residency_compare);
        map_done(&by_site);
        *ret = found.items;
        *ret_n = found.n;
        return 0;
}
