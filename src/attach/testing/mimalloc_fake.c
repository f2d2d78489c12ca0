/* SPDX-License-Identifier: MIT */
#include "attach/testing/mimalloc_fake.h"

#include <string.h>

#include "attach/mimalloc_blocks.h"
#include "base/macros.h"

enum { SLICE_BYTES = 65536, N_ENTRIES = 512, HUGE_SLICES = 1100, N_QUEUES = 75 };

/* ---- places ------------------------------------------------------------------------------------------------ */

uint64_t *mi_cookie(struct mi_fake *f, unsigned version, unsigned segment) {
        return &f->segments[segment][version == 2 ? 28 : 27];
}

uint64_t *mi_figures(struct mi_fake *f, unsigned version, unsigned segment) {
        return mi_cookie(f, version, segment) + (version == 2 ? 3 : 1);
}

uint64_t *mi_slice(struct mi_fake *f, unsigned version, unsigned segment, unsigned slice) {
        return mi_figures(f, version, segment) + 5 + (size_t)slice * (version == 0 ? 10 : 12);
}

/* ---- filling ----------------------------------------------------------------------------------------------- */

static void put_slices(struct mi_fake *f, unsigned version, unsigned segment, unsigned at,
                       uint32_t n_slices) {
        *mi_slice(f, version, segment, at) = n_slices;
}

static uint64_t segment_at(unsigned segment) {
        return segment == 2 ? MI_HUGE : MI_FIRST + segment * MI_SEGMENT_BYTES;
}

/* The first blocks are in use, the one behind them is free. */
static void put_page(struct mi_fake *f, unsigned version, unsigned segment, unsigned at,
                     uint32_t n_slices, uint64_t bytes, uint64_t n_used,
                     struct mimalloc_found *to) {
        uint64_t *slice = mi_slice(f, version, segment, at),
                 off = version > 0     ? (n_slices > 30 ? 0 : 320)
                       : bytes <= 1024 ? 384
                                       : 0,
                 n_room = (n_slices * SLICE_BYTES - off) / bytes,
                 first = segment_at(segment) + (uint64_t)at * SLICE_BYTES + off;

        put_slices(f, version, segment, at, n_slices);
        slice[1] = 3 | MIN(n_used + 1, n_room) << 16 | n_room << 32;
        if (version == 0) {
                slice[3] = n_used | MIN(bytes, UINT64_C(2) << 30) << 32;
        } else {
                slice[4] = n_used | 0x0600000;
                slice[5] = bytes;
                slice[6] = first;
        }
        if (n_used < n_room)
                slice[2] = first + n_used * bytes;
        mi_cookie(f, version, segment)[-1]++;
        to->held_bytes += (uint64_t)n_slices * SLICE_BYTES;
        to->used_bytes += n_used * bytes;
}

static void put_segment(struct mi_fake *f, unsigned version, unsigned segment, uint64_t at,
                        uint64_t n_slices) {
        uint64_t *figures = mi_figures(f, version, segment);

        *mi_cookie(f, version, segment) = at ^ MI_COOKIE;
        figures[0] = n_slices;
        figures[1] = 1;
        figures[2] = n_slices > N_ENTRIES;
        figures[3] = MIN(n_slices, (uint64_t)N_ENTRIES);
        figures[4] = 0x7f0012345678; /* a thread */
        put_slices(f, version, segment, 0, 1);
        mi_slice(f, version, segment, 0)[version == 0 ? 3 : 5] =
                version == 0 ? (uint64_t)SLICE_BYTES << 32 : SLICE_BYTES;
}

static void put_queues(struct mi_fake *f) {
        for (uint64_t i = 0; i < N_QUEUES; i++) {
                uint64_t k = i < 9 ? 0 : (i - 9) / 4,
                         words = (8u << k) + ((i - 8 - 4 * k) << (k + 1));

                f->data[MI_QUEUES_WORD + 3 * i + 2] = 8 * (i == 0 ? 1 : i < 9 ? i : words);
        }
        f->data[MI_QUEUES_WORD + 3 * N_QUEUES + 3] = MI_COOKIE;
}

/* The first block of a page was full when another thread released it: the heap knows, and counts it as in use. */
static void put_delayed(struct mi_fake *f, unsigned version) {
        uint64_t *slice = mi_slice(f, version, 0, 1);

        f->segments[0][MI_DELAYED_WORD] = segment_at(0) + SLICE_BYTES + (version == 0 ? 384 : 320);
        slice[version == 0 ? 6 : 8] =
                segment_at(0) + MI_DELAYED_WORD * 8 - (version == 0 ? 2840 : 8);
}

struct mimalloc_found mi_fill(struct mi_fake *f, unsigned version) {
        struct mimalloc_found found = {.n_segments = MI_N_SEGMENTS};

        memset(f, 0, sizeof(*f));
        put_queues(f);
        put_segment(f, version, 0, MI_FIRST, N_ENTRIES);
        put_page(f, version, 0, 1, 1, 64, 700, &found);
        put_page(f, version, 0, 2, 8, 5120, 90, &found);
        put_slices(f, version, 0, 10, 50); /* free */
        put_page(f, version, 0, 60, 40, 40 * SLICE_BYTES, 1, &found);
        put_page(f, version, 0, 100, 1, 16, 0, &found); /* of blocks that were all released */
        put_slices(f, version, 0, 101, N_ENTRIES - 101);
        put_segment(f, version, 1, MI_FIRST + MI_SEGMENT_BYTES, N_ENTRIES);
        put_page(f, version, 1, 1, 1, 1024, 3, &found);
        put_slices(f, version, 1, 2, N_ENTRIES - 2);
        put_segment(f, version, 2, MI_HUGE, HUGE_SLICES);
        put_page(f, version, 2, 1, HUGE_SLICES - 1, (uint64_t)(HUGE_SLICES - 1) * SLICE_BYTES, 1,
                 &found);
        put_delayed(f, version);
        return found;
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

static bool fake_read(void *ctx, uint64_t addr, void *ret, size_t n_bytes) {
        struct mi_reader *r = ctx;
        const size_t n_there = MI_SEGMENT_WORDS * 8;
        uint64_t segment, off = addr % MI_SEGMENT_BYTES;

        if (!r->n_reads_left)
                return false;
        r->n_reads_left--;
        if (r->between)
                r->between(r->fake, r->n_reads);
        r->n_reads++;
        memset(ret, 0, n_bytes);
        segment = addr >= MI_HUGE ? 2 + (addr - MI_HUGE) / MI_SEGMENT_BYTES
                                  : (addr - MI_FIRST) / MI_SEGMENT_BYTES;
        if (segment < MI_N_SEGMENTS && (segment == 2) == (addr >= MI_HUGE) && off < n_there)
                memcpy(ret, (uint8_t *)r->fake->segments[segment] + off,
                       MIN(n_bytes, n_there - off));
        return true;
}

static struct memory memory_of(struct mi_reader *r) {
        static const struct memory_span spans[] = {{MI_FIRST - 8192,
                                                    MI_FIRST + 3 * MI_SEGMENT_BYTES + 4096},
                                                   {MI_HUGE, MI_HUGE + 4 * MI_SEGMENT_BYTES}};

        return (struct memory){.read = fake_read, .ctx = r, .spans = spans, .n_spans = 2};
}

bool mi_list(struct mi_reader *r, struct heap_list *ret) {
        struct memory m = memory_of(r);

        return mimalloc_list(&m, r->fake->data, MI_DATA_WORDS, ret);
}

bool mi_read(struct mi_reader *r, struct mimalloc_found *ret) {
        struct memory m = memory_of(r);

        return mimalloc_read(&m, r->fake->data, MI_DATA_WORDS, ret);
}
