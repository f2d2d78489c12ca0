/* SPDX-License-Identifier: MIT */
#include "reach/process_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reach/block_types.h"
#include "reach/containers.h"
#include "reach/process_image.h"
#include "reach/root_words.h"
#include "reach/source_head.h"

/* ---- blocks ---------------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
        const struct found_block *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        if (x->size_bytes != y->size_bytes)
                return x->size_bytes > y->size_bytes ? -1 : 1;
        return x->seq > y->seq ? -1 : x->seq < y->seq; /* the last one counts: that was recorded */
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

/* Then it may begin with a file's variables, which are another owner's. */
static bool is_behind_file(const struct maps *maps, const struct mapping *m) {
        return m > maps->list.items && m[-1].end == m->begin && m[-1].path[0] == '/';
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
                                o->base = r->kind == ROOT_DATA      ? module_base(maps, m)
                                          : is_behind_file(maps, m) ? r->begin
                                                                    : m->begin;
                        }
                }
                r->owner = owner_of[key] - 1;
        }
        free(owner_of);
        return 0;
}

/* ---- containers ------------------------------------------------------------------------------------------ */

/* Whether a part of it is in C++: vectors and strings of its library are told by few words, which may be something else in a program that
 * has none. */
static bool has_cxx(const struct maps *maps, const struct heap_graph *h) {
        for (size_t i = 0; i < maps->list.n; i++)
                if (strstr(maps->list.items[i].path, "/libstdc++.so"))
                        return true;
        for (uint32_t i = 0; i < h->n_types; i++)
                if (h->types[i].kind == TYPE_CXX)
                        return true;
        return false;
}

/* ---- heads ----------------------------------------------------------------------------------------------- */

/* Of too many the first ones: how many others there are is told. */
static void keep_heads(heap_head_list *from, struct heap_graph *h) {
        h->n_heads = (uint32_t)MIN(from->n, (size_t)HEAP_MAX_HEADS);
        h->n_unkept_heads = (uint32_t)(from->n - h->n_heads);
        h->heads = from->items;
        *from = (heap_head_list){0};
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

static int scan_image(const struct process_graph *p, struct process_image *image,
                      const struct reach_block *blocks, uint32_t n_blocks, struct heap_graph *ret) {
        const struct reach_memory memory = process_image_memory(image);
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
                                  .wants_hints = true,
                                  .wants_heads = true,
                                  .has_exact_sizes = p->has_seqs,
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
        if (r == 0)
                r = containers_find(&memory, blocks, n_blocks, has_cxx(&image->maps, ret),
                                    &scanned.hints, ret);
        if (r == 0) {
                source_head_add_callbacks(&memory, blocks, n_blocks, &scanned.heads);
                keep_heads(&scanned.heads, ret);
        }
        free(scan.tables);
        reach_scanned_done(&scanned);
        process_roots_done(&roots);
        return r;
}

/* Where memory is scarce the kernel kills the copy first. What was not read by then would count as pointing nowhere. */
static bool is_copy_gone(const struct process_graph *p) {
        uint8_t byte;

        /* of a process without memory every read is at its end; of another one this address cannot be read */
        return pread(p->mem_fd, &byte, 1, 0) == 0;
}

int process_graph_make(const struct process_graph *p, struct heap_graph *ret, struct err *reterr) {
        const struct process_image_source source = {p->pid, p->mem_fd, p->living, p->before};
        struct process_image image = {0};
        struct reach_block *blocks;
        uint64_t *seqs = NULL;
        uint32_t n_blocks;
        int r = process_image_open(&image, &source, reterr);

        if (r < 0)
                return r;
        *ret = (struct heap_graph){0};
        blocks = sort_blocks(p, &seqs, &n_blocks);
        r = blocks ? scan_image(p, &image, blocks, n_blocks, ret) : -ENOMEM;
        if (r == 0)
                r = name_owners(p, &image.maps, ret);
        if (r == 0 && is_copy_gone(p))
                r = -ESRCH;
        if (r == 0 && p->has_seqs) {
                ret->seqs = seqs;
                seqs = NULL;
        }
        free(seqs);
        free(blocks);
        process_image_close(&image);
        if (r < 0)
                heap_graph_done(ret);
        if (r == -ESRCH)
                return err_set(reterr, r,
                               "the kernel killed the copy of the process before silt had read it");
        return r == 0 ? 0 : err_set_errno(reterr, r, "cannot read pointers from its memory");
}
