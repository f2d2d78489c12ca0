/* SPDX-License-Identifier: MIT */
#include "finding/kept_sizes.h"

#include <stdlib.h>

#include "finding/rules.h"

enum {
        SIZES_MAX = 4096, /* different ones */
        SIZES_TOLD = 3,   /* groups */
        SIZES_ALIKE = 2,  /* times the next smaller one: they are one group */
};
#define SIZES_MIN_PART 0.05 /* of the blocks, or of the bytes: a smaller group is not told */

struct size_group {
        uint64_t low, high; /* bytes */
        double n_blocks, bytes;
};

struct gathering {
        struct facts *f;
        const bool *is_of;
        uint64_t from_ns, end_ns;
        struct map by_size; /* size → group */
        VEC(struct size_group) groups;
        bool is_too_many;
};

static bool take(void *ctx, const struct query_block *b) {
        struct gathering *g = ctx;
        uint32_t row = facts_row_of_stack(g->f, b->stack);
        struct size_group *x;
        bool added;
        size_t i;

        if (b->time_ns > g->end_ns)
                return false;
        if (row == FACTS_NO_ROW || !g->is_of[row] || b->time_ns < g->from_ns ||
            (!b->is_live && b->time_ns + b->age_ns <= g->end_ns))
                return true;
        i = *map_put(&g->by_size, b->size_bytes, g->groups.n, &added);
        x = added ? vec_add(&g->groups) : &g->groups.items[i];
        x->low = x->high = b->size_bytes;
        x->n_blocks += b->n_blocks;
        x->bytes += (double)b->n_blocks * (double)b->size_bytes;
        g->is_too_many |= g->groups.n > SIZES_MAX;
        return !g->is_too_many;
}

static int by_low(const void *a, const void *b) {
        const struct size_group *x = a, *y = b;

        return (x->low > y->low) - (x->low < y->low);
}

static int by_bytes(const void *a, const void *b) {
        const struct size_group *x = a, *y = b;

        return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : by_low(a, b);
}

/* Of one group a size: neighbours become one; how many are left. */
static size_t join(struct size_group *g, size_t n) {
        size_t n_groups = 0;

        if (n)
                qsort(g, n, sizeof(g[0]), by_low);
        for (size_t i = 0; i < n; i++) {
                struct size_group *last = n_groups ? &g[n_groups - 1] : NULL;

                if (!last || g[i].low > SIZES_ALIKE * last->high) {
                        g[n_groups++] = g[i];
                        continue;
                }
                last->high = g[i].high;
                last->n_blocks += g[i].n_blocks;
                last->bytes += g[i].bytes;
        }
        return n_groups;
}

/* Those with a part of the blocks or of the bytes; what the others are is not told. */
static size_t drop_small(struct size_group *g, size_t n) {
        double n_blocks = 0, bytes = 0;
        size_t n_kept = 0;

        for (size_t i = 0; i < n; i++) {
                n_blocks += g[i].n_blocks;
                bytes += g[i].bytes;
        }
        for (size_t i = 0; i < n; i++)
                if (g[i].n_blocks >= SIZES_MIN_PART * n_blocks ||
                    g[i].bytes >= SIZES_MIN_PART * bytes)
                        g[n_kept++] = g[i];
        return n_kept;
}

static const char *say_groups(struct facts *f, const struct size_group *g, size_t n) {
        struct str s = {0};
        const char *text;

        for (size_t i = 0; i < n; i++) {
                struct unit_text count, low, high;

                str_addf(&s, "%s%s%s of %s",
                         i == 0       ? ""
                         : i + 1 == n ? " and "
                                      : ", ",
                         unit_count(&count, unit_nearest(g[i].n_blocks)),
                         i                    ? ""
                         : g[i].n_blocks == 1 ? " block"
                                              : " blocks",
                         unit_bytes(&low, g[i].low));
                unit_bytes(&high, g[i].high);
                if (g[i].high > g[i].low)
                        str_addf(&s, " to %s", high.s);
        }
        text = arena_strdup(f->arena, str_text(&s));
        str_done(&s);
        return text;
}

void kept_sizes_find(struct facts *f, const bool *is_of, uint64_t from_ns, uint64_t end_ns,
                     struct kept_sizes *ret) {
        struct gathering k = {.f = f, .is_of = is_of, .from_ns = from_ns, .end_ns = end_ns};
        struct size_group *g;
        struct err err = {0};
        size_t n;

        *ret = (struct kept_sizes){0};
        if (query_blocks(f->q, &f->h->groups->answer->scope, take, &k, &err) >= 0 && k.groups.n) {
                g = k.groups.items;
                n = k.is_too_many ? 0 : drop_small(g, join(g, k.groups.n));
                if (n)
                        qsort(g, n, sizeof(g[0]), by_bytes);
                if (n > 1 && n <= SIZES_TOLD && !query_sample_bytes(f->q))
                        ret->text = say_groups(f, g, n);
                else
                        ret->is_wide = n != 1 || g[0].high > SIZES_ALIKE * g[0].low;
        }
        map_done(&k.by_size);
        vec_free(&k.groups);
}
