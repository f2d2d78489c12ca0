/* SPDX-License-Identifier: MIT */
/* Which colour a frame has: by the crate, namespace or module of its code; of changes, by how much it grew or shrank. */
#include <stdlib.h>
#include <string.h>

#include "flame/graph.h"

struct crate {
        uint32_t text;
        double own;  /* what its code asked for itself */
        double seen; /* the widest of its frames, or own if that is more */
};

static uint32_t hash_of(const char *text) {
        uint32_t h = 2166136261u;

        for (; *text; text++)
                h = (h ^ (unsigned char)*text) * 16777619u;
        return h ^ h >> 15;
}

static int crate_compare(const void *a, const void *b, void *graph) {
        const struct crate *x = a, *y = b;
        const struct graph *g = graph;

        if (x->seen != y->seen)
                return x->seen > y->seen ? -1 : 1;
        if (x->own != y->own)
                return x->own > y->own ? -1 : 1;
        return strcmp(g->texts->items.items[x->text], g->texts->items.items[y->text]);
}

static bool has_crate(const struct graph_frame *f) {
        return f->depth > 0 && !f->is_rest && !f->is_unnamed && !f->is_helper;
}

/* The hue a crate would like by its name, or the next free one: the same program looks the same tomorrow. */
static uint8_t take_hue(bool *is_taken, const char *name) {
        uint32_t hue = hash_of(name) % HUE_N_CRATES;

        while (is_taken[hue])
                hue = (hue + 1) % HUE_N_CRATES;
        is_taken[hue] = true;
        return (uint8_t)hue;
}

/* What a frame's own code asked for: the outermost end of a reversed picture did not. */
static double asked_by(const struct graph *g, const struct graph_frame *f) {
        return !g->is_reversed ? f->own : f->depth == 1 ? f->width : 0;
}

static int key_compare(const void *a, const void *b) {
        const struct graph_key *x = a, *y = b;

        return x->share > y->share ? -1 : x->share < y->share;
}

static void add_key(struct graph *g, uint8_t hue, uint32_t text, double own) {
        double whole = g->frames.items[0].width;

        g->keys[g->n_keys++] = (struct graph_key){hue, text, whole > 0 ? own / whole : 0};
}

/* text → hue of the crates that are seen most; the keys tell them. */
static void share_out_hues(struct graph *g, struct map *hues) {
        double visible = 0.01 * g->frames.items[0].width, other = 0, unnamed = 0;
        bool is_taken[HUE_N_CRATES] = {0}, has_other = false, has_helpers = false;
        VEC(struct crate) crates = {0};
        struct map idx = {0};

        for (size_t i = 0; i < g->frames.n; i++) {
                const struct graph_frame *f = &g->frames.items[i];
                bool added;
                uint64_t *at;

                unnamed += f->is_unnamed && !f->is_helper ? asked_by(g, f) : 0;
                has_helpers |= f->is_helper;
                if (!has_crate(f))
                        continue;
                at = map_put(&idx, f->crate, crates.n, &added);
                if (added)
                        vec_push(&crates, (struct crate){f->crate, 0, 0});
                crates.items[*at].own += asked_by(g, f);
                crates.items[*at].seen =
                        MAX(crates.items[*at].seen, MAX(f->width, crates.items[*at].own));
        }
        if (crates.n > 1)
                qsort_r(crates.items, crates.n, sizeof(crates.items[0]), crate_compare, g);
        for (size_t i = 0; i < crates.n; i++) {
                const struct crate *c = &crates.items[i];
                bool has_hue = i < HUE_N_CRATES;
                uint8_t hue =
                        has_hue ? take_hue(is_taken, g->texts->items.items[c->text]) : HUE_OTHER;

                if (has_hue && c->seen >= visible)
                        add_key(g, hue, c->text, c->own);
                has_other |= !has_hue;
                other += has_hue ? 0 : c->own;
                *map_put(hues, c->text, 0, NULL) = hue;
        }
        qsort(g->keys, g->n_keys, sizeof(g->keys[0]), key_compare);
        if (has_other)
                add_key(g, HUE_OTHER, texts_add(g->texts, "other"), other);
        if (unnamed >= 0.5 * visible)
                add_key(g, HUE_UNNAMED, texts_add(g->texts, "without a name"), unnamed);
        if (has_helpers)
                add_key(g, HUE_HELPER, texts_add(g->texts, "allocators and the like"), 0);
        vec_free(&crates);
        map_done(&idx);
}

int64_t graph_change(const struct graph *g, const struct graph_frame *f) {
        int64_t change;

        if (!g->has_old)
                return f->is.value;
        if (__builtin_sub_overflow(f->is.value, f->was.value, &change))
                return f->is.value < 0 ? INT64_MIN : INT64_MAX;
        return change;
}

/* In steps: under 1 % is no change; up to 10 %, 33 %, 67 %, more. */
uint8_t graph_change_hue(const struct graph *g, const struct graph_frame *f) {
        double change = (double)graph_change(g, f), base = f->width, share;
        int steps;

        if (g->has_old) {
                double is = (double)f->is.value, was = (double)f->was.value;

                is = is < 0 ? -is : is;
                was = was < 0 ? -was : was;
                base = is > was ? is : was;
        }
        share = base > 0 ? (change < 0 ? -change : change) / base : 0;
        steps = share < 0.01      ? 0
                : share < 0.1     ? 1
                : share < 1 / 3.0 ? 2
                : share < 2 / 3.0 ? 3
                                  : HUE_CHANGE_STEPS;
        return (uint8_t)(HUE_SAME + (change < 0 ? -steps : steps));
}

void graph_colour(struct graph *g) {
        struct map hues = {0};

        g->n_keys = 0;
        if (!graph_is_change(g))
                share_out_hues(g, &hues);
        for (size_t i = 0; i < g->frames.n; i++) {
                struct graph_frame *f = &g->frames.items[i];
                uint64_t hue = HUE_UNNAMED;

                if (f->depth == 0)
                        hue = HUE_ROOT;
                else if (graph_is_change(g))
                        hue = graph_change_hue(g, f);
                else if (f->is_rest)
                        hue = HUE_REST;
                else if (f->is_helper)
                        hue = HUE_HELPER;
                else if (has_crate(f))
                        map_get(&hues, f->crate, &hue);
                f->hue = (uint8_t)hue;
                f->shade =
                        f->is_rest
                                ? 0
                                : (uint8_t)(hash_of(g->texts->items.items[f->name]) % HUE_N_SHADES);
        }
        map_done(&hues);
}
