/* SPDX-License-Identifier: MIT */
#include "resident/block_room.h"

#include <string.h>

#include "base/macros.h"

enum {
        GLIBC_HEADER = 8, /* the word before it belongs to the block before while that is live */
        GLIBC_MIN = 32,
        GLIBC_MAPPED_HEADER = 16,
        GLIBC_MIN_MAPPED = 128 << 10, /* the lowest that its threshold can be by itself */
        GLIBC_ALIGN = 16,
        SMALL = 8,
        TCMALLOC_LARGE = 256 << 10,
        TCMALLOC_PAGE = 8192,
        MIMALLOC_LARGE = 128 << 10,
};

enum size_model size_model_of(const char *allocator) {
        static const struct {
                const char *name;
                enum size_model model;
        } models[] = {{"glibc", SIZE_GLIBC},
                      {"jemalloc", SIZE_JEMALLOC},
                      {"mimalloc", SIZE_MIMALLOC},
                      {"gperftools", SIZE_TCMALLOC}, /* its tcmalloc */
                      {"tcmalloc", SIZE_TCMALLOC}};

        for (size_t i = 0; i < ARRAY_SIZE(models); i++)
                if (strcmp(models[i].name, allocator) == 0)
                        return models[i].model;
        return SIZE_UNKNOWN;
}

const char *size_model_name(enum size_model model) {
        static const char *const names[] = {[SIZE_UNKNOWN] = "",
                                            [SIZE_GLIBC] = "glibc",
                                            [SIZE_JEMALLOC] = "jemalloc",
                                            [SIZE_MIMALLOC] = "mimalloc",
                                            [SIZE_TCMALLOC] = "tcmalloc"};

        return names[model];
}

/* Classes so far apart that n of them double the size, none closer than align. */
static uint64_t geometric(uint64_t size, unsigned n, uint64_t align) {
        unsigned top = 63 - (unsigned)__builtin_clzll(MAX(size - 1, (uint64_t)1));
        uint64_t step = MAX((uint64_t)1 << top >> __builtin_ctz(n), align);

        return ALIGN_UP(size, step);
}

static struct size_room glibc_room(uint64_t address, uint64_t size, uint64_t page_bytes) {
        if (size >= GLIBC_MIN_MAPPED && address % page_bytes == GLIBC_MAPPED_HEADER)
                return (struct size_room){GLIBC_MAPPED_HEADER,
                                          ALIGN_UP(size + GLIBC_MAPPED_HEADER, page_bytes)};
        return (struct size_room){GLIBC_HEADER,
                                  MAX(ALIGN_UP(size + GLIBC_HEADER, (uint64_t)GLIBC_ALIGN),
                                      (uint64_t)GLIBC_MIN)};
}

struct size_room size_room_of(enum size_model model, uint64_t address, uint64_t size_bytes,
                              uint64_t page_bytes) {
        uint64_t size = MAX(size_bytes, (uint64_t)1);

        if (size > UINT64_MAX / 4)
                return (struct size_room){0, size_bytes};
        switch (model) {
        case SIZE_GLIBC: return glibc_room(address, size_bytes, page_bytes);
        case SIZE_JEMALLOC:
                return (struct size_room){0, size <= SMALL ? SMALL : geometric(size, 4, 16)};
        case SIZE_MIMALLOC:
                if (size > MIMALLOC_LARGE)
                        return (struct size_room){0, ALIGN_UP(size, page_bytes)};
                return (struct size_room){0, size <= SMALL ? SMALL : geometric(size, 4, 16)};
        case SIZE_TCMALLOC:
                if (size > TCMALLOC_LARGE)
                        return (struct size_room){0, ALIGN_UP(size, (uint64_t)TCMALLOC_PAGE)};
                return (struct size_room){0, size <= SMALL ? SMALL : geometric(size, 8, 16)};
        default: return (struct size_room){0, size_bytes};
        }
}
