/* SPDX-License-Identifier: MIT */
/* Which colour a frame has: by the crate, namespace or module of its code, the same in every picture; of changes, by how much
 * it grew or shrank. */
#include <stdlib.h>
#include <string.h>

#include "flame/graph.h"

struct crate {
        uint32_t text;
        uint8_t hue;
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
        return f->depth > 0 && !f->is_rest && !f->is_helper && !f->is_process && f->crate;
}

/* ---- what a name stands for ---------------------------------------------------------------------- */

/* libc and what comes with compilers: modules up to their version, crates and namespaces as they are. */
static bool is_system(const char *name) {
        static const char *const modules[] = {"libc",     "libc++",     "libc++abi",  "libstdc++",
                                              "libgcc_s", "libm",       "libpthread", "libdl",
                                              "librt",    "libresolv",  "libutil",    "ld-linux",
                                              "ld-musl",  "linux-vdso", "libsupc++",  "libatomic"};
        static const char *const crates[] = {"std",       "core",       "alloc",
                                             "__gnu_cxx", "__cxxabiv1", "[vdso]"};

        for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
                size_t n = strlen(modules[i]);

                if (strncmp(name, modules[i], n) == 0 &&
                    (strncmp(name + n, ".so", 3) == 0 || strncmp(name + n, "-", 1) == 0))
                        return true;
        }
        for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
                if (strcmp(name, crates[i]) == 0)
                        return true;
        return false;
}

/* A program's C functions have no crate but its file, a Rust program's own crate is called like it. */
static bool is_program_crate(const char *crate, const char *place) {
        const char *comma = strrchr(place, ','), *module = comma ? comma + 2 : place;

        for (; *crate && *module; crate++, module++)
                if (*crate != *module && !(*crate == '_' && *module == '-'))
                        return false;
        return !*crate && !*module;
}

/* By the name alone, whatever else is in the picture: the same code looks the same tomorrow, and in another picture. */
static uint8_t hue_of(const struct graph *g, const struct graph_frame *f) {
        const char *crate = g->texts->items.items[f->crate];

        if (f->is_own && is_program_crate(crate, g->texts->items.items[f->place]))
                return HUE_OWN;
        return is_system(crate) ? HUE_SYSTEM : (uint8_t)(hash_of(crate) % HUE_N_NAMES);
}

/* ---- keys ---------------------------------------------------------------------------------------- */

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

/* The keys tell the crates that are seen most. */
static void find_keys(struct graph *g) {
        double visible = 0.01 * g->frames.items[0].width;
        VEC(struct crate) crates = {0};
        bool has_helpers = false;
        struct map idx = {0};

        for (size_t i = 0; i < g->frames.n; i++) {
                const struct graph_frame *f = &g->frames.items[i];
                bool added;
                uint64_t *at;

                has_helpers |= f->is_helper;
                if (!has_crate(f))
                        continue;
                /* a library's code and a program's may have a namespace in common */
                at = map_put(&idx, (uint64_t)f->crate << 8 | f->hue, crates.n, &added);
                if (added)
                        vec_push(&crates, (struct crate){f->crate, f->hue, 0, 0});
                crates.items[*at].own += asked_by(g, f);
                crates.items[*at].seen =
                        MAX(crates.items[*at].seen, MAX(f->width, crates.items[*at].own));
        }
        if (crates.n > 1)
                qsort_r(crates.items, crates.n, sizeof(crates.items[0]), crate_compare, g);
        for (size_t i = 0; i < crates.n; i++) {
                const struct crate *c = &crates.items[i];

                g->has_system |= c->hue == HUE_SYSTEM && c->seen >= visible;
                if (i < GRAPH_MAX_KEYS && c->seen >= visible)
                        add_key(g, c->hue, c->text, c->own);
        }
        if (g->n_keys > 1)
                qsort(g->keys, g->n_keys, sizeof(g->keys[0]), key_compare);
        if (has_helpers)
                add_key(g, HUE_HELPER, text_pool_add(g->texts, "allocators and similar"), 0);
        vec_free(&crates);
        map_done(&idx);
}

/* ---- changes ------------------------------------------------------------------------------------- */

int64_t graph_change(const struct graph *g, const struct graph_frame *f) {
        int64_t change;

        if (!g->has_old)
                return f->is.value;
        if (__builtin_sub_overflow(f->is.value, f->was.value, &change))
                return f->is.value < 0 ? INT64_MIN : INT64_MAX;
        return change;
}

static uint8_t in_steps(double amount, const double *limits, bool is_less) {
        int steps = 0;

        while (steps < HUE_CHANGE_STEPS && amount >= limits[steps])
                steps++;
        return (uint8_t)(HUE_SAME + (is_less ? -steps : steps));
}

/* In steps: under 1 % is no change; then, larger or smaller by a factor of up to 1.1, 1.5, 2.5, 6, and more. What was not there
 * is new, what is not there any more is gone. web/model/flame_colour.ts has the same rule. */
uint8_t graph_change_hue(const struct graph *g, const struct graph_frame *f) {
        static const double factors[] = {1.01, 1.1, 1.5, 2.5, 6},
                            shares[] = {0.01, 0.1, 1 / 3.0, 2 / 3.0, 0.9};
        double is = (double)f->is.value, was = (double)f->was.value;
        double change = (double)graph_change(g, f), base = f->width;

        if (g->has_old && is > 0 && was > 0)
                return in_steps(is > was ? is / was : was / is, factors, is < was);
        if (g->has_old && was == 0 && is > 0)
                return HUE_NEW;
        if (g->has_old && is == 0 && was > 0)
                return HUE_GONE;
        if (g->has_old) /* growth of two windows: something is below 0 */
                base = MAX(is < 0 ? -is : is, was < 0 ? -was : was);
        return in_steps(base > 0 ? (change < 0 ? -change : change) / base : 0, shares, change < 0);
}

/* ---- all of them --------------------------------------------------------------------------------- */

static uint8_t frame_hue(const struct graph *g, const struct graph_frame *f) {
        if (f->depth == 0)
                return HUE_ROOT;
        if (graph_is_change(g))
                return graph_change_hue(g, f);
        if (f->is_rest)
                return HUE_REST;
        if (f->is_process)
                return HUE_PROCESS;
        if (f->is_helper)
                return HUE_HELPER;
        return has_crate(f) ? hue_of(g, f) : HUE_NO_PATH;
}

void graph_colour(struct graph *g) {
        for (size_t i = 0; i < g->frames.n; i++) {
                struct graph_frame *f = &g->frames.items[i];

                f->hue = frame_hue(g, f);
                f->shade =
                        f->is_rest || f->is_process || f->depth == 0
                                ? 0
                                : (uint8_t)(hash_of(g->texts->items.items[f->name]) % HUE_N_SHADES);
        }
        g->n_keys = 0;
        if (!graph_is_change(g))
                find_keys(g);
}
