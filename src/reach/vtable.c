/* SPDX-License-Identifier: MIT */
#include "reach/vtable.h"

#include <string.h>

enum {
        WORDS_BEFORE = 2, /* C++: how far the object begins before this part of it, and its RTTI */
        WORDS_BEHIND = 4,
        MAX_BASE_BYTES = 1 << 20,  /* an object's part begins so far behind it, at most */
        MAX_ALIGN_BYTES = 1 << 16, /* of a Rust type */
        LOWEST_ADDRESS = 4096,
};

#define MAX_TYPE_BYTES ((uint64_t)1 << 40)

static bool read_words(const struct reach_memory *m, uint64_t address, uint64_t *ret, size_t n) {
        return m->read(m->ctx, address, ret, n * sizeof(*ret)) == n * sizeof(*ret);
}

static bool is_constant(const struct reach_memory *m, uint64_t address) {
        return address >= LOWEST_ADDRESS && m->is_constant(m->ctx, address);
}

static bool is_code(const struct reach_memory *m, uint64_t address) {
        return address >= LOWEST_ADDRESS && m->is_code(m->ctx, address);
}

/* A mangled type: letters, digits and `_`; a `*` before it says that its address is its identity. */
static bool read_name(const struct reach_memory *m, uint64_t address, char ret[VTABLE_MAX_NAME]) {
        size_t n = is_constant(m, address) ? m->read(m->ctx, address, ret, VTABLE_MAX_NAME - 1) : 0;
        size_t len;

        ret[n] = '\0';
        if (ret[0] == '*')
                memmove(ret, ret + 1, n);
        len = strspn(ret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$");
        return len > 0 && len + 1 < VTABLE_MAX_NAME && ret[len] == '\0';
}

/* Of the Itanium C++ ABI: the word before the functions is the class's typeinfo, whose second word is its name. */
static bool is_class(const struct reach_memory *m, const uint64_t *table, struct vtable *ret) {
        uint64_t info[2];
        int64_t to_top = (int64_t)table[-2];

        if (to_top > 0 || to_top < -MAX_BASE_BYTES || table[-1] % sizeof(uint64_t) ||
            !is_constant(m, table[-1]) || !read_words(m, table[-1], info, 2) ||
            !is_constant(m, info[0]) || !read_name(m, info[1], ret->name))
                return false;
        ret->kind = VTABLE_CXX;
        ret->function = table[0];
        return true;
}

/* What drops one (none where nothing must be), size, alignment, then its functions. */
static bool is_dyn(const struct reach_memory *m, const uint64_t *table, struct vtable *ret) {
        uint64_t size = table[1], align = table[2];

        if ((table[0] && !is_code(m, table[0])) || align == 0 || (align & (align - 1)) ||
            align > MAX_ALIGN_BYTES || size % align || size > MAX_TYPE_BYTES)
                return false;
        ret->kind = VTABLE_RUST;
        ret->function = table[0] ? table[0] : is_code(m, table[3]) ? table[3] : 0;
        return ret->function != 0;
}

bool vtable_read(const struct reach_memory *m, uint64_t address, struct vtable *ret) {
        uint64_t words[WORDS_BEFORE + WORDS_BEHIND];
        const uint64_t *table = words + WORDS_BEFORE;

        *ret = (struct vtable){0};
        if (!m->is_constant || !m->is_code || address % sizeof(uint64_t) ||
            !is_constant(m, address) ||
            !read_words(m, address - WORDS_BEFORE * sizeof(uint64_t), words,
                        WORDS_BEFORE + WORDS_BEHIND))
                return false;
        if ((table[0] == 0 || is_code(m, table[0])) && is_class(m, table, ret))
                return true;
        ret->name[0] = '\0';
        if (is_dyn(m, table, ret))
                return true;
        ret->kind = VTABLE_OTHER;
        ret->function = table[0];
        return is_code(m, table[0]) && is_code(m, table[1]) && is_code(m, table[2]);
}

unsigned vtable_functions(const struct reach_memory *m, uint64_t address,
                          uint64_t ret[VTABLE_MAX_FUNCTIONS]) {
        size_t n_words =
                m->read(m->ctx, address, ret, VTABLE_MAX_FUNCTIONS * sizeof(*ret)) / sizeof(*ret);
        unsigned n = 0;

        while (n < n_words && is_code(m, ret[n]))
                n++;
        return n;
}
