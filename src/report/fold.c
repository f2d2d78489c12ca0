/* SPDX-License-Identifier: MIT */
/* Sites as people tell them apart: call paths that differ only inside allocators, containers and
 * the like are one, and begin at the code that asked. */
#include "base/map.h"
#include "report/gather.h"
#include "report/name.h"

enum { FOLD_MAX_INLINED = 32 };

static uint64_t hash_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
        return map_hash(hash);
}

/* A hash of the program's own functions and lines at the location, library code inlined into
 * them left out; 0 when there is nothing but library. */
static uint64_t hash_location(const struct report *r, uint32_t location) {
        struct query_frame frames[FOLD_MAX_INLINED];
        size_t n = MIN(query_location_frames(r->q, location, frames, FOLD_MAX_INLINED),
                       (size_t)FOLD_MAX_INLINED);
        uint64_t hash = 0;

        for (size_t i = 0; i < n; i++) {
                if (hash == 0 && name_is_library(frames[i].function))
                        continue;
                if (!frames[i].function[0] || !frames[i].line)
                        hash ^= location + 1; /* without a line, places are told apart by address */
                hash = hash_text(hash_text(hash + frames[i].line + 1, frames[i].function),
                                 frames[i].file);
        }
        return hash;
}

/* What sites have in common that are one: the same line of the program, called the same way. */
static uint64_t fold_key(const struct report *r, uint32_t stack) {
        uint32_t whole = stack;

        for (; stack && stack < r->v->n_stacks; stack = r->v->stacks[stack].parent) {
                uint64_t hash = hash_location(r, r->v->stacks[stack].location);

                if (hash)
                        return map_hash(hash ^ r->v->stacks[stack].parent);
        }
        return whole;
}

void report_fold(struct report *r) {
        struct map by_key = {0};

        for (size_t i = 0; i < r->answer->n_sites; i++) {
                const struct query_site *site = &r->answer->sites[i];
                uint64_t key = r->options->full ? site->stack : fold_key(r, site->stack);
                bool added;
                uint64_t *idx = map_put(&by_key, key, r->folded.n, &added);

                /* The first one's stack stands for all. */
                if (added)
                        vec_push(&r->folded, (struct query_site){.stack = site->stack});
                query_figures_add(&r->folded.items[*idx].f, &site->f);
        }
        map_done(&by_key);
}
