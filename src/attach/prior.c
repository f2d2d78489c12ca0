/* SPDX-License-Identifier: MIT */
#include "attach/prior.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/tracee.h"
#include "base/macros.h"

#define MS UINT64_C(1000000)

enum {
        PRIOR_CPU_MS = 250,             /* of a processor that the program may want */
        PRIOR_MS = 1000,                /* where that is not to be had, or pages come from swap */
        PRIOR_MAX_DATA_BYTES = 1 << 20, /* of the C library's variables */
        PRIOR_READS = 16,               /* between two looks at the clock */
        PRIOR_TRIES = 3,                /* the program may be about to change them */
};

typedef VEC(struct arenas_span) spans;

struct look {
        const struct target *target;
        uint64_t until_ns, until_cpu_ns;
        unsigned n_reads;
        bool is_over;
};

static uint64_t cpu_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static bool look_read(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        struct look *l = ctx;

        if (l->n_reads++ % PRIOR_READS == 0)
                l->is_over |= tracee_now_ns() >= l->until_ns || cpu_ns() >= l->until_cpu_ns;
        return !l->is_over && target_read(l->target, addr, ret, n_bytes);
}

/* Pages of files may be slow to come, or never; those of nobody but the process are there. */
static bool is_anonymous(const struct mapping *m) {
        return m->is_readable && m->is_writable && !m->offset &&
               (m->path[0] == '\0' || m->path[0] == '[');
}

static spans spans_of(const struct target *t) {
        spans found = {0};

        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];
                struct arenas_span *last = found.n ? &found.items[found.n - 1] : NULL;

                if (!is_anonymous(m))
                        continue;
                if (last && last->end == m->begin)
                        last->end = m->end;
                else
                        vec_push(&found, (struct arenas_span){m->begin, m->end});
        }
        return found;
}

/* Where the C library has what its malloc knows. */
static bool find_data(const struct target *t, struct arenas_span *ret) {
        const struct mapping *libc = target_mapping(t, target_libc(t));

        *ret = (struct arenas_span){0};
        for (size_t i = 0; libc && i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];

                if (!m->is_writable || !m->is_readable || strcmp(m->path, libc->path) != 0)
                        continue;
                if (!ret->begin)
                        ret->begin = m->begin;
                ret->end = m->end;
        }
        return ret->end > ret->begin && ret->end - ret->begin <= PRIOR_MAX_DATA_BYTES;
}

static void look_at_arenas(struct look *l, struct prior *ret) {
        struct arenas_memory memory = {.read = look_read, .ctx = l};
        _cleanup_free_ uint64_t *data = NULL;
        spans all = spans_of(l->target);
        struct arenas_span at;
        size_t n_bytes;

        memory.spans = all.items;
        memory.n_spans = all.n;
        n_bytes = find_data(l->target, &at) ? (size_t)(at.end - at.begin) : 0;
        data = malloc(MAX(n_bytes, 1u));
        if (data && n_bytes && look_read(l, at.begin, data, n_bytes))
                ret->has_arenas = arenas_read(&memory, at.begin, data, n_bytes / 8, &ret->arenas);
        vec_free(&all);
}

void prior_look(struct target *t, struct prior *ret) {
        uint64_t begin_ns = tracee_now_ns();
        struct look l = {.target = t,
                         .until_ns = begin_ns + PRIOR_MS * MS,
                         .until_cpu_ns = cpu_ns() + PRIOR_CPU_MS * MS};

        *ret = (struct prior){0};
        for (unsigned i = 0; i < PRIOR_TRIES && !ret->has_arenas; i++)
                if (target_refresh(t, NULL) == 0)
                        look_at_arenas(&l, ret);
        ret->took_ns = tracee_now_ns() - begin_ns;
}
