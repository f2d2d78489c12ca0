/* SPDX-License-Identifier: MIT */
#include "reach/holder_growth.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"

struct comparing {
        VEC(struct growth_row) rows;
        struct map keys, rows_by_key;
};

static void comparing_done(struct comparing *c) {
        vec_free(&c->rows);
        map_done(&c->keys);
        map_done(&c->rows_by_key);
}

/* The row of a group below a row. */
static uint32_t row_below(struct comparing *c, uint32_t parent, const struct site_group *group) {
        uint64_t key =
                *map_put(&c->keys, (uint64_t)group->site << 32 | group->type, c->keys.n, NULL) * 2 +
                (group->kind == GROUP_PLACE);
        bool is_new;
        uint64_t row = *map_put(&c->rows_by_key, (uint64_t)parent << 32 | key, c->rows.n, &is_new);

        if (is_new)
                vec_push(&c->rows, (struct growth_row){.parent = parent,
                                                       .before = REACH_NONE,
                                                       .after = REACH_NONE});
        return (uint32_t)row;
}

/* Groups come before their children: the row of the one above is known. */
static int add_tree(struct comparing *c, const struct site_tree *t, int sign) {
        _cleanup_free_ uint32_t *row_of = malloc((size_t)t->n * sizeof(row_of[0]));

        if (!row_of)
                return -ENOMEM;
        for (uint32_t i = 0; i < t->n; i++) {
                const struct site_group *group = &t->groups[i];
                struct growth_row *row;

                row_of[i] = i == 0 ? 0 : row_below(c, row_of[group->parent], group);
                row = &c->rows.items[row_of[i]];
                *(sign > 0 ? &row->after : &row->before) = i;
                row->n_blocks += sign * (int64_t)group->n_blocks;
                row->own_bytes += sign * (int64_t)group->own_bytes;
                row->tree_blocks += sign * (int64_t)group->tree_blocks;
                row->tree_bytes += sign * (int64_t)group->tree_bytes;
                row->retained_bytes += sign * (int64_t)group->outermost_weight;
        }
        return 0;
}

int holder_growth_find(const struct site_tree *before, const struct site_tree *after,
                       struct holder_growth *ret) {
        _cleanup_(comparing_done) struct comparing c = {0};
        int r;

        vec_push(&c.rows, (struct growth_row){.parent = REACH_NONE,
                                              .before = REACH_NONE,
                                              .after = REACH_NONE});
        r = add_tree(&c, before, -1);
        if (r < 0)
                return r;
        r = add_tree(&c, after, 1);
        if (r < 0)
                return r;
        ret->n = (uint32_t)c.rows.n;
        ret->rows = TAKE_PTR(c.rows.items);
        return 0;
}

void holder_growth_done(struct holder_growth *g) {
        free(g->rows);
        g->rows = NULL;
}

uint32_t holder_growth_way(const struct holder_growth *g, uint32_t *ret, uint32_t max) {
        uint32_t n = 0, at = 0;

        while (n < max && at != REACH_NONE && g->rows[at].tree_bytes > 0) {
                uint32_t best = REACH_NONE;

                ret[n++] = at;
                for (uint32_t i = at + 1; i < g->n; i++)
                        if (g->rows[i].parent == at &&
                            (best == REACH_NONE ||
                             g->rows[i].tree_bytes > g->rows[best].tree_bytes))
                                best = i;
                at = best != REACH_NONE &&
                                     g->rows[best].tree_bytes >= (g->rows[at].tree_bytes + 1) / 2
                             ? best
                             : REACH_NONE;
        }
        return n;
}

uint32_t holder_growth_place(const struct holder_growth *g, const uint32_t *way, uint32_t n) {
        for (uint32_t i = n; i-- > 1;)
                if (g->rows[way[i]].n_blocks > 0 && g->rows[way[i - 1]].n_blocks <= 0)
                        return i;
        return 0;
}
