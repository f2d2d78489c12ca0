/* SPDX-License-Identifier: MIT */
#include "reach/heuristics.h"

enum {
        VTABLE_LOOK_WORDS = 20, /* so far is a table of functions looked at */
        VTABLE_FUNCTIONS = 2,   /* and so many make it one, as for memcheck */
        LOWEST_ADDRESS = 4096,
};

static bool read_words(const struct reach_memory *m, uint64_t address, uint64_t *ret, size_t n) {
        return m->read(m->ctx, address, ret, n * sizeof(*ret)) == n * sizeof(*ret);
}

/* A string of the older libstdc++: length, capacity, references, then its characters, to which it points. */
static bool is_stdstring(const struct reach_block *b, const uint64_t words[2]) {
        return words[0] <= words[1] && words[1] < b->size_bytes &&
               3 * sizeof(uint64_t) + words[1] + 1 == b->size_bytes;
}

/* The length of what follows. */
static bool is_length64(const struct reach_block *b, uint64_t word) {
        return word > 0 && b->size_bytes - sizeof(uint64_t) == word;
}

/* The number of elements, kept for their destructors. */
static bool is_newarray(const struct reach_block *b, uint64_t word) {
        return word > 0 && (b->size_bytes - sizeof(uint64_t)) % word == 0;
}

static bool is_vtable(const struct reach_memory *m, uint64_t address) {
        uint64_t words[VTABLE_LOOK_WORDS];
        unsigned n_functions = 0;
        size_t n;

        if (address % sizeof(uint64_t) || address < LOWEST_ADDRESS ||
            !m->is_constant(m->ctx, address))
                return false;
        n = m->read(m->ctx, address, words, sizeof(words)) / sizeof(words[0]);
        for (size_t i = 0; i < n; i++) {
                if (words[i] == 0)
                        continue;
                if (!m->is_code(m->ctx, words[i]))
                        return false;
                if (++n_functions == VTABLE_FUNCTIONS)
                        return true;
        }
        return false;
}

static bool is_other_base(const struct reach_memory *m, const struct reach_block *b,
                          uint64_t address) {
        uint64_t inner, first;

        if (!m->is_constant || !m->is_code || address % sizeof(uint64_t))
                return false;
        return read_words(m, address, &inner, 1) && read_words(m, b->address, &first, 1) &&
               is_vtable(m, inner) && is_vtable(m, first);
}

enum reach_edge_kind heuristic_kind(const struct reach_memory *m, const struct reach_block *b,
                                    uint64_t address) {
        uint64_t words[2], offset = address - b->address;

        if (offset == 3 * sizeof(uint64_t) && read_words(m, b->address, words, 2) &&
            is_stdstring(b, words))
                return EDGE_STDSTRING;
        if (offset == sizeof(uint64_t) && read_words(m, b->address, words, 1)) {
                if (is_length64(b, words[0]))
                        return EDGE_LENGTH64;
                if (is_newarray(b, words[0]))
                        return EDGE_NEWARRAY;
        }
        return is_other_base(m, b, address) ? EDGE_MULTIPLE_INHERITANCE : EDGE_INTERIOR;
}
