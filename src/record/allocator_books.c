/* SPDX-License-Identifier: MIT */
#include "record/allocator_books.h"

#include <stdio.h>

#include "base/macros.h"
#include "base/map.h"

enum {
        MAX_ROWS = 1000, /* of an allocator: the rest of a kind is one row */
        GLIBC_LINKS_BYTES = 48,
        GLIBC_TOP_BYTES = 33, /* at least so much of the top stays */
};

/* How a row is called; %u is the arena or the cache. */
static const struct {
        const char *name, *rest;
} names[HEAP_FREE_N_KINDS] = {
        [HEAP_FREE_THREAD] = {"thread cache %u", "other thread caches"},
        [HEAP_FREE_FAST] = {"arena %u: fast bins", "other arenas: fast bins"},
        [HEAP_FREE_BIN] = {"arena %u: bins", "other arenas: bins"},
        [HEAP_FREE_TOP] = {"arena %u: top", "other arenas: top"},
        [HEAP_FREE_REST] = {"glibc: free, unlisted", ""},
        [HEAP_FREE_SLAB] = {"arena %u: slabs", "other arenas: slabs"},
        [HEAP_FREE_DIRTY] = {"arena %u: dirty", "other arenas: dirty"},
        [HEAP_FREE_MUZZY] = {"arena %u: muzzy", "other arenas: muzzy"},
        [HEAP_FREE_CACHED] = {"thread caches", ""},
        [HEAP_FREE_BLOCK] = {"free blocks in pages", ""},
        [HEAP_FREE_PAGE] = {"pages without a block", ""},
};

/* ---- what would be given back --------------------------------------------------------------------- */

/* Free chunks side by side that a trim of glibc makes one of: it joins those in fast bins with their neighbours first. Of other kinds always one alone. */
struct joined {
        size_t end; /* its last is before that one */
        uint64_t releasable_bytes;
};

static bool are_joined(const struct heap_free *a, const struct heap_free *b) {
        return a->kind >= HEAP_FREE_FAST && b->kind >= HEAP_FREE_FAST && a->kind <= HEAP_FREE_BIN &&
               b->kind <= HEAP_FREE_TOP && a->number == b->number && a->address &&
               a->address + a->size_bytes == b->address;
}

/* Of the main arena's top all but a little, of others' nothing. */
static uint64_t top_bytes(uint32_t arena, uint64_t begin, uint64_t end,
                          const struct page_set *pages) {
        uint64_t keep;

        if (arena || end - begin < GLIBC_TOP_BYTES)
                return 0;
        keep = end - begin - ((end - begin - GLIBC_TOP_BYTES) & ~(pages->page_bytes - 1));
        return page_set_whole_bytes(pages, begin + keep, end);
}

/* Whole pages of a free chunk behind its links. */
static uint64_t chunk_bytes(uint64_t begin, uint64_t end, const struct page_set *pages) {
        return end - begin > GLIBC_LINKS_BYTES + pages->page_bytes - 1
                       ? page_set_whole_bytes(pages, begin + GLIBC_LINKS_BYTES, end)
                       : 0;
}

/* The others' decay, or collect, gives back what is wholly free. */
static struct joined joined_from(const heap_frees *frees, size_t first,
                                 const struct page_set *pages) {
        const struct heap_free *f = &frees->items[first], *last = f;
        struct joined j = {first + 1, 0};
        uint64_t end;

        while (j.end < frees->n && are_joined(last, &frees->items[j.end]))
                last = &frees->items[j.end++];
        end = last->address + last->size_bytes;
        switch (last->kind) {
        case HEAP_FREE_FAST:
        case HEAP_FREE_BIN: j.releasable_bytes = chunk_bytes(f->address, end, pages); break;
        case HEAP_FREE_TOP:
                j.releasable_bytes = top_bytes(f->number, f->address, end, pages);
                break;
        case HEAP_FREE_DIRTY:
        case HEAP_FREE_MUZZY:
        case HEAP_FREE_PAGE:
                j.releasable_bytes = page_set_whole_bytes(pages, f->address, end);
                break;
        default: break;
        }
        return j;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static uint32_t name_row(struct resident *r, enum heap_free_kind kind, uint32_t number,
                         bool is_rest) {
        char text[64];

        if (is_rest)
                return resident_add_name(r, names[kind].rest);
        /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): from the table above */
        snprintf(text, sizeof(text), names[kind].name,
                 kind == HEAP_FREE_THREAD ? number + 1 : number);
        return resident_add_name(r, text);
}

void allocator_books_add(struct resident *r, struct resident_allocator a, const heap_frees *frees,
                         enum heap_free_kind first, unsigned n_kinds,
                         const struct page_set *pages) {
        struct map row_of = {0};
        struct joined joined = {0};

        a.first_free = (uint32_t)r->frees.n;
        for (size_t i = 0; i < frees->n; i++) {
                const struct heap_free *f = &frees->items[i];
                bool is_rest = f->number >= MAX_ROWS / 4, is_new;
                struct resident_free *row;
                uint64_t *at, part_bytes;

                if (i == joined.end)
                        joined = joined_from(frees, i, pages);
                if (f->kind < (uint32_t)first || f->kind >= (uint32_t)first + n_kinds)
                        continue;
                at = map_put(&row_of,
                             (uint64_t)f->kind << 32 | MIN(f->number, (uint32_t)MAX_ROWS / 4),
                             r->frees.n, &is_new);
                if (is_new)
                        vec_push(&r->frees,
                                 (struct resident_free){
                                         .name = name_row(r, f->kind, f->number, is_rest)});
                row = &r->frees.items[*at];
                row->bytes += f->size_bytes;
                row->n_blocks += f->n_blocks;
                part_bytes = MIN(joined.releasable_bytes, f->size_bytes);
                joined.releasable_bytes -= part_bytes;
                row->releasable_bytes += part_bytes;
        }
        a.n_frees = (uint32_t)r->frees.n - a.first_free;
        vec_push(&r->allocators, a);
        map_done(&row_of);
}
