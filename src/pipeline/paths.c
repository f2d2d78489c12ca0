/* SPDX-License-Identifier: MIT */
#include "pipeline/paths.h"

#include <sys/random.h>
#include <time.h>

#include "base/large_pages.h"

enum {
        LOG2_ROWS_MIN = 6,
        LOG2_ROWS_MAX = 18, /* a million stacks, 16 MiB */
};

void path_key_init(struct path_key *key) {
        struct timespec t;

        if (getrandom(key, sizeof(*key), GRND_NONBLOCK) != sizeof(*key)) {
                clock_gettime(CLOCK_MONOTONIC, &t);
                key->seed = (uint64_t)t.tv_nsec * 0x9e3779b97f4a7c15ull ^ (uintptr_t)key;
                key->mask = key->seed * 0xbf58476d1ce4e5b9ull;
                key->factor = key->mask * 0x94d049bb133111ebull;
        }
        key->factor |= 1ull << 63 | 1;
}

static size_t paths_n(const struct paths *p) {
        return ((size_t)1 << (64 - p->shift)) * PATHS_PER_ROW;
}

size_t paths_size_bytes(const struct paths *p) {
        return paths_n(p) * sizeof(p->rows[0]);
}

static void paths_set_rows(struct paths *p, unsigned log2_rows) {
        p->shift = 64 - log2_rows;
        p->n_added = 0;
        p->rows = large_calloc(paths_size_bytes(p));
}

void paths_init(struct paths *p) {
        paths_set_rows(p, LOG2_ROWS_MIN);
}

void paths_done(struct paths *p) {
        large_free(p->rows, paths_size_bytes(p));
        p->rows = NULL;
}

void paths_clear(struct paths *p) {
        paths_done(p);
        paths_init(p);
}

static void paths_place(struct paths *p, const struct path *path) {
        struct path *row = paths_row(p, path->hash);
        unsigned i = 0;

        while (i < PATHS_PER_ROW && row[i].hash != 0)
                i++;
        if (i == PATHS_PER_ROW)
                i = p->n_added % PATHS_PER_ROW;
        row[i] = *path;
        p->n_added++;
}

static void paths_grow(struct paths *p) {
        struct paths old = *p;

        paths_set_rows(p, 64 - old.shift + 1);
        for (size_t i = 0; i < paths_n(&old); i++)
                if (old.rows[i].hash != 0)
                        paths_place(p, &old.rows[i]);
        paths_done(&old);
}

void paths_add(struct paths *p, const struct path *path) {
        if (p->n_added >= paths_n(p) / 2 && p->shift > 64 - LOG2_ROWS_MAX)
                paths_grow(p);
        paths_place(p, path);
}
