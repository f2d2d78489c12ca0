/* SPDX-License-Identifier: MIT */
#include "keep/site_texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

void site_texts_init(struct site_texts *t) {
        text_pool_init(&t->pool);
        t->stacks = (struct map){0};
        t->apart = (struct map){0};
}

void site_texts_done(struct site_texts *t) {
        text_pool_done(&t->pool);
        map_done(&t->stacks);
        map_done(&t->apart);
}

struct nth_frame {
        size_t n_before;
        uint32_t location;
};

static bool seek_frame(void *ctx, const struct query_frame *f) {
        struct nth_frame *nth = ctx;

        nth->location = f->location;
        return nth->n_before-- > 0;
}

/* Frames of code without a name have the offset of its begin: the call is where its location is. */
static uint64_t call_of(const struct query *q, uint32_t stack, size_t frame_idx) {
        struct nth_frame nth = {.n_before = frame_idx};

        query_each_frame(q, stack, seek_frame, &nth);
        return query_view(q)->locations[nth.location].offset;
}

/* ret_call: where the request is made; 0: unknown, or a part of its callers. */
static uint32_t find_site(struct site_texts *t, const struct frame_names *names, uint32_t stack,
                          uint64_t *ret_call) {
        struct frame_stack frames = {0};
        struct str text = {0};
        uint32_t site = REACH_NO_SITE;

        *ret_call = 0;
        frame_stack_fill(&frames, names, stack, false);
        if (frames.shown.n) {
                const struct name_frame *f = &frames.frames.items[frames.shown.items[0].frame_idx];

                if (!f->inlined && !f->guess)
                        *ret_call = call_of(names->q, stack, frames.shown.items[0].frame_idx);
                frame_add_function(&text, names, f, frames.shown.items[0].is_task, true, true);
                if (t->has_lines && f->line)
                        str_addf(&text, ":%u", f->line);
                str_addf(&text, " %s", frame_base(f->module));
                if (frames.shown.via_idx != NAME_NO_FRAME) {
                        str_add(&text, " ");
                        frame_add_function(&text, names, &frames.frames.items[frames.shown.via_idx],
                                           false, true, true);
                }
                site = text_pool_add(&t->pool, str_text(&text));
        }
        str_done(&text);
        frame_stack_done(&frames);
        return site;
}

uint32_t site_texts_of(struct site_texts *t, const struct frame_names *names, uint32_t stack) {
        uint64_t unused, apart;

        return map_get(&t->apart, stack, &apart) ? (uint32_t)apart
                                                 : find_site(t, names, stack, &unused);
}

/* ---- several requests on one line ---------------------------------------------------------------------------- */

/* A call of a site, and the size of its blocks. */
struct call {
        uint32_t site;
        uint64_t at, size_bytes;
        bool is_mixed;
};

struct calls {
        VEC(struct call) list;
        struct map of_stack; /* → its number */
};

static int by_site_and_call(const void *a, const void *b) {
        const struct call *x = a, *y = b;

        if (x->site != y->site)
                return x->site < y->site ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

/* In the order of sites, those of one site: whether they are to be told apart. */
static bool are_apart(const struct call *calls, size_t n) {
        bool differ = false;

        for (size_t i = 0; i < n; i++) {
                if (calls[i].is_mixed || !calls[i].at)
                        return false;
                differ |= calls[i].size_bytes != calls[0].size_bytes;
        }
        return differ;
}

/* Stacks by their calls; several stacks may lead to one call. */
static void merge_calls(struct call *calls, size_t *n) {
        size_t kept = 0;

        for (size_t i = 1; i < *n; i++)
                if (by_site_and_call(&calls[kept], &calls[i]) == 0)
                        calls[kept].is_mixed |=
                                calls[i].is_mixed || calls[kept].size_bytes != calls[i].size_bytes;
                else
                        calls[++kept] = calls[i];
        *n = *n ? kept + 1 : 0;
}

/* Which sites have calls that are to be told apart: as keys. */
static void find_apart(const struct calls *c, struct map *ret) {
        struct call *sorted = malloc(MAX(c->list.n, (size_t)1) * sizeof(sorted[0]));
        size_t n = c->list.n;

        if (!sorted)
                return;
        if (n) {
                memcpy(sorted, c->list.items, n * sizeof(sorted[0]));
                qsort(sorted, n, sizeof(sorted[0]), by_site_and_call);
        }
        merge_calls(sorted, &n);
        for (size_t i = 0, end; i < n; i = end) {
                for (end = i; end < n && sorted[end].site == sorted[i].site;)
                        end++;
                if (end - i > 1 && are_apart(&sorted[i], end - i))
                        map_put(ret, sorted[i].site, 1, NULL);
        }
        free(sorted);
}

static void find_calls(struct site_texts *t, const struct frame_names *names,
                       const struct heap_graph *h, struct calls *ret) {
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                const struct reach_block *b = &h->blocks[i];
                struct call *call;
                uint64_t *at;

                if (b->site == REACH_NO_SITE)
                        continue;
                at = map_put(&ret->of_stack, b->site, ret->list.n, NULL);
                if (*at == ret->list.n) {
                        struct call made = {.size_bytes = b->size_bytes};

                        made.site = find_site(t, names, b->site, &made.at);
                        vec_push(&ret->list, made);
                }
                call = &ret->list.items[*at];
                call->is_mixed |= call->size_bytes != b->size_bytes;
        }
}

static uint32_t site_apart(struct site_texts *t, const struct call *c) {
        struct str text = {0};
        struct unit_text n;
        uint32_t site;

        str_addf(&text, "%s of %s", (const char *)t->pool.items.items[c->site],
                 unit_count(&n, c->size_bytes));
        site = text_pool_add(&t->pool, str_text(&text));
        str_done(&text);
        return site;
}

void site_texts_replace(struct site_texts *t, const struct frame_names *names,
                        struct heap_graph *h) {
        struct map counts = {0}, most = {0}, apart = {0};
        struct calls calls = {0};

        find_calls(t, names, h, &calls);
        if (t->has_lines && !t->is_decided)
                find_apart(&calls, &apart);
        t->is_decided = true;
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                uint32_t *site = &h->blocks[i].site, stack = *site;
                uint64_t at, n, found, *best;
                struct call *call;

                if (stack == REACH_NO_SITE)
                        continue;
                n = ++*map_put(&counts, stack, 0, NULL);
                map_get(&calls.of_stack, stack, &at);
                call = &calls.list.items[at];
                if (call->site != REACH_NO_SITE && map_get(&apart, call->site, &found))
                        found = *map_put(&t->apart, stack, site_apart(t, call), NULL);
                if (map_get(&t->apart, stack, &found))
                        *site = (uint32_t)found;
                else
                        *site = call->site;
                best = map_put(&most, *site, 0, NULL);
                if (n > *best) {
                        *best = n;
                        *map_put(&t->stacks, *site, stack, NULL) = stack;
                }
        }
        vec_free(&calls.list);
        map_done(&calls.of_stack);
        map_done(&counts);
        map_done(&most);
        map_done(&apart);
}

/* ---- without call paths ---------------------------------------------------------------------------------- */

/* Where a block is in the graph: what blocks point to it, and it to what. */
#define FROM_NONE UINT64_MAX
#define FROM_SEVERAL (UINT64_MAX - 1)
#define FROM_MANY (UINT64_MAX - 2)

enum { MANY_FROM = 64 }; /* what so many blocks point to is above them all */

enum to { TO_NONE, TO_OWN_SIZE, TO_OTHERS };

struct position {
        uint64_t from_bytes; /* the size of all that point to it */
        uint32_t n_from;
        enum to to;
        bool has_such; /* it points to one of its own size */
};

static struct position *positions_find(const struct reach_graph *g) {
        struct position *ret = malloc(MAX(g->n_blocks, 1u) * sizeof(ret[0]));

        for (uint32_t i = 0; ret && i < g->n_blocks; i++)
                ret[i] = (struct position){.from_bytes = FROM_NONE};
        for (uint32_t i = 0; ret && i < g->n_blocks; i++)
                for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++) {
                        uint32_t to = reach_edge_block(g->edges[e]);
                        uint64_t from_bytes = g->blocks[i].size_bytes, *known = &ret[to].from_bytes;

                        if (to == i)
                                continue;
                        if (++ret[to].n_from >= MANY_FROM)
                                *known = FROM_MANY;
                        else if (*known != from_bytes)
                                *known = *known == FROM_NONE ? from_bytes : FROM_SEVERAL;
                        ret[i].has_such |= g->blocks[to].size_bytes == from_bytes;
                        if (ret[i].to != TO_OTHERS)
                                ret[i].to = g->blocks[to].size_bytes == from_bytes ? TO_OWN_SIZE
                                                                                   : TO_OTHERS;
                }
        /* the first of a list is one of it */
        for (uint32_t i = 0; ret && i < g->n_blocks; i++)
                if (ret[i].from_bytes == FROM_NONE && ret[i].has_such)
                        ret[i].from_bytes = g->blocks[i].size_bytes;
        return ret;
}

static void add_position(const struct position *p, struct str *to) {
        static const char *const pointers[] = {[TO_NONE] = "without pointers",
                                               [TO_OWN_SIZE] = "with pointers to such",
                                               [TO_OTHERS] = "with pointers"};
        struct unit_text n;

        str_addf(to, " %s (", pointers[p->to]);
        if (p->from_bytes == FROM_NONE)
                str_add(to, "no block points");
        else if (p->from_bytes == FROM_MANY)
                str_add(to, "very many blocks point");
        else if (p->from_bytes == FROM_SEVERAL)
                str_add(to, "blocks of several sizes point");
        else
                str_addf(to, "blocks of %s bytes point", unit_count(&n, p->from_bytes));
        str_add(to, " there)");
}

int site_texts_by_size(struct site_texts *t, struct heap_graph *h) {
        struct position *positions = positions_find(&h->graph);
        struct map sites = {0}, sizes = {0}, of_size = {0}, froms = {0};
        struct str text = {0};
        struct unit_text n;

        if (!positions)
                return -ENOMEM;
        /* a size has more than one line only where its blocks are in more than one position */
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                uint64_t from = *map_put(&froms, positions[i].from_bytes, froms.n, NULL) * 3 +
                                positions[i].to + 1;
                uint64_t *one = map_put(&of_size, h->blocks[i].size_bytes, from, NULL);

                if (*one != from)
                        *one = 0;
        }
        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                uint64_t size_bytes = h->blocks[i].size_bytes, from = 0, size_idx, *site;
                bool is_one = *map_put(&of_size, size_bytes, 0, NULL), is_new;

                if (!is_one)
                        from = *map_put(&froms, positions[i].from_bytes, 0, NULL) * 3 +
                               positions[i].to + 1;
                size_idx = *map_put(&sizes, size_bytes, sizes.n, NULL);
                site = map_put(&sites, size_idx << 32 | from, 0, &is_new);
                if (is_new) {
                        str_clear(&text);
                        str_addf(&text, "%s bytes", unit_count(&n, size_bytes));
                        if (!is_one)
                                add_position(&positions[i], &text);
                        *site = text_pool_add(&t->pool, str_text(&text));
                }
                h->blocks[i].site = (uint32_t)*site;
        }
        map_done(&sizes);
        str_done(&text);
        map_done(&sites);
        map_done(&of_size);
        map_done(&froms);
        free(positions);
        return 0;
}

uint32_t site_texts_stack(const struct site_texts *t, uint32_t site) {
        uint64_t stack;

        return map_get(&t->stacks, site, &stack) ? (uint32_t)stack : REACH_NO_SITE;
}
