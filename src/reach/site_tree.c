/* SPDX-License-Identifier: MIT */
#include "reach/site_tree.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"

/* So far up is looked for a group of the same site: structures repeat after a few steps, and a chain of a thousand sites is no reason
 * to look at a thousand groups for each. */
enum { MAX_LEVELS = 64 };

struct maker {
        const struct site_tree_request *q;
        VEC(struct site_group) groups;
        VEC(uint32_t) on_path; /* of each group: nodes of it from the top to where the walk is */
        struct map keys;       /* site and type to a number */
        struct map joins;      /* group and key: which group a child with that key is in */
        uint32_t *group_of;
        uint32_t *first_child, *next;
};

static void maker_done(struct maker *m) {
        vec_free(&m->groups);
        vec_free(&m->on_path);
        map_done(&m->keys);
        map_done(&m->joins);
        free(m->group_of);
        free(m->first_child);
        free(m->next);
}

static struct site_group group_named(const struct maker *m, uint32_t node) {
        const struct reach_graph *g = m->q->g;
        const struct site_keys *keys = m->q->keys;
        uint32_t above_all = reach_above_all(g);
        struct site_group ret = {.parent = REACH_NONE,
                                 .first_child = REACH_NONE,
                                 .next = REACH_NONE,
                                 .oldest_ms = UINT32_MAX};

        if (node == above_all)
                return ret;
        if (node < g->n_blocks) {
                ret.kind = GROUP_BLOCKS;
                ret.site = g->blocks[node].site;
                ret.type = keys && keys->type_of ? keys->type_of(keys->ctx, node) : 0;
                return ret;
        }
        ret.kind = GROUP_PLACE;
        ret.site = node > above_all ? node - above_all - 1 : node - g->n_blocks;
        if (keys && keys->name_of)
                ret.site = keys->name_of(keys->ctx, ret.site);
        return ret;
}

static bool is_same(const struct site_group *a, const struct site_group *b) {
        return a->kind == b->kind && a->site == b->site && a->type == b->type;
}

/* The group of this kind from `below` on up; REACH_NONE: there is none, or it is far. */
static uint32_t find_above(const struct maker *m, uint32_t below, const struct site_group *wanted) {
        for (int i = 0; i < MAX_LEVELS && below != REACH_NONE;
             i++, below = m->groups.items[below].parent)
                if (is_same(&m->groups.items[below], wanted))
                        return below;
        return REACH_NONE;
}

/* A root is in the group of its place. */
static bool is_root_of_place(const struct maker *m, uint32_t node) {
        return node >= m->q->g->n_blocks && m->q->parent[node] > reach_above_all(m->q->g);
}

static uint32_t group_below(struct maker *m, uint32_t parent_group, uint32_t node) {
        struct site_group wanted = group_named(m, node);
        /* names of places and sites of blocks are numbers of their own each: places are only below the first group, and only they are,
         * or blocks with no one holder. An odd and an even number keep these apart. */
        uint64_t key =
                *map_put(&m->keys, (uint64_t)wanted.site << 32 | wanted.type, m->keys.n, NULL) * 2 +
                (wanted.kind == GROUP_PLACE);
        bool is_new;
        uint64_t *joined = map_put(&m->joins, (uint64_t)parent_group << 32 | key, 0, &is_new);
        uint32_t found;

        if (!is_new)
                return (uint32_t)*joined;
        found = find_above(m, parent_group, &wanted);
        if (found == REACH_NONE) {
                found = (uint32_t)m->groups.n;
                wanted.parent = parent_group;
                vec_push(&m->groups, wanted);
                vec_push(&m->on_path, 0);
        }
        *joined = found;
        return found;
}

static void count_in(struct maker *m, uint32_t node) {
        struct site_group *group = &m->groups.items[m->group_of[node]];
        bool is_outermost = m->on_path.items[m->group_of[node]]++ == 0;
        const struct reach_block *block;

        if (is_outermost && m->q->weight)
                group->outermost_weight += m->q->weight[node];
        if (node >= m->q->g->n_blocks || (m->q->counted && !m->q->counted[node]))
                return;
        block = &m->q->g->blocks[node];
        group->n_outermost += is_outermost;
        group->n_blocks++;
        group->own_bytes += block->size_bytes;
        group->largest_bytes = MAX(group->largest_bytes, block->size_bytes);
        group->oldest_ms = MIN(group->oldest_ms, block->birth_ms);
        group->newest_ms = MAX(group->newest_ms, block->birth_ms);
}

/* Down to the first child, on to the next, up again: links instead of a stack. */
static void walk_tree(struct maker *m) {
        uint32_t top = reach_above_all(m->q->g), at = top;

        vec_push(&m->groups, group_named(m, top));
        vec_push(&m->on_path, 0);
        m->group_of[top] = 0;
        count_in(m, top);
        for (;;) {
                uint32_t to = m->first_child[at];

                while (to == REACH_NONE && at != top) {
                        m->on_path.items[m->group_of[at]]--;
                        to = m->next[at];
                        at = m->q->parent[at];
                }
                if (to == REACH_NONE)
                        return;
                m->group_of[to] = is_root_of_place(m, to) ? m->group_of[at]
                                                          : group_below(m, m->group_of[at], to);
                count_in(m, to);
                at = to;
        }
}

static int compare_groups(const void *a, const void *b, void *groups) {
        const struct site_group *all = groups;
        uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

        if (all[i].tree_bytes != all[k].tree_bytes)
                return all[i].tree_bytes > all[k].tree_bytes ? -1 : 1;
        return i < k ? -1 : i > k;
}

/* Largest first, and no group before the one above it: that one has no less and a lower number. NULL: no memory. */
static uint32_t *groups_by_size(const struct site_group *groups, uint32_t n) {
        uint32_t *ret = malloc((size_t)n * sizeof(ret[0]));

        for (uint32_t i = 0; ret && i < n; i++)
                ret[i] = i;
        if (ret)
                qsort_r(ret, n, sizeof(ret[0]), compare_groups, (void *)groups);
        return ret;
}

static int add_up_and_order(struct site_group *groups, uint32_t n) {
        _cleanup_free_ uint32_t *by_size = NULL;

        for (uint32_t i = n; i-- > 0;) {
                struct site_group *group = &groups[i];

                group->tree_blocks += group->n_blocks;
                group->tree_bytes += group->own_bytes;
                if (group->parent == REACH_NONE)
                        continue;
                groups[group->parent].tree_blocks += group->tree_blocks;
                groups[group->parent].tree_bytes += group->tree_bytes;
        }
        by_size = groups_by_size(groups, n);
        if (!by_size)
                return -ENOMEM;
        for (uint32_t i = n; i-- > 1;) {
                struct site_group *group = &groups[by_size[i]];

                group->next = groups[group->parent].first_child;
                groups[group->parent].first_child = by_size[i];
        }
        return 0;
}

int site_tree_make(const struct site_tree_request *q, struct site_tree *ret) {
        size_t n_bytes = (size_t)q->n_nodes * sizeof(uint32_t);
        _cleanup_(maker_done) struct maker m = {.q = q,
                                                .group_of = malloc(n_bytes),
                                                .first_child = malloc(n_bytes),
                                                .next = malloc(n_bytes)};
        int r;

        if (!m.group_of || !m.first_child || !m.next)
                return -ENOMEM;
        memset(m.group_of, 0xff, n_bytes); /* REACH_NONE */
        memset(m.first_child, 0xff, n_bytes);
        for (uint32_t node = q->n_nodes; node-- > 0;)
                if (q->parent[node] != REACH_NONE) {
                        m.next[node] = m.first_child[q->parent[node]];
                        m.first_child[q->parent[node]] = node;
                }
        walk_tree(&m);
        r = add_up_and_order(m.groups.items, (uint32_t)m.groups.n);
        if (r < 0)
                return r;
        ret->n = (uint32_t)m.groups.n;
        ret->groups = TAKE_PTR(m.groups.items);
        ret->group_of = TAKE_PTR(m.group_of);
        return 0;
}

void site_tree_done(struct site_tree *t) {
        free(t->groups);
        free(t->group_of);
        t->groups = NULL;
        t->group_of = NULL;
}

/* The row of what is not shown below a group; none if all is. */
static void push_rest(const struct site_tree *t, const bool *shown, uint32_t group, uint32_t depth,
                      site_rows *rows) {
        struct site_row rest = {.group = REACH_NONE, .depth = depth};

        for (uint32_t i = t->groups[group].first_child; i != REACH_NONE; i = t->groups[i].next)
                if (!shown[i]) {
                        rest.n_groups++;
                        rest.n_blocks += t->groups[i].tree_blocks;
                        rest.n_bytes += t->groups[i].tree_bytes;
                }
        if (rest.n_groups)
                vec_push(rows, rest);
}

/* Siblings that are shown come first: of two of the same size the one with the lower number does, in both orders. */
static uint32_t first_shown(const bool *shown, uint32_t group) {
        return group != REACH_NONE && shown[group] ? group : REACH_NONE;
}

int site_tree_rows(const struct site_tree *t, uint64_t min_bytes, uint32_t max_groups,
                   site_rows *ret) {
        _cleanup_free_ uint32_t *by_size = groups_by_size(t->groups, t->n);
        _cleanup_free_ bool *shown = calloc(t->n, sizeof(bool));
        uint32_t at = 0, depth = 0;

        if (!by_size || !shown)
                return -ENOMEM;
        for (uint32_t i = 0;
             i < MIN(t->n, max_groups) && (i == 0 || t->groups[by_size[i]].tree_bytes >= min_bytes);
             i++)
                shown[by_size[i]] = true;
        shown[0] = true;
        for (;;) {
                uint32_t to = first_shown(shown, t->groups[at].first_child);

                vec_push(ret, (struct site_row){.group = at, .depth = depth});
                if (to != REACH_NONE) {
                        at = to;
                        depth++;
                        continue;
                }
                for (; to == REACH_NONE; depth--) {
                        push_rest(t, shown, at, depth + 1, ret);
                        if (at == 0)
                                return 0;
                        to = first_shown(shown, t->groups[at].next);
                        if (to != REACH_NONE)
                                break;
                        at = t->groups[at].parent;
                }
                at = to;
        }
}
