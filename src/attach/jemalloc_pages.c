/* SPDX-License-Identifier: MIT */
#include "attach/jemalloc_pages.h"

#include <string.h>

#include "base/macros.h"

enum {
        INTERNAL_OFF = 56,     /* of an arena: bytes of its own in blocks; and before them */
        FIRST_ZERO_OFF = 24,   /* words that are filled in copies only */
        HEAP_BYTES = 32,       /* of a set, for each class: its extents, and the first of them */
        CLASS_BYTES = 16,      /* and how many they are, and their bytes */
        N_SETS = 3,            /* dirty, muzzy, retained: states from 1 on */
        BASE_BLOCKS_OFF = 48,  /* of a base, beside its mutex: what it was cut from, */
        BASE_AVAIL_BYTES = 16, /* what is left of it, by class, and four sums */
        MAX_BASE_BLOCKS = 4096,
};

static uint64_t word_at(const struct jemalloc_image *i, size_t off) {
        uint64_t word;

        memcpy(&word, i->bytes + off, sizeof(word));
        return word;
}

/* Classes of whole pages, and one for what is larger than all of them. */
static size_t n_page_classes(const struct jemalloc_tables *t) {
        size_t n = 1;

        for (unsigned i = 0; i < t->n_classes; i++)
                n += t->class_bytes[i] % t->page_bytes == 0;
        return n;
}

/* Extents of one state, then those with guards: classes, a list, pages, state. Behind them the state again, a number and a flag. */
struct sets {
        size_t n_classes, set_bytes, stride;
};

/* state_off: of the state of one. Its pages are those of all classes. */
static bool add_set(const struct jemalloc_image *i, const struct sets *s, size_t state_off,
                    uint64_t page_bytes, uint64_t *to) {
        uint64_t n_pages = word_at(i, state_off - 8), bytes = 0;
        size_t off = state_off - 16 - s->n_classes * CLASS_BYTES;

        for (size_t k = 0; k < s->n_classes; k++) {
                uint64_t n_extents = word_at(i, off + k * CLASS_BYTES),
                         n_bytes = word_at(i, off + k * CLASS_BYTES + 8);

                if (!n_extents != !n_bytes || n_bytes % page_bytes)
                        return false;
                bytes += n_bytes;
        }
        *to += bytes;
        return n_pages <= UINT64_MAX / page_bytes && n_pages * page_bytes == bytes;
}

static bool are_sets(const struct jemalloc_image *i, const struct sets *s, size_t state_off) {
        for (unsigned k = 0; k < N_SETS; k++)
                for (unsigned g = 0; g < 2; g++)
                        if ((uint32_t)word_at(i, state_off + k * s->stride + g * s->set_bytes) !=
                            k + 1)
                                return false;
        return true;
}

/* There is one place where all of it makes sense. */
static bool find_sets(const struct jemalloc_tables *t, const struct jemalloc_image *i,
                      uint64_t ret[N_SETS]) {
        struct sets s = {.n_classes = n_page_classes(t)};
        unsigned n_found = 0;
        size_t first;

        s.set_bytes = (s.n_classes + 63) / 64 * 8 + s.n_classes * (HEAP_BYTES + CLASS_BYTES) + 24;
        s.stride = 2 * s.set_bytes + i->mutex_bytes + 16;
        first = i->active_off + s.set_bytes - 8;
        for (size_t off = first; off + N_SETS * s.stride <= i->bins_off; off += 8) {
                uint64_t sums[N_SETS] = {0};
                bool is_whole = are_sets(i, &s, off);

                for (unsigned k = 0; k < N_SETS * 2 && is_whole; k++)
                        is_whole = add_set(i, &s, off + k / 2 * s.stride + k % 2 * s.set_bytes,
                                           t->page_bytes, &sums[k / 2]);
                if (!is_whole)
                        continue;
                memcpy(ret, sums, sizeof(sums));
                n_found++;
        }
        return n_found == 1;
}

/* What a base was cut from is a list, each with its size first, and the one before. */
static bool read_base(struct memory_words *w, const struct jemalloc_tables *t,
                      const struct jemalloc_image *i, struct jemalloc_pages *ret) {
        uint64_t blocks = i->base + i->mutex_bytes + BASE_BLOCKS_OFF, at, size, mapped = 0;
        uint64_t sums = blocks + 8 + (uint64_t)t->n_classes * BASE_AVAIL_BYTES, told[3];

        for (unsigned k = 0; k < ARRAY_SIZE(told); k++)
                if (!memory_word(w, sums + k * 8, &told[k]))
                        return false;
        if (!memory_word(w, blocks, &at))
                return false;
        for (unsigned n = 0; at && n < MAX_BASE_BLOCKS; n++) {
                if (at % 8 || !memory_word(w, at, &size) || !memory_word(w, at + 8, &at) ||
                    size % t->page_bytes || size > told[2])
                        return false;
                mapped += size;
        }
        if (at || !mapped || mapped != told[2] || told[0] > told[1] || told[1] > told[2] ||
            told[1] % t->page_bytes)
                return false;
        ret->own_bytes = told[0];
        ret->own_resident_bytes = told[1];
        return true;
}

bool jemalloc_pages_read(struct memory_words *w, const struct jemalloc_tables *t,
                         const struct jemalloc_image *image, struct jemalloc_pages *ret) {
        uint64_t sets[N_SETS] = {0};

        *ret = (struct jemalloc_pages){0};
        for (size_t off = FIRST_ZERO_OFF; off < INTERNAL_OFF; off += 8)
                if (word_at(image, off))
                        return false;
        if (!find_sets(t, image, sets) || !read_base(w, t, image, ret))
                return false;
        ret->dirty_bytes = sets[0];
        ret->retained_bytes = sets[2];
        ret->own_bytes += word_at(image, INTERNAL_OFF);
        return true;
}
