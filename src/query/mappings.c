/* SPDX-License-Identifier: MIT */
/* Memory the program mapped itself: which stack mapped the pages that are there. What was mapped without any right to touch it
 * (PROT_NONE) takes addresses, not memory: programs reserve terabytes so, and map parts of it anew. */
#include "base/map.h"
#include "query/mapping_walk.h"
#include "query/pick.h"

/* Now: all, and what of it is only reserved. */
struct mapped {
        uint64_t bytes, reserved_bytes;
        uint64_t file_bytes; /* of what is not reserved */
};

struct mapping_rows {
        VEC(struct query_mapping) rows;
        VEC(struct mapped) live; /* one a row */
        struct map by_stack;
        struct mapped all;
        struct query_mapped sum;
        const struct pick *pick; /* its conditions on the call path */
        bool in_window;
};

static size_t row_of(struct mapping_rows *m, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&m->by_stack, stack, m->rows.n, &added);

        if (added) {
                vec_push(&m->rows, (struct query_mapping){.stack = stack});
                vec_push(&m->live, (struct mapped){0});
        }
        return (size_t)*idx;
}

static void mapped_change(struct mapped *m, const struct mapping_change *c) {
        m->bytes += (uint64_t)c->by_bytes;
        if (c->range->is_reserved)
                m->reserved_bytes += (uint64_t)c->by_bytes;
        else if (c->range->is_file_backed)
                m->file_bytes += (uint64_t)c->by_bytes;
}

static void see_peaks(struct mapping_rows *m, size_t i) {
        struct query_mapping *row = &m->rows.items[i];
        const struct mapped *own = &m->live.items[i];

        row->peak_bytes = MAX(row->peak_bytes, own->bytes);
        row->reserved_bytes = MAX(row->reserved_bytes, own->reserved_bytes);
        m->sum.peak_bytes = MAX(m->sum.peak_bytes, m->all.bytes);
        m->sum.reserved_peak_bytes = MAX(m->sum.reserved_peak_bytes, m->all.reserved_bytes);
        m->sum.usable_peak_bytes =
                MAX(m->sum.usable_peak_bytes, m->all.bytes - m->all.reserved_bytes);
        m->sum.anon_peak_bytes = MAX(m->sum.anon_peak_bytes,
                                     m->all.bytes - m->all.reserved_bytes - m->all.file_bytes);
}

static bool is_picked(const struct mapping_rows *m, uint32_t process, uint32_t stack) {
        return pick_has_stack(m->pick, stack) && pick_has_process(m->pick, process);
}

static void take_change(void *ctx, const struct mapping_change *c) {
        struct mapping_rows *m = ctx;
        size_t i;

        if (!is_picked(m, c->process, c->range->stack))
                return;
        i = row_of(m, c->range->stack);
        mapped_change(&m->live.items[i], c);
        mapped_change(&m->all, c);
        if (m->in_window)
                see_peaks(m, i);
}

static void take_call(void *ctx, const struct trace_mapping *call, uint64_t size_bytes) {
        struct mapping_rows *m = ctx;
        size_t i;

        if (!m->in_window || !is_picked(m, call->process, call->stack))
                return;
        i = row_of(m, call->stack);
        m->rows.items[i].n_calls++;
        m->rows.items[i].mapped_bytes += size_bytes;
}

/* What is memory first. */
static int mapping_compare(const void *a, const void *b) {
        const struct query_mapping *x = a, *y = b;
        uint64_t of_x = x->peak_bytes - x->reserved_bytes, of_y = y->peak_bytes - y->reserved_bytes;

        if (of_x != of_y)
                return of_x > of_y ? -1 : 1;

        if (x->peak_bytes != y->peak_bytes)
                return x->peak_bytes > y->peak_bytes ? -1 : 1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* What is there at both ends of the window counts, if nothing happened in it. */
static void see_all(struct mapping_rows *m) {
        for (size_t i = 0; i < m->rows.n; i++)
                see_peaks(m, i);
}

static void finish(struct mapping_rows *m) {
        see_all(m);
        for (size_t i = 0; i < m->rows.n; i++)
                m->rows.items[i].end_bytes = m->live.items[i].bytes;
        if (m->rows.n)
                qsort(m->rows.items, m->rows.n, sizeof(m->rows.items[0]), mapping_compare);
        m->sum.end_bytes = m->all.bytes;
        m->sum.reserved_end_bytes = m->all.reserved_bytes;
}

int query_mappings(struct query *q, const struct query_scope *scope, struct query_mapping **ret,
                   size_t *ret_n, struct query_mapped *ret_sum, struct err *reterr) {
        struct mapping_rows rows = {0};
        struct mapping_walk w;
        int r;

        r = pick_get(q, scope->filter, &rows.pick, reterr);
        if (r < 0)
                return r;
        r = mapping_walk_init(&w, q, scope, reterr);
        if (r < 0)
                return r;
        w.ctx = &rows;
        w.change = take_change;
        w.called = take_call;
        mapping_walk_to(&w, scope->from_ns);
        see_all(&rows);
        rows.in_window = true;
        mapping_walk_to(&w, scope->to_ns);
        finish(&rows);
        rows.sum.has_protects = w.has_protects;
        mapping_walk_done(&w);
        vec_free(&rows.live);
        map_done(&rows.by_stack);
        r = query_end(q, reterr);
        if (r < 0) {
                vec_free(&rows.rows);
                return r;
        }
        *ret_sum = rows.sum;
        *ret_n = rows.rows.n;
        *ret = TAKE_PTR(rows.rows.items);
        return 0;
}

static void take_nothing(void *ctx, const struct mapping_change *c) {
        (void)ctx;
        (void)c;
}

int query_mapped_ranges(struct query *q, uint32_t process, uint64_t time_ns,
                        struct query_mapped_range **ret, size_t *ret_n, struct err *reterr) {
        const struct query_scope scope = {.process = process, .to_ns = time_ns};
        VEC(struct query_mapped_range) found = {0};
        struct mapping_walk w;
        int r = mapping_walk_init(&w, q, &scope, reterr);

        if (r < 0)
                return r;
        w.change = take_nothing;
        mapping_walk_to(&w, time_ns);
        for (size_t i = 0; i < w.tables[process].ranges.n; i++) {
                const struct mapping_range *x = &w.tables[process].ranges.items[i];

                vec_push(&found,
                         (struct query_mapped_range){x->begin, x->end, x->stack, x->is_reserved});
        }
        mapping_walk_done(&w);
        r = query_end(q, reterr);
        if (r < 0) {
                vec_free(&found);
                return r;
        }
        *ret_n = found.n;
        *ret = found.items;
        return 0;
}
