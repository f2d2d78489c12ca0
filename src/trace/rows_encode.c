/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "trace/format.h"
#include "trace/rows.h"

struct site_columns {
        bytes_buf flags, keys, numbers, sizes;
};

static int sites_compare(const void *a, const void *b) {
        const struct trace_site *const *x = a, *const *y = b;

        if ((*x)->process != (*y)->process)
                return (*x)->process < (*y)->process ? -1 : 1;
        return (*x)->stack < (*y)->stack ? -1 : (*x)->stack > (*y)->stack;
}

static void site_put_key(struct site_columns *c, const struct trace_site *s,
                         const struct trace_site *before) {
        uint32_t process = before ? before->process : 0;
        uint64_t next_stack = before ? (uint64_t)before->stack + 1 : 0;

        if (s->process == process) {
                buf_varint(&c->keys, (s->stack - next_stack) * 2);
        } else {
                buf_varint(&c->keys, (uint64_t)s->stack * 2 + 1);
                buf_varint(&c->keys, s->process - process - 1);
        }
}

static unsigned site_put_allocs(struct site_columns *c, const struct trace_site *s) {
        if (!s->n_allocs)
                return 0;
        buf_varint(&c->sizes, s->alloc_bytes);
        if (s->n_allocs == 1)
                return 1;
        buf_varint(&c->numbers, s->n_allocs - 2);
        return 2;
}

static unsigned site_put_frees(struct site_columns *c, const struct trace_site *s) {
        if (!s->n_frees)
                return 0;
        if (s->n_frees == s->n_allocs && s->free_bytes == s->alloc_bytes)
                return 1;
        buf_varint(&c->sizes, s->free_bytes);
        if (s->n_frees == 1)
                return 3;
        buf_varint(&c->numbers, s->n_frees);
        return 2;
}

static unsigned site_put_number(struct site_columns *c, uint64_t n, uint64_t usual) {
        if (!n)
                return 0;
        if (n == usual)
                return 1;
        buf_varint(&c->numbers, n);
        return 2;
}

static unsigned site_put_inherited(struct site_columns *c, const struct trace_site *s) {
        if (!s->n_inherited && !s->inherited_bytes)
                return 0;
        buf_varint(&c->numbers, s->n_inherited);
        buf_varint(&c->sizes, s->inherited_bytes);
        return 1;
}

static unsigned site_put_inherited_frees(struct site_columns *c, const struct trace_site *s) {
        if (!s->n_inherited_frees && !s->inherited_free_bytes)
                return 0;
        buf_varint(&c->numbers, s->n_inherited_frees);
        buf_varint(&c->sizes, s->inherited_free_bytes);
        return 1;
}

static unsigned site_put_peak(struct site_columns *c, const struct trace_site *s, int64_t blocks,
                              int64_t bytes, int64_t other_blocks, int64_t other_bytes) {
        int64_t net_blocks = (int64_t)(s->n_inherited + s->n_allocs - s->n_frees);
        int64_t net_bytes = (int64_t)(s->inherited_bytes + s->alloc_bytes - s->free_bytes);

        if (!blocks && !bytes)
                return 0;
        if (blocks == net_blocks && bytes == net_bytes)
                return 1;
        if (blocks == other_blocks && bytes == other_bytes)
                return 3;
        buf_varint(&c->numbers, bytes_zigzag(blocks));
        buf_varint(&c->sizes, bytes_zigzag(bytes));
        return 2;
}

static unsigned site_put_life(struct site_columns *c, const struct trace_site *s) {
        unsigned used = 0;

        for (unsigned i = 0; i < TRACE_N_LIFE_BUCKETS; i++)
                used |= (s->n_life[i] != 0) << i;
        if (!used)
                return 0;
        if (!(used & (used - 1)) && s->n_life[__builtin_ctz(used)] == s->n_frees) {
                buf_varint(&c->numbers, (unsigned)__builtin_ctz(used));
                return 1;
        }
        buf_varint(&c->numbers, used);
        for (unsigned i = 0; i < TRACE_N_LIFE_BUCKETS; i++)
                if (s->n_life[i])
                        buf_varint(&c->numbers, s->n_life[i]);
        return 2;
}

static void site_put(struct site_columns *c, const struct trace_site *s) {
        unsigned flags = 0;

        flags |= site_put_allocs(c, s) << TRACE_SITE_ALLOCS;
        flags |= site_put_frees(c, s) << TRACE_SITE_FREES;
        flags |= site_put_number(c, s->n_temporary, s->n_frees) << TRACE_SITE_TEMPORARY;
        flags |= site_put_number(c, s->n_reallocs, s->n_allocs) << TRACE_SITE_REALLOCS;
        flags |= site_put_inherited(c, s) << TRACE_SITE_INHERITED;
        flags |= site_put_peak(c, s, s->peak_blocks, s->peak_bytes, (int64_t)s->n_allocs,
                               (int64_t)s->alloc_bytes)
                 << TRACE_SITE_PEAK;
        flags |= site_put_peak(c, s, s->all_peak_blocks, s->all_peak_bytes, s->peak_blocks,
                               s->peak_bytes)
                 << TRACE_SITE_ALL_PEAK;
        flags |= site_put_life(c, s) << TRACE_SITE_LIFE;
        flags |= site_put_inherited_frees(c, s) << TRACE_SITE_INHERITED_FREES;
        buf_u8(&c->flags, (uint8_t)flags);
        buf_u8(&c->flags, (uint8_t)(flags >> 8));
}

static const struct trace_site **sites_sorted(const struct trace_site *sites, size_t n) {
        VEC(const struct trace_site *) sorted = {0};
        bool in_order = true;

        vec_reserve(&sorted, n);
        for (size_t i = 0; i < n; i++) {
                const struct trace_site *s = &sites[i];

                in_order = in_order && (!i || sites_compare(&sorted.items[i - 1], &s) < 0);
                sorted.items[sorted.n++] = s;
        }
        if (!in_order)
                qsort(sorted.items, n, sizeof(sorted.items[0]), sites_compare);
        return sorted.items;
}

/* The first process has no ancestor to inherit from. */
uint8_t trace_sites_version(const struct trace_site *sites, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (sites[i].process > 0)
                        return TRACE_ROWS_VERSION;
        return TRACE_KIND_VERSION;
}

static void sites_put_column(bytes_buf *out, bytes_buf *column, struct trace_cuts *cuts) {
        buf_bytes(out, column->items, column->n);
        cuts->at[cuts->n++] = out->n;
        vec_free(column);
}

void trace_encode_sites(bytes_buf *out, const struct trace_site *sites, size_t n,
                        struct trace_cuts *ret_cuts) {
        _cleanup_free_ const struct trace_site **sorted = sites_sorted(sites, n);
        struct site_columns c = {0};

        for (size_t i = 0; i < n; i++) {
                site_put_key(&c, sorted[i], i ? sorted[i - 1] : NULL);
                site_put(&c, sorted[i]);
        }
        buf_varint(out, c.keys.n);
        buf_varint(out, c.numbers.n);
        ret_cuts->n = 0;
        sites_put_column(out, &c.flags, ret_cuts);
        sites_put_column(out, &c.keys, ret_cuts);
        sites_put_column(out, &c.numbers, ret_cuts);
        sites_put_column(out, &c.sizes, ret_cuts);
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* The whole recording (TRACE_NO_PROCESS + 1 = 0) comes first. */
static int counts_compare(const void *a, const void *b) {
        const struct trace_counts *const *x = a, *const *y = b;
        uint32_t p = (*x)->process + 1, q = (*y)->process + 1;

        return p < q ? -1 : p > q;
}

static void counts_put(bytes_buf *out, const struct trace_counts *c) {
        const uint64_t fields[TRACE_N_COUNT_FIELDS] = {
                c->n_allocs,        c->n_frees,       c->n_reallocs,       c->n_failed,
                c->n_unknown_frees, c->n_prior_frees, c->n_implicit_frees, c->alloc_bytes,
                c->n_temporary,     c->n_lost,        c->n_wrong_sizes,    c->n_complete_stacks,
                c->n_inversions,    c->live_blocks,   c->live_bytes,       c->peak_blocks,
                c->peak_bytes,      c->peak_ns,
        };
        uint32_t used = 0;

        for (unsigned i = 0; i < TRACE_N_COUNT_FIELDS; i++)
                used |= (uint32_t)(fields[i] != 0) << i;
        buf_varint(out, (uint32_t)(c->process + 1));
        buf_varint(out, used);
        for (unsigned i = 0; i < TRACE_N_COUNT_FIELDS; i++)
                if (fields[i])
                        buf_varint(out, fields[i]);
}

void trace_encode_counts(bytes_buf *out, const struct trace_counts *counts, size_t n) {
        VEC(const struct trace_counts *) sorted = {0};

        vec_reserve(&sorted, n);
        for (size_t i = 0; i < n; i++)
                sorted.items[sorted.n++] = &counts[i];
        if (n)
                qsort(sorted.items, n, sizeof(sorted.items[0]), counts_compare);
        for (size_t i = 0; i < n; i++)
                counts_put(out, sorted.items[i]);
        vec_free(&sorted);
}
