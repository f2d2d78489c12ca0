/* SPDX-License-Identifier: MIT */
#include "query/alive.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { ALIVE_FIRST_CAP = 1024 };

_Static_assert(sizeof(struct alive_block) == 40, "there are many");

static struct alive_block *blocks_new(size_t n) {
        struct alive_block *b = calloc(n, sizeof(*b));

        if (!b)
                abort();
        return b;
}

void alive_done(struct alive *t) {
        free(t->young);
        free(t->old);
        *t = (struct alive){0};
}

/* ---- old ones: linear probing, holes closed at once ------------------------------------------ */

static size_t old_home(const struct alive *t, uint64_t seq) {
        return (size_t)map_hash(seq) & (t->old_cap - 1);
}

/* The place of seq, or the free one where it would go. */
static size_t old_place(const struct alive *t, uint64_t seq) {
        size_t i = old_home(t, seq);

        while (t->old[i].is_used && t->old[i].seq != seq)
                i = (i + 1) & (t->old_cap - 1);
        return i;
}

static void old_grow(struct alive *t) {
        struct alive_block *before = t->old;
        size_t n = t->old_cap;

        t->old_cap = n ? 2 * n : ALIVE_FIRST_CAP;
        t->old = blocks_new(t->old_cap);
        for (size_t i = 0; i < n; i++)
                if (before[i].is_used)
                        t->old[old_place(t, before[i].seq)] = before[i];
        free(before);
}

static void old_put(struct alive *t, const struct alive_block *b) {
        size_t i;

        if ((t->n_old + 1) * 4 > t->old_cap * 3)
                old_grow(t);
        i = old_place(t, b->seq);
        if (t->old[i].is_used)
                t->n--;
        else
                t->n_old++;
        t->old[i] = *b;
}

/* Moves those behind the hole into it that would be searched for through it. */
static void old_remove(struct alive *t, size_t hole) {
        size_t mask = t->old_cap - 1;

        for (size_t i = (hole + 1) & mask; t->old[i].is_used; i = (i + 1) & mask)
                if (((i - old_home(t, t->old[i].seq)) & mask) >= ((i - hole) & mask)) {
                        t->old[hole] = t->old[i];
                        hole = i;
                }
        t->old[hole].is_used = 0;
        t->n_old--;
}

/* ---- all ------------------------------------------------------------------------------------- */

void alive_put(struct alive *t, const struct alive_block *b) {
        struct alive_block *place, block = *b;

        if (!t->young)
                t->young = blocks_new(ALIVE_YOUNG);
        place = &t->young[block.seq % ALIVE_YOUNG];
        block.is_used = 1;
        t->n++;
        if (place->is_used && place->seq > block.seq) { /* not in the order of allocation */
                old_put(t, &block);
                return;
        }
        if (place->is_used && place->seq != block.seq)
                old_put(t, place);
        else if (place->is_used)
                t->n--;
        *place = block;
}

const struct alive_block *alive_find(const struct alive *t, uint64_t seq) {
        const struct alive_block *b;

        if (t->n == 0)
                return NULL;
        b = &t->young[seq % ALIVE_YOUNG];
        if (b->is_used && b->seq == seq)
                return b;
        if (t->n_old == 0)
                return NULL;
        b = &t->old[old_place(t, seq)];
        return b->is_used ? b : NULL;
}

bool alive_take(struct alive *t, uint64_t seq, struct alive_block *ret) {
        const struct alive_block *b = alive_find(t, seq);

        if (!b)
                return false;
        *ret = *b;
        if (b == &t->young[seq % ALIVE_YOUNG])
                t->young[seq % ALIVE_YOUNG].is_used = 0;
        else
                old_remove(t, (size_t)(b - t->old));
        t->n--;
        return true;
}

void alive_each(struct alive *t, alive_fn fn, void *ctx) {
        size_t i = 0;

        for (size_t k = 0; t->young && k < ALIVE_YOUNG; k++)
                if (t->young[k].is_used && !fn(ctx, &t->young[k])) {
                        t->young[k].is_used = 0;
                        t->n--;
                }
        /* Backwards from a free place, so that what closes a hole was looked at before. */
        while (i < t->old_cap && t->old[i].is_used)
                i++;
        for (size_t k = 1; k <= t->old_cap; k++) {
                size_t at = (i - k) & (t->old_cap - 1);

                if (t->old[at].is_used && !fn(ctx, &t->old[at])) {
                        old_remove(t, at);
                        t->n--;
                }
        }
}

const struct alive_block *alive_next(const struct alive *t, size_t *i) {
        size_t n_young = t->young ? ALIVE_YOUNG : 0;

        while (*i < n_young + t->old_cap) {
                const struct alive_block *b = *i < n_young ? &t->young[*i] : &t->old[*i - n_young];

                ++*i;
                if (b->is_used)
                        return b;
        }
        return NULL;
}
