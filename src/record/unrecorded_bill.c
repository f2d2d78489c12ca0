/* SPDX-License-Identifier: MIT */
#include "record/unrecorded_bill.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/frozen.h"
#include "attach/frozen_check.h"
#include "attach/malloc_heap.h"
#include "attach/other_heaps.h"
#include "record/allocator_books.h"
#include "resident/page_walk.h"
#include "resident/resident_take.h"

enum { N_TRIES = 4 }; /* a thread may be inside its allocator when it is stopped */

typedef VEC(struct walk_block) block_list;

static void add_block(block_list *list, uint64_t address, uint64_t size_bytes) {
        vec_push(list, (struct walk_block){.address = address, .size_bytes = size_bytes});
}

/* An allocator that has nothing is none of the process's. */
static void add_glibc(block_list *list, struct resident *r, const struct malloc_heap *h,
                      const struct page_set *pages) {
        struct resident_allocator a = {.n_blocks = h->blocks.n};

        for (size_t i = 0; i < h->blocks.n; i++) {
                a.usable_bytes += h->blocks.items[i].size_bytes;
                add_block(list, h->blocks.items[i].address, h->blocks.items[i].size_bytes);
        }
        if (!h->blocks.n && !h->frees.n)
                return;
        a.name = resident_add_name(r, "glibc");
        allocator_books_add(r, a, &h->frees, HEAP_FREE_THREAD,
                            HEAP_FREE_REST - HEAP_FREE_THREAD + 1, pages);
}

static void add_others(block_list *list, struct resident *r, const struct other_heaps *h,
                       const struct page_set *pages) {
        static const struct {
                enum heap_free_kind first;
                unsigned n;
        } kinds[N_OTHER_HEAPS] = {
                [OTHER_JEMALLOC] = {HEAP_FREE_SLAB, HEAP_FREE_CACHED - HEAP_FREE_SLAB + 1},
                [OTHER_MIMALLOC] = {HEAP_FREE_BLOCK, HEAP_FREE_PAGE - HEAP_FREE_BLOCK + 1},
        };

        for (size_t i = 0; i < h->list.blocks.n; i++)
                add_block(list, h->list.blocks.items[i].address,
                          h->list.blocks.items[i].size_bytes);
        for (size_t i = 0; i < N_OTHER_HEAPS; i++) {
                struct resident_allocator a = {.n_blocks = h->heaps[i].n_blocks,
                                               .usable_bytes = h->heaps[i].usable_bytes};

                if (!h->heaps[i].name)
                        continue;
                a.name = resident_add_name(r, h->heaps[i].name);
                allocator_books_add(r, a, &h->list.frees, kinds[i].first, kinds[i].n, pages);
        }
}

/* -EAGAIN: another moment may do. */
static int take_blocks(block_list *list, const struct frozen *f, struct resident *r,
                       const struct page_set *pages, enum size_model *ret_model,
                       struct err *ret_why) {
        struct malloc_heap heap;
        struct other_heaps heaps;
        bool has_libc = malloc_heap_read(&heap, f->copy, f->mem_fd, true);
        const char *missing;
        size_t n_others;

        add_glibc(list, r, &heap, pages);
        malloc_heap_done(&heap);
        other_heaps_read(&heaps, f->copy, f->mem_fd);
        add_others(list, r, &heaps, pages);
        missing = heaps.missing;
        n_others = heaps.list.blocks.n;
        other_heaps_done(&heaps);
        if (missing)
                return err_set(ret_why, -EAGAIN,
                               "it allocates with %s, whose blocks silt cannot list", missing);
        if (!has_libc && !n_others)
                return err_set(ret_why, -ENOTSUP, "it has no malloc that silt can read");
        *ret_model = n_others ? SIZE_UNKNOWN : SIZE_GLIBC;
        return 0;
}

/* What holds no block is taken for mapped by the program itself: nobody saw who did. */
static void mark_mapped(struct page_set *s, const block_list *list) {
        bool *has = calloc(s->runs.n + 1, sizeof(*has));

        for (size_t i = 0; has && i < list->n; i++) {
                size_t low = 0, high = s->runs.n;

                while (low < high) {
                        size_t mid = (low + high) / 2;

                        if (s->runs.items[mid].begin <= list->items[i].address)
                                low = mid + 1;
                        else
                                high = mid;
                }
                if (low)
                        has[low - 1] = true;
        }
        for (size_t i = 0; has && i < s->runs.n; i++)
                s->runs.items[i].is_mapped = !has[i];
        free(has);
}

/* Pages first: once it is copied, all of them are shared with the copy. */
static int take_once(pid_t pid, struct resident *r, struct err *ret_why, struct err *reterr) {
        struct smaps_context c = {.pagemap_fd = -1};
        enum size_model model = SIZE_UNKNOWN;
        struct page_set pages = {0};
        block_list list = {0};
        struct frozen f;
        int x = resident_look(r, &c, pid, reterr), y = -ENOTSUP;

        if (x == 0) {
                page_set_read(&pages, r, c.pagemap_fd, NULL, 0);
                y = frozen_make(&f, pid, NULL, NULL, ret_why);
        }
        if (x == 0 && y == 0) {
                y = take_blocks(&list, &f, r, &pages, &model, ret_why);
                frozen_end(&f, &(struct err){0});
                vec_free(&f.threads);
        }
        r->has_blocks = x == 0 && y == 0;
        if (r->has_blocks) {
                mark_mapped(&pages, &list);
                page_walk(r, &(struct page_walk){&pages, model, list.items, list.n});
                resident_cap_areas(r);
        }
        smaps_context_done(&c);
        page_set_done(&pages);
        vec_free(&list);
        return x < 0 ? x : y == -EAGAIN ? -EAGAIN : y < 0 ? -ENOTSUP : 0;
}

int unrecorded_bill_take(pid_t pid, struct resident *ret, struct err *ret_why, struct err *reterr) {
        int r = frozen_check(pid, ret_why);

        for (unsigned i = 0; r >= 0 && i < N_TRIES; i++) {
                r = take_once(pid, ret, ret_why, reterr);
                if (r == 0)
                        *ret_why = (struct err){0};
                if (r == 0)
                        return 0;
                resident_done(ret);
                r = r == -EAGAIN ? 0 : r;
        }
        return resident_take(ret, pid, reterr);
}
