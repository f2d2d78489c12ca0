/* SPDX-License-Identifier: MIT */
#include "keep/group_containers.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* A file may claim anything. */
static void add(uint64_t *to, uint64_t n) {
        if (__builtin_add_overflow(*to, n, to))
                *to = UINT64_MAX;
}

static void sum_up(const struct heap_graph *h, const struct site_tree *t,
                   struct container_sum *sums) {
        for (uint32_t i = 0; i < h->n_containers; i++) {
                const struct heap_container *c = &h->containers[i];
                uint32_t group = t->group_of[c->block];
                struct container_sum *s;

                if (group == REACH_NONE)
                        continue;
                s = &sums[(size_t)group * N_CONTAINER_KINDS + c->kind];
                s->n++;
                s->n_bytes += h->blocks[c->block].size_bytes;
                add(&s->used, c->used);
                add(&s->room, c->room);
        }
}

static bool begins_with(const char *text, const char *words) {
        return strncmp(text, words, strlen(words)) == 0;
}

/* What Rust's library was asked for: CONTAINER_VECTOR, CONTAINER_STRING; N_CONTAINER_KINDS: something else. Deques have the same words
 * in another order; their own functions are never inlined where these grow, so that a path without one is not theirs. */
static enum heap_container_kind rust_kind(const struct frame_names *names, uint32_t stack) {
        enum heap_container_kind kind = N_CONTAINER_KINDS;
        struct frame_stack x = {0};
        size_t n;

        frame_stack_fill(&x, names, stack, false);
        n = x.shown.n ? x.shown.items[0].frame_idx : 0;
        for (size_t i = 0; i < n; i++) {
                const char *f = x.frames.items[i].function;

                if (x.frames.items[i].guess)
                        continue;
                f += *f == '<';
                if (strstr(f, "VecDeque") || strstr(f, "vec_deque")) {
                        kind = N_CONTAINER_KINDS;
                        break;
                }
                if (begins_with(f, "alloc::string::String"))
                        kind = CONTAINER_STRING;
                else if (kind != CONTAINER_STRING &&
                         (begins_with(f, "alloc::vec::Vec<") ||
                          (begins_with(f, "alloc::raw_vec::RawVec<") &&
                           (strstr(f, "::grow_one") || strstr(f, "::reserve_for_push")))))
                        kind = CONTAINER_VECTOR;
        }
        frame_stack_done(&x);
        return kind;
}

/* What may be Rust's becomes so, or nothing. */
static void judge_rust(const struct site_group *g, const struct site_texts *texts,
                       const struct frame_names *names, struct container_sum *sums) {
        const struct container_sum *maybe = &sums[CONTAINER_RUST];
        uint32_t stack = g->kind == GROUP_BLOCKS && g->site != REACH_NO_SITE
                                 ? site_texts_stack(texts, g->site)
                                 : REACH_NO_SITE;
        enum heap_container_kind kind;

        /* by chance, few would have words that fit */
        if (maybe->n >= g->n_blocks - g->n_blocks / 10 && maybe->n && stack != REACH_NO_SITE) {
                kind = rust_kind(names, stack);
                if (kind != N_CONTAINER_KINDS && !sums[kind].n)
                        sums[kind] = *maybe;
        }
        sums[CONTAINER_RUST] = (struct container_sum){0};
}

struct container_sum *group_containers_find(const struct heap_graph *h, const struct site_tree *t,
                                            const struct site_texts *texts,
                                            const struct frame_names *names) {
        struct container_sum *sums = calloc((size_t)t->n * N_CONTAINER_KINDS, sizeof(*sums));

        if (!sums)
                return NULL;
        sum_up(h, t, sums);
        for (uint32_t i = 0; i < t->n; i++)
                judge_rust(&t->groups[i], texts, names, &sums[(size_t)i * N_CONTAINER_KINDS]);
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
        case CONTAINER_RUST:
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
        case CONTAINER_RUST:
        case N_CONTAINER_KINDS: break;
        }
}
