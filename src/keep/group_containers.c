/* SPDX-License-Identifier: MIT */
#include "keep/group_containers.h"

#include <stdlib.h>

#include "base/units.h"

/* A file may claim anything. */
static void add(uint64_t *to, uint64_t n) {
        if (__builtin_add_overflow(*to, n, to))
                *to = UINT64_MAX;
}

struct container_sum *group_containers_find(const struct heap_graph *h, const struct site_tree *t) {
        struct container_sum *sums = calloc((size_t)t->n * N_CONTAINER_KINDS, sizeof(*sums));

        for (uint32_t i = 0; sums && i < h->n_containers; i++) {
                const struct heap_container *c = &h->containers[i];
                uint32_t group = t->group_of[c->block];
                struct container_sum *s = &sums[(size_t)group * N_CONTAINER_KINDS + c->kind];

                if (group == REACH_NONE)
                        continue;
                s->n++;
                s->n_bytes += h->blocks[c->block].size_bytes;
                add(&s->used, c->used);
                add(&s->room, c->room);
        }
        return sums;
}

const struct container_sum *group_container(const struct container_sum *sums,
                                            const struct site_tree *t, uint32_t group,
                                            enum heap_container_kind *ret_kind) {
        const struct site_group *g = &t->groups[group];
        const struct container_sum *of_group = &sums[(size_t)group * N_CONTAINER_KINDS],
                                   *best = NULL;

        if (g->kind != GROUP_BLOCKS)
                return NULL;
        for (unsigned kind = 0; kind < N_CONTAINER_KINDS; kind++) {
                const struct container_sum *s = &of_group[kind];

                if (s->n == 0 || (s->n < g->n_blocks / 2 && s->n_bytes < g->own_bytes / 2 &&
                                  !(kind == CONTAINER_CHAINED_TABLE && s->used >= g->n_blocks / 2)))
                        continue;
                if (!best || s->n_bytes > best->n_bytes) {
                        best = s;
                        *ret_kind = (enum heap_container_kind)kind;
                }
        }
        return best;
}

const char *container_noun(enum heap_container_kind kind, uint64_t n) {
        switch (kind) {
        case CONTAINER_OPEN_TABLE:
        case CONTAINER_CHAINED_TABLE: return n == 1 ? "hash table" : "hash tables";
        case CONTAINER_VECTOR: return n == 1 ? "vector" : "vectors";
        case CONTAINER_STRING: return n == 1 ? "string" : "strings";
        case N_CONTAINER_KINDS: break;
        }
        return n == 1 ? "block" : "blocks";
}

bool container_is_notable(enum heap_container_kind kind, const struct container_sum *s) {
        return kind == CONTAINER_OPEN_TABLE || kind == CONTAINER_CHAINED_TABLE ||
               s->used / 9 < s->room / 10;
}

/* Never 0 or 100 where there is something, and something is left. */
static void add_percent(struct str *to, uint64_t part, uint64_t all) {
        double pct = 100.0 * (double)part / (double)all;

        if (part && pct < 1)
                str_add(to, "under 1 %");
        else if (part < all && pct > 99)
                str_add(to, "99 %");
        else
                str_addf(to, "%.0f %%", pct);
}

void container_add_text(struct str *to, enum heap_container_kind kind,
                        const struct container_sum *s) {
        const char *whose = s->n == 1 ? "its" : "their";
        struct unit_text a, b;

        if (s->n == 1)
                str_addf(to, "a %s", container_noun(kind, 1));
        else
                str_addf(to, "%s %s", unit_count(&a, s->n), container_noun(kind, s->n));
        switch (kind) {
        case CONTAINER_OPEN_TABLE:
                str_addf(to, " of %s entr%s, ", unit_count(&a, s->used),
                         s->used == 1 ? "y" : "ies");
                add_percent(to, s->used, s->room);
                str_addf(to, " of %s slots used", whose);
                break;
        case CONTAINER_CHAINED_TABLE:
                str_addf(to, " of %s entr%s in %s buckets", unit_count(&a, s->used),
                         s->used == 1 ? "y" : "ies", unit_count(&b, s->room));
                break;
        case CONTAINER_VECTOR:
        case CONTAINER_STRING:
                str_add(to, ", ");
                add_percent(to, s->used, s->room);
                str_addf(to, " of %s capacity used", whose);
                if (s->used < s->room)
                        str_addf(to, ": %s unused", unit_bytes(&a, s->room - s->used));
                break;
        case N_CONTAINER_KINDS: break;
        }
}
