/* SPDX-License-Identifier: MIT */
/* Numbers by call path that are no blocks, as rows that groups and trees take. */
#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "query/group.h"
#include "query/path_weights.h"
#include "query/query_internal.h"

struct query_weights *query_weights_new(const struct query_value *values, size_t n_values) {
        struct query_weights *w = calloc(1, sizeof(*w));

        if (!w || n_values > QUERY_MAX_VALUES || !(w->by_site = calloc(1, sizeof(*w->by_site))))
                abort();
        w->values = values;
        w->n_values = n_values;
        return w;
}

struct query_weights *query_weights_free(struct query_weights *w) {
        if (!w)
                return NULL;
        map_done(w->by_site);
        free(w->by_site);
        free(w->rows);
        free(w);
        return NULL;
}

/* Rows are as many as a power of two has room for: their number tells when there is no more. */
static struct query_site *weights_row(struct query_weights *w, uint32_t stack, uint32_t process) {
        bool added;
        uint64_t *idx = map_put(w->by_site, (uint64_t)process << 32 | stack, w->n, &added);

        if (!added)
                return &w->rows[*idx];
        if ((w->n & (w->n - 1)) == 0) {
                w->rows = realloc(w->rows, (w->n ? 2 * w->n : 1) * sizeof(w->rows[0]));
                if (!w->rows)
                        abort();
        }
        w->rows[w->n] = (struct query_site){.stack = stack, .process = process};
        return &w->rows[w->n++];
}

void query_weights_add(struct query_weights *w, uint32_t stack, uint32_t process,
                       const int64_t *values) {
        struct query_figures f = {0};

        for (size_t i = 0; i < w->n_values; i++)
                f.values[i] = values[i];
        query_figures_add(&weights_row(w, stack, process)->f, &f);
}

/* ---- what a trace has of them ---------------------------------------------------------------- */

int query_weigh_mappings(struct query *q, const struct query_scope *scope,
                         struct query_weights **ret, struct err *reterr) {
        static const struct query_value values[] = {
                [QUERY_MAPPING_PEAK] = {"peak", true},
                [QUERY_MAPPING_END] = {"end", true},
                [QUERY_MAPPING_RESERVED] = {"reserved", true},
                [QUERY_MAPPING_MAPPED] = {"mapped", true},
                [QUERY_MAPPING_CALLS] = {"calls", false},
        };
        _cleanup_free_ struct query_mapping *rows = NULL;
        struct query_weights *w;
        struct query_mapped sum;
        size_t n;
        int r = query_mappings(q, scope, &rows, &n, &sum, reterr);

        if (r < 0)
                return r;
        w = query_weights_new(values, ARRAY_SIZE(values));
        for (size_t i = 0; i < n; i++) {
                const struct query_mapping *m = &rows[i];
                const int64_t of[] = {
                        [QUERY_MAPPING_PEAK] = (int64_t)m->peak_bytes,
                        [QUERY_MAPPING_END] = (int64_t)m->end_bytes,
                        [QUERY_MAPPING_RESERVED] = (int64_t)m->reserved_bytes,
                        [QUERY_MAPPING_MAPPED] = (int64_t)m->mapped_bytes,
                        [QUERY_MAPPING_CALLS] = (int64_t)m->n_calls,
                };

                query_weights_add(w, m->stack, scope->process, of);
        }
        *ret = w;
        return 0;
}

int query_weigh_residency(struct query *q, const struct query_scope *scope,
                          struct query_weights **ret, struct err *reterr) {
        static const struct query_value values[] = {
                [QUERY_RESIDENCY_SLACK] = {"slack", true},
                [QUERY_RESIDENCY_PEAK] = {"peak", true},
                [QUERY_RESIDENCY_TOUCHED] = {"touched", true},
                [QUERY_RESIDENCY_SEEN] = {"seen", true},
                [QUERY_RESIDENCY_BLOCKS] = {"blocks", false},
        };
        _cleanup_free_ struct query_residency *rows = NULL;
        struct query_weights *w;
        size_t n;
        int r = query_residency(q, scope, &rows, &n, reterr);

        if (r < 0)
                return r;
        w = query_weights_new(values, ARRAY_SIZE(values));
        for (size_t i = 0; i < n; i++) {
                const struct query_residency *x = &rows[i];
                const int64_t of[] = {
                        [QUERY_RESIDENCY_SLACK] = (int64_t)query_residency_slack_bytes(x),
                        [QUERY_RESIDENCY_PEAK] = (int64_t)x->peak.bytes,
                        [QUERY_RESIDENCY_TOUCHED] = (int64_t)x->max_touched_bytes,
                        [QUERY_RESIDENCY_SEEN] = (int64_t)x->seen_bytes,
                        [QUERY_RESIDENCY_BLOCKS] = (int64_t)x->seen_blocks,
                };

                query_weights_add(w, x->stack, x->process, of);
        }
        *ret = w;
        return 0;
}

int query_weigh_moves(struct query *q, const struct query_scope *scope, struct query_weights **ret,
                      struct err *reterr) {
        static const struct query_value values[] = {
                [QUERY_MOVE_FOREIGN] = {"foreign", false},
                [QUERY_MOVE_GROWN] = {"grown", false},
                [QUERY_MOVE_COPIED] = {"copied", true},
        };
        _cleanup_(query_moves_freep) struct query_moves *m = NULL;
        struct query_weights *w = NULL;
        int r = query_moves(q, scope, &m, reterr);

        if (r < 0)
                return r;
        if (m->is_known)
                w = query_weights_new(values, ARRAY_SIZE(values));
        for (size_t i = 0; w && i < m->n; i++) {
                const int64_t of[] = {
                        [QUERY_MOVE_FOREIGN] = (int64_t)m->rows[i].n_foreign_frees,
                        [QUERY_MOVE_GROWN] = (int64_t)m->rows[i].n_grown,
                        [QUERY_MOVE_COPIED] = (int64_t)m->rows[i].copied_bytes,
                };

                query_weights_add(w, m->rows[i].stack, scope->process, of);
        }
        *ret = w;
        return 0;
}

/* ---- over time ------------------------------------------------------------------------------- */

struct query_weights_history *query_weights_history_free(struct query_weights_history *h) {
        if (!h)
                return NULL;
        query_groups_free(h->groups);
        free(h->values);
        free(h);
        return NULL;
}

static uint64_t key_of(struct group_keys *keys, const struct query_site *row) {
        return keys->by == QUERY_BY_PROCESS ? row->process : group_keys_of_stack(keys, row->stack);
}

static void add_columns(struct query *q, struct query_weights_history *h, struct group_keys *keys,
                        const struct query_weights *const *columns, enum query_metric metric) {
        struct map rank_of = {0};

        for (size_t i = 0; i < h->n_groups; i++)
                map_put(&rank_of, group_keys_of_row(keys, &h->groups->rows[i]), i, NULL);
        for (size_t c = 0; c < h->n_columns && query_go_on(q, c, h->n_columns); c++)
                for (size_t i = 0; i < columns[c]->n; i++) {
                        const struct query_site *row = &columns[c]->rows[i];
                        uint64_t rank = h->n_groups;
                        int64_t *at;

                        map_get(&rank_of, key_of(keys, row), &rank);
                        at = &h->values[rank * h->n_columns + c];
                        *at = (int64_t)((uint64_t)*at +
                                        (uint64_t)query_figure_of(&row->f, metric).value);
                }
        map_done(&rank_of);
}

int query_history_weights(struct query *q, const struct query_weights *const *columns,
                          size_t n_columns, const struct query_group_options *o, size_t n_groups,
                          struct query_weights_history **ret, struct err *reterr) {
        _cleanup_(query_weights_history_freep) struct query_weights_history *h =
                calloc(1, sizeof(*h));
        _cleanup_(query_weights_freep) struct query_weights *all =
                query_weights_new(n_columns ? columns[0]->values : NULL,
                                  n_columns ? columns[0]->n_values : 0);
        struct query_group_options by_self = *o;
        struct group_keys keys;
        int r;

        if (!h)
                abort();
        for (size_t c = 0; c < n_columns; c++)
                for (size_t i = 0; i < columns[c]->n; i++)
                        query_weights_add(all, columns[c]->rows[i].stack,
                                          columns[c]->rows[i].process,
                                          columns[c]->rows[i].f.values);
        by_self.by_total = false; /* only so do rows add up */
        r = query_group_weights(q, all, &by_self, &h->groups, reterr);
        if (r < 0)
                return r;
        h->n_groups = MIN(n_groups, h->groups->n);
        h->n_columns = n_columns;
        h->values = calloc((h->n_groups + 1) * n_columns + 1, sizeof(h->values[0]));
        if (!h->values)
                abort();
        group_keys_init(&keys, q, &by_self);
        add_columns(q, h, &keys, columns, o->metric);
        group_keys_done(&keys);
        r = query_end(q, reterr);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(h);
        return 0;
}
