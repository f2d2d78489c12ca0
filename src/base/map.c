/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool map_is_used(const struct map *m, size_t i) {
        return m->used[i / 64] >> (i % 64) & 1;
}

static size_t map_find(const struct map *m, uint64_t key) {
        size_t i = map_hash(key) & (m->cap - 1);

        while (map_is_used(m, i) && m->entries[i].key != key)
                i = (i + 1) & (m->cap - 1);
        return i;
}

static void map_resize(struct map *m, size_t cap) {
        struct map bigger = {.cap = cap};

        bigger.entries = malloc(cap * sizeof(*bigger.entries));
        bigger.used = calloc((cap + 63) / 64, sizeof(*bigger.used));
        if (!bigger.entries || !bigger.used) {
                fputs("silt: out of memory\n", stderr);
                abort();
        }
        for (size_t i = 0; i < m->cap; i++)
                if (map_is_used(m, i)) {
                        size_t j = map_find(&bigger, m->entries[i].key);

                        bigger.entries[j] = m->entries[i];
                        bigger.used[j / 64] |= 1ull << (j % 64);
                        bigger.n++;
                }
        map_done(m);
        *m = bigger;
}

void map_done(struct map *m) {
        free(m->entries);
        free(m->used);
        memset(m, 0, sizeof(*m));
}

void map_clear(struct map *m) {
        if (m->used)
                memset(m->used, 0, (m->cap + 63) / 64 * sizeof(*m->used));
        m->n = 0;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value) {
        size_t i;

        if (!m->cap)
                return false;
        i = map_find(m, key);
        if (!map_is_used(m, i))
                return false;
        if (ret_value)
                *ret_value = m->entries[i].value;
        return true;
}

uint64_t *map_put(struct map *m, uint64_t key, uint64_t fallback, bool *ret_added) {
        bool added;
        size_t i;

        if (m->n * 4 >= m->cap * 3)
                map_resize(m, m->cap ? m->cap * 2 : 16);
        i = map_find(m, key);
        added = !map_is_used(m, i);
        if (added) {
                m->used[i / 64] |= 1ull << (i % 64);
                m->entries[i] = (struct map_entry){key, fallback};
                m->n++;
        }
        if (ret_added)
                *ret_added = added;
        return &m->entries[i].value;
}
