/* SPDX-License-Identifier: MIT */
#include "resident/page_set.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/macros.h"

enum { READ_PAGES = 4096 };

#define PAGEMAP_PRESENT ((uint64_t)1 << 63)
#define PAGEMAP_ALONE ((uint64_t)1 << 56) /* mapped by this process alone; never of the zero page */

typedef VEC(struct resident_area) area_list;

static void bit_set(struct page_set *s, size_t bit) {
        s->bits.items[bit / 64] |= (uint64_t)1 << bit % 64;
}

static void bit_clear(struct page_set *s, size_t bit) {
        s->bits.items[bit / 64] &= ~((uint64_t)1 << bit % 64);
}

/* Pages of an area, behind those that there are. Where more are present than the kernel counts, the others are the page of all zeroes: among those that are not this process's alone. */
static void read_area(struct page_set *s, int fd, const struct resident_area *a) {
        static uint64_t entries[READ_PAGES];
        uint64_t n_pages = a->size_bytes / s->page_bytes, first = a->begin / s->page_bytes;
        uint64_t n_present = 0, n_excess;
        size_t from = s->n_bits;
        VEC(size_t) doubtful = {0};

        s->n_bits += (size_t)n_pages;
        while (s->bits.n * 64 < s->n_bits + 64)
                vec_push(&s->bits, 0);
        for (uint64_t at = 0; at < n_pages;) {
                size_t want = MIN(n_pages - at, (uint64_t)READ_PAGES);
                ssize_t n = pread(fd, entries, want * sizeof(entries[0]),
                                  (off_t)((first + at) * sizeof(entries[0])));

                n /= (ssize_t)sizeof(entries[0]);
                if (n <= 0)
                        break;
                for (size_t i = 0; i < (size_t)n; i++) {
                        if (!(entries[i] & PAGEMAP_PRESENT))
                                continue;
                        bit_set(s, from + (size_t)at + i);
                        n_present++;
                        if (!(entries[i] & PAGEMAP_ALONE))
                                vec_push(&doubtful, from + (size_t)at + i);
                }
                at += (uint64_t)n;
        }
        n_excess = n_present - MIN(n_present, a->rss_bytes / s->page_bytes);
        for (size_t i = 0; i < doubtful.n && n_excess > 0; i++, n_excess--)
                bit_clear(s, doubtful.items[i]);
        vec_free(&doubtful);
}

static uint64_t count_bits(const struct page_set *s, size_t from, uint64_t n) {
        uint64_t sum = 0;

        for (size_t i = from; i < from + (size_t)n; i++)
                sum += s->bits.items[i / 64] >> i % 64 & 1;
        return sum;
}

static uint64_t part_of(uint64_t bytes, uint64_t part, uint64_t whole) {
        return whole ? (uint64_t)((unsigned __int128)bytes * part / whole) : 0;
}

/* From `at` on, up to end. rest: what of the area's figures is left for what follows. */
static void put_part(struct page_set *s, area_list *out, struct resident_area *rest, uint64_t end,
                     size_t first_bit, bool is_mapped, bool is_zeroed) {
        struct resident_area a = *rest;
        uint64_t n_pages = (end - rest->begin) / s->page_bytes, whole = rest->rss_bytes;
        bool is_last = end == rest->begin + rest->size_bytes;

        a.size_bytes = end - rest->begin;
        a.rss_bytes = count_bits(s, first_bit, n_pages) * s->page_bytes;
        if (!is_last) {
                a.pss_bytes = part_of(rest->pss_bytes, MIN(a.rss_bytes, whole), whole);
                a.private_dirty_bytes =
                        part_of(rest->private_dirty_bytes, MIN(a.rss_bytes, whole), whole);
                a.anon_bytes = part_of(rest->anon_bytes, MIN(a.rss_bytes, whole), whole);
                a.huge_bytes = part_of(rest->huge_bytes, MIN(a.rss_bytes, whole), whole);
                a.swap_bytes = part_of(rest->swap_bytes, a.size_bytes, rest->size_bytes);
        }
        rest->begin = end;
        rest->size_bytes -= a.size_bytes;
        rest->rss_bytes -= MIN(rest->rss_bytes, a.rss_bytes);
        rest->pss_bytes -= a.pss_bytes;
        rest->private_dirty_bytes -= a.private_dirty_bytes;
        rest->anon_bytes -= a.anon_bytes;
        rest->huge_bytes -= a.huge_bytes;
        rest->swap_bytes -= a.swap_bytes;
        vec_push(&s->runs,
                 (struct page_run){a.begin, n_pages, first_bit, out->n, is_mapped, is_zeroed});
        vec_push(out, a);
}

static void put_area(struct page_set *s, area_list *out, const struct resident_area *a,
                     size_t first_bit, bool is_zeroed, const struct smaps_range *mapped,
                     size_t n_mapped) {
        struct resident_area rest = *a;
        uint64_t end = a->begin + a->size_bytes, mask = s->page_bytes - 1;

        for (size_t i = 0; i < n_mapped && rest.size_bytes; i++) {
                uint64_t from = MAX(mapped[i].begin & ~mask, rest.begin);
                uint64_t to = MIN(ALIGN_UP(mapped[i].end, s->page_bytes), end);

                if (to <= from || from >= end)
                        continue;
                if (from > rest.begin)
                        put_part(s, out, &rest, from,
                                 first_bit + (size_t)((rest.begin - a->begin) / s->page_bytes),
                                 false, is_zeroed);
                put_part(s, out, &rest, to, first_bit + (size_t)((from - a->begin) / s->page_bytes),
                         true, is_zeroed);
        }
        if (rest.size_bytes)
                put_part(s, out, &rest, end,
                         first_bit + (size_t)((rest.begin - a->begin) / s->page_bytes), false,
                         is_zeroed);
}

static bool is_walked(const struct page_set *s, const struct resident_area *a) {
        return (a->kind == RESIDENT_ANON || a->kind == RESIDENT_BRK) && a->rss_bytes &&
               a->size_bytes / s->page_bytes <= PAGE_SET_MAX_PAGES - s->n_bits;
}

void page_set_read(struct page_set *s, struct resident *r, int pagemap_fd,
                   const struct smaps_range *mapped, size_t n_mapped) {
        area_list out = {0};

        s->page_bytes = r->page_bytes;
        r->rss_bytes = 0;
        for (size_t i = 0; i < r->areas.n; i++) {
                const struct resident_area *a = &r->areas.items[i];
                size_t first_bit = s->n_bits;

                if (pagemap_fd < 0 || !is_walked(s, a)) {
                        vec_push(&out, *a);
                        continue;
                }
                read_area(s, pagemap_fd, a);
                put_area(s, &out, a, first_bit, resident_name(r, a->name)[0] == '/', mapped,
                         n_mapped);
        }
        for (size_t i = 0; i < out.n; i++)
                r->rss_bytes += out.items[i].rss_bytes;
        vec_free(&r->areas);
        r->areas.items = out.items;
        r->areas.n = out.n;
        r->areas.cap = out.cap;
}

/* The first run that ends behind an address. */
static size_t run_behind(const struct page_set *s, uint64_t addr) {
        size_t low = 0, high = s->runs.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;
                const struct page_run *run = &s->runs.items[mid];

                if (run->begin + run->n_pages * s->page_bytes <= addr)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

uint64_t page_set_whole_bytes(const struct page_set *s, uint64_t begin, uint64_t end) {
        uint64_t sum = 0;

        if (!s->page_bytes || begin > UINT64_MAX - s->page_bytes)
                return 0;
        begin = ALIGN_UP(begin, s->page_bytes);
        end &= ~(s->page_bytes - 1);
        for (size_t i = run_behind(s, begin); i < s->runs.n && s->runs.items[i].begin < end; i++) {
                const struct page_run *run = &s->runs.items[i];
                uint64_t from = MAX(begin, run->begin),
                         to = MIN(end, run->begin + run->n_pages * s->page_bytes);

                if (from < to)
                        sum += count_bits(s,
                                          run->first_bit +
                                                  (size_t)((from - run->begin) / s->page_bytes),
                                          (to - from) / s->page_bytes) *
                               s->page_bytes;
        }
        return sum;
}

void page_set_done(struct page_set *s) {
        vec_free(&s->runs);
        vec_free(&s->bits);
        s->n_bits = 0;
}
