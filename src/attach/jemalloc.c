/* SPDX-License-Identifier: MIT */
#include "attach/jemalloc.h"

#include <stdlib.h>
#include <string.h>

#include "attach/jemalloc_pages.h"
#include "attach/layouts.h"
#include "base/macros.h"

enum {
        N_ARENAS = 4095,         /* pointers in the table of arenas */
        MAX_BINS_OFF = 96 << 10, /* of an arena: they are its end */
        MAX_BIN_BYTES = 288,
        MAX_ARENA_BYTES = 512 << 10,
        LINE_BYTES = 64,   /* what an arena is a multiple of */
        MIN_USED_BINS = 2, /* to know an arena by */
        MAX_PLACES = 64,   /* where the table of arenas may begin */
        MAX_ANCHORS = 256, /* where an arena's bins may begin */
        N_TRIES = 50,      /* of an arena that changes while it is read */
        N_PAGE_TRIES = 8,  /* of its pages, where the rest of it adds up */
        N_STEPS = 4 << 20, /* classes looked at: what was read once has no time-out */
};

/* ---- arenas ------------------------------------------------------------------------------------------------ */

static const uint16_t mutexes[] = {120, 112}; /* bytes: aarch64, x86_64 */

/* Words of a large class's figures; other words follow. What is in use is not kept, and the last word is 0: it comes out as a difference. */
enum { LARGE_ALLOCS, LARGE_FREES, LARGE_SUM };

struct bin_figures {
        uint64_t n_allocs, n_frees, n_requests, n_in_use, n_fills, n_flushes;
        uint64_t n_slabs_ever, n_slabs_again, n_slabs, n_slabs_partial;
};

struct shape {
        const struct jemalloc_layout *layout;
        uint32_t mutex_bytes;
        uint32_t base_off; /* of the pointer at its base */
        uint32_t bins_off;
        bool lacks_figures; /* built without statistics: active pages are all it counts */
};

struct image {
        uint64_t at;
        uint32_t index; /* in the table of arenas */
        size_t n_bytes;
        uint8_t bytes[MAX_ARENA_BYTES];
};

struct sums {
        uint64_t held_bytes, used_bytes;
        uint64_t n_large;
        uint32_t n_used_bins;
        bool has_pages;
        struct jemalloc_pages pages;
};

struct walk {
        struct memory_words words;
        struct jemalloc_tables tables;
        struct image image;
        struct shape shape;
        uint64_t all_bytes;
        uint32_t n_steps_left;
};

static uint64_t image_word(const struct image *a, size_t off) {
        uint64_t word;

        memcpy(&word, a->bytes + off, sizeof(word));
        return word;
}

static bool take_step(struct walk *w) {
        return w->n_steps_left && w->n_steps_left--;
}

/* Slabs that are not partly free are full, but the one that is being filled. */
static bool add_bin(struct walk *w, const struct bin_figures *b, unsigned class, struct sums *to) {
        const struct jemalloc_small *s = &w->tables.small[class];
        uint64_t n_full;

        if (!take_step(w) || b->n_allocs - b->n_frees != b->n_in_use ||
            b->n_slabs > w->all_bytes / s->slab_bytes || b->n_slabs > b->n_slabs_ever ||
            b->n_slabs_partial > b->n_slabs || b->n_in_use > b->n_slabs * s->n_regions)
                return false;
        n_full = b->n_slabs - b->n_slabs_partial;
        if (n_full > 1 && b->n_in_use < (n_full - 1) * s->n_regions)
                return false;
        to->held_bytes += b->n_slabs * s->slab_bytes;
        to->used_bytes += b->n_in_use * w->tables.class_bytes[class];
        to->n_used_bins += b->n_allocs > 0;
        return true;
}

static bool add_bins(struct walk *w, const struct shape *sh, struct sums *to) {
        size_t bin_bytes = sh->layout->bin_bytes + sh->mutex_bytes;
        size_t off = sh->bins_off + sh->mutex_bytes + sh->layout->figures_off;

        if (sh->bins_off + w->tables.n_bins * bin_bytes > w->image.n_bytes)
                return false;
        for (unsigned class = 0; class < w->tables.n_small; class ++)
                for (uint32_t i = 0; i < w->tables.small[class].n_shards; i++, off += bin_bytes) {
                        struct bin_figures b;

                        memcpy(&b, w->image.bytes + off, sizeof(b));
                        if (!add_bin(w, &b, class, to))
                                return false;
                }
        return true;
}

static size_t n_large_of(const struct walk *w) {
        return w->tables.n_classes - w->tables.n_small;
}

static size_t active_off(const struct walk *w, const struct jemalloc_layout *l,
                         uint32_t mutex_bytes) {
        size_t before = l->large_off + n_large_of(w) * l->large_bytes + l->active_bytes - 8 +
                        (size_t)l->n_mutexes * mutex_bytes;

        return ALIGN_UP(before, (size_t)l->shard_align_bytes) + 8;
}

static bool add_large(struct walk *w, const struct shape *sh, struct sums *to) {
        const struct jemalloc_layout *l = sh->layout;
        size_t off = l->large_off;

        for (size_t i = 0; i < n_large_of(w); i++, off += l->large_bytes) {
                uint64_t bytes = w->tables.class_bytes[w->tables.n_small + i], n, sum;

                /* far too many if more came back */
                n = image_word(&w->image, off + LARGE_ALLOCS * 8) -
                    image_word(&w->image, off + LARGE_FREES * 8);
                if (!take_step(w) || image_word(&w->image, off + l->large_bytes - 8) ||
                    n > w->all_bytes / MIN(bytes, w->tables.class_bytes[w->tables.n_small]))
                        return false;
                sum = l->has_large_sums ? image_word(&w->image, off + LARGE_SUM * 8) : n * bytes;
                if (sum > w->all_bytes || sum / bytes > n ||
                    (!l->has_large_sums && n && sum / n != bytes))
                        return false;
                to->held_bytes += sum;
                to->used_bytes += sum;
                to->n_large += n;
        }
        return true;
}

/* A bin's pointer at the slab that is being filled, behind its figures. */
static bool is_empty_bin(struct walk *w, size_t off) {
        uint64_t slab;

        for (size_t i = 0; i < sizeof(struct bin_figures); i += 8)
                if (image_word(&w->image, off + i))
                        return false;
        slab = image_word(&w->image, off + sizeof(struct bin_figures));
        return take_step(w) &&
               (!slab || (slab % LINE_BYTES == 0 && memory_span_at(&w->words, slab)));
}

/* All figures are there and 0, but for the pages. */
static bool add_pages_alone(struct walk *w, const struct shape *sh, struct sums *ret) {
        size_t bin_bytes = sh->layout->bin_bytes + sh->mutex_bytes;
        size_t off = active_off(w, sh->layout, sh->mutex_bytes);
        uint64_t n_active = image_word(&w->image, off);

        *ret = (struct sums){0};
        if (sh->layout->figures_off || sh->bins_off <= off ||
            sh->bins_off + w->tables.n_bins * bin_bytes > w->image.n_bytes ||
            n_active > w->all_bytes / w->tables.page_bytes)
                return false;
        for (size_t i = sh->layout->large_off;
             i < sh->layout->large_off + n_large_of(w) * sh->layout->large_bytes; i += 8)
                if (image_word(&w->image, i))
                        return false;
        for (uint32_t i = 0; i < w->tables.n_bins; i++)
                if (!is_empty_bin(w, sh->bins_off + i * bin_bytes + sh->mutex_bytes))
                        return false;
        ret->held_bytes = n_active * w->tables.page_bytes;
        return true;
}

/* The pages that it counts as active are those of its slabs and of its large blocks, which may have one more each. */
static bool add_up(struct walk *w, const struct shape *sh, struct sums *ret) {
        uint64_t n_active, page = w->tables.page_bytes;
        size_t off = active_off(w, sh->layout, sh->mutex_bytes);

        if (sh->lacks_figures)
                return add_pages_alone(w, sh, ret);
        *ret = (struct sums){0};
        if (sh->bins_off <= off || !add_bins(w, sh, ret) || !add_large(w, sh, ret))
                return false;
        n_active = image_word(&w->image, off);
        if (ret->held_bytes / page + ret->n_large == n_active)
                ret->held_bytes += ret->n_large * page;
        return ret->held_bytes / page == n_active && ret->held_bytes <= w->all_bytes;
}

/* Its base, from which it was made just behind it, has its number too; bins come after the pointer at that and a time. */
static bool is_base(struct walk *w, uint64_t at) {
        const struct memory_span *span;
        uint64_t number;

        if (!at || at % LINE_BYTES || at >= w->image.at)
                return false;
        span = memory_span_at(&w->words, w->image.at);
        return span && at >= span->begin && memory_word(&w->words, at, &number) &&
               (uint32_t)number == w->image.index;
}

/* As much of it as is there, and as is wanted. */
static bool read_image(struct walk *w, uint64_t at, uint32_t index, size_t n_bytes) {
        const struct memory_span *span = memory_span_at(&w->words, at);

        if (!span || at % LINE_BYTES)
                return false;
        w->words.round++;
        w->image.at = at;
        w->image.index = index;
        w->image.n_bytes =
                (size_t)MIN(MIN(n_bytes, (size_t)MAX_ARENA_BYTES), span->end - at) & ~(size_t)7;
        return w->words.memory->read(w->words.memory->ctx, at, w->image.bytes, w->image.n_bytes);
}

/* ---- recognising ------------------------------------------------------------------------------------------- */

/* One way of looking at an arena, and no other, must make sense of all of it. */
static bool fit_shape(struct walk *w, uint32_t base_off, bool lacks_figures, unsigned *n_fits) {
        const struct layouts *known = layouts_known();
        struct sums sums;

        for (size_t i = 0; i < known->n_jemalloc; i++)
                for (size_t k = 0; k < ARRAY_SIZE(mutexes); k++) {
                        const struct jemalloc_layout *l = &known->jemalloc[i];
                        struct shape sh = {l, mutexes[k], base_off,
                                           ALIGN_UP(base_off + l->base_bytes, l->bins_align_bytes),
                                           lacks_figures};

                        if (!add_up(w, &sh, &sums) ||
                            (lacks_figures ? !sums.held_bytes : sums.n_used_bins < MIN_USED_BINS))
                                continue;
                        w->shape = sh;
                        (*n_fits)++;
                }
        return w->n_steps_left > 0;
}

/* False: it has no base, so it never was an arena of this number. */
static bool find_shape(struct walk *w, bool lacks_figures, unsigned *ret_n_fits) {
        size_t end = MIN(w->image.n_bytes, (size_t)MAX_BINS_OFF);
        unsigned n_anchors = 0;

        *ret_n_fits = 0;
        for (size_t off = 0; off + 16 <= end && n_anchors < MAX_ANCHORS; off += 8) {
                if (!is_base(w, image_word(&w->image, off)) || !image_word(&w->image, off + 8))
                        continue;
                n_anchors++;
                if (!fit_shape(w, (uint32_t)off, lacks_figures, ret_n_fits))
                        return false;
        }
        return n_anchors > 0;
}

static bool find_first(struct walk *w, uint64_t at, unsigned n_tries) {
        size_t n_bytes = MAX_BINS_OFF + (size_t)w->tables.n_bins * MAX_BIN_BYTES;
        unsigned n_fits;

        for (unsigned i = 0; i < n_tries; i++) {
                if (!read_image(w, at, 0, n_bytes) || !find_shape(w, false, &n_fits))
                        return false;
                if (!n_fits && !find_shape(w, true, &n_fits))
                        return false;
                if (n_fits == 1)
                        return true;
        }
        return false;
}

static bool read_pages(struct walk *w, struct sums *ret) {
        struct jemalloc_image image = {.bytes = w->image.bytes,
                                       .active_off =
                                               active_off(w, w->shape.layout, w->shape.mutex_bytes),
                                       .bins_off = w->shape.bins_off,
                                       .base = image_word(&w->image, w->shape.base_off),
                                       .mutex_bytes = w->shape.mutex_bytes};

        return w->shape.layout->has_page_sums &&
               jemalloc_pages_read(&w->words, &w->tables, &image, &ret->pages);
}

static bool read_arena(struct walk *w, uint64_t at, uint32_t index, struct sums *ret) {
        size_t bin_bytes = w->shape.layout->bin_bytes + w->shape.mutex_bytes;
        size_t n_bytes = w->shape.bins_off + w->tables.n_bins * bin_bytes;

        for (unsigned i = 0; i < N_TRIES; i++) {
                if (!read_image(w, at, index, n_bytes) || w->image.n_bytes != n_bytes ||
                    !is_base(w, image_word(&w->image, w->shape.base_off)))
                        return false;
                if (!add_up(w, &w->shape, ret))
                        continue;
                ret->has_pages = read_pages(w, ret);
                if (ret->has_pages || !w->shape.layout->has_page_sums || i + 1 >= N_PAGE_TRIES)
                        return true;
        }
        return false;
}

static bool read_arenas(struct walk *w, const uint64_t *table, unsigned n_tries,
                        struct jemalloc_found *ret) {
        struct sums sums;

        *ret = (struct jemalloc_found){.has_pages = true};
        if (!find_first(w, table[0], n_tries))
                return false;
        ret->lacks_figures = w->shape.lacks_figures;
        for (uint32_t i = 0; i < N_ARENAS; i++) {
                if (!table[i])
                        continue;
                if (!read_arena(w, table[i], i, &sums))
                        return false;
                ret->held_bytes += sums.held_bytes;
                ret->used_bytes += sums.used_bytes;
                ret->has_pages &= sums.has_pages;
                ret->own_bytes += sums.pages.own_bytes;
                ret->retained_bytes += sums.pages.retained_bytes;
                ret->resident_bytes +=
                        sums.held_bytes + sums.pages.dirty_bytes + sums.pages.own_resident_bytes;
                ret->n_arenas++;
        }
        return ret->held_bytes <= w->all_bytes;
}

/* Where the table of arenas may begin: pointers at memory and nothing else, the first of which is always there. */
static unsigned find_places(struct walk *w, const uint64_t *data, size_t n_words,
                            const uint64_t *ret[MAX_PLACES]) {
        unsigned n = 0;
        size_t n_run = 0;

        for (size_t i = n_words; i-- > 0 && n < MAX_PLACES;) {
                bool is_entry = !data[i] ||
                                (data[i] % LINE_BYTES == 0 && memory_span_at(&w->words, data[i]));

                n_run = is_entry ? n_run + 1 : 0;
                if (n_run >= N_ARENAS && data[i])
                        ret[n++] = data + i;
        }
        return n;
}

/* Another pointer at the first arena may stand before nothing at all: the table has more behind it. */
static bool find_arenas(struct walk *w, const uint64_t *data, size_t n_words, unsigned n_tries,
                        struct jemalloc_found *ret) {
        const uint64_t *places[MAX_PLACES];
        struct jemalloc_found one;
        uint64_t first = 0;

        for (unsigned i = find_places(w, data, n_words, places); i-- > 0;) {
                if ((first && *places[i] != first) || !read_arenas(w, places[i], n_tries, &one))
                        continue;
                first = *places[i];
                if (one.n_arenas > ret->n_arenas)
                        *ret = one;
        }
        return first != 0;
}

bool jemalloc_find(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct jemalloc_found *ret) {
        struct walk *w = calloc(1, sizeof(*w));
        bool has_tables, is_found;

        if (!w)
                abort();
        *ret = (struct jemalloc_found){0};
        w->words = (struct memory_words){.memory = m, .round = 1};
        w->all_bytes = memory_all_bytes(m);
        w->n_steps_left = N_STEPS;
        has_tables = jemalloc_tables_find(data, n_words, &w->tables);
        is_found = has_tables && (find_arenas(w, data, n_words, 1, ret) ||
                                  find_arenas(w, data, n_words, N_TRIES, ret));
        if (!is_found)
                *ret = (struct jemalloc_found){.is_busy = has_tables};
        memory_words_free(&w->words);
        free(w);
        return is_found;
}

bool jemalloc_read(const struct memory *m, const uint64_t *data, size_t n_words,
                   struct jemalloc_found *ret) {
        bool is_found = jemalloc_find(m, data, n_words, ret);

        if (is_found && !ret->lacks_figures)
                return true;
        *ret = (struct jemalloc_found){.is_busy = ret->is_busy,
                                       .lacks_figures = ret->lacks_figures};
        return false;
}
