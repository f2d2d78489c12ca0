/* SPDX-License-Identifier: MIT */
/* Any bytes as what a ring of the kernel holds, in a ring with any head: records are inside it, their parts are inside them, texts end,
 * and the ring is empty in the end.
 *
 * seeds: src/tick/perf_record_seeds
 * covers: src/tick/perf_record.c src/tick/perf_ring.c */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "tick/perf_record.h"
#include "tick/perf_ring.h"

enum { RING_BYTES = 65536 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static void check(const uint8_t *bytes, size_t n) {
        uint8_t *own = malloc(n);
        struct perf_record r;

        expect(own != NULL);
        memcpy(own, bytes, n); /* of its size, so that a look beyond it is seen */
        (void)perf_record_time_ns(own, n);
        if (perf_record_decode(own, n, &r)) {
                const uint8_t *text = (const uint8_t *)r.text;

                expect(r.sample.n_kernel <= PERF_MAX_KERNEL_FRAMES);
                expect(!r.sample.n_stack ||
                       (r.sample.stack >= own && r.sample.stack + r.sample.n_stack <= own + n));
                expect(!text || (text >= own && text + strlen(r.text) < own + n));
                expect(r.begin <= r.end);
        }
        free(own);
}

/* The first two bytes are where the ring begins, and how many bytes more than there are it claims to have. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static int fd = -1;
        struct perf_event_mmap_page *page;
        struct perf_ring r;
        const uint8_t *bytes;
        uint64_t begin;
        size_t n_record;

        if (n < 2)
                return 0;
        if (fd < 0) {
                fd = memfd_create("ring", MFD_CLOEXEC);
                expect(ftruncate(fd, RING_BYTES + sysconf(_SC_PAGESIZE)) == 0);
        }
        expect(perf_ring_init(&r, fd, RING_BYTES) == 0);
        begin = (uint64_t)data[0] * 256 + RING_BYTES * (uint64_t)(data[1] & 1);
        page = r.map;
        page->data_head = page->data_tail = r.tail = begin;
        for (size_t i = 2; i < MIN(n, (size_t)RING_BYTES); i++)
                ((uint8_t *)r.map)[sysconf(_SC_PAGESIZE) + (begin + i - 2) % RING_BYTES] = data[i];
        page->data_head = begin + MIN(n - 2, (size_t)RING_BYTES) + (data[1] & 0xf8u) * 1000u;
        perf_ring_refresh(&r);
        while (perf_ring_peek(&r, &bytes, &n_record)) {
                check(bytes, n_record);
                perf_ring_advance(&r, n_record);
        }
        expect(r.head - r.tail < sizeof(struct perf_event_header));
        perf_ring_done(&r);
        return 0;
}
