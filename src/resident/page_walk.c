/* SPDX-License-Identifier: MIT */
#include "resident/page_walk.h"

#include <stdlib.h>

#include "base/macros.h"
#include "base/map.h"

enum {
        PAGE_N_STACKS = 64, /* call paths that are told apart in a page */
        CELL_N_STACKS = 32,
        GLIBC_ARENA_BYTES = 64 << 20,   /* the second and further arenas begin at multiples of it */
        GLIBC_MAPPED_BYTES = 128 << 10, /* blocks that are mappings of their own, at least */
        GLIBC_MAPPED_OFFSET = 16,       /* of them, in their first page */
        SORT_MIN_BLOCKS = 256,          /* fewer are compared */
        DIGIT_BITS = 11,
        DIGIT_MASK = (1 << DIGIT_BITS) - 1,
        PIN_SHARE = 4, /* a page is pinned by blocks that have at most one part in so many of it */
};

struct stack_bytes {
        uint32_t stack, n_blocks;
        uint64_t bytes;
        uint64_t block_bytes; /* of blocks that begin there, all of each */
};

/* The page that is being added up. */
struct page_sum {
        uint64_t page; /* of the run */
        uint64_t asked_bytes, rounding_bytes, header_bytes;
        uint32_t n_blocks, n_stacks;
        bool is_open;
        struct stack_bytes stacks[PAGE_N_STACKS];
};

struct walker {
        struct resident *r;
        const struct page_walk *w;
        const struct page_run *run;
        struct resident_area *area;
        bool knows_no_blocks;
        bool is_heap;   /* pages of the run without a block are the heap's, too */
        uint64_t arena; /* that was looked at last, and what was found */
        bool arena_is_heap;
        struct page_sum page;
        uint64_t next_page; /* of the run: none before it is left */
        uint64_t cell_pages;
        struct resident_cell cell;
        struct stack_bytes cell_stacks[CELL_N_STACKS];
        uint32_t n_cell_stacks;
        struct map pin_by_stack;
        VEC(struct resident_pin) pins;
};

static int by_address(const void *a, const void *b) {
        const struct walk_block *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        return x->size_bytes > y->size_bytes ? -1 : x->size_bytes < y->size_bytes;
}

/* By digits of the address, the lowest first: blocks come out of a table of hashes, and comparing each with others takes ten times as long.
 * False: there is no memory for a copy. */
static bool sort_by_digits(struct walk_block *blocks, size_t n) {
        struct walk_block *copy = malloc(n * sizeof(*copy)), *from = blocks, *to = copy;
        uint64_t differing = 0;

        if (!copy)
                return false;
        for (size_t i = 1; i < n; i++)
                differing |= blocks[i].address ^ blocks[0].address;
        for (unsigned shift = 0; shift < 64 && differing >> shift; shift += DIGIT_BITS) {
                uint32_t places[1 << DIGIT_BITS] = {0}, next = 0;
                struct walk_block *swap = from;

                if (!(differing >> shift & DIGIT_MASK))
                        continue;
                for (size_t i = 0; i < n; i++)
                        places[from[i].address >> shift & DIGIT_MASK]++;
                for (size_t i = 0; i <= DIGIT_MASK; i++) {
                        uint32_t begin = next;

                        next += places[i];
                        places[i] = begin;
                }
                for (size_t i = 0; i < n; i++)
                        to[places[from[i].address >> shift & DIGIT_MASK]++] = from[i];
                from = to;
                to = swap;
        }
        if (from != blocks)
                memcpy(blocks, from, n * sizeof(*blocks));
        free(copy);
        return true;
}

/* Of several at one address the largest comes first. */
static void sort_blocks(struct walk_block *blocks, size_t n) {
        if (n < SORT_MIN_BLOCKS || n > UINT32_MAX || !sort_by_digits(blocks, n)) {
                if (n)
                        qsort(blocks, n, sizeof(blocks[0]), by_address);
                return;
        }
        for (size_t i = 0, end; i < n; i = end) {
                for (end = i + 1; end < n && blocks[end].address == blocks[i].address; end++)
                        ;
                if (end > i + 1)
                        qsort(&blocks[i], end - i, sizeof(blocks[0]), by_address);
        }
}

/* Of blocks in order, those that lie in no other; how many there are. */
static size_t leave_out_nested(struct walk_block *blocks, size_t n) {
        uint64_t end = 0;
        size_t kept = 0;

        for (size_t i = 0; i < n; i++) {
                if (blocks[i].address < end)
                        continue;
                end = blocks[i].address + blocks[i].size_bytes;
                blocks[kept++] = blocks[i];
        }
        return kept;
}

/* ---- cells ------------------------------------------------------------------------------------- */

/* Of two that share a cell neither is lost while they have more than the 32nd part: the smallest gives way. */
static void stack_add(struct stack_bytes *list, uint32_t *n, uint32_t cap, uint32_t stack,
                      uint64_t bytes, const struct walk_block *begun) {
        uint32_t least = 0, n_blocks = begun ? 1 : 0;
        uint64_t block_bytes = begun ? begun->size_bytes : 0;

        for (uint32_t i = 0; i < *n; i++) {
                if (list[i].stack == stack) {
                        list[i].bytes += bytes;
                        list[i].n_blocks += n_blocks;
                        list[i].block_bytes += block_bytes;
                        return;
                }
                if (list[i].bytes < list[least].bytes)
                        least = i;
        }
        if (*n < cap)
                list[(*n)++] = (struct stack_bytes){stack, n_blocks, bytes, block_bytes};
        else if (list[least].bytes > bytes)
                list[least].bytes -= bytes;
        else
                list[least] = (struct stack_bytes){stack, n_blocks, bytes - list[least].bytes,
                                                   block_bytes};
}

static const struct stack_bytes *stack_most(const struct stack_bytes *list, uint32_t n) {
        const struct stack_bytes *most = NULL;

        for (uint32_t i = 0; i < n; i++)
                if (!most || list[i].bytes > most->bytes)
                        most = &list[i];
        return most;
}

static void cell_end(struct walker *k) {
        const struct stack_bytes *most = stack_most(k->cell_stacks, k->n_cell_stacks);

        if (k->cell.n_resident_pages && k->r->cells.n < RESIDENT_MAX_CELLS) {
                k->cell.stack = most ? most->stack : 0;
                vec_push(&k->r->cells, k->cell);
        }
        k->cell = (struct resident_cell){0};
        k->n_cell_stacks = 0;
}

static void cell_at(struct walker *k, uint64_t page) {
        uint64_t first = page / k->cell_pages * k->cell_pages;
        uint64_t begin = k->run->begin + first * k->r->page_bytes;

        if (k->cell.n_pages && k->cell.begin == begin)
                return;
        cell_end(k);
        k->cell.begin = begin;
        k->cell.n_pages = (uint32_t)MIN(k->cell_pages, k->run->n_pages - first);
}

/* How long cells are: so that there are not too many that have a resident page. */
static uint64_t choose_cell_pages(const struct page_set *s) {
        for (uint64_t n = 1;; n *= 2) {
                size_t n_cells = 0;

                for (size_t i = 0; i < s->runs.n; i++) {
                        const struct page_run *run = &s->runs.items[i];
                        uint64_t last = UINT64_MAX;

                        for (uint64_t p = 0; p < run->n_pages; p++)
                                if (page_set_has(s, run, p) && p / n != last) {
                                        last = p / n;
                                        n_cells++;
                                }
                }
                if (n_cells <= RESIDENT_MAX_CELLS || n >= PAGE_SET_MAX_PAGES)
                        return n;
        }
}

/* ---- a page ------------------------------------------------------------------------------------ */

static void pin_page(struct walker *k, uint64_t free_bytes) {
        const struct stack_bytes *most = stack_most(k->page.stacks, k->page.n_stacks);
        struct resident_pin *pin;
        uint64_t *at;
        bool is_new;

        if (!most)
                return;
        at = map_put(&k->pin_by_stack, most->stack, k->pins.n, &is_new);
        if (is_new)
                vec_push(&k->pins, (struct resident_pin){.stack = most->stack});
        pin = &k->pins.items[*at];
        pin->n_pages++;
        pin->n_alone += k->page.n_blocks == 1;
        pin->n_blocks += most->n_blocks;
        pin->block_bytes += most->block_bytes;
        pin->free_bytes += free_bytes;
}

/* Whether one of the ranges, which are by address, has a part of [begin, end). */
static bool is_in(const struct smaps_range *ranges, size_t n, uint64_t begin, uint64_t end) {
        size_t low = 0, high = n;

        while (low < high) { /* the first that ends behind begin */
                size_t mid = (low + high) / 2;

                if (ranges[mid].end <= begin)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < n && ranges[low].begin < end;
}

/* first: the first block that does not end before the run. */
static bool run_is_heap(const struct walker *k, size_t first) {
        const struct page_walk *w = k->w;
        uint64_t begin = k->run->begin, end = begin + k->run->n_pages * k->r->page_bytes;

        if (k->run->is_mapped || k->run->is_zeroed)
                return false;
        if (k->knows_no_blocks || k->area->kind == RESIDENT_BRK)
                return true;
        if (w->model == SIZE_GLIBC)
                return false; /* by arenas */
        return (first < w->n_blocks && w->blocks[first].address < end &&
                w->blocks[first].address + w->blocks[first].size_bytes > begin) ||
               is_in(w->known, w->n_known, begin, end);
}

/* A large block of glibc's is a mapping of its own, and says nothing of its neighbours, which the kernel may have joined with it. */
static bool is_own_mapping(const struct walk_block *b, uint64_t page_bytes) {
        return b->address % page_bytes == GLIBC_MAPPED_OFFSET &&
               b->size_bytes >= GLIBC_MAPPED_BYTES;
}

/* Whether the stretch that one of glibc's arenas takes, or part of one, is an arena. */
static bool arena_is_heap(const struct walker *k, uint64_t begin) {
        const struct page_walk *w = k->w;
        size_t low = 0, high = w->n_blocks;

        for (size_t i = 0; i < k->r->arenas.n; i++)
                if (k->r->arenas.items[i] == begin)
                        return true;
        while (low < high) {
                size_t mid = (low + high) / 2;

                if (w->blocks[mid].address < begin)
                        low = mid + 1;
                else
                        high = mid;
        }
        for (; low < w->n_blocks && w->blocks[low].address - begin < GLIBC_ARENA_BYTES; low++)
                if (!is_own_mapping(&w->blocks[low], k->r->page_bytes))
                        return true;
        return false;
}

static bool page_is_heap(struct walker *k, uint64_t page) {
        uint64_t address = k->run->begin + page * k->r->page_bytes;
        uint64_t arena = address / GLIBC_ARENA_BYTES * GLIBC_ARENA_BYTES;

        if (k->is_heap || k->w->model != SIZE_GLIBC || k->run->is_mapped || k->run->is_zeroed)
                return k->is_heap;
        if (arena != k->arena) {
                k->arena = arena;
                k->arena_is_heap = arena_is_heap(k, arena);
        }
        return k->arena_is_heap;
}

static bool is_released(const struct walker *k, uint64_t page) {
        uint64_t at = k->run->begin + page * k->r->page_bytes;

        return is_in(k->w->released, k->w->n_released, at, at + k->r->page_bytes);
}

/* It was there when the pages were read, and is not any more. */
static void forget_page(struct walker *k) {
        struct resident_area *a = k->area;
        uint64_t bytes = k->r->page_bytes, pss = MIN(a->pss_bytes, bytes);

        a->rss_bytes -= MIN(a->rss_bytes, bytes);
        a->pss_bytes -= pss;
        a->anon_bytes -= MIN(a->anon_bytes, bytes);
        a->private_dirty_bytes -= MIN(a->private_dirty_bytes, bytes);
        a->huge_bytes = MIN(a->huge_bytes, a->rss_bytes);
        k->r->rss_bytes -= MIN(k->r->rss_bytes, bytes);
        k->r->pss_bytes -= MIN(k->r->pss_bytes, pss);
}

/* A page without a block. */
static void count_empty(struct walker *k, uint64_t page) {
        if (!page_set_has(k->w->pages, k->run, page))
                return;
        if (!page_is_heap(k, page)) {
                if (is_released(k, page))
                        forget_page(k);
                return;
        }
        k->r->heap.rss_bytes += k->r->page_bytes;
        k->r->heap.empty_bytes += k->r->page_bytes;
        k->r->heap.n_pages[0]++;
        k->area->heap_rss_bytes += k->r->page_bytes;
        cell_at(k, page);
        k->cell.n_resident_pages++;
}

static void page_end(struct walker *k) {
        struct resident_heap *h = &k->r->heap;
        struct page_sum *p = &k->page;
        uint64_t bytes = k->r->page_bytes, used;

        if (!p->is_open)
                return;
        p->is_open = false;
        k->next_page = p->page + 1;
        if (!page_set_has(k->w->pages, k->run, p->page))
                return;
        used = p->asked_bytes + p->rounding_bytes + p->header_bytes;
        h->rss_bytes += bytes;
        k->area->heap_rss_bytes += bytes;
        h->resident_asked_bytes += p->asked_bytes;
        k->area->resident_asked_bytes += p->asked_bytes;
        h->rounding_bytes += p->rounding_bytes;
        h->header_bytes += p->header_bytes;
        h->between_bytes += bytes - used;
        h->n_pages[MAX((p->asked_bytes * 8 + bytes - 1) / bytes, (uint64_t)1)]++;
        if (p->asked_bytes * PIN_SHARE <= bytes)
                pin_page(k, bytes - used);
        cell_at(k, p->page);
        k->cell.n_resident_pages++;
        k->cell.live_bytes += p->asked_bytes;
        for (uint32_t i = 0; i < p->n_stacks; i++)
                stack_add(k->cell_stacks, &k->n_cell_stacks, CELL_N_STACKS, p->stacks[i].stack,
                          p->stacks[i].bytes, NULL);
}

static void page_begin(struct walker *k, uint64_t page) {
        if (k->page.is_open && k->page.page == page)
                return;
        page_end(k);
        for (uint64_t p = k->next_page; p < page; p++)
                count_empty(k, p);
        k->page.page = k->next_page = page;
        k->page.asked_bytes = k->page.rounding_bytes = k->page.header_bytes = 0;
        k->page.n_blocks = k->page.n_stacks = 0;
        k->page.is_open = true;
}

enum part { PART_HEADER, PART_ASKED, PART_ROUNDING };

/* [begin, end) of the run's pages. */
static void put_segment(struct walker *k, const struct walk_block *b, uint64_t begin, uint64_t end,
                        enum part part) {
        uint64_t page_bytes = k->r->page_bytes,
                 run_end = k->run->begin + k->run->n_pages * page_bytes;

        begin = MAX(begin, k->run->begin);
        end = MIN(end, run_end);
        while (begin < end) {
                uint64_t page = (begin - k->run->begin) / page_bytes;
                uint64_t to = MIN(end, k->run->begin + (page + 1) * page_bytes), n = to - begin;

                page_begin(k, page);
                if (part == PART_HEADER)
                        k->page.header_bytes += n;
                else if (part == PART_ROUNDING)
                        k->page.rounding_bytes += n;
                if (part == PART_ASKED) {
                        k->page.asked_bytes += n;
                        k->page.n_blocks++;
                        stack_add(k->page.stacks, &k->page.n_stacks, PAGE_N_STACKS, b->stack, n,
                                  begin == b->address ? b : NULL); /* once, where it begins */
                }
                begin = to;
        }
}

/* ---- all of them ------------------------------------------------------------------------------- */

static void count_block(struct walker *k, const struct walk_block *b) {
        uint64_t page = (b->address - k->run->begin) / k->r->page_bytes;

        k->area->n_blocks++;
        k->area->asked_bytes += b->size_bytes;
        page_begin(k, page);
        cell_at(k, page); /* all pages before it are counted: cells rise */
        k->cell.n_blocks++;
        if (!b->time_ns)
                return;
        if (!k->cell.oldest_ns || b->time_ns < k->cell.oldest_ns)
                k->cell.oldest_ns = b->time_ns;
        k->cell.newest_ns = MAX(k->cell.newest_ns, b->time_ns);
}

/* A block may begin before the run and reach into it: *first is the first that does not end before it. */
static void walk_run(struct walker *k, size_t *first) {
        uint64_t begin = k->run->begin, end = begin + k->run->n_pages * k->r->page_bytes;
        const struct page_walk *w = k->w;
        uint64_t before = begin; /* what lies below belongs to the block before */

        k->next_page = 0;
        k->page.is_open = false;
        while (*first < w->n_blocks &&
               w->blocks[*first].address + w->blocks[*first].size_bytes < begin)
                ++*first;
        k->is_heap = run_is_heap(k, *first);
        k->arena = UINT64_MAX;
        for (size_t i = *first; i < w->n_blocks && w->blocks[i].address < end; i++) {
                const struct walk_block *b = &w->blocks[i];
                struct size_room room =
                        size_room_of(w->model, b->address, b->size_bytes, k->r->page_bytes);
                uint64_t next = i + 1 < w->n_blocks ? b[1].address : UINT64_MAX;
                uint64_t head = b->address - MIN(room.header_bytes, b->address);
                uint64_t asked_end = MIN(b->address + b->size_bytes, next), room_end;

                if (i + 1 < w->n_blocks) /* nothing of the next one's header */
                        next = MAX(next - MIN(next, size_room_of(w->model, next, b[1].size_bytes,
                                                                 k->r->page_bytes)
                                                            .header_bytes),
                                   asked_end);
                room_end = MAX(MIN(head + room.room_bytes, next), asked_end);
                put_segment(k, b, MAX(head, before), b->address, PART_HEADER);
                if (b->address >= begin)
                        count_block(k, b);
                put_segment(k, b, b->address, asked_end, PART_ASKED);
                put_segment(k, b, asked_end, room_end, PART_ROUNDING);
                before = room_end;
        }
        page_end(k);
        for (uint64_t p = k->next_page; p < k->run->n_pages; p++)
                count_empty(k, p);
        cell_end(k);
}

static int by_free(const void *a, const void *b) {
        const struct resident_pin *x = a, *y = b;

        if (x->free_bytes != y->free_bytes)
                return x->free_bytes < y->free_bytes ? 1 : -1;
        return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* An area that was not walked is the heap's where nothing is known to say otherwise. */
static void count_others(struct resident *r, const struct page_set *s) {
        size_t run = 0;

        for (size_t i = 0; i < r->areas.n; i++) {
                struct resident_area *a = &r->areas.items[i];
                bool is_walked;

                while (run < s->runs.n && s->runs.items[run].area < i)
                        run++;
                is_walked = run < s->runs.n && s->runs.items[run].area == i;
                if (!is_walked &&
                    (a->kind == RESIDENT_BRK ||
                     (a->kind == RESIDENT_ANON && resident_name(r, a->name)[0] != '/'))) {
                        a->heap_rss_bytes = a->rss_bytes;
                        r->heap.rss_bytes += a->rss_bytes;
                        r->heap.between_bytes += a->rss_bytes;
                }
                if (a->heap_rss_bytes) {
                        r->heap.swap_bytes += a->swap_bytes;
                        a->huge_bytes = MIN(a->huge_bytes, a->rss_bytes);
                        r->heap.huge_bytes += MIN(a->huge_bytes, a->heap_rss_bytes);
                }
        }
}

static uint64_t part_of(uint64_t bytes, uint64_t part, uint64_t whole) {
        return whole ? (uint64_t)((unsigned __int128)bytes * MIN(part, whole) / whole) : 0;
}

/* [begin, end) of an area; rest: what of its figures is left for what follows. */
static void put_piece(struct resident *to, struct resident_area *rest, const struct page_set *s,
                      uint64_t begin, uint64_t end) {
        uint64_t whole = rest->rss_bytes, rss = MIN(page_set_whole_bytes(s, begin, end), whole);
        struct resident_area a = *rest;

        if (begin >= end || !rss)
                return;
        a.begin = begin;
        a.size_bytes = end - begin;
        a.rss_bytes = rss;
        a.pss_bytes = part_of(rest->pss_bytes, rss, whole);
        a.private_dirty_bytes = part_of(rest->private_dirty_bytes, rss, whole);
        a.anon_bytes = part_of(rest->anon_bytes, rss, whole);
        a.swap_bytes = part_of(rest->swap_bytes, rss, whole);
        a.huge_bytes = part_of(rest->huge_bytes, rss, whole);
        rest->rss_bytes -= a.rss_bytes;
        rest->pss_bytes -= a.pss_bytes;
        rest->private_dirty_bytes -= a.private_dirty_bytes;
        rest->anon_bytes -= a.anon_bytes;
        rest->swap_bytes -= a.swap_bytes;
        rest->huge_bytes -= a.huge_bytes;
        vec_push(&to->areas, a);
}

/* An area without blocks loses its released stretches: the bill divides its bytes by addresses. */
static void cut_area(struct resident *to, const struct resident_area *a, const struct page_walk *w,
                     uint64_t page_bytes) {
        uint64_t at = a->begin, end = a->begin + a->size_bytes, mask = page_bytes - 1;
        struct resident_area rest = *a;

        for (size_t i = 0; i < w->n_released && at < end; i++) {
                if (w->released[i].end <= at || w->released[i].begin >= end)
                        continue;
                put_piece(to, &rest, w->pages, at, MAX(w->released[i].begin & ~mask, at));
                at = MIN(ALIGN_UP(w->released[i].end, page_bytes), end);
        }
        put_piece(to, &rest, w->pages, at, end);
}

static void cut_areas(struct resident *r, const struct page_walk *w) {
        struct resident cut = {0};
        size_t run = 0;

        for (size_t i = 0; i < r->areas.n; i++) {
                const struct resident_area *a = &r->areas.items[i];

                while (run < w->pages->runs.n && w->pages->runs.items[run].area < i)
                        run++;
                if (run < w->pages->runs.n && w->pages->runs.items[run].area == i &&
                    !a->heap_rss_bytes && !a->n_blocks &&
                    is_in(w->released, w->n_released, a->begin, a->begin + a->size_bytes))
                        cut_area(&cut, a, w, r->page_bytes);
                else
                        vec_push(&cut.areas, *a);
        }
        vec_free(&r->areas);
        r->areas.items = cut.areas.items;
        r->areas.n = cut.areas.n;
        r->areas.cap = cut.areas.cap;
}

static int by_begin(const void *a, const void *b) {
        const struct smaps_range *x = a, *y = b;

        return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* By address, none touches another; how many there are. */
static size_t join_ranges(struct smaps_range *ranges, size_t n) {
        size_t kept = 0;

        if (n)
                qsort(ranges, n, sizeof(ranges[0]), by_begin);
        for (size_t i = 0; i < n; i++) {
                if (ranges[i].begin >= ranges[i].end)
                        continue;
                if (kept && ranges[i].begin <= ranges[kept - 1].end)
                        ranges[kept - 1].end = MAX(ranges[kept - 1].end, ranges[i].end);
                else
                        ranges[kept++] = ranges[i];
        }
        return kept;
}

void page_walk(struct resident *r, struct page_walk *w) {
        struct walker *k = calloc(1, sizeof(*k));
        size_t first = 0;

        if (!k)
                abort();
        k->r = r;
        k->w = w;
        k->knows_no_blocks = !r->has_blocks || r->is_sampled;
        k->cell_pages = choose_cell_pages(w->pages);
        sort_blocks(w->blocks, w->n_blocks);
        w->n_blocks = leave_out_nested(w->blocks, w->n_blocks);
        w->n_released = join_ranges(w->released, w->n_released);
        for (size_t i = 0; i < w->n_blocks; i++)
                r->heap.asked_bytes += w->blocks[i].size_bytes;
        r->heap.n_blocks = w->n_blocks;
        for (size_t i = 0; i < w->pages->runs.n; i++) {
                k->run = &w->pages->runs.items[i];
                k->area = &r->areas.items[k->run->area];
                walk_run(k, &first);
        }
        count_others(r, w->pages);
        if (w->n_released)
                cut_areas(r, w);
        if (k->pins.n)
                qsort(k->pins.items, k->pins.n, sizeof(k->pins.items[0]), by_free);
        for (size_t i = 0; i < k->pins.n && i < RESIDENT_MAX_PINS; i++)
                vec_push(&r->pins, k->pins.items[i]);
        vec_free(&k->pins);
        map_done(&k->pin_by_stack);
        free(k);
}

void page_walk_estimate(struct resident *r, const struct page_set *pages, uint64_t n_blocks,
                        uint64_t live_bytes) {
        struct resident_heap *h = &r->heap;

        page_walk(r, &(struct page_walk){.pages = pages});
        h->n_blocks = n_blocks;
        h->asked_bytes = live_bytes;
        h->resident_asked_bytes = MIN(live_bytes, h->rss_bytes);
        h->between_bytes = h->rss_bytes - h->resident_asked_bytes;
        h->empty_bytes = 0;
        memset(h->n_pages, 0, sizeof(h->n_pages));
        vec_clear(&r->cells);
}
