/* SPDX-License-Identifier: MIT */
#include "query/ages.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "query/block_life.h"
#include "query/query_internal.h"
#include "query/window_peak.h"

struct aging {
        enum query_metric metric;
        uint64_t at_ns; /* the moment */
        struct map by_site;
        VEC(struct query_age) rows;
};

static struct query_age *row_of(struct aging *k, uint32_t process, uint32_t stack) {
        bool added;
        uint64_t *idx = map_put(&k->by_site, (uint64_t)process << 32 | stack, k->rows.n, &added);

        if (!added)
                return &k->rows.items[*idx];
        vec_push(&k->rows, (struct query_age){.process = process, .stack = stack});
        return &k->rows.items[k->rows.n - 1];
}

static bool add_life(void *ctx, const struct query_life *l) {
        struct aging *k = ctx;
        /* what an ended process still held grew no older */
        uint64_t until_ns = MIN(k->at_ns, l->last_ns);
        struct query_age *row;

        if (!(k->metric == QUERY_PEAK ? l->is_live_at_peak : l->is_live_at_to))
                return true;
        row = row_of(k, l->process, l->stack);
        row->bytes = (int64_t)((uint64_t)row->bytes + life_bytes(l));
        if (until_ns > l->begin_ns)
                row->byte_s += (double)life_bytes(l) * (double)(until_ns - l->begin_ns) / 1e9;
        return true;
}

int query_ages(struct query *q, const struct query_scope *scope, enum query_metric m,
               struct query_ages **ret, struct err *reterr) {
        struct aging k = {.metric = m, .at_ns = MIN(scope->to_ns, q->view->end_ns)};
        struct query_ages *a;
        struct peak peak;
        int r;

        if (m == QUERY_PEAK) {
                peak_of_scope(q, scope, &peak);
                k.at_ns = peak.time_ns;
        }
        r = life_scan_peak(q, scope, 0, m == QUERY_PEAK ? &peak : NULL, add_life, &k, NULL, reterr);
        map_done(&k.by_site);
        if (r < 0) {
                vec_free(&k.rows);
                return r;
        }
        a = calloc(1, sizeof(*a));
        if (!a)
                abort();
        a->rows = k.rows.items;
        a->n = k.rows.n;
        *ret = a;
        return 0;
}

struct query_ages *query_ages_free(struct query_ages *a) {
        if (!a)
                return NULL;
        free(a->rows);
        free(a);
        return NULL;
}

void query_ages_put(const struct query_ages *ages, struct query_answer *a, query_ages_fn has,
                    void *ctx) {
        struct map by_stack = {0};

        for (size_t i = 0; i < a->n_sites; i++)
                map_put(&by_stack, a->sites[i].stack, i, NULL);
        for (size_t i = 0; i < ages->n; i++) {
                const struct query_age *row = &ages->rows[i];
                uint64_t idx;

                if ((has && !has(ctx, row->process)) || !map_get(&by_stack, row->stack, &idx))
                        continue;
                a->sites[idx].f.aged_bytes =
                        (int64_t)((uint64_t)a->sites[idx].f.aged_bytes + (uint64_t)row->bytes);
                a->sites[idx].f.aged_byte_s += row->byte_s;
        }
        map_done(&by_stack);
}

bool query_mean_age_s(int64_t bytes, bool is_sampled, int64_t aged_bytes, double aged_byte_s,
                      double *ret) {
        if (bytes <= 0 || (is_sampled ? aged_bytes < bytes : aged_bytes != bytes))
                return false;
        *ret = aged_byte_s / (double)aged_bytes;
        return true;
}
