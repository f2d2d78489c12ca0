/* SPDX-License-Identifier: MIT */
#include "reach/process_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"

enum { PAGE_BYTES = 4096, PAGES_AT_ONCE = 512 };

#define PAGEMAP_PRESENT ((uint64_t)1 << 63)
#define PAGEMAP_SWAPPED ((uint64_t)1 << 62)

/* ---- which pages there are -------------------------------------------------------------------------------- */

/* As in linux/fs.h since 6.7; older headers do not have it. */
struct page_region {
        uint64_t start, end, categories;
};
struct page_scan {
        uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
        uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
enum { PAGE_SCAN_PRESENT = 1 << 3, PAGE_SCAN_SWAPPED = 1 << 4, PAGE_SCAN_ZERO = 1 << 5 };
#define PAGE_SCAN _IOWR('f', 16, struct page_scan)

/* The first page of [at, end) that is there, other than the kernel's page of zeros, which reading alone brings; end: none is. -errno: this kernel does not
 * tell. Terabytes that were only reserved take no time. */
static int scan_pages(int fd, uint64_t at, uint64_t end, uint64_t *ret) {
        struct page_region found = {0};
        struct page_scan scan = {.size = sizeof(scan),
                                 .start = at & -(uint64_t)PAGE_BYTES,
                                 .end = ALIGN_UP(end, (uint64_t)PAGE_BYTES),
                                 .vec = (uint64_t)(uintptr_t)&found,
                                 .vec_len = 1,
                                 .max_pages = 1,
                                 .category_inverted = PAGE_SCAN_ZERO,
                                 .category_mask = PAGE_SCAN_ZERO,
                                 .category_anyof_mask = PAGE_SCAN_PRESENT | PAGE_SCAN_SWAPPED,
                                 .return_mask = PAGE_SCAN_PRESENT | PAGE_SCAN_SWAPPED};
        int n = ioctl(fd, PAGE_SCAN, &scan);

        if (n < 0)
                return -errno;
        *ret = n ? MIN(MAX(at, found.start), end) : end;
        return 0;
}

/* The same by looking at each. */
static uint64_t look_at_pages(int fd, uint64_t at, uint64_t end) {
        uint64_t pages[PAGES_AT_ONCE];

        while (at < end) {
                uint64_t first = at / PAGE_BYTES,
                         want = MIN((end - 1) / PAGE_BYTES - first + 1, (uint64_t)PAGES_AT_ONCE);
                ssize_t n = pread(fd, pages, want * sizeof(pages[0]),
                                  (off_t)(first * sizeof(pages[0])));

                if (n < (ssize_t)sizeof(pages[0]))
                        return at;
                n /= (ssize_t)sizeof(pages[0]);
                for (ssize_t i = 0; i < n; i++)
                        if (pages[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED))
                                return MAX(at, (first + (uint64_t)i) * PAGE_BYTES);
                at = (first + (uint64_t)n) * PAGE_BYTES;
        }
        return end;
}

static uint64_t first_page(int fd, uint64_t at, uint64_t end) {
        uint64_t found;

        return scan_pages(fd, at, end, &found) < 0 ? look_at_pages(fd, at, end) : found;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static const struct mapping *mapping_of(const struct maps *maps, uint64_t address) {
        size_t low = 0, high = maps->list.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (maps->list.items[mid].end <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < maps->list.n && maps->list.items[low].begin <= address ? &maps->list.items[low]
                                                                            : NULL;
}

/* The first that ends behind it; NULL: none does. */
static const struct reach_range *next_apart(const struct process_image *i, uint64_t address) {
        size_t low = 0, high = i->apart.n;

        while (low < high) {
                size_t mid = low + (high - low) / 2;

                if (i->apart.items[mid].end <= address)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < i->apart.n ? &i->apart.items[low] : NULL;
}

/* From one of the two, up to where the other begins; 0: it cannot be read. */
static size_t read_some(const struct process_image *i, uint64_t address, void *ret,
                        size_t n_bytes) {
        const struct reach_range *apart = next_apart(i, address);
        int fd = i->mem_fd;
        ssize_t n;

        if (apart && apart->begin <= address) {
                fd = i->living_mem_fd;
                n_bytes = MIN(n_bytes, (size_t)(apart->end - address));
        } else if (apart) {
                n_bytes = MIN(n_bytes, (size_t)(apart->begin - address));
        }
        while ((n = pread(fd, ret, n_bytes, (off_t)address)) < 0 && errno == EINTR) {}
        return n > 0 ? (size_t)n : 0;
}

static size_t image_read(void *ctx, uint64_t address, void *ret, size_t n_bytes) {
        size_t got = 0, n;

        do {
                n = read_some(ctx, address + got, (uint8_t *)ret + got, n_bytes - got);
                got += n;
        } while (n && got < n_bytes);
        return got;
}

/* Pages that were never touched hold nothing. Those of shared memory are not the copy's to know. */
static uint64_t image_skip(void *ctx, uint64_t address, uint64_t end) {
        const struct process_image *i = ctx;
        const struct mapping *where = mapping_of(&i->maps, address);
        const struct reach_range *apart = next_apart(i, address);
        int fd = apart && apart->begin <= address ? i->living_pagemap_fd : i->pagemap_fd;

        if (fd < 0 || !where || where->is_shared)
                return address;
        end = MIN(end, where->end);
        if (apart)
                end = MIN(end, apart->begin <= address ? apart->end : apart->begin);
        return first_page(fd, address, end);
}

static bool image_is_constant(void *ctx, uint64_t address) {
        const struct mapping *m = mapping_of(&((const struct process_image *)ctx)->maps, address);

        return m && m->is_readable && !m->is_writable && m->path[0] == '/';
}

static bool image_is_code(void *ctx, uint64_t address) {
        const struct mapping *m = mapping_of(&((const struct process_image *)ctx)->maps, address);

        return m && m->is_code && m->path[0] == '/';
}

static bool image_is_file(void *ctx, uint64_t address) {
        const struct mapping *m = mapping_of(&((const struct process_image *)ctx)->maps, address);

        return m && m->is_readable && m->path[0] == '/';
}

struct reach_memory process_image_memory(struct process_image *i) {
        return (struct reach_memory){image_read,    image_skip,    image_is_constant,
                                     image_is_code, image_is_file, i};
}

/* ---- what children do not get ------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b) {
        const struct mapping *x = a, *y = b;

        return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void add_piece(struct process_image *i, const struct mapping *m, uint64_t begin,
                      uint64_t end) {
        struct mapping piece = *m;

        if (begin >= end)
                return;
        piece.offset += begin - m->begin;
        piece.begin = begin;
        piece.end = end;
        vec_push(&i->maps.list, piece);
        vec_push(&i->apart, (struct reach_range){begin, end});
}

/* What the process had before and the copy has not. Devices' memory is none of it. */
static void find_missing(struct process_image *i, const struct maps *before) {
        size_t n_copied = i->maps.list.n, at = 0;

        for (size_t k = 0; k < before->list.n; k++) {
                const struct mapping *m = &before->list.items[k];
                uint64_t from = m->begin;

                if (!m->is_readable || !m->is_writable || m->is_shared || m->path[0] == '/')
                        continue;
                while (at < n_copied && i->maps.list.items[at].end <= m->begin)
                        at++;
                for (size_t x = at; x < n_copied && i->maps.list.items[x].begin < m->end; x++) {
                        add_piece(i, m, from, i->maps.list.items[x].begin);
                        from = MAX(from, i->maps.list.items[x].end);
                }
                add_piece(i, m, from, m->end);
        }
}

static bool is_wiped(const struct process_image *i, const struct mapping *m) {
        uint64_t found;

        if (!m->is_readable || !m->is_writable || m->is_shared || m->path[0])
                return false;
        if (scan_pages(i->pagemap_fd, m->begin, m->end, &found) == 0)
                return found == m->end &&
                       scan_pages(i->living_pagemap_fd, m->begin, m->end, &found) == 0 &&
                       found < m->end;
        return m->end - m->begin <= (uint64_t)PAGES_AT_ONCE * PAGE_BYTES &&
               look_at_pages(i->pagemap_fd, m->begin, m->end) == m->end &&
               look_at_pages(i->living_pagemap_fd, m->begin, m->end) < m->end;
}

/* Untouched in the copy, and not in the process: wiped, or touched since, which does no harm. */
static void find_wiped(struct process_image *i) {
        for (size_t k = 0; k < i->maps.list.n; k++)
                if (is_wiped(i, &i->maps.list.items[k]))
                        vec_push(&i->apart, (struct reach_range){i->maps.list.items[k].begin,
                                                                 i->maps.list.items[k].end});
}

static int by_range(const void *a, const void *b) {
        const struct reach_range *x = a, *y = b;

        return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void find_apart(struct process_image *i, const struct maps *before) {
        find_wiped(i);
        if (before)
                find_missing(i, before);
        if (!i->apart.n)
                return;
        qsort(i->apart.items, i->apart.n, sizeof(i->apart.items[0]), by_range);
        qsort(i->maps.list.items, i->maps.list.n, sizeof(i->maps.list.items[0]), by_begin);
}

static int open_file(pid_t pid, const char *name) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        return fs_open(path, O_RDONLY | O_CLOEXEC, 0);
}

int process_image_open(struct process_image *i, const struct process_image_source *s,
                       struct err *reterr) {
        int r = maps_read(&i->maps, s->copy, reterr);

        i->mem_fd = s->mem_fd;
        i->pagemap_fd = i->living_mem_fd = i->living_pagemap_fd = -1;
        if (r < 0)
                return r;
        i->pagemap_fd = open_file(s->copy, "pagemap");
        if (s->living) {
                i->living_mem_fd = open_file(s->living, "mem");
                i->living_pagemap_fd = open_file(s->living, "pagemap");
        }
        if (i->pagemap_fd >= 0 && i->living_mem_fd >= 0 && i->living_pagemap_fd >= 0)
                find_apart(i, s->before);
        return 0;
}

bool process_image_needs_living(const struct process_image *i, const struct reach_range *but,
                                size_t n_but) {
        for (size_t k = 0; k < i->apart.n; k++) {
                const struct reach_range *a = &i->apart.items[k];
                bool is_left_out = false;

                for (size_t x = 0; x < n_but && !is_left_out; x++)
                        is_left_out = a->begin < but[x].end && but[x].begin < a->end;
                if (!is_left_out)
                        return true;
        }
        return false;
}

void process_image_close(struct process_image *i) {
        const int fds[] = {i->pagemap_fd, i->living_mem_fd, i->living_pagemap_fd};

        for (size_t k = 0; k < ARRAY_SIZE(fds); k++)
                if (fds[k] >= 0)
                        close(fds[k]);
        vec_free(&i->apart);
        maps_done(&i->maps);
}
