/* SPDX-License-Identifier: MIT */
#include "attach/prior_scan.h"

#include <stdlib.h>
#include <string.h>

#include "attach/target_objects.h"
#include "attach/tracee.h"
#include "base/macros.h"
#include "base/system_clock.h"

#define MS UINT64_C(1000000)

enum {
        PRIOR_CPU_MS = 250,             /* of a processor that the program may want */
        PRIOR_MS = 1000,                /* where that is not to be had, or pages come from swap */
        PRIOR_MAX_ALL_BYTES = 32 << 20, /* of everybody's variables */
        PRIOR_READS = 16,               /* between two looks at the clock */
        PRIOR_BUSY_TRIES = 20,          /* of other allocators */
        PRIOR_TRIES = 3,                /* the program may be about to change them */
};

struct look {
        const struct target *target;
        uint64_t until_ns, until_cpu_ns;
        unsigned n_reads;
        bool is_over;
        bool is_busy; /* an allocator changed whenever it was looked at */
};

static bool look_read(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        struct look *l = ctx;

        l->is_over |= clock_now_ns() >= l->until_ns;
        if (l->n_reads++ % PRIOR_READS == 0)
                l->is_over |= clock_thread_cpu_ns() >= l->until_cpu_ns;
        return !l->is_over && target_read(l->target, addr, ret, n_bytes);
}

/* Owned. NULL: there is no time, or it is not there. */
static uint64_t *read_data(struct look *l, const struct memory_span *at) {
        uint64_t *data = malloc((size_t)(at->end - at->begin));

        if (data && look_read(l, at->begin, data, (size_t)(at->end - at->begin)))
                return data;
        free(data);
        return NULL;
}

static void look_at_arenas(struct look *l, const struct memory *memory, struct prior *ret) {
        _cleanup_free_ uint64_t *data = NULL;
        struct memory_span at;

        if (!target_libc_data(l->target, &at.begin, &at.end) || !(data = read_data(l, &at)))
                return;
        ret->has_arenas =
                arenas_read(memory, at.begin, data, (at.end - at.begin) / 8, &ret->arenas);
}

static void look_into(struct look *l, const struct memory *memory, const uint64_t *data,
                      size_t n_words, struct prior *ret) {
        struct mimalloc_found mi;
        struct jemalloc_found je;

        if (jemalloc_read(memory, data, n_words, &je)) {
                ret->jemalloc.held_bytes += je.held_bytes;
                ret->jemalloc.used_bytes += je.used_bytes;
                ret->jemalloc.n_arenas += je.n_arenas;
                ret->jemalloc.has_pages =
                        je.has_pages && (ret->jemalloc.has_pages || !ret->has_jemalloc);
                ret->jemalloc.own_bytes += je.own_bytes;
                ret->jemalloc.resident_bytes += je.resident_bytes;
                ret->jemalloc.retained_bytes += je.retained_bytes;
                ret->has_jemalloc = true;
        }
        if (mimalloc_read(memory, data, n_words, &mi)) {
                ret->mimalloc.held_bytes += mi.held_bytes;
                ret->mimalloc.used_bytes += mi.used_bytes;
                ret->mimalloc.n_segments += mi.n_segments;
                ret->has_mimalloc = true;
        }
        l->is_busy |= je.is_busy || mi.is_busy;
}

/* Other allocators may be anywhere: a library by itself, or a part of the program. */
static void look_at_objects(struct look *l, const struct memory *memory, struct prior *ret) {
        uint64_t n_bytes_left = PRIOR_MAX_ALL_BYTES;
        struct memory_span at;

        l->is_busy = ret->has_jemalloc = ret->has_mimalloc = false;
        ret->jemalloc = (struct jemalloc_found){0};
        ret->mimalloc = (struct mimalloc_found){0};
        for (size_t i = 0; i < l->target->maps.list.n; i++) {
                _cleanup_free_ uint64_t *data = NULL;

                if (!target_object_variables(l->target, i, &at) || at.end - at.begin > n_bytes_left)
                        continue;
                n_bytes_left -= at.end - at.begin;
                data = read_data(l, &at);
                if (data)
                        look_into(l, memory, data, (at.end - at.begin) / 8, ret);
        }
}

/* A thread may have lost its processor in the middle of a change: what did not add up is looked at again. */
static void look_once(struct look *l, bool is_first, struct prior *ret) {
        span_list all = target_spans(l->target);
        const struct memory memory = {.read = look_read,
                                      .ctx = l,
                                      .spans = all.items,
                                      .n_spans = all.n};

        if (is_first || l->is_busy)
                look_at_objects(l, &memory, ret);
        if (!ret->has_arenas)
                look_at_arenas(l, &memory, ret);
        vec_free(&all);
}

void prior_look(struct target *t, struct prior *ret) {
        uint64_t begin_ns = clock_now_ns();
        struct look l = {.target = t,
                         .until_ns = begin_ns + PRIOR_MS * MS,
                         .until_cpu_ns = clock_thread_cpu_ns() + PRIOR_CPU_MS * MS};

        *ret = (struct prior){0};
        for (unsigned i = 0; i < (l.is_busy ? PRIOR_BUSY_TRIES : PRIOR_TRIES); i++) {
                if (target_refresh(t, NULL) == 0)
                        look_once(&l, i == 0, ret);
                if (l.is_over || (ret->has_arenas && !l.is_busy))
                        break;
        }
        ret->took_ns = clock_now_ns() - begin_ns;
}
