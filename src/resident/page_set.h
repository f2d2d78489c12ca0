/* SPDX-License-Identifier: MIT */
/* Which pages of a process's private memory are resident at one moment, from /proc/PID/pagemap: a bit each. Areas of the struct resident are set right by it (a page
 * that all zeroes share is present, but not resident), and cut where a range begins or ends that the program mapped itself. */
#pragma once

#include "resident/resident.h"
#include "resident/resident_smaps.h"

enum { PAGE_SET_MAX_PAGES = 1 << 23 }; /* 32 GiB of addresses; what lies beyond is not walked */

struct page_run {
        uint64_t begin, n_pages;
        size_t first_bit, area; /* area: of the struct resident */
        bool is_mapped;         /* by the program itself */
        bool is_zeroed;         /* data of a file: no heap unless blocks are there */
};

struct page_set {
        VEC(struct page_run) runs; /* by address */
        VEC(uint64_t) bits;
        size_t n_bits;
        uint64_t page_bytes;
};

/* mapped: by address, none touches another. */
void page_set_read(struct page_set *s, struct resident *r, int pagemap_fd,
                   const struct smaps_range *mapped, size_t n_mapped);
void page_set_done(struct page_set *s);

/* Bytes of the whole pages in [begin, end) that are resident. */
uint64_t page_set_whole_bytes(const struct page_set *s, uint64_t begin, uint64_t end);

static inline bool page_set_has(const struct page_set *s, const struct page_run *run,
                                uint64_t page) {
        size_t bit = run->first_bit + (size_t)page;

        return s->bits.items[bit / 64] >> bit % 64 & 1;
}
