/* SPDX-License-Identifier: MIT */
#include "reach/process_graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "reach/block_types.h"
#include "reach/root_words.h"

enum { PAGE_BYTES = 4096, PAGES_AT_ONCE = 512 };

#define PAGEMAP_PRESENT ((uint64_t)1 << 63)
#define PAGEMAP_SWAPPED ((uint64_t)1 << 62)

/* ---- memory ---------------------------------------------------------------------------------------------- */

struct image {
        struct maps maps;
        int mem_fd, pagemap_fd;
};

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

static size_t image_read(void *ctx, uint64_t address, void *ret, size_t n_bytes) {
        const struct image *m = ctx;
        size_t got = 0;

        while (got < n_bytes) {
                ssize_t n = pread(m->mem_fd, (uint8_t *)ret + got, n_bytes - got,
                                  (off_t)(address + got));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        break;
                got += (size_t)n;
        }
        return got;
}

/* Pages that were never touched hold nothing. Those of shared memory are not the copy's to know. */
static uint64_t image_skip(void *ctx, uint64_t address, uint64_t end) {
        const struct image *m = ctx;
        const struct mapping *where = mapping_of(&m->maps, address);
        uint64_t pages[PAGES_AT_ONCE];

        if (m->pagemap_fd < 0 || !where || where->is_shared)
                return address;
        end = MIN(end, where->end);
        for (uint64_t at = address; at < end;) {
                uint64_t first = at / PAGE_BYTES,
                         want = MIN((end - 1) / PAGE_BYTES - first + 1, (uint64_t)PAGES_AT_ONCE);
                ssize_t n = pread(m->pagemap_fd, pages, want * sizeof(pages[0]),
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

static bool image_is_constant(void *ctx, uint64_t address) {
        const struct mapping *m = mapping_of(&((const struct image *)ctx)->maps, address);

        return m && m->is_readable && !m->is_writable && m->path[0] == '/';
}

static bool image_is_code(void *ctx, uint64_t address) {
        const struct mapping *m = mapping_of(&((const struct image *)ctx)->maps, address);

        return m && m->is_code && m->path[0] == '/';
}

static int image_open(struct image *m, const struct process_graph *p, struct err *reterr) {
        char path[64];
        int r = maps_read(&m->maps, p->pid, reterr);

        if (r < 0)
                return r;
        snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)p->pid);
        m->pagemap_fd = fs_open(path, O_RDONLY | O_CLOEXEC, 0);
        m->mem_fd = p->mem_fd;
        return 0;
}

static void image_close(struct image *m) {
        maps_done(&m->maps);
        if (m->pagemap_fd >= 0)
                close(m->pagemap_fd);
}

/* ---- blocks ---------------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
        const struct found_block *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        return x->size_bytes > y->size_bytes ? -1 : x->size_bytes < y->size_bytes;
}

/* Sorted, and none in another: a pool's pieces lie in blocks of another allocator, and are what was asked for. */
static struct reach_block *sort_blocks(const struct process_graph *p, uint64_t **ret_seqs,
                                       uint32_t *ret_n) {
        struct reach_block *blocks = malloc(MAX(p->n_blocks, (size_t)1) * sizeof(*blocks));
        uint64_t *seqs = malloc(MAX(p->n_blocks, (size_t)1) * sizeof(*seqs));
        uint32_t n = 0;

        if (!blocks || !seqs || p->n_blocks >= REACH_MAX_BLOCKS) {
                free(blocks);
                free(seqs);
                return NULL;
        }
        if (p->n_blocks)
                qsort(p->blocks, p->n_blocks, sizeof(p->blocks[0]), by_address);
        for (size_t i = 0; i < p->n_blocks; i++) {
                const struct found_block *b = &p->blocks[i];

                while (n && blocks[n - 1].address + MAX(blocks[n - 1].size_bytes, (uint64_t)1) >
                                    b->address)
                        n--;
                blocks[n] = (struct reach_block){b->address, b->size_bytes, b->site, 0};
                seqs[n++] = b->seq;
        }
        *ret_seqs = seqs;
        *ret_n = n;
        return blocks;
}

/* ---- owners ---------------------------------------------------------------------------------------------- */

static uint64_t module_base(const struct maps *maps, const struct mapping *m) {
        while (m > maps->list.items && !strcmp(m[-1].path, m->path))
                m--;
        return m->begin - m->offset;
}

/* Numbers of mappings and threads become those of owners: only who owns a root is one. */
static int name_owners(const struct process_graph *p, const struct maps *maps,
                       struct heap_graph *h) {
        size_t n_all = maps->list.n + p->n_threads;
        uint32_t *owner_of = calloc(MAX(n_all, (size_t)1), sizeof(*owner_of)); /* number + 1 */

        h->owners = calloc(MAX(n_all, (size_t)1), sizeof(*h->owners));
        if (!owner_of || !h->owners) {
                free(owner_of);
                return -ENOMEM;
        }
        for (uint32_t i = 0; i < h->graph.n_roots; i++) {
                struct reach_root *r = &h->roots[i];
                bool is_thread = r->kind == ROOT_STACK || r->kind == ROOT_REGISTERS;
                size_t key = is_thread ? maps->list.n + r->owner : r->owner;

                if (!owner_of[key]) {
                        struct heap_owner *o = &h->owners[h->n_owners++];

                        owner_of[key] = h->n_owners;
                        if (is_thread) {
                                o->tid = (uint32_t)p->threads[r->owner].tid;
                                o->name = strndup(p->thread_names[r->owner],
                                                  sizeof(p->thread_names[0]));
                        } else {
                                const struct mapping *m = &maps->list.items[r->owner];

                                o->name = strdup(m->path);
                                o->base = r->kind == ROOT_DATA ? module_base(maps, m) : m->begin;
                        }
                }
                r->owner = owner_of[key] - 1;
        }
        free(owner_of);
        return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

static int scan_image(const struct process_graph *p, struct image *image,
                      const struct reach_block *blocks, uint32_t n_blocks, struct heap_graph *ret) {
        const struct reach_memory memory = {image_read, image_skip, image_is_constant,
                                            image_is_code, image};
        const struct process_view view = {.maps = &image->maps,
                                          .memory = &memory,
                                          .blocks = blocks,
                                          .n_blocks = n_blocks,
                                          .threads = p->threads,
                                          .n_threads = p->n_threads,
                                          .own = p->own,
                                          .n_own = p->n_own,
                                          .below_sp_bytes = p->below_sp_bytes};
        struct reach_scanned scanned = {0};
        struct process_roots roots;
        struct reach_scan scan = {.memory = &memory,
                                  .blocks = blocks,
                                  .n_blocks = n_blocks,
                                  .is_over = p->is_over,
                                  .done_bytes = p->done_bytes};
        int r;

        process_roots_find(&view, &roots);
        scan.tables = calloc(MAX(n_blocks, 1u), sizeof(*scan.tables));
        scan.roots = roots.list.items;
        scan.n_roots = (uint32_t)roots.list.n;
        if (p->all_bytes)
                atomic_store(p->all_bytes, reach_scan_bytes(&scan));
        r = reach_scan(&scan, &scanned);
        if (r == 0)
                r = root_words_split(&scanned, ret);
        if (r == 0 && scan.tables)
                r = block_types_find(&memory, scan.tables, ret);
        free(scan.tables);
        reach_scanned_done(&scanned);
        process_roots_done(&roots);
        return r;
}

int process_graph_make(const struct process_graph *p, struct heap_graph *ret, struct err *reterr) {
        struct image image = {.pagemap_fd = -1};
        struct reach_block *blocks;
        uint64_t *seqs = NULL;
        uint32_t n_blocks;
        int r = image_open(&image, p, reterr);

        if (r < 0)
                return r;
        *ret = (struct heap_graph){0};
        blocks = sort_blocks(p, &seqs, &n_blocks);
        r = blocks ? scan_image(p, &image, blocks, n_blocks, ret) : -ENOMEM;
        if (r == 0)
                r = name_owners(p, &image.maps, ret);
        if (r == 0 && p->has_seqs) {
                ret->seqs = seqs;
                seqs = NULL;
        }
        free(seqs);
        free(blocks);
        image_close(&image);
        if (r < 0)
                heap_graph_done(ret);
        return r == 0 ? 0 : err_set_errno(reterr, r, "cannot read what points to what");
}
