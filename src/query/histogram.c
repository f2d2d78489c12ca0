/* SPDX-License-Identifier: MIT */
/* How many blocks of which size, or of which lifetime. */
#include "base/map.h"
#include "base/vec.h"
#include "query/block_life.h"
#include "query/pick.h"
#include "query/query_internal.h"

struct counting {
        struct query *q;
        struct query_scope scope;
        struct query_histogram *h;
        VEC(struct query_bucket) buckets;
        struct map by_min; /* sizes: → bucket */
};

/* ---- lifetimes ------------------------------------------------------------------------------- */

static void begin_lifetimes(struct counting *k) {
        struct query_bucket b = {0};

        do {
                query_lifetime_class(b.max, &b.min, &b.max);
                vec_push(&k->buckets, b);
        } while (b.max != UINT64_MAX);
}

static struct query_bucket *bucket_of_lifetime(struct counting *k, uint64_t ns) {
        unsigned b = 0;

        while (b + 1 < TRACE_N_LIFE_BUCKETS && ns >= k->buckets.items[b].max)
                b++;
        return &k->buckets.items[b];
}

/* Every slice of the window is in it whole. */
static bool cuts_no_slice(const struct counting *k) {
        const struct query_scope *w = &k->scope;
        size_t first = query_slice_at(k->q, w->from_ns), last = query_slice_at(k->q, w->to_ns);
        const struct trace_slice_info *a = trace_slice(k->q->reader, first);
        const struct trace_slice_info *b = trace_slice(k->q->reader, last);

        return !(a && a->begin_ns < w->from_ns) && !(b && b->begin_ns < w->to_ns);
}

static bool in_scope(const struct counting *k, const struct pick *pick,
                     const struct trace_site *row) {
        if (k->scope.process != QUERY_ALL && row->process != k->scope.process)
                return false;
        return row->process < k->q->view->n_processes && pick_has_process(pick, row->process) &&
               pick_has_stack(pick, row->stack);
}

static void count_rows(struct counting *k, const struct pick *pick) {
        size_t end = query_slice_at(k->q, k->scope.to_ns);

        for (size_t i = query_slice_at(k->q, k->scope.from_ns); i < end; i++) {
                const struct trace_site *rows;
                struct err e = {0};
                size_t n;

                if (trace_read_sites(k->q->reader, i, &rows, &n, &e) < 0) {
                        query_note_damage(k->q, &e);
                        k->h->is_exact = false;
                        continue;
                }
                for (size_t r = 0; r < n; r++)
                        for (unsigned b = 0;
                             b < TRACE_N_LIFE_BUCKETS && in_scope(k, pick, &rows[r]); b++)
                                k->buckets.items[b].n_blocks += rows[r].n_life[b];
                if (!query_go_on(k->q, i + 1, end))
                        break;
        }
}

/* ---- block by block -------------------------------------------------------------------------- */

static struct query_bucket *bucket_of_size(struct counting *k, uint64_t size_bytes) {
        struct query_bucket b = {0};
        uint64_t *idx;
        bool added;

        query_size_class(size_bytes, &b.min, &b.max);
        idx = map_put(&k->by_min, b.min, k->buckets.n, &added);
        if (added)
                vec_push(&k->buckets, b);
        return &k->buckets.items[*idx];
}

static bool count_life(void *ctx, const struct query_life *l) {
        struct counting *k = ctx;
        struct query_bucket *b;

        if (k->h->kind == QUERY_SIZES ? !life_is_allocated_in(l, &k->scope)
                                      : !life_is_released_in(l, &k->scope))
                return true;
        b = k->h->kind == QUERY_SIZES ? bucket_of_size(k, l->size_bytes)
                                      : bucket_of_lifetime(k, l->end_ns - l->begin_ns);
        b->n_blocks += l->n_blocks;
        b->bytes += life_bytes(l);
        return true;
}

static int bucket_compare(const void *a, const void *b) {
        const struct query_bucket *x = a, *y = b;

        return x->min < y->min ? -1 : x->min > y->min;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int count(struct counting *k, bool with_bytes, struct err *reterr) {
        const struct pick *pick;
        bool is_exact = true;
        int r = pick_get(k->q, k->scope.filter, &pick, reterr);

        if (r < 0)
                return r;
        if (k->h->kind == QUERY_LIFETIMES) {
                begin_lifetimes(k);
                if (!with_bytes && !query_filter_needs_events(k->scope.filter) &&
                    cuts_no_slice(k)) {
                        count_rows(k, pick);
                        return query_end(k->q, reterr);
                }
        }
        k->h->has_bytes = true;
        r = life_scan(k->q, &k->scope, LIFE_NO_PEAK, count_life, k, &is_exact, reterr);
        k->h->is_exact &= is_exact;
        return r;
}

int query_histogram(struct query *q, const struct query_scope *scope,
                    enum query_histogram_kind kind, bool with_bytes, struct query_histogram **ret,
                    struct err *reterr) {
        _cleanup_(query_histogram_freep) struct query_histogram *h = calloc(1, sizeof(*h));
        struct counting k = {.q = q, .scope = *scope, .h = h};
        int r;

        if (!h)
                abort();
        h->kind = kind;
        h->scope = *scope;
        h->is_exact = !query_lacks_events(q);
        r = count(&k, with_bytes, reterr);
        map_done(&k.by_min);
        h->buckets = k.buckets.items;
        h->n = k.buckets.n;
        if (r < 0)
                return r;
        if (h->n > 1)
                qsort(h->buckets, h->n, sizeof(h->buckets[0]), bucket_compare);
        for (size_t i = 0; i < h->n; i++) {
                h->n_blocks += h->buckets[i].n_blocks;
                h->bytes += h->buckets[i].bytes;
        }
        *ret = TAKE_PTR(h);
        return 0;
}

struct query_histogram *query_histogram_free(struct query_histogram *h) {
        if (!h)
                return NULL;
        free(h->buckets);
        free(h);
        return NULL;
}
