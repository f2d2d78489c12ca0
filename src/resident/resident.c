/* SPDX-License-Identifier: MIT */
#include "resident/resident.h"

#include <stdlib.h>
#include <string.h>

void resident_done(struct resident *r) {
        vec_free(&r->areas);
        vec_free(&r->arenas);
        vec_free(&r->pins);
        vec_free(&r->allocators);
        vec_free(&r->frees);
        vec_free(&r->cells);
        vec_free(&r->names);
        vec_free(&r->name_bytes);
        *r = (struct resident){0};
}

/* ---- names ------------------------------------------------------------------------------------- */

/* The bytes may move: names are pointers into them. */
static char *name_room(struct resident *r, size_t n_bytes) {
        uintptr_t before = (uintptr_t)r->name_bytes.items, now;

        vec_reserve(&r->name_bytes, n_bytes);
        now = (uintptr_t)r->name_bytes.items;
        for (size_t i = 0; before != now && i < r->names.n; i++)
                r->names.items[i] = r->name_bytes.items + ((uintptr_t)r->names.items[i] - before);
        r->name_bytes.n += n_bytes;
        return r->name_bytes.items + r->name_bytes.n - n_bytes;
}

uint32_t resident_push_name(struct resident *r, const char *text, size_t n) {
        char *at = name_room(r, n + 1);

        memcpy(at, text, n);
        at[n] = '\0';
        vec_push(&r->names, at);
        return (uint32_t)r->names.n - 1;
}

/* Names come in runs: the newest first. */
uint32_t resident_add_name(struct resident *r, const char *text) {
        size_t n = strnlen(text, RESIDENT_MAX_NAME_BYTES);

        if (!r->names.n)
                resident_push_name(r, "", 0);
        for (size_t i = r->names.n; i-- > 0;)
                if (strncmp(r->names.items[i], text, n) == 0 && !r->names.items[i][n])
                        return (uint32_t)i;
        return r->names.n < RESIDENT_MAX_NAMES ? resident_push_name(r, text, n) : 0;
}

const char *resident_name(const struct resident *r, uint32_t name) {
        return name < r->names.n ? r->names.items[name] : "";
}

/* ---- too many areas ---------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? 1 : x > y ? -1 : 0;
}

static uint64_t area_weight(const struct resident_area *a) {
        return a->rss_bytes + a->swap_bytes + a->huge_bytes;
}

static void area_add(struct resident_area *to, const struct resident_area *a) {
        to->size_bytes += a->size_bytes;
        to->rss_bytes += a->rss_bytes;
        to->pss_bytes += a->pss_bytes;
        to->private_dirty_bytes += a->private_dirty_bytes;
        to->anon_bytes += a->anon_bytes;
        to->swap_bytes += a->swap_bytes;
        to->huge_bytes += a->huge_bytes;
        to->heap_rss_bytes += a->heap_rss_bytes;
        to->n_blocks += a->n_blocks;
        to->asked_bytes += a->asked_bytes;
        to->resident_asked_bytes += a->resident_asked_bytes;
}

/* As heavy as this and more stay, but no more of them than there is room for. */
static uint64_t weight_that_stays(const struct resident *r, size_t n_room) {
        VEC(uint64_t) weights = {0};
        uint64_t least;

        for (size_t i = 0; i < r->areas.n; i++)
                vec_push(&weights, area_weight(&r->areas.items[i]));
        qsort(weights.items, weights.n, sizeof(weights.items[0]), by_weight);
        least = weights.items[n_room] + 1;
        vec_free(&weights);
        return least;
}

void resident_cap_areas(struct resident *r) {
        struct resident_area sums[RESIDENT_N_KINDS] = {0};
        size_t n = 0;
        uint64_t least;

        if (r->areas.n <= RESIDENT_MAX_AREAS)
                return;
        least = weight_that_stays(r, RESIDENT_MAX_AREAS - RESIDENT_N_KINDS);
        for (size_t i = 0; i < r->areas.n; i++)
                if (area_weight(&r->areas.items[i]) < least)
                        area_add(&sums[r->areas.items[i].kind], &r->areas.items[i]);
        /* in place: those that stay, then the sums before them */
        n = 0;
        for (size_t i = 0; i < r->areas.n; i++)
                if (area_weight(&r->areas.items[i]) >= least)
                        r->areas.items[n++] = r->areas.items[i];
        r->areas.n = n;
        for (uint32_t k = 0; k < RESIDENT_N_KINDS; k++) {
                if (!sums[k].size_bytes)
                        continue;
                sums[k].kind = k;
                vec_add(&r->areas);
                memmove(&r->areas.items[1], &r->areas.items[0],
                        (r->areas.n - 1) * sizeof(r->areas.items[0]));
                r->areas.items[0] = sums[k];
        }
}
