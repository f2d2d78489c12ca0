/* SPDX-License-Identifier: MIT */
/* Blocks by size and lifetime: silt.heat/1. */
#include <errno.h>
#include <stdlib.h>

#include "answer/answers.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"

/* Lifetimes: up to 4 us, 16 us, 64 us, … as histograms have them. */
enum { N_LIFETIMES = 20 };
enum { MAX_EVENTS = 10000000 };

struct cell {
        uint64_t min_bytes;
        unsigned lifetime;
        uint64_t n_blocks, bytes, n_live, live_bytes;
};

struct heat {
        VEC(struct cell) cells;
        struct map by_key; /* → cell */
};

static uint64_t lifetime_min_ns(unsigned i) {
        return i ? 1000ull << 2 * i : 0;
}

static unsigned lifetime_of(uint64_t ns) {
        unsigned i = 0;

        while (i + 1 < N_LIFETIMES && ns >= lifetime_min_ns(i + 1))
                i++;
        return i;
}

static bool count_block(void *ctx, const struct query_block *b) {
        uint64_t min_bytes, max_bytes, bytes = b->size_bytes * b->n_blocks;
        unsigned lifetime = lifetime_of(b->age_ns);
        struct heat *h = ctx;
        struct cell *c;
        uint64_t *idx;
        bool added;

        query_size_class(b->size_bytes, &min_bytes, &max_bytes);
        idx = map_put(&h->by_key, min_bytes * N_LIFETIMES + lifetime, h->cells.n, &added);
        if (added)
                vec_push(&h->cells, (struct cell){.min_bytes = min_bytes, .lifetime = lifetime});
        c = &h->cells.items[*idx];
        c->n_blocks += b->n_blocks;
        c->bytes += bytes;
        c->n_live += b->is_live ? b->n_blocks : 0;
        c->live_bytes += b->is_live ? bytes : 0;
        return true;
}

static int compare_cells(const void *a, const void *b) {
        const struct cell *x = a, *y = b;

        if (x->min_bytes != y->min_bytes)
                return x->min_bytes < y->min_bytes ? -1 : 1;
        return x->lifetime < y->lifetime ? -1 : x->lifetime > y->lifetime;
}

static void put_axes(struct json *j, const struct heat *h) {
        json_key(j, "sizes");
        json_array(j);
        for (size_t i = 0; i < h->cells.n; i++) {
                uint64_t min_bytes, max_bytes;

                if (i && h->cells.items[i].min_bytes == h->cells.items[i - 1].min_bytes)
                        continue;
                query_size_class(h->cells.items[i].min_bytes, &min_bytes, &max_bytes);
                json_object(j);
                json_put_uint(j, "min_bytes", min_bytes);
                json_put_uint(j, "max_bytes", max_bytes);
                json_end(j);
        }
        json_end(j);
        json_key(j, "lifetimes");
        json_array(j);
        for (unsigned i = 0; i < N_LIFETIMES; i++) {
                json_object(j);
                answer_put_seconds(j, "min_s", lifetime_min_ns(i));
                if (i + 1 < N_LIFETIMES)
                        answer_put_seconds(j, "max_s", lifetime_min_ns(i + 1));
                else
                        answer_put_null(j, "max_s");
                json_end(j);
        }
        json_end(j);
}

static void put_cells(struct json *j, const struct heat *h) {
        uint64_t size = 0;

        json_key(j, "size");
        json_array(j);
        for (size_t i = 0; i < h->cells.n; i++) {
                size += i && h->cells.items[i].min_bytes != h->cells.items[i - 1].min_bytes;
                json_uint(j, size);
        }
        json_end(j);
        JSON_PUT_EACH(j, "lifetime", h->cells.n, json_uint, h->cells.items[i].lifetime);
        JSON_PUT_EACH(j, "blocks", h->cells.n, json_uint, h->cells.items[i].n_blocks);
        JSON_PUT_EACH(j, "bytes", h->cells.n, json_uint, h->cells.items[i].bytes);
        JSON_PUT_EACH(j, "live_blocks", h->cells.n, json_uint, h->cells.items[i].n_live);
        JSON_PUT_EACH(j, "live_bytes", h->cells.n, json_uint, h->cells.items[i].live_bytes);
}

/* Every event of the window is read that the trace still has. How many those are is told by the share of the time, which is enough to
 * warn. */
static int refuse_too_many(const struct question *k, struct err *reterr) {
        const struct query_scope *scope = &k->resolved.scope;
        uint64_t begin_ns = MAX(scope->from_ns, k->v->detail_from_ns);
        uint64_t end_ns = MIN(scope->to_ns, k->v->end_ns);
        uint64_t known_ns = k->v->end_ns - MIN(k->v->detail_from_ns, k->v->end_ns);
        double share =
                known_ns && end_ns > begin_ns ? (double)(end_ns - begin_ns) / (double)known_ns : 0;
        uint64_t n_events = k->v->n_events - MIN(k->v->n_dropped_events, k->v->n_events);
        struct unit_text n;

        if (share * (double)n_events <= MAX_EVENTS)
                return 0;
        return err_about(reterr, "from",
                         err_set(reterr, -EINVAL,
                                 "about %s events would have to be read: choose a shorter window",
                                 unit_count(&n, (uint64_t)(share * (double)n_events))));
}

int answer_heat(struct question *k, struct err *reterr) {
        struct heat h = {0};
        struct json *j = &k->j;
        int r;

        if (k->v->meta.flags & TRACE_LACKS_TIME)
                return err_set(reterr, -ENOTSUP,
                               "this recording has no times: how long blocks lived is unknown");
        r = refuse_too_many(k, reterr);
        if (r < 0)
                return r;
        r = query_blocks(k->q, &k->resolved.scope, count_block, &h, reterr);

        if (r >= 0) {
                if (h.cells.n > 1)
                        qsort(h.cells.items, h.cells.n, sizeof(h.cells.items[0]), compare_cells);
                json_object(j);
                json_put_string(j, "schema", "silt.heat/1");
                answer_put_bool(j, "exact", k->resolved.scope.from_ns >= k->v->detail_from_ns);
                put_axes(j, &h);
                put_cells(j, &h);
                json_end(j);
        }
        vec_free(&h.cells);
        map_done(&h.by_key);
        return r;
}
