/* SPDX-License-Identifier: MIT */
#include "tick/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"

enum { MAX_RECORD_BYTES = 65536 };

int perf_ring_init(struct perf_ring *r, int fd, size_t data_bytes) {
        size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

        *r = (struct perf_ring){.map_bytes = data_bytes + page_bytes, .n_bytes = data_bytes};
        r->map = mmap(NULL, r->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (r->map == MAP_FAILED) {
                r->map = NULL;
                return -errno;
        }
        r->data = (const uint8_t *)r->map + page_bytes;
        r->scratch = malloc(MAX_RECORD_BYTES);
        if (!r->scratch) {
                perf_ring_done(r);
                return -ENOMEM;
        }
        return 0;
}

void perf_ring_done(struct perf_ring *r) {
        if (r->map)
                munmap(r->map, r->map_bytes);
        free(r->scratch);
        *r = (struct perf_ring){0};
}

void perf_ring_refresh(struct perf_ring *r) {
        const struct perf_event_mmap_page *page = r->map;

        /* acquire: what lies before the head is seen whole. Pairs with the kernel's barrier before it moves the head. */
        r->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        if (r->head - r->tail > r->n_bytes) {
                r->n_broken++;
                perf_ring_advance(r, r->head - r->tail);
        }
}

static void ring_copy(const struct perf_ring *r, void *to, size_t n) {
        size_t at = (size_t)(r->tail & (r->n_bytes - 1)), first = MIN(n, (size_t)r->n_bytes - at);

        memcpy(to, r->data + at, first);
        memcpy((uint8_t *)to + first, r->data, n - first);
}

bool perf_ring_peek(struct perf_ring *r, const uint8_t **ret_bytes, size_t *ret_n) {
        size_t at = (size_t)(r->tail & (r->n_bytes - 1));
        struct perf_event_header h;

        if (r->head - r->tail < sizeof(h))
                return false;
        ring_copy(r, &h, sizeof(h));
        if (h.size < sizeof(h) || h.size > r->head - r->tail) {
                r->n_broken++;
                perf_ring_advance(r, r->head - r->tail);
                return false;
        }
        *ret_n = h.size;
        *ret_bytes = r->data + at;
        if (at + h.size > r->n_bytes) {
                ring_copy(r, r->scratch, h.size);
                *ret_bytes = r->scratch;
        }
        return true;
}

void perf_ring_advance(struct perf_ring *r, size_t n) {
        struct perf_event_mmap_page *page = r->map;

        r->tail += n;
        /* release: the record has been read before the kernel writes over it. Pairs with the kernel's look at the tail. */
        __atomic_store_n(&page->data_tail, r->tail, __ATOMIC_RELEASE);
}
