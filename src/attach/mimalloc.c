/* SPDX-License-Identifier: MIT */
#include "attach/mimalloc.h"

#include <stdlib.h>
#include <string.h>

#include "attach/layouts.h"
#include "base/macros.h"

enum {
        N_SIZES = 73,        /* queues of a heap; two more are for other things */
        QUEUE_WORDS = 3,     /* first and last page, bytes of their blocks */
        NEW_QUEUE_WORDS = 4, /* since 3.0: the number of pages before these */
        HEAP_WORDS = 512,    /* before and after the queues: where the rest of a heap is */
        SLICE_BYTES = 65536,
        MAX_ENTRIES = 512, /* slices in a segment that is not of one huge block */
        MAX_IMAGE_BYTES = 512 + (MAX_ENTRIES + 1) * LAYOUT_MAX_PAGE_BYTES,
        MAX_PLACES = 1 << 18, /* where segments may be */
        MAX_INFO_SLICES = 8,
        N_TRIES = 50, /* of a segment that changes while it is read */
};

#define SEGMENT_BYTES (UINT64_C(32) << 20)   /* and what its address is a multiple of */
#define HUGE_BLOCK_BYTES (UINT64_C(2) << 30) /* older ones have no larger number */

struct segment_figures {
        uint64_t n_slices, n_info_slices;
        uint32_t kind; /* 1: of one huge block */
        uint32_t reserved;
        uint64_t n_entries, thread;
};

struct sums {
        uint64_t held_bytes, used_bytes;
        uint64_t n_pages;
        uint64_t n_between; /* slices that are no page yet, or no more: blocks of one byte */
};

struct walk {
        struct memory_words words;
        const struct mimalloc_layout *layouts;
        size_t n_layouts;
        struct sums sums[LAYOUTS_MAX];
        unsigned possible; /* layouts that made sense of every segment so far, by bit */
        uint32_t n_segments;
        uint64_t all_bytes;
        uint64_t first, end;      /* of the first segment, of the last */
        mimalloc_page_fn page_fn; /* or NULL */
        void *page_ctx;
        bool is_telling;
        uint64_t at; /* the segment that is read */
        size_t n_image_bytes;
        uint8_t image[MAX_IMAGE_BYTES];
};

static uint64_t number_at(const struct walk *w, size_t off, size_t n_bytes) {
        uint64_t value = 0;

        memcpy(&value, w->image + off, n_bytes);
        return value;
}

/* ---- segments ---------------------------------------------------------------------------------------------- */

/* Of a block that another thread has released, the address has two bits more. */
static void tell_page(const struct walk *w, const struct mimalloc_layout *l, size_t off,
                      const struct mimalloc_page *figures) {
        struct mimalloc_page p = *figures;

        if (!w->is_telling)
                return;
        p.begin = w->at + (off - l->slices_off) / l->page_bytes * SLICE_BYTES;
        p.n_ever = (uint32_t)number_at(w, off + 10, 2);
        p.n_room = (uint32_t)number_at(w, off + 12, 2);
        for (size_t i = 0; i < N_MIMALLOC_FREE; i++)
                p.free[i] = number_at(w, off + l->free_offs[i], 8);
        p.free[MIMALLOC_FREED_BY_OTHERS] &= ~(uint64_t)3;
        p.first = l->first_off ? number_at(w, off + l->first_off, 8) : 0;
        p.delayed = number_at(w, off + l->heap_off, 8) + l->delayed_off;
        w->page_fn(w->page_ctx, &p);
}

/* A page has so many blocks, of which so many were ever used, of which so many are. */
static bool add_page(const struct walk *w, const struct mimalloc_layout *l, size_t off,
                     uint64_t n_slices, struct sums *to) {
        uint64_t n_used = number_at(w, off + l->used_off, l->used_bytes);
        uint64_t bytes = number_at(w, off + l->size_off, l->size_bytes);
        uint64_t n_ever = number_at(w, off + 10, 2), n_room = number_at(w, off + 12, 2);

        if (l->size_bytes == 4 && bytes == HUGE_BLOCK_BYTES)
                bytes = n_slices * SLICE_BYTES;
        if (n_used > n_ever || n_ever > n_room || n_slices > w->all_bytes / SLICE_BYTES ||
            (n_room && bytes > n_slices * SLICE_BYTES / n_room))
                return false;
        to->n_pages++;
        to->held_bytes += n_slices * SLICE_BYTES;
        to->used_bytes += n_used * bytes;
        tell_page(w, l, off,
                  &(struct mimalloc_page){.n_bytes = n_slices * SLICE_BYTES,
                                          .block_bytes = bytes,
                                          .n_used = (uint32_t)n_used});
        return true;
}

/* Slices are pages, or free, one after the other to the end; the first ones are what is read here. */
static bool add_slices(const struct walk *w, const struct mimalloc_layout *l,
                       const struct segment_figures *f, struct sums *to) {
        uint64_t at = 0;

        while (at < f->n_entries) {
                size_t off = l->slices_off + (size_t)at * l->page_bytes;
                uint64_t n = number_at(w, off, 4), bytes;

                if (!n || number_at(w, off + 4, 4) || (at == 0 && n != f->n_info_slices) ||
                    n > f->n_slices - at)
                        return false;
                bytes = number_at(w, off + l->size_off, l->size_bytes);
                to->n_between += bytes == 1;
                if (at == 0)
                        tell_page(w, l, off,
                                  &(struct mimalloc_page){.n_bytes = n * SLICE_BYTES,
                                                          .is_info = true});
                if (at && bytes > 1 && !add_page(w, l, off, n, to))
                        return false;
                at += n;
        }
        return at == f->n_slices;
}

static bool add_segment(const struct walk *w, const struct mimalloc_layout *l, uint64_t at,
                        uint64_t cookie, struct sums *to, uint64_t *ret_n_slices) {
        uint64_t n_pages = number_at(w, l->cookie_off - 8, 8);
        struct segment_figures f;

        *to = (struct sums){0};
        memcpy(&f, w->image + l->slices_off - sizeof(f), sizeof(f));
        *ret_n_slices = f.n_slices;
        return number_at(w, l->cookie_off, 8) == (at ^ cookie) && f.kind <= 1 && f.n_entries &&
               f.n_entries <= MAX_ENTRIES && f.n_entries <= f.n_slices &&
               f.n_slices <= w->all_bytes / SLICE_BYTES && (f.kind || f.n_slices <= MAX_ENTRIES) &&
               f.n_info_slices && f.n_info_slices <= MAX_INFO_SLICES &&
               l->slices_off + f.n_entries * l->page_bytes <= w->n_image_bytes &&
               add_slices(w, l, &f, to) && n_pages >= to->n_pages &&
               n_pages <= to->n_pages + to->n_between;
}

/* As much of it as is there. */
static bool read_image(struct walk *w, uint64_t at) {
        const struct memory_span *span = memory_span_at(&w->words, at);

        w->at = at;
        w->n_image_bytes = span ? (size_t)MIN(span->end - at, (uint64_t)sizeof(w->image)) : 0;
        return w->n_image_bytes >= 4096 &&
               w->words.memory->read(w->words.memory->ctx, at, w->image, w->n_image_bytes);
}

/* It may be given back meanwhile, and is none then. */
static bool is_gone(struct walk *w, uint64_t at, uint64_t cookie) {
        if (!read_image(w, at))
                return true;
        for (size_t k = 0; k < w->n_layouts; k++)
                if (number_at(w, w->layouts[k].cookie_off, 8) == (at ^ cookie))
                        return false;
        return true;
}

/* Every layout that makes sense of it adds to its sums. False: none does. */
static bool read_segment(struct walk *w, uint64_t at, uint64_t cookie) {
        struct sums sums[LAYOUTS_MAX];
        uint64_t n_slices = 0, n = 0;
        unsigned fits = 0;

        for (unsigned i = 0; i < N_TRIES && !fits; i++) {
                if (is_gone(w, at, cookie))
                        return true;
                for (size_t k = 0; k < w->n_layouts; k++)
                        if (w->possible & 1u << k &&
                            add_segment(w, &w->layouts[k], at, cookie, &sums[k], &n)) {
                                fits |= 1u << k;
                                n_slices = n;
                        }
        }
        w->possible = fits;
        for (size_t k = 0; k < w->n_layouts; k++)
                if (fits & 1u << k) {
                        w->sums[k].held_bytes += sums[k].held_bytes;
                        w->sums[k].used_bytes += sums[k].used_bytes;
                        w->sums[k].n_pages += sums[k].n_pages;
                }
        if (!w->n_segments)
                w->first = at;
        w->end = at + n_slices * SLICE_BYTES;
        w->n_segments++;
        return fits != 0;
}

/* ---- recognising ------------------------------------------------------------------------------------------- */

/* A segment's cookie is that of the main heap, which is random, mixed with its address. 0: it is none, such as a pointer. */
static uint64_t cookie_at(struct walk *w, uint64_t at, uint32_t off) {
        uint64_t word;

        return memory_word(&w->words, at + off, &word) && word >> 48 ? at ^ word : 0;
}

static bool is_in_heap(const uint64_t *heap, size_t n_words, uint64_t cookie) {
        for (size_t i = 0; cookie && i < n_words; i++)
                if (heap[i] == cookie)
                        return true;
        return false;
}

static bool is_segment(struct walk *w, uint64_t at, const uint64_t *heap, size_t n_words,
                       uint64_t *cookie) {
        for (size_t i = 0; i < w->n_layouts; i++) {
                uint64_t one = cookie_at(w, at, w->layouts[i].cookie_off);

                if (*cookie ? one != *cookie : !is_in_heap(heap, n_words, one))
                        continue;
                *cookie = one;
                return true;
        }
        return false;
}

static bool read_segments(struct walk *w, const uint64_t *heap, size_t n_words, unsigned possible) {
        const struct memory *m = w->words.memory;
        uint64_t cookie = 0;
        uint32_t n_places = 0;

        w->possible = possible;
        w->n_segments = 0;
        w->end = 0;
        memset(w->sums, 0, sizeof(w->sums));
        for (size_t i = 0; i < m->n_spans; i++) {
                uint64_t at = ALIGN_UP(m->spans[i].begin, SEGMENT_BYTES);

                for (; at < m->spans[i].end && at >= m->spans[i].begin; at += SEGMENT_BYTES) {
                        if (++n_places > MAX_PLACES)
                                return false;
                        if (at >= w->end && is_segment(w, at, heap, n_words, &cookie) &&
                            !read_segment(w, at, cookie))
                                return false;
                }
        }
        return w->n_segments > 0 && read_image(w, w->first); /* there was time for all */
}

/* One way to look at it must be left, or several that say the same. */
static bool tell(const struct walk *w, struct mimalloc_found *ret) {
        const struct sums *one = NULL;

        for (size_t k = 0; k < w->n_layouts; k++) {
                if (!(w->possible & 1u << k))
                        continue;
                if (one && (one->held_bytes != w->sums[k].held_bytes ||
                            one->used_bytes != w->sums[k].used_bytes))
                        return false;
                one = &w->sums[k];
        }
        if (!one || !one->n_pages || one->held_bytes > w->all_bytes)
                return false;
        *ret = (struct mimalloc_found){one->held_bytes, one->used_bytes, w->n_segments};
        return true;
}

/* Once more, in the one way that is left. */
static bool tell_pages(struct walk *w, const uint64_t *heap, size_t n_words) {
        unsigned one = w->possible & -w->possible;
        bool is_same;

        w->is_telling = true;
        is_same = read_segments(w, heap, n_words, one);
        w->is_telling = false;
        return is_same;
}

/* Sizes in the queues of a heap: words, one to eight and then four to each doubling. */
static bool is_queues(const uint64_t *at, size_t queue_words) {
        uint64_t words = 1, step = 1;

        for (unsigned i = 0; i < N_SIZES; i++) {
                if (at[i * queue_words + queue_words - 1] != 8 * words)
                        return false;
                if (i == 0)
                        continue; /* the first two are the same */
                if (words >= 8 * step)
                        step *= 2;
                words += step;
        }
        return true;
}

/* The first page that one of them has; 0: the heap is not in use. */
static uint64_t page_in(struct walk *w, const uint64_t *at, size_t queue_words) {
        for (unsigned i = 0; i < N_SIZES; i++)
                if (at[i * queue_words] && memory_span_at(&w->words, at[i * queue_words]))
                        return at[i * queue_words];
        return 0;
}

/* A heap of a version whose pages are somewhere else. */
static uint64_t page_of_new_heap(struct walk *w, const uint64_t *data, size_t n_words) {
        const size_t n_queues = (size_t)N_SIZES * NEW_QUEUE_WORDS;
        uint64_t page = 0;

        for (size_t i = 0; i + n_queues <= n_words && !page; i++)
                if (data[i + NEW_QUEUE_WORDS - 1] == 8 && is_queues(data + i, NEW_QUEUE_WORDS))
                        page = page_in(w, data + i, NEW_QUEUE_WORDS);
        return page;
}

/* The queues of a heap are among the variables, and the cookie of its segments near them. */
static bool find_heap(struct walk *w, const uint64_t *data, size_t n_words,
                      struct mimalloc_found *ret) {
        const size_t n_queues = (size_t)N_SIZES * QUEUE_WORDS;
        const unsigned all = (1u << w->n_layouts) - 1;

        for (size_t i = 0; i + n_queues <= n_words; i++) {
                size_t begin = i > HEAP_WORDS ? i - HEAP_WORDS : 0;
                size_t end = MIN(i + n_queues + HEAP_WORDS, n_words);

                if (data[i + 2] != 8 || !is_queues(data + i, QUEUE_WORDS))
                        continue;
                if (read_segments(w, data + begin, end - begin, all) && tell(w, ret))
                        return !w->page_fn || tell_pages(w, data + begin, end - begin);
                ret->is_busy |= w->n_segments > 0;
                if (!w->n_segments && !ret->page)
                        ret->page = page_in(w, data + i, QUEUE_WORDS);
        }
        if (!ret->page)
                ret->page = page_of_new_heap(w, data, n_words);
        return false;
}

static struct walk *walk_new(const struct memory *m) {
        struct walk *w = calloc(1, sizeof(*w));

        if (!w)
                abort();
        w->words = (struct memory_words){.memory = m, .round = 1};
        w->layouts = layouts_known()->mimalloc;
        w->n_layouts = layouts_known()->n_mimalloc;
        w->all_bytes = memory_all_bytes(m);
        return w;
}

static void walk_free(struct walk *w) {
        memory_words_free(&w->words);
        free(w);
}

bool mimalloc_read(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct mimalloc_found *ret) {
        struct walk *w = walk_new(m);
        bool is_found;

        *ret = (struct mimalloc_found){0};
        is_found = find_heap(w, data, n_words, ret);
        walk_free(w);
        return is_found;
}

bool mimalloc_pages(const struct memory *m, const uint64_t *data, size_t n_words,
                    mimalloc_page_fn fn, void *ctx) {
        struct walk *w = walk_new(m);
        struct mimalloc_found found = {0};
        bool is_found;

        w->page_fn = fn;
        w->page_ctx = ctx;
        is_found = find_heap(w, data, n_words, &found);
        walk_free(w);
        return is_found;
}
