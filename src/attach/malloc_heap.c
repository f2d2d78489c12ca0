/* SPDX-License-Identifier: MIT */
#include "attach/malloc_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"

/* A chunk is a size with flags in its second word, and what is requested from its third on; the first belongs to the chunk before while that is in use. */
enum {
        FLAG_PREV_IN_USE = 1,
        FLAG_MMAPPED = 2,
        FLAG_BITS = 7,
        ALIGN_BYTES = 16,
        HEADER_BYTES = 16,
        MIN_CHUNK_BYTES = 32,
        PAGE_BYTES = 4096,
        CACHE_LISTS = 64, /* of a thread: tcache */
        CACHE_CHUNK_BYTES = 0x290,
        CACHE_MAX_COUNT = 127,
        FIRST_CHUNK_BYTES = 64 << 10, /* from the begin of the heap, at most */
        WORDS_PER_CHUNK =
                16, /* looked at, where all is as malloc leaves it: half of that at most */
        MAPPED_MAX_PAGES = 1 << 20, /* looked at for blocks that are mappings */
};

#define HEAP_MAX_BYTES                                                                             \
        ((uint64_t)64 << 20) /* of arenas but the main one: what their heaps are aligned to */

struct mapped {
        VEC(struct malloc_block) list;
        uint64_t n_bytes; /* with headers */
};

struct walk {
        const struct memory *memory;
        struct memory_span brk; /* the heap that grows by brk */
        struct memory_words words;
        struct map free; /* chunks in lists that their own flags do not tell: free_in() of them */
        VEC(struct malloc_block) chunks; /* the whole of each, header and all, that may be in use */
        struct map heaps;                /* of arenas, that were walked */
        uint32_t arena;                  /* that is walked, the main one being 0 */
        uint32_t n_caches;               /* of threads, that were seen */
        uint64_t n_steps_left;           /* no more chunks fit */
        uint64_t n_words_left;           /* to be looked at: what leads round and round ends */
        struct malloc_heap *heap;
};

/* ---- chunks ------------------------------------------------------------------------------------------------- */

static bool read_word(struct walk *w, uint64_t addr, uint64_t *ret) {
        if (!w->n_words_left)
                return false;
        w->n_words_left--;
        return memory_word(&w->words, addr, ret);
}

/* From a chunk on, memory without a gap. */
static uint64_t bytes_from(struct walk *w, uint64_t at) {
        const struct memory_span *span = memory_span_at(&w->words, at);

        return span ? span->end - at : 0;
}

enum { FREE_OWN = HEAP_FREE_N_KINDS }; /* malloc's own: no block, and not free either */

static uint64_t free_in(uint32_t kind, uint32_t number) {
        return (uint64_t)kind << 32 | number;
}

static void add_free(struct walk *w, uint64_t at, uint64_t n_bytes) {
        bool is_top = at == w->heap->arenas.items[w->arena].top;

        heap_frees_add(&w->heap->frees,
                       (struct heap_free){at, n_bytes, is_top ? HEAP_FREE_TOP : HEAP_FREE_BIN,
                                          w->arena, 1});
}

/* Up to `end`, where the last of them ends. A chunk is free if the next one says so. */
static void walk_chunks(struct walk *w, uint64_t at, uint64_t end) {
        while (at + MIN_CHUNK_BYTES <= end && w->n_steps_left) {
                uint64_t size, next_size, n_bytes;

                w->n_steps_left--;
                if (!read_word(w, at + 8, &size))
                        break;
                n_bytes = size & ~(uint64_t)FLAG_BITS;
                if (size & FLAG_MMAPPED || n_bytes < MIN_CHUNK_BYTES || n_bytes % ALIGN_BYTES ||
                    n_bytes > MIN(end - at, bytes_from(w, at)))
                        break; /* a heap's last chunks are shorter than any */
                if (at + n_bytes < end && read_word(w, at + n_bytes + 8, &next_size) &&
                    next_size & FLAG_PREV_IN_USE)
                        vec_push(&w->chunks, (struct malloc_block){at, n_bytes});
                else if (at + n_bytes < end || at == w->heap->arenas.items[w->arena].top)
                        add_free(w, at, n_bytes);
                at += n_bytes;
        }
        if (at + PAGE_BYTES < end)
                w->heap->unwalked_bytes += end - at;
}

/* The end of the top chunk, which is never in use. */
static uint64_t end_of_top(struct walk *w, const struct arena_place *a) {
        uint64_t size;

        return read_word(w, a->top + 8, &size) ? a->top + (size & ~(uint64_t)FLAG_BITS) : 0;
}

/* From header to header one comes to the top. */
static bool leads_to(struct walk *w, uint64_t at, uint64_t top) {
        while (at < top) {
                uint64_t size, n_bytes;

                if (!read_word(w, at + 8, &size))
                        return false;
                n_bytes = size & ~(uint64_t)FLAG_BITS;
                if (size & FLAG_MMAPPED || n_bytes < MIN_CHUNK_BYTES || n_bytes % ALIGN_BYTES ||
                    n_bytes > top - at)
                        return false;
                at += n_bytes;
        }
        return at == top;
}

/* Others may have moved the break before malloc did: its first chunk is not always where the heap begins. */
static void walk_main(struct walk *w, const struct arena_place *a) {
        uint64_t begin = ALIGN_UP(w->brk.begin, (uint64_t)ALIGN_BYTES), at = begin;

        if (a->top < w->brk.begin || a->top >= w->brk.end)
                return;
        while (at < a->top && at - begin < FIRST_CHUNK_BYTES && !leads_to(w, at, a->top))
                at += ALIGN_BYTES;
        /* the top leads to itself: nothing was found before it, and something is there */
        if ((at < a->top || at == begin) && leads_to(w, at, a->top))
                walk_chunks(w, at, MIN(end_of_top(w, a), w->brk.end));
        else
                w->heap->unwalked_bytes += a->top - begin;
}

/* Its heaps, the last first: each begins with who it belongs to, the heap before, and its size. */
static void walk_other(struct walk *w, const struct arena_place *a) {
        uint64_t heap = a->top & -HEAP_MAX_BYTES, info[3];

        for (unsigned n = 0; heap && n < UINT16_MAX; n++) {
                bool is_first = heap == (a->at & -HEAP_MAX_BYTES);
                uint64_t begin = is_first ? a->end : heap + sizeof(info), end;
                bool is_new;

                map_put(&w->heaps, heap, 0, &is_new);
                if (!is_new || !read_word(w, heap, &info[0]) || info[0] != a->at ||
                    !read_word(w, heap + 8, &info[1]) || !read_word(w, heap + 16, &info[2]) ||
                    info[2] > HEAP_MAX_BYTES || info[1] % HEAP_MAX_BYTES)
                        return;
                end = heap + MIN(info[2], bytes_from(w, heap));
                if (a->top >= heap && a->top < end)
                        end = MIN(end, end_of_top(w, a));
                /* how long that is differs by version: the first chunk has a size, and the words before it have not */
                begin = ALIGN_UP(begin, (uint64_t)ALIGN_BYTES);
                for (unsigned k = 0; k < 8 && begin < end; k++, begin += ALIGN_BYTES) {
                        uint64_t size;

                        if (read_word(w, begin + 8, &size) && size & FLAG_PREV_IN_USE &&
                            (size & ~(uint64_t)FLAG_BITS) >= MIN_CHUNK_BYTES &&
                            (size & ~(uint64_t)FLAG_BITS) % ALIGN_BYTES == 0 &&
                            (size & ~(uint64_t)FLAG_BITS) <= end - begin)
                                break;
                }
                walk_chunks(w, begin, end);
                heap = is_first ? 0 : info[1];
        }
}

/* ---- free, though their flags say nothing of it ---------------------------------------------------------------- */

/* A link of a list: since 2.32 it is mixed with its own address. 0 at the end. */
static bool next_of(struct walk *w, uint64_t link, uint64_t *ret) {
        uint64_t plain, mixed;

        if (!read_word(w, link, &plain))
                return false;
        mixed = plain ^ link >> 12;
        *ret = !plain || (mixed && !memory_span_at(&w->words, mixed)) ? plain : mixed;
        return true;
}

static void walk_fast(struct walk *w, uint32_t arena) {
        const struct arena_place *a = &w->heap->arenas.items[arena];

        for (unsigned i = 0; i < ARENA_FAST_LISTS; i++)
                for (uint64_t at = a->fast[i]; at && at % ALIGN_BYTES == 0;) {
                        bool is_new;

                        *map_put(&w->free, at, 0, &is_new) = free_in(HEAP_FREE_FAST, arena);
                        if (!is_new || !next_of(w, at + HEADER_BYTES, &at))
                                break;
                }
}

static uint64_t chunk_size(struct walk *w, uint64_t at) {
        uint64_t size;

        return read_word(w, at + 8, &size) ? size & ~(uint64_t)FLAG_BITS : 0;
}

/* A thread's lists of free blocks: so many of each size, then the first of each. False: the chunk is something else. */
static bool walk_cache(struct walk *w, const struct malloc_block *c, bool marks) {
        uint16_t counts[CACHE_LISTS];
        uint64_t lists[CACHE_LISTS], n_all = 0;

        if (c->size_bytes != CACHE_CHUNK_BYTES ||
            !w->memory->read(w->memory->ctx, c->address + HEADER_BYTES, counts, sizeof(counts)) ||
            !w->memory->read(w->memory->ctx, c->address + HEADER_BYTES + sizeof(counts), lists,
                             sizeof(lists)))
                return false;
        for (unsigned i = 0; i < CACHE_LISTS; i++) {
                uint64_t at = lists[i];

                if (counts[i] > CACHE_MAX_COUNT || !counts[i] != !at)
                        return false;
                for (unsigned n = 0; n < counts[i]; n++) {
                        if (at % ALIGN_BYTES || at < HEADER_BYTES ||
                            chunk_size(w, at - HEADER_BYTES) != (uint64_t)(i + 2) * ALIGN_BYTES)
                                return false;
                        if (marks)
                                *map_put(&w->free, at - HEADER_BYTES, 0, NULL) =
                                        free_in(HEAP_FREE_THREAD, w->n_caches);
                        if (!next_of(w, at, &at))
                                return false;
                        n_all++;
                }
        }
        return n_all > 0;
}

static void find_free(struct walk *w) {
        for (size_t i = 0; i < w->heap->arenas.n; i++)
                walk_fast(w, (uint32_t)i);
        for (size_t i = 0; i < w->chunks.n; i++)
                /* the first chunk of the main heap is always one, be it empty */
                if (walk_cache(w, &w->chunks.items[i], false)) {
                        walk_cache(w, &w->chunks.items[i], true);
                        *map_put(&w->free, w->chunks.items[i].address, 0, NULL) =
                                free_in(FREE_OWN, 0);
                        w->n_caches++;
                }
        if (w->chunks.n && w->chunks.items[0].size_bytes == CACHE_CHUNK_BYTES)
                *map_put(&w->free, w->chunks.items[0].address, 0, NULL) = free_in(FREE_OWN, 0);
}

static int by_address(const void *a, const void *b) {
        const struct heap_free *x = a, *y = b;

        return (x->address > y->address) - (x->address < y->address);
}

/* What lists have is more than what was seen where an arena's memory has gaps. */
static void add_rest(struct walk *w, const struct arenas_found *sums) {
        uint64_t seen = 0, n_seen = 0;

        for (size_t i = 0; i < w->heap->frees.n; i++)
                if (w->heap->frees.items[i].kind != HEAP_FREE_THREAD) {
                        seen += w->heap->frees.items[i].size_bytes;
                        n_seen += w->heap->frees.items[i].n_blocks;
                }
        if (sums->free_bytes > seen)
                heap_frees_add(&w->heap->frees,
                               (struct heap_free){.size_bytes = sums->free_bytes - seen,
                                                  .kind = HEAP_FREE_REST,
                                                  .n_blocks = sums->n_free > n_seen
                                                                      ? sums->n_free - n_seen
                                                                      : 0});
}

/* ---- blocks that are mappings ------------------------------------------------------------------------------------- */

/* Whole pages; 0: no block that is a mapping begins there. */
static uint64_t mapped_bytes(struct walk *w, uint64_t at, uint64_t end) {
        uint64_t before, size, n_bytes;

        if (!read_word(w, at, &before) || !read_word(w, at + 8, &size))
                return 0;
        n_bytes = size & ~(uint64_t)FLAG_BITS;
        if ((size & FLAG_BITS) != FLAG_MMAPPED || before >= PAGE_BYTES || n_bytes < PAGE_BYTES ||
            n_bytes % PAGE_BYTES || n_bytes > end - at)
                return 0;
        return n_bytes;
}

/* One above the other, from where a mapping begins; is_thorough: or from any page on, as the kernel joins mappings. */
static void list_mapped(struct walk *w, bool is_thorough, struct mapped *ret) {
        uint64_t n_pages_left = MAPPED_MAX_PAGES;

        for (size_t i = 0; i < w->memory->n_spans; i++)
                for (uint64_t at = w->memory->spans[i].begin, end = w->memory->spans[i].end;
                     at + PAGE_BYTES <= end && n_pages_left; n_pages_left--) {
                        uint64_t n_bytes = mapped_bytes(w, at, end);

                        if (n_bytes)
                                vec_push(&ret->list, (struct malloc_block){at + HEADER_BYTES,
                                                                           n_bytes - HEADER_BYTES});
                        else if (!is_thorough)
                                break;
                        ret->n_bytes += n_bytes;
                        at += n_bytes ? n_bytes : PAGE_BYTES;
                }
}

/* What looks like one and is none shows in the sums that malloc keeps: then those count that stand where mappings begin. */
static void find_mapped(struct walk *w, const struct arenas_found *sums) {
        struct mapped plain = {0}, thorough = {0};
        bool is_known = sums->has_mmapped, is_all;

        list_mapped(w, false, &plain);
        is_all = !is_known || plain.list.n >= sums->n_mmapped;
        if (!is_all) {
                list_mapped(w, true, &thorough);
                if (thorough.list.n == sums->n_mmapped && thorough.n_bytes == sums->mmapped_bytes)
                        is_all = true;
        }
        for (size_t i = 0; is_all && i < thorough.list.n; i++)
                vec_push(&w->heap->blocks, thorough.list.items[i]);
        for (size_t i = 0; !(is_all && thorough.list.n) && i < plain.list.n; i++)
                vec_push(&w->heap->blocks, plain.list.items[i]);
        w->heap->n_unknown_mapped = is_all ? 0 : sums->n_mmapped - (uint32_t)plain.list.n;
        vec_free(&plain.list);
        vec_free(&thorough.list);
}

static void read_blocks(struct walk *w, const uint64_t *data, uint64_t addr, size_t n_words) {
        struct arenas_found sums;
        uint64_t in;

        walk_main(w, &w->heap->arenas.items[0]);
        for (size_t i = 1; i < w->heap->arenas.n; i++) {
                w->arena = (uint32_t)i;
                walk_other(w, &w->heap->arenas.items[i]);
        }
        find_free(w);
        for (size_t i = 0; i < w->chunks.n; i++) {
                const struct malloc_block *c = &w->chunks.items[i];

                if (!map_get(&w->free, c->address, &in))
                        vec_push(&w->heap->blocks, (struct malloc_block){c->address + HEADER_BYTES,
                                                                         c->size_bytes - 8});
                else if (in >> 32 != FREE_OWN)
                        heap_frees_add(&w->heap->frees,
                                       (struct heap_free){c->address, c->size_bytes,
                                                          (uint32_t)(in >> 32), (uint32_t)in, 1});
        }
        if (w->heap->frees.n)
                qsort(w->heap->frees.items, w->heap->frees.n, sizeof(w->heap->frees.items[0]),
                      by_address);
        if (arenas_read(w->memory, addr, data, n_words, &sums))
                add_rest(w, &sums);
        else
                sums.has_mmapped = false;
        find_mapped(w, &sums);
}

bool malloc_heap_walk(struct malloc_heap *h, const struct malloc_memory *m, bool wants_blocks) {
        struct walk *w = calloc(1, sizeof(*w));
        bool is_found;

        if (!w)
                abort();
        *h = (struct malloc_heap){0};
        w->memory = &m->memory;
        w->brk = m->brk;
        w->heap = h;
        w->words = (struct memory_words){.memory = &m->memory, .round = 1};
        w->n_steps_left = memory_all_bytes(&m->memory) / MIN_CHUNK_BYTES + 1;
        w->n_words_left = w->n_steps_left * WORDS_PER_CHUNK;
        is_found = arenas_list(&m->memory, m->addr, m->data, m->n_words, &h->arenas);
        if (is_found && wants_blocks)
                read_blocks(w, m->data, m->addr, m->n_words);
        memory_words_free(&w->words);
        map_done(&w->free);
        map_done(&w->heaps);
        vec_free(&w->chunks);
        free(w);
        return is_found;
}

void malloc_heap_done(struct malloc_heap *h) {
        vec_free(&h->arenas);
        vec_free(&h->blocks);
        vec_free(&h->frees);
}
