/* SPDX-License-Identifier: MIT */
/* The memory of a process for malloc_heap.h. */
#include <stdlib.h>
#include <string.h>

#include "attach/malloc_heap.h"
#include "attach/target_objects.h"
#include "base/macros.h"

static bool read_memory(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        return target_read(ctx, addr, ret, n_bytes);
}

static struct memory_span find_brk(const struct target *t) {
        struct memory_span brk = {0};

        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];

                if (strcmp(m->path, "[heap]") == 0) /* after a fork it may be several mappings */
                        brk = (struct memory_span){brk.end ? brk.begin : m->begin, m->end};
        }
        return brk;
}

bool malloc_heap_read(struct malloc_heap *h, pid_t pid, int mem_fd, bool wants_blocks) {
        struct target t = {.pid = pid, .mem_fd = mem_fd};
        _cleanup_free_ uint64_t *data = NULL;
        struct malloc_memory m = {0};
        span_list spans = {0};
        uint64_t end;
        bool is_found = false;

        *h = (struct malloc_heap){0};
        if (target_refresh(&t, NULL) == 0 && target_libc_data(&t, &m.addr, &end)) {
                spans = target_spans(&t);
                m.brk = find_brk(&t);
                m.memory = (struct memory){read_memory, &t, spans.items, spans.n};
                m.n_words = (size_t)(end - m.addr) / 8;
                m.data = data = malloc((size_t)(end - m.addr));
                is_found = data && target_read(&t, m.addr, data, (size_t)(end - m.addr)) &&
                           malloc_heap_walk(h, &m, wants_blocks);
        }
        if (t.maps.arena)
                maps_done(&t.maps);
        vec_free(&spans);
        return is_found;
}
