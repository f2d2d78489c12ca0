/* SPDX-License-Identifier: MIT */
#include "patch/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

enum {
        MAPS_LOWEST_ADDR = 1 << 16, /* below it nothing may be mapped */
        MAPS_GUARD_BYTES = 1 << 20, /* beside mappings, where the kernel puts the next ones */
};

static void maps_fclosep(FILE **f) {
        if (*f)
                fclose(*f);
}

int maps_read_file(struct maps *m, const char *path, struct err *reterr) {
        _cleanup_(maps_fclosep) FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        size_t cap = 0;

        memset(m, 0, sizeof(*m));
        f = fopen(path, "re");
        if (!f)
                return err_set_errno(reterr, -errno, "%s", path);
        m->arena = arena_new();
        while (getline(&line, &cap, f) > 0) {
                struct mapping one = {0};
                char rights[5] = "";
                int name_off = 0;

                line[strcspn(line, "\n")] = '\0';
                if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &one.begin,
                           &one.end, rights, &one.offset, &name_off) < 4)
                        continue;
                one.is_readable = rights[0] == 'r';
                one.is_writable = rights[1] == 'w';
                one.is_code = rights[2] == 'x';
                one.is_shared = rights[3] == 's';
                one.path = arena_strdup(m->arena, name_off ? line + name_off : "");
                vec_push(&m->list, one);
        }
        return 0;
}

int maps_read(struct maps *m, pid_t pid, struct err *reterr) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        return maps_read_file(m, path, reterr);
}

void maps_done(struct maps *m) {
        vec_free(&m->list);
        arena_free(m->arena);
        m->arena = NULL;
}

const char *maps_path_at(const struct maps *m, uint64_t addr) {
        for (size_t i = 0; i < m->list.n; i++)
                if (addr >= m->list.items[i].begin && addr < m->list.items[i].end)
                        return m->list.items[i].path;
        return "";
}

/* The place in [low, high) nearest to `near` that n_bytes fit in; 0: none. */
static uint64_t place_in(uint64_t low, uint64_t high, uint64_t n_bytes, uint64_t align_bytes,
                         uint64_t near) {
        low = ALIGN_UP(low, align_bytes);
        if (high < n_bytes || low > high - n_bytes)
                return 0;
        high = (high - n_bytes) & -align_bytes;
        if (high < low)
                return 0;
        return near <= low ? low : near >= high ? high : near & -align_bytes;
}

static uint64_t distance(uint64_t at, uint64_t begin, uint64_t end) {
        uint64_t to_begin = at > begin ? at - begin : begin - at;
        uint64_t to_end = at > end ? at - end : end - at;

        return MAX(to_begin, to_end);
}

static void take(struct maps *m, size_t before, uint64_t begin, uint64_t n_bytes) {
        vec_reserve(&m->list, 1);
        memmove(&m->list.items[before + 1], &m->list.items[before],
                (m->list.n - before) * sizeof(m->list.items[0]));
        m->list.items[before] =
                (struct mapping){.begin = begin, .end = begin + n_bytes, .path = ""};
        m->list.n++;
}

/* The best place, with room to grow left beside what is there, or without. */
static uint64_t find_room(const struct maps *m, uint64_t begin, uint64_t end, uint64_t n_bytes,
                          uint64_t align_bytes, uint64_t reach_bytes, uint64_t guard_bytes,
                          size_t *ret_before) {
        uint64_t best = 0, low = MAPS_LOWEST_ADDR;
        bool is_behind_heap = false;

        /* above the last mapping is the kernel's */
        for (size_t i = 0; i < m->list.n; i++) {
                const struct mapping *next = &m->list.items[i];
                uint64_t at = 0;

                if (next->begin > low + 2 * guard_bytes && !(guard_bytes && is_behind_heap))
                        at = place_in(low + guard_bytes, next->begin - guard_bytes, n_bytes,
                                      align_bytes, begin);
                if (at && distance(at, begin, end) + n_bytes < reach_bytes &&
                    (!best || distance(at, begin, end) < distance(best, begin, end))) {
                        best = at;
                        *ret_before = i;
                }
                low = MAX(low, next->end);
                is_behind_heap =
                        strcmp(next->path, "[heap]") == 0 ||
                        (next->begin <= end && next->end >= end); /* the heap may come there */
        }
        return best;
}

uint64_t maps_take_room(struct maps *m, uint64_t begin, uint64_t end, uint64_t n_bytes,
                        uint64_t align_bytes, uint64_t reach_bytes) {
        size_t before = 0;
        uint64_t at = find_room(m, begin, end, n_bytes, align_bytes, reach_bytes, MAPS_GUARD_BYTES,
                                &before);

        if (!at)
                at = find_room(m, begin, end, n_bytes, align_bytes, reach_bytes, 0, &before);
        if (at)
                take(m, before, at, n_bytes);
        return at;
}
