/* SPDX-License-Identifier: MIT */
#include "attach/other_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "attach/jemalloc.h"
#include "attach/jemalloc_blocks.h"
#include "attach/mimalloc.h"
#include "attach/mimalloc_blocks.h"
#include "attach/mimalloc_map.h"
#include "attach/target_objects.h"

#define MAX_VARIABLES_BYTES (UINT64_C(1) << 30)

/* Allocators whose memory silt cannot read, by the names of their libraries. */
static const struct {
        const char *file, *name;
} unread[] = {{"/libtcmalloc", "tcmalloc"}, {"/libtbbmalloc", "tbbmalloc"}, {"/libhoard", "Hoard"},
              {"/libsnmalloc", "snmalloc"}, {"/librpmalloc", "rpmalloc"},   {"/libscudo", "Scudo"}};

static bool read_memory(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        return target_read(ctx, addr, ret, n_bytes);
}

/* Of the blocks from n_before on. */
static void add_up(struct other_heaps *h, size_t n_before, unsigned which, const char *name) {
        struct other_heap *to = &h->heaps[which];

        to->name = name;
        for (size_t i = n_before; i < h->list.blocks.n; i++) {
                to->n_blocks++;
                to->usable_bytes += h->list.blocks.items[i].size_bytes;
        }
}

static void read_object(const struct memory *m, const uint64_t *data, size_t n_words,
                        struct other_heaps *ret) {
        struct jemalloc_found je;
        struct mimalloc_found mi;
        bool has_jemalloc = jemalloc_find(m, data, n_words, &je) || je.is_busy;
        bool has_mimalloc = mimalloc_read(m, data, n_words, &mi) || mi.is_busy || mi.page;
        size_t n = ret->list.blocks.n;

        if (has_jemalloc && !jemalloc_list(m, data, n_words, &ret->list))
                ret->missing = "jemalloc";
        else if (has_jemalloc)
                add_up(ret, n, OTHER_JEMALLOC, "jemalloc");
        n = ret->list.blocks.n;
        if (mi.page && !mi.is_busy ? !mimalloc_map_list(m, data, n_words, mi.page, &ret->list)
                                   : has_mimalloc && !mimalloc_list(m, data, n_words, &ret->list))
                ret->missing = mi.page ? "a mimalloc of a version unknown to silt" : "mimalloc";
        else if (has_mimalloc)
                add_up(ret, n, OTHER_MIMALLOC, "mimalloc");
}

static void read_objects(const struct target *t, const struct memory *m, struct other_heaps *ret) {
        struct memory_span at;

        for (size_t i = 0; i < t->maps.list.n; i++) {
                _cleanup_free_ uint64_t *data = NULL;

                for (size_t k = 0; k < ARRAY_SIZE(unread); k++)
                        if (strstr(t->maps.list.items[i].path, unread[k].file))
                                ret->missing = unread[k].name;
                if (!target_object_variables(t, i, &at) || at.end - at.begin > MAX_VARIABLES_BYTES)
                        continue;
                data = malloc((size_t)(at.end - at.begin));
                if (data && target_read(t, at.begin, data, (size_t)(at.end - at.begin)))
                        read_object(m, data, (size_t)(at.end - at.begin) / 8, ret);
        }
}

void other_heaps_read(struct other_heaps *h, pid_t pid, int mem_fd) {
        struct target t = {.pid = pid, .mem_fd = mem_fd};

        *h = (struct other_heaps){0};
        if (target_refresh(&t, NULL) == 0) {
                span_list spans = target_spans(&t);
                const struct memory m = {read_memory, &t, spans.items, spans.n};

                read_objects(&t, &m, h);
                vec_free(&spans);
        }
        if (t.maps.arena)
                maps_done(&t.maps);
}

void other_heaps_done(struct other_heaps *h) {
        heap_list_done(&h->list);
}
