/* SPDX-License-Identifier: MIT */
#include "import/address_ranges.h"

#include <stdlib.h>
#include <string.h>

/* A mapping, or behind the last: leaf is then the number of leaves. */
struct place {
        size_t leaf, idx;
};

static struct address_ranges_leaf leaf_new(const struct address_range *items, size_t n) {
        struct address_ranges_leaf leaf = {malloc(ADDRESS_RANGES_LEAF * sizeof(*items)), n};

        if (!leaf.items)
                abort();
        if (n)
                memcpy(leaf.items, items, n * sizeof(*items));
        return leaf;
}

void address_ranges_done(struct address_ranges *m) {
        for (size_t i = 0; i < m->leaves.n; i++)
                free(m->leaves.items[i].items);
        vec_free(&m->leaves);
        m->n = 0;
}

void address_ranges_copy(struct address_ranges *to, const struct address_ranges *from) {
        for (size_t i = 0; i < from->leaves.n; i++)
                vec_push(&to->leaves,
                         leaf_new(from->leaves.items[i].items, from->leaves.items[i].n));
        to->n = from->n;
}

static struct address_range *at(const struct address_ranges *m, struct place p) {
        return p.leaf < m->leaves.n ? &m->leaves.items[p.leaf].items[p.idx] : NULL;
}

/* The first that ends behind address. */
static struct place first_behind(const struct address_ranges *m, uint64_t address) {
        struct place p = {0, 0};
        size_t low = 0, high = m->leaves.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;
                const struct address_ranges_leaf *leaf = &m->leaves.items[mid];

                if (leaf->items[leaf->n - 1].end <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        p.leaf = low;
        if (low == m->leaves.n)
                return p;
        for (low = 0, high = m->leaves.items[p.leaf].n; low < high;) {
                size_t mid = low + (high - low) / 2;

                if (m->leaves.items[p.leaf].items[mid].end <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        p.idx = low;
        return p;
}

static void insert_leaf(struct address_ranges *m, size_t where, struct address_ranges_leaf leaf) {
        vec_reserve(&m->leaves, 1);
        memmove(&m->leaves.items[where + 1], &m->leaves.items[where],
                (m->leaves.n - where) * sizeof(leaf));
        m->leaves.items[where] = leaf;
        m->leaves.n++;
}

/* Before p, which may be behind the last. */
static void insert(struct address_ranges *m, struct place p, const struct address_range *x) {
        struct address_ranges_leaf *leaf;

        m->n++;
        if (p.leaf == m->leaves.n && p.leaf)
                p = (struct place){p.leaf - 1, m->leaves.items[p.leaf - 1].n};
        if (p.leaf == m->leaves.n) {
                insert_leaf(m, p.leaf, leaf_new(x, 1));
                return;
        }
        if (m->leaves.items[p.leaf].n == ADDRESS_RANGES_LEAF) {
                /* behind the end nothing is split off: what comes in order fills its leaves */
                size_t kept = p.leaf + 1 == m->leaves.n && p.idx == ADDRESS_RANGES_LEAF
                                      ? ADDRESS_RANGES_LEAF
                                      : ADDRESS_RANGES_LEAF / 2;

                leaf = &m->leaves.items[p.leaf];
                leaf->n = kept;
                insert_leaf(m, p.leaf + 1,
                            leaf_new(leaf->items + kept, (size_t)ADDRESS_RANGES_LEAF - kept));
                if (p.idx > kept || kept == ADDRESS_RANGES_LEAF)
                        p = (struct place){p.leaf + 1, p.idx - kept};
        }
        leaf = &m->leaves.items[p.leaf];
        memmove(leaf->items + p.idx + 1, leaf->items + p.idx, (leaf->n - p.idx) * sizeof(*x));
        leaf->items[p.idx] = *x;
        leaf->n++;
}

/* Where the next one then is. */
static struct place remove_at(struct address_ranges *m, struct place p) {
        struct address_ranges_leaf *leaf = &m->leaves.items[p.leaf];

        m->n--;
        leaf->n--;
        memmove(leaf->items + p.idx, leaf->items + p.idx + 1,
                (leaf->n - p.idx) * sizeof(leaf->items[0]));
        if (leaf->n)
                return p.idx < leaf->n ? p : (struct place){p.leaf + 1, 0};
        free(leaf->items);
        m->leaves.n--;
        memmove(leaf, leaf + 1, (m->leaves.n - p.leaf) * sizeof(*leaf));
        return (struct place){p.leaf, 0};
}

void address_ranges_put(struct address_ranges *m, const struct address_range *x) {
        struct place p = first_behind(m, x->begin);
        struct address_range *old = at(m, p);

        if (old && old->begin < x->begin && old->end > x->end) { /* within it */
                struct address_range rest = *old;

                rest.offset += x->end - rest.begin;
                rest.begin = x->end;
                old->end = x->begin;
                insert(m, first_behind(m, x->begin), &rest);
        } else if (old && old->begin < x->begin) {
                old->end = x->begin;
        }
        p = first_behind(m, x->begin);
        while ((old = at(m, p)) && old->end <= x->end)
                p = remove_at(m, p);
        if (old && old->begin < x->end) {
                old->offset += x->end - old->begin;
                old->begin = x->end;
        }
        insert(m, p, x);
}

const struct address_range *address_ranges_at(const struct address_ranges *m, uint64_t address) {
        const struct address_range *x = at(m, first_behind(m, address));

        return x && x->begin <= address ? x : NULL;
}
